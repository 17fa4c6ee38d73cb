// Tree: what other packages of tools may use of the working folder as this
// package sees it, so that there is one walker and one door to it.

package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cadre-dev/cadre/internal/tool"
)

// Tree is an open working folder to search in. Nothing outside it can be
// reached, and what is ignored is left out, as by Glob and Grep. Its errors
// are fit for the model. It is for one goroutine.
type Tree struct {
	f    *folder
	text *lines
}

// OpenTree opens the working folder; Close has to be called.
func OpenTree(env tool.Env) (*Tree, error) {
	f, err := openFolder(env)
	if err != nil {
		return nil, err
	}
	return &Tree{f: f, text: newLines(grepLineBytes)}, nil
}

// Close closes the folder.
func (t *Tree) Close() { t.f.close() }

// Names turns a path as a model writes it into the names inside the folder
// that a rule may be about: as it is written, and where links lead. Empty is
// the folder itself.
func (t *Tree) Names(path string) ([]string, error) {
	name, err := t.f.name(orHere(path))
	if err != nil {
		return nil, err
	}
	return t.f.spellings(name), nil
}

// Files lists the files below path, a folder or a file, whose names match
// glob, if there is one. Links are left out. note says, in lines of their own,
// what the list lacks.
func (t *Tree) Files(ctx context.Context, path, glob string) (names []string, note string, err error) {
	wanted, err := filter(glob)
	if err != nil {
		return nil, "", err
	}
	start, info, err := t.f.locate(orHere(path))
	if err != nil {
		return nil, "", err
	}
	if !info.IsDir() {
		return []string{start}, "", nil
	}
	w := &walker{f: t.f, limit: walkEntries}
	err = w.walk(ctx, start, func(name string, link bool) error {
		if !link && wanted(relative(start, name)) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("listing %s: %w", shown(start), err)
	}
	return names, w.note(), nil
}

// Lines calls visit with each line of a text file, numbered from 1 and valid
// during the call. A binary file has no lines; one that turns out to be binary
// further down ends there. An error of visit ends it, except fs.SkipAll, which
// only ends it.
func (t *Tree) Lines(ctx context.Context, name string, visit func(n int, line []byte) error) error {
	file, _, err := t.f.open(name)
	if err != nil {
		return t.f.explain(name, err)
	}
	defer func() { _ = file.Close() }()
	t.text.reset(ctx, file)
	head, err := t.text.head()
	if err != nil {
		return fmt.Errorf("reading %s: %w", shown(name), err)
	}
	if isBinary(head) {
		return nil
	}
	t.text.skipBOM()
	for n := 1; ; n++ {
		line, _, err := t.text.next()
		if errors.Is(err, io.EOF) || err == nil && bytes.IndexByte(line, 0) >= 0 {
			return nil
		}
		if err == nil {
			err = visit(n, line)
		}
		if errors.Is(err, fs.SkipAll) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", shown(name), err)
		}
	}
}

// Excerpt gives at most limit characters of line as readable UTF-8, so chosen
// that what starts at byte from is among them.
func Excerpt(line []byte, from, limit int) string { return excerpt(line, from, limit) }

// Shown is how a name appears in an answer: quoted if it could be taken for
// several lines or is not readable.
func Shown(name string) string { return shown(name) }
