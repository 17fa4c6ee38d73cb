// Tests of Grep.

package files

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

func TestGrep(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a.go":        "package a\n\nfunc Alpha() {}\nfunc beta() {}\n",
		"b/c.go":      "package c\r\n// calls Alpha\r\n",
		"b/notes.txt": "alpha and Alpha",
		"bom.txt":     "\ufeffAlpha first\n",
		".gitignore":  "gen.go\n",
		"gen.go":      "func Alpha() {}\n",
		"bin":         "Alpha\x00Alpha",
		"link.go":     "-> a.go",
		"empty":       "",
		".git/x":      "Alpha",
	})
	for input, want := range map[string]string{
		`{"pattern":"Alpha"}`:                             "a.go:3: func Alpha() {}\nb/c.go:2: // calls Alpha\nb/notes.txt:1: alpha and Alpha\nbom.txt:1: Alpha first\n",
		`{"pattern":"^alpha","ignore_case":true}`:         "b/notes.txt:1: alpha and Alpha\nbom.txt:1: Alpha first\n",
		`{"pattern":"Alpha$"}`:                            "b/c.go:2: // calls Alpha\nb/notes.txt:1: alpha and Alpha\n",
		`{"pattern":"^func (\\w+)","glob":"*.go"}`:        "a.go:3: func Alpha() {}\na.go:4: func beta() {}\n",
		`{"pattern":"Alpha","glob":"b/*.go"}`:             "b/c.go:2: // calls Alpha\n",
		`{"pattern":"Alpha","glob":"**/*.txt"}`:           "b/notes.txt:1: alpha and Alpha\nbom.txt:1: Alpha first\n",
		`{"pattern":"Alpha","path":"b"}`:                  "b/c.go:2: // calls Alpha\nb/notes.txt:1: alpha and Alpha\n",
		`{"pattern":"Alpha","path":"b","glob":"./c.go"}`:  "b/c.go:2: // calls Alpha\n",
		`{"pattern":"Alpha","path":"b/c.go"}`:             "b/c.go:2: // calls Alpha\n",
		`{"pattern":"Alpha","path":"gen.go"}`:             "gen.go:1: func Alpha() {}\n", // named, so wanted
		`{"pattern":"Alpha","path":"link.go"}`:            "link.go:3: func Alpha() {}\n",
		object("pattern", "Alpha", "path", dir+"/b/c.go"): "b/c.go:2: // calls Alpha\n",
		`{"pattern":"Alpha","max":1}`:                     "a.go:3: func Alpha() {}\n[stopped at 1 matches; there may be more]\n",
		`{"pattern":"Alpha","path":"a.go","context":1}`:   "a.go-2- \na.go:3: func Alpha() {}\na.go-4- func beta() {}\n",
		`{"pattern":"Alpha","max":1,"context":1}`:         "a.go-2- \na.go:3: func Alpha() {}\na.go-4- func beta() {}\n[stopped at 1 matches; there may be more]\n",
		`{"pattern":"Omega"}`:                             "No match in 6 files.\n[binary files not searched: 1]\n",
		`{"pattern":"Alpha","path":"bin"}`:                "No match in 0 files.\n[binary files not searched: 1]\n",
		`{"pattern":"Alpha","glob":"*.rs"}`:               "No file matches the glob \"*.rs\", so nothing was searched.\n",
	} {
		equal(t, text(t, dir, "Grep", input), want)
	}
	for input, want := range map[string]string{
		`{"pattern":"("}`:                                    "not valid in Go's RE2 syntax",
		`{"pattern":"(?!x)"}`:                                "not valid in Go's RE2 syntax",
		`{"pattern":""}`:                                     "/pattern: has 0 characters, needs at least 1",
		`{"pattern":"x","context":6}`:                        "/context: must be at most 5",
		`{"pattern":"x","max":1001}`:                         "/max: must be at most 1000",
		`{"pattern":"x","glob":"[a"}`:                        `"[a" is not a valid glob pattern`,
		`{"pattern":"x","path":"a.og"}`:                      "a.og does not exist; nearest in the working folder: a.go",
		`{"pattern":"x","path":"../x"}`:                      "outside the working folder",
		`{"pattern":"x","ignoreCase":true}`:                  `unknown "ignoreCase"; known are "context", "glob", "ignore_case"`,
		`{"pattern":"((a{100}){100}){100}"}`:                 "not valid in Go's RE2 syntax",
		object("pattern", strings.Repeat("[a-z]{1000}", 90)): "too complex",
	} {
		contains(t, refusal(t, dir, "Grep", input), want)
	}
}

