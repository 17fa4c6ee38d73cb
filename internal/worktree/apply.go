// Writing a merged change into a folder that somebody works in: all of it, or
// nothing.

package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// application is a change that is ready to be written. The new files lie in a
// folder of ours; the old ones are copied there before they are touched.
type application struct {
	root    *os.Root // the folder; nothing outside it is touched, whatever links say
	work    string
	changes []change
	undo    []func() error
}

func openApplication(ctx context.Context, d desk, folder, merged string, changes []change) (*application, error) {
	work, err := os.MkdirTemp(d.dir, "work-")
	if err != nil {
		return nil, err
	}
	a := &application{work: work, changes: changes}
	if err := a.export(ctx, d, folder, merged); err != nil {
		a.close()
		return nil, err
	}
	if a.root, err = os.OpenRoot(folder); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// export has git write the new files, with line ends as they belong there.
func (a *application) export(ctx context.Context, d desk, folder, merged string) error {
	g := d.with(folder, filepath.Join(a.work, "index"))
	if _, err := g.run(ctx, "read-tree", merged); err != nil {
		return err
	}
	var names bytes.Buffer
	for _, c := range a.changes {
		if c.mode != modeNone && c.mode != modeModule {
			names.WriteString(c.path + "\x00")
		}
	}
	g.stdin = &names
	_, err := g.run(ctx, "checkout-index", "-z", "--stdin", "--quiet", "--prefix="+a.work+"/new/")
	return err
}

func (a *application) close() {
	if a.root != nil {
		_ = a.root.Close() // everything written was closed by itself
	}
	_ = os.RemoveAll(a.work) // or else with the tree
}

// obstacles are files in the folder that git knows nothing of, such as ignored
// ones, where the change has to write.
func (a *application) obstacles() []Conflict {
	gone := map[string]bool{}
	for _, c := range a.changes {
		if c.mode == modeNone {
			gone[c.path] = true
		}
	}
	var conflicts []Conflict
	for _, c := range a.changes {
		if c.mode == modeNone || c.mode == modeModule {
			continue
		}
		if obstacle := a.obstacle(c, gone); obstacle != "" {
			conflicts = append(conflicts, Conflict{
				Path: c.path, Kind: inTheWay,
				Text: fmt.Sprintf("%s is there and not known to git: move it away, then %s can be written", obstacle, c.path),
			})
		}
	}
	return conflicts
}

func (a *application) obstacle(c change, gone map[string]bool) string {
	for dir := path.Dir(c.path); dir != "."; dir = path.Dir(dir) {
		if info, err := a.root.Lstat(dir); err == nil && !info.IsDir() && !gone[dir] {
			return dir
		}
	}
	info, err := a.root.Lstat(c.path)
	if err != nil {
		return ""
	}
	if !info.IsDir() {
		if c.oldMode == modeNone {
			return c.path
		}
		return ""
	}
	found := ""
	_ = fs.WalkDir(a.root.FS(), c.path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !gone[name] {
			found = name
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// apply writes the change. If anything fails, what was done is undone.
func (a *application) apply() error {
	err := a.removeOld()
	for _, c := range a.changes {
		if err != nil {
			break
		}
		if c.mode != modeNone && c.mode != modeModule {
			if err = a.write(c); err != nil {
				err = fmt.Errorf("writing %s: %w", c.path, err)
			}
		}
	}
	if err == nil {
		return nil
	}
	for i := len(a.undo) - 1; i >= 0; i-- {
		err = errors.Join(err, a.undo[i]())
	}
	return err
}

func (a *application) removeOld() error {
	for _, c := range a.changes {
		if c.mode != modeNone || c.oldMode == modeModule {
			continue
		}
		if err := a.backUp(c.path); err != nil {
			return err
		}
		if err := a.root.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for dir := path.Dir(c.path); dir != "."; dir = path.Dir(dir) {
			if a.root.Remove(dir) != nil { // not empty
				break
			}
		}
	}
	return nil
}

// backUp sees to it that a failure further on brings the file back.
func (a *application) backUp(name string) error {
	info, err := a.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := a.root.Readlink(name)
		if err != nil {
			return err
		}
		a.undo = append(a.undo, func() error { return a.put(name, nil, target, 0) })
		return nil
	}
	saved := filepath.Join(a.work, fmt.Sprintf("old-%d", len(a.undo)))
	in, err := a.root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read from
	out, err := os.Create(saved)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	a.undo = append(a.undo, func() error { return a.putFile(name, saved, info.Mode().Perm()) })
	return errors.Join(err, out.Close())
}

func (a *application) write(c change) error {
	before, err := a.root.Lstat(c.path)
	existed := err == nil && !before.IsDir()
	if existed {
		if err := a.backUp(c.path); err != nil {
			return err
		}
	} else {
		a.undo = append(a.undo, func() error {
			if err := a.root.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		})
	}
	source := filepath.Join(a.work, "new", filepath.FromSlash(c.path))
	after, err := os.Lstat(source)
	if err != nil {
		return err
	}
	if after.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(source)
		if err != nil {
			return err
		}
		return a.put(c.path, nil, target, 0)
	}
	perm := after.Mode().Perm()
	if existed && before.Mode().IsRegular() { // keep what git does not know
		perm = before.Mode().Perm() &^ 0o111
		if c.mode == modeExec {
			perm |= perm & 0o444 >> 2
		}
	}
	return a.putFile(c.path, source, perm)
}

func (a *application) putFile(name, source string, perm fs.FileMode) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read from
	return a.put(name, in, "", perm)
}

// put replaces a file or link in one step: by content, or by a link to target
// if there is none.
func (a *application) put(name string, content io.Reader, target string, perm fs.FileMode) error {
	if err := a.root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	if info, err := a.root.Lstat(name); err == nil && info.IsDir() {
		// Only empty folders are left in it: obstacles has looked.
		if err := a.root.RemoveAll(name); err != nil {
			return err
		}
	}
	draft := path.Join(path.Dir(name), ".cadre-"+strings.TrimPrefix(filepath.Base(a.work), "work-"))
	if content == nil {
		if err := a.root.Symlink(target, draft); err != nil {
			return err
		}
		return a.rename(draft, name)
	}
	out, err := a.root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	err = errors.Join(err, out.Chmod(perm), out.Close())
	if err != nil {
		return errors.Join(err, a.root.Remove(draft))
	}
	return a.rename(draft, name)
}

func (a *application) rename(draft, name string) error {
	if err := a.root.Rename(draft, name); err != nil {
		return errors.Join(err, a.root.Remove(draft))
	}
	return nil
}
