// Tests of numbers, widths and wrapping, of the screen and of the JSON lines.

package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Duration(0), "0:00"},
		{Duration(42 * time.Second), "0:42"},
		{Duration(754 * time.Second), "12:34"},
		{Duration(3723 * time.Second), "1:02:03"},
		{Tokens(0), "0"},
		{Tokens(999), "999"},
		{Tokens(1000), "1.0k"},
		{Tokens(99_949), "99.9k"},
		{Tokens(99_950), "100k"},
		{Tokens(999_499), "999k"},
		{Tokens(999_500), "1.0M"},
		{Tokens(12_345_678), "12.3M"},
		{Money(0, true), "$0.00"},
		{Money(0, false), "unknown"},
		{Money(5, false), "unknown"},
		{Money(1, true), "$0.000001"},
		{Money(1234, true), "$0.0012"},
		{Money(9_999, true), "$0.01"},
		{Money(10_000, true), "$0.01"},
		{Money(141_000, true), "$0.14"},
		{Money(12_345_000, true), "$12.35"},
		{Count(1, "agent"), "1 agent"},
		{Count(2, "agent"), "2 agents"},
		{FirstLine("\n\n  x \ny"), "x"},
		{lastLine("a\nb \n\n"), "b"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestCells(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "日本": 4, "é": 1, "e\u0301": 1, "😀": 2, "✓": 1, "…": 1, "❤\ufe0f": 2,
	} {
		if got := Cells(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{"abc", -1, ""},
	} {
		if got := Cut(c.s, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestClean(t *testing.T) {
	if got, want := Clean("a\x1b[31mb\x07\r\n\tc\u202ed\u009be"), "a[31mb\n\tcde"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWrap(t *testing.T) {
	got := strings.Join(Wrap("the quick brown fox\njumps\n\noverandoverandover it", 10), "|")
	if want := "the quick|brown fox|jumps||overandove|randover|it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for n := 1; n < 6; n++ {
		for _, line := range Wrap("日本語 and 😀 more", n) {
			if Cells(line) > max(n, 2) {
				t.Errorf("%q is wider than %d", line, n)
			}
		}
	}
	prose := "A long line of prose.\n- an item of a list that is long\n    code stays whatever its length\n```\nso does this here, being fenced\n```\n*no marker, this, as it is emphasis*"
	golden(t, "prose.txt", Prose(prose, 16)+"\n")
}

// terminal plays what a Screen writes, as far as it uses a terminal.
type terminal struct {
	lines    []string
	row, col int
	hidden   bool
}

func (v *terminal) Write(b []byte) (int, error) {
	s := string(b)
	for s != "" {
		switch {
		case strings.HasPrefix(s, "\x1b["):
			end := strings.IndexAny(s[2:], "ABCDHJKhlm") + 2
			v.control(s[2:end], s[end])
			s = s[end+1:]
		case s[0] == '\n':
			v.row, v.col, s = v.row+1, 0, s[1:]
		case s[0] == '\r':
			v.col, s = 0, s[1:]
		default:
			v.put(s[0])
			s = s[1:]
		}
	}
	return len(b), nil
}

func (v *terminal) line() *string {
	for len(v.lines) <= v.row {
		v.lines = append(v.lines, "")
	}
	return &v.lines[v.row]
}

func (v *terminal) put(c byte) {
	l := v.line()
	for len(*l) <= v.col {
		*l += " "
	}
	*l = (*l)[:v.col] + string(c) + (*l)[v.col+1:]
	v.col++
}

func (v *terminal) control(args string, verb byte) {
	switch verb {
	case 'A':
		n := 0
		for _, d := range args {
			n = 10*n + int(d-'0')
		}
		v.row = max(v.row-n, 0)
	case 'J':
		l := v.line()
		*l = (*l)[:min(v.col, len(*l))]
		v.lines = v.lines[:v.row+1]
	case 'K':
		l := v.line()
		*l = (*l)[:min(v.col, len(*l))]
	case 'h', 'l':
		if args == "?25" {
			v.hidden = verb == 'l'
		}
	}
}

func TestScreen(t *testing.T) {
	v := &terminal{}
	s := NewScreen(v)
	draw := func(above string, lines ...string) {
		t.Helper()
		if err := s.Draw(above, lines, 40); err != nil {
			t.Fatal(err)
		}
	}
	draw("", "one", "two", "three")
	draw("", "one", "2")
	draw("note\n", "longer one", "2", "3", "4")
	draw("", "last")
	if !v.hidden {
		t.Error("the cursor shows")
	}
	if got, want := strings.Join(v.lines, "|"), "note|last"; got != want {
		t.Errorf("the terminal shows %q, want %q", got, want)
	}
	if err := s.Close("tree\n\nanswer\n", 40); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(v.lines, "|"), "note|tree||answer"; strings.TrimRight(got, "|") != want {
		t.Errorf("the terminal shows %q, want %q", got, want)
	}
	if v.hidden {
		t.Error("the cursor is still hidden")
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	j := NewJSON(&b)
	cost := int64(61_234)
	for _, err := range []error{
		j.Change(store.Change{Seq: 7, At: at(1.5), Type: "user_message", Chat: "c", Agent: "c", Path: "main", Docs: []store.Document{
			{Collection: "messages", ID: "m", Data: store.Message{ID: "m", Parts: json.RawMessage(`[]`)}},
		}}),
		j.Change(store.Change{Seq: 8, At: at(2), Type: "tick", Chat: "c"}),
		j.Delta(feed.Delta{Chat: "c", Agent: "c.1", Path: "main/coder", Call: "c.1-t1.1", Kind: "text", Part: 1, Offset: 5, Text: "a\nb<c>"}, start),
		j.Suspended("c", "terminated", start),
		j.Done(Done{Outcome: "completed", Result: "x", Usage: message.Usage{Input: 3, Reasoning: 1}, Cost: &cost, Agents: 2, Chat: "c"}),
		j.Done(Done{Outcome: "failed", ErrorKind: "model_error", Error: "no", Agents: 1, Chat: "c"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "lines.jsonl", b.String())
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"touch x # \x1b[2J\x1b[1;1H": "touch x # ␛[2J␛[1;1H",
		"a\rb":                       "a␍b",
		"a\r\nb\tc\n":                "a\nb\tc\n",
		"x\u202ey\u200bz":            "x‹U+202E›y‹U+200B›z",
		"\x7f\u009b":                 "‹U+007F›‹U+009B›",
		"Füße 👩‍💻":                   "Füße 👩‍💻",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
