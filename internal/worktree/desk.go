// The desk: a git folder of our own over the objects of a repository, and the
// snapshots that are taken with it.

package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// desk is used by one tree. Operations on it may run at the same time: each
// has an index of its own.
type desk struct {
	git
	dir string
}

const maxUntracked = 1 << 30 // bytes of files that git does not track yet

func openDesk(dir, common string) desk {
	return desk{dir: dir, git: git{dir: dir, env: []string{
		"GIT_DIR=" + dir, "GIT_OBJECT_DIRECTORY=" + filepath.Join(common, "objects"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
	}}}
}

// with is the desk for a folder and an index.
func (d desk) with(top, index string) git {
	return git{dir: top, env: append(slices.Clone(d.env), "GIT_WORK_TREE="+top, "GIT_INDEX_FILE="+index)}
}

// makeDesk sets the desk up. Of the repository's configuration it takes over
// what decides how files are stored and which are ignored.
func makeDesk(ctx context.Context, repo repository, dir string) (desk, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return desk{}, err
	}
	if _, err := (git{}).run(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+repo.format, dir); err != nil {
		return desk{}, err
	}
	said, err := git{env: []string{"GIT_DIR=" + repo.private}}.run(ctx, "config", "-z", "--get-regexp",
		`^core\.(autocrlf|eol|safecrlf|filemode|ignorecase|symlinks|precomposeunicode|excludesfile)$`)
	if err != nil && exitCode(err) != 1 { // 1: none of them is set
		return desk{}, err
	}
	config := "[core]\n\tbare = false\n\tlogAllRefUpdates = false\n\trepositoryformatversion = 1\n"
	for entry := range strings.SplitSeq(said, "\x00") {
		key, value, ok := strings.Cut(entry, "\n")
		if ok {
			config += "\t" + strings.TrimPrefix(key, "core.") + " = " + strconv.Quote(value) + "\n"
		}
	}
	config += "[extensions]\n\tobjectFormat = " + repo.format + "\n"
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600); err != nil {
		return desk{}, err
	}
	for _, name := range []string{"exclude", "attributes"} {
		if err := os.MkdirAll(filepath.Join(dir, "info"), 0o700); err != nil {
			return desk{}, err
		}
		err := copyFile(filepath.Join(repo.common, "info", name), filepath.Join(dir, "info", name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return desk{}, err
		}
	}
	return openDesk(dir, repo.common), nil
}

// stageSpec says of what a snapshot is taken.
type stageSpec struct {
	top      string
	index    string   // copied, so that files it knows need not be read again; may be missing
	also     []string // names that are looked at although they may be ignored
	leaveOut string   // a folder, absolute, whose files are not ours to carry
	own      bool     // it is a worktree of ours, in which submodules are empty
}

func holdsFiles(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// stage writes the files of a folder as a tree: all that git tracks there or
// would add. Submodules stay as the index has them; skipped lists what lies in
// submodules and other repositories and cannot be carried.
func (d desk) stage(ctx context.Context, s stageSpec) (tree string, skipped []string, err error) {
	work, err := os.MkdirTemp(d.dir, "work-")
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	index := filepath.Join(work, "index")
	if err := copyIndex(s.index, index); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	g := d.with(s.top, index)
	tracked, err := g.run(ctx, "ls-files", "-z", "--stage")
	if err != nil {
		return "", nil, err
	}
	others, err := g.run(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return "", nil, err
	}

	var names bytes.Buffer
	var modules []string
	for _, entry := range zeros(tracked) {
		meta, name, _ := strings.Cut(entry, "\t")
		if strings.HasPrefix(meta, modeModule+" ") {
			modules = append(modules, name+"/")
			if s.own && holdsFiles(filepath.Join(s.top, filepath.FromSlash(name))) {
				skipped = append(skipped, name+"/")
			}
			continue
		}
		names.WriteString(name + "\x00")
	}
	var size int64
	for _, name := range append(zeros(others), s.also...) {
		full := filepath.Join(s.top, filepath.FromSlash(name))
		inside := func(module string) bool { return strings.HasPrefix(name, module) }
		switch {
		case s.leaveOut != "" && strings.HasPrefix(full, s.leaveOut+string(filepath.Separator)):
		case strings.HasSuffix(name, "/"), slices.ContainsFunc(modules, inside):
			skipped = append(skipped, name)
		default:
			names.WriteString(name + "\x00")
			if info, err := os.Lstat(full); err == nil {
				size += info.Size()
			}
		}
		if size > maxUntracked {
			return "", nil, fmt.Errorf("there is more than %d MB in files that git does not track, such as %s: add what need not be carried to .gitignore", maxUntracked>>20, name)
		}
	}
	g.stdin = &names
	if _, err := g.run(ctx, "update-index", "-z", "--add", "--remove", "--replace", "--ignore-skip-worktree-entries", "--stdin"); err != nil {
		return "", nil, err
	}
	g.stdin = nil
	tree, err = g.run(ctx, "write-tree", "--missing-ok")
	return tree, skipped, err
}

// commit makes a commit that no reference names yet.
func (d desk) commit(ctx context.Context, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", tree, "-m", message}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return d.run(ctx, args...)
}

// zeros splits what git wrote with -z.
func zeros(text string) []string {
	text = strings.TrimSuffix(text, "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
