// Fuzzing of edits and patches, which come from models and so from anywhere.
// A plain test runs the seeds; for a brief run see FuzzEdit.

package files

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"

	"github.com/cadre-dev/cadre/internal/tool"
)

// FuzzEdit checks an edit against plain replacing.
//
//	go test ./internal/tool/files -run '^$' -fuzz '^FuzzEdit$' -fuzztime 10s -fuzzminimizetime 10x
func FuzzEdit(f *testing.F) {
	f.Add([]byte("one\ntwo\n"), "one", "1", false)
	f.Add([]byte("one\r\ntwo\r\n"), "one\ntwo", "1\n2", false)
	f.Add([]byte("\ufeffa\r\nb\nc"), "a\nb", "x\ny", true)
	f.Add([]byte("aaa"), "a", "", true)
	f.Add([]byte("\xff\xfe\r\r\n\n"), "\r\n", "\n\n", true)
	f.Add([]byte(""), "", "x", false)
	f.Add([]byte("a\n b\n"), "    12\ta", "\ufeff", false)
	f.Fuzz(func(t *testing.T, data []byte, old, by string, all bool) {
		file := &draftFile{asked: "f", before: data, after: data}
		if got := parseText(data).String(); got != string(data) {
			t.Fatalf("%q became %q by reading", data, got)
		}
		text, _, err := replaceText(file, replacement{old, by, all})
		if err != nil {
			if text != "" {
				t.Fatal("a text with an error")
			}
			return
		}
		// But for line ends it is what the standard library does.
		plainOf := func(s string) string { return toNewlines(strings.TrimPrefix(s, bom)) }
		wanted := strings.TrimPrefix(toNewlines(old), bom)
		n := 1
		if all {
			n = -1
		}
		want := strings.Replace(plainOf(string(data)), wanted, toNewlines(by), n)
		got := strings.TrimPrefix(text, bom)
		if !strings.HasPrefix(string(data), bom) {
			got = text
		}
		if strings.Contains(want, "\r") { // a lone return next to a newline can look like one end
			return
		}
		if toNewlines(got) != want {
			t.Fatalf("%q with %q by %q: %q, want %q", data, old, by, got, want)
		}
		if !bytes.Contains(data, []byte("\r")) && !strings.Contains(by, "\r") && strings.Contains(text, "\r") {
			t.Fatalf("returns came into %q: %q", data, text)
		}
	})
}

// FuzzPatchEnvelope checks that reading and applying an envelope never
// crashes, and that the lines it does not mention stay.
func FuzzPatchEnvelope(f *testing.F) {
	for _, body := range []string{
		"*** Update File: f\n@@\n 4\n-5\n+five\n", "*** Update File: f\n@@ 3\n-4\n*** End of File\n", "*** Add File: x\n+a\n*** Delete File: f\n",
		"*** Update File: f\n*** Move to: g\n@@ -3,1 +3,2 @@\n 3\n+x\n", "*** Update File: f\n@@ a\n@@ b @@\n\n+\n-\n", "*** Update File: f\n@@ -99999999999999999999 +1 @@\n-1\n+x\n",
		"*** Update File: f\n+x\n@@\n-9\n*** End of File\n",
	} {
		f.Add([]byte(numbers), "*** Begin Patch\n"+body+"*** End Patch\n")
	}
	f.Add([]byte("a\r\n\r\nb"), "x\n*** Begin Patch\n*** Update File: f\n a\n\n-b\n+c\n*** End Patch\nEOF\n")
	f.Fuzz(func(t *testing.T, data []byte, patch string) {
		if !isEnvelope(patch) {
			return
		}
		files, err := parseEnvelope(patch)
		if err != nil {
			return
		}
		applied(t, data, files)
	})
}

// applied applies what was read from a patch and checks the lines that stay.
func applied(t *testing.T, data []byte, files []*filePatch) {
	t.Helper()
	for _, fp := range files {
		if fp.verb != patchUpdate || len(fp.hunks) == 0 {
			continue
		}
		text, _, err := applyHunks(t.Context(), data, fp.hunks)
		if err != nil {
			continue
		}
		gone, come := 0, 0
		for _, h := range fp.hunks {
			for _, l := range h.lines {
				switch l.op {
				case '-':
					gone++
				case '+':
					come++
				}
			}
		}
		had, has := len(parseText(data).lines), len(parseText([]byte(text)).lines)
		// A last line that is empty and not ended is no line.
		if has != had-gone+come && has != had-gone+come-1 {
			t.Fatalf("%d lines less %d plus %d are %d: %q became %q", had, gone, come, has, data, text)
		}
	}
}

