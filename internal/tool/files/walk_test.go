// Tests of the walker: order, ignore files at every level, links, bounds.

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
)

func walkAll(t *testing.T, dir, start string, limit int) ([]string, *walker) {
	t.Helper()
	f, err := openFolder(tool.Env{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	w := &walker{f: f, limit: limit}
	var names []string
	err = w.walk(t.Context(), start, func(name string, link bool) error {
		if link {
			name += "@"
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, w
}

func TestWalk(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".git/config":       "x",
		".git/info/exclude": "excluded.txt\n",
		".gitignore":        "*.log\n/dist/\nnode_modules\n!special.log\n",
		".ignore":           "secret/\n!wanted.log\n",
		"a.log":             "x",
		"wanted.log":        "x", // .ignore decides before .gitignore
		"special.log":       "x",
		"excluded.txt":      "x",
		"dist/out.js":       "x",
		"secret/key":        "x",
		"src/dist/kept.js":  "x",
		"src/.gitignore":    "*.gen.go\n!again.log\nlocal/\n",
		"src/again.log":     "x", // re-included by the nearer file
		"src/b.gen.go":      "x",
		"src/b.go":          "x",
		"src/deep/c.gen.go": "x",
		"src/deep/c.log":    "x",
		"src/deep/c.go":     "x",
		"src/local/x":       "x",
		"other/b.gen.go":    "x", // the rules of src do not reach here
		"mod/.git":          "gitdir: elsewhere",
		"mod/m":             "x",
		"node_modules/p/i":  "x",
		"node_modules/a.go": "x",
		"to-src":            "-> src",
		"to-file":           "-> src/b.go",
		"src/up":            "-> ..",
		"empty/":            "",
		"ignored-link.log":  "-> src/b.go",
	})
	want := []string{
		".gitignore", ".ignore", "mod/m", "other/b.gen.go", "special.log", "src/.gitignore", "src/again.log", "src/b.go",
		"src/deep/c.go", "src/dist/kept.js", "src/up@", "to-file@", "to-src@", "wanted.log",
	}
	for range 3 {
		if got, _ := walkAll(t, dir, ".", walkEntries); !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	}
	for start, want := range map[string][]string{
		"src":             {"src/.gitignore", "src/again.log", "src/b.go", "src/deep/c.go", "src/dist/kept.js", "src/up@"},
		"src/deep":        {"src/deep/c.go"},
		"node_modules":    {"node_modules/a.go", "node_modules/p/i"}, // named, so wanted
		"empty":           nil,
		".git":            {".git/config", ".git/info/exclude"},
		"node_modules/p":  {"node_modules/p/i"},
		"src/local":       {"src/local/x"},
		"dist":            {"dist/out.js"},
		"src/dist":        {"src/dist/kept.js"},
		"no such folder!": nil,
	} {
		if got, _ := walkAll(t, dir, start, walkEntries); !slices.Equal(got, want) {
			t.Errorf("%s: got  %q\nwant %q", start, got, want)
		}
	}
}

func TestWalkBound(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("d%d/f%02d", i%3, i)] = ""
	}
	dir := tree(t, files) // 3 folders and 30 files
	for limit, want := range map[int]struct {
		files int
		full  bool
	}{
		0: {0, true}, 1: {0, true}, 2: {0, true}, 3: {0, true}, 5: {2, true}, 13: {10, true}, 32: {29, true}, 33: {30, false}, 34: {30, false},
	} {
		got, w := walkAll(t, dir, ".", limit)
		if len(got) != want.files || w.full != want.full {
			t.Errorf("limit %d: %d files, full %v; want %d, %v", limit, len(got), w.full, want.files, want.full)
		}
		if note := w.note(); strings.Contains(note, fmt.Sprintf("stopped after %d files and folders", limit)) != want.full {
			t.Errorf("limit %d: note %q", limit, note)
		}
	}
}

func TestWalkStopsOnError(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a": "", "b": "", "c/d": ""})
	f, err := openFolder(tool.Env{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for _, stop := range []error{fs.SkipAll, errors.New("enough")} {
		calls := 0
		err := (&walker{f: f, limit: 10}).walk(t.Context(), ".", func(string, bool) error {
			calls++
			return stop
		})
		if calls != 1 {
			t.Errorf("%v: %d calls", stop, calls)
		}
		if errors.Is(stop, fs.SkipAll) != (err == nil) || err != nil && !errors.Is(err, stop) {
			t.Errorf("%v came back as %v", stop, err)
		}
	}
}

func TestWalkUnreadableFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := tree(t, map[string]string{"a/x": "", "b/x": ""})
	if err := os.Chmod(filepath.Join(dir, "a"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "a"), 0o755) }) // so that it can be removed
	got, w := walkAll(t, dir, ".", walkEntries)
	if !slices.Equal(got, []string{"b/x"}) {
		t.Errorf("got %q", got)
	}
	equal(t, w.note(), "[folders that could not be read: 1]\n")
}
