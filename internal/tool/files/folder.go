// The working folder: the only door of this package to the file system. It
// takes paths as models write them and keeps every access inside.

package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	maxPath  = 4096 // bytes of a path
	maxLinks = 40   // symbolic links followed in one path
)

// folder is an open working folder. Paths inside it, called names here, are
// relative to it, clean and with slashes; "." is the folder itself. Whatever a
// name says, os.Root keeps the access inside: the checks of this type only
// give better messages.
type folder struct {
	root    *os.Root
	dir     string        // as the agent knows it
	target  func() string // dir without symbolic links
	mayRead func(name string) bool
}

func openFolder(env tool.Env) (*folder, error) {
	if !filepath.IsAbs(env.Dir) {
		return nil, fmt.Errorf("opening the working folder: %q is not an absolute path", env.Dir)
	}
	root, err := os.OpenRoot(env.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening the working folder: %w", err)
	}
	f := &folder{root: root, dir: filepath.Clean(env.Dir), mayRead: env.MayRead}
	if f.mayRead == nil {
		f.mayRead = func(string) bool { return true }
	}
	f.target = sync.OnceValue(func() string {
		if target, err := filepath.EvalSymlinks(f.dir); err == nil {
			return target
		}
		return f.dir
	})
	return f, nil
}

// outside tells whether an error is what os.Root answers to a path that leaves
// it. The os package does not export that, so that it is asked for.
func (f *folder) outside(err error) bool {
	var escape *fs.PathError
	_, asked := f.root.Lstat("..")
	return errors.As(asked, &escape) && errors.Is(err, escape.Err)
}

func (f *folder) close() { _ = f.root.Close() } // it was only read from

// name turns a path as a model writes it into a name.
func (f *folder) name(p string) (string, error) {
	switch {
	case p == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(p, 0):
		return "", errors.New("the path contains a NUL byte")
	case len(p) > maxPath:
		return "", fmt.Errorf("the path is %d bytes long, at most %d are allowed", len(p), maxPath)
	}
	if filepath.IsAbs(p) {
		name, ok := f.inside(p)
		if !ok {
			return "", f.leaves(p)
		}
		return name, nil
	}
	clean := filepath.Clean(filepath.FromSlash(p))
	if !filepath.IsLocal(clean) {
		return "", f.leaves(p)
	}
	return filepath.ToSlash(clean), nil
}

// inside makes an absolute path relative, if it lies in the folder.
func (f *folder) inside(abs string) (string, bool) {
	for _, dir := range []func() string{func() string { return f.dir }, f.target} {
		rel, err := filepath.Rel(dir(), abs)
		if err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

func (f *folder) leaves(p string) error {
	return fmt.Errorf("%s is outside the working folder %s: use a path inside it", shown(p), shown(f.dir))
}

// locate finds what must exist at a path as a model writes it. Its error is
// fit for the model.
func (f *folder) locate(p string) (string, fs.FileInfo, error) {
	name, err := f.name(p)
	if err != nil {
		return "", nil, err
	}
	name, info, err := f.stat(name)
	if err != nil {
		return "", nil, f.explain(name, err)
	}
	return name, info, nil
}

// stat follows links. If it had to go around an absolute one, the name it
// returns is that of the target.
func (f *folder) stat(name string) (string, fs.FileInfo, error) {
	info, err := f.root.Stat(name)
	if err == nil {
		return name, info, nil
	}
	if target, linkErr := f.canonical(name); linkErr == nil && target != name {
		if info, err := f.root.Stat(target); err == nil {
			return target, info, nil
		}
	}
	return name, nil, err
}

// explain words the error of an access to name for the model.
func (f *folder) explain(name string, err error) error {
	var access *fs.PathError
	switch {
	case !errors.As(err, &access):
		return err // one of ours
	case f.outside(err):
		return f.escape(name)
	case errors.Is(err, fs.ErrNotExist):
		return f.missing(name)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s does not exist: a part of the path before the last is a file", shown(name))
	case errors.Is(err, syscall.ENAMETOOLONG):
		return errors.New("a part of the path is too long to be a file name")
	case errors.Is(err, syscall.ELOOP):
		return fmt.Errorf("%s is a link that leads back to itself", shown(name))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be read: permission denied", shown(name))
	}
	return fmt.Errorf("opening %s: %w", shown(name), err)
}

// canonical resolves the links of name, absolute ones into the folder too,
// which os.Root refuses to follow. What follows the last part that exists is
// kept as it is: it can be created there.
func (f *folder) canonical(name string) (string, error) {
	rest := strings.Split(name, "/")
	done := "."
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..": // of a link's target: done has no links, so that this is its parent
			if done == "." {
				return "", f.escape(name)
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		info, err := f.root.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) && !slices.Contains(rest, "..") {
			return path.Join(next, path.Join(rest...)), nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		target, err := f.root.Readlink(next)
		if err != nil {
			return "", err
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "readlink", Path: next, Err: syscall.ELOOP}
		}
		if filepath.IsAbs(target) {
			inside, ok := f.inside(target)
			if !ok {
				return "", f.escape(name)
			}
			target, done = inside, "."
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	return done, nil
}

func (f *folder) escape(name string) error {
	return fmt.Errorf("%s is a link that leads outside the working folder", shown(name))
}

// absolute gives the one path by which the ledger knows a canonical name,
// whichever folder an agent works in.
func (f *folder) absolute(canonical string) string {
	return filepath.Join(f.target(), filepath.FromSlash(canonical))
}

// spellings gives a name and, if links lead elsewhere, the canonical one: a
// rule about either is a rule about the file.
func (f *folder) spellings(name string) []string {
	if target, err := f.canonical(name); err == nil && target != name {
		return []string{name, target}
	}
	return []string{name}
}

// open opens a regular file for reading. Anything else is refused, and
// without waiting: opening a pipe would block until someone writes to it.
// Errors of the file system are left to the caller to explain.
func (f *folder) open(name string) (*os.File, fs.FileInfo, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s, not a file that can be read", shown(name), kindOf(info.Mode()))
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// openAt opens the file at a path as a model writes it. Its error is fit for
// the model.
func (f *folder) openAt(p string) (string, *os.File, fs.FileInfo, error) {
	name, err := f.name(p)
	if err != nil {
		return "", nil, nil, err
	}
	if file, info, err := f.open(name); err == nil {
		return name, file, info, nil
	}
	// A folder, a link that os.Root does not follow, or an error to be worded.
	name, info, err := f.locate(p)
	if err != nil {
		return "", nil, nil, err
	}
	if info.IsDir() {
		return "", nil, nil, fmt.Errorf("%s is a folder: list it with LS", shown(name))
	}
	file, info, err := f.open(name)
	if err != nil {
		return "", nil, nil, f.explain(name, err)
	}
	return name, file, info, nil
}

// list reads the entries of a folder, sorted by name. If there are more than
// limit, it returns some limit of them and more is set. Errors of the file
// system are left to the caller to explain.
func (f *folder) list(name string, limit int) (entries []fs.DirEntry, more bool, err error) {
	dir, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = dir.Close() }()
	for len(entries) <= limit {
		some, err := dir.ReadDir(limit + 1 - len(entries))
		entries = append(entries, some...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false, err
		}
	}
	if more = len(entries) > limit; more {
		entries = entries[:limit]
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, more, nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode.IsRegular():
		return "a file"
	}
	return "something special"
}
