// Commands through a server: the same words, exit codes and lines as without
// one; and a feed that misses nothing though the server is killed.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/client"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// TestSameThroughServer runs the same command lines with and without a server.
func TestSameThroughServer(t *testing.T) {
	t.Parallel()
	own, through := newFolder(t), newFolder(t)
	through.work = own.work
	s := through.server()
	for _, test := range []struct {
		code int
		args []string
	}{
		{0, []string{"--model", script(t, "slow.yaml"), "hello"}},
		{0, []string{"--model", "offline", "Count the Go files in . and summarise README.md"}},
		{exitFailed, []string{"--json", "--model", script(t, "submit.yaml"), "go"}},
		{0, []string{"--json", "--events", "--model", script(t, "asks.yaml"), "go"}},
		{0, []string{"--json", "--model", script(t, "asks.yaml"), "go"}}, // nobody can be asked
		{exitFailed, []string{"--model", script(t, "fails.yaml"), "go"}},
		{exitFailed, []string{"--json", "--model", script(t, "refusing.yaml"), "go"}},
		{exitLimit, []string{"--max-turns", "2", "--model", script(t, "loop.yaml"), "go"}},
		{exitUsage, []string{"--role", "nobody", "--model", "offline", "go"}},
		{exitUsage, []string{"--model", "nowhere/none", "go"}},
		{exitUsage, []string{"--chat", "none", "go"}},
		{0, []string{"--resume"}},
		{0, []string{"--resume", "--json"}},
	} {
		args := append([]string{"run"}, test.args...)
		here, there := own.run(test.code, args...), through.run(test.code, args...)
		if slices.Contains(args, "--json") {
			a, b := decodeAll(t, here.out), decodeAll(t, there.out)
			if !slices.Equal(shape(a), shape(b)) {
				t.Errorf("%v\nhere  %v\nthere %v", args, shape(a), shape(b))
			}
			continue
		}
		if here.out != there.out {
			t.Errorf("%v\nhere  %s\nthere %s", args, here.out, there.out)
		}
		if a, b := settled(here.errs), settled(there.errs); a != b {
			t.Errorf("%v\nhere  %s\nthere %s", args, a, b)
		}
	}
	s.end()
	through.sound()
}

// shape is what two runs of the same script have in common: which changes there
// are, in any order, and the end.
func shape(lines []line) (all []string) {
	for _, l := range lines {
		switch l.Type {
		case "delta": // how many there are is a matter of speed
		case "done":
			all = append(all, fmt.Sprintf("done %s %s %q %d %v", l.Outcome, l.ErrorKind, changing.ReplaceAllString(l.Result, "X"), l.Agents, l.Usage))
		default:
			all = append(all, l.Type)
		}
	}
	slices.Sort(all)
	return slices.Compact(all) // how often one looks is a matter of speed, too
}

var changing = regexp.MustCompile(`\b[a-z0-9]{10}(\.\d+)*\b|--data \S+|\d+:\d+|\d+(\.\d+)?k?`)

