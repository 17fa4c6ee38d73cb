// From a draft to the file system: all of it or nothing. New content is
// written beside each file first; only when all of it is there, and every
// file is still as the draft found it, does it take the files' places.
//
// A file is replaced and not written into: its hard links elsewhere, which
// may lie outside the working folder, keep the old content.

package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// commit makes the files be as the draft has them.
func (d *draft) commit() error {
	c := &commitment{}
	defer c.close()
	err := c.prepare(d)
	if err == nil {
		err = c.verify()
	}
	if err == nil {
		err = d.ctx.Err()
	}
	if err == nil {
		err = c.apply()
	}
	if err != nil {
		c.abandon()
	}
	return err
}

// commitment is a draft on its way.
type commitment struct {
	steps []*commitStep
	made  []madeFolder
}

// commitStep is one file. It works inside the folder that holds it, opened
// once: what happens to the path of that folder meanwhile does not matter.
type commitStep struct {
	file   *draftFile
	dir    *os.Root
	base   string // the file's name in dir
	fresh  string // the new content beside it; none if it is deleted
	backup string // the old content beside it, while that may be needed
}

type madeFolder struct {
	in   *os.Root
	name string
}

// prepare writes everything that will be needed.
func (c *commitment) prepare(d *draft) error {
	changes := d.changes()
	// What is new comes first, so that nothing is deleted before all else has
	// worked.
	slices.SortStableFunc(changes, func(a, b *draftFile) int {
		return boolOrder(a.after == nil, b.after == nil)
	})
	for _, file := range changes {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		s := &commitStep{file: file, base: path.Base(file.name)}
		var err error
		if s.dir, err = c.enter(d.f, path.Dir(file.name), file.after != nil); err != nil {
			return fmt.Errorf("writing %s: %w", shown(file.name), err)
		}
		c.steps = append(c.steps, s)
		if err := s.stage(len(changes) > 1); err != nil {
			return fmt.Errorf("writing %s: %w", shown(file.name), plainer(err))
		}
	}
	return nil
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// enter opens a folder by going from one to the next and never through a
// link: the name is canonical, so that a link on its way has been put there
// since. If create is set, folders that are missing are made.
func (c *commitment) enter(f *folder, name string, create bool) (*os.Root, error) {
	at, err := f.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "." {
			continue
		}
		next, err := c.into(at, part, create)
		if err != nil {
			_ = at.Close()
			return nil, fmt.Errorf("entering the folder %s: %w", shown(part), plainer(err))
		}
		_ = at.Close()
		at = next
	}
	return at, nil
}

func (c *commitment) into(at *os.Root, part string, create bool) (*os.Root, error) {
	info, err := at.Lstat(part)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := at.Mkdir(part, 0o777); err == nil {
			parent, err := at.OpenRoot(".")
			if err != nil {
				return nil, err
			}
			c.made = append(c.made, madeFolder{parent, part})
		} else if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		info, err = at.Lstat(part)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("it is %s, not a folder", kindOf(info.Mode()))
	}
	next, err := at.OpenRoot(part)
	if err != nil {
		return nil, err
	}
	if opened, err := next.Stat("."); err != nil || !os.SameFile(info, opened) {
		_ = next.Close()
		return nil, errors.New("it was exchanged for another while it was opened")
	}
	return next, nil
}

// stage writes the new content, and a copy of the old one if it may have to
// be put back.
func (s *commitStep) stage(keepOld bool) (err error) {
	if s.file.after != nil {
		if s.fresh, err = s.beside(s.file.after); err != nil {
			return err
		}
		if err := s.permit(); err != nil {
			return err
		}
	}
	if s.file.before == nil || !keepOld {
		return nil
	}
	s.backup = temporary()
	if err := s.dir.Link(s.base, s.backup); err == nil {
		return nil
	}
	// Not every file system has hard links.
	if s.backup, err = s.beside(s.file.before); err != nil {
		return err
	}
	return s.dir.Chmod(s.backup, s.file.mode.Perm())
}