func TestGrepContext(t *testing.T) {
	t.Parallel()
	var numbers strings.Builder
	for i := 1; i <= 30; i++ {
		fmt.Fprintf(&numbers, "n%d\n", i)
	}
	dir := tree(t, map[string]string{"a": numbers.String(), "b": "n5\n"})
	equal(t, text(t, dir, "Grep", `{"pattern":"^n(1|5|7|11|20)$","context":2,"path":"a"}`), `a:1: n1
a-2- n2
a-3- n3
a-4- n4
a:5: n5
a-6- n6
a:7: n7
a-8- n8
a-9- n9
a-10- n10
a:11: n11
a-12- n12
a-13- n13
--
a-18- n18
a-19- n19
a:20: n20
a-21- n21
a-22- n22
`)
	equal(t, text(t, dir, "Grep", `{"pattern":"^n(5|30)$","context":1}`), `a-4- n4
a:5: n5
a-6- n6
--
a-29- n29
a:30: n30
--
b:1: n5
`)
}

// What is skipped unread must not have matched.
func TestNeedle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expr, needle, match string }{
		{"abc", "abc", "xabcx"},
		{"^abc$", "abc", "abc"},
		{"ab|cd", "", "cd"},
		{"(foo|bar)bazz", "bazz", "barbazz"},
		{"func (\\w+)\\(", "func ", "func x("},
		{"a.*longer.*b", "longer", "a longer b"},
		{"(?:needle)+", "needle", "needleneedle"},
		{"(?:needle){2,3}", "needle", "needleneedle"},
		{"(?:needle)*x", "x", "x"},
		{"(?:needle)?", "", ""},
		{"(?i)needle", "", "NEEDLE"},
		{"a(?i)b", "a", "aB"},
		{"über", "über", "über"},
		{"x\ufffd", "", "x\xff"},
		{"[a]bc", "abc", "abc"},
		{"", "", ""},
	} {
		m, err := newMatcher(c.expr, false)
		if err != nil {
			t.Fatal(err)
		}
		got := m.needle
		if string(got) != c.needle {
			t.Errorf("needle(%q) = %q, want %q", c.expr, got, c.needle)
		}
		if !regexp.MustCompile(c.expr).MatchString(c.match) || !strings.Contains(c.match, string(got)) {
			t.Errorf("%q: the needle %q is not in the match %q", c.expr, got, c.match)
		}
	}
	// The only match is where the buffer ends, or beyond.
	for _, n := range []int{0, 65530, 65531, 65535, 65536, 65537, 200_000} {
		dir := tree(t, map[string]string{"f": strings.Repeat("-", n/2) + "\n" + strings.Repeat("-", n-n/2) + " needle"})
		contains(t, text(t, dir, "Grep", `{"pattern":"n..dle$"}`), "f:2: ", "needle\n")
		contains(t, text(t, dir, "Grep", `{"pattern":"needle"}`), "f:2: ", "needle\n")
		equal(t, text(t, dir, "Grep", `{"pattern":"noodle"}`), "No match in 1 files.\n")
	}
}

