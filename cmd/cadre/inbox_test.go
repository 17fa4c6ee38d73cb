// Tests of what waits for the user: answered from another process, denied where
// nobody can be asked, stored where nobody works.

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/client"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/view"
)

// waiting polls for the item that waits in the folder.
func (f *folder) waiting() store.Item {
	f.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		r := f.start("inbox", "--json")
		<-r.exited
		for line := range r.lines {
			var i store.Item
			if err := json.Unmarshal([]byte(line), &i); err == nil && i.ID != "" {
				return i
			}
		}
	}
	f.t.Fatal("nothing waits")
	return store.Item{}
}

// audited makes sure that the audit log has the lines, oldest first: who did what
// to what, from where.
func (f *folder) audited(want ...string) {
	f.t.Helper()
	st, err := sqlite.OpenReadOnly(f.data)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	all, err := st.Audits(f.t.Context(), store.AuditQuery{Limit: 100})
	if err != nil {
		f.t.Fatal(err)
	}
	var got []string
	for _, a := range slices.Backward(all) {
		if a.At == 0 {
			f.t.Errorf("no time: %+v", a)
		}
		got = append(got, fmt.Sprintf("%s %s %s (%s) from %s", a.UserID, a.Action, a.Target, strings.TrimSpace(a.Detail), a.Address))
	}
	if !slices.Equal(got, want) {
		f.t.Errorf("the audit log says\n  %s, want\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (f *folder) has(name, want string) {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.work, name))
	if err != nil || string(b) != want {
		f.t.Errorf("%s holds %q, want %q (%v)", name, b, want, err)
	}
}

func TestAnswersFromElsewhere(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.start("run", "--json", "--wait", "--model", script(t, "asks.yaml"), "go")
	first := f.waiting()
	if first.Kind != "approval" || !strings.Contains(first.Action, "+one") || first.Path != "main" {
		t.Fatalf("the first item: %+v", first)
	}
	f.run(0, "inbox").wants(t, first.ID, "main needs an approval", "Write one.txt", "without an answer in")
	f.run(0, "inbox", "show", first.ID).wants(t, "+one", "preset ask", "with --for, allowed from then on: Write(./one.txt)")
	f.run(exitUsage, "inbox", "answer", first.ID, "yes").wants(t, "allow or deny")
	f.run(exitUsage, "inbox", "allow", first.ID, "--for", "ever").wants(t, "ever")
	f.run(0, "inbox", "allow", first.ID).wants(t, "main goes on")
	f.run(exitFailed, "inbox", "deny", first.ID).wants(t, "no longer waits", "allowed by")
	question := f.waiting()
	if question.Kind != "question" || question.Path != "main/coder" {
		t.Fatalf("the question: %+v", question)
	}
	f.run(0, "inbox", "show", question.ID).wants(t, "Which name?", "1. two")
	f.run(exitUsage, "inbox", "answer", question.ID).wants(t, "there is no answer")
	f.run(0, "inbox", "answer", question.ID, "2").wants(t, "main/coder goes on")
	f.run(0, "inbox", "show", question.ID).wants(t, "answered", "three")
	second := f.waiting()
	f.run(0, "inbox", "deny", second.ID, "--reason", "enough").wants(t, "goes on")
	lines := p.await("the end", func(line string) bool { return strings.Contains(line, `"type":"done"`) })
	<-p.exited
	if d := done(t, strings.Join(lines, "\n")); d.Outcome != "completed" {
		t.Errorf("done: %+v", d)
	}
	f.has("one.txt", "one\n")
	if _, err := os.Stat(filepath.Join(f.work, "two.txt")); err == nil {
		t.Error("what was denied was written")
	}
	chat, _, _ := strings.Cut(second.ID, ".")
	f.run(0, "inbox").wants(t, "Nothing waits")
	f.run(0, "inbox", "--all").wants(t, first.ID, "allowed by", "answered by", "denied by")
	f.run(0, "show", chat+".1").wants(t, "Denied by the user: enough")
	f.run(0, "show", chat, "--transcript").wants(t, "created one.txt; allowed by an approval")
	f.sound()
}

// TestAnswersAreStored: an answer given while nobody works on the chat counts
// when somebody does.
func TestAnswersAreStored(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.start("run", "--json", "--wait", "--model", script(t, "asks.yaml"), "go")
	first := f.waiting()
	p.signal(syscall.SIGKILL)
	<-p.exited
	f.run(0, "inbox", "allow", first.ID).wants(t, "goes on")
	if _, err := os.Stat(filepath.Join(f.work, "one.txt")); err == nil {
		t.Error("the answer alone has written the file")
	}
	// Nobody can be asked here: the question is declined, the second write denied.
	f.run(0, "run", "--resume").wants(t, "The end", "declined, as nobody can be asked", "denied, as nobody can be asked")
	f.has("one.txt", "one\n")
	f.audited("local inbox.answer "+first.ID+" (approval allowed once) from command line",
		"local inbox.answer "+client.ChatOf(first.ID)+".1-i1 (question declined) from command line",
		"local inbox.answer "+client.ChatOf(first.ID)+".1-i2 (approval denied once) from command line")
	f.run(exitUsage, "inbox", "allow", "nope").wants(t, "there is no inbox item")
	f.sound()
}

// TestWorkIsTold: what a run leaves to decide about is told at its end, and
// decided by the inbox.
func TestWorkIsTold(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "begin"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = f.work
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	r := f.run(0, "run", "--permissions", "trusted", "--model", script(t, "worktree.yaml"), "go")
	i := f.waiting()
	r.wants(t, "It is written.", "main/general has left work to decide about: 1 file, +1 -0: new.txt", "inbox settle "+i.ID+" accept")
	f.run(0, "inbox").wants(t, "1 file, +1 -0: new.txt", "without an answer: kept until decided")
	f.run(exitUsage, "inbox", "settle", i.ID, "apply").wants(t, "accept, merge, keep or discard")
	f.run(exitUsage, "inbox", "allow", i.ID).wants(t, "say accept, merge, keep or discard")
	f.run(0, "inbox", "settle", i.ID, "accept")
	f.run(exitFailed, "inbox", "settle", i.ID, "discard").wants(t, "no longer waits", "accepted by")
	f.has("new.txt", "new\n")
	f.sound()
}

func TestStop(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.start("run", "--json", "--wait", "--permissions", "edits", "--model", script(t, "asks.yaml"), "go")
	question := f.waiting()
	f.run(0, "stop", question.Agent).wants(t, "main/coder is stopped")
	lines := p.await("the end", func(line string) bool { return strings.Contains(line, `"type":"done"`) })
	<-p.exited
	if d := done(t, strings.Join(lines, "\n")); d.Outcome != "completed" || !strings.Contains(d.Result, "cancelled") {
		t.Errorf("done: %+v", d)
	}
	f.run(0, "stop", question.Agent).wants(t, "had ended already")
	f.run(exitUsage, "stop", "nope").wants(t, "there is no chat and no agent")
	f.run(exitFailed, "inbox", "answer", question.ID, "two").wants(t, "no longer waits")
	f.audited("local agent.stop " + question.Agent + " () from this machine") // through the door of the run
	f.sound()
}

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	question := func(action string) store.Item { return store.Item{Kind: "question", Action: action} }
	for _, c := range []struct {
		item store.Item
		line string
		want string // the text of the answer; no: it is a message
	}{
		{question(`{"question":"a?","options":["x","y"]}`), "2", "y"},
		{question(`{"question":"a?","options":["x","y"]}`), "3", "3"},
		{question(`{"question":"a?","options":["x","y"],"multiple":true}`), "1, 2", "x, y"},
		{question(`{"question":"a?","options":[{"label":"x"},{"label":"y"}]}`), "1", "x"},
		{question(`{"questions":[{"question":"a?","options":["x","y"]},{"question":"b?"}]}`), "1; so it is", "a? x\nb? so it is"},
		{question(`{"question":"a?"}`), "in words", "in words"},
		{store.Item{Kind: "elicitation", Action: `{"question":"q","schema":{"properties":{"n":{"type":"integer"}}}}`}, "7", `{"n":7}`},
		{store.Item{Kind: "elicitation", Action: `{"question":"q","schema":{"properties":{"n":{"type":"boolean"}}}}`}, "yes", `{"n":true}`},
		{store.Item{Kind: "approval"}, "please do something else", "no"},
		{store.Item{Kind: "approval"}, "yes of course", "no"},
		{store.Item{Kind: "budget"}, "chat", "no"},
	} {
		a, ok, err := readAnswer(c.item, c.line)
		if got := a.Text; err != nil || ok == (c.want == "no") || ok && got != c.want {
			t.Errorf("%s %q: %q, %v, %v; want %q", c.item.Kind, c.line, got, ok, err, c.want)
		}
	}
	for line, want := range map[string]string{"y": "once", "chat": "chat", "Subtree": "subtree"} {
		if a, ok, err := readAnswer(store.Item{Kind: "approval"}, line); err != nil || !ok || !*a.Allow || string(a.Scope) != want {
			t.Errorf("%s: %+v %v %v", line, a, ok, err)
		}
	}
	if a, ok, _ := readAnswer(store.Item{Kind: "approval"}, "n not now"); !ok || *a.Allow || a.Reason != "not now" {
		t.Errorf("denied: %+v %v", a, ok)
	}
	if _, _, err := readAnswer(store.Item{Kind: "elicitation", Action: `{"schema":{"properties":{"a":{},"b":{}}}}`}, "x"); err == nil {
		t.Error("one text for two values was taken")
	}
	if _, _, err := readAnswer(question(`{"questions":[{"question":"a?","options":["x"]},{"question":"b?","options":["y"]}]}`), "1"); err == nil {
		t.Error("one number for two questions was taken")
	}
	for line, want := range map[string]string{"/model": " true", "/model  a/b ": "a/b true", "/models": " false", "say /model x": "/model x false"} {
		if rest, ok := ordered(line, "/model"); fmt.Sprint(rest, " ", ok) != want {
			t.Errorf("%q is an order: %q %v, want %q", line, rest, ok, want)
		}
	}
	if text := view.ItemAction(question(`{"question":"a?","options":["x"]}`)); !strings.Contains(text, "1. x") {
		t.Errorf("shown: %q", text)
	}
}