func temporary() string { return ".cadre-" + rand.Text() + ".tmp" }

// beside writes data to a new file in the folder.
func (s *commitStep) beside(data []byte) (name string, err error) {
	name = temporary()
	file, err := s.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = s.dir.Remove(name)
		return "", err
	}
	return name, nil
}

// permit gives the new content the permissions and the owner of the file.
func (s *commitStep) permit() error {
	mode := s.file.mode
	if s.file.before == nil && s.file.from == "" { // it has those that it got when it was made
		if s.file.exec == execKept {
			return nil
		}
		info, err := s.dir.Lstat(s.fresh)
		if err != nil {
			return err
		}
		mode = info.Mode()
	}
	if s.file.before != nil {
		keepOwner(s.dir, s.base, s.fresh)
	}
	return s.dir.Chmod(s.fresh, withMode(mode, s.file.exec))
}

// verify refuses if a file is no longer as the draft found it.
func (c *commitment) verify() error {
	for _, s := range c.steps {
		data, err := s.present()
		if err != nil {
			return fmt.Errorf("writing %s: %w", shown(s.file.name), plainer(err))
		}
		if digestOf(data) != digestOf(s.file.before) {
			return fmt.Errorf("%s changed while it was being written: Read it again, then change it", shown(s.file.asked))
		}
	}
	return nil
}

// present reads the file as it is now; nil if there is none.
func (s *commitStep) present() ([]byte, error) {
	info, err := s.dir.Lstat(s.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is %s now, not a file", kindOf(info.Mode()))
	}
	file, err := s.dir.OpenFile(s.base, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, maxFile+1))
}

// apply puts the new content in place. If one file fails, those before it are
// put back.
func (c *commitment) apply() error {
	for i, s := range c.steps {
		err := s.swap()
		if err == nil {
			continue
		}
		err = fmt.Errorf("writing %s: %w", shown(s.file.name), plainer(err))
		var stuck []string
		for _, done := range slices.Backward(c.steps[:i]) {
			if done.undo() != nil {
				stuck = append(stuck, shown(done.file.name))
			}
		}
		if len(stuck) > 0 {
			return fmt.Errorf("%w; these are changed already and could not be put back: %s", err, strings.Join(stuck, ", "))
		}
		return fmt.Errorf("%w; nothing was changed", err)
	}
	return nil
}

func (s *commitStep) swap() error {
	switch {
	case s.file.after == nil:
		return s.dir.Remove(s.base)
	case s.file.before == nil:
		// Unlike a rename, a link does not replace what has come into being
		// at the last moment.
		err := s.dir.Link(s.fresh, s.base)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		if _, err := s.dir.Lstat(s.base); !errors.Is(err, fs.ErrNotExist) {
			return fs.ErrExist
		}
	}
	return s.dir.Rename(s.fresh, s.base)
}

func (s *commitStep) undo() error {
	if s.file.before == nil {
		return s.dir.Remove(s.base)
	}
	return s.dir.Rename(s.backup, s.base)
}

// abandon removes the folders that were made, unless somebody uses them.
func (c *commitment) abandon() {
	c.sweep()
	for _, m := range slices.Backward(c.made) {
		_ = m.in.Remove(m.name)
	}
}

// sweep removes what was written beside the files. Most of it has gone by
// taking their places.
func (c *commitment) sweep() {
	for _, s := range c.steps {
		for _, name := range []string{s.fresh, s.backup} {
			if name != "" {
				_ = s.dir.Remove(name)
			}
		}
		s.fresh, s.backup = "", ""
	}
}

func (c *commitment) close() {
	c.sweep()
	for _, s := range c.steps {
		_ = s.dir.Close()
	}
	for _, m := range c.made {
		_ = m.in.Close()
	}
}

// plainer leaves out of an error of the file system the temporary names,
// which mean nothing to a model.
func plainer(err error) error {
	var access *fs.PathError
	if errors.As(err, &access) {
		return access.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
