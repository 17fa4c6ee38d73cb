// Hunks: pieces of a patch, found in a file by their context and put in. Line
// numbers are only a hint, as models count badly.

package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

const maxCandidates = 10_000 // places of a hunk that are looked at

// hunk is one piece of a patch, in whichever format it came.
type hunk struct {
	anchors []string // lines that stand above it, the outermost first
	line    int      // where its old lines begin, from 1; 0: not said
	after   bool     // it has no old lines, and goes in after line
	lines   []hunkLine
	atEnd   bool // its old lines are the last ones of the file
	final   finalNewline
}

// hunkLine has op ' ' for context, '-' for a line that goes, '+' for one that
// comes.
type hunkLine struct {
	op   byte
	text string
}

// finalNewline says whether the last line of the file ends, if the hunk
// reaches it.
type finalNewline int

const (
	finalKept finalNewline = iota
	finalPresent
	finalAbsent
)

func (h *hunk) old() []string {
	var out []string
	for _, l := range h.lines {
		if l.op != '+' {
			out = append(out, l.text)
		}
	}
	return out
}

// placed is a hunk that has found its place: the index of its first old line.
type placed struct {
	*hunk
	at int
}

// applyHunks puts hunks into the text of a file. said names those that did
// not go where they said.
func applyHunks(ctx context.Context, data []byte, hunks []*hunk) (text string, said []string, err error) {
	t := parseText(data)
	s := newSought(t.texts())
	all := make([]placed, 0, len(hunks))
	drift := 0 // how far off the last hunk was
	from := 0  // after the last hunk
	for i, h := range hunks {
		if err := ctx.Err(); err != nil {
			return "", nil, err
		}
		at, loose, err := s.place(h, from, drift)
		if err != nil {
			return "", nil, fmt.Errorf("hunk %d of %d: %w", i+1, len(hunks), err)
		}
		if h.line > 0 && !h.after {
			if off := at + 1 - h.line; off != drift {
				said = append(said, fmt.Sprintf("hunk %d was found at line %d", i+1, at+1))
				drift = off
			}
		}
		if loose != "" {
			said = append(said, fmt.Sprintf("hunk %d was found without regard to %s", i+1, loose))
		}
		all = append(all, placed{h, at})
		from = at + len(h.old())
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].at < all[j].at })
	for i := 1; i < len(all); i++ {
		if all[i].at < all[i-1].at+len(all[i-1].old()) {
			return "", nil, fmt.Errorf("two hunks change the same lines, near line %d: make them one", all[i].at+1)
		}
	}
	return rewritten(t, all).String(), said, nil
}

// rewritten makes the new text. Context lines stay as the file has them.
func rewritten(t *fileText, all []placed) *fileText {
	out := &fileText{mark: t.mark, lines: make([]textLine, 0, len(t.lines))}
	final := finalKept
	next := 0
	for _, p := range all {
		out.lines = append(out.lines, t.lines[next:p.at]...)
		next = p.at
		var gone []string // the ends of lines that are being replaced
		for _, l := range p.lines {
			switch l.op {
			case ' ':
				out.lines = append(out.lines, t.lines[next])
				next++
				gone = nil
			case '-':
				gone = append(gone, t.lines[next].end)
				next++
			case '+':
				end := t.endAt(next)
				if len(gone) > 0 {
					end, gone = gone[0], gone[1:]
				}
				out.lines = append(out.lines, textLine{l.text, end})
			}
		}
		if next == len(t.lines) {
			final = p.final
		}
	}
	out.lines = append(out.lines, t.lines[next:]...)
	if len(out.lines) == 0 {
		return out
	}
	for i := range out.lines[:len(out.lines)-1] {
		if out.lines[i].end == "" { // it was the last one
			out.lines[i].end = t.ends()
		}
	}
	last := &out.lines[len(out.lines)-1]
	ended := len(t.lines) == 0 || t.lines[len(t.lines)-1].end != ""
	switch {
	case final == finalAbsent, final == finalKept && !ended:
		last.end = ""
	case last.end == "":
		last.end = t.ends()
	}
	return out
}

// sought is the lines of a file as hunks are looked for in them, under ever
// looser readings.
type sought struct {
	lines    []string
	readings []reading
}

type reading struct {
	loose string // what it does not regard; "" for exact
	of    func(string) string
	text  string // the lines, each after a newline, and a last newline; made when needed
}

func newSought(lines []string) *sought {
	trim := func(s string) string { return strings.TrimRight(s, " \t\r") }
	return &sought{lines: lines, readings: []reading{
		{of: asIs},
		{loose: "blanks at the end of lines", of: trim},
		{loose: "the kind of quotes, dashes and blanks", of: func(s string) string { return trim(asciiPunctuation(s)) }},
	}}
}

