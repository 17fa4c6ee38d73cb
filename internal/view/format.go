// Numbers and texts as people read them, and how wide they are on a terminal.

package view

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"
)

// Duration writes a time that has passed: 0:42, 12:03, 1:02:03.
func Duration(d time.Duration) string {
	s := int64(d / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Tokens writes a number of tokens in a few characters: 950, 12.3k, 4.1M.
func Tokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 99_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// Money writes millionths of a dollar: to the cent from one cent on, below
// that with two digits that count. What is not known is never told as $0.
func Money(micros int64, known bool) string {
	switch {
	case !known:
		return "unknown"
	case micros == 0 || micros >= 10_000:
		return fmt.Sprintf("$%.2f", float64(micros)/1e6)
	}
	digits := 1 - int(math.Floor(math.Log10(float64(micros)/1e6)))
	return "$" + strings.TrimRight(fmt.Sprintf("%.*f", min(digits, 6), float64(micros)/1e6), "0")
}

// Count writes a number with its noun: 1 agent, 2 agents.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// FirstLine is the first line of s that says something.
func FirstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// lastLine is the last line of s that says something.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// Clean makes text from a model or a tool safe for a terminal: control
// characters, which could move the cursor or set the title, are left out, but
// for line ends and tabs.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || isBidi(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
}

// Visible is Clean for what a person decides about: nothing is left out, what
// could deceive is written out. Line ends of Windows are those of all others.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < 0x20: // the pictures of control characters
			b.WriteRune('\u2400' + r)
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || isBidi(r) || isInvisible(r):
			fmt.Fprintf(&b, "‹%U›", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isInvisible tells characters that take no room and say nothing. Those that
// join emoji are none of them.
func isInvisible(r rune) bool {
	return r == '\u00ad' || r == '\u200b' || r == '\u2060' || r == '\ufeff' || r >= 0xe0000 && r <= 0xe007f
}

// isBidi tells the characters that reorder what stands around them, with which
// a text could show something else than it says.
func isBidi(r rune) bool {
	return r == '\u061c' || r >= '\u200e' && r <= '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// oneLine makes s fit for a row.
func oneLine(s string) string {
	return strings.Join(strings.Fields(Clean(s)), " ")
}

// Cells is how many columns of a terminal s takes. Where terminals differ it
// is rather too much than too little, so that a line never wraps.
func Cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	switch {
	case r < 0x20:
		return 0
	case r < 0x7f:
		return 1
	case r == 0xfe0f: // the character before it becomes an emoji
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	case width.Neutral, width.EastAsianAmbiguous, width.EastAsianNarrow, width.EastAsianHalfwidth:
	}
	if r >= 0x1f000 { // emoji that the table may not know yet
		return 2
	}
	return 1
}

// Title is how a chat is listed that has no other name: the beginning of a
// text.
func Title(text string) string { return Cut(FirstLine(Clean(text)), 80) }

// Cut shortens s to n columns; what was cut is marked by an ellipsis.
func Cut(s string, n int) string {
	if Cells(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	used := 0
	for i, r := range s {
		w := runeCells(r)
		if used+w > n-1 {
			return s[:i] + "…"
		}
		used += w
	}
	return s
}

// pad fills s with spaces to n columns.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-Cells(s), 0))
}

func padLeft(s string, n int) string {
	return strings.Repeat(" ", max(n-Cells(s), 0)) + s
}

// Wrap breaks s into lines of at most n columns, at spaces where it can.
func Wrap(s string, n int) []string {
	var out []string
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\t", "    "), "\n") {
		out = append(out, wrapLine(line, max(n, 1))...)
	}
	return out
}

func wrapLine(line string, n int) []string {
	var out []string
	for Cells(line) > n {
		end, space, used := len(line), 0, 0
		for i, r := range line {
			if used += runeCells(r); used > n {
				end = i
				break
			}
			if r == ' ' && i > 0 {
				space = i
			}
		}
		switch {
		case line[end] == ' ':
		case space > 0:
			end = space
		case end == 0: // one character is wider than the line
			end = len(string([]rune(line)[:1]))
		}
		out = append(out, strings.TrimRight(line[:end], " "))
		line = strings.TrimLeft(line[end:], " ")
	}
	return append(out, line)
}

// Prose breaks an answer at spaces, so that a terminal need not break words.
// Code, tables and everything indented like code stay as they are.
func Prose(text string, width int) string {
	var out []string
	code := false
	for line := range strings.SplitSeq(text, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence {
			code = !code
		}
		if code || fence || Cells(line) <= width || strings.HasPrefix(line, "    ") || strings.ContainsRune(line, '\t') || strings.HasPrefix(line, "|") {
			out = append(out, line)
			continue
		}
		indent := strings.Repeat(" ", len(marker.FindString(line)))
		first := wrapLine(line, width)[0]
		out = append(out, first)
		if rest := strings.TrimLeft(line[len(first):], " "); rest != "" {
			for _, l := range wrapLine(rest, max(width-len(indent), 1)) {
				out = append(out, indent+l)
			}
		}
	}
	return strings.Join(out, "\n")
}

// marker is what begins an item of a list or a quotation.
var marker = regexp.MustCompile(`^ {0,3}(([-*+>]|\d{1,3}[.)]) +)?`)
