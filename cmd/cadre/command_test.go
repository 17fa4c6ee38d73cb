// Tests of the other commands, of help and completion, and of the edges: data
// folder, exit codes, the live view.

package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" || c.Long == "" || c.Example == "" {
			t.Errorf("%s has no help of its own", c.CommandPath())
		}
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if n := view.Cells(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: a line of its help has %d columns: %s", c.CommandPath(), n, line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&globals{}))
	f := newFolder(t)
	f.run(0).wants(t, "Usage:", "cadre run")
	f.run(0, "run", "--help").wants(t, "Exit codes", "--max-cost")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.run(0, "version").wants(t, "cadre ", "go1.", "step version 1")
	var v versionInfo
	if err := json.Unmarshal([]byte(f.run(0, "version", "--json").out), &v); err != nil || v.Version == "" || v.Step != agent.Version {
		t.Errorf("%+v %v", v, err)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.run(0, "run", "hello")
	f.run(0, "completion", "bash").wants(t, "bash completion")
	f.run(0, "__complete", "run", "--role", "").wants(t, "main\t", "general\t")
	f.run(0, "__complete", "run", "--model", "").wants(t, "offline", "scripted:")
	f.run(0, "__complete", "show", "").wants(t, "\thello")
	f.run(0, "__complete", "run", "--chat", "").wants(t, "\thello")
}

func TestModelServer(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.start("dev", "model-server", strings.TrimPrefix(script(t, "slow.yaml"), "scripted:"))
	url := p.await("it listens", func(text string) bool { return strings.HasPrefix(text, "http://127.0.0.1:") })[0]
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("status %s %v", res.Status, err)
	}
	p.signal(os.Interrupt)
	if r := p.wait(); r.code != 0 {
		t.Errorf("exit code %d\n%s", r.code, r.errs)
	}
}

func TestEmptyFolder(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.run(0, "show").wants(t, "There are no chats in "+f.data, "cadre run")
	f.run(exitFailed, "show", "x").wants(t, "there is no data in "+f.data, "cadre run")
	f.run(exitFailed, "db", "check").wants(t, "there is no data")
	f.run(0, "run", "--resume").wants(t, "Nothing is unfinished.")
	if d := done(t, f.run(0, "run", "--resume", "--json").out); d.Outcome != "nothing_unfinished" {
		t.Errorf("done: %+v", d)
	}
	f.run(0, "show").wants(t, "There are no chats")
	f.run(0, "verify", "--all").wants(t, "there are no chats")
}

func TestDamage(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	d := done(t, f.run(0, "run", "--json", "hello").out)
	name := filepath.Join(f.data, "cadre.db")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{len(b) / 2, 8192} { // first some of it, then all but the start
		for i := from; i < len(b); i++ {
			b[i] = 0x5a
		}
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		f.run(exitFailed, "db", "check").wants(t, "damaged", "copy the data folder")
	}
	f.run(exitFailed, "show", d.Chat).wants(t, "damaged", "cadre db check")
	f.run(exitFailed, "run", "hello").wants(t, "damaged", "cadre db check")
}

func TestFolder(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"CADRE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	wants := func(g globals, want string) {
		t.Helper()
		if got, err := g.folder(); got != want || err != nil {
			t.Errorf("got %q %v, want %q", got, err, want)
		}
	}
	wants(globals{}, filepath.Join(home, ".local/share/cadre"))
	t.Setenv("XDG_DATA_HOME", "relative")
	wants(globals{}, filepath.Join(home, ".local/share/cadre"))
	t.Setenv("XDG_DATA_HOME", "/xdg")
	wants(globals{}, "/xdg/cadre")
	t.Setenv("CADRE_HOME", "/home/c")
	wants(globals{}, "/home/c")
	wants(globals{data: "/data"}, "/data")
	t.Setenv("CADRE_HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", "")
	if _, err := (&globals{}).folder(); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("without a home: %v", err)
	}
}

func TestLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	t.Setenv("CADRE_LOG", "warn")
	log, closeLog, err := openLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("not this")
	log.Warn("but this")
	if err := closeLog(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, logName)
	b, err := os.ReadFile(name)
	if err != nil || strings.Contains(string(b), "not this") || !strings.Contains(string(b), "but this") {
		t.Errorf("the log: %s %v", b, err)
	}
	if err := os.Truncate(name, logSize+1); err != nil {
		t.Fatal(err)
	}
	_, closeLog, err = openLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := closeLog(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Size() != 0 {
		t.Errorf("no new log was begun: %v", err)
	}
	if _, err := os.Stat(name + ".1"); err != nil {
		t.Errorf("the old log: %v", err)
	}
	t.Setenv("CADRE_LOG", "loud")
	if _, _, err := openLog(dir); err == nil {
		t.Error("CADRE_LOG=loud was taken")
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for reason, want := range map[agent.Reason]int{
		agent.ReasonCompleted: 0, agent.ReasonFailed: 1, agent.ReasonInterrupted: 1, agent.ReasonPartial: 3, agent.ReasonTimeout: 3,
		agent.ReasonMaxTurns: 3, agent.ReasonBudget: 3, agent.ReasonCancelled: 130, agent.ReasonSuperseded: 130, "unknown": 1,
	} {
		if got := codeOf(reason); got != want {
			t.Errorf("%s: exit code %d, want %d", reason, got, want)
		}
	}
	var b strings.Builder
	if code := report(&b, errors.Join(&ended{code: 3, err: errors.New("this"), next: "that"}, errors.New("and this"))); code != 3 || b.String() != "cadre: this\n  that\n" {
		t.Errorf("code %d: %s", code, b.String())
	}
}

func TestShellWord(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"/a/b-c.d": "/a/b-c.d", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'"} {
		if got := shellWord(s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}

// TestLivePrinter plays a run on a file in place of a terminal.
func TestLivePrinter(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "screen"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was read
	p := &livePrinter{out: file, screen: view.NewScreen(file)}
	tree := view.NewTree()
	now := time.UnixMilli(1_800_000_000_000)
	change := func(doc any) { tree.Change(store.Change{At: now.UnixMilli(), Docs: []store.Document{{Data: doc}}}) }
	root := store.Agent{ID: "c", ChatID: "c", Name: "main", Path: "main", Model: "offline", CreatedAt: now.UnixMilli()}
	root.Status = "thinking"
	change(root)
	say := func(pos int, text string, calls ...message.Part) {
		parts, err := message.EncodeParts(append([]message.Part{message.TextPart{Text: text}}, calls...))
		if err != nil {
			t.Fatal(err)
		}
		change(store.Message{Agent: "c", Pos: pos, Kind: "reply", Role: "assistant", Parts: parts})
	}
	frame := func() {
		t.Helper()
		if err := p.frame(tree, now); err != nil {
			t.Fatal(err)
		}
	}
	frame()
	say(1, "I'll look.", message.ToolCall{ID: "1", Name: "LS", Input: json.RawMessage("{}")})
	frame()
	say(3, "They work.") // a text that something follows, though it did not say so
	frame()
	if err := p.note("Cancelling."); err != nil {
		t.Fatal(err)
	}
	say(5, "The \x1b[31manswer.")
	frame()
	o := agent.Outcome{Reason: agent.ReasonCompleted, Result: agent.Ref{From: 5, To: 5}}
	tree.Finish(o)
	if err := p.done(tree, view.Done{Outcome: "completed", Result: "The \x1b[31manswer.", Agents: 1, Chat: "c"}, o); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{"main", "I'll look.\n", "They work.\n", "Cancelling.\n", "The [31manswer.\n", "✓ completed", view.ShowCursor} {
		i := strings.Index(string(b)[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing after byte %d of %q", want, at, b)
		}
		at += i + len(want)
	}
	if n := strings.Count(string(b), "answer."); n != 1 {
		t.Errorf("the answer was printed %d times: %q", n, b)
	}
}
