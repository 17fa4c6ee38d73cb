// Tests of Edit and MultiEdit: what is replaced, and what they say of that
// which cannot be.

package files

import (
	"fmt"
	"strings"
	"testing"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, old, by string
		all             bool
		after, said     string
	}{
		"a word":                 {"a b c\n", "b", "x", false, "a x c\n", "Edited f, line 1."},
		"several lines":          {"1\n2\n3\n4\n", "2\n3\n", "x\n", false, "1\nx\n4\n", "Edited f, line 2."},
		"nothing in its place":   {"1\n2\n3\n", "2\n", "", false, "1\n3\n", "Edited f, line 2."},
		"all":                    {"a\nb\na\n", "a", "x", true, "x\nb\nx\n", "Edited f, 2 places, at lines 1, 3."},
		"all, one":               {"a\n", "a", "x", true, "x\n", "Edited f, line 1."},
		"all, growing":           {"aaa", "a", "aa", true, "aaaaaa", "Edited f, 3 places, at lines 1, 1, 1."},
		"LF in a CRLF file":      {"1\r\n2\r\n3\r\n", "1\n2", "x\ny", false, "x\r\ny\r\n3\r\n", "Edited f, line 1."},
		"CRLF in a LF file":      {"1\n2\n3\n", "1\r\n2", "x\r\ny", false, "x\ny\n3\n", "Edited f, line 1."},
		"across mixed ends":      {"1\n2\r\n3\n", "1\n2\n3", "x\ny", false, "x\ny\n", "Edited f, line 1."},
		"final newline added":    {"1\n2", "2", "2\n", false, "1\n2\n", "Edited f, line 2."},
		"final newline removed":  {"1\n2\n", "2\n", "2", false, "1\n2", "Edited f, line 2."},
		"mark in old_string":     {"\ufeff1\n", "\ufeff1", "2", false, "\ufeff2\n", "Edited f, line 1."},
		"ASCII in old encoding":  {"caf\xe9 x\n", "x", "y", false, "caf\xe9 y\n", "Edited f, line 1."},
		"next to other bytes":    {"caf\xe9\nx\n", "\nx", "\ny", false, "caf\xe9\ny\n", "Edited f, line 1."},
		"not a pattern":          {"a.b*c $1\n", "a.b*c $1", "\\1 $0", false, "\\1 $0\n", "Edited f, line 1."},
		"wide characters":        {"grüße 世界 🎉\n", "世界", "мир", false, "grüße мир 🎉\n", "Edited f, line 1."},
		"a file without newline": {"word", "word", "two\nlines", false, "two\nlines", "Edited f, line 1."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, map[string]string{"f": c.before})
			d.read("f")
			equal(t, d.do("Edit", "file_path", "f", "old_string", c.old, "new_string", c.by, "replace_all", c.all), c.said)
			d.has("f", c.after)
		})
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	code := "package x\n\nfunc a() {\n\tone()\n\ttwo()\n}\n\nfunc b() {\n\tone()\n}\n"
	for name, c := range map[string]struct {
		before, old, by string
		want            []string
	}{
		"not unique":      {code, "one()", "x", []string{"occurs 2 times in f, at lines 4, 9", "replace_all"}},
		"many":            {strings.Repeat("a\n", 50), "a", "x", []string{"occurs 50 times", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 …"}},
		"empty":           {code, "", "x", []string{"old_string is empty"}},
		"same":            {code, "two", "two", []string{"are the same"}},
		"same but ends":   {code, "one()\n\ttwo", "one()\r\n\ttwo", []string{"are the same"}},
		"indentation":     {code, "    one()\n    two()\n", "x", []string{"not found in f. Nearest are lines 4-5:\n     4\t\tone()\n     5\t\ttwo()\n", "differ in blanks or indentation only", `Line 4 is "\tone()", old_string has "    one()"`}},
		"case":            {code, "Func A() {", "x", []string{"Nearest is line 3", "upper and lower case only"}},
		"a typo":          {code, "func a() {\n\tone()\n\tthree()\n}", "x", []string{"Nearest are lines 3-6", `Line 5 is "\ttwo()", old_string has "\tthree()"`}},
		"quotes":          {"say “hello” – now\n", `say "hello" - now`, "x", []string{"the kind of quotes, dashes or blanks only"}},
		"line numbers":    {code, "     4\t\tone()\n     5\t\ttwo()", "x", []string{"begin with line numbers, which Read adds"}},
		"escaped":         {code, `one()\n\ttwo()`, "x", []string{`It would be found with a newline, tab or quote where it has \n`}},
		"past the end":    {"a line of text\n", "a line of text\nand another", "x", []string{"old_string goes on after the end of the file"}},
		"missing newline": {"a line of text", "a line of text\n", "x", []string{"old_string has a newline at its end, and the file has none there"}},
		"nothing like it": {code, "zzzzqqqq", "x", []string{"Nothing in the file is like it"}},
		"empty file":      {"", "a", "x", []string{"The file is empty"}},
		"part of a line":  {"the quick brown fox jumps over the lazy dog\n", "quick brown fix jumps", "x", []string{"Nearest is line 1"}},
		"old encoding":    {"caf\xe9\nx\n", "x", "é", []string{"not in UTF-8, so that only ASCII can be added"}},
		"NUL":             {code, "two", "a\x00", []string{"NUL byte"}},
		"too large":       {code, "two", strings.Repeat("x", maxFile), []string{"would become too large"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, map[string]string{"f": c.before})
			d.read("f")
			contains(t, d.fails("Edit", "file_path", "f", "old_string", c.old, "new_string", c.by), c.want...)
			good := map[string]any{"old_string": "x", "new_string": "y"}
			if strings.Contains(c.before, "x") {
				got := d.fails("MultiEdit", "file_path", "f", "edits", []any{good, map[string]any{"old_string": c.old, "new_string": c.by}})
				contains(t, got, "edit 2 of 2, and so none was made")
			}
		})
	}
	d := newDesk(t, map[string]string{"bin": "a\x00b", "late": strings.Repeat("x\n", headSize) + "a\x00", "big": strings.Repeat("x", maxFile+1), "dir/f": "", "utf16": "\xff\xfea\x00b\x00"})
	for name, want := range map[string]string{
		"bin": "bin is a binary file", "utf16": "is a binary file", "big": "big is too large (10 MB)", "dir": "dir is a folder",
		"bni": "bni does not exist; nearest in the working folder: bi", "late": "you have not read it",
	} {
		contains(t, d.fails("Edit", "file_path", name, "old_string", "a", "new_string", "b"), want)
	}
	d.read("late")
	contains(t, d.fails("Edit", "file_path", "late", "old_string", "a", "new_string", "b"), "late is a binary file")
}

