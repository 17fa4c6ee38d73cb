// Tests that were run, as the output of known test runners tells.

package orchestrate

import (
	"regexp"
	"strconv"
	"strings"
)

// Tests is how many tests a command ran, and how many of them passed.
type Tests struct {
	Run    int `json:"run"`
	Passed int `json:"passed"`
}

// runner knows how a test runner sums up. Each pattern has the groups passed,
// failed or total; the numbers of all matches are added, or, with last, the
// last match counts.
type runner struct {
	name    string
	command *regexp.Regexp // what the command line looks like
	sums    []*regexp.Regexp
	count   func(output string) *Tests // where there is no sum to read
}

var runners = []runner{
	{name: "go", command: regexp.MustCompile(`\bgo\s+test\b|\bgotestsum\b`), count: countGo},
	{name: "pytest", command: regexp.MustCompile(`\bpytest\b|\bpy\.test\b`), sums: []*regexp.Regexp{
		regexp.MustCompile(`(?m)^=*\s?.*?\b(?P<passed>\d+) passed\b.* in [\d.]+`),
		regexp.MustCompile(`(?m)^=*\s?.*?\b(?P<failed>\d+) failed\b.* in [\d.]+`),
		regexp.MustCompile(`(?m)^=*\s?.*?\b(?P<failed>\d+) errors?\b.* in [\d.]+`),
	}},
	{name: "unittest", command: regexp.MustCompile(`\bunittest\b`), count: countUnittest},
	{name: "cargo", command: regexp.MustCompile(`\bcargo\s+(\+\S+\s+)?(test|nextest)\b`), sums: []*regexp.Regexp{
		regexp.MustCompile(`(?m)^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed;`),
		regexp.MustCompile(`(?m)^\s*Summary \[.*\] +(?P<total>\d+) tests? run: (?P<passed>\d+) passed`),
	}},
	{name: "jest", command: regexp.MustCompile(`\bjest\b|\bnpm\s+(run\s+)?test\b|\b(yarn|pnpm|bun)\s+(run\s+)?test\b|\bvitest\b|\bnpx\b|\bmocha\b`), sums: []*regexp.Regexp{
		regexp.MustCompile(`(?m)^Tests:\s+(?:(?P<failed>\d+) failed, )?(?:\d+ skipped, )?(?:\d+ todo, )?(?:(?P<passed>\d+) passed, )?(?P<total>\d+) total`),
		regexp.MustCompile(`(?m)^\s*Tests\s+(?:(?P<failed>\d+) failed \| )?(?P<passed>\d+) passed`),
		regexp.MustCompile(`(?m)^\s*Tests\s+(?P<failed>\d+) failed\s+\(`),
		regexp.MustCompile(`(?m)^\s+(?P<passed>\d+) passing\b`),
		regexp.MustCompile(`(?m)^\s+(?P<failed>\d+) failing\b`),
	}},
	{name: "node", command: regexp.MustCompile(`\bnode\b.*--test\b|\bnpm\s+(run\s+)?test\b|\btap\b`), sums: []*regexp.Regexp{
		regexp.MustCompile(`(?m)^(?:#|ℹ) pass (?P<passed>\d+)`),
		regexp.MustCompile(`(?m)^(?:#|ℹ) fail (?P<failed>\d+)`),
	}},
	{name: "rspec", command: regexp.MustCompile(`\brspec\b`), sums: []*regexp.Regexp{
		regexp.MustCompile(`(?m)^(?P<total>\d+) examples?, (?P<failed>\d+) failures?`),
	}},
	{name: "maven", command: regexp.MustCompile(`\b(mvn|mvnw|gradle|gradlew)\b`), sums: []*regexp.Regexp{
		regexp.MustCompile(`(?m)^\[(?:INFO|WARNING|ERROR)\] Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: \d+, Skipped: \d+\s*$`),
	}},
	{name: "dotnet", command: regexp.MustCompile(`\bdotnet\s+test\b`), sums: []*regexp.Regexp{
		regexp.MustCompile(`Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+)`),
	}},
}

// countTests reads the output of a command, nil if no runner is recognised or
// its output holds no result.
func countTests(command, output string) *Tests {
	for _, r := range runners {
		if !r.command.MatchString(command) {
			continue
		}
		if r.count != nil {
			if t := r.count(output); t != nil {
				return t
			}
			continue
		}
		if t := r.read(output); t != nil {
			return t
		}
	}
	return nil
}

// read adds up what the patterns find.
func (r runner) read(output string) *Tests {
	var passed, failed, total int
	found, hasTotal, hasPassed := false, false, false
	for _, sum := range r.sums {
		for _, m := range sum.FindAllStringSubmatch(output, -1) {
			found = true
			for i, name := range sum.SubexpNames() {
				n, err := strconv.Atoi(m[i])
				if name == "" || err != nil {
					continue
				}
				switch name {
				case "passed":
					passed, hasPassed = passed+n, true
				case "failed":
					failed += n
				case "total":
					total, hasTotal = total+n, true
				}
			}
		}
	}
	switch {
	case !found:
		return nil
	case hasTotal && !hasPassed:
		return &Tests{total, total - failed}
	}
	return &Tests{passed + failed, passed}
}

var (
	goResult = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL):`)
	goEvent  = regexp.MustCompile(`(?m)^\{.*"Action":"(pass|fail)".*"Test":"`)
	unitRan  = regexp.MustCompile(`(?m)^Ran (\d+) tests? in`)
	unitBad  = regexp.MustCompile(`(?m)^FAILED \((.*)\)`)
	number   = regexp.MustCompile(`(failures|errors)=(\d+)`)
)

// countGo counts the results of go test. Without -v only failures are named,
// so that nothing is known of how many ran.
func countGo(output string) *Tests {
	t := &Tests{}
	for _, re := range []*regexp.Regexp{goResult, goEvent} {
		for _, m := range re.FindAllStringSubmatch(output, -1) {
			t.Run++
			if strings.EqualFold(m[1], "pass") {
				t.Passed++
			}
		}
	}
	if t.Run == 0 || t.Passed == 0 && !strings.Contains(output, "=== RUN") {
		return nil
	}
	return t
}

func countUnittest(output string) *Tests {
	m := unitRan.FindStringSubmatch(output)
	if m == nil {
		return nil
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return nil
	}
	t := &Tests{n, n}
	if bad := unitBad.FindStringSubmatch(output); bad != nil {
		for _, f := range number.FindAllStringSubmatch(bad[1], -1) {
			k, err := strconv.Atoi(f[2])
			if err == nil {
				t.Passed -= k
			}
		}
	}
	t.Passed = max(t.Passed, 0)
	return t
}
