// Tests of what the tools that write have in common: the ledger, the plan,
// what stays of a file, and what is never written.

package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

// desk is an agent at work: a folder, tools of its own, and a ledger that it
// may share.
type desk struct {
	t     *testing.T
	env   tool.Env
	tools *tool.Registry
}

func newDesk(t *testing.T, files map[string]string) *desk {
	t.Helper()
	r, err := tool.New(Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t, tool.Env{Chat: "c", Agent: "c.1", Path: "main/coder", Dir: tree(t, files), Ledger: tool.NewLedger()}, r}
}

// other is another agent of the same chat at the same folder.
func (d *desk) other() *desk {
	env := d.env
	env.Agent, env.Path = "c.2", "main/coder-2"
	return &desk{d.t, env, d.tools}
}

func (d *desk) run(name, input string) (tool.Result, error) {
	d.t.Helper()
	return d.tools.Run(d.t.Context(), name, d.env, json.RawMessage(input))
}

// do runs a tool that must succeed, and returns what it says.
func (d *desk) do(name string, pairs ...any) string {
	d.t.Helper()
	res, err := d.run(name, object(pairs...))
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	return message.Text(res.Parts)
}

// fails runs a tool that must fail and change nothing.
func (d *desk) fails(name string, pairs ...any) string {
	d.t.Helper()
	before := snapshot(d.t, d.env.Dir)
	res, err := d.run(name, object(pairs...))
	if err == nil {
		d.t.Fatalf("%s %s succeeded: %s", name, object(pairs...), message.Text(res.Parts))
	}
	unchanged(d.t, before, snapshot(d.t, d.env.Dir))
	return err.Error()
}

func (d *desk) read(names ...string) {
	d.t.Helper()
	for _, name := range names {
		d.do("Read", "path", name)
	}
}

func (d *desk) has(name, want string) {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.env.Dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	if string(data) != want {
		d.t.Errorf("%s is %q, want %q", name, data, want)
	}
}

// snapshot describes everything below a folder: kind, mode and content.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			content = string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			if content, err = os.Readlink(name); err != nil {
				return err
			}
		}
		all[name] = info.Mode().String() + " " + content
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func unchanged(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name, was := range before {
		if is, ok := after[name]; !ok || is != was {
			t.Errorf("%s was %.200q and is %.200q", name, was, is)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s has come into being", name)
		}
	}
}

// calls gives an input of each tool that changes the file f from "one\n" to
// "two\n".
func calls(f string) map[string]string {
	return map[string]string{
		"Write":           object("file_path", f, "content", "two\n"),
		"Edit":            object("file_path", f, "old_string", "one", "new_string", "two"),
		"MultiEdit":       object("file_path", f, "edits", []any{map[string]any{"old_string": "one", "new_string": "two"}}),
		"Patch operation": object("path", f, "operations", []any{map[string]any{"operation": "replace", "old_string": "one", "new_string": "two"}}),
		"Patch envelope":  object("patch", "*** Begin Patch\n*** Update File: "+f+"\n-one\n+two\n*** End Patch"),
		"Patch diff":      object("patch", "--- a/"+f+"\n+++ b/"+f+"\n@@ -1 +1 @@\n-one\n+two\n"),
	}
}

func toolOf(call string) string {
	name, _, _ := strings.Cut(call, " ")
	return name
}

func TestOnlyWhatWasReadIsChanged(t *testing.T) {
	t.Parallel()
	for call, input := range calls("f.txt") {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, map[string]string{"f.txt": "one\n"})
			run := func() error { _, err := d.run(toolOf(call), input); return err }
			refused := func(err error, want string) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("got %v, want %q", err, want)
				}
			}
			refused(run(), "you have not read it: Read it first")
			d.has("f.txt", "one\n")
			d.read("f.txt")
			put(t, filepath.Join(d.env.Dir, "f.txt"), "one\nmore\n", false)
			refused(run(), "f.txt changed since you read it: Read it again")
			d.has("f.txt", "one\nmore\n")

			o := d.other()
			o.read("f.txt")
			o.do("Write", "file_path", "f.txt", "content", "one\n")
			put(t, filepath.Join(d.env.Dir, "f.txt"), "one\n", false)
			d.env.Ledger.Saw(d.env, filepath.Join(d.env.Dir, "f.txt"), "an older version")
			refused(run(), "f.txt changed since you read it (main/coder-2 wrote it)")
			d.do("Read", "path", "f.txt", "limit", 1)
			res, err := d.run(toolOf(call), input)
			if err != nil {
				t.Fatal(err)
			}
			d.has("f.txt", "two\n")
			contains(t, message.Text(res.Parts), "Note: main/coder-2 had written f.txt before; your ")
			if want := []tool.File{{Path: "f.txt", Op: "modified"}}; !slices.Equal(res.Record.Files, want) {
				t.Errorf("record %v", res.Record.Files)
			}
			// Its own change it need not read again, the other one has to.
			d.do("Edit", "file_path", "f.txt", "old_string", "two", "new_string", "three")
			contains(t, o.fails("Edit", "file_path", "f.txt", "old_string", "three", "new_string", "x"), "main/coder wrote it")
		})
	}
}

