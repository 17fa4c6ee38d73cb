// Tests of background commands.

package shell_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/shell"
)

func (b *bench) background(line string) string {
	b.t.Helper()
	got := said(b.use(b.t.Context(), "Bash", fields{"command": line, "run_in_background": true}))
	_, rest, ok := strings.Cut(got, " as ")
	id, _, _ := strings.Cut(rest, ".")
	if !ok {
		b.t.Fatalf("started: %q", got)
	}
	return id
}

func (b *bench) fails(name string, in fields, want string) {
	b.t.Helper()
	if _, err := b.tools.Run(b.t.Context(), name, b.env, b.input(in)); err == nil || !strings.Contains(err.Error(), want) {
		b.t.Errorf("%s %v: %v, want %q", name, in, err, want)
	}
}

func TestBackground(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{})
	b.fails("BashOutput", fields{"id": "bash-1"}, "you have none")
	id := b.background("echo one; until test -e go; do sleep 0.02; done; echo two; mkdir sub; cd sub; touch made; exit 4")
	var got string
	for !strings.Contains(got, "one\n") {
		got = said(b.use(t.Context(), "BashOutput", fields{"id": id, "wait": 0.05}))
		if !strings.Contains(got, "still runs") {
			t.Fatalf("got %q", got)
		}
	}
	if got := said(b.use(t.Context(), "BashOutput", fields{"id": id})); strings.Contains(got, "one") {
		t.Errorf("told twice: %q", got)
	}
	other := *b
	other.env.Agent = "c.2"
	other.fails("BashOutput", fields{"id": id}, "there is no background command")
	b.file("go", "")
	r := b.use(t.Context(), "BashOutput", fields{"id": id, "wait": 60})
	if got := said(r); !strings.HasPrefix(got, "two\n[exit code 4, ") || *r.Record.Exit != 4 || !strings.Contains(r.Record.Command, "touch made") || !r.IsError {
		t.Errorf("at the end: %q, %+v", got, r.Record)
	}
	if got := said(b.bash("pwd")); !strings.HasPrefix(got, b.env.Dir+"\n") {
		t.Errorf("a background command moved the agent: %q", got)
	}
	r = b.use(t.Context(), "BashOutput", fields{"id": id})
	if got := said(r); !strings.HasPrefix(got, "[exit code 4") || len(r.Record.Files) > 0 {
		t.Errorf("afterwards: %q, %+v", got, r.Record)
	}
	b.fails("KillBash", fields{"id": "x"}, "yours are bash-1")
}

func TestBackgroundChangesAreRecordedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{})
	id := b.background("touch made")
	if r := b.use(t.Context(), "BashOutput", fields{"id": id, "wait": 60}); files(r) != "created made" {
		t.Errorf("recorded %q: %s", files(r), said(r))
	}
	if r := b.use(t.Context(), "BashOutput", fields{"id": id}); files(r) != "" {
		t.Errorf("recorded again %q", files(r))
	}
}

// Whatever ends an agent ends its commands.
func TestBackgroundEnds(t *testing.T) {
	t.Parallel()
	for i, name := range []string{sandbox.Bubblewrap, sandbox.Landlock, sandbox.None} {
		for j, end := range []func(b *bench, id string){
			func(b *bench, id string) {
				if got := said(b.use(b.t.Context(), "KillBash", fields{"id": id})); !strings.Contains(got, "[killed, after") {
					b.t.Errorf("killed: %q", got)
				}
			},
			func(b *bench, _ string) { b.shell.Forget(b.env.Agent) },
			func(b *bench, _ string) { b.shell.Close() },
		} {
			t.Run(fmt.Sprintf("%s %d", name, j), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, shell.Options{Sandbox: box(t, name)})
				seconds := fmt.Sprintf("876%d%d", i, j)
				id := b.background("trap '' TERM; setsid sleep " + seconds + " & sleep " + seconds)
				for len(sleeping(t, seconds)) < 2 {
					if got := said(b.use(t.Context(), "BashOutput", fields{"id": id, "wait": 0.05})); !strings.Contains(got, "still runs") {
						t.Fatalf("it ended: %q", got)
					}
				}
				end(b, id)
				if left := sleeping(t, seconds); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

// TestBackgroundTask: a command that is a task of its own is waited for, also
// if it asks for the background once more.
func TestBackgroundTask(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{})
	b.env.Task = true
	if got := said(b.use(t.Context(), "Bash", fields{"command": "echo built; touch x", "run_in_background": true})); !strings.HasPrefix(got, "built\n[exit code 0") {
		t.Errorf("got %q", got)
	}
}

func TestBackgroundIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{})
	for range 8 {
		b.background("sleep 1000")
	}
	b.fails("Bash", fields{"command": "sleep 1000", "run_in_background": true}, "KillBash (bash-1, bash-2")
	b.use(t.Context(), "KillBash", fields{"id": "bash-3"})
	if id := b.background("sleep 1000"); id != "bash-9" {
		t.Errorf("the next is %s", id)
	}
	if a := b.plan(fields{"command": "sleep 1000", "run_in_background": true}); a.Class != tool.Reads {
		t.Errorf("planned as %s", a.Class)
	}
}
