// Diffs and merges, with real repositories.

package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func summary(files []File) string {
	var lines []string
	for _, f := range files {
		text := f.Op + " " + f.Path
		if f.From != "" {
			text += " from " + f.From
		}
		if f.Binary {
			text += " binary"
		} else if f.Added+f.Removed > 0 {
			text += fmt.Sprintf(" +%d -%d", f.Added, f.Removed)
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "; ")
}

func TestDiffOf(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 50)
	f := newFixture(t, map[string]string{"a": "1\n2\n", "gone": "x\n", "old": long, "bin": "\x00", "run": "text\n", "kind": "k\n", ".gitignore": "*.log\n"})
	tree := f.create("k3.1")
	f.put(tree.Dir, map[string]string{"a": "1\n3\n", "gone": removed})
	f.gitIn(tree.Dir, "commit", "-q", "-a", "-m", "half")
	f.put(tree.Dir, map[string]string{
		"old": removed, "new name ü": long, "bin": "\x00\x01", "run": "#!text\n", "kind": "-> a", "b\nc": "n\n",
		"x.log": "ignored", "forced.log": "f\n",
	})
	f.gitIn(tree.Dir, "add", "-f", "forced.log")
	f.gitIn(tree.Dir, "commit", "-q", "-m", "forced")
	f.gitIn(tree.Dir, "checkout", "-q", "--detach")
	diff, err := DiffOf(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	want := "modified a +1 -1; added b\nc +1 -0; modified bin binary; added forced.log +1 -0; deleted gone +0 -1; type changed kind +1 -1; renamed new name ü from old; modified run +1 -1"
	if got := summary(diff.Files); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if diff.Stat != "8 files, +5 -4" {
		t.Errorf("stat %q", diff.Stat)
	}
	for _, part := range []string{"-2\n+3\n", "rename from old\n", "deleted file mode", "new mode 100755", "Binary files"} {
		if !strings.Contains(diff.Text, part) {
			t.Errorf("%q is not in\n%s", part, diff.Text)
		}
	}
	f.put(tree.Dir, map[string]string{"huge": strings.Repeat("some text\n", 100_000)})
	diff, err = DiffOf(t.Context(), tree)
	if err != nil || !diff.Truncated || len(diff.Text) > maxDiff || !strings.HasSuffix(diff.Text, "\n") || len(diff.Files) != 9 {
		t.Errorf("%v truncated=%v %d bytes", err, diff.Truncated, len(diff.Text))
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	numbers := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	base := map[string]string{
		"a": numbers, "b": "b\n", "gone": "x\n", "bin": "\x00\x01", "run": "text\n", "crlf.txt": "one\r\ntwo\r\n",
		"dir/x": "x\n", "kind": "file\n", "link": "-> a", "deep/er/f": "f\n", ".gitignore": "ignored*\n",
	}
	cases := map[string]struct{ agent, yours, want map[string]string }{
		"nothing":                 {nil, map[string]string{"a": "mine\n"}, map[string]string{"a": "mine\n"}},
		"a change":                {map[string]string{"b": "B\n"}, nil, map[string]string{"b": "B\n", "a": numbers}},
		"both in one file":        {map[string]string{"a": "one\n" + numbers[2:]}, map[string]string{"a": numbers + "10\n"}, map[string]string{"a": "one\n" + numbers[2:] + "10\n"}},
		"the same on both sides":  {map[string]string{"b": "B\n", "n": "n\n"}, map[string]string{"b": "B\n", "n": "n\n"}, map[string]string{"b": "B\n", "n": "n\n"}},
		"a deletion":              {map[string]string{"gone": removed, "deep/er/f": removed}, nil, map[string]string{"gone": removed, "deep": removed}},
		"deleted on both sides":   {map[string]string{"gone": removed}, map[string]string{"gone": removed}, map[string]string{"gone": removed}},
		"a binary":                {map[string]string{"bin": "\x00\x02\xff"}, nil, map[string]string{"bin": "\x00\x02\xff"}},
		"a mode":                  {map[string]string{"run": "#!text\n"}, nil, map[string]string{"run": "#!text\n"}},
		"line ends":               {map[string]string{"crlf.txt": "one\r\nTWO\r\n"}, nil, map[string]string{"crlf.txt": "one\r\nTWO\r\n"}},
		"odd names":               {map[string]string{"a b/ü\n\t\"'": "odd\n", "-rf": "o\n", ":(top)x": "p\n", "*": "s\n"}, nil, map[string]string{"a b/ü\n\t\"'": "odd\n", "-rf": "o\n", ":(top)x": "p\n", "*": "s\n"}},
		"a link":                  {map[string]string{"link": "-> b", "out": "-> /etc/passwd"}, nil, map[string]string{"link": "-> b", "out": "-> /etc/passwd"}},
		"a file becomes a folder": {map[string]string{"kind": removed, "kind/x": "x\n"}, nil, map[string]string{"kind/x": "x\n"}},
		"a folder becomes a file": {map[string]string{"dir": "file\n"}, nil, map[string]string{"dir": "file\n"}},
		"a link becomes a file":   {map[string]string{"link": "file\n"}, nil, map[string]string{"link": "file\n", "a": numbers}},
		"a file becomes a link":   {map[string]string{"b": "-> a"}, nil, map[string]string{"b": "-> a"}},
		"renamed there, edited":   {map[string]string{"a": removed, "A": "one\n" + numbers[2:]}, map[string]string{"a": numbers + "10\n"}, map[string]string{"a": removed, "A": "one\n" + numbers[2:] + "10\n"}},
		"edited, renamed by you":  {map[string]string{"a": "one\n" + numbers[2:]}, map[string]string{"a": removed, "A": numbers}, map[string]string{"a": removed, "A": "one\n" + numbers[2:]}},
		"untracked of yours":      {map[string]string{"b": "B\n"}, map[string]string{"u": "u\n", "ignored": "i\n"}, map[string]string{"b": "B\n", "u": "u\n", "ignored": "i\n"}},
		"ignored ones stay":       {map[string]string{"ignored": "agent\n", "b": "B\n"}, map[string]string{"ignored": "yours\n"}, map[string]string{"ignored": "yours\n", "b": "B\n"}},
		"a folder with ignored":   {map[string]string{"dir/x": removed}, map[string]string{"dir/ignored": "i\n"}, map[string]string{"dir/x": removed, "dir/ignored": "i\n"}},
		"empty file, no line end": {map[string]string{"b": "", "n": "no end"}, nil, map[string]string{"b": "", "n": "no end"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, base)
			f.put(f.dir, map[string]string{"staged": "s\n"})
			f.git("add", "staged")
			tree := f.create("k3.1")
			f.put(tree.Dir, c.agent)
			f.put(f.dir, c.yours)
			index, err := os.ReadFile(tree.Index)
			if err != nil {
				t.Fatal(err)
			}
			head := f.git("rev-parse", "HEAD", "main")
			for range 2 { // again: there is nothing left to do
				got, err := Accept(t.Context(), tree)
				if err != nil || !got.Applied || len(got.Conflicts) > 0 {
					t.Fatalf("%+v %v", got, err)
				}
				f.see(f.dir, c.want)
			}
			f.see(f.dir, map[string]string{"staged": "s\n"})
			if now, err := os.ReadFile(tree.Index); err != nil || string(now) != string(index) {
				t.Errorf("the index was changed: %v", err)
			}
			if now := f.git("rev-parse", "HEAD", "main"); now != head {
				t.Error("HEAD was moved")
			}
			if drafts, _ := filepath.Glob(filepath.Join(f.dir, ".cadre-*")); len(drafts) > 0 {
				t.Errorf("drafts are left: %q", drafts)
			}
		})
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	base := map[string]string{"a": "1\n2\n3\n", "b": "b\n", "bin": "\x00\x01", "dir/x": "x\n", ".gitignore": "ignored*\n"}
	cases := map[string]struct {
		agent, yours map[string]string
		path, kind   string
		markers      map[string]string // after MergeWithMarkers; nil: it does not apply either
	}{
		"contents": {
			map[string]string{"a": "1\nagent\n3\n", "b": "B\n"},
			map[string]string{"a": "1\nyours\n3\n"},
			"a", "contents",
			map[string]string{"a": "1\n<<<<<<< your-folder\nyours\n=======\nagent\n>>>>>>> agent-k3.1\n3\n", "b": "B\n"},
		},
		"both added": {
			map[string]string{"n": "agent\n"},
			map[string]string{"n": "yours\n"},
			"n", "contents",
			map[string]string{"n": "<<<<<<< your-folder\nyours\n=======\nagent\n>>>>>>> agent-k3.1\n"},
		},
		"deleted by the agent": {
			map[string]string{"a": removed},
			map[string]string{"a": "yours\n"},
			"a", "modify/delete",
			map[string]string{"a": "yours\n"},
		},
		"deleted by you": {
			map[string]string{"a": "agent\n"},
			map[string]string{"a": removed},
			"a", "modify/delete",
			map[string]string{"a": "agent\n"},
		},
		"binary": {
			map[string]string{"bin": "\x00agent", "b": "B\n"},
			map[string]string{"bin": "\x00yours"},
			"bin", "",
			map[string]string{"bin": "\x00yours", "b": "B\n"},
		},
		"an ignored file": {
			map[string]string{".gitignore": "", "ignored": "agent\n", "b": "B\n"},
			map[string]string{"ignored": "yours\n"},
			"ignored", inTheWay, nil,
		},
		"an ignored file in a folder that becomes a file": {
			map[string]string{"dir": "file\n"},
			map[string]string{"dir/ignored": "yours\n"},
			"dir", inTheWay, nil,
		},
		"an ignored link where a folder comes": {
			map[string]string{".gitignore": "", "ignored/x": "agent\n"},
			map[string]string{"ignored": "-> .."},
			"ignored/x", inTheWay, nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, base)
			tree := f.create("k3.1")
			f.put(tree.Dir, c.agent)
			f.put(f.dir, c.yours)
			before := f.state()
			got, err := Accept(t.Context(), tree)
			if err != nil || got.Applied || len(got.Conflicts) == 0 {
				t.Fatalf("%+v %v", got, err)
			}
			first := got.Conflicts[0]
			if first.Path != c.path || c.kind != "" && first.Kind != c.kind || first.Text == "" {
				t.Errorf("%+v", first)
			}
			if name == "contents" && (first.Base.Text != "1\n2\n3\n" || first.Yours.Text != "1\nyours\n3\n" || first.Agents.Text != "1\nagent\n3\n") {
				t.Errorf("sides %+v %+v %+v", first.Base, first.Yours, first.Agents)
			}
			if name == "binary" && (!first.Yours.Binary || first.Yours.Text != "") {
				t.Errorf("sides %+v", first.Yours)
			}
			if after := f.state(); after != before {
				t.Errorf("the folder was changed:\n%s\n%s", before, after)
			}
			f.see(f.dir, c.yours)
			f.see(tree.Dir, c.agent)
			got, err = MergeWithMarkers(t.Context(), tree)
			if err != nil || got.Applied != (c.markers != nil) || len(got.Conflicts) == 0 {
				t.Fatalf("with markers: %+v %v", got, err)
			}
			if c.markers == nil {
				f.see(f.dir, c.yours)
			}
			f.see(f.dir, c.markers)
		})
	}
}

