// Package worktree gives an agent a working folder of its own: a git worktree
// on a branch of its own, which begins with exactly what its parent sees,
// uncommitted and untracked files included. When the agent is done, its change
// is shown, and put into the parent's folder, kept as a branch, or discarded.
//
// The folder that the tree was made from is only ever changed by Accept and
// MergeWithMarkers, and there only files: its index, HEAD and branches stay as
// they are. Nothing is overwritten that is not part of the merge, and a tree is
// removed only after its content was kept.
//
// An agent can write the repository it works in, its configuration perhaps
// included. So everything here that reads or writes the content of files runs
// with a git folder of our own, the desk: it shares the repository's objects
// and has its own configuration, without hooks, filters, drivers and other
// programs. The repository's own git folder is used for references alone.
// Files under a filter, such as those of git-lfs, are therefore seen as they
// are stored.
//
// Submodules and other repositories inside are not carried over: they are
// empty folders in the tree. Ignored files are not carried over either.
//
// It needs git 2.38 or newer.
package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Spec says whose tree is wanted, and of what.
type Spec struct {
	Dir   string // the working folder of who starts the agent, absolute
	Root  string // where all trees are kept, absolute
	Chat  string
	Agent string
}

// Tree is an agent's own working folder.
type Tree struct {
	Chat   string `json:"chat"`
	Agent  string `json:"agent"`
	Dir    string `json:"dir"`    // the agent's working folder
	Top    string `json:"top"`    // of the worktree; Dir or a folder above it
	Branch string `json:"branch"` // without refs/heads/
	Base   string `json:"base"`   // the commit it began with
	Folder string `json:"folder"` // the top of where it was made from, where its change goes
	Index  string `json:"index"`  // the index of Folder, which is only read
	Git    string `json:"git"`    // the repository's git folder
	Home   string `json:"home"`   // all that is kept for this tree
}

// ErrBranch tells that the branch of a tree exists, though the tree does not:
// it was kept.
var ErrBranch = errors.New("there is such a branch already")

const record = "tree.json" // in Home; written last and removed last

var identifier = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)

func (s Spec) check() error {
	switch {
	case !filepath.IsAbs(s.Dir), !filepath.IsAbs(s.Root):
		return fmt.Errorf("making a worktree: %q and %q must be absolute paths", s.Dir, s.Root)
	case !identifier.MatchString(s.Chat), !identifier.MatchString(s.Agent), strings.HasSuffix(s.Agent, ".lock"), strings.HasSuffix(s.Chat, ".lock"):
		return fmt.Errorf("making a worktree: %q and %q must be ids of letters, digits, dots, _ and -", s.Chat, s.Agent)
	}
	return nil
}

// Create makes the tree of an agent. Called again for the same agent, it
// returns the one there is. If a call was cut off, the next one clears away
// what it left and begins anew.
func Create(ctx context.Context, s Spec) (Tree, error) {
	if err := s.check(); err != nil {
		return Tree{}, err
	}
	root, err := makeRoot(s.Root)
	if err != nil {
		return Tree{}, fmt.Errorf("making a worktree: %w", err)
	}
	t := Tree{Chat: s.Chat, Agent: s.Agent, Home: filepath.Join(root, s.Chat, s.Agent), Branch: "cadre/" + s.Chat + "/" + s.Agent}
	if made, err := load(t.Home); err == nil {
		if _, err := os.Lstat(made.Top); err != nil {
			return Tree{}, fmt.Errorf("the worktree of %s is gone: %w; its commits are on the branch %s: keep or discard it", s.Agent, err, made.Branch)
		}
		return made, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Tree{}, err
	}
	if err := t.make(ctx, s); err != nil {
		return Tree{}, fmt.Errorf("making a worktree of %s for %s: %w", s.Dir, s.Agent, err)
	}
	return t, nil
}

// makeRoot makes the folder and returns its path without symbolic links, which
// is how git names worktrees.
func makeRoot(root string) (string, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(root)
}

func (t *Tree) make(ctx context.Context, s Spec) error {
	if err := checkVersion(ctx); err != nil {
		return err
	}
	repo, err := discover(ctx, s.Dir)
	if err != nil {
		return err
	}
	t.Folder, t.Git, t.Index = repo.top, repo.common, filepath.Join(repo.private, "index")
	// The name is also that of git's own record of the worktree.
	t.Top = filepath.Join(t.Home, "cadre-"+t.Agent)
	t.Dir = filepath.Join(t.Top, repo.prefix)
	if err := t.clearLeftovers(ctx); err != nil {
		return err
	}
	desk, err := makeDesk(ctx, repo, t.desk())
	if err != nil {
		return err
	}
	if t.Base, err = t.snapshot(ctx, desk, repo); err != nil {
		return err
	}
	for _, ref := range []string{t.baseRef(), "refs/heads/" + t.Branch} {
		if err := t.retry(ctx, lockedRef, "update-ref", ref, t.Base); err != nil {
			return err
		}
	}
	if err := t.register(ctx); err != nil {
		return err
	}
	if err := t.fill(ctx, desk); err != nil {
		return err
	}
	if err := os.MkdirAll(t.Dir, 0o755); err != nil {
		return err
	}
	return t.save()
}

