// What to say of a text that is not in a file: the lines that are most like
// it, and in what they differ.

package files

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	closestShown  = 20      // lines
	closestRunes  = 200     // of a line shown
	closestLines  = 200_000 // lines compared
	closestBytes  = 400     // of a line compared
	closestRepeat = 8       // places of one line in the wanted text that count
)

// notFound words what is nearest to wanted among the lines of a file. called
// is what the model calls the wanted text.
func notFound(have []string, wanted, called string) string {
	want := strings.Split(strings.TrimSuffix(wanted, "\n"), "\n")
	if len(have) == 0 {
		return " The file is empty."
	}
	if numberedAsShown(want) {
		return " Its lines begin with line numbers, which Read adds: leave them out."
	}
	if meant := unescaped(wanted); meant != wanted && strings.Contains(strings.Join(have, "\n"), meant) {
		return ` It would be found with a newline, tab or quote where it has \n, \t or \".`
	}
	start, ok := closest(have, want)
	if !ok {
		return " Nothing in the file is like it: Read the file again."
	}
	end := min(start+len(want), len(have))
	var b strings.Builder
	fmt.Fprintf(&b, " Nearest is line %d:\n", start+1)
	if end > start+1 {
		b.Reset()
		fmt.Fprintf(&b, " Nearest are lines %d-%d:\n", start+1, end)
	}
	for i := start; i < min(end, start+closestShown); i++ {
		line, cut := shorten([]byte(have[i]), closestRunes)
		if cut > 0 {
			line += "…"
		}
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, line)
	}
	if end-start > closestShown {
		fmt.Fprintf(&b, "[and %d lines more]\n", end-start-closestShown)
	}
	b.WriteString(difference(have[start:end], want, start, called))
	return b.String()
}

var lineNumber = regexp.MustCompile(`^ *\d+\t`)

func numberedAsShown(want []string) bool {
	for _, line := range want {
		if !lineNumber.MatchString(line) {
			return false
		}
	}
	return true
}

// closest finds the line of have where want most probably begins.
func closest(have, want []string) (int, bool) {
	have = have[:min(len(have), closestLines)]
	if start, ok := closestByLines(have, want); ok {
		return start, true
	}
	longest := 0
	for i, line := range want {
		if len(strings.TrimSpace(line)) > len(strings.TrimSpace(want[longest])) {
			longest = i
		}
	}
	at, ok := closestLine(have, want[longest])
	return max(0, at-longest), ok
}

// closestByLines lets each line of have that is also in want, but for blanks,
// vote for the place where want would then begin.
func closestByLines(have, want []string) (int, bool) {
	places := map[string][]int{}
	for i, line := range want {
		key := withoutBlanks(line)
		if key != "" && len(places[key]) < closestRepeat {
			places[key] = append(places[key], i)
		}
	}
	votes := map[int]int{}
	best := 0
	for i, line := range have {
		for _, j := range places[withoutBlanks(line)] {
			start := max(0, i-j)
			votes[start]++
			if votes[start] > votes[best] || votes[start] == votes[best] && start < best {
				best = start
			}
		}
	}
	return best, votes[best] > 0
}

// closestLine finds the line of have that has most of the pairs of bytes that
// want has, and few others. Less than half of them is not alike.
func closestLine(have []string, want string) (int, bool) {
	want = clipped(withoutBlanks(want))
	pairs := make([]bool, 1<<16)
	total := 0
	for i := 1; i < len(want); i++ {
		if pair := pairAt(want, i); !pairs[pair] {
			pairs[pair] = true
			total++
		}
	}
	if total == 0 {
		return 0, false
	}
	best, bestScore := 0, 0.0
	seenBy := make([]int, len(pairs))
	for n, line := range have {
		line = clipped(line)
		common := 0
		for i := 1; i < len(line); i++ {
			if pair := pairAt(line, i); pairs[pair] && seenBy[pair] != n+1 {
				seenBy[pair] = n + 1
				common++
			}
		}
		score := float64(common)/float64(total) - 0.0002*float64(max(0, len(line)-len(want)))
		if score > bestScore {
			best, bestScore = n, score
		}
	}
	return best, bestScore >= 0.5
}

func pairAt(s string, i int) int { return int(s[i-1])<<8 | int(s[i]) }

func clipped(s string) string { return s[:min(len(s), closestBytes)] }

// difference says in what the lines differ from what was wanted.
func difference(have, want []string, start int, called string) string {
	if _, same := firstDifference(have, want, asIs); same {
		return fmt.Sprintf("%s has a newline at its end, and the file has none there.", called)
	}
	for _, c := range []struct {
		name string
		of   func(string) string
	}{
		{"blanks or indentation", withoutBlanks},
		{"upper and lower case", strings.ToLower},
		{"the kind of quotes, dashes or blanks", asciiPunctuation},
	} {
		if i, same := firstDifference(have, want, c.of); same {
			i, _ = firstDifference(have, want, asIs)
			return fmt.Sprintf("They differ in %s only. %s", c.name, bothLines(have, want, i, start, called))
		} else if c.name == "blanks or indentation" && i == len(have) {
			return fmt.Sprintf("%s goes on after the end of the file.", called)
		}
	}
	i, _ := firstDifference(have, want, asIs)
	return bothLines(have, want, i, start, called)
}

func bothLines(have, want []string, i, start int, called string) string {
	if i >= len(have) || i >= len(want) {
		return ""
	}
	h, _ := shorten([]byte(have[i]), closestRunes)
	w, _ := shorten([]byte(want[i]), closestRunes)
	return fmt.Sprintf("Line %d is %q, %s has %q.", start+i+1, h, called, w)
}

// firstDifference compares line by line under a reading of them. The wanted
// text may begin and end within a line.
func firstDifference(have, want []string, of func(string) string) (int, bool) {
	for i, line := range want {
		if i >= len(have) {
			return i, false
		}
		h, w := of(have[i]), of(line)
		first, last := i == 0, i == len(want)-1
		if h == w || first && last && strings.Contains(h, w) || first && strings.HasSuffix(h, w) || last && strings.HasPrefix(h, w) {
			continue
		}
		return i, false
	}
	return 0, true
}

func asIs(s string) string { return s }

func withoutBlanks(s string) string { return strings.Join(strings.Fields(s), " ") }

func unescaped(s string) string {
	return strings.NewReplacer(`\t`, "\t", `\"`, `"`, `\n`, "\n", `\\`, `\`).Replace(s)
}

// asciiPunctuation writes typographic characters as they are on a keyboard:
// models do so without noticing.
func asciiPunctuation(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212':
			return '-'
		case '\u2018', '\u2019', '\u201a', '\u201b':
			return '\''
		case '\u201c', '\u201d', '\u201e', '\u201f':
			return '"'
		case '\u00a0', '\u2002', '\u2003', '\u2007', '\u2009', '\u202f', '\u3000':
			return ' '
		}
		return r
	}, s)
}
