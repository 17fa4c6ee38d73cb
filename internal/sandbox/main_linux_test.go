// The test binary is its own helper, and finds the sandboxes once.

package sandbox_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

func TestMain(m *testing.M) {
	if code, ran := sandbox.Main(os.Args); ran {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// find returns the sandbox of that name, or skips where it does not work.
func find(t *testing.T, name string) sandbox.Sandbox {
	t.Helper()
	s, notes := sandbox.Find(t.Context(), sandbox.Options{Helper: sandbox.Self, Only: name})
	if s.Name() != name {
		t.Skipf("%s does not work here: %s", name, strings.Join(notes, "; "))
	}
	return s
}

// each runs a test in every sandbox.
func each(t *testing.T, names []string, test func(t *testing.T, s sandbox.Sandbox)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, find(t, name))
		})
	}
}

var (
	confining = []string{sandbox.Bubblewrap, sandbox.Landlock}
	all       = []string{sandbox.Bubblewrap, sandbox.Landlock, sandbox.None}
)

// policy has a working folder that may be written.
func policy(t *testing.T) sandbox.Policy {
	t.Helper()
	return sandbox.Policy{Dir: t.TempDir(), Temp: t.TempDir(), Write: true}
}

// prepare makes a shell command in the sandbox, with a deadline.
func prepare(ctx context.Context, t *testing.T, s sandbox.Sandbox, p sandbox.Policy, script string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	cmd, err := s.Command(ctx, p, []string{"bash", "-c", script}, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GIVEN=yes"})
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// run returns the output and whether the script ended well.
func run(t *testing.T, s sandbox.Sandbox, p sandbox.Policy, script string) (string, bool) {
	t.Helper()
	cmd := prepare(t.Context(), t, s, p, script)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return strings.TrimSpace(out.String()), err == nil
}

func exists(t *testing.T, parts ...string) bool {
	t.Helper()
	_, err := os.Lstat(filepath.Join(parts...))
	return err == nil
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
