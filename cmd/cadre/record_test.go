// Tests of cadre run --record and --replay.

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordedModel is a full name; shortModel means the same.
const (
	recordedModel = "anthropic/claude-sonnet-4-5-20250929"
	shortModel    = "anthropic/claude-sonnet-4-5"
)

// recorded records a run for each prompt and returns the file and what the runs
// came to. Afterwards there is no server.
func recorded(t *testing.T, prompts ...string) (file string, runs []line) {
	t.Helper()
	f := newFolder(t)
	p := f.start("dev", "model-server", strings.TrimPrefix(script(t, "provider.yaml"), scriptedModel))
	f.env = anthropicAt(p.await("it listens", func(text string) bool { return strings.HasPrefix(text, "http://") })[0])
	file = filepath.Join(t.TempDir(), "calls.jsonl")
	for _, prompt := range prompts {
		d := done(t, f.run(0, "run", "--json", "--record", file, "--model", shortModel, prompt).out)
		bothRead(t, d)
		runs = append(runs, d)
	}
	p.signal(os.Interrupt)
	if r := p.wait(); r.code != 0 {
		t.Errorf("the server's exit code is %d\n%s", r.code, r.errs)
	}
	return file, runs
}

// replays makes sure that a run answers as another one did.
func (f *folder) replays(file, prompt string, want line, flags ...string) result {
	f.t.Helper()
	r := f.run(0, append([]string{"run", "--json", "--replay", file, prompt}, flags...)...)
	d := done(f.t, r.out)
	bothRead(f.t, d)
	if got := strings.ReplaceAll(d.Result, d.Chat, want.Chat); got != want.Result {
		f.t.Errorf("another answer: %s, want %s", got, want.Result)
	}
	for _, kind := range []string{"input", "output", "reasoning"} {
		if d.Usage[kind] != want.Usage[kind] {
			f.t.Errorf("%d tokens of %s, want %d", d.Usage[kind], kind, want.Usage[kind])
		}
	}
	return r
}

// TestReplay: a recording answers in another folder, without server and key.
func TestReplay(t *testing.T) {
	t.Parallel()
	file, runs := recorded(t, "read both", "read both, please")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if perm := info.Mode().Perm(); perm != 0o600 {
		t.Errorf("the recording has mode %o", perm)
	}
	f := newFolder(t)
	for i, prompt := range []string{"read both", "read both, please"} {
		r := f.replays(file, prompt, runs[i], "--model", recordedModel)
		if strings.Contains(r.errs, "warning") {
			t.Errorf("it warns:\n%s", r.errs)
		}
	}
	f.replays(file, "read both", runs[0]) // the recording says which model it was
	f.run(0, "run", "--replay", file, "--model", recordedModel, "read both").wants(t, "Both are read.", "✓ completed", "3 agents")
	// With a key of one's own and no server behind it, none is asked either.
	f.env = anthropicAt("http://127.0.0.1:1")
	f.replays(file, "read both", runs[0], "--model", recordedModel)
	f.sound()
}

// TestRecordingWithinReach: agents must not come across what they say.
func TestRecordingWithinReach(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	const warning = "is in the working folder"
	f.run(0, "run", "--model", "offline", "--record", filepath.Join(f.work, "calls.jsonl"), "hello").wants(t, "warning: the recording ", warning)
	for _, file := range []string{filepath.Join(t.TempDir(), "calls.jsonl"), f.work + "-calls.jsonl"} {
		if r := f.run(0, "run", "--model", "offline", "--record", file, "hello"); strings.Contains(r.errs, warning) {
			t.Errorf("%s:\n%s", file, r.errs)
		}
	}
}

// TestReplayOfAShortName: the command line that has recorded plays again, with
// nothing changed but the flag.
func TestReplayOfAShortName(t *testing.T) {
	t.Parallel()
	file, runs := recorded(t, "read both")
	newFolder(t).replays(file, "read both", runs[0], "--model", shortModel)
}

