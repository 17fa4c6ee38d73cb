// Planning: numbered steps that name the files where the words of the request
// occur. It says where to look, not what to think.

package offline

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

var plansTo = regexp.MustCompile(`(?i)^(?:(?:make|write|draft|create|prepare|devise|propose|give)(?: me)? )?(?:an? |the )?(?:\w+ )?plan\b|^how (?:would|should|could|do|can|to) (?:(?:i|we|you|one) )?(?:best )?(?:add|implement|change|fix|refactor|build|write|remove|rename|support|extend|migrate|introduce|replace)\b|^(?:what|which) steps\b`)

var planRule = rule{
	name: "plan",
	fits: func(q query) bool {
		return verbs[q.verb] == asksPlan || plansTo.MatchString(q.text) || q.role == "planner"
	},
	next: plan,
}

// planPrefix is what stands before what is planned.
var planPrefix = regexp.MustCompile(`(?i)^(?:(?:make|write|draft|create|prepare|devise|propose|give)(?: me)? )?(?:an? |the )?(?:\w+ )?plan(?: (?:how to|for|to|of))?\s*|^how (?:would|should|could|do|can|to) (?:(?:i|we|you|one) )?(?:best )?`)

// planFiles bounds the files a plan names.
const planFiles = 4

func plan(t *task) step {
	terms := planTerms(t.query)
	greps, tops := t.of(toolGrep), t.of(toolLS)
	if len(greps) == 0 && len(tops) == 0 {
		st := use(toolLS, map[string]any{"path": "."})
		if len(terms) > 0 {
			st = st.and(toolGrep, map[string]any{"pattern": pattern(terms, false), "ignore_case": true, "max": findMatches})
		}
		st.say = "I look for the files this touches."
		return st
	}
	var places []place
	if len(greps) > 0 && !greps[0].failed {
		found, _ := hits(greps[0].result)
		places = rank(found, terms)
	}
	for _, p := range t.paths {
		if path.Ext(p) != "" {
			places = append([]place{{path: p}}, places...)
		}
	}
	places = places[:min(len(places), planFiles)]
	reads := t.of(toolRead)
	if len(reads) == 0 && len(places) > 0 && t.offers(toolRead) {
		st := step{}
		for _, p := range places {
			st = st.and(toolRead, map[string]any{"path": p.path, "limit": 400})
		}
		return st
	}
	var top listing
	if len(tops) > 0 && !tops[0].failed {
		top = entriesOf(tops[0].result)
	}
	return answer(planText(t, terms, places, reads, top))
}

// planTerms are the words of what is planned, the name of planning aside.
func planTerms(q query) []string {
	var out []string
	for _, term := range q.terms() {
		if !strings.EqualFold(term, "plan") && !strings.EqualFold(term, "steps") {
			out = append(out, term)
		}
	}
	return out
}

func planText(t *task, terms []string, places []place, reads []observation, top listing) string {
	var steps, known []string
	for i, p := range places {
		d := digest{file: p.path}
		if i < len(reads) {
			if reads[i].failed {
				steps = append(steps, fmt.Sprintf("`%s` is not there yet: create it, or correct its name.", p.path))
				continue
			}
			d = digestOf(p.path, linesOf(reads[i].result))
		}
		known = append(known, p.path)
		steps = append(steps, planStep(p, d))
	}
	var b strings.Builder
	title := "A plan to " + planPrefix.ReplaceAllString(t.text, "") + ":"
	if len(known) == 0 {
		fmt.Fprintf(&b, "%s\n\nNothing here mentions %s, so this is new ground, and the plan is general.\n\n", title, orThis(terms))
		steps = append(steps, "Decide where it belongs"+among(top)+", and write down what it must do.",
			"Write the smallest version that works, in a file of its own.")
	} else {
		b.WriteString(title + "\n\n")
	}
	steps = append(steps, testStep(known))
	steps = append(steps, checkStep(top))
	for i, s := range steps {
		fmt.Fprintf(&b, "%d. %s\n", i+1, s)
	}
	b.WriteString("\nThe files were chosen because the words of the request occur in them; whether they are the right ones needs judgement I do not have.")
	return b.String()
}

func orThis(terms []string) string {
	if len(terms) == 0 {
		return "it"
	}
	return shownTerms(terms)
}

func among(top listing) string {
	if len(top.folders) == 0 {
		return ""
	}
	return " (there are " + codeList(top.folders, 8) + ")"
}

// planStep says why a file matters and what in it.
func planStep(p place, d digest) string {
	text := fmt.Sprintf("Read `%s`", p.path)
	if d.total > 0 {
		text += fmt.Sprintf(" (%s)", plural(d.total, "line"))
	}
	switch {
	case p.best.line > 0 && p.def != declaresNot:
		text += fmt.Sprintf(" and change what line %d declares: `%s`.", p.best.line, clip(strings.TrimSpace(p.best.text), 80))
	case p.best.line > 0:
		text += fmt.Sprintf(" around line %d, `%s`, and change it there.", p.best.line, clip(strings.TrimSpace(p.best.text), 80))
	default:
		text += " and change it."
	}
	if len(p.hits) > 1 {
		text += fmt.Sprintf(" It has %s to look at.", plural(len(p.hits), "place"))
	}
	return text
}

// testStep names the tests next to the files that change.
func testStep(files []string) string {
	for _, f := range files {
		if isTest(f) {
			return fmt.Sprintf("Extend the tests in `%s` so that they fail first.", f)
		}
	}
	for _, f := range files {
		if path.Ext(f) == ".go" {
			return fmt.Sprintf("Write a test that fails first, in `%s_test.go`.", strings.TrimSuffix(f, ".go"))
		}
	}
	return "Write a test that fails first, next to the code that changes."
}

// checkStep names the command that checks the whole, by what builds it.
func checkStep(top listing) string {
	has := map[string]bool{}
	for _, f := range top.files {
		has[f] = true
	}
	switch {
	case has["Makefile"]:
		return "Check the whole as the `Makefile` says, and read the difference once more."
	case has["go.mod"]:
		return "Check the whole with `go vet ./... && go test ./...`, and read the difference once more."
	case has["package.json"]:
		return "Check the whole with the scripts of `package.json`, and read the difference once more."
	case has["Cargo.toml"]:
		return "Check the whole with `cargo test`, and read the difference once more."
	case has["pyproject.toml"]:
		return "Check the whole with the tests of `pyproject.toml`, and read the difference once more."
	}
	return "Run what checks the whole, and read the difference once more."
}
