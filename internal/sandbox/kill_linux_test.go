// Tests that nothing of a command outlives it, whatever it does to that end.

package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// escapes are ways in which a process tries to outlive its command; MARK is
// an argument by which it is found again.
var escapes = map[string]string{
	"child":       "sleep MARK & ",
	"session":     "setsid sleep MARK & ",
	"hang up":     "nohup sleep MARK >/dev/null 2>&1 & ",
	"double fork": "( (setsid sleep MARK </dev/null >/dev/null 2>&1 &) & ) ; ",
	"deaf":        "bash -c 'trap \"\" TERM INT HUP; sleep MARK & while :; do sleep 1; done' & ",
	"deaf daemon": "setsid bash -c 'trap \"\" TERM INT HUP; exec -a x sleep MARK' </dev/null >/dev/null 2>&1 & disown; ",
	"no env":      "env -i setsid \"$(command -v sleep)\" MARK & ",
}

// alive lists the processes that have the mark in their command line.
func alive(t *testing.T, mark string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(b), mark) {
			out = append(out, filepath.Dir(f)+" "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return out
}

// mark makes a number of seconds that nobody else sleeps.
func mark(t *testing.T, i int) string {
	t.Helper()
	return fmt.Sprintf("%d.%d%d", 100000+i, os.Getpid(), time.Now().UnixNano()%1e9)
}

// started waits for the line that a script prints once all is under way.
func started(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("the command said %q, %v", line, err)
	}
}

func script(name, mark, end string) string {
	s := strings.ReplaceAll(escapes[name], "MARK", mark)
	// The mark is seen once the process has become sleep.
	return s + `until [ "$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -c 'sleep ` + mark + ` \|x ` + mark + ` ')" -ge 1 ]; do :; done; echo ready; ` + end
}

func TestCancelLeavesNothing(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, s sandbox.Sandbox) {
		i := 0
		for name := range escapes {
			i++
			ctx, cancel := context.WithCancel(t.Context())
			m := mark(t, i)
			cmd := prepare(ctx, t, s, policy(t), script(name, m, "while :; do sleep 1; done"))
			started(t, cmd)
			if len(alive(t, m)) == 0 {
				t.Errorf("%s: nothing runs before the cancel", name)
			}
			begin := time.Now()
			cancel()
			if err := cmd.Wait(); err == nil {
				t.Errorf("%s: a cancelled command ended well", name)
			}
			if took := time.Since(begin); took > 4*time.Second {
				t.Errorf("%s: the cancel took %v", name, took)
			}
			if left := alive(t, m); len(left) > 0 {
				t.Errorf("%s: left behind: %q", name, left)
			}
		}
	})
}

func TestEndLeavesNothing(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, s sandbox.Sandbox) {
		i := 100
		for name := range escapes {
			i++
			m := mark(t, i)
			cmd := prepare(t.Context(), t, s, policy(t), script(name, m, "exit 3"))
			started(t, cmd)
			if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
				t.Errorf("%s: exit code %d", name, cmd.ProcessState.ExitCode())
			}
			if left := alive(t, m); len(left) > 0 {
				t.Errorf("%s: left behind: %q", name, left)
			}
		}
	})
}

// A command may clean up when it is cancelled, for a moment.
func TestCancelAsksFirst(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, s sandbox.Sandbox) {
		ctx, cancel := context.WithCancel(t.Context())
		p := policy(t)
		cmd := prepare(ctx, t, s, p, "touch lock; trap 'rm lock; exit' TERM; echo ready; while :; do sleep 0.05; done")
		started(t, cmd)
		cancel()
		_ = cmd.Wait()
		if exists(t, p.Dir, "lock") {
			t.Error("it could not remove its lock file")
		}
	})
}

// starterEnv makes the test below the process that is to die.
const starterEnv = "CADRE_TEST_STARTER"

func TestDeathOfTheStarterLeavesNothing(t *testing.T) {
	t.Parallel()
	if os.Getenv(starterEnv) != "" {
		t.Skip("this is the starter")
	}
	each(t, all, func(t *testing.T, s sandbox.Sandbox) {
		m := mark(t, 500)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStarter$", "-test.v")
		cmd.Env = append(os.Environ(), starterEnv+"="+s.Name()+" "+m)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "started"; {
			continue
		}
		if len(alive(t, m)) == 0 {
			t.Error("nothing was started")
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			left := alive(t, m)
			if len(left) == 0 {
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("left behind: %q", left)
			}
		}
	})
}

// TestStarter runs a command until it is killed.
func TestStarter(t *testing.T) {
	name, m, ok := strings.Cut(os.Getenv(starterEnv), " ")
	if !ok {
		t.Skip("only for TestDeathOfTheStarterLeavesNothing")
	}
	cmd := prepare(t.Context(), t, find(t, name), policy(t), script("session", m, "while :; do sleep 1; done"))
	started(t, cmd)
	_, _ = os.Stdout.WriteString("started\n")
	_ = cmd.Wait()
}