// However it is matched, the answer is the same, and a context that ends is
// heard within a line.
func TestMatchLongLine(t *testing.T) {
	t.Parallel()
	line := []byte(strings.Repeat("é", 20_000) + "\xffxyz" + strings.Repeat("a", 20_000))
	for _, expr := range []string{"xyz", "x(y|z)+", "[a-z]{900}", "^é+", "a$", "nothing", "\\bxyz", "z{2}"} {
		m, err := newMatcher(expr, false)
		if err != nil {
			t.Fatal(err)
		}
		want := m.re.FindIndex(line)
		m.program = max(m.program, 1000) // so that it takes the careful way
		got, err := m.find(t.Context(), line)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", expr, got, err, want)
		}
		ctx := &countdown{Context: t.Context()}
		if got, err := m.find(ctx, line); !errors.Is(err, context.Canceled) {
			t.Errorf("%q in an ended context: %v, %v", expr, got, err)
		}
	}
}

func TestGrepLimits(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"long":    strings.Repeat("x", 50_000) + "NEEDLE" + strings.Repeat("y", 50_000) + "\n",
		"early":   "NEEDLE" + strings.Repeat("ä", 1000) + "\n",
		"huge":    strings.Repeat("x", 3<<20) + "NEEDLE\nnext NEEDLE\n",
		"many":    strings.Repeat("hay "+strings.Repeat("h", 250)+"\n", 3000),
		"zero":    strings.Repeat("text first\n", 2000) + "\x00 NEEDLE here\n",
		"invalid": "caf\xe9 NEEDLE\n",
	}
	dir := tree(t, files)
	grepped := func(pairs ...any) string { return text(t, dir, "Grep", object(pairs...)) }

	equal(t, grepped("pattern", "NEEDLE", "path", "long"), "long:1: …"+strings.Repeat("x", 75)+"NEEDLE"+strings.Repeat("y", 300-75-6)+"…\n")
	equal(t, grepped("pattern", "NEEDLE", "path", "early"), "early:1: NEEDLE"+strings.Repeat("ä", 294)+"…\n")
	equal(t, grepped("pattern", "NEEDLE", "path", "huge"), "huge:2: next NEEDLE\n[lines of which only the first MB was searched: 1]\n")
	equal(t, grepped("pattern", "NEEDLE", "path", "invalid"), "invalid:1: caf\ufffd NEEDLE\n")
	equal(t, grepped("pattern", "NEEDLE", "path", "zero"), "No match in 1 files.\n[binary files not searched: 1]\n")
	contains(t, grepped("pattern", "first", "path", "zero", "max", 1), "zero:1: text first\n")

	got := grepped("pattern", "hay", "path", "many")
	if n := strings.Count(got, "many:"); n != 100 {
		t.Errorf("%d matches", n)
	}
	contains(t, got, "[stopped at 100 matches; there may be more]\n")
	got = grepped("pattern", "hay", "path", "many", "max", 1000)
	if len(got) > maxOutput+1000 {
		t.Errorf("%d bytes", len(got))
	}
	contains(t, got, " matches, as one answer holds about 100 kB; there may be more]\n")

	f, err := openFolder(tool.Env{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	res, err := grep(t.Context(), &walker{f: f, limit: 3}, grepInput{Pattern: "no such thing"})
	if err != nil {
		t.Fatal(err)
	}
	contains(t, message.Text(res.Parts), "No match in 3 files.\n", "[incomplete: stopped after 3 files and folders; name a narrower path]\n")
}

// A search shows nothing of what may not be read, and says that there is more.
func TestGrepWithholds(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{".env": "before\nthe key\n", "main.go": "before\nthe key\n"})
	env := tool.Env{Dir: dir, MayRead: func(name string) bool { return name != ".env" }}
	res, err := runGrep(t.Context(), env, []byte(`{"pattern":"key","context":1}`))
	if err != nil {
		t.Fatal(err)
	}
	got := message.Text(res.Parts)
	if strings.Contains(got, ".env") || !strings.Contains(got, "main.go:2: the key") || !strings.Contains(got, "not shown") {
		t.Errorf("%s", got)
	}
}
