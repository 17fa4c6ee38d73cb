// The end of a tree: kept as a branch, discarded, removed.

package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Keep removes the worktree and leaves the branch, with what had not been
// committed as a last commit on it.
func Keep(ctx context.Context, t Tree) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("keeping the work of %s: %w", t.Agent, err)
		}
	}()
	if _, err := os.Lstat(t.Top); err == nil {
		if err := t.commitRest(ctx); err != nil {
			return err
		}
	}
	return t.removeAll(ctx, false)
}

func (t Tree) commitRest(ctx context.Context) error {
	d := openDesk(t.desk(), t.Git)
	tree, _, err := t.stage(ctx, d)
	if err != nil {
		return err
	}
	tip, err := t.tip(ctx)
	if err != nil {
		return err
	}
	committed, err := d.run(ctx, "rev-parse", "--verify", tip+"^{tree}")
	if err != nil {
		return err
	}
	if committed != tree {
		if tip, err = d.commit(ctx, tree, "Work of "+t.Agent, tip); err != nil {
			return err
		}
	}
	return t.retry(ctx, lockedRef, "update-ref", "refs/heads/"+t.Branch, tip)
}

// Discard removes the worktree and the branch. Before that, keep gets the
// whole change as a patch for git apply, to store it; if it fails, nothing is
// removed. It is not called if nothing had changed, or if the files are gone.
func Discard(ctx context.Context, t Tree, keep func(patch []byte) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("discarding the work of %s: %w", t.Agent, err)
		}
	}()
	if _, err := os.Lstat(t.Top); err == nil {
		patch, err := t.patch(ctx)
		if err != nil {
			return err
		}
		if len(patch) > 0 {
			if err := keep(patch); err != nil {
				return err
			}
		}
	}
	return t.removeAll(ctx, true)
}

func (t Tree) patch(ctx context.Context) ([]byte, error) {
	d := openDesk(t.desk(), t.Git)
	tree, _, err := t.stage(ctx, d)
	if err != nil {
		return nil, err
	}
	var patch bytes.Buffer
	err = d.write(ctx, &patch, "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", t.Base, tree)
	return patch.Bytes(), err
}

// Remove removes everything of a tree, its branch included, and keeps nothing:
// for a tree whose change was accepted, or whose chat is deleted. It may be
// called again after it was cut off.
func Remove(ctx context.Context, t Tree) error {
	if err := t.removeAll(ctx, true); err != nil {
		return fmt.Errorf("removing the worktree of %s: %w", t.Agent, err)
	}
	return nil
}

// removeAll removes the record last, so that List names the tree until the
// rest is gone.
func (t Tree) removeAll(ctx context.Context, branch bool) error {
	if err := removeFolder(t.Top); err != nil {
		return err
	}
	for _, dir := range t.records() {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if _, err := os.Stat(t.Git); err == nil {
		refs := []string{t.baseRef()}
		if branch {
			refs = append(refs, "refs/heads/"+t.Branch)
		}
		for _, ref := range refs {
			if err := t.retry(ctx, lockedRef, "update-ref", "-d", ref); err != nil {
				return err
			}
		}
	}
	if err := removeFolder(t.desk()); err != nil {
		return err
	}
	return os.RemoveAll(t.Home)
}

// records are the folders in which git keeps its record of the worktree. One
// that was cut off while it was made does not say yet what it is about.
func (t Tree) records() []string {
	candidates, err := filepath.Glob(filepath.Join(escapeGlob(t.Git), "worktrees", "cadre-"+t.Agent+"*"))
	if err != nil {
		return nil
	}
	var ours []string
	for _, dir := range candidates {
		link, err := os.ReadFile(filepath.Join(dir, "gitdir"))
		unfinished := errors.Is(err, fs.ErrNotExist) && filepath.Base(dir) == "cadre-"+t.Agent
		if unfinished || err == nil && strings.TrimSpace(string(link)) == filepath.Join(t.Top, ".git") {
			ours = append(ours, dir)
		}
	}
	return ours
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// removeFolder also removes folders that are write-protected, as the module
// cache of Go is.
func removeFolder(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(name, 0o700)
		}
		return err
	})
	return os.RemoveAll(dir)
}
