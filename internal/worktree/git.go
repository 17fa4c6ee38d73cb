// Running git: always the same way, whatever the environment and the
// configuration say.

package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// git runs git with further variables of the environment.
type git struct {
	dir   string // where it runs; empty: anywhere
	env   []string
	stdin io.Reader
}

// settings come before all configuration files. Together with a clean
// environment they keep git from running other programs, from collecting
// garbage and from waiting for anybody.
func settings() []string {
	return []string{
		"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false", "core.splitIndex=false",
		"core.pager=cat", "core.quotePath=false", "gc.auto=0", "maintenance.auto=false",
		"commit.gpgSign=false", "protocol.allow=never", "submodule.recurse=false",
		"core.packedRefsTimeout=10000", "core.filesRefLockTimeout=10000",
	}
}

func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "LANGUAGE=")
	})
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_AUTHOR_NAME=Cadre", "GIT_AUTHOR_EMAIL=cadre@localhost", "GIT_COMMITTER_NAME=Cadre", "GIT_COMMITTER_EMAIL=cadre@localhost")
}

// gitError is a git command that failed, and what it said.
type gitError struct {
	command string
	said    string
	err     error
}

func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.said)
}

func (e *gitError) Unwrap() error { return e.err }

// run returns what git says, without the line end.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := g.write(ctx, &out, args...)
	return strings.TrimSuffix(out.String(), "\n"), err
}

func (g git) write(ctx context.Context, out io.Writer, args ...string) error {
	var options []string
	for _, s := range settings() {
		options = append(options, "-c", s)
	}
	cmd := exec.CommandContext(ctx, "git", append(options, args...)...)
	cmd.Dir = g.dir
	cmd.Env = append(environment(), g.env...)
	cmd.Stdin = g.stdin
	cmd.Stdout = out
	said := &head{limit: 4000}
	cmd.Stderr = said
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("git is not installed, or not in PATH")
	}
	return &gitError{command: args[0], said: strings.TrimSpace(string(said.kept)), err: err}
}

// exitCode is what git ended with; -1 if it did not end by itself.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// head keeps the beginning of what is written to it, up to limit bytes.
type head struct {
	kept  []byte
	limit int
	more  bool // there was more
}

func (h *head) Write(p []byte) (int, error) {
	keep := min(len(p), h.limit-len(h.kept))
	h.more = h.more || keep < len(p)
	h.kept = append(h.kept, p[:keep]...)
	return len(p), nil
}

func checkVersion(ctx context.Context) error {
	text, err := git{}.run(ctx, "version")
	if err != nil {
		return err
	}
	var major, minor int
	if _, err := fmt.Sscanf(text, "git version %d.%d", &major, &minor); err != nil {
		return fmt.Errorf("reading the version of git from %q: %w", text, err)
	}
	if major < 2 || major == 2 && minor < 38 {
		return fmt.Errorf("git %d.%d is too old for isolated agents: 2.38 or newer is needed", major, minor)
	}
	return nil
}

// repository is where a folder lies.
type repository struct {
	top     string // of the working tree
	prefix  string // from there to the folder
	common  string // the git folder that all worktrees share
	private string // the git folder of this worktree
	format  string // of object names: sha1, sha256
}

// discover finds the repository of a folder. Git is asked, but its answer has
// to agree with where .git lies: the configuration could name any folder as
// the working tree.
func discover(ctx context.Context, dir string) (repository, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return repository{}, err
	}
	text, err := git{dir: dir}.run(ctx, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir", "--git-dir", "--show-object-format")
	if err != nil {
		switch said := err.Error(); {
		case strings.Contains(said, "not a git repository"):
			return repository{}, fmt.Errorf("%s is not in a git repository, and isolation: worktree needs one: run git init there, or start the agent without it", dir)
		case strings.Contains(said, "must be run in a work tree"):
			return repository{}, fmt.Errorf("%s is in a bare repository or a git folder: isolation: worktree needs a folder with files", dir)
		}
		return repository{}, err
	}
	lines := strings.Split(text, "\n")
	if len(lines) != 4 {
		return repository{}, fmt.Errorf("the repository of %s has a line break in its path", dir)
	}
	r := repository{top: filepath.Clean(lines[0]), common: lines[1], private: lines[2], format: lines[3]}
	top := dir
	for {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			break
		}
		parent := filepath.Dir(top)
		if parent == top {
			return repository{}, fmt.Errorf("%s has its git folder elsewhere, which isolation: worktree does not support", dir)
		}
		top = parent
	}
	if real, err := filepath.EvalSymlinks(r.top); err != nil || real != top {
		return repository{}, fmt.Errorf("git takes %s for the working tree, but .git lies in %s: remove core.worktree from its configuration", r.top, top)
	}
	r.top = top
	r.prefix, err = filepath.Rel(top, dir)
	return r, err
}

// copyIndex keeps the time of the file: by it git knows which entries are too
// young to go by the times of their files.
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := copyFile(from, to); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read from
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
