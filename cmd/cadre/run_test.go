// Tests of cadre run: outcomes, exit codes, output, input, chats.

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRunOffline(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	r := f.run(0, "run", "how", "many Go files are here?")
	if !strings.Contains(r.out, "2") || !strings.Contains(r.out, "offline") {
		t.Errorf("the answer:\n%s", r.out)
	}
	r.wants(t, "✓ completed", "1 agent", "offline model", "chat ")
	info, err := os.Stat(f.data)
	if err != nil {
		t.Fatal(err)
	}
	if perm := info.Mode().Perm(); perm != 0o700 {
		t.Errorf("the data folder has mode %o", perm)
	}
	if _, err := os.Stat(filepath.Join(f.data, logName)); err != nil {
		t.Errorf("the log: %v", err)
	}
	f.run(0, "show").wants(t, "completed", "how many Go files are here?")
	f.sound()
}

func TestRunDelegates(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	r := f.run(0, "run", "Count the Go files and summarise README.md")
	r.wants(t, "main started general: ", "main started general-2: ", "general: completed after 0:0", "3 agents")
	if strings.Contains(r.out, "started") {
		t.Errorf("progress on standard output:\n%s", r.out)
	}
}

func TestHundredChildren(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	d := done(t, f.run(0, "run", "--json", "--model", script(t, "hundred.yaml"), "read it all").out)
	if d.Outcome != "completed" || d.Agents != 101 || d.CostUSD == nil || *d.CostUSD != 0 || d.Usage["input"] == 0 || d.Usage["output"] == 0 {
		t.Errorf("done: %+v", d)
	}
	if n := strings.Count(d.Result, "is fine"); n != 100 || !strings.HasPrefix(d.Result, "All parts are read.") {
		t.Errorf("%d results of 100:\n%s", n, d.Result)
	}
	f.run(0, "show", d.Chat).wants(t, "general-100  completed", "part 100 is fine", "All parts are read.")
	f.run(0, "show", d.Chat+".7").wants(t, "read part 7 of 100", "Uses LS: listing .", "part 7 is fine at the second try")
	f.sound()
}

func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	model := script(t, "hundred.yaml")
	want := done(t, newFolder(t).run(0, "run", "--json", "--model", model, "read it all").out).Result
	f := newFolder(t)
	p := f.start("run", "--json", "--model", model, "read it all")
	ended := 0
	read := p.await("thirty children have ended", func(text string) bool {
		if strings.Contains(text, `"type":"child_ended"`) {
			ended++
		}
		return ended >= 30
	})
	p.signal(syscall.SIGKILL)
	if r := p.wait(); r.code != -1 {
		t.Fatalf("it ended by itself with %d", r.code)
	}
	chat := decode(t, read[0]).Chat
	f.run(0, "show").wants(t, chat+"  unfinished")
	f.run(0, "show", chat).wants(t, "Not finished", "cadre run --resume --chat "+chat)
	d := done(t, f.run(0, "run", "--resume", "--json").out)
	// The ids of the chats differ.
	other := strings.ReplaceAll(d.Result, d.Chat, "CHAT")
	if i := strings.Index(want, `"agent_id":"`); i < 0 || strings.ReplaceAll(want, want[i+12:i+12+len(d.Chat)], "CHAT") != other {
		t.Errorf("another answer after the crash: %.300s …, want %.300s …", d.Result, want)
	}
	f.run(0, "run", "--resume").wants(t, "Nothing is unfinished.")
	f.run(0, "run", "--resume", "--chat", chat).wants(t, "Nothing is unfinished in chat "+chat)
	if again := done(t, f.run(0, "run", "--resume", "--chat", chat, "--json").out); again.Result != d.Result {
		t.Errorf("the answer told again is another one: %.300s …", again.Result)
	}
	f.sound()
}

func TestChat(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	d := done(t, f.run(0, "run", "--json", "--model", script(t, "slow.yaml"), "first").out)
	if want := "one two three four five six seven eight nine ten"; d.Result != want {
		t.Errorf("got %q, want %q", d.Result, want)
	}
	f.work = t.TempDir() // a chat knows where it works and what answers
	r := f.run(0, "run", "--chat", d.Chat, "again, please")
	if r.out != "You said: again, please\n" {
		t.Errorf("got %q", r.out)
	}
	f.run(0, "show", d.Chat, "--json").wants(t, `"result":"You said: again, please"`, `"state":"idle"`, `"outcome":"completed"`)
	f.sound()
}

func TestDeltasJoinToTheAnswer(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	r := f.run(0, "run", "--json", "--model", script(t, "slow.yaml"), "first")
	said := ""
	for _, l := range decodeAll(t, r.out) {
		if l.Type == "delta" {
			said += l.Text
		}
	}
	if d := done(t, r.out); said != d.Result {
		t.Errorf("said %q, answered %q", said, d.Result)
	}
}

