// Tests of ignore files, with git itself as the judge where it is installed.

package files

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ignoreCases: a .gitignore, a path, whether git ignores it. A path that ends
// in / is a folder.
var ignoreCases = []struct {
	rules, path string
	ignored     bool
}{
	{"*.log", "a.log", true},
	{"*.log", "x/y/a.log", true},
	{"*.log", "a.logs", false},
	{"build", "build/", true},
	{"build", "x/build", true},
	{"build/", "build/", true},
	{"build/", "build", false},
	{"/build", "build", true},
	{"/build", "x/build", false},
	{"foo/bar", "foo/bar", true},
	{"foo/bar", "x/foo/bar", false},
	{"/foo/bar/", "foo/bar/", true},
	{"src/*", "src/a", true},
	{"src/*", "x/src/a", false},
	{"src/*.o", "src/a/b.o", false},
	{"file?.txt", "file1.txt", true},
	{"file?.txt", "file.txt", false},
	{"file?.txt", "file12.txt", false},
	{"*.py[cod]", "a.pyc", true},
	{"*.py[cod]", "a.py", false},
	{"[!a].txt", "b.txt", true},
	{"[!a].txt", "a.txt", false},
	{"[^a].txt", "b.txt", true},
	{"[a-c].txt", "b.txt", true},
	{"[]x].txt", "].txt", true},
	{"[!]x].txt", "y.txt", true},
	{"[!]x].txt", "].txt", false},
	{"[a", "[a", false},
	{"c++", "c++", true},
	{"a(1).txt", "a(1).txt", true},
	{"$tmp", "$tmp", true},
	{"^x", "^x", true},
	{"v1.0|old", "v1.0|old", true},
	{"v1.0", "v1x0", false},
	{"{a,b}", "a", false},
	{"{a,b}*", "{a,b}c", true},
	{"#x", "#x", false},
	{`\#x`, "#x", true},
	{`\!x`, "!x", true},
	{"x   ", "x", true},
	{`x\ `, "x ", true},
	{`x\ `, "x", false},
	{`a\*b`, "a*b", true},
	{`a\*b`, "axb", false},
	{"**/foo", "foo", true},
	{"**/foo", "a/b/foo", true},
	{"**/foo/bar", "a/foo/bar", true},
	{"abc/**", "abc/x", true},
	{"abc/**", "abc/x/y", true},
	{"abc/**", "abc/", false},
	{"a/**/b", "a/b", true},
	{"a/**/b", "a/x/y/b", true},
	{"a/**/b", "x/a/b", false},
	{"**", "a", true},
	{"a**b", "axxb", true},
	{"*", ".hidden", true},
	{"*.log\n!keep.log", "keep.log", false},
	{"*.log\n!keep.log", "x/keep.log", false},
	{"!keep.log\n*.log", "keep.log", true},
	{"/*\n!/src", "src/", false},
	{"/*\n!/src", "lib/", true},
	{"*.log\r\n*.tmp\r\n", "a.tmp", true},
	{"\ufeff*.log", "a.log", true},
	{"/", "a", false},
	{"\n\n  \n", "a", false},
	{"a b", "a b", true},
	{"grün*", "grünes", true},
	{"foo/", "x/foo/", true},
	{`trailing\`, "trailing", false},
}

func TestIgnoreRules(t *testing.T) {
	t.Parallel()
	for _, c := range ignoreCases {
		s := &scope{folder: ".", gitignore: parseRules(c.rules)}
		path, isFolder := strings.CutSuffix(c.path, "/")
		if got := s.excludes(path, isFolder); got != c.ignored {
			t.Errorf("%q on %q: %v, want %v", c.rules, c.path, got, c.ignored)
		}
	}
}

// The table above is what git says.
func TestIgnoreCasesAreGits(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	for _, c := range ignoreCases {
		dir := tree(t, map[string]string{c.path: "", ".gitignore": c.rules})
		run := func(args ...string) error {
			cmd := exec.CommandContext(t.Context(), git, args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
			return cmd.Run()
		}
		if err := run("init", "-q"); err != nil {
			t.Fatal(err)
		}
		err := run("check-ignore", "-q", "--", strings.TrimSuffix(c.path, "/"))
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatalf("%q on %q: %v", c.rules, c.path, err)
		}
		if got := err == nil; got != c.ignored {
			t.Errorf("git, %q on %q: %v, the table says %v", c.rules, c.path, got, c.ignored)
		}
	}
}
