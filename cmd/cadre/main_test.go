// The command is tested as users have it: as a process of its own. The test
// binary plays the command when the environment says so.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

const playCommand = "CADRE_TEST_PLAY_COMMAND"

func TestMain(m *testing.M) {
	if code, ran := sandbox.Main(os.Args); ran { // this binary confines commands, too
		os.Exit(code)
	}
	if os.Getenv(playCommand) != "" {
		main()
	}
	home, err := bareEnvironment()
	must(err)
	code := m.Run()
	_ = os.RemoveAll(home) // it is a temporary folder
	os.Exit(code)
}

// bareEnvironment keeps the developer's keys, addresses and configuration out
// of all tests: it drops all variables that are not needed, and returns an
// empty folder that is now the home. A request that would leave the machine
// ends at a proxy that is not there.
func bareEnvironment() (home string, err error) {
	kept := map[string]string{}
	for _, name := range []string{"PATH", "TMPDIR", "GOCOVERDIR", "GODEBUG", "GOMAXPROCS", "GORACE", "GOTRACEBACK", "CADRE_KILLS"} {
		if value, ok := os.LookupEnv(name); ok {
			kept[name] = value
		}
	}
	if home, err = os.MkdirTemp("", "cadre-home"); err != nil {
		return "", err
	}
	kept["HOME"] = home
	kept["CADRE_LOCAL"] = "off"                                                          // no test depends on what runs on the machine
	kept["HTTP_PROXY"], kept["HTTPS_PROXY"] = "http://127.0.0.1:1", "http://127.0.0.1:1" // not used for 127.0.0.1
	os.Clearenv()
	for name, value := range kept {
		if err := os.Setenv(name, value); err != nil {
			return "", err
		}
	}
	return home, nil
}

// patience bounds how long a test waits for a process.
const patience = 2 * time.Minute

// folder is a data folder with the commands that work on it.
type folder struct {
	t     *testing.T
	data  string
	work  string
	stdin string
	env   []string // what the commands find in their environment, beside the usual
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	f := &folder{t: t, data: filepath.Join(t.TempDir(), "data"), work: t.TempDir()}
	for name, text := range map[string]string{"a.go": "package a\n", "b.go": "package b\n", "README.md": "# Title\n\nText.\n"} {
		file := filepath.Join(f.work, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		same := time.Unix(1_700_000_000, 0) // Glob tells the newest first
		if err := os.Chtimes(file, same, same); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// script is the model that plays a file of testdata.
func script(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return "scripted:" + file
}

// process is a command under way.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  chan string // of standard output; closed at its end
	exited chan struct{}
	err    error // of Wait, once exited is closed

	mu   sync.Mutex
	errs bytes.Buffer
}

func (f *folder) start(args ...string) *process {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir = f.work
	cmd.Stdin = strings.NewReader(f.stdin)
	cmd.Env = append(os.Environ(), playCommand+"=1", "CADRE_HOME="+f.data, "HOME="+f.data, "CADRE_LOG=", "NO_COLOR=", "LC_ALL=C.UTF-8",
		"GORACE=atexit_sleep_ms=0") // the race detector would have each process wait a second at its end
	cmd.Env = append(cmd.Env, f.env...)
	p := &process{t: f.t, cmd: cmd, lines: make(chan string, 1<<16), exited: make(chan struct{})}
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd.Stderr = p
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	go func() {
		defer cancel()
		defer close(p.exited)
		in := bufio.NewScanner(out)
		in.Buffer(nil, 64<<20)
		for in.Scan() {
			p.lines <- in.Text()
		}
		close(p.lines)
		p.err = cmd.Wait()
	}()
	f.t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it has ended, as it should have
		<-p.exited
	})
	return p
}

// Write takes the error stream in.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errs.Write(b)
}

func (p *process) stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errs.String()
}