// TestReplayOfFaults: the faults are played again, too.
func TestReplayOfFaults(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	file := filepath.Join(t.TempDir(), "calls.jsonl")
	f.env = openaiAt(f.serve("faults.yaml"))
	want := done(t, f.run(0, "run", "--json", "--record", file, "--model", "openai/gpt-4o", "meet them all").out)
	again := newFolder(t)
	r := again.run(0, "run", "--json", "--replay", file, "--model", "openai/gpt-4o", "meet them all")
	d := done(t, r.out)
	if got := strings.ReplaceAll(d.Result, d.Chat, want.Chat); got != want.Result {
		t.Errorf("another answer: %s, want %s", got, want.Result)
	}
	failed := 0
	for _, c := range modelCalls(t, r.out) {
		if c.Status == "failed" {
			failed++
		}
	}
	if failed != 3 {
		t.Errorf("%d failed tries, want 3", failed)
	}
}

// TestReplayWithoutMatch: what was not recorded is not answered.
func TestReplayWithoutMatch(t *testing.T) {
	t.Parallel()
	file, _ := recorded(t, "read both")
	f := newFolder(t)
	r := f.run(exitFailed, "run", "--json", "--replay", file, "--model", recordedModel, "read something else")
	if d := done(t, r.out); d.Outcome != "failed" || d.ErrorKind != "model_error" || !strings.Contains(d.Error, file) || !strings.Contains(d.Error, "--record") {
		t.Errorf("done: %+v", d)
	}
	r.wants(t, "the recording "+file+" has no answer")
	// The files differ from those that the recording has read.
	f.write("c.go", "package c\n")
	f.run(exitFailed, "run", "--replay", file, "--model", recordedModel, "read both").wants(t, "the recording "+file+" has no answer")
	f.run(exitUsage, "run", "--replay", file, "--record", file, "read both").wants(t, "exclude each other")
	missing := filepath.Join(f.work, "missing.jsonl")
	f.run(exitFailed, "run", "--replay", missing, "--model", recordedModel, "read both").wants(t, missing, "no such file")
	f.run(exitFailed, "run", "--record", filepath.Join(f.work, "no", "folder", "x"), "hello").wants(t, "recording", "no such file")
	f.sound()
}

// TestReplayOfDamage: a crash cuts the last line of a recording; what is before
// it counts.
func TestReplayOfDamage(t *testing.T) {
	t.Parallel()
	file, runs := recorded(t, "read both", "read both, please")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f := newFolder(t)
	cut := f.write("cut.jsonl", string(b[:len(b)-40]))
	f.work = t.TempDir() // the recording is not to be among the files that are read
	for name, text := range map[string]string{"a.go": "package a\n", "b.go": "package b\n", "README.md": "# Title\n\nText.\n"} {
		f.write(name, text)
	}
	r := f.replays(cut, "read both", runs[0], "--model", recordedModel)
	if !strings.Contains(r.errs, "warning") || !strings.Contains(r.errs, cut) {
		t.Errorf("no warning that names the recording:\n%s", r.errs)
	}
	f.run(exitFailed, "run", "--replay", cut, "--model", recordedModel, "read both, please").wants(t, "the recording "+cut+" has no answer")
	// What is added to it could not be read.
	f.run(exitFailed, "run", "--record", cut, "hello").wants(t, cut, "ends in the middle")
	// In the middle it is no crash.
	lines := bytes.SplitAfterN(b, []byte("\n"), 2)
	broken := filepath.Join(t.TempDir(), "broken.jsonl")
	if err := os.WriteFile(broken, append(append(lines[0][:len(lines[0])/2:len(lines[0])/2], '\n'), lines[1]...), 0o600); err != nil {
		t.Fatal(err)
	}
	f.run(exitFailed, "run", "--replay", broken, "--model", recordedModel, "read both").wants(t, broken, "no recorded model call")
	f.sound()
}
