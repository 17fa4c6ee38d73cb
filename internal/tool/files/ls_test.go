// Tests of LS.

package files

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

func TestLS(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"b.txt": "12345", "a/x": "x", "Z": "", ".hidden": "1", ".git/config": "x", ".gitignore": "b.txt\n",
		"link": "-> a", "out": "-> /etc", "empty/": "", "new\nline": "x", "big": strings.Repeat("x", 1500),
	})
	want := ".git/\n.gitignore (6 B)\n.hidden (1 B)\nZ (0 B)\na/\nb.txt (5 B)\nbig (1.5 kB)\nempty/\nlink -> a\n\"new\\nline\" (1 B)\nout -> /etc\n"
	for _, input := range []string{``, `{}`, `{"path":""}`, `{"path":"."}`, `{"path":"a/.."}`, object("path", dir), object("path", dir+"/")} {
		equal(t, text(t, dir, "LS", input), want)
	}
	for input, want := range map[string]string{
		`{"path":"a"}`:     "x (1 B)\n",
		`{"path":"link"}`:  "x (1 B)\n",
		`{"path":"empty"}`: "empty is an empty folder.",
	} {
		equal(t, text(t, dir, "LS", input), want)
	}
	for input, want := range map[string]string{
		`{"path":"b.txt"}`: "b.txt is a file, not a folder",
		`{"path":"aa"}`:    "aa does not exist; nearest in the working folder: a/",
		`{"path":"out"}`:   "out is a link that leads outside the working folder",
	} {
		contains(t, refusal(t, dir, "LS", input), want)
	}
}

func TestLSLimits(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 1203 {
		files[fmt.Sprintf("f%04d", i)] = ""
	}
	dir := tree(t, files)
	got := text(t, dir, "LS", ``)
	if n := strings.Count(got, "\n"); n != 1001 {
		t.Errorf("%d lines", n)
	}
	if !strings.HasPrefix(got, "f0000 (0 B)\n") || !strings.HasSuffix(got, "f0999 (0 B)\n[and 203 more]\n") {
		t.Errorf("%q … %q", got[:20], got[len(got)-40:])
	}

	f, err := openFolder(tool.Env{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	res, err := listing(t.Context(), f, ".", 1100)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, message.Text(res.Parts), "[and at least 100 more]\n")
}

func TestLSLongNames(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 900 {
		files[filepath.Join("d", fmt.Sprintf("%03d%s", i, strings.Repeat("n", 240)))] = ""
	}
	got := text(t, tree(t, files), "LS", `{"path":"d"}`)
	if len(got) > maxOutput+1000 {
		t.Errorf("%d bytes", len(got))
	}
	contains(t, got, "[and ", " more]\n")
}
