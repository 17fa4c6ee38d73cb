// Bringing the change of a tree into the folder that the tree was made from.

package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Outcome says what became of a merge.
type Outcome struct {
	Applied   bool       `json:"applied"` // the folder has the change now
	Files     []File     `json:"files"`   // what was, or would be, changed in the folder
	Conflicts []Conflict `json:"conflicts,omitempty"`
}

// Conflict is a file that both sides have changed, or that is in the way.
type Conflict struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`             // as git calls it: contents, modify/delete, binary, …; or "in the way"
	Text   string `json:"text,omitempty"`   // in words
	Base   *Side  `json:"base,omitempty"`   // nil: the file was not there
	Yours  *Side  `json:"yours,omitempty"`  // in the folder
	Agents *Side  `json:"agents,omitempty"` // in the tree
}

// Side is a file as one side has it.
type Side struct {
	Text      string `json:"text,omitempty"` // at most 64 KB
	Truncated bool   `json:"truncated,omitempty"`
	Binary    bool   `json:"binary,omitempty"` // Text is empty
	object    string
}

const (
	maxSide  = 64 << 10
	attempts = 3 // to merge into a folder that somebody works in
	inTheWay = "in the way"
)

// Accept puts the change of a tree into its folder, if it merges cleanly with
// what has changed there meanwhile. With a conflict nothing is changed. A call
// that was cut off can be made again.
func Accept(ctx context.Context, t Tree) (Outcome, error) { return merge(ctx, t, false) }

// MergeWithMarkers is Accept that also applies conflicts: with markers in the
// files, as git merge leaves them, for a person to solve. What has no room for
// markers stays as it is in the folder. A file in the way still stops it.
func MergeWithMarkers(ctx context.Context, t Tree) (Outcome, error) { return merge(ctx, t, true) }

func merge(ctx context.Context, t Tree, markers bool) (Outcome, error) {
	for range attempts {
		outcome, err := mergeOnce(ctx, t, markers)
		if err == nil || !errors.Is(err, errMoved) {
			if err != nil {
				err = fmt.Errorf("merging the work of %s into %s: %w", t.Agent, t.Folder, err)
			}
			return outcome, err
		}
	}
	return Outcome{}, fmt.Errorf("merging the work of %s: the files in %s keep changing: try again when it is quiet", t.Agent, t.Folder)
}

// errMoved says that the folder changed between reading and writing it.
var errMoved = errors.New("the folder has changed meanwhile")

func mergeOnce(ctx context.Context, t Tree, markers bool) (Outcome, error) {
	d := openDesk(t.desk(), t.Git)
	agents, _, err := t.stage(ctx, d)
	if err != nil {
		return Outcome{}, err
	}
	folder := stageSpec{top: t.Folder, index: t.Index, leaveOut: t.root()}
	yours, _, err := d.stage(ctx, folder)
	if err != nil {
		return Outcome{}, err
	}
	merged, conflicts, err := d.merge(ctx, t, yours, agents)
	if err != nil {
		return Outcome{}, err
	}
	changes, err := d.changes(ctx, yours, merged, "--no-renames")
	if err != nil {
		return Outcome{}, err
	}
	outcome := Outcome{Conflicts: conflicts}
	for _, c := range changes {
		outcome.Files = append(outcome.Files, c.file())
	}
	if len(conflicts) > 0 && !markers {
		return outcome, nil
	}
	a, err := openApplication(ctx, d, t.Folder, merged, changes)
	if err != nil {
		return Outcome{}, err
	}
	defer a.close()
	if blocked := a.obstacles(); len(blocked) > 0 {
		outcome.Conflicts = append(outcome.Conflicts, blocked...)
		return outcome, nil
	}
	if now, _, err := d.stage(ctx, folder); err != nil || now != yours {
		return Outcome{}, errors.Join(err, errMoved)
	}
	if err := a.apply(); err != nil {
		return Outcome{}, err
	}
	outcome.Applied = true
	return outcome, nil
}

// merge merges two trees over the base, in the object store alone. The commits
// it makes for that have no history: a shallow clone would not have it all.
func (d desk) merge(ctx context.Context, t Tree, yours, agents string) (merged string, conflicts []Conflict, err error) {
	base, err := d.commit(ctx, t.Base+"^{tree}", "base")
	if err != nil {
		return "", nil, err
	}
	labels := []string{"your-folder", "agent-" + t.Agent} // shown in conflict markers
	for i, tree := range []string{yours, agents} {
		c, err := d.commit(ctx, tree, labels[i], base)
		if err != nil {
			return "", nil, err
		}
		if _, err := d.run(ctx, "update-ref", "refs/heads/"+labels[i], c); err != nil {
			return "", nil, err
		}
	}
	// In the folder, since its .gitattributes have a say in how files are merged.
	g := d.with(t.Folder, filepath.Join(d.dir, "no-index"))
	text, err := g.run(ctx, "merge-tree", "--write-tree", "-z", "--messages", labels[0], labels[1])
	if err != nil && exitCode(err) != 1 { // 1: there are conflicts
		return "", nil, err
	}
	merged, rest, _ := strings.Cut(text, "\x00")
	if err == nil {
		return merged, nil, nil
	}
	conflicts = parseConflicts(rest)
	if len(conflicts) == 0 {
		return "", nil, fmt.Errorf("git merge-tree reported conflicts and named none: %q", text)
	}
	for i := range conflicts {
		for _, side := range []*Side{conflicts[i].Base, conflicts[i].Yours, conflicts[i].Agents} {
			if err := d.load(ctx, side); err != nil {
				return "", nil, err
			}
		}
	}
	return merged, conflicts, nil
}

// parseConflicts reads what git merge-tree -z writes behind the tree: entries
// "mode object stage TAB path", an empty one, then messages, each as a count,
// so many paths, a type and a text.
func parseConflicts(text string) []Conflict {
	entries, messages, _ := strings.Cut("\x00"+text, "\x00\x00") // there may be no entries
	var conflicts []Conflict
	find := func(path string) *Conflict {
		for i := range conflicts {
			if conflicts[i].Path == path {
				return &conflicts[i]
			}
		}
		conflicts = append(conflicts, Conflict{Path: path})
		return &conflicts[len(conflicts)-1]
	}
	for _, entry := range zeros(entries) {
		meta, path, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(meta)
		if len(fields) != 3 {
			continue
		}
		c := find(path)
		side := &Side{object: fields[1]}
		switch fields[2] {
		case "1":
			c.Base = side
		case "2":
			c.Yours = side
		case "3":
			c.Agents = side
		}
	}
	fields := zeros(messages)
	for len(fields) > 0 {
		count := 0
		if _, err := fmt.Sscan(fields[0], &count); err != nil || len(fields) < count+3 {
			break
		}
		paths, kind, said := fields[1:count+1], fields[count+1], fields[count+2]
		fields = fields[count+3:]
		if kind, ok := strings.CutPrefix(kind, "CONFLICT ("); ok && count > 0 {
			c := find(paths[0])
			c.Kind, c.Text = strings.TrimSuffix(kind, ")"), strings.TrimSpace(said)
		}
	}
	return conflicts
}

// load reads the content of a side.
func (d desk) load(ctx context.Context, side *Side) error {
	if side == nil {
		return nil
	}
	kind, err := d.run(ctx, "cat-file", "-t", side.object)
	if err != nil || kind != "blob" { // a submodule: there is nothing to show
		side.Binary = true
		return nil
	}
	text := &head{limit: maxSide}
	if err := d.write(ctx, text, "cat-file", "blob", side.object); err != nil {
		return err
	}
	if bytes.IndexByte(text.kept, 0) >= 0 || !utf8.Valid(text.kept) && !text.more {
		side.Binary = true
		return nil
	}
	side.Text, side.Truncated = strings.ToValidUTF8(string(text.kept), ""), text.more
	return nil
}