func joined(lines []string, of func(string) string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteByte('\n')
		b.WriteString(of(l))
	}
	b.WriteByte('\n')
	return b.String()
}

// find gives the places of lines in the file.
func (s *sought) find(r *reading, wanted []string) []int {
	if len(wanted) > len(s.lines) {
		return nil
	}
	if r.text == "" {
		r.text = joined(s.lines, r.of)
	}
	needle := joined(wanted, r.of)
	var places []int
	line, pos := 0, 0
	for len(places) < maxCandidates {
		i := strings.Index(r.text[pos:], needle)
		if i < 0 {
			break
		}
		line += strings.Count(r.text[pos:pos+i], "\n")
		pos += i
		places = append(places, line)
		// The next one may begin with the next line.
		line++
		pos++
	}
	return places
}

// place finds where a hunk belongs: at or after from, unless only a place
// before it fits.
func (s *sought) place(h *hunk, from, drift int) (at int, loose string, err error) {
	old := h.old()
	if len(h.anchors) > 0 {
		if from, err = s.anchor(h.anchors, from); err != nil {
			return 0, "", err
		}
	}
	if len(old) == 0 {
		at, err = s.insertion(h, from)
		return at, "", err
	}
	for i := range s.readings {
		r := &s.readings[i]
		places := s.find(r, old)
		if len(places) == 0 {
			continue
		}
		at, err := choose(places, h, from, drift, len(s.lines)-len(old))
		return at, r.loose, err
	}
	return 0, "", fmt.Errorf("its old lines were not found.%s", notFound(s.lines, strings.Join(old, "\n"), "the hunk"))
}

// insertion places a hunk without old lines.
func (s *sought) insertion(h *hunk, from int) (int, error) {
	switch {
	case h.after && h.line <= len(s.lines):
		return h.line, nil
	case h.after:
		return 0, fmt.Errorf("it goes in after line %d, but the file has %d lines", h.line, len(s.lines))
	case h.line > 0 && len(s.lines) > 0:
		return 0, errors.New("it has no context lines: add some, so that its place can be found")
	case len(h.anchors) > 0:
		return min(from+1, len(s.lines)), nil
	}
	return len(s.lines), nil
}

// choose picks one of several places, of which there is at least one.
func choose(places []int, h *hunk, from, drift, lastPlace int) (int, error) {
	if h.atEnd && places[len(places)-1] == lastPlace {
		return lastPlace, nil
	}
	if h.line > 0 && len(places) < maxCandidates {
		expected := h.line - 1 + drift
		best := slices.MinFunc(places, func(a, b int) int { return distance(a, expected) - distance(b, expected) })
		if slices.ContainsFunc(places, func(p int) bool { return p != best && distance(p, expected) == distance(best, expected) }) {
			return 0, ambiguous(places)
		}
		return best, nil
	}
	following := places[sort.SearchInts(places, from):]
	switch {
	case len(following) == 1, len(following) > 1 && len(h.anchors) > 0:
		return following[0], nil
	case len(following) == 0 && len(places) == 1 && len(h.anchors) == 0:
		return places[0], nil
	case len(following) == 0:
		return 0, fmt.Errorf("its old lines occur only before line %d, where it should come after", from+1)
	}
	return 0, ambiguous(following)
}

func distance(a, b int) int { return max(a-b, b-a) }

func ambiguous(places []int) error {
	var lines []string
	for _, p := range places[:min(len(places), shownPlaces)] {
		lines = append(lines, fmt.Sprint(p+1))
	}
	if len(places) > shownPlaces {
		lines = append(lines, "…")
	}
	return fmt.Errorf("its old lines occur %d times, at lines %s: add context lines, or a line @@ with the function around it", len(places), strings.Join(lines, ", "))
}

// anchor finds the last of several lines that follow one another.
func (s *sought) anchor(anchors []string, from int) (int, error) {
	for _, wanted := range anchors {
		at := -1
		for _, like := range []func(line string) bool{
			func(line string) bool { return line == wanted },
			func(line string) bool { return strings.TrimSpace(line) == strings.TrimSpace(wanted) },
			func(line string) bool { return strings.Contains(line, strings.TrimSpace(wanted)) },
		} {
			if i := slices.IndexFunc(s.lines[from:], like); i >= 0 {
				at = from + i
				break
			}
		}
		if at < 0 {
			return 0, fmt.Errorf("the line %q after @@ was not found from line %d on.%s", wanted, from+1, notFound(s.lines, wanted, "the hunk"))
		}
		from = at
	}
	return from, nil
}