func TestLineEndsOfTheRepository(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a.txt": "1\r\n2\r\n3\r\n", ".gitattributes": "*.txt text eol=crlf\n"})
	tree := f.create("k3.1")
	f.see(tree.Dir, map[string]string{"a.txt": "1\r\n2\r\n3\r\n"})
	f.put(tree.Dir, map[string]string{"a.txt": "one\r\n2\r\n3\r\n"})
	f.put(f.dir, map[string]string{"a.txt": "1\r\n2\r\nthree\r\n"})
	if got, err := Accept(t.Context(), tree); err != nil || !got.Applied {
		t.Fatal(got, err)
	}
	f.see(f.dir, map[string]string{"a.txt": "one\r\n2\r\nthree\r\n"})
}

func TestSubmodulesAndRepositoriesInside(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a": "a\n"})
	lib := newFixture(t, map[string]string{"lib.txt": "lib\n"})
	f.git("submodule", "--quiet", "add", lib.dir, "lib")
	f.git("commit", "-q", "-m", "with a submodule")
	f.put(f.dir, map[string]string{"lib/lib.txt": "changed\n", "other/x": "x\n"})
	f.gitIn(filepath.Join(f.dir, "other"), "init", "-q")
	tree := f.create("k3.1")
	f.see(tree.Dir, map[string]string{"a": "a\n", "lib/lib.txt": removed, "other": removed})
	f.put(tree.Dir, map[string]string{"a": "A\n", "lib/mine": "m\n"})
	diff, err := DiffOf(t.Context(), tree)
	if err != nil || summary(diff.Files) != "modified a +1 -1" || strings.Join(diff.Skipped, " ") != "lib/" {
		t.Errorf("%+v %v", diff, err)
	}
	f.put(tree.Dir, map[string]string{"lib": removed})
	if got, err := Accept(t.Context(), tree); err != nil || !got.Applied || summary(got.Files) != "modified a" {
		t.Fatal(got, err)
	}
	f.see(f.dir, map[string]string{"a": "A\n", "lib/lib.txt": "changed\n", "other/x": "x\n"})
}

