// What cadre run prints: a live view on a terminal, plain lines in a pipe, or
// JSON.

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

// printer shows a run. The model has what it is told before it is told.
type printer interface {
	change(c store.Change) error
	delta(d feed.Delta, at time.Time) error
	frame(t *view.Tree, now time.Time) error // about ten times a second
	note(text string) error                  // a line for the person
	ask(text string) error                   // what the person is asked; empty: no longer
	suspend(chat, signal string) error       // the run goes on another time
	done(t *view.Tree, d view.Done, o agent.Outcome) error
}

func (s *session) newPrinter() printer {
	out, errs := s.cmd.OutOrStdout(), s.cmd.ErrOrStderr()
	switch {
	case s.o.json && s.o.events:
		return &eventPrinter{jsonPrinter{json: view.NewJSON(out), errs: errs}, s.tree}
	case s.o.json:
		return &jsonPrinter{json: view.NewJSON(out), errs: errs}
	case isTerminal(out) && os.Getenv("TERM") != "dumb":
		return &livePrinter{out: out.(*os.File), screen: view.NewScreen(out), style: terminalStyle()}
	}
	return &plainPrinter{out: out, errs: errs, plain: view.NewPlain(errs, s.tree)}
}

// terminalStyle follows what the user has set. See https://no-color.org.
func terminalStyle() view.Style {
	return view.Style{Colour: os.Getenv("NO_COLOR") == "", ASCII: !unicodeTerminal(), Moving: true}
}

// unicodeTerminal tells whether the locale allows more than ASCII; one that is
// not set says nothing.
func unicodeTerminal() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(os.Getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// jsonPrinter prints lines of JSON.
type jsonPrinter struct {
	json *view.JSON
	errs io.Writer
}

func (p *jsonPrinter) change(c store.Change) error             { return p.json.Change(c) }
func (p *jsonPrinter) delta(d feed.Delta, at time.Time) error  { return p.json.Delta(d, at) }
func (p *jsonPrinter) frame(t *view.Tree, now time.Time) error { return nil }
func (p *jsonPrinter) done(_ *view.Tree, d view.Done, _ agent.Outcome) error {
	return p.json.Done(d)
}

func (p *jsonPrinter) note(text string) error {
	fmt.Fprintln(p.errs, text)
	return nil
}

func (p *jsonPrinter) ask(string) error { return nil } // the change tells it

func (p *jsonPrinter) suspend(chat, signal string) error {
	if signal == "" {
		return nil
	}
	return p.json.Suspended(chat, signal, time.Now())
}

// eventPrinter prints events for observers instead of changes.
type eventPrinter struct {
	jsonPrinter
	tree *view.Tree
}

func (p *eventPrinter) delta(feed.Delta, time.Time) error { return nil }

func (p *eventPrinter) change(c store.Change) error {
	if o := p.tree.Observe(c); o != nil {
		return p.json.Observed(o)
	}
	return nil
}

// plainPrinter prints the answer, and on the error stream who starts and ends.
type plainPrinter struct {
	out, errs io.Writer
	plain     *view.Plain
}

func (p *plainPrinter) change(store.Change) error         { return nil }
func (p *plainPrinter) delta(feed.Delta, time.Time) error { return nil }
func (p *plainPrinter) suspend(string, string) error      { return nil }

func (p *plainPrinter) frame(t *view.Tree, now time.Time) error {
	p.plain.Update(t, now)
	return nil
}

func (p *plainPrinter) note(text string) error {
	fmt.Fprintln(p.errs, text)
	return nil
}

func (p *plainPrinter) ask(text string) error {
	if text != "" {
		fmt.Fprintln(p.errs, text)
	}
	return nil
}

func (p *plainPrinter) done(t *view.Tree, d view.Done, _ agent.Outcome) error {
	p.plain.Update(t, time.Now())
	if d.Result != "" {
		if _, err := fmt.Fprintln(p.out, strings.TrimRight(d.Result, "\n")); err != nil {
			return fmt.Errorf("printing the answer: %w", err)
		}
	}
	fmt.Fprintln(p.errs, view.Style{}.Summary(t, d, 0, time.Now()))
	return nil
}

// livePrinter redraws the tree at the end of the terminal.
type livePrinter struct {
	out    *os.File
	screen *view.Screen
	style  view.Style
	notes  []string
	held   []view.Said // said, and perhaps the answer
	said   int         // where the last text stands that was printed
	shown  string      // the last frame
	asking bool        // the person types: nothing is drawn meanwhile
}

func (p *livePrinter) change(store.Change) error         { return nil }
func (p *livePrinter) delta(feed.Delta, time.Time) error { return nil }

// size is that of the terminal, which may change at any time.
func (p *livePrinter) size() (width, height int) {
	width, height, err := term.GetSize(int(p.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

func (p *livePrinter) frame(t *view.Tree, now time.Time) error {
	width, height := p.size()
	above := p.above(t, width, -1)
	if p.asking {
		if above == "" {
			return nil
		}
		_, err := fmt.Fprintf(p.out, "\n%s> ", above)
		return err
	}
	lines := p.style.Frame(t, width, height-1, now)
	frame := fmt.Sprint(width, "\n", strings.Join(lines, "\n"))
	if above == "" && frame == p.shown {
		return nil
	}
	p.shown = frame
	return p.screen.Draw(above, lines, width)
}

// above is what has been said for good: notes, and texts of the orchestrator
// that something follows. What may be the answer, as nobody is at work any more,
// is held back; answer is where that begins, once it is known.
func (p *livePrinter) above(t *view.Tree, width, answer int) string {
	p.held = append(p.held, t.Said()...)
	var b strings.Builder
	for len(p.held) > 0 {
		first := p.held[0]
		if len(p.held) == 1 && !first.More && answer < 0 && !t.Live() || answer >= 0 && first.Pos >= answer {
			break
		}
		b.WriteString(view.Prose(view.Clean(strings.TrimSpace(first.Text)), width) + "\n\n")
		p.held, p.said = p.held[1:], first.Pos
	}
	for _, n := range p.notes {
		b.WriteString(n + "\n")
	}
	p.notes = nil
	return b.String()
}

func (p *livePrinter) note(text string) error {
	if p.asking {
		_, err := fmt.Fprintf(p.out, "%s\n", text)
		return err
	}
	p.notes = append(p.notes, text)
	return nil
}

// ask shows what is asked and leaves the cursor to the person.
func (p *livePrinter) ask(text string) error {
	p.asking = text != ""
	if !p.asking {
		return nil
	}
	width, _ := p.size()
	p.shown = ""
	return p.screen.Close("\n"+text+"\n> ", width)
}

func (p *livePrinter) suspend(string, string) error {
	width, _ := p.size()
	return p.screen.Close("", width)
}

func (p *livePrinter) done(t *view.Tree, d view.Done, o agent.Outcome) error {
	width, height := p.size()
	now := time.Now()
	var b strings.Builder
	b.WriteString(p.above(t, width, o.Result.From))
	p.held = nil // what is left is the answer, which follows
	if t.Len() > 1 {
		rows := t.Rows(view.RowOptions{Now: now, Height: height - 2})
		b.WriteString(strings.Join(p.style.Lines(rows, width, now), "\n") + "\n\n")
	}
	if d.Result != "" && (p.said == 0 || o.Result.From > p.said) {
		b.WriteString(view.Prose(view.Clean(strings.TrimRight(d.Result, "\n")), width) + "\n\n")
	}
	b.WriteString(p.style.Summary(t, d, width, now) + "\n")
	return p.screen.Close(b.String(), width)
}