func TestLedgerNotes(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a": "a\n", "b": "b\n", "link": "-> a"})
	o := d.other()
	d.read("a", "b")
	o.read("link") // the same file by another name
	d.do("Edit", "file_path", "link", "old_string", "a", "new_string", "A")
	contains(t, o.fails("Edit", "file_path", "a", "old_string", "a", "new_string", "B"), "changed since you read it (main/coder wrote it)")
	if said := d.do("Write", "file_path", "a", "content", "x\n"); strings.Contains(said, "Note") {
		t.Errorf("one's own work is noted: %s", said)
	}
	d.do("Patch", "operations", []any{map[string]any{"operation": "delete", "path": "b"}})
	contains(t, o.fails("Edit", "file_path", "b", "old_string", "b", "new_string", "B"), "b does not exist", "main/coder deleted it")
	equal(t, o.do("Write", "file_path", "b", "content", "new\n"), "Created b (4 B).\nNote: main/coder had deleted b; it exists again.")
	contains(t, d.fails("Edit", "file_path", "b", "old_string", "new", "new_string", "B"), "you have not read it")
	d.read("b")
	put(t, filepath.Join(d.env.Dir, "b"), "by hand\n", false)
	if said := d.fails("Write", "file_path", "b", "content", ""); strings.Contains(said, "coder") {
		t.Errorf("an agent is named that did not do it: %s", said)
	}
	d.read("b")
	contains(t, d.do("Edit", "file_path", "b", "old_string", "hand", "new_string", "foot"), "main/coder-2 had written b before, and something else changed it since")

	// Seen is what Read showed, and not what it refused.
	put(t, filepath.Join(d.env.Dir, "c"), "c\n", false)
	d.fails("Read", "path", "c", "offset", 9)
	contains(t, d.fails("Write", "file_path", "c", "content", ""), "you have not read it")
	put(t, filepath.Join(d.env.Dir, "empty"), "", false)
	d.read("empty")
	d.do("Write", "file_path", "empty", "content", "x")

	d.env.Ledger = nil // nobody keeps it: nothing is asked for
	d.do("Edit", "file_path", "c", "old_string", "c", "new_string", "d")
}

// What an edit is not about outlives it, in every way to make one.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after string }{
		"plain":           {"one\n", "two\n"},
		"CRLF":            {"one\r\n", "two\r\n"},
		"no final line":   {"one", "two"},
		"CRLF, no final":  {"x\r\none", "x\r\ntwo"},
		"byte order mark": {"\ufeffone\n", "\ufefftwo\n"},
		"mixed":           {"x\r\none\ny\r\nz\n", "x\r\ntwo\ny\r\nz\n"},
		"mixed, CRLF":     {"x\none\r\ny\n", "x\ntwo\r\ny\n"},
		"old encoding":    {"caf\xe9\none\nbl\xf6d\n", "caf\xe9\ntwo\nbl\xf6d\n"},
		"blanks":          {"\t x \none\n\n\n", "\t x \ntwo\n\n\n"},
		"lone returns":    {"a\rb\none\n\r\n", "a\rb\ntwo\n\r\n"},
	} {
		for call, input := range calls("f") {
			if call == "Write" {
				continue
			}
			t.Run(name+" "+call, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t, map[string]string{"f": c.before})
				file := filepath.Join(d.env.Dir, "f")
				if err := os.Chmod(file, 0o751); err != nil {
					t.Fatal(err)
				}
				d.read("f")
				if _, err := d.run(toolOf(call), input); err != nil {
					t.Fatal(err)
				}
				d.has("f", c.after)
				if info, err := os.Stat(file); err != nil || info.Mode() != 0o751 {
					t.Errorf("mode %v, %v", info.Mode(), err)
				}
				if entries, _ := os.ReadDir(d.env.Dir); len(entries) != 1 {
					t.Errorf("something was left behind: %v", entries)
				}
			})
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"crlf": "a\r\nb\r\n", "bom": "\ufeffa\n", "bin": "a\x00b", "folder/x": "x", "to-new": "-> made/by/link", "run.sh": "x"})
	equal(t, d.do("Write", "file_path", "new/deep/file.txt", "content", "hello"), "Created new/deep/file.txt (5 B).")
	d.has("new/deep/file.txt", "hello")
	d.do("Write", "file_path", "to-new", "content", "through a link inside")
	d.has("made/by/link", "through a link inside")
	d.read("crlf", "bom", "run.sh")
	equal(t, d.do("Write", "file_path", "crlf", "content", "c\nd\n"), "Wrote crlf (6 B). Its lines end in CR LF, as before.")
	d.has("crlf", "c\r\nd\r\n")
	d.do("Write", "file_path", filepath.Join(d.env.Dir, "bom"), "content", "b\n")
	d.has("bom", "\ufeffb\n")
	equal(t, d.do("Write", "file_path", "bom", "content", "b\n"), "Nothing changed: the files have this content already.")
	d.do("Write", "file_path", "empty", "content", "")
	d.has("empty", "")

	if err := os.Chmod(filepath.Join(d.env.Dir, "run.sh"), 0o555); err != nil {
		t.Fatal(err)
	}
	for input, want := range map[[2]string]string{
		{"run.sh", "y"}:     "run.sh is read-only",
		{"bin", "x"}:        "bin is a binary file",
		{"folder", "x"}:     "folder is a folder",
		{"folder/", "x"}:    "is a folder, not a file",
		{".", "x"}:          "is a folder, not a file",
		{"folder/x/y", "x"}: "a part of the path before the last is a file",
		{"a\nb", "x"}:       "control characters",
		{"nul", "a\x00"}:    "contains a NUL byte",
		{"large", strings.Repeat("x", maxFile+1)}: "would become too large (10 MB)",
		{"", "x"}:                       "the path is empty",
		{strings.Repeat("n", 256), "x"}: "too long to be a file name",
	} {
		contains(t, d.fails("Write", "file_path", input[0], "content", input[1]), want)
	}
}