// settled leaves out ids, times and the order of lines.
func settled(text string) string {
	lines := strings.Split(changing.ReplaceAllString(text, "X"), "\n")
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

func TestRunThroughServer(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	s := f.server()

	// What is asked is answered by other commands.
	p := f.start("run", "--json", "--wait", "--model", script(t, "asks.yaml"), "go")
	first := f.waiting()
	f.run(0, "ps").wants(t, first.Agent, "you: approval "+first.ID, "main")
	f.run(exitUsage, "inbox", "answer", first.ID, "yes").wants(t, "allow or deny")
	f.run(exitUsage, "inbox", "allow", "none-i1").wants(t, "there is no inbox item")
	f.run(0, "inbox", "allow", first.ID).wants(t, "main goes on")
	f.run(exitFailed, "inbox", "deny", first.ID).wants(t, "no longer waits")
	question := f.waiting()
	f.env = []string{"CADRE_TOKEN=" + f.token(), "CADRE_HOME=" + filepath.Join(f.data, "elsewhere")}
	f.run(0, "inbox", "--server", s.address).wants(t, "Which name?")
	f.run(0, "inbox", "show", question.ID, "--server", s.address).wants(t, "1. two")
	f.run(0, "ps", "--server", s.address, "--json").wants(t, `"waitsFor":"you: question"`, `"path":"main/coder"`, `"waitsFor":"1 sub-agent"`)
	f.run(0, "inbox", "answer", question.ID, "two", "--server", s.address).wants(t, "main/coder goes on")
	f.env = nil
	f.run(0, "inbox", "allow", f.waiting().ID).wants(t, "goes on")
	if d := done(t, p.wait().out); d.Outcome != "completed" {
		t.Errorf("done: %+v", d)
	}
	f.has("two.txt", "two\n")

	// An orchestrator that waits for tasks in the background has not ended.
	f.run(0, "run", "--model", script(t, "background.yaml"), "do it").wants(t, "Both are done.", "✓ completed")

	// Ctrl-C stops the agents; SIGTERM leaves them to the server.
	p = f.start("run", "--json", "--model", script(t, "waiting.yaml"), "go")
	p.await("three are done", func(line string) bool { return strings.Count(line, `"status":"completed"`) > 0 })
	p.signal(os.Interrupt)
	if r := p.wait(); r.code != exitCancelled || !strings.Contains(r.out, `"outcome":"cancelled"`) {
		t.Errorf("Ctrl-C: %d %s", r.code, r.errs)
	}
	f.run(0, "ps").wants(t, "No agent is at work.")
	p = f.start("run", "--json", "--model", script(t, "waiting.yaml"), "go")
	chat := decode(t, p.await("it works", func(line string) bool { return strings.Contains(line, "created") })[0]).Chat
	p.signal(syscall.SIGTERM)
	if r := p.wait(); r.code != exitTerminated || !strings.Contains(r.errs, "the server goes on") {
		t.Errorf("SIGTERM: %d %s", r.code, r.errs)
	}
	f.run(0, "ps").wants(t, chat, "sub-agents")
	again := f.start("run", "--json", "--resume")
	f.logs("resume=true")
	f.run(exitUsage, "stop", "none").wants(t, "there is no chat")
	f.run(0, "stop", chat+".10").wants(t, "main/general-10 is stopped")
	f.run(0, "stop", chat+".10").wants(t, "had ended already")
	f.run(0, "stop", chat).wants(t, "main is stopped")
	if r := again.wait(); r.code != exitCancelled {
		t.Errorf("the resumed run ends with %d: %s", r.code, r.errs)
	}

	// What a server cannot do is said.
	f.run(exitUsage, "run", "--permissions", "trusted", "go").wants(t, "configured there (permissions: {mode: trusted}", "cadre inbox", "--data")
	f.run(exitUsage, "run", "--record", "calls.jsonl", "go").wants(t, "the server makes the model calls", "--data")
	f.run(exitUsage, "run", "--replay", "calls.jsonl", "go").wants(t, "the server makes the model calls", "--data")
	f.run(exitUsage, "run", "--server", s.address, "go").wants(t, "needs a token")
	f.run(exitUsage, "run", "--server", "nowhere", "--token-file", filepath.Join(f.data, "token"), "go").wants(t, "no address of a server")
	f.run(exitFailed, "ps", "--server", "http://127.0.0.1:1", "--token-file", filepath.Join(f.data, "token")).wants(t, "no server answers")
	f.env = []string{"CADRE_TOKEN=wrong"}
	f.run(exitFailed, "ps", "--server", s.address).wants(t, "not known")
	f.env = nil
	f.run(0, "run", "--server", s.address, "--token-file", filepath.Join(f.data, "token"), "--model", "offline", "Count the Go files in .").wants(t, "completed")
	s.end()
	f.sound()
}

// logs waits until the log of the folder has a text.
func (f *folder) logs(text string) {
	f.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join(f.data, "cadre.log"))
		if err == nil && strings.Contains(string(b), text) {
			return
		}
	}
	f.t.Fatalf("the log never has %q", text)
}

