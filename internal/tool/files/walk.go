// The walker under Glob and Grep: every file below a folder that is not
// ignored, in a fixed order and in bounded number.

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// walkEntries bounds a walk, in files and folders looked at.
const walkEntries = 100_000

// walker goes through a folder once.
type walker struct {
	f     *folder
	limit int // entries to look at

	visited    int
	full       bool // the limit was reached and something was left out
	unreadable int  // folders that could not be listed
}

// visitor is called with each file. link says that name is a symbolic link,
// to whatever; everything else is a regular file.
type visitor func(name string, link bool) error

// walk visits the files below start, a folder, sorted by name within each
// folder. Ignored files and folders, .git, pipes and the like are left out,
// and links to folders are not followed. start itself is not asked to be
// unignored: who names an ignored folder wants to see it.
//
// An error of visit ends the walk and is returned, except fs.SkipAll, which
// only ends it.
func (w *walker) walk(ctx context.Context, start string, visit visitor) error {
	err := w.folder(ctx, start, w.f.scopeOf(start), visit)
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (w *walker) folder(ctx context.Context, name string, around *scope, visit visitor) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, more, err := w.f.list(name, w.limit-w.visited)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // it may have gone meanwhile
			w.unreadable++
		}
		return nil
	}
	w.visited += len(entries)
	here := around
	for _, e := range entries {
		if e.Name() == ".ignore" || e.Name() == ".gitignore" {
			here = w.f.scopeAt(around, name)
			break
		}
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		child := path.Join(name, e.Name())
		if e.Name() == ".git" || len(child) > maxPath || here.excludes(child, e.IsDir()) {
			continue
		}
		switch mode := e.Type(); {
		case mode.IsDir():
			err = w.folder(ctx, child, here, visit)
		case mode.IsRegular():
			err = visit(child, false)
		case mode&fs.ModeSymlink != 0:
			err = visit(child, true)
		}
		if err != nil {
			return err
		}
	}
	if more {
		w.full = true
		return fs.SkipAll
	}
	return nil
}

// note says what the walk left out, in lines of their own.
func (w *walker) note() string {
	s := ""
	if w.full {
		s += fmt.Sprintf("[incomplete: stopped after %d files and folders; name a narrower path]\n", w.limit)
	}
	if w.unreadable > 0 {
		s += fmt.Sprintf("[folders that could not be read: %d]\n", w.unreadable)
	}
	return s
}