// FuzzUnifiedDiff checks that a diff leads from one text to the other, however
// wrong its counts and line numbers are, and that no diff crashes.
func FuzzUnifiedDiff(f *testing.F) {
	f.Add(numbers, strings.Replace(numbers, "5", "five", 1), 3, "")
	f.Add("a\nb", "a\nb\nc\n", -2, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n")
	f.Add("a\n\n\nb\n", "", 0, "diff --git a/f b/g\nrename from f\nrename to g\n")
	f.Add("-- x\n++ y\n", "-- y\n++ x\n@@ z\n", 1, "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n")
	f.Add("", "x", 7, "@@ -1,9 +1,9 @@\n x\n\n\n-\n")
	f.Add("x", "y", 7, "GIT binary patch\nliteral 0\n")
	f.Fuzz(func(t *testing.T, before, after string, off int, junk string) {
		if files, err := parseUnified(junk, "f"); err == nil {
			applied(t, []byte(before), files)
		}
		if before == after || before == "" || strings.ContainsAny(before+after, "\r\x00\ufeff") {
			return
		}
		diff := udiff.Unified("a/f", "b/f", before, after)
		files, err := parseUnified(diff, "")
		if err != nil {
			t.Fatalf("reading\n%s: %v", diff, err)
		}
		got, _, err := applyHunks(t.Context(), []byte(before), files[0].hunks)
		if err != nil || got != after {
			t.Fatalf("%q, %v, want %q by\n%s", got, err, after, diff)
		}
		// With wrong numbers it leads there too, or is refused; it may find
		// another place that looks the same, but then the hunk fits there.
		off %= 50
		for _, h := range files[0].hunks {
			if !h.after {
				h.line = max(1, h.line+off)
			}
		}
		applied(t, []byte(before), files)
	})
}

// FuzzApply runs Patch with any text in a folder: if it fails, nothing there
// has changed, and whatever happens, nothing outside.
func FuzzApply(f *testing.F) {
	for _, patch := range []string{
		"*** Begin Patch\n*** Update File: f\n-1\n+one\n*** Delete File: none\n*** End Patch\n",
		"*** Begin Patch\n*** Add File: ../outside\n+x\n*** End Patch\n",
		"*** Begin Patch\n*** Update File: f\n*** Move to: ../outside\n-1\n+x\n*** End Patch\n",
		"*** Begin Patch\n*** Add File: .git/hooks/x\n+x\n*** End Patch\n",
		"*** Begin Patch\n*** Delete File: f\n*** Add File: f/g\n+x\n*** End Patch\n",
		"*** Begin Patch\n*** Add File: link/x\n+x\n*** Delete File: sub/g\n*** End Patch\n",
		"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+one\n--- a/sub/g\n+++ b/sub/g\n@@ -1 +1 @@\n-x\n+y\n",
		"diff --git a/f b/sub/h\nrename from f\nrename to sub/h\n",
		"--- /dev/null\n+++ b/../outside\n@@ -0,0 +1 @@\n+x\n",
	} {
		f.Add(patch)
	}
	f.Fuzz(func(t *testing.T, patch string) {
		dir := t.TempDir()
		work := filepath.Join(dir, "work")
		put(t, filepath.Join(dir, "outside"), "out\n", false)
		put(t, filepath.Join(work, "f"), numbers, false)
		put(t, filepath.Join(work, "sub", "g"), "g\n", false)
		put(t, filepath.Join(work, "link"), "-> ..", false)
		before, outer := snapshot(t, work), outside(t, dir)
		_, err := use(t, work, "Patch", object("patch", patch))
		if err != nil {
			unchanged(t, before, snapshot(t, work))
		}
		unchanged(t, outer, outside(t, dir))
		for name := range snapshot(t, work) {
			if strings.HasSuffix(name, ".tmp") || strings.Contains(strings.ToLower(name), "/.git/") {
				t.Errorf("%s has come into being", name)
			}
		}
		_, _ = (&writer{}).patchTool().Plan(t.Context(), tool.Env{Dir: work}, []byte(object("patch", patch)))
	})
}
