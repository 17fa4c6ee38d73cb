// What is kept from commands inside the working folder: files that may not be
// read, and what of a repository decides which programs git runs.

package shell_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/shell"
)

func TestWithheldFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, shell.Options{Sandbox: box(t, name)})
			b.file("open.txt", "plain\n")
			b.file("deep/er/hidden", "SECRET\n")
			b.file("deep/er/open.txt", "plain\n")
			b.env.Guarded = func(name string) bool { return path.Base(name) == "hidden" }
			b.env.MayRead = func(name string) bool { return path.Base(name) != "hidden" }

			reads := fields{"command": "grep -r . ."}
			if a := b.plan(reads); a.Class != tool.Reads || a.Unconfined {
				t.Errorf("planned as %+v", a)
			}
			if got := said(b.use(t.Context(), "Bash", reads)); strings.Contains(got, "SECRET") || strings.Count(got, "plain") != 2 {
				t.Errorf("a command that only reads printed %s", got)
			}
			a := b.plan(fields{"command": "grep -r . . > found"})
			if name == sandbox.Landlock {
				// It cannot hide what lies in a folder that may be written.
				if !a.Unconfined || !strings.Contains(a.Shown, "deep/er/hidden") {
					t.Errorf("nobody is told what the command can read: %+v", a)
				}
				return
			}
			if a.Unconfined {
				t.Errorf("planned as %+v", a)
			}
			b.bash("grep -r . . > found")
			if found, err := os.ReadFile(filepath.Join(b.env.Dir, "found")); err != nil || strings.Contains(string(found), "SECRET") || !strings.Contains(string(found), "plain") {
				t.Errorf("a command that writes found %s, %v", found, err)
			}
		})
	}
}

// TestRepositoriesAreGuarded: whoever may write the folder may not make git
// run programs of his choice when a person uses it.
func TestRepositoriesAreGuarded(t *testing.T) {
	t.Parallel()
	const made = "git init -q . && git init -q nested && rm -rf .git/hooks && mkdir -p evil && cp .git/config evil/config"
	for _, name := range []string{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, shell.Options{Sandbox: box(t, name)})
			if r := b.bash(made); r.IsError {
				t.Fatal(said(r))
			}
			for _, file := range []string{".git/commondir", ".git/config.worktree", "nested/.git/commondir"} {
				if got := said(b.bash("echo ../evil > " + file)); !strings.Contains(got, file+" decides which programs run") {
					t.Errorf("making %s: %s", file, got)
				}
				if _, err := os.Lstat(filepath.Join(b.env.Dir, file)); err == nil {
					t.Errorf("%s was made", file)
				}
			}
			if name == sandbox.Landlock {
				return // one of its gaps
			}
			for _, line := range []string{
				"echo evil >> .git/config", "echo evil > .git/hooks/pre-commit", "echo evil >> nested/.git/config", "echo evil > nested/.git/hooks/pre-commit",
				"mv nested/.git x", "rm -rf nested/.git/hooks && mkdir nested/.git/hooks",
			} {
				if r := b.bash(line); !r.IsError {
					t.Errorf("%s: %s", line, said(r))
				}
			}
			if got := said(b.bash("git init -q other && git -C other config a.b c && git -C other -c user.name=a -c user.email=b commit -q --allow-empty -m x")); !strings.Contains(got, "exit code 0") {
				t.Errorf("a repository of its own: %s", got)
			}
		})
	}
}

// TestOwnConfigurationIsGuarded: a program that a command runs cannot give its
// agent more than it has. A command that names the files was asked for.
func TestOwnConfigurationIsGuarded(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{Sandbox: box(t, sandbox.Bubblewrap)})
	b.file("sly.sh", "mkdir -p .cad*re .c''adre; echo evil > .c''adre/config.yaml; echo evil > .m''cp.json\n")
	if got := said(b.bash("sh sly.sh")); strings.Count(got, "may not be made by the way") != 2 {
		t.Errorf("making them: %s", got)
	}
	b.file(".cadre/config.yaml", "good")
	b.file(".mcp.json", "good")
	b.bash("sh sly.sh")
	for _, name := range []string{".cadre/config.yaml", ".mcp.json"} {
		if got, err := os.ReadFile(filepath.Join(b.env.Dir, name)); err != nil || string(got) != "good" {
			t.Errorf("%s says %q, %v", name, got, err)
		}
	}
	if r := b.bash("echo better > .cadre/config.yaml"); r.IsError {
		t.Errorf("a command that was asked for: %s", said(r))
	}
}

// TestWorktreeLinks: an agent may write what git keeps of its worktree, but not
// where that says the repository is.
func TestWorktreeLinks(t *testing.T) {
	t.Parallel()
	extra := t.TempDir()
	for _, f := range []string{"commondir", "gitdir", "index"} {
		if err := os.WriteFile(filepath.Join(extra, f), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t, shell.Options{Sandbox: box(t, sandbox.Bubblewrap), Extra: func(string) []string { return []string{extra} }})
	for file, fails := range map[string]bool{"commondir": true, "gitdir": true, "index": false, "HEAD": false} {
		if r := b.bash("echo evil > " + extra + "/" + file); r.IsError != fails {
			t.Errorf("%s: %s", file, said(r))
		}
	}
}