// Below .git a file could be a hook, which git runs.
func TestGitIsNotWritten(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{".git/config": "one\n", ".git/hooks/x": "one\n", "alias": "-> .git", "sub/.git": "gitdir: x\n", "ok/.gitignore": "one\n", "f": "one\n"})
	for _, name := range []string{
		".git/config", ".git/hooks/pre-commit", "alias/config", "alias/hooks/new", "./.git/x", "f/../.git/config", "sub/.git", "other/.git", "other/.git/hooks/x",
		".GIT/config", ".Git/x", ".git./x", ".git /x", "GIT~1/x", ".g\u200cit/x", ".git::$INDEX_ALLOCATION/x", d.env.Dir + "/.git/config",
	} {
		for call, input := range calls(name) {
			before := snapshot(t, d.env.Dir)
			if _, err := d.run(toolOf(call), input); err == nil || !strings.Contains(err.Error(), "belongs to git") {
				t.Errorf("%s %s: %v", call, name, err)
			}
			unchanged(t, before, snapshot(t, d.env.Dir))
		}
		contains(t, d.fails("Patch", "operations", []any{map[string]any{"operation": "delete", "path": name}}), "belongs to git")
		d.read("f")
		contains(t, d.fails("Patch", "operations", []any{map[string]any{"operation": "rename", "path": "f", "to": name}}), "belongs to git")
	}
	d.read("ok/.gitignore")
	d.do("Edit", "file_path", "ok/.gitignore", "old_string", "one", "new_string", "two")
	d.do("Write", "file_path", ".github/x.git/a", "content", "")
}

func plan(t *testing.T, d *desk, name, input string) (tool.Action, error) {
	t.Helper()
	tl, ok := d.tools.Get(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return tl.Plan(t.Context(), d.env, json.RawMessage(input))
}

func TestPlan(t *testing.T) {
	t.Parallel()
	for call, input := range calls("f") {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, map[string]string{"f": "one\n"})
			if _, err := plan(t, d, toolOf(call), input); err == nil || !strings.Contains(err.Error(), "Read it first") {
				t.Errorf("a plan without a read: %v", err)
			}
			d.read("f")
			before := snapshot(t, d.env.Dir)
			a, err := plan(t, d, toolOf(call), input)
			if err != nil {
				t.Fatal(err)
			}
			unchanged(t, before, snapshot(t, d.env.Dir))
			equal(t, a.Shown, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two\n")
			if a.Class != tool.Writes || !slices.Equal(a.Paths, []string{"f"}) {
				t.Errorf("class %s, paths %q", a.Class, a.Paths)
			}
			again, err := plan(t, d, toolOf(call), input)
			if err != nil || again.Digest != a.Digest || a.Digest == "" {
				t.Errorf("another digest for the same: %v", err)
			}
			if err := os.Chmod(filepath.Join(d.env.Dir, "f"), 0o755); err != nil {
				t.Fatal(err)
			}
			if again, err = plan(t, d, toolOf(call), input); err != nil || again.Digest == a.Digest {
				t.Errorf("the digest does not see the mode: %v", err)
			}
		})
	}
}

