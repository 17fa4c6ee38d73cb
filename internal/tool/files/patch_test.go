// Tests of Patch in its three forms.

package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
)

const numbers = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"

func ops(list ...map[string]any) []any {
	var out []any
	for _, op := range list {
		out = append(out, op)
	}
	return out
}

func TestPatchOperations(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a": "1\r\n2\r\n", "b": "x", "c": "c\n", "d": "d\n", "e": "", "sub/run": "#!/bin/sh\n"})
	if err := os.Chmod(filepath.Join(d.env.Dir, "sub/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.read("a", "b", "c", "d", "e", "sub/run")
	res, err := d.run("Patch", object("path", "a", "operations", ops(
		map[string]any{"operation": "prepend_bof", "text": "0\n"},
		map[string]any{"operation": "append_eof", "text": "3"},
		map[string]any{"operation": "insert", "line": 2, "text": "1½"},
		map[string]any{"operation": "append_eof", "path": "b", "new_string": "y\nz\n"},
		map[string]any{"operation": "overwrite", "path": "c", "text": "C\n"},
		map[string]any{"operation": "overwrite", "path": "c2", "text": "new\n"},
		map[string]any{"operation": "delete", "path": "d"},
		map[string]any{"operation": "create", "path": "d", "text": "anew\n"},
		map[string]any{"operation": "append_eof", "path": "e", "text": "e"},
		map[string]any{"operation": "rename", "path": "sub/run", "to": "bin/tool"},
		map[string]any{"operation": "replace", "path": "bin/tool", "old_string": "sh", "new_string": "bash"},
		map[string]any{"operation": "create", "path": "passing", "text": "x"},
		map[string]any{"operation": "delete", "path": "passing"},
	)))
	if err != nil {
		t.Fatal(err)
	}
	d.has("a", "0\r\n1\r\n1½\r\n2\r\n3\r\n")
	d.has("b", "x\ny\nz") // the last line had no end, and has none
	d.has("c", "C\n")
	d.has("c2", "new\n")
	d.has("d", "anew\n")
	d.has("e", "e\n")
	d.has("bin/tool", "#!/bin/bash\n")
	if info, err := os.Stat(filepath.Join(d.env.Dir, "bin/tool")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode of a renamed file: %v, %v", info, err)
	}
	want := []tool.File{
		{Path: "a", Op: "modified"},
		{Path: "b", Op: "modified"},
		{Path: "c", Op: "modified"},
		{Path: "c2", Op: "created"},
		{Path: "d", Op: "modified"},
		{Path: "e", Op: "modified"},
		{Path: "sub/run", Op: "deleted"},
		{Path: "bin/tool", Op: "created"},
	}
	if !slices.Equal(res.Record.Files, want) {
		t.Errorf("record %v", res.Record.Files)
	}
	entries, _ := os.ReadDir(d.env.Dir)
	if len(entries) != 8 { // a b c c2 d e bin sub
		t.Errorf("left: %v", entries)
	}
}

func TestPatchOperationsRefuse(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a": numbers, "b": "b\n", "link": "-> a", "unread": "u"})
	d.read("a", "b")
	good := map[string]any{"operation": "overwrite", "path": "b", "text": "changed"}
	for name, c := range map[string]struct {
		op   map[string]any
		want string
	}{
		"create over":     {map[string]any{"operation": "create", "path": "a", "text": "x"}, "a exists already"},
		"replace nothing": {map[string]any{"operation": "replace", "path": "a", "old_string": "zz", "new_string": "x"}, "old_string was not found in a"},
		"insert too far":  {map[string]any{"operation": "insert", "path": "a", "line": 10, "text": "x"}, "after line 10, but the file has 9 lines"},
		"insert where":    {map[string]any{"operation": "insert", "path": "a", "text": "x"}, "line is missing"},
		"insert what":     {map[string]any{"operation": "append_eof", "path": "a"}, "text is empty"},
		"delete none":     {map[string]any{"operation": "delete", "path": "none"}, "none does not exist"},
		"delete a link":   {map[string]any{"operation": "delete", "path": "link"}, "link is a link to a: name the file itself"},
		"delete unread":   {map[string]any{"operation": "delete", "path": "unread"}, "Read it first"},
		"rename unread":   {map[string]any{"operation": "rename", "path": "unread", "to": "x"}, "Read it first"},
		"rename over":     {map[string]any{"operation": "rename", "path": "a", "to": "b"}, "b exists already"},
		"rename to self":  {map[string]any{"operation": "rename", "path": "a", "to": "./a"}, "a exists already"},
		"rename nowhere":  {map[string]any{"operation": "rename", "path": "a"}, "the path is empty"},
		"no path":         {map[string]any{"operation": "delete"}, "the path is empty"},
		"into a file":     {map[string]any{"operation": "create", "path": "a/b", "text": "x"}, "a part of the path before the last is a file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contains(t, d.fails("Patch", "operations", ops(good, c.op)), "operation 2 of 2 (", "and so none was made", c.want)
		})
	}
	contains(t, d.fails("Patch", "operations", ops(map[string]any{"operation": "delete", "path": "b"}, map[string]any{"operation": "append_eof", "path": "b", "text": "x"})), "deleted or renamed by an earlier operation")
	contains(t, d.fails("Patch", "operations", ops(map[string]any{"operation": "create", "path": "n", "text": "x"}, map[string]any{"operation": "create", "path": "n/m", "text": "x"})), "writing n")
	contains(t, d.fails("Patch"), "give either patch or operations")
	contains(t, d.fails("Patch", "patch", "x", "operations", ops(good)), "give either patch or operations")
	contains(t, d.fails("Patch", "operations", ops(map[string]any{"operation": "chmod"})), "/operations/0/operation")
}

func TestPatchEnvelope(t *testing.T) {
	t.Parallel()
	code := "class A:\n    def f(self):\n        pass\n\nclass B:\n    def f(self):\n        pass\n"
	for name, c := range map[string]struct{ before, body, after string }{
		"context":           {numbers, "@@\n 4\n-5\n+five\n 6\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"without @@":        {numbers, " 4\n-5\n+five\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"anchor":            {code, "@@ class B:\n     def f(self):\n-        pass\n+        return 1\n", strings.Replace(code, "class B:\n    def f(self):\n        pass", "class B:\n    def f(self):\n        return 1", 1)},
		"nested anchors":    {code, "@@ class B:\n@@     def f(self):\n-        pass\n+        return 1\n", strings.Replace(code, "class B:\n    def f(self):\n        pass", "class B:\n    def f(self):\n        return 1", 1)},
		"anchor in context": {code, "@@ class B:\n class B:\n-    def f(self):\n+    def g(self):\n", strings.Replace(code, "class B:\n    def f", "class B:\n    def g", 1)},
		"anchor in part":    {code, "@@ class B\n-        pass\n+        return 1\n", strings.Replace(code, "class B:\n    def f(self):\n        pass", "class B:\n    def f(self):\n        return 1", 1)},
		"several hunks":     {numbers, "@@\n-1\n+one\n@@\n-9\n+nine\n", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n"},
		"hunks in disorder": {numbers, "@@\n-9\n+nine\n@@\n-1\n+one\n", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n"},
		"numbers too":       {"a\nb\na\nb\n", "@@ -3,2 +3,2 @@\n-a\n+x\n b\n", "a\nb\nx\nb\n"},
		"end of file":       {"a\nb\na\nb\n", "@@\n a\n-b\n+x\n*** End of File\n", "a\nb\na\nx\n"},
		"only added":        {"a\n", "@@\n+b\n", "a\nb\n"},
		"added after line":  {"a\nb\n", "@@ a\n+x\n", "a\nx\nb\n"},
		"empty context":     {"a\n\nb\nc\n", "@@\n a\n\n-b\n+B\n", "a\n\nB\nc\n"},
		"blank at the end":  {"a\nb\n", "@@\n-a\n+A\n\n", "A\nb\n"},
		"trailing blanks":   {"a  \nb\t\nc\n", "@@\n a\n-b\n+B\n c\n", "a  \nB\nc\n"},
		"typographic":       {"x “y” – z\nb\n", "@@\n x \"y\" - z\n-b\n+B\n", "x “y” – z\nB\n"},
		"no final newline":  {"a\nb", "@@\n a\n-b\n+B\n+C\n", "a\nB\nC"},
		"all lines":         {"a\nb\n", "@@\n-a\n-b\n", ""},
		"stars in text":     {"a\n*** b\n", "@@\n a\n-*** b\n+*** c\n", "a\n*** c\n"},
		"CRLF":              {"a\r\nb\r\n", "@@\n a\n-b\n+B\n+C\n", "a\r\nB\r\nC\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, map[string]string{"f": c.before})
			d.read("f")
			d.do("Patch", "patch", "*** Begin Patch\n*** Update File: f\n"+c.body+"*** End Patch\n")
			d.has("f", c.after)
		})
	}

	d := newDesk(t, map[string]string{"a": numbers, "b": "b\n", "c": "c\n"})
	d.read("a", "b", "c")
	equal(t, d.do("Patch", "patch", `apply_patch <<'EOF'
*** Begin Patch
*** Add File: new/x.py
+def x():
+
+    pass
*** Update File: a
*** Move to: moved/a
@@
-1
+one

*** Delete File: b
*** Update File: c
*** Move to: moved/c
*** End Patch
EOF`), "created new/x.py\nedited a, 1 hunks\nrenamed a to moved/a\ndeleted b\nrenamed c to moved/c")
	d.has("new/x.py", "def x():\n\n    pass\n")
	d.has("moved/a", "one"+numbers[1:])
	d.has("moved/c", "c\n")
	if entries, _ := os.ReadDir(d.env.Dir); len(entries) != 2 {
		t.Errorf("left: %v", entries)
	}
}

func TestPatchEnvelopeRefuses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a": numbers, "twice": "x\ny\nx\ny\n", "b": "b\n"})
	d.read("a", "b", "twice")
	for body, want := range map[string]string{
		"*** Update File: a\n@@\n-ten\n+x\n":                                "hunk 1 of 1: its old lines were not found.",
		"*** Update File: a\n@@\n 3\n-4\n 6\n":                              "Line 5 is \"5\", the hunk has \"6\"",
		"*** Update File: a\n@@\n 4\n 5\n":                                  "without any line that begins with + or -",
		"*** Update File: a\n@@ 4\n":                                        "without any line that begins with + or -",
		"*** Update File: a\n":                                              "says nothing about what to update in a",
		"*** Update File: a\n@@\n?4\n":                                      "begin with a blank (context), + or -",
		"*** Update File: a\n@@ zebra\n-4\n+x\n":                            "the line \"zebra\" after @@ was not found",
		"*** Update File: a\n@@ 5\n-4\n+x\n":                                "occur only before line 5",
		"*** Update File: a\n@@\n-4\n-5\n+x\n@@\n-5\n+y\n":                  "two hunks change the same lines, near line 5",
		"*** Update File: twice\n@@\n-x\n+z\n":                              "occur 2 times, at lines 1, 3",
		"*** Update File: none\n@@\n-x\n+z\n":                               "none does not exist",
		"*** Add File: a\n+x\n":                                             "a exists already",
		"*** Add File: n\n+x\ny\n":                                          "line 4 of the patch, \"y\"",
		"*** Delete File: none\n":                                           "none does not exist",
		"*** Add File: n\n+x\n*** Update File: b\n*** Move to: a\n-b\n+c\n": "a exists already",
		"*** Rename File: n\n":                                              "a line such as",
		"":                                                                  "the patch is empty",
	} {
		contains(t, d.fails("Patch", "patch", "*** Begin Patch\n"+body+"*** End Patch\n"), want)
	}
	contains(t, d.fails("Patch", "patch", "*** Begin Patch\n*** Add File: n\n+x\n"), "no line \"*** End Patch\": was it cut off?")
	contains(t, d.fails("Patch", "patch", "*** Begin Patch\n*** Update File: a\n-1\n+x\n"), "no line \"*** End Patch\": was it cut off?")
	contains(t, d.fails("Patch", "patch", "*** Begin Patch\n*** Delete File: b\n*** End Patch\n*** Delete File: a\n"), "nothing may follow")
	contains(t, d.fails("Patch", "patch", "*** Begin Patch\n*** Delete File: b\n*** Update File: a\n-x\n+y\n*** End Patch\n"), "a, and so nothing was changed: hunk 1 of 1")
}

func TestPatchUnified(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, patch, after string }{
		"exact":             {numbers, "--- a/f\n+++ b/f\n@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"no prefix":         {numbers, "--- f\n+++ f\n@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"git, no prefix":    {numbers, "diff --git f f\n--- f\n+++ f\n@@ -5 +5 @@\n-5\n+five\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"git":               {numbers, "diff --git a/f b/f\nindex 1234567..89abcde 100644\n--- a/f\n+++ b/f\n@@ -5 +5 @@ func x\n-5\n+five\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"mail":              {numbers, "From x\nSubject: y\n\n---\n f | 2 +-\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -5 +5 @@\n-5\n+five\n-- \n2.43.0\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"wrong lines":       {numbers, "--- a/f\n+++ b/f\n@@ -40,3 +44,3 @@\n 4\n-5\n+five\n 6\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"counts too small":  {numbers, "--- a/f\n+++ b/f\n@@ -4,1 +4,1 @@\n 4\n-5\n+five\n 6\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"counts too large":  {numbers, "--- a/f\n+++ b/f\n@@ -4,9 +4,9 @@\n 4\n-5\n+five\n 6\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"no numbers":        {numbers, "--- a/f\n+++ b/f\n@@\n 4\n-5\n+five\n 6\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"dots":              {numbers, "--- a/f\n+++ b/f\n@@ ... @@\n 4\n-5\n+five\n 6\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"fenced":            {numbers, "```diff\n--- a/f\n+++ b/f\n@@ -5 +5 @@\n-5\n+five\n```\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		"two hunks":         {numbers, "--- a/f\n+++ b/f\n@@ -1,2 +1,1 @@\n-1\n 2\n@@ -8,2 +7,3 @@\n 8\n+8½\n 9\n", "2\n3\n4\n5\n6\n7\n8\n8½\n9\n"},
		"nearest of many":   {"a\nb\na\nb\na\nb\n", "--- a/f\n+++ b/f\n@@ -3,2 +3,2 @@\n-a\n+x\n b\n", "a\nb\nx\nb\na\nb\n"},
		"same drift":        {"0\n0\n0\na\nq\na\nw\na\n", "--- a/f\n+++ b/f\n@@ -2,1 +2,1 @@\n-q\n+Q\n@@ -3,1 +3,1 @@\n-a\n+A\n", "0\n0\n0\na\nQ\nA\nw\na\n"},
		"empty context":     {"a\n\nb\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n", "a\n\nB\n"},
		"insert without":    {numbers, "--- a/f\n+++ b/f\n@@ -3,0 +4 @@\n+3½\n", "1\n2\n3\n3½\n4\n5\n6\n7\n8\n9\n"},
		"at the start":      {numbers, "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+0\n", "0\n" + numbers},
		"newline added":     {"a\nb", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"},
		"newline removed":   {"a\nb\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb"},
		"newline kept":      {"a\nb", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\nB"},
		"removed dashes":    {"-- a\n++ b\nc\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n--- a\n-++ b\n+-- x\n+++ y\n c\n", "-- x\n++ y\nc\n"},
		"CRLF patch":        {"a\nb\n", "--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+B\r\n", "a\nB\n"},
		"CRLF file":         {"a\r\nb\r\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\r\nB\r\n"},
		"time stamps":       {"a\n", "--- f\t2026-01-01 00:00:00.0 +0000\n+++ f\t2026-01-02 00:00:00.0 +0000\n@@ -1 +1 @@\n-a\n+b\n", "b\n"},
		"only hunks":        {"a\n", "@@ -1 +1 @@\n-a\n+b\n", "b\n"},
		"becomes empty":     {"a\n", "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n", ""},
		"trailing newlines": {"a\nb\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\n\n", "A\nb\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, map[string]string{"f": c.before})
			d.read("f")
			d.do("Patch", "patch", c.patch, "path", "f")
			d.has("f", c.after)
		})
	}

	d := newDesk(t, map[string]string{"mod": numbers, "del": "x\n", "old name": "1\n2\n3\n", "src": "s\n", "tool": "#!/bin/sh\n", "gone/bin": "\x00"})
	d.read("mod", "del", "old name", "src", "tool")
	equal(t, d.do("Patch", "patch", `diff --git a/mod b/mod
--- a/mod
+++ b/mod
@@ -20,1 +1,1 @@
-9
+nine
diff --git a/del b/del
deleted file mode 100644
--- a/del
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/old name b/new name
similarity index 50%
rename from old name
rename to new name
--- a/old name
+++ b/new name
@@ -1,3 +1,3 @@
 1
-2
+two
 3
diff --git a/src b/copy
similarity index 100%
copy from src
copy to copy
diff --git a/tool b/tool
old mode 100644
new mode 100755
diff --git a/dir/run b/dir/run
new file mode 100755
--- /dev/null
+++ b/dir/run
@@ -0,0 +1 @@
+run
\ No newline at end of file
diff --git a/gone/bin b/gone/bin
deleted file mode 100644
diff --git a/empty b/empty
new file mode 100644
`), "edited mod, 1 hunks (hunk 1 was found at line 9)\ndeleted del\nedited old name, 1 hunks\nrenamed old name to new name\ncopied src to copy\nchanged the mode of tool\ncreated dir/run\ndeleted gone/bin\ncreated empty")
	d.has("mod", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
	d.has("new name", "1\ntwo\n3\n")
	d.has("copy", "s\n")
	d.has("src", "s\n")
	d.has("dir/run", "run")
	d.has("empty", "")
	for name, want := range map[string]os.FileMode{"tool": 0o755, "dir/run": 0o755, "copy": 0o644, "empty": 0o644} {
		if info, err := os.Stat(filepath.Join(d.env.Dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	for _, name := range []string{"del", "old name", "gone/bin"} {
		if _, err := os.Stat(filepath.Join(d.env.Dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// A folder may be called as the prefix of a diff.
func TestPatchNames(t *testing.T) {
	t.Parallel()
	body := "@@ -1 +1 @@\n-one\n+two\n"
	for patch, want := range map[string]string{
		"--- a/x\n+++ b/x\n" + body:                                     "x",
		"--- x\n+++ x\n" + body:                                         "x",
		"--- a/only\n+++ a/only\n" + body:                               "a/only",
		"--- a/a/x\n+++ b/a/x\n" + body:                                 "a/x",
		"diff --git a/a/x b/a/x\n--- a/a/x\n+++ b/a/x\n" + body:         "a/x",
		"diff --git a/x b/x\n--- a/x\n+++ b/x\n" + body:                 "x",
		"diff --git sub/x sub/x\n--- sub/x\n+++ sub/x\n" + body:         "sub/x",
		"--- sub/x\n+++ sub/x\n" + body:                                 "sub/x",
		"--- \"a/s p\\303\\244ce\"\n+++ \"b/s p\\303\\244ce\"\n" + body: "s päce",
	} {
		d := newDesk(t, map[string]string{"x": "one\n", "a/x": "one\n", "a/only": "one\n", "sub/x": "one\n", "s päce": "one\n"})
		d.env.Ledger = nil
		res, err := d.run("Patch", object("patch", patch))
		if err != nil || !slices.Equal(res.Record.Files, []tool.File{{Path: want, Op: "modified"}}) {
			t.Errorf("%q changed %v, %v", patch, res.Record.Files, err)
		}
	}
	d := newDesk(t, map[string]string{"sub/x": "one\n"})
	d.read("sub/x")
	d.do("Patch", "patch", "diff --git sub/x sub/x\ndeleted file mode 100644\n--- sub/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\ndiff --git sub/y sub/y\nnew file mode 100644\n--- /dev/null\n+++ sub/y\n@@ -0,0 +1 @@\n+y\n")
	d.has("sub/y", "y\n")
}

func TestPatchUnifiedRefuses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"f": numbers, "twice": "x\ny\nx\n", "g": "g\n"})
	d.read("f", "g", "twice")
	head := "--- a/f\n+++ b/f\n"
	for patch, want := range map[string]string{
		"just text":             "the patch names no file",
		"@@ -1 +1 @@\n-1\n+x\n": "a hunk comes before the name of its file",
		head:                    "names no file",
		head + "-1\n+x\n":       "belongs to no hunk",
		head + "@@ -1 +1 @@\n":  "a hunk without lines",
		head + "@@ -1 +1 @@\n-1\n+one\nstray\n-2\n+two\n":                                                 "line 7 of the patch, \"-2\", belongs to no hunk",
		head + "@@ -1,2 +1,2 @@\n 1\n 2\n":                                                                "contains no changes",
		head + "@@ -1 +1 @@\n-ten\n+x\n":                                                                  "its old lines were not found",
		head + "@@ -4 +4,2 @@\n+x\n":                                                                      "it has no context lines",
		head + "@@ -40,0 +41 @@\n+x\n":                                                                    "after line 40, but the file has 9 lines",
		"--- a/twice\n+++ b/twice\n@@ -2 +2 @@\n-x\n+z\n":                                                 "occur 2 times, at lines 1, 3",
		"--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n":                                                     "f exists already",
		"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n":                                                     "does not remove all of its lines",
		"--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n":                                           "were not found",
		"--- a/none\n+++ b/none\n@@ -1 +1 @@\n-1\n+x\n":                                                   "none does not exist",
		"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n": "would be a link or a submodule",
		"diff --git a/x b/x\nnew file mode 100644\nGIT binary patch\nliteral 3\nzcmXX\n":                  "binary file",
		"diff --git a/f b/g\nrename from f\nrename to g\n":                                                "g exists already",
		head + "@@ -1 +1 @@\n-1\n+one\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n":                           "g, and so nothing was changed",
	} {
		contains(t, d.fails("Patch", "patch", patch), want)
	}
}
