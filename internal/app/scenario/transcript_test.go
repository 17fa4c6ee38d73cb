// Transcripts: what was said by whom, as text that is the same every time.

package scenario_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

var rewrite = flag.Bool("rewrite", false, "write the transcripts anew")

var feedOptions = feed.Options{Buffer: 1 << 16}

var varying = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(ms|µs|s)\b`), "TIME"},
	{regexp.MustCompile(`\b\d+ tokens`), "N tokens"},
}

// transcript is what all agents of the chat said and were told.
func (w *world) transcript() string {
	w.Helper()
	var b strings.Builder
	for _, a := range w.tree() {
		fmt.Fprintf(&b, "== %s (%s", a.Path, a.ID)
		if a.Continues != "" {
			fmt.Fprintf(&b, ", continues %s", a.Continues)
		}
		fmt.Fprintf(&b, ") %s\n", a.Status)
		b.WriteString(w.history(a.ID))
		if a.Depth > 0 {
			t := w.task(a.ID)
			fmt.Fprintf(&b, "   task: %s", t.Status)
			if t.Error != "" || t.ErrorKind != "" {
				fmt.Fprintf(&b, " (%s %s)", t.ErrorKind, first(t.Error))
			}
			b.WriteString("\n")
		}
	}
	items, err := w.app.Store.Inbox(w.Context(), store.InboxQuery{Chat: "k", Closed: true})
	if err != nil {
		w.Fatal(err)
	}
	slices.SortFunc(items, func(a, b store.Item) int { return strings.Compare(a.ID, b.ID) })
	for _, i := range items {
		fmt.Fprintf(&b, "-- %s %s of %s: %s", i.ID, i.Kind, i.Path, first(i.Action))
		if i.Status == "closed" {
			fmt.Fprintf(&b, " → %s by %q %s %s", i.How, i.By, i.Scope, first(i.Answer))
		} else {
			fmt.Fprintf(&b, " (%s)", i.Status)
		}
		b.WriteString("\n")
	}
	return w.steady(b.String())
}

func first(s string) string {
	line, _, more := strings.Cut(s, "\n")
	if more {
		line += " …"
	}
	return line
}

// steady leaves out what differs from run to run.
func (w *world) steady(s string) string {
	s = strings.ReplaceAll(s, w.root, "$ROOT")
	for _, v := range varying {
		s = v.what.ReplaceAllString(s, v.with)
	}
	return s
}

// history is the conversation of one agent, a paragraph a message.
func (w *world) history(id string) string {
	w.Helper()
	rows, err := w.app.Store.History(w.Context(), id, 0)
	if err != nil {
		w.Fatal(err)
	}
	var b strings.Builder
	for _, row := range rows {
		m, err := row.Decode()
		if err != nil {
			w.Fatal(err)
		}
		b.WriteString(said(m))
	}
	return b.String()
}

// said is one message in words.
func said(m message.Message) string {
	var b strings.Builder
	line := func(head, text string) {
		fmt.Fprintf(&b, "   %s: %s\n", head, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      "))
	}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case message.TextPart:
			line(string(m.Kind), inOrder(m.Kind, p.Text))
		case message.ToolCall:
			line("call "+p.Name, string(p.Input))
		case message.ToolResult:
			head := "result of " + p.Name
			if p.IsError {
				head = "failure of " + p.Name
			}
			line(head, message.Text(p.Parts))
		default:
			line(string(m.Kind), fmt.Sprintf("%T", p))
		}
	}
	return b.String()
}

// inOrder sorts the lines of a note: who asks first is a matter of chance.
func inOrder(k message.Kind, text string) string {
	if k != message.KindNote {
		return text
	}
	lines := strings.Split(text, "\n")
	slices.SortStableFunc(lines, func(a, b string) int {
		if !strings.HasPrefix(a, "- ") || !strings.HasPrefix(b, "- ") {
			return 0
		}
		return strings.Compare(a, b)
	})
	return strings.Join(lines, "\n")
}

// golden compares the transcript with the file of that name.
func (w *world) golden(name string) {
	w.Helper()
	file := filepath.Join("testdata", name+".txt")
	got := w.transcript()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			w.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		w.Fatal(err)
	}
	if got != string(want) {
		w.Errorf("the transcript is not that of %s (-rewrite writes it anew):\n%s", file, difference(string(want), got))
	}
}

// difference shows where two texts part.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, strings.Join(a[i:min(i+6, len(a))], "\n     "), strings.Join(b[i:min(i+6, len(b))], "\n     "))
		}
	}
	return fmt.Sprintf("want %d lines, got %d", len(a), len(b))
}