func TestPlanShowsEverything(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{".env": "secret\n", "link": "-> .env", "old": "a\nb\n", "bin": "\x00\x01", "gone": "g\n"})
	d.read("link", "old", "gone")
	for input, want := range map[string][]string{
		`{"path":"link"}`: {"link", ".env"},
		`{"path":".env"}`: {".env"},
	} {
		a, err := plan(t, d, "Read", input)
		if err != nil || !slices.Equal(a.Paths, want) || a.Class != tool.Reads {
			t.Errorf("Read %s: %v, %v", input, a, err)
		}
	}
	for name, input := range map[string]string{"LS": `{}`, "Glob": `{"pattern":"*"}`, "Grep": `{"pattern":"x"}`} {
		if a, err := plan(t, d, name, input); err != nil || !slices.Equal(a.Paths, []string{"."}) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
		if _, err := plan(t, d, name, `{"path":"../x","pattern":"x"}`); err == nil {
			t.Errorf("%s plans to leave", name)
		}
	}
	a, err := plan(t, d, "Patch", object("operations", []any{
		map[string]any{"operation": "create", "path": "new", "text": "n\n"},
		map[string]any{"operation": "rename", "path": "old", "to": "sub/moved"},
		map[string]any{"operation": "replace", "path": "sub/moved", "old_string": "b", "new_string": "B"},
		map[string]any{"operation": "delete", "path": "bin"},
		map[string]any{"operation": "delete", "path": "gone"},
		map[string]any{"operation": "append_eof", "path": "link", "text": "x"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"new", "old", "sub/moved", "bin", "gone", "link", ".env"}; !slices.Equal(a.Paths, want) {
		t.Errorf("paths %q", a.Paths)
	}
	equal(t, a.Shown, `--- /dev/null
+++ b/new
@@ -0,0 +1 @@
+n
renamed or copied from old to sub/moved
--- a/old
+++ b/sub/moved
@@ -1,2 +1,2 @@
 a
-b
+B
binary file (2 B)
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-g
--- a/.env
+++ b/.env
@@ -1 +1,2 @@
 secret
+x
`)
	long, err := plan(t, d, "Write", object("file_path", "long", "content", strings.Repeat("ünder\n", 100_000)))
	if err != nil || len(long.Shown) > maxShown+200 || !strings.Contains(long.Shown, "are not shown]") {
		t.Errorf("%d bytes shown, %v", len(long.Shown), err)
	}
}

func TestCancelledWrite(t *testing.T) {
	t.Parallel()
	for call, input := range calls("f") {
		done := false
		for asks := 0; !done && asks < 60; asks++ {
			d := newDesk(t, map[string]string{"f": "one\n"})
			d.read("f")
			before := snapshot(t, d.env.Dir)
			tl, _ := d.tools.Get(toolOf(call))
			_, err := tl.Run(&countdown{Context: t.Context(), left: asks}, d.env, json.RawMessage(input))
			switch {
			case errors.Is(err, context.Canceled):
				unchanged(t, before, snapshot(t, d.env.Dir))
			case err != nil:
				t.Fatal(err)
			default:
				done = true
				d.has("f", "two\n")
			}
		}
		if !done {
			t.Errorf("%s never got to its end", call)
		}
	}
}

// Of many agents that edit one file at once, each knowing it as it was, one
// succeeds and the others are told.
func TestEditsAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"f": "one\n"})
	const agents = 20
	errs := make(chan error, agents)
	start := make(chan struct{})
	for i := range agents {
		env := d.env
		env.Agent = fmt.Sprintf("c.%d", i)
		if _, err := d.tools.Run(t.Context(), "Read", env, json.RawMessage(`{"path":"f"}`)); err != nil {
			t.Fatal(err)
		}
		go func() {
			<-start
			_, err := d.tools.Run(t.Context(), "Edit", env, json.RawMessage(object("file_path", "f", "old_string", "one\n", "new_string", fmt.Sprintf("one\n%d\n", i))))
			errs <- err
		}()
	}
	close(start)
	succeeded := 0
	for range agents {
		if err := <-errs; err == nil {
			succeeded++
		} else if !strings.Contains(err.Error(), "changed since you read it") {
			t.Error(err)
		}
	}
	if succeeded != 1 {
		t.Errorf("%d edits succeeded", succeeded)
	}
}
