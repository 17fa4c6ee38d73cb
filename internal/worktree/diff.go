// What an agent has changed in its tree.

package worktree

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// The modes of git that are told apart here.
const (
	modeNone   = "000000"
	modeLink   = "120000"
	modeModule = "160000"
	modeExec   = "100755"
)

const maxDiff = 256 << 10 // bytes of Diff.Text

// Diff is the change of a tree since it was made: what was committed, what was
// not, and new files.
type Diff struct {
	Text      string   `json:"text"` // as git shows it, at most 256 KB
	Truncated bool     `json:"truncated,omitempty"`
	Files     []File   `json:"files"`
	Stat      string   `json:"stat"`              // "2 files, +10 -3"
	Skipped   []string `json:"skipped,omitempty"` // in submodules and other repositories inside: not part of it
}

// File is one file of a change.
type File struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // its old name, if it was renamed
	Op      string `json:"op"`             // added, modified, deleted, renamed, type changed
	Added   int    `json:"added,omitempty"`
	Removed int    `json:"removed,omitempty"`
	Binary  bool   `json:"binary,omitempty"`
}

// DiffOf shows the change of a tree.
func DiffOf(ctx context.Context, t Tree) (Diff, error) {
	d := openDesk(t.desk(), t.Git)
	tree, skipped, err := t.stage(ctx, d)
	if err == nil {
		var diff Diff
		if diff, err = d.diff(ctx, t.Base, tree); err == nil {
			diff.Skipped = skipped
			return diff, nil
		}
	}
	return Diff{}, fmt.Errorf("comparing the worktree of %s: %w", t.Agent, err)
}

// stage is the tree as it is now. What the agent committed although it is
// ignored is part of it.
func (t Tree) stage(ctx context.Context, d desk) (tree string, skipped []string, err error) {
	var also []string
	tip, err := t.tip(ctx)
	if err != nil {
		return "", nil, err
	}
	if tip != t.Base {
		text, err := d.run(ctx, "diff-tree", "-r", "-z", "--no-renames", "--name-only", "--diff-filter=AM", t.Base, tip)
		if err != nil {
			return "", nil, err
		}
		also = zeros(text)
	}
	return d.stage(ctx, stageSpec{top: t.Top, index: filepath.Join(d.dir, "index"), also: also, own: true})
}

// tip is the commit of the branch; the base if the branch is gone.
func (t Tree) tip(ctx context.Context) (string, error) {
	tip, err := t.refs().run(ctx, "for-each-ref", "--format=%(objectname)", "refs/heads/"+t.Branch)
	if err == nil && tip == "" {
		tip = t.Base
	}
	return tip, err
}

func (d desk) diff(ctx context.Context, from, to string) (Diff, error) {
	var diff Diff
	text := &head{limit: maxDiff}
	if err := d.write(ctx, text, "diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", "--no-color", from, to); err != nil {
		return Diff{}, err
	}
	diff.Text, diff.Truncated = strings.ToValidUTF8(string(text.kept), "\uFFFD"), text.more
	if diff.Truncated {
		diff.Text = diff.Text[:strings.LastIndexByte(diff.Text, '\n')+1]
	}
	changes, err := d.changes(ctx, from, to, "-M")
	if err != nil {
		return Diff{}, err
	}
	for _, c := range changes {
		diff.Files = append(diff.Files, c.file())
	}
	if err := d.count(ctx, from, to, diff.Files); err != nil {
		return Diff{}, err
	}
	added, removed := 0, 0
	for _, f := range diff.Files {
		added += f.Added
		removed += f.Removed
	}
	noun := "files"
	if len(diff.Files) == 1 {
		noun = "file"
	}
	diff.Stat = fmt.Sprintf("%d %s, +%d -%d", len(diff.Files), noun, added, removed)
	return diff, nil
}

// change is one entry of a comparison of trees.
type change struct {
	oldMode, mode string
	status        string // A, M, D, T, R
	from, path    string
}

func (c change) file() File {
	ops := map[string]string{"A": "added", "M": "modified", "D": "deleted", "T": "type changed", "R": "renamed"}
	return File{Path: c.path, From: c.from, Op: ops[c.status]}
}

func (d desk) changes(ctx context.Context, from, to string, options ...string) ([]change, error) {
	args := append([]string{"diff-tree", "-r", "-z", "--raw"}, options...)
	text, err := d.run(ctx, append(args, from, to)...)
	if err != nil {
		return nil, err
	}
	var changes []change
	fields := zeros(text)
	for len(fields) > 1 {
		meta := strings.Fields(fields[0])
		if len(meta) != 5 {
			return nil, fmt.Errorf("git diff-tree wrote %q", fields[0])
		}
		c := change{oldMode: strings.TrimPrefix(meta[0], ":"), mode: meta[1], status: meta[4][:1], path: fields[1]}
		fields = fields[2:]
		if c.status == "R" && len(fields) > 0 {
			c.from, c.path, fields = c.path, fields[0], fields[1:]
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// count fills in how many lines the files gained and lost. Git lists the files
// in the same order as for changes.
func (d desk) count(ctx context.Context, from, to string, files []File) error {
	text, err := d.run(ctx, "diff-tree", "-r", "-z", "-M", "--numstat", from, to)
	if err != nil {
		return err
	}
	fields := zeros(text)
	for i := range files {
		if len(fields) == 0 {
			return fmt.Errorf("git diff-tree --numstat left out %s", files[i].Path)
		}
		numbers := strings.SplitN(fields[0], "\t", 3)
		fields = fields[1:]
		if len(numbers) != 3 {
			return fmt.Errorf("git diff-tree --numstat wrote %q", numbers)
		}
		if numbers[2] == "" && len(fields) >= 2 { // renamed: both names follow
			fields = fields[2:]
		}
		files[i].Binary = numbers[0] == "-"
		files[i].Added, _ = strconv.Atoi(numbers[0])   // - for a binary file
		files[i].Removed, _ = strconv.Atoi(numbers[1]) // the same
	}
	return nil
}