func TestStandardInput(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.stdin = "again from\na pipe\n"
	for _, args := range [][]string{{"run", "--model", script(t, "slow.yaml")}, {"run", "--model", script(t, "slow.yaml"), "-"}} {
		if r := f.run(0, args...); r.out != "You said: again from\na pipe\n" {
			t.Errorf("%v: got %q", args, r.out)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for _, c := range []struct{ flag, value, outcome, says string }{
		{"--max-turns", "1", "max_turns", "stopped by the turn limit"},
		{"--max-turns", "3", "max_turns", "kept: the text so far"},
		{"--max-duration", "1ms", "timeout", "stopped by the time limit"},
	} {
		r := f.run(exitLimit, "run", "--json", "--model", script(t, "loop.yaml"), c.flag, c.value, "go round")
		if d := done(t, r.out); d.Outcome != c.outcome || c.outcome == "max_turns" && !strings.HasPrefix(d.Result, "Round ") {
			t.Errorf("%s %s: %+v", c.flag, c.value, d)
		}
		r.wants(t, c.says, "look: cadre show ", "go on: cadre run --chat ")
	}
	f.run(0, "run", "--max-cost", "0.50", "hello")
	f.sound()
}

// TestFailureLeavesNothingRunning: a run that fails while a background task
// works ends with its own outcome, and the task is cancelled.
func TestFailureLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	r := f.run(exitFailed, "run", "--json", "--model", script(t, "fails.yaml"), "do it")
	d := done(t, r.out)
	if d.Outcome != "failed" || d.ErrorKind != "model_error" || !strings.Contains(d.Error, "the key is not valid") {
		t.Errorf("done: %+v", d)
	}
	r.wants(t, "the run failed (model_error)", "the key is not valid")
	f.run(0, "show", d.Chat).wants(t, "general  cancelled")
	f.run(0, "run", "--resume").wants(t, "Nothing is unfinished.")
	f.sound()
}

func TestBackground(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	r := f.run(0, "run", "--model", script(t, "background.yaml"), "do it")
	if r.out != "Both are done.\n" {
		t.Errorf("got %q", r.out)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.start("run", "--json", "--model", script(t, "waiting.yaml"), "do it")
	ended := 0
	read := p.await("three children have ended", func(text string) bool {
		if decode(t, text).Type == "child_ended" {
			ended++
		}
		return ended == 3
	})
	p.signal(os.Interrupt)
	r := p.wait()
	if r.code != exitCancelled {
		t.Fatalf("exit code %d\n%s", r.code, r.errs)
	}
	d := done(t, strings.Join(read, "\n")+"\n"+r.out)
	if d.Outcome != "cancelled" || d.Agents != 11 {
		t.Errorf("done: %+v", d)
	}
	r.wants(t, "Cancelling. Press Ctrl-C again", "the results of 3 sub-agents that had finished", "cadre show "+d.Chat, "cadre run --chat "+d.Chat)
	show := f.run(0, "show", d.Chat, "--json")
	if done, gone := strings.Count(show.out, `"state":"completed","ended":true`), strings.Count(show.out, `"state":"cancelled","ended":true`); done != 3 || gone != 7 {
		t.Errorf("%d completed and %d cancelled:\n%s", done, gone, show.out)
	}
	f.run(0, "run", "--resume").wants(t, "Nothing is unfinished.")
	f.sound()
}

func TestInterruptTwice(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.start("run", "--json", "--model", script(t, "waiting.yaml"), "do it")
	p.await("a child has ended", func(text string) bool { return decode(t, text).Type == "child_ended" })
	p.signal(os.Interrupt)
	p.signal(os.Interrupt)
	if r := p.wait(); r.code != exitCancelled {
		t.Errorf("exit code %d\n%s", r.code, r.errs)
	}
	f.sound()
}

func TestTerminate(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.start("run", "--json", "--model", script(t, "slow.yaml"), "do it")
	read := p.await("something is said", func(text string) bool { return decode(t, text).Type == "delta" })
	p.signal(syscall.SIGTERM)
	r := p.wait()
	if r.code != exitTerminated {
		t.Fatalf("exit code %d\n%s", r.code, r.errs)
	}
	chat := decode(t, read[0]).Chat
	r.wants(t, "cadre run --resume --chat "+chat, `"type":"suspended"`)
	d := done(t, f.run(0, "run", "--resume", "--chat", chat, "--json").out)
	if d.Outcome != "completed" || d.Result != "one two three four five six seven eight nine ten" {
		t.Errorf("done: %+v", d)
	}
	f.sound()
}

func TestInUse(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.start("run", "--json", "--model", script(t, "waiting.yaml"), "do it")
	read := p.await("a child has ended", func(text string) bool { return decode(t, text).Type == "child_ended" })
	chat := decode(t, read[0]).Chat
	f.run(exitFailed, "run", "hello").wants(t, "in use by another process", "--data")
	f.run(0, "show").wants(t, chat+"  unfinished")
	f.run(0, "show", chat).wants(t, "waiting", "Not finished")
	f.run(0, "verify", chat)
	f.run(0, "db", "check")
	p.signal(os.Interrupt)
	if r := p.wait(); r.code != exitCancelled {
		t.Errorf("exit code %d\n%s", r.code, r.errs)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.run(0, "run", "hello")
	bad := filepath.Join(f.work, "bad.yaml")
	if err := os.WriteFile(bad, []byte("agents: [{turn: 1}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, says string }{
		{"run", "the prompt is empty"},
		{"run -", "the prompt is empty"},
		{"run --bogus x", "unknown flag: --bogus"},
		{"bogus", `unknown command "bogus"`},
		{"run --model nope x", "there is no such model"},
		{"run --model scripted: x", "needs the file"},
		{"run --model scripted:/nope.yaml x", "no such file"},
		{"run --model scripted:bad.yaml x", "bad.yaml"},
		{"run --role nope x", `there is no role "nope"; there are main, general`},
		{"run --chat nope x", "`cadre show` lists the chats"},
		{"run --resume --chat nope", `there is no chat "nope"`},
		{"run --resume x", "without a new prompt"},
		{"run --resume --chat c --model offline", "--model is for a new message"},
		{"run --resume --max-turns 3", "--max-turns is for a new chat"},
		{"chat --chat c --role coder", "--role is for a new chat"},
		{"run --max-turns 0 x", "at least 1"},
		{"run --max-turns x x", "invalid argument"},
		{"run --max-duration -1s x", "positive time"},
		{"run --max-cost NaN x", "positive amount"},
		{"run --max-cost 0 x", "positive amount"},
		{"run --cwd /nope/nope x", "does not exist"},
		{"show nope", `there is no chat "nope"`},
		{"show nope.1", `there is no agent "nope.1"`},
		{"show a b", "too many"},
		{"show --limit -1", "--limit"},
		{"verify", "name the chat"},
		{"verify nope", `there is no chat "nope"`},
		{"verify --all nope", "not both"},
		{"db", "check"},
		{"db bogus", "bogus"},
		{"dev", "model-server"},
		{"dev model-server", "SCRIPT is missing"},
		{"dev model-server /nope.yaml", "no such file"},
		{"dev model-server a b", "too many"},
		{"version x", "unknown command"},
	} {
		r := f.run(exitUsage, strings.Fields(c.args)...)
		if r.out != "" {
			t.Errorf("%s: printed %q", c.args, r.out)
		}
		r.wants(t, "cadre: ", c.says)
	}
}

// TestSubmittingOrchestrator: a role that submits its result may be the
// orchestrator, too.
func TestSubmittingOrchestrator(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	model := script(t, "submit.yaml")
	if r := f.run(0, "run", "--role", "general", "--model", model, "do it"); r.out != "this was submitted\n" {
		t.Errorf("got %q", r.out)
	}
	d := done(t, f.run(exitFailed, "run", "--json", "--role", "general", "--model", model, "give up").out)
	if d.Outcome != "failed" || d.ErrorKind != "sub_agent_error" || d.Error != "it cannot be done" || d.Result != "" {
		t.Errorf("done: %+v", d)
	}
}

// TestBrokenOutput: what cannot be printed is not lost.
func TestBrokenOutput(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here")
	}
	defer func() { _ = full.Close() }() // every write to it fails
	f := newFolder(t)
	var errs strings.Builder
	if code := execute([]string{"run", "--json", "--data", f.data, "hello"}, strings.NewReader(""), full, &errs); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	said := errs.String() // the run may have been over already when the first line was written
	if !strings.Contains(said, "no space left") || !strings.Contains(said, "cadre run --resume --chat") && !strings.Contains(said, "cadre show") {
		t.Errorf("said:\n%s", said)
	}
	f.run(0, "run", "--resume")
	f.sound()
}

// TestMovedScript: the file of a scripted model is kept as an absolute path.
func TestMovedScript(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	b, err := os.ReadFile(filepath.Join("testdata", "slow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.work, "m.yaml"), b, fs.FileMode(0o600)); err != nil {
		t.Fatal(err)
	}
	d := done(t, f.run(0, "run", "--json", "--model", "scripted:m.yaml", "first").out)
	f.work = t.TempDir()
	f.run(0, "run", "--chat", d.Chat, "again").wants(t, "You said: again")
}
