// What was found: matching lines of files, scored and put into words.

package search

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool/files"
)

const (
	keptLines  = 200    // matching lines kept of one file
	shownLines = 6      // of them shown
	lineChars  = 200    // shown of one line
	maxOutput  = 12_000 // bytes of one answer
)

// set is a set of keywords, by their numbers.
type set uint32

func (s set) has(k int) bool { return s&(1<<k) != 0 }

// match is one line with keywords in it.
type match struct {
	line       int
	text       string
	has        set
	definition bool
}

// candidate is one file with keywords in its lines or its path.
type candidate struct {
	name    string
	path    set // keywords in its path
	defined set // keywords in lines that look like definitions
	lines   [maxKeywords]int
	matches []match // the first of them
	matched int     // lines
	score   float64
}

func (f *candidate) content() set {
	var s set
	for k, n := range f.lines {
		if n > 0 {
			s |= 1 << k
		}
	}
	return s
}

// collection is all candidates of one search.
type collection struct {
	keywords   []string // folded
	bytes      [][]byte
	total      int // files looked at
	unreadable int
	files      []*candidate
	in         []int // in how many candidates each keyword is
}

func newCollection(keywords []string, total int) *collection {
	c := &collection{keywords: keywords[:min(len(keywords), maxKeywords)], total: total}
	for _, k := range c.keywords {
		c.bytes = append(c.bytes, []byte(k))
	}
	c.in = make([]int, len(c.keywords))
	return c
}

// collect reads the files that may contain a keyword, or all if may is nil.
func (c *collection) collect(ctx context.Context, tree *files.Tree, names []string, may map[string]bool) error {
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := &candidate{name: name, path: c.find(fold([]byte(name)))}
		if may == nil || may[name] {
			if err := tree.Lines(ctx, name, func(n int, line []byte) error { return c.line(f, n, line) }); err != nil {
				c.unreadable++
			}
		}
		has := f.content() | f.path
		if has == 0 {
			continue
		}
		for k := range c.keywords {
			if has.has(k) {
				c.in[k]++
			}
		}
		c.files = append(c.files, f)
	}
	return ctx.Err()
}

// find says which keywords a folded text contains.
func (c *collection) find(folded []byte) set {
	var s set
	for k, word := range c.bytes {
		if bytes.Contains(folded, word) {
			s |= 1 << k
		}
	}
	return s
}

// definition is what begins a definition in most languages, or a heading.
var definition = regexp.MustCompile(`^\s*(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|async|abstract|final|sealed|override|unsafe|extern|declare)\s+)*` +
	`(?:func|function|fn|def|defp|class|struct|interface|type|enum|trait|impl|module|namespace|record|object|protocol|macro_rules!|#define|const|var|let|val|sub|proc|CREATE\s+TABLE|create\s+table|#{1,6})\s`)

func (c *collection) line(f *candidate, n int, line []byte) error {
	folded := fold(line)
	has := c.find(folded)
	if has == 0 {
		return nil
	}
	m := match{line: n, has: has, definition: definition.Match(line)}
	for k := range c.keywords {
		if has.has(k) {
			f.lines[k]++
		}
	}
	f.matched++
	if m.definition {
		f.defined |= has
	}
	if len(f.matches) < keptLines {
		from := bytes.Index(folded, c.bytes[bits.TrailingZeros32(uint32(has))])
		m.text = strings.TrimSpace(files.Excerpt(line, min(from, len(line)), lineChars))
		f.matches = append(f.matches, m)
	}
	return nil
}

// rarity is what a keyword is worth: the more, the fewer files it is in.
func (c *collection) rarity(k int) float64 {
	if c.in[k] == 0 {
		return 0
	}
	return math.Log(1 + float64(c.total)/float64(c.in[k]))
}

// worth adds up the rarity of keywords.
func (c *collection) worth(s set) float64 {
	sum := 0.0
	for k := range c.keywords {
		if s.has(k) {
			sum += c.rarity(k)
		}
	}
	return sum
}

// ranked scores the candidates and gives them best first. A file's score is
// the sum over its keywords of their rarity, each times
//
//	1 if it is in a line, and up to 1 more for many lines,
//	1 if it is in a line that looks like a definition,
//	1 if it is in the path,
//
// plus the worth of the line with the most valuable keywords together. Equal
// scores go by name.
func (c *collection) ranked() []*candidate {
	for _, f := range c.files {
		f.score = c.worth(f.content()) + c.worth(f.defined) + c.worth(f.path)
		for k := range c.keywords {
			f.score += c.rarity(k) * min(1, math.Log2(float64(max(1, f.lines[k])))/5)
		}
		best := 0.0
		for _, m := range f.matches {
			best = max(best, c.worth(m.has))
		}
		f.score += best
	}
	slices.SortFunc(c.files, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})
	return c.files
}

// best gives the n most valuable lines of a file, in their order.
func (c *collection) best(f *candidate, n int) []match {
	value := func(m match) float64 {
		v := c.worth(m.has)
		if m.definition {
			v *= 1.5
		}
		return v
	}
	top := slices.Clone(f.matches)
	slices.SortStableFunc(top, func(a, b match) int { return cmp.Compare(value(b), value(a)) })
	top = top[:min(n, len(top))]
	slices.SortFunc(top, func(a, b match) int { return cmp.Compare(a.line, b.line) })
	return top
}

// summary is a candidate in one line, for who ranks it.
func (c *collection) summary(f *candidate) string {
	s := files.Shown(f.name)
	for _, m := range c.best(f, 2) {
		s += fmt.Sprintf(" | %d: %s", m.line, m.text)
	}
	return s
}

// answer puts the candidates into words, as many as there is room for.
func (c *collection) answer(found []*candidate) string {
	if len(found) == 0 {
		return fmt.Sprintf("None of %s is in any of the %d files: try other words, or look around with LS and Glob.\n", strings.Join(c.keywords, ", "), c.total)
	}
	var b strings.Builder
	counts := make([]string, len(c.keywords))
	for k, word := range c.keywords {
		counts[k] = fmt.Sprintf("%s %d", word, c.in[k])
	}
	fmt.Fprintf(&b, "%d of %d files match (%s), best first:\n", len(found), c.total, strings.Join(counts, ", "))
	shown := 0
	for _, f := range found {
		block := c.block(f)
		if b.Len()+len(block) > maxOutput && shown > 0 {
			break
		}
		b.WriteString(block)
		shown++
	}
	if rest := found[shown:]; len(rest) > 0 {
		fmt.Fprintf(&b, "\n[and %d more files; add keywords, a path or a glob to narrow it]\n", len(rest))
	}
	if c.unreadable > 0 {
		fmt.Fprintf(&b, "[files that could not be read: %d]\n", c.unreadable)
	}
	return b.String()
}

func (c *collection) block(f *candidate) string {
	name := files.Shown(f.name)
	lines := c.best(f, shownLines)
	if len(lines) == 0 {
		return fmt.Sprintf("\n%s (its path matches)\n", name)
	}
	var b strings.Builder
	b.WriteByte('\n')
	for _, m := range lines {
		fmt.Fprintf(&b, "%s:%d: %s\n", name, m.line, m.text)
	}
	if more := f.matched - len(lines); more > 0 {
		fmt.Fprintf(&b, "%s: %d more lines\n", name, more)
	}
	return b.String()
}
