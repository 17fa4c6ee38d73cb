// Making trees and ending them, with real repositories.

package worktree

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fixture is a repository and a place for trees.
type fixture struct {
	t    *testing.T
	dir  string
	root string
}

func newFixture(t *testing.T, files map[string]string) fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{t: t, dir: filepath.Join(dir, "repo"), root: filepath.Join(dir, "data")}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f.git("init", "-q", "-b", "main")
	f.put(f.dir, files)
	if len(files) > 0 {
		f.git("add", "-A")
		f.git("commit", "-q", "-m", "first")
	}
	return f
}

// git runs git as a person would, in the repository.
func (f fixture) git(args ...string) string {
	f.t.Helper()
	return f.gitIn(f.dir, args...)
}

func (f fixture) gitIn(dir string, args ...string) string {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), "git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(environment(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=Ann", "GIT_LITERAL_PATHSPECS=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

const removed = "(removed)"

// put writes files; "-> x" is a link, and a text that begins with #! is
// executable.
func (f fixture) put(dir string, files map[string]string) {
	f.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full, text := filepath.Join(dir, name), files[name]
		err := os.RemoveAll(full)
		if text != removed && err == nil {
			err = os.MkdirAll(filepath.Dir(full), 0o755)
		}
		target, link := strings.CutPrefix(text, "-> ")
		switch {
		case text == removed || err != nil:
		case link:
			err = os.Symlink(target, full)
		case strings.HasPrefix(text, "#!"):
			err = os.WriteFile(full, []byte(text), 0o755)
		default:
			err = os.WriteFile(full, []byte(text), 0o644)
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// see compares files with what is wanted, in the form of put.
func (f fixture) see(dir string, want map[string]string) {
	f.t.Helper()
	for name, text := range want {
		full := filepath.Join(dir, name)
		info, err := os.Lstat(full)
		got := removed
		if err == nil {
			if info.Mode()&os.ModeSymlink != 0 {
				target, _ := os.Readlink(full)
				got = "-> " + target
			} else {
				data, err := os.ReadFile(full)
				if err != nil {
					f.t.Fatal(err)
				}
				got = string(data)
				if exec := info.Mode()&0o111 != 0; exec != strings.HasPrefix(text, "#!") {
					f.t.Errorf("%q has mode %s", name, info.Mode())
				}
			}
		}
		if got != text {
			f.t.Errorf("%q is %q, want %q", name, got, text)
		}
	}
}

func (f fixture) create(agent string) Tree {
	f.t.Helper()
	t, err := Create(f.t.Context(), Spec{Dir: f.dir, Root: f.root, Chat: "k3", Agent: agent})
	if err != nil {
		f.t.Fatal(err)
	}
	return t
}

// state is everything of the folder that must not change.
func (f fixture) state() string {
	f.t.Helper()
	index, err := os.ReadFile(filepath.Join(f.dir, ".git", "index"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Fatal(err)
	}
	head, _ := os.ReadFile(filepath.Join(f.dir, ".git", "HEAD"))
	return f.git("status", "--porcelain", "--ignored", "-uall") + f.git("stash", "list") + string(index) + string(head)
}

func TestCreateSeesWhatTheParentSees(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{
		"a.txt": "a\n", "staged.txt": "1\n", "gone.txt": "x\n", "run.sh": "#!/bin/sh\n", "link": "-> a.txt",
		".gitignore": "ignored\n", "sub/deep/b.txt": "b\n",
	})
	f.put(f.dir, map[string]string{"staged.txt": "2\n"})
	f.git("add", "staged.txt")
	f.put(f.dir, map[string]string{"staged.txt": "3\n", "gone.txt": removed, "new.txt": "new\n", "ignored": "i\n", "with space/ü\nline": "odd\n"})
	before := f.state()

	tree := f.create("k3.1")
	if after := f.state(); after != before {
		t.Errorf("the folder was changed:\n%s\n%s", before, after)
	}
	f.see(tree.Top, map[string]string{
		"a.txt": "a\n", "staged.txt": "3\n", "gone.txt": removed, "new.txt": "new\n", "ignored": removed,
		"run.sh": "#!/bin/sh\n", "link": "-> a.txt", "with space/ü\nline": "odd\n", "sub/deep/b.txt": "b\n",
	})
	if tree.Dir != tree.Top || tree.Branch != "cadre/k3/k3.1" || tree.Folder != f.dir {
		t.Errorf("%+v", tree)
	}
	if got := f.gitIn(tree.Dir, "status", "--porcelain"); got != "" {
		t.Errorf("the new tree is not clean: %s", got)
	}
	if got := f.gitIn(tree.Dir, "log", "--format=%s %an"); got != "Snapshot of the working folder Cadre\nfirst Ann" {
		t.Errorf("history %q", got)
	}
	diff, err := DiffOf(t.Context(), tree)
	if err != nil || len(diff.Files) != 0 || diff.Text != "" || diff.Stat != "0 files, +0 -0" {
		t.Errorf("%+v %v", diff, err)
	}
	for _, dir := range tree.Writable() {
		if _, err := os.Stat(dir); err != nil && !strings.Contains(dir, "logs") {
			t.Error(err)
		}
	}
}

func TestCreateFrom(t *testing.T) {
	t.Parallel()
	base := map[string]string{"a.txt": "a\n", "sub/b.txt": "b\n"}
	t.Run("a clean folder", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, base)
		if tree := f.create("k3.1"); tree.Base != f.git("rev-parse", "HEAD") {
			t.Error("a commit was made for nothing")
		}
	})
	t.Run("a subfolder", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, base)
		tree, err := Create(t.Context(), Spec{Dir: filepath.Join(f.dir, "sub"), Root: f.root, Chat: "k3", Agent: "k3.1"})
		if err != nil || tree.Dir != filepath.Join(tree.Top, "sub") {
			t.Fatal(tree, err)
		}
		f.see(tree.Dir, map[string]string{"b.txt": "b\n"})
	})
	t.Run("a detached HEAD", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, base)
		f.git("checkout", "-q", "--detach")
		f.see(f.create("k3.1").Dir, base)
	})
	t.Run("no commits", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, nil)
		f.put(f.dir, base)
		tree := f.create("k3.1")
		f.see(tree.Dir, base)
		f.put(tree.Dir, map[string]string{"a.txt": "A\n"})
		if got, err := Accept(t.Context(), tree); err != nil || !got.Applied {
			t.Fatal(got, err)
		}
		f.see(f.dir, map[string]string{"a.txt": "A\n", "sub/b.txt": "b\n"})
	})
	t.Run("a shallow clone", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, base)
		f.put(f.dir, map[string]string{"c.txt": "c\n"})
		f.git("add", "-A")
		f.git("commit", "-q", "-m", "second")
		clone := f.dir + "-shallow"
		f.git("clone", "-q", "--depth=1", "file://"+f.dir, clone)
		f.dir = clone
		tree := f.create("k3.1")
		f.put(tree.Dir, map[string]string{"c.txt": "C\n"})
		if got, err := Accept(t.Context(), tree); err != nil || !got.Applied {
			t.Fatal(got, err)
		}
		f.see(f.dir, map[string]string{"c.txt": "C\n"})
	})
	t.Run("another tree", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, base)
		parent := f.create("k3.1")
		f.put(parent.Dir, map[string]string{"a.txt": "parent\n"})
		child, err := Create(t.Context(), Spec{Dir: parent.Dir, Root: f.root, Chat: "k3", Agent: "k3.1.1"})
		if err != nil {
			t.Fatal(err)
		}
		f.see(child.Dir, map[string]string{"a.txt": "parent\n"})
		f.put(child.Dir, map[string]string{"c.txt": "child\n"})
		if got, err := Accept(t.Context(), child); err != nil || !got.Applied {
			t.Fatal(got, err)
		}
		f.see(parent.Dir, map[string]string{"a.txt": "parent\n", "c.txt": "child\n"})
		f.see(f.dir, map[string]string{"a.txt": "a\n", "c.txt": removed})
	})
	t.Run("sha256", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, nil)
		f.put(f.dir, map[string]string{".git": removed})
		f.git("init", "-q", "--object-format=sha256")
		f.put(f.dir, base)
		f.see(f.create("k3.1").Dir, base)
	})
	t.Run("data inside the folder", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, base)
		f.root = filepath.Join(f.dir, ".data")
		f.create("k3.1")
		second := f.create("k3.2")
		f.see(second.Dir, map[string]string{"a.txt": "a\n", ".data": removed})
	})
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a": "a\n"})
	bare := f.dir + ".git"
	f.git("clone", "-q", "--bare", f.dir, bare)
	fooled := f.dir + "-fooled"
	f.git("clone", "-q", f.dir, fooled)
	f.gitIn(fooled, "config", "core.worktree", filepath.Dir(f.dir))
	f.git("branch", "cadre/k3/taken")
	f.git("commit", "-q", "--allow-empty", "-m", "x")
	for _, c := range []struct{ dir, chat, agent, want string }{
		{t.TempDir(), "k3", "k3.1", "not in a git repository"},
		{bare, "k3", "k3.1", "bare"},
		{filepath.Join(f.dir, ".git"), "k3", "k3.1", "git folder"},
		{fooled, "k3", "k3.1", "core.worktree"},
		{f.dir, "k3", "../x", "ids"},
		{f.dir, "k3", "a..b", "ids"},
		{f.dir, "k3", "x.lock", "ids"},
		{f.dir, "", "x", "ids"},
		{f.dir, "k3", "taken", "already: cadre/k3/taken"},
		{"relative", "k3", "x", "absolute"},
		{filepath.Join(f.dir, "nowhere"), "k3", "x", "no such file"},
	} {
		_, err := Create(t.Context(), Spec{Dir: c.dir, Root: f.root, Chat: c.chat, Agent: c.agent})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if got := f.git("rev-parse", "--verify", "cadre/k3/taken"); got == "" {
		t.Error("a branch of the user was removed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Create(ctx, Spec{Dir: f.dir, Root: f.root, Chat: "k3", Agent: "k3.9"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestCreateInParallelAndAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a": "a\n"})
	f.put(f.dir, map[string]string{"dirty": "d\n"})
	var wait sync.WaitGroup
	trees := make([]Tree, 8)
	errs := make([]error, 8)
	for i := range trees {
		wait.Go(func() {
			trees[i], errs[i] = Create(t.Context(), Spec{Dir: f.dir, Root: f.root, Chat: "k3", Agent: "k3." + string(rune('1'+i))})
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i, tree := range trees {
		f.see(tree.Dir, map[string]string{"a": "a\n", "dirty": "d\n"})
		f.put(tree.Dir, map[string]string{"mine": tree.Agent})
		again := f.create(tree.Agent)
		if again != tree {
			t.Errorf("%d: %+v, then %+v", i, tree, again)
		}
		f.see(tree.Dir, map[string]string{"mine": tree.Agent})
	}
	listed, err := List(f.root, "k3")
	if err != nil || !slices.Equal(listed, trees) {
		t.Errorf("%v %v", listed, err)
	}
	if none, err := List(f.root, "k4"); err != nil || none != nil {
		t.Errorf("%v %v", none, err)
	}
	for _, tree := range trees {
		if err := Remove(t.Context(), tree); err != nil {
			t.Error(err)
		}
		if err := Remove(t.Context(), tree); err != nil {
			t.Errorf("again: %v", err)
		}
	}
	f.isClean()
}

// isClean checks that nothing of any tree is left.
func (f fixture) isClean() {
	f.t.Helper()
	if got := f.git("for-each-ref", "refs/heads/cadre", "refs/cadre"); got != "" {
		f.t.Errorf("references are left: %s", got)
	}
	if got := f.git("worktree", "list"); strings.Count(got, "\n") != 0 {
		f.t.Errorf("worktrees are left: %s", got)
	}
	if left, err := List(f.root, "k3"); err != nil || len(left) != 0 {
		f.t.Errorf("trees are left: %v %v", left, err)
	}
	if entries, err := os.ReadDir(filepath.Join(f.root, "k3")); err != nil || len(entries) != 0 {
		f.t.Errorf("folders are left: %v %v", entries, err)
	}
}

func TestCreateAfterACrash(t *testing.T) {
	t.Parallel()
	steps := map[string]func(f fixture, tree Tree){
		"before the record": func(f fixture, tree Tree) { f.put(tree.Home, map[string]string{record: removed}) },
		"while files are written": func(f fixture, tree Tree) {
			f.put(tree.Home, map[string]string{record: removed, "cadre-k3.1/a": removed, "desk/index.lock": "", "desk/work-1/index": ""})
		},
		"before the worktree": func(f fixture, tree Tree) {
			f.git("worktree", "remove", "--force", tree.Top)
			f.git("branch", "-q", "-D", tree.Branch)
			f.put(tree.Home, map[string]string{record: removed})
		},
		"within git worktree add": func(f fixture, tree Tree) {
			f.put(tree.Home, map[string]string{record: removed, "cadre-k3.1": removed})
			f.put(filepath.Join(f.dir, ".git"), map[string]string{
				"worktrees/cadre-k3.1/gitdir": removed, "worktrees/cadre-k3.1/locked": "initializing",
				"refs/heads/cadre/k3/k3.1.lock": "", "refs/cadre/k3/k3.1.lock": "",
			})
		},
		"locked by git": func(f fixture, tree Tree) {
			f.put(tree.Home, map[string]string{record: removed})
			f.put(filepath.Join(f.dir, ".git"), map[string]string{"worktrees/cadre-k3.1/locked": "initializing", "worktrees/cadre-k3.1/index.lock": ""})
		},
		"within the desk": func(f fixture, tree Tree) {
			f.put(tree.Home, map[string]string{record: removed, record + ".new": "{", "desk/config": removed, "desk/HEAD": removed})
		},
	}
	for name, crash := range steps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, map[string]string{"a": "a\n"})
			f.put(f.dir, map[string]string{"b": "b\n"})
			crash(f, f.create("k3.1"))
			f.put(f.dir, map[string]string{"c": "c\n"})
			tree := f.create("k3.1")
			f.see(tree.Dir, map[string]string{"a": "a\n", "b": "b\n", "c": "c\n"})
			if got := f.gitIn(tree.Dir, "status", "--porcelain", "--branch"); got != "## cadre/k3/k3.1" {
				t.Errorf("status %q", got)
			}
			if err := Remove(t.Context(), tree); err != nil {
				t.Fatal(err)
			}
			f.isClean()
		})
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a": "a\n"})
	tree := f.create("k3.1")
	f.put(tree.Dir, map[string]string{"a": "committed\n"})
	f.gitIn(tree.Dir, "commit", "-q", "-a", "-m", "by the agent")
	f.put(tree.Dir, map[string]string{"b": "not committed\n"})
	if err := Keep(t.Context(), tree); err != nil {
		t.Fatal(err)
	}
	if got := f.git("log", "--format=%s", tree.Branch); got != "Work of k3.1\nby the agent\nfirst" {
		t.Errorf("history %q", got)
	}
	if got := f.git("show", tree.Branch+":b"); got != "not committed" {
		t.Errorf("b is %q", got)
	}
	f.git("branch", "-q", "-D", tree.Branch)
	f.isClean()
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a": "a\n", "bin": "\x00\x01", "d": "d\n", "run": "#!/bin/sh\n"})
	tree := f.create("k3.1")
	change := map[string]string{"a": "A\r\n", "bin": "\x00\x02", "d": removed, "run": "plain\n", "new ü\nline": "n\n", "link": "-> a"}
	f.put(tree.Dir, change)
	if err := os.MkdirAll(filepath.Join(tree.Dir, "locked", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(tree.Dir, "locked"), 0o500); err != nil {
		t.Fatal(err)
	}
	refuse := errors.New("the disk is full")
	if err := Discard(t.Context(), tree, func([]byte) error { return refuse }); !errors.Is(err, refuse) {
		t.Fatal(err)
	}
	f.see(tree.Dir, change)
	var patch []byte
	if err := Discard(t.Context(), tree, func(p []byte) error { patch = p; return nil }); err != nil {
		t.Fatal(err)
	}
	f.isClean()
	file := filepath.Join(t.TempDir(), "patch")
	if err := os.WriteFile(file, patch, 0o600); err != nil {
		t.Fatal(err)
	}
	f.git("apply", file)
	f.see(f.dir, change)

	idle := f.create("k3.2")
	if err := Discard(t.Context(), idle, func([]byte) error { return refuse }); err != nil {
		t.Errorf("there was nothing to keep: %v", err)
	}
	lost := f.create("k3.3")
	f.put(lost.Home, map[string]string{"cadre-k3.3": removed})
	if _, err := Create(t.Context(), Spec{Dir: f.dir, Root: f.root, Chat: "k3", Agent: "k3.3"}); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a tree without files: %v", err)
	}
	if err := Discard(t.Context(), lost, func([]byte) error { return refuse }); err != nil {
		t.Error(err)
	}
	orphan := f.create("k3.4")
	f.put(f.dir, map[string]string{".git": removed})
	if err := Remove(t.Context(), orphan); err != nil {
		t.Errorf("without its repository: %v", err)
	}
}

