// Tests of the Bash tool as an agent uses it, in real sandboxes.

package shell_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/shell"
)

func TestMain(m *testing.M) {
	if code, ran := sandbox.Main(os.Args); ran {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// box is the best sandbox of this machine, or the one that is named.
func box(t *testing.T, name string) sandbox.Sandbox {
	t.Helper()
	s, notes := sandbox.Find(t.Context(), sandbox.Options{Helper: sandbox.Self, Only: name})
	if name != "" && s.Name() != name || name == "" && !s.Confines() {
		t.Skipf("no sandbox %s here: %s", name, strings.Join(notes, "; "))
	}
	return s
}

// bench is a shell with an agent in a folder.
type bench struct {
	t     *testing.T
	shell *shell.Shell
	tools *tool.Registry
	env   tool.Env
	temp  string
}

func newBench(t *testing.T, o shell.Options) *bench {
	t.Helper()
	if o.Sandbox == nil {
		o.Sandbox = box(t, "")
	}
	if o.TempRoot == "" {
		o.TempRoot = filepath.Join(t.TempDir(), "tmp")
	}
	s := shell.New(o)
	t.Cleanup(s.Close)
	tools, err := tool.New(s.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, s, tools, tool.Env{Chat: "c", Agent: "c.1", Path: "main/coder", Dir: dir, Ledger: tool.NewLedger()}, o.TempRoot}
}

func (b *bench) file(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.env.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

type fields map[string]any

func (b *bench) input(in fields) json.RawMessage {
	b.t.Helper()
	j, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	return j
}

// use runs a tool that must not fail in itself.
func (b *bench) use(ctx context.Context, name string, in fields) tool.Result {
	b.t.Helper()
	r, err := b.tools.Run(ctx, name, b.env, b.input(in))
	if err != nil {
		b.t.Fatalf("%s %v: %v", name, in, err)
	}
	return r
}

func (b *bench) bash(line string) tool.Result {
	b.t.Helper()
	return b.use(b.t.Context(), "Bash", fields{"command": line})
}

func (b *bench) plan(in fields) tool.Action {
	b.t.Helper()
	t, _ := b.tools.Get("Bash")
	a, err := t.Plan(b.t.Context(), b.env, b.input(in))
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

func said(r tool.Result) string {
	var b strings.Builder
	for _, p := range r.Parts {
		if t, ok := p.(message.TextPart); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func files(r tool.Result) string {
	var out []string
	for _, f := range r.Record.Files {
		out = append(out, f.Op+" "+f.Path)
	}
	return strings.Join(out, ", ")
}

func TestDescriptionIsShort(t *testing.T) {
	t.Parallel()
	for _, x := range shell.New(shell.Options{}).Tools() {
		if len(x.Description) > 600 || x.Description == "" {
			t.Errorf("the description of %s has %d bytes", x.Name, len(x.Description))
		}
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{})
	b.file("sub/x", "")
	for name, c := range map[string]struct {
		in   fields
		want tool.Action
	}{
		"reads":      {fields{"command": "ls -l"}, tool.Action{Class: tool.Reads, Commands: []string{"ls -l"}, Shown: "ls -l"}},
		"writes":     {fields{"command": "rm x", "description": "tidy"}, tool.Action{Class: tool.Executes, Commands: []string{"rm x"}, Shown: "rm x", Reason: "tidy"}},
		"dynamic":    {fields{"command": "$x"}, tool.Action{Class: tool.Executes, Shown: "$x"}},
		"network":    {fields{"command": "ls", "network": true}, tool.Action{Class: tool.Executes, Commands: []string{"ls"}, Hosts: []string{"*"}, Shown: "ls\n[with network]"}},
		"elsewhere":  {fields{"command": "ls", "cwd": "sub"}, tool.Action{Class: tool.Reads, Commands: []string{"ls"}, Shown: "ls\n[in sub]"}},
		"background": {fields{"command": "make", "run_in_background": true}, tool.Action{Class: tool.Executes, Commands: []string{"make"}, Shown: "make\n[in the background]"}},
	} {
		got := b.plan(c.in)
		c.want.Command, _ = c.in["command"].(string)
		if g, w := asJSON(t, got), asJSON(t, c.want); g != w {
			t.Errorf("%s:\n%s, want\n%s", name, g, w)
		}
	}
	bash, _ := b.tools.Get("Bash")
	for _, in := range []fields{{"command": "ls", "cwd": ".."}, {"command": "ls", "cwd": "/etc"}, {"command": "ls", "cwd": "nowhere"}, {"command": "ls", "cwd": "sub/x"}, {"command": strings.Repeat("x", 100_001)}} {
		if _, err := bash.Plan(t.Context(), b.env, b.input(in)); err == nil {
			t.Errorf("%.60v was planned", in)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	j, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(j)
}

func TestPlanUnconfinedAlwaysAsks(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{Sandbox: box(t, sandbox.None)})
	a := b.plan(fields{"command": "ls"})
	if a.Class != tool.Executes || !strings.Contains(a.Shown, "not confined") {
		t.Errorf("got %+v", a)
	}
}

func TestOutputCodeAndFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{sandbox.Bubblewrap, sandbox.Landlock, sandbox.None} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, shell.Options{Sandbox: box(t, name)})
			b.file("sub/deep/x", "")
			r := b.bash("echo out; echo err >&2; echo out again; exit 3")
			if got := said(r); !strings.HasPrefix(got, "out\nerr\nout again\n[exit code 3, ") || !r.IsError || *r.Record.Exit != 3 {
				t.Errorf("got %q, %+v", got, r.Record)
			}
			if got := said(b.bash("cd sub && echo x > new")); !strings.Contains(got, "[the next command starts in sub]") {
				t.Errorf("after cd: %q", got)
			}
			if got := said(b.bash("pwd; cd deep; exit 0")); !strings.HasPrefix(got, b.env.Dir+"/sub\n") || !strings.Contains(got, "starts in sub/deep") {
				t.Errorf("in sub: %q", got)
			}
			if got := said(b.bash("cd /; pwd")); !strings.HasPrefix(got, "/\n") || !strings.Contains(got, "starts in sub/deep again") {
				t.Errorf("outside: %q", got)
			}
			if got := said(b.bash("rm -r ../deep; true")); !strings.Contains(got, "exit code 0") {
				t.Errorf("removing: %q", got)
			}
			if got := said(b.bash("pwd")); !strings.HasPrefix(got, b.env.Dir+"\n") {
				t.Errorf("after its folder is gone: %q", got)
			}
			if got := said(b.bash("echo one > $TMPDIR/f; x=1")); !strings.Contains(got, "exit code 0") {
				t.Errorf("temp: %q", got)
			}
			if got := said(b.bash("cat $TMPDIR/f; echo [$x]; echo 'unfinished")); !strings.Contains(got, "exit code") || strings.HasPrefix(got, "one") {
				t.Errorf("a syntax error: %q", got)
			}
			if got := said(b.bash("cat $TMPDIR/f; echo [$x] $# >&2; touch y")); !strings.HasPrefix(got, "one\n[] 0\n") {
				t.Errorf("the next command: %q", got)
			}
		})
	}
}

func TestReadingIsConfined(t *testing.T) {
	t.Parallel()
	for _, name := range []string{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, shell.Options{Sandbox: box(t, name), Env: func() []string { return []string{"PATH=" + os.Getenv("PATH")} }})
			// A repository whose configuration makes git run a program.
			if got := said(b.bash("git init -q . && echo '*.x diff=evil' > .gitattributes && echo a > f.x && git add . && git -c user.name=a -c user.email=b commit -qm x && " +
				"printf '#!/bin/sh\\necho ran >> ran; cat \"$1\"\\n' > evil && chmod +x evil && git config diff.evil.textconv ./evil && git config core.fsmonitor ./evil && echo b > f.x && ls -a")); !strings.Contains(got, "evil") {
				t.Fatalf("preparing: %s", got)
			}
			for _, line := range []string{"git status", "git diff"} {
				if a := b.plan(fields{"command": line}); a.Class != tool.Reads {
					t.Errorf("%s is not said to read", line)
				}
				r := b.bash(line)
				if len(r.Record.Files) > 0 {
					t.Errorf("%s: recorded %s", line, files(r))
				}
				if _, err := os.Stat(filepath.Join(b.env.Dir, "ran")); err == nil {
					t.Errorf("%s let a program of the repository write", line)
				}
			}
		})
	}
}

func TestChangesAreRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{})
	b.file("keep", "k")
	b.file("change", "c")
	b.file("gone", "g")
	b.file("sub/moved", "m")
	b.file(".git/config", "x")
	r := b.bash("echo more >> change; rm gone; mkdir -p new; echo n > new/file; mv sub/moved sub/renamed; echo y > .git/config; chmod 600 keep; chmod 644 keep")
	want := "modified change, deleted gone, created new/file, deleted sub/moved, created sub/renamed"
	if got := files(r); got != want {
		t.Errorf("recorded %s, want %s\n%s", got, want, said(r))
	}
	if r.Record.Command == "" || r.Record.Exit == nil || *r.Record.Exit != 0 {
		t.Errorf("record %+v", r.Record)
	}
	if v, ok := b.env.Ledger.Seen(b.env, filepath.Join(b.env.Dir, "gone")); !ok || v != "" {
		t.Errorf("the ledger says of the deleted file: %q, %v", v, ok)
	}
	if w, ok := b.env.Ledger.LastWriter(b.env, filepath.Join(b.env.Dir, "change")); !ok || w.Agent != "c.1" || len(w.Version) != 64 {
		t.Errorf("the ledger says of the changed file: %+v, %v", w, ok)
	}
	if got := files(b.bash("touch -d '2001-01-01' keep; sed -i s/c/d/ change")); got != "modified change, modified keep" {
		t.Errorf("recorded %s", got)
	}
}

func TestConflictIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{})
	b.file("shared", "one\n")
	other := b.env
	other.Agent, other.Path = "c.2", "main/tester"
	name := filepath.Join(b.env.Dir, "shared")
	b.env.Ledger.Saw(b.env, name, "v0")
	b.file("shared", "two\n")
	b.env.Ledger.Wrote(other, name, "v1")
	got := said(b.bash("echo three >> shared"))
	if !strings.Contains(got, "conflict: main/tester had changed shared") {
		t.Errorf("got %q", got)
	}
	if got := said(b.bash("echo four >> shared")); strings.Contains(got, "conflict") {
		t.Errorf("told again: %q", got)
	}
	b.env.Ledger.Wrote(other, name, "v2")
	b.env.Ledger.Saw(b.env, name, "v2")
	if got := said(b.bash("echo five >> shared")); strings.Contains(got, "conflict") {
		t.Errorf("told though it had seen the change: %q", got)
	}
}

// What another agent is known to have written while a command ran is not
// counted as the command's.
func TestOthersWritesAreNotCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{})
	other := b.env
	other.Agent, other.Path = "c.2", "main/tester"
	b.env.Output = func(string) {
		b.file("theirs", "content")
		b.env.Ledger.Wrote(other, filepath.Join(b.env.Dir, "theirs"), "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73")
	}
	if got := files(b.bash("echo go; until test -e theirs; do :; done; touch mine")); got != "created mine" {
		t.Errorf("recorded %q", got)
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	t.Parallel()
	for _, name := range []string{sandbox.Bubblewrap, sandbox.Landlock, sandbox.None} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, shell.Options{Sandbox: box(t, name)})
			r := b.use(t.Context(), "Bash", fields{"command": "echo before; trap '' TERM; setsid sleep 98765 & sleep 98765", "timeout": 4000})
			if got := said(r); !strings.HasPrefix(got, "before\n") || !strings.Contains(got, "took longer than 4s") || !r.IsError {
				t.Errorf("timeout: %q", got)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var once sync.Once
			b.env.Output = func(string) { once.Do(cancel) }
			begin := time.Now()
			r = b.use(ctx, "Bash", fields{"command": "touch made; echo ready; (setsid nohup sleep 98765 >/dev/null 2>&1 &); sleep 98765"})
			if got := said(r); !strings.Contains(got, "[cancelled") || files(r) != "created made" {
				t.Errorf("cancel: %q, recorded %q", got, files(r))
			}
			if d := time.Since(begin); d > 20*time.Second {
				t.Errorf("the cancel took %v", d)
			}
		})
	}
	t.Cleanup(func() { // once the parallel ones are done
		if left := sleeping(t, "98765"); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

// sleeping lists the processes that sleep for so long.
func sleeping(t *testing.T, seconds string) []string {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.DeleteFunc(all, func(f string) bool {
		c, err := os.ReadFile(f)
		return err != nil || string(c) != "sleep\x00"+seconds+"\x00"
	})
}

func TestEnvironmentIsScrubbed(t *testing.T) {
	t.Parallel()
	given := []string{
		"PATH=/usr/bin:.::relative:/bin", "HOME=/home/x", "LANG=C.UTF-8", "GOFLAGS=-mod=mod", "GOPRIVATE=x", "EDITOR=vi", "GIT_AUTHOR_NAME=me", "SSL_CERT_FILE=/x", "KEYBOARD=de",
		"ANTHROPIC_API_KEY=SENSITIVE", "MY_TOKEN=SENSITIVE", "DB_PASSWORD=SENSITIVE", "AWS_SECRET_ACCESS_KEY=SENSITIVE", "SSH_AUTH_SOCK=SENSITIVE", "CADRE_X=SENSITIVE", "SOME_KEY=SENSITIVE", "APIKEY=SENSITIVE",
		"PROXY=http://user:SENSITIVE@host/", "LD_PRELOAD=SENSITIVE", "BASH_ENV=SENSITIVE", "BASH_FUNC_ls%%=() { echo SENSITIVE; }", "GIT_SSH_COMMAND=SENSITIVE", "SESSION_ID=SENSITIVE",
		"X_CREDENTIALS=SENSITIVE", "DBUS_SESSION_BUS_ADDRESS=SENSITIVE", "DATABASE_URL=SENSITIVE", "NODE_OPTIONS=SENSITIVE", "COOKIE=SENSITIVE", "OAUTH_CLIENT_SECRET=SENSITIVE", "PGPASSWORD=SENSITIVE", "STRIPE_SK=SENSITIVE", "mysql_pwd=SENSITIVE", "github_token=SENSITIVE",
	}
	b := newBench(t, shell.Options{Env: func() []string { return given }})
	got := said(b.bash("env; type ls"))
	for _, want := range []string{"PATH=/usr/bin:/bin\n", "HOME=/home/x\n", "LANG=C.UTF-8\n", "GOFLAGS=", "GOPRIVATE=", "TERM=dumb\n", "GIT_TERMINAL_PROMPT=0\n", "PAGER=cat\n", "TMPDIR=", "GIT_AUTHOR_NAME=me", "SSL_CERT_FILE=", "KEYBOARD=", "ls is /"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "SENSITIVE") || strings.Contains(got, "EDITOR=vi") {
		t.Errorf("got:\n%s", got)
	}
}

func TestTempFolders(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{})
	b.bash("echo secret > $TMPDIR/f; mkdir -p $TMPDIR/ro/x && chmod 500 $TMPDIR/ro")
	second := *b
	second.env.Agent = "c.2"
	got := said(second.bash("cat " + b.temp + "/*/f $TMPDIR/f; ls " + b.temp))
	if strings.Contains(got, "secret") {
		t.Errorf("one agent reads the temp folder of another: %q", got)
	}
	if entries, _ := os.ReadDir(b.temp); len(entries) != 2 {
		t.Errorf("%d temp folders", len(entries))
	}
	b.shell.Forget("c.1")
	if entries, _ := os.ReadDir(b.temp); len(entries) != 1 {
		t.Errorf("%d temp folders after Forget", len(entries))
	}
	b.shell.Close()
	if entries, _ := os.ReadDir(b.temp); len(entries) != 0 {
		t.Errorf("%d temp folders after Close", len(entries))
	}
	if _, err := b.tools.Run(t.Context(), "Bash", b.env, b.input(fields{"command": "ls"})); err == nil {
		t.Error("a command runs after Close")
	}
}