// TestTail follows through a server, through the door of a run and in the
// folder of nobody.
func TestTail(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.start("run", "--json", "--wait", "--model", script(t, "asks.yaml"), "go")
	item := f.waiting()
	chat := item.ChatID
	tail := f.start("tail", chat, "--since", "0", "--json")
	tail.await("what there is", func(line string) bool { return strings.Contains(line, "approval_needed") })
	f.run(0, "inbox", "allow", item.ID)
	tail.await("the question", func(line string) bool { return strings.Contains(line, "Which name?") })
	p.signal(syscall.SIGKILL)
	<-p.exited
	s := f.server() // it goes on
	follow := f.start("tail", chat)
	f.run(exitUsage, "tail", "none").wants(t, "there is no chat")
	question := f.waiting()
	f.run(0, "inbox", "answer", question.ID, "two")
	follow.await("what waits", func(line string) bool { return strings.Contains(line, "waits for you ("+chat) })
	f.run(0, "inbox", "allow", f.waiting().ID)
	follow.await("the end", func(line string) bool { return line == "All is at rest." })
	for _, x := range []*process{follow, tail} {
		x.signal(os.Interrupt)
	}
	if r := follow.wait(); r.code != 0 {
		t.Errorf("Ctrl-C: %d %s", r.code, r.errs)
	}
	s.end()
	whole := f.start("tail", chat, "--since", "0") // nobody owns the folder
	read := whole.await("the end", func(line string) bool { return strings.HasPrefix(line, "main: The end") })
	for _, want := range []string{"you: go", "main started coder"} {
		if !strings.Contains(strings.Join(read, "\n"), want) {
			t.Errorf("%q is missing in\n%s", want, strings.Join(read, "\n"))
		}
	}
}

// TestFeedThroughKills: a client that is cut off again and again, while the
// server is killed and started, sees every change once.
func TestFeedThroughKills(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	s := f.server()
	port := strings.TrimPrefix(s.address, "http://")
	c, err := client.New(client.Options{Address: s.address, Token: f.token()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const kills, cuts = 5, 200
	r := rand.New(rand.NewPCG(5, 5))
	var seen []int64
	last := func() int64 {
		if len(seen) == 0 {
			return 0
		}
		return seen[len(seen)-1]
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var chat string
	for round := range cuts {
		if round%(cuts/kills) == 0 {
			if round > 0 {
				s.signal(syscall.SIGKILL)
				<-s.exited
				s = f.server("--addr", port)
			}
			snap, err := c.CreateChat(ctx, wire.NewChat{Model: script(t, "crash.yaml"), Text: "go"})
			if err != nil {
				t.Fatal(err)
			}
			chat = snap.Chat.ID
		}
		if _, err := c.Post(ctx, chat, wire.NewMessage{Text: fmt.Sprint("go ", round)}); err != nil {
			t.Fatal(err)
		}
		most := 1 + r.IntN(5)
		for item, err := range c.Follow(ctx, client.Feed{Since: last(), Patience: patience}) {
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, item.Change.Seq)
			if most--; most == 0 {
				break
			}
		}
	}
	me, err := c.Me(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for item, err := range c.Follow(ctx, client.Feed{Since: last(), Until: me.Seq}) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, item.Change.Seq)
	}
	s.signal(syscall.SIGKILL)
	<-s.exited
	st, err := sqlite.OpenReadOnly(f.data)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }() // it only reads
	all, _, err := st.Changes(ctx, 0, 0, store.Filter{User: "local"})
	if err != nil {
		t.Fatal(err)
	}
	var want []int64
	for _, change := range all {
		if change.Seq <= last() {
			want = append(want, change.Seq)
		}
	}
	if !slices.Equal(seen, want) || len(seen) < cuts {
		t.Errorf("saw %d changes, there are %d", len(seen), len(want))
	}
}

// TestRunOutlivesItsServer: a run that is followed through a server that is
// killed and comes back is followed to its end.
func TestRunOutlivesItsServer(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	s := f.server()
	p := f.start("run", "--json", "--wait", "--model", script(t, "asks.yaml"), "go")
	item := f.waiting()
	s.signal(syscall.SIGKILL)
	<-s.exited
	s = f.server("--addr", strings.TrimPrefix(s.address, "http://"))
	f.run(0, "inbox", "allow", item.ID)
	for range 2 {
		next := f.waiting()
		args := []string{"inbox", "allow", next.ID}
		if next.Kind == "question" {
			args = []string{"inbox", "answer", next.ID, "two"}
		}
		f.run(0, args...)
	}
	r := p.wait()
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.errs)
	}
	if d := done(t, r.out); d.Outcome != "completed" {
		t.Errorf("done: %+v", d)
	}
	items := 0
	for _, l := range decodeAll(t, r.out) {
		for _, d := range l.Docs {
			var i store.Item
			if d.Collection == "inbox" && json.Unmarshal(d.Data, &i) == nil && i.Status == "closed" {
				items++
			}
		}
	}
	if items < 3 {
		t.Errorf("the run has seen %d answers", items)
	}
	s.end()
}
