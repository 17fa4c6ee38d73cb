// Tests of the way into the file system: what happens when it fails half way,
// and when others change files meanwhile.

package files

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
)

// staged makes a draft that creates new/deep/n, modifies a, b and last, and
// deletes d, and prepares it.
func staged(t *testing.T) (dir string, c *commitment) {
	t.Helper()
	dir = tree(t, map[string]string{"a": "a\n", "b": "b\n", "d": "d\n", "last": "l\n"})
	f, err := openFolder(tool.Env{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	d := &draft{ctx: t.Context(), f: f}
	c = &commitment{}
	t.Cleanup(func() { c.close(); f.close() })
	if _, err := d.remove("d"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"new/deep/n", "a", "b", "last"} {
		if _, err := d.overwrite(name, "changed\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.prepare(d); err != nil {
		t.Fatal(err)
	}
	return dir, c
}

func replaceByFolder(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(name, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestRollback(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{"a", "b", "last", "d"} {
		t.Run(broken, func(t *testing.T) {
			t.Parallel()
			dir, c := staged(t)
			if err := c.verify(); err != nil {
				t.Fatal(err)
			}
			replaceByFolder(t, filepath.Join(dir, broken)) // a rename over it fails
			err := c.apply()
			if err == nil {
				t.Fatal("applied over a folder")
			}
			contains(t, err.Error(), "writing "+broken+": ", "; nothing was changed")
			c.abandon()
			for name, want := range map[string]string{"a": "a\n", "b": "b\n", "d": "d\n", "last": "l\n"} {
				if data, _ := os.ReadFile(filepath.Join(dir, name)); name != broken && string(data) != want {
					t.Errorf("%s is %q", name, data)
				}
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 4 {
				t.Errorf("left: %v", entries)
			}
		})
	}
}

func TestVerifySeesWhatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"written":  {func(dir string) error { return os.WriteFile(filepath.Join(dir, "b"), []byte("other"), 0o644) }, "b changed while it was being written"},
		"deleted":  {func(dir string) error { return os.Remove(filepath.Join(dir, "d")) }, "d changed while it was being written"},
		"appeared": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "new/deep/n"), nil, 0o644) }, "n changed while it was being written"},
		"a link": {func(dir string) error {
			if err := os.Remove(filepath.Join(dir, "a")); err != nil {
				return err
			}
			return os.Symlink("b", filepath.Join(dir, "a"))
		}, "it is a link now, not a file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, commit := staged(t)
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			err := commit.verify()
			if err == nil {
				t.Fatal("not seen")
			}
			contains(t, err.Error(), c.want)
		})
	}
	// And what appears even later is not replaced.
	dir, commit := staged(t)
	if err := commit.verify(); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "new/deep/n"), "theirs", false)
	if err := commit.apply(); err == nil {
		t.Error("a file that appeared was replaced")
	}
	commit.abandon()
	if data, _ := os.ReadFile(filepath.Join(dir, "new/deep/n")); string(data) != "theirs" {
		t.Errorf("it is %q now", data)
	}
}

func TestCommitVerifies(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a": "a\n"})
	f, err := openFolder(tool.Env{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	d := &draft{ctx: t.Context(), f: f}
	for _, name := range []string{"a", "made/b"} {
		if _, err := d.overwrite(name, "changed\n"); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, "a"), "by hand\n", false)
	before := snapshot(t, dir)
	if err := d.commit(); err == nil || !strings.Contains(err.Error(), "a changed while it was being written: Read it again") {
		t.Errorf("commit: %v", err)
	}
	unchanged(t, before, snapshot(t, dir))
}

// A folder on the way that turns out to be a link is not gone through, though
// it leads to a place inside: it could be .git.
func TestEnterFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{".git/hooks/": "", "way": "-> .git/hooks", "real/x": ""})
	f, err := openFolder(tool.Env{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for name, ok := range map[string]bool{"way": false, "real": true, "real/x": false, "none": false} {
		c := &commitment{}
		root, err := c.enter(f, name, false)
		if (err == nil) != ok {
			t.Errorf("entering %s: %v", name, err)
		}
		if err == nil {
			_ = root.Close()
		}
	}
}

// A hard link may lead to a file outside: its content is not written into.
func TestHardLink(t *testing.T) {
	t.Parallel()
	base := tree(t, map[string]string{"outside": "one\n", "work/": ""})
	work := filepath.Join(base, "work")
	for call, input := range calls("f") {
		if err := os.Link(filepath.Join(base, "outside"), filepath.Join(work, "f")); err != nil {
			t.Skip(err)
		}
		if _, err := use(t, work, toolOf(call), input); err != nil {
			t.Error(err)
		}
		if data, _ := os.ReadFile(filepath.Join(work, "f")); string(data) != "two\n" {
			t.Errorf("%s: inside %q", call, data)
		}
		if data, _ := os.ReadFile(filepath.Join(base, "outside")); string(data) != "one\n" {
			t.Fatalf("%s wrote outside: %q", call, data)
		}
		if err := os.Remove(filepath.Join(work, "f")); err != nil {
			t.Fatal(err)
		}
	}
}

// While a folder is exchanged for a link to the outside and back, as fast as
// can be, nothing outside changes.
func TestWritesWhileSwapped(t *testing.T) {
	t.Parallel()
	base, work := prison(t)
	put(t, filepath.Join(work, "folder", "secret"), "one\n", false)
	put(t, filepath.Join(work, "spare"), "-> ../outside", false)
	before := snapshot(t, filepath.Join(base, "outside"))
	name := func(s string) string { return filepath.Join(work, s) }
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			for _, step := range [][2]string{{"folder", "parked"}, {"spare", "folder"}, {"folder", "spare"}, {"parked", "folder"}} {
				// A write may have made the folder anew while it was away.
				for os.Rename(name(step[0]), name(step[1])) != nil && !done.Load() {
					_ = os.RemoveAll(name(step[1])) // it is being written to: once more
				}
			}
			runtime.Gosched()
		}
	})
	succeeded := 0
	turn := strings.NewReplacer("one", "TMP", "two", "one", "TMP", "two")
	for i := range 80 {
		for call, input := range calls("folder/secret") {
			if i%2 == 1 {
				input = turn.Replace(input)
			}
			res, err := use(t, work, toolOf(call), input)
			if sign := reveals(res, err); sign != "" {
				t.Errorf("%s saw %s", call, sign)
			}
			if err == nil {
				succeeded++
			}
		}
		for _, input := range []string{
			object("operations", ops(map[string]any{"operation": "delete", "path": "folder/deep/secret"})),
			object("operations", ops(map[string]any{"operation": "create", "path": "folder/made/x", "text": "x"})),
			object("operations", ops(map[string]any{"operation": "rename", "path": "inside", "to": "folder/inside"})),
			object("operations", ops(map[string]any{"operation": "rename", "path": "folder/inside", "to": "inside"})),
			object("operations", ops(map[string]any{"operation": "rename", "path": "folder/" + "secret", "to": "stolen"})),
			object("operations", ops(map[string]any{"operation": "rename", "path": "stolen", "to": "folder/secret"})),
		} {
			res, err := use(t, work, "Patch", input)
			if sign := reveals(res, err); sign != "" {
				t.Errorf("%s saw %s", input, sign)
			}
		}
	}
	done.Store(true)
	wg.Wait()
	unchanged(t, before, snapshot(t, filepath.Join(base, "outside")))
	if succeeded == 0 {
		t.Error("no write ever succeeded, so that nothing was tried")
	}
}