// An agent may write the repository's configuration. Nothing it puts there is
// run by us.
func TestNothingOfTheRepositoryIsRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n", ".gitattributes": "*.txt filter=evil diff=evil merge=evil\n"})
	proof := filepath.Join(t.TempDir(), "proof")
	evil := filepath.Join(t.TempDir(), "evil")
	f.put(filepath.Dir(evil), map[string]string{"evil": "#!/bin/sh\necho \"$0 $@\" >> " + proof + "\ncat\n"})
	tamper := func() {
		for _, key := range []string{
			"filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "diff.evil.command", "diff.external", "merge.evil.driver",
			"core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "gpg.program", "core.alternateRefsCommand",
		} {
			f.git("config", key, evil)
		}
		f.git("config", "commit.gpgSign", "true")
		f.git("config", "filter.evil.required", "true")
		hooks := map[string]string{}
		for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-merge", "post-rewrite"} {
			hooks[hook] = "#!/bin/sh\necho hook >> " + proof + "\n"
		}
		f.put(filepath.Join(f.dir, ".git", "hooks"), hooks)
	}
	tree := f.create("k3.1")
	tamper()
	f.put(tree.Dir, map[string]string{"a.txt": "agent\n", "b.txt": "agent\n"})
	f.put(f.dir, map[string]string{"b.txt": "yours\n"})
	if _, err := DiffOf(t.Context(), tree); err != nil {
		t.Error(err)
	}
	if got, err := Accept(t.Context(), tree); err != nil || got.Applied {
		t.Error(got, err)
	}
	if got, err := MergeWithMarkers(t.Context(), tree); err != nil || !got.Applied {
		t.Error(got, err)
	}
	second := f.create("k3.2")
	if err := Keep(t.Context(), second); err != nil {
		t.Error(err)
	}
	if err := Discard(t.Context(), tree, func([]byte) error { return nil }); err != nil {
		t.Error(err)
	}
	if said, err := os.ReadFile(proof); err == nil {
		t.Errorf("something was run:\n%s", said)
	}
}