func TestAFailureUndoesWhatWasDone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a": "a\n", "b": "b\n", "c/d": "d\n", "link": "-> a"})
	tree := f.create("k3.1")
	f.put(tree.Dir, map[string]string{"a": "A\n", "b": removed, "c/d": removed, "link": "-> b", "n": "n\n", "z": "z\n"})
	d := openDesk(tree.desk(), tree.Git)
	agents, _, err := tree.stage(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := d.changes(t.Context(), tree.Base, agents, "--no-renames")
	if err != nil {
		t.Fatal(err)
	}
	a, err := openApplication(t.Context(), d, f.dir, agents, changes)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	if err := os.Remove(filepath.Join(a.work, "new", "z")); err != nil { // the last to be written
		t.Fatal(err)
	}
	if err := a.apply(); err == nil || !strings.Contains(err.Error(), "writing z") {
		t.Fatalf("%v", err)
	}
	f.see(f.dir, map[string]string{"a": "a\n", "b": "b\n", "c/d": "d\n", "link": "-> a", "n": removed, "z": removed})
	if got := f.git("status", "--porcelain"); got != "" {
		t.Errorf("status %q", got)
	}
}

func TestPermissionsAreKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"private": "p\n"})
	if err := os.Chmod(filepath.Join(f.dir, "private"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := f.create("k3.1")
	f.put(tree.Dir, map[string]string{"private": "#!P\n"})
	if got, err := Accept(t.Context(), tree); err != nil || !got.Applied {
		t.Fatal(got, err)
	}
	if info, err := os.Stat(filepath.Join(f.dir, "private")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// Without its time, git would take a file for unchanged that was written in the
// same second as the index, with as many bytes.
func TestACopiedIndexKeepsItsTime(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(t.TempDir(), "index"), filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(from, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	written := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(from, written, written); err != nil {
		t.Fatal(err)
	}
	if err := copyIndex(from, to); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || !info.ModTime().Equal(written) {
		t.Errorf("%v %v", info, err)
	}
}
