// Tests of Glob.

package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

// aged sets the time of each file: the first is the newest, and names that
// are joined by a comma are of the same time.
func aged(t *testing.T, dir string, order ...string) {
	t.Helper()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, names := range order {
		at = at.Add(-time.Hour)
		for name := range strings.SplitSeq(names, ",") {
			if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestGlob(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"main.go": "x", "README.md": "x", "src/a.ts": "x", "src/b.tsx": "x", "src/deep/c.ts": "x", "src/deep/d.go": "x",
		".gitignore": "out/\n", "out/gen.go": "x", ".env": "x", "link.go": "-> src/deep/d.go", "dirlink.go": "-> src", "gone.go": "-> none",
		"a{b}.txt": "x", "with space/e.go": "x",
	})
	aged(t, dir, "src/deep/d.go", "with space/e.go,main.go", "src/b.tsx", "src/a.ts", "src/deep/c.ts", ".env,README.md", "a{b}.txt", ".gitignore", "out/gen.go")
	for input, want := range map[string]string{
		// link.go has the time of what it leads to.
		`{"pattern":"**/*.go"}`:                       "link.go\nsrc/deep/d.go\nmain.go\nwith space/e.go\n",
		`{"pattern":"*.go"}`:                          "link.go\nmain.go\n",
		`{"pattern":"./*.go"}`:                        "link.go\nmain.go\n",
		`{"pattern":"main.go"}`:                       "main.go\n",
		`{"pattern":"src/**/*.{ts,tsx}"}`:             "src/b.tsx\nsrc/a.ts\nsrc/deep/c.ts\n",
		`{"pattern":"**/*.{ts,tsx}"}`:                 "src/b.tsx\nsrc/a.ts\nsrc/deep/c.ts\n",
		`{"pattern":"*.ts","path":"src"}`:             "src/a.ts\n",
		`{"pattern":"**","path":"src/deep"}`:          "src/deep/d.go\nsrc/deep/c.ts\n",
		`{"pattern":"../*.md","path":"src"}`:          "README.md\n",
		`{"pattern":"src/[ab].*"}`:                    "src/b.tsx\nsrc/a.ts\n",
		`{"pattern":"src/?.ts"}`:                      "src/a.ts\n",
		`{"pattern":".*"}`:                            ".env\n.gitignore\n",
		`{"pattern":"a\\{b\\}.txt"}`:                  "a{b}.txt\n",
		`{"pattern":"out/*.go"}`:                      "out/gen.go\n", // named, so wanted
		`{"pattern":"*.go","path":"out"}`:             "out/gen.go\n",
		`{"pattern":"with space/*"}`:                  "with space/e.go\n",
		object("pattern", dir+"/src/*.ts"):            "src/a.ts\n",
		object("pattern", "*.ts", "path", dir+"/src"): "src/a.ts\n",
		`{"pattern":"*.rs"}`:                          "No file matches \"*.rs\". To look in all folders below, use \"**/*.rs\".\n",
		`{"pattern":"**/*.rs"}`:                       "No file matches \"**/*.rs\". Ignored files are left out.\n",
		`{"pattern":"**/gen.go"}`:                     "No file matches \"**/gen.go\". Ignored files are left out.\n",
	} {
		equal(t, text(t, dir, "Glob", input), want)
	}
	// The walk comes to a/b before a.go, and they are of one age.
	same := tree(t, map[string]string{"a.go": "", "a/b": "", "B": ""})
	aged(t, same, "a.go,a/b,B")
	equal(t, text(t, same, "Glob", `{"pattern":"**"}`), "B\na.go\na/b\n")

	for input, want := range map[string]string{
		`{"pattern":"[a"}`:                                          `"[a" is not a valid glob pattern`,
		`{"pattern":"{a,b"}`:                                        `"{a,b" is not a valid glob pattern`,
		`{"pattern":""}`:                                            "the glob pattern is empty",
		`{"pattern":"src/"}`:                                        `"src/" ends in a slash`,
		`{"pattern":"*/../*"}`:                                      "goes up by ..",
		`{"pattern":"../*"}`:                                        "outside the working folder",
		`{"pattern":"/etc/*"}`:                                      "outside the working folder",
		`{"pattern":"*","path":"main.go"}`:                          "main.go is a file, not a folder",
		`{"pattern":"*","path":"scr"}`:                              "scr does not exist; nearest in the working folder: src/",
		`{"pattern":"scr/*.go"}`:                                    "scr does not exist; nearest in the working folder: src/",
		object("pattern", strings.Repeat("a", 1001)):                "1001 bytes long",
		object("pattern", strings.Repeat("{a,b}", 12)):              "too many alternatives",
		object("pattern", "{"+strings.Repeat("a,", 480)+"}{a,b,c}"): "too many alternatives",
		`{"path":"src"}`:                                            `missing "pattern"`,
	} {
		contains(t, refusal(t, dir, "Glob", input), want)
	}
}

func TestGlobLimits(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 250 {
		files[fmt.Sprintf("f%03d", i)] = ""
	}
	dir := tree(t, files)
	for name := range files {
		aged(t, dir, name)
	}
	aged(t, dir, "f100,f000,f001") // no older than the others: the names decide
	later := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "f249"), later, later); err != nil {
		t.Fatal(err)
	}
	got := text(t, dir, "Glob", `{"pattern":"*"}`)
	if !strings.HasPrefix(got, "f249\nf000\nf001\nf002\n") || !strings.HasSuffix(got, "f197\nf198\n[and 50 more, older ones]\n") || strings.Count(got, "\n") != 201 {
		t.Errorf("got %q … %q", got[:30], got[len(got)-40:])
	}

	f, err := openFolder(tool.Env{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	res, err := glob(t.Context(), &walker{f: f, limit: 20}, globInput{Pattern: "*"})
	if err != nil {
		t.Fatal(err)
	}
	got = message.Text(res.Parts)
	if n := strings.Count(got, "\n"); n != 21 {
		t.Errorf("%d lines", n)
	}
	contains(t, got, "[incomplete: stopped after 20 files and folders; name a narrower path]\n")
}