// register makes the worktree, without files. Git looks at the records of all
// worktrees for that, and fails over one that is just being made or removed.
func (t *Tree) register(ctx context.Context) error {
	return t.retry(ctx, filepath.Join(t.Git, "worktrees"), "worktree", "add", "--quiet", "--no-checkout", t.Top, t.Branch)
}

// lockedRef is what git says of a reference that another git is changing, or
// whose folder another one is removing.
const lockedRef = "cannot lock ref"

// retry runs git again while it fails with a text that says that another git
// was at the same place: they do not wait for each other.
func (t *Tree) retry(ctx context.Context, busy string, args ...string) error {
	const tries = 50
	for try := 1; ; try++ {
		_, err := t.refs().run(ctx, args...)
		if err == nil || try == tries || !strings.Contains(err.Error(), busy) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try) * time.Millisecond):
		}
	}
}

// snapshot is the folder as it is now, as a commit: HEAD if nothing differs.
func (t *Tree) snapshot(ctx context.Context, desk desk, repo repository) (string, error) {
	tree, _, err := desk.stage(ctx, stageSpec{top: t.Folder, index: t.Index, leaveOut: t.root()})
	if err != nil {
		return "", fmt.Errorf("taking a snapshot of %s: %w", t.Folder, err)
	}
	head, err := git{env: []string{"GIT_DIR=" + repo.private}}.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil { // there is no commit yet
		return desk.commit(ctx, tree, "Snapshot of the working folder")
	}
	same, err := desk.run(ctx, "rev-parse", "--verify", head+"^{tree}")
	if err != nil {
		return "", err
	}
	if same == tree {
		return head, nil
	}
	return desk.commit(ctx, tree, "Snapshot of the working folder", head)
}

// fill writes the files of the base into the new worktree, and gives it an
// index by which git finds nothing changed.
func (t *Tree) fill(ctx context.Context, desk desk) error {
	g := desk.with(t.Top, filepath.Join(desk.dir, "index"))
	if _, err := g.run(ctx, "read-tree", t.Base); err != nil {
		return err
	}
	if _, err := g.run(ctx, "checkout-index", "--all", "--force", "--quiet", "--index"); err != nil {
		return err
	}
	link, err := os.ReadFile(filepath.Join(t.Top, ".git"))
	if err != nil {
		return err
	}
	private := strings.TrimSpace(strings.TrimPrefix(string(link), "gitdir:"))
	return copyIndex(filepath.Join(desk.dir, "index"), filepath.Join(private, "index"))
}

// clearLeftovers removes what a Create that was cut off has left. The agent had
// not begun, so that nothing of it is lost; a branch that says otherwise stays.
func (t *Tree) clearLeftovers(ctx context.Context) error {
	for _, ref := range []string{"refs/heads/" + t.Branch, t.baseRef()} {
		if err := os.Remove(filepath.Join(t.Git, ref+".lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	refs := t.refs()
	tip, err := refs.run(ctx, "for-each-ref", "--format=%(objectname)", "refs/heads/"+t.Branch)
	if err != nil {
		return err
	}
	base, err := refs.run(ctx, "for-each-ref", "--format=%(objectname)", t.baseRef())
	if err != nil {
		return err
	}
	if tip != "" && tip != base {
		return fmt.Errorf("%w: %s; rename or delete it", ErrBranch, t.Branch)
	}
	return t.removeAll(ctx, true)
}

// Writable are the folders, beside Top, that git commands of the agent have to
// write: enough to commit on its branch, and neither configuration nor hooks.
func (t Tree) Writable() []string {
	folders := []string{
		filepath.Join(t.Git, "objects"),
		filepath.Join(t.Git, "refs", "heads", "cadre", t.Chat),
		filepath.Join(t.Git, "logs", "refs", "heads", "cadre", t.Chat),
	}
	return append(folders, t.records()...)
}

// List returns the trees of a chat, in the order of the agents' ids.
func List(root, chat string) ([]Tree, error) {
	entries, err := os.ReadDir(filepath.Join(root, chat))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing worktrees: %w", err)
	}
	var trees []Tree
	var errs []error
	for _, e := range entries {
		t, err := load(filepath.Join(root, chat, e.Name()))
		switch {
		case err == nil:
			trees = append(trees, t)
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	return trees, errors.Join(errs...)
}

func load(home string) (Tree, error) {
	var t Tree
	data, err := os.ReadFile(filepath.Join(home, record))
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		return Tree{}, fmt.Errorf("reading about a worktree: %w", err)
	}
	return t, nil
}

func (t *Tree) save() error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	draft := filepath.Join(t.Home, record+".new")
	if err := os.WriteFile(draft, data, 0o600); err != nil {
		return err
	}
	return os.Rename(draft, filepath.Join(t.Home, record))
}

func (t Tree) root() string { return filepath.Dir(filepath.Dir(t.Home)) }

func (t Tree) desk() string { return filepath.Join(t.Home, "desk") }

// baseRef keeps the base from being collected, whatever becomes of the branch.
func (t Tree) baseRef() string { return "refs/cadre/" + t.Chat + "/" + t.Agent }

// refs is for the repository's references and nothing else.
func (t Tree) refs() git { return git{env: []string{"GIT_DIR=" + t.Git}} }
