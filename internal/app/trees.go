// The worktrees of agents, kept in the data folder.

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/worktree"
)

// trees implements orchestrate.Worktrees.
type trees struct {
	root string

	settling sync.Mutex // held while work is settled

	mu   sync.Mutex
	open map[string]worktree.Tree // those of this process, by agent
}

var _ orchestrate.Worktrees = (*trees)(nil)

// Check implements orchestrate.Worktrees.
func (t *trees) Check(ctx context.Context, dir string) error { return worktree.Check(ctx, dir) }

// Open implements orchestrate.Worktrees.
func (t *trees) Open(ctx context.Context, agent, origin string) (string, error) {
	tree, err := t.find(ctx, agent, origin)
	return tree.Dir, err
}

// find makes the worktree of an agent, or finds it.
func (t *trees) find(ctx context.Context, agent, origin string) (worktree.Tree, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tree, ok := t.open[agent]; ok {
		return tree, nil
	}
	chat, _, _ := strings.Cut(agent, ".")
	tree, err := worktree.Create(ctx, worktree.Spec{Dir: origin, Root: t.root, Chat: chat, Agent: agent})
	if err != nil {
		return tree, err
	}
	if t.open == nil {
		t.open = map[string]worktree.Tree{}
	}
	t.open[agent] = tree
	return tree, nil
}

func (t *trees) forget(agent string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, agent)
}

// extra are the folders beside its working folder that an agent's commands may
// write, so that git works in its worktree.
func (t *trees) extra(agent string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tree, ok := t.open[strings.TrimSuffix(agent, orchestrate.AcceptSuffix)]; ok {
		return tree.Writable()
	}
	return nil
}

// Inspect implements orchestrate.Worktrees.
func (t *trees) Inspect(ctx context.Context, agent, origin string) (orchestrate.Work, error) {
	tree, err := t.find(ctx, agent, origin)
	if err != nil {
		return orchestrate.Work{}, err
	}
	diff, err := worktree.DiffOf(ctx, tree)
	if err != nil {
		return orchestrate.Work{}, err
	}
	w := orchestrate.Work{Branch: tree.Branch, Dir: tree.Dir, Stat: diff.Stat, Diff: diff.Text}
	for _, f := range diff.Files {
		w.Files = append(w.Files, f.Path)
	}
	if len(diff.Skipped) > 0 {
		w.Files = append(w.Files, diff.Skipped...)
		w.Diff += fmt.Sprintf("[in submodules or other repositories, and therefore not carried over but put aside when this is settled: %s]\n", strings.Join(diff.Skipped, ", "))
	}
	return w, nil
}

// Alone implements orchestrate.Worktrees.
func (t *trees) Alone() (release func()) {
	t.settling.Lock()
	return t.settling.Unlock
}

// Settle implements orchestrate.Worktrees. What is discarded is kept as a
// patch beside the worktrees, so that nothing is lost.
func (t *trees) Settle(ctx context.Context, agent, origin, how string) (string, error) {
	tree, err := t.find(ctx, agent, origin)
	if errors.Is(err, worktree.ErrBranch) {
		return "kept on its branch before", nil // and nobody lived to record it
	}
	if err != nil {
		return "", err
	}
	switch how {
	case "accept", "merge":
		return t.apply(ctx, tree, how == "merge")
	case "keep":
		aside, err := t.putAside(ctx, tree)
		if err != nil {
			return "", err
		}
		if err := worktree.Keep(ctx, tree); err != nil {
			return "", err
		}
		t.forget(agent)
		return "kept on branch " + tree.Branch + aside, nil
	}
	aside, err := t.putAside(ctx, tree)
	if err != nil {
		return "", err
	}
	file := filepath.Join(t.root, agent+".patch")
	kept := false
	err = worktree.Discard(ctx, tree, func(patch []byte) error {
		if len(patch) == 0 {
			return nil
		}
		kept = true
		return os.WriteFile(file, patch, 0o600)
	})
	if err != nil {
		return "", err
	}
	t.forget(agent)
	if !kept && aside == "" {
		return "discarded; there was nothing in it", nil
	}
	if !kept {
		return "discarded" + aside, nil
	}
	return "discarded; the patch is kept in " + file + aside, nil
}

// putAside moves what no diff can carry out of a worktree that is about to be
// removed: changes in submodules, and repositories that the agent made. It
// tells where they are, if there are any.
func (t *trees) putAside(ctx context.Context, tree worktree.Tree) (told string, err error) {
	if _, err := os.Lstat(tree.Top); err != nil {
		return "", nil //nolint:nilerr // the files are gone
	}
	diff, err := worktree.DiffOf(ctx, tree)
	if err != nil {
		return "", err
	}
	aside := filepath.Join(t.root, tree.Agent+".aside")
	for _, name := range diff.Skipped {
		from, to := filepath.Join(tree.Top, filepath.FromSlash(name)), filepath.Join(aside, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(to), 0o700)
		if err == nil {
			err = os.Rename(from, to)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it went with what it lies in
			return "", fmt.Errorf("putting aside what is in %s: %w", name, err)
		}
	}
	if len(diff.Skipped) == 0 {
		return "", nil
	}
	return "; what lies in submodules or other repositories is in " + aside, nil
}

// apply puts the work into the folder that the worktree was made of.
func (t *trees) apply(ctx context.Context, tree worktree.Tree, markers bool) (string, error) {
	do := worktree.Accept
	if markers {
		do = worktree.MergeWithMarkers
	}
	out, err := do(ctx, tree)
	if err != nil {
		return "", err
	}
	var conflicts []string
	for _, c := range out.Conflicts {
		conflicts = append(conflicts, c.Path)
	}
	if !out.Applied {
		return "", fmt.Errorf("%w: %s; nothing was changed", orchestrate.ErrConflict, strings.Join(conflicts, ", "))
	}
	aside, err := t.putAside(ctx, tree)
	if err == nil {
		err = worktree.Remove(ctx, tree)
	}
	if err != nil {
		return "", fmt.Errorf("the work is applied, but its worktree could not be removed: %w", err)
	}
	t.forget(tree.Agent)
	if len(conflicts) > 0 {
		return "merged; conflicts are marked in " + strings.Join(conflicts, ", ") + aside, nil
	}
	if len(out.Files) == 0 { // applied by a process that died before it could say so, or by hand
		return fmt.Sprintf("%s had all of it already%s", tree.Folder, aside), nil
	}
	return fmt.Sprintf("%d files changed in %s%s", len(out.Files), tree.Folder, aside), nil
}