// await reads lines until one fits and returns those read.
func (p *process) await(what string, fits func(line string) bool) []string {
	p.t.Helper()
	var read []string
	for line := range p.lines {
		read = append(read, line)
		if fits(line) {
			return read
		}
	}
	<-p.exited
	p.t.Fatalf("%v ended (%v) before %s:\n%s\n%s", p.cmd.Args[1:], p.err, what, strings.Join(read, "\n"), p.stderr())
	return nil
}

func (p *process) signal(sig os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// result is what a command left.
type result struct {
	code int
	out  string
	errs string
}

// wait reads the rest and returns the exit code, -1 after a signal.
func (p *process) wait() result {
	p.t.Helper()
	var out strings.Builder
	for line := range p.lines {
		out.WriteString(line + "\n")
	}
	<-p.exited
	r := result{code: p.cmd.ProcessState.ExitCode(), out: out.String(), errs: p.stderr()}
	if strings.Contains(r.errs, "DATA RACE") || strings.Contains(r.errs, "goroutine ") {
		p.t.Errorf("%v:\n%s", p.cmd.Args[1:], r.errs)
	}
	return r
}

// run runs a command to its end and wants an exit code.
func (f *folder) run(code int, args ...string) result {
	f.t.Helper()
	r := f.start(args...).wait()
	if r.code != code {
		f.t.Fatalf("cadre %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), r.code, code, r.out, r.errs)
	}
	return r
}

func (r result) wants(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.out+r.errs, text) {
			t.Errorf("%q is missing in:\n%s\n%s", text, r.out, r.errs)
		}
	}
}

// line is a line of --json.
type line struct {
	Seq   *int64 `json:"seq"`
	At    string `json:"at"`
	Type  string `json:"type"`
	Chat  string `json:"chat"`
	Agent string `json:"agent"`
	Docs  []struct {
		Collection string          `json:"collection"`
		ID         string          `json:"id"`
		Data       json.RawMessage `json:"data"`
	} `json:"docs"`
	Text string `json:"text"`

	Outcome   string           `json:"outcome"`
	ErrorKind string           `json:"error_kind"`
	Error     string           `json:"error"`
	Result    string           `json:"result"`
	Usage     map[string]int64 `json:"usage"`
	CostUSD   *float64         `json:"cost_usd"`
	Agents    int              `json:"agents"`
}

func decode(t *testing.T, text string) line {
	t.Helper()
	var l line
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
	return l
}

// decodeAll checks the form of a whole output and returns its lines.
func decodeAll(t *testing.T, out string) []line {
	t.Helper()
	var lines []line
	last := int64(0)
	for text := range strings.Lines(out) {
		l := decode(t, text)
		lines = append(lines, l)
		switch {
		case l.Type == "done":
			continue
		case l.Type == "delta":
			if l.Seq == nil || *l.Seq != last {
				t.Errorf("a delta has not the number %d of the change before it: %s", last, text)
			}
		case l.Type == "suspended":
		case l.Seq == nil || *l.Seq <= last:
			t.Errorf("the number does not ascend after %d: %s", last, text)
		default:
			last = *l.Seq
		}
		if _, err := time.Parse("2006-01-02T15:04:05.000Z", l.At); err != nil {
			t.Errorf("the time: %v", err)
		}
	}
	return lines
}

// done is the last line, which must be the only one of its type.
func done(t *testing.T, out string) line {
	t.Helper()
	lines := decodeAll(t, out)
	if len(lines) == 0 {
		t.Fatal("no output")
	}
	for i, l := range lines {
		if (l.Type == "done") != (i == len(lines)-1) {
			t.Fatalf("line %d of %d has type %s", i+1, len(lines), l.Type)
		}
	}
	return lines[len(lines)-1]
}

// sound makes sure that the folder passes the checks of the command itself.
func (f *folder) sound() {
	f.t.Helper()
	f.run(0, "verify", "--all").wants(f.t, "replay to the stored state")
	f.run(0, "db", "check").wants(f.t, "the database is sound")
}