func TestMultiEdit(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"f": "one\r\ntwo\r\nthree\r\n"})
	d.read("f")
	edit := func(old, by string) map[string]any { return map[string]any{"old_string": old, "new_string": by} }
	equal(t, d.do("MultiEdit", "file_path", "f", "edits", []any{
		edit("one", "1\n1"), edit("1\n1\ntwo", "2"), map[string]any{"old_string": "e", "new_string": "E", "replace_all": true},
	}), "Edited f:\n1. line 1\n2. line 1\n3. 2 places, at lines 2, 2")
	d.has("f", "2\r\nthrEE\r\n")
	// Each works on the outcome of those before: what they removed is gone.
	contains(t, d.fails("MultiEdit", "file_path", "f", "edits", []any{edit("thr", "x"), edit("thr", "y")}), "edit 2 of 2", "not found")
	contains(t, d.fails("MultiEdit", "file_path", "f", "edits", []any{}), "/edits: has 0 items")
}

// The worst files for it do not make looking for a place, or for the nearest
// one, take longer than their size does: were it to grow with their square,
// this test would not end.
func TestNearestIsQuick(t *testing.T) {
	t.Parallel()
	var numbered strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&numbered, "line %d\n", i)
	}
	for name, c := range map[string]struct{ text, old string }{
		"many lines":  {numbered.String(), strings.Repeat("line 77777\nline x\n", 500)},
		"empty lines": {strings.Repeat("\n", 500_000), strings.Repeat("\n", 10_000) + "x"},
		"same lines":  {strings.Repeat("a\n", 500_000), strings.Repeat("a\n", 10_000) + "b"},
		"one line":    {strings.Repeat("ab", maxFile/2), strings.Repeat("ab", 10_000) + "c"},
	} {
		d := newDesk(t, map[string]string{"f": c.text})
		d.read("f")
		for name, input := range map[string]string{
			"Edit":  object("file_path", "f", "old_string", c.old, "new_string", "x"),
			"Patch": object("patch", "*** Begin Patch\n*** Update File: f\n-"+strings.ReplaceAll(c.old, "\n", "\n-")+"\n+x\n*** End Patch"),
		} {
			if _, err := d.run(name, input); err == nil || !strings.Contains(err.Error(), "not found") || len(err.Error()) > 20_000 {
				t.Errorf("%s: %.1000v", name, err)
			}
		}
		if name == "many lines" {
			d.do("Edit", "file_path", "f", "old_string", "line 199999\n", "new_string", "x")
		}
	}
	d := newDesk(t, map[string]string{"f": strings.Repeat("\n", maxLines+1)})
	d.read("f")
	contains(t, d.fails("Edit", "file_path", "f", "old_string", "a", "new_string", "b"), "f has too many lines (1000001)")
}
