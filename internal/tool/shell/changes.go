// What a command changed: the working folder compared before and after, and
// the ledger told about it.

package shell

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	maxEntries   = 200_000  // of a working folder that is compared
	maxHashed    = 10 << 20 // bytes of a file whose content names its version
	maxConflicts = 10       // that are told
)

// snapshot is how the files of a folder look from outside. The insides of git
// are left out: git says better what changed there.
type snapshot struct {
	root  string
	files map[string]fs.FileInfo // by path relative to root
	repos []string               // what is called .git in it, relative to root
	full  bool                   // there are too many
}

var errFull = errors.New("too many files")

func takeSnapshot(root string) *snapshot {
	s := &snapshot{root: root, files: map[string]fs.FileInfo{}}
	entries := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be looked at is not compared
		}
		if entries++; entries > maxEntries {
			return errFull
		}
		if d.Name() == ".git" && path != root {
			s.repos = append(s.repos, path[len(root)+1:])
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		if d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			s.files[path[len(root)+1:]] = info
		}
		return nil
	})
	s.full = err != nil
	return s
}

// changes are what a command did to files.
type changes struct {
	files []tool.File
	notes []string
}

// compare finds what has changed since, and tells the ledger. What another
// tool is known to have written meanwhile is not counted.
func (s *snapshot) compare(env tool.Env) changes {
	after := takeSnapshot(s.root)
	if s.full || after.full {
		return changes{notes: []string{fmt.Sprintf("[the working folder has more than %d files: which of them the command changed is not recorded]", maxEntries)}}
	}
	var c changes
	for path, now := range after.files {
		before, ok := s.files[path]
		switch {
		case !ok:
			c.add(env, s.root, path, "created")
		case !same(before, now):
			c.add(env, s.root, path, "modified")
		}
	}
	for path := range s.files {
		if _, ok := after.files[path]; !ok {
			c.add(env, s.root, path, "deleted")
		}
	}
	slices.SortFunc(c.files, func(a, b tool.File) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(c.notes)
	if over := len(c.notes) - maxConflicts; over > 0 {
		c.notes = append(c.notes[:maxConflicts], fmt.Sprintf("[%d more such conflicts]", over))
	}
	return c
}

// same: neither written nor replaced.
func same(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.Mode() == b.Mode() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

func (c *changes) add(env tool.Env, root, path, op string) {
	file := filepath.Join(root, path)
	version := ""
	if op != "deleted" {
		version = versionOf(file)
	}
	if last, ok := env.Ledger.LastWriter(env, file); ok && last.Version == version {
		return
	}
	seen, _ := env.Ledger.Seen(env, file)
	if before, ok := env.Ledger.Wrote(env, file, version); ok && before.Agent != env.Agent && before.Version != seen {
		c.notes = append(c.notes, fmt.Sprintf("[conflict: %s had changed %s since you last saw it, and your command has %s it: look at it again]", before.Path, filepath.ToSlash(path), op))
	}
	c.files = append(c.files, tool.File{Path: filepath.ToSlash(path), Op: op})
}

// versionOf names the content of a file as the other tools do: by its hash. A
// large one is named by its size and time.
func versionOf(file string) string {
	info, err := os.Lstat(file)
	if err != nil {
		return "unknown"
	}
	if info.Mode().IsRegular() && info.Size() <= maxHashed {
		if f, err := os.Open(file); err == nil {
			defer func() { _ = f.Close() }()
			hash := sha256.New()
			if _, err := io.Copy(hash, io.LimitReader(f, maxHashed)); err == nil {
				return hex.EncodeToString(hash.Sum(nil))
			}
		}
	}
	return fmt.Sprintf("%d bytes at %d", info.Size(), info.ModTime().UnixNano())
}
