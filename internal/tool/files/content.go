// The text of a file as an edit sees it: its lines, how they end, and the mark
// at its start, all of which outlive the edit.

package files

import (
	"sort"
	"strings"
)

const bom = "\ufeff" // the mark that some editors put before UTF-8

// textLine is a line without its end, and the end: "\n", "\r\n", or nothing
// for a last line that has none.
type textLine struct{ text, end string }

// fileText is a text in lines. Joined with the mark they are the file.
type fileText struct {
	mark  string
	lines []textLine
}

func parseText(data []byte) *fileText {
	rest := string(data)
	t := &fileText{}
	if strings.HasPrefix(rest, bom) {
		t.mark, rest = bom, rest[len(bom):]
	}
	t.lines = make([]textLine, 0, strings.Count(rest, "\n")+1)
	for rest != "" {
		line, after, ended := strings.Cut(rest, "\n")
		end := ""
		if ended {
			end = "\n"
			if cut, ok := strings.CutSuffix(line, "\r"); ok {
				line, end = cut, "\r\n"
			}
		}
		t.lines = append(t.lines, textLine{line, end})
		rest = after
	}
	return t
}

func (t *fileText) String() string {
	size := len(t.mark)
	for _, l := range t.lines {
		size += len(l.text) + len(l.end)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(t.mark)
	for _, l := range t.lines {
		b.WriteString(l.text)
		b.WriteString(l.end)
	}
	return b.String()
}

// ends tells how most lines end. A text of one line that is not ended would
// end it by a newline.
func (t *fileText) ends() string {
	crlf, lf := t.count()
	if crlf > lf {
		return "\r\n"
	}
	return "\n"
}

func (t *fileText) mixed() bool {
	crlf, lf := t.count()
	return crlf > 0 && lf > 0
}

func (t *fileText) count() (crlf, lf int) {
	for _, l := range t.lines {
		switch l.end {
		case "\r\n":
			crlf++
		case "\n":
			lf++
		}
	}
	return crlf, lf
}

// endAt is how a line that is put at index i should end: as its neighbours do.
func (t *fileText) endAt(i int) string {
	for _, at := range []int{i, i - 1} {
		if at >= 0 && at < len(t.lines) && t.lines[at].end != "" {
			return t.lines[at].end
		}
	}
	return t.ends()
}

// plain is a text with all lines ending in a newline only, in which an old
// text is looked for, and the way back from there.
type plain struct {
	text    string
	offset  int   // where it begins in the file
	returns []int // newlines in text, by place, that are CR LF in the file
}

func (t *fileText) plain() *plain {
	p := &plain{offset: len(t.mark)}
	var b strings.Builder
	for _, l := range t.lines {
		b.WriteString(l.text)
		if l.end == "\r\n" {
			p.returns = append(p.returns, b.Len())
		}
		if l.end != "" {
			b.WriteByte('\n')
		}
	}
	p.text = b.String()
	return p
}

// inFile turns a place in the plain text into one in the file.
func (p *plain) inFile(at int) int {
	return p.offset + at + sort.SearchInts(p.returns, at)
}

// lineAt counts the line of a place from 1.
func (p *plain) lineAt(at int) int { return 1 + strings.Count(p.text[:at], "\n") }

// texts gives the lines without their ends.
func (t *fileText) texts() []string {
	out := make([]string, len(t.lines))
	for i, l := range t.lines {
		out[i] = l.text
	}
	return out
}

func toNewlines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
