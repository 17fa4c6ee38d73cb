// keyword_search over small trees, with ripgrep and without.

package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// object writes a JSON object of pairs of key and value.
func object(pairs ...any) json.RawMessage {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func use(t *testing.T, o Options, dir string, input json.RawMessage) (string, error) {
	t.Helper()
	r, err := tool.New(Keyword(o))
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Run(t.Context(), "keyword_search", tool.Env{Dir: dir}, input)
	return message.Text(res.Parts), err
}

// both runs a search with ripgrep, if it is there, and without, and wants the
// same answer.
func both(t *testing.T, dir string, input json.RawMessage) string {
	t.Helper()
	without, err := use(t, Options{NoRipgrep: true}, dir, input)
	if err != nil {
		t.Fatalf("%s: %v", input, err)
	}
	with, err := use(t, Options{}, dir, input)
	if err != nil {
		t.Fatalf("%s: %v", input, err)
	}
	if with != without {
		t.Errorf("%s: with ripgrep\n%s\nwithout\n%s", input, with, without)
	}
	return without
}

// paths lists the files of an answer in its order.
func paths(answer string) []string {
	var out []string
	for line := range strings.SplitSeq(answer, "\n") {
		name, _, ok := strings.Cut(line, ":")
		if only, match := strings.CutSuffix(line, " (its path matches)"); match {
			name, ok = only, true
		}
		if ok && !strings.Contains(name, " ") && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func contains(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("%.2000q does not contain %q", got, want)
		}
	}
}

var shop = map[string]string{
	"cart/checkout.go": "package cart\n\n// Checkout takes the money.\nfunc Checkout(c Cart) error {\n\treturn charge(c)\n}\n",
	"cart/cart.go":     "package cart\n\ntype Cart struct{}\n\nfunc total() int { return 0 } // used at checkout\n",
	"pay/card.go":      "package pay\n\nfunc charge() error { return errDeclined }\n\nvar errDeclined = New(\"card declined\")\n",
	"pay/noise.go":     "package pay\n\n// error error error\n",
	"README.md":        "# Shop\n\nRun it.\n",
	"docs/checkout":    "see the code\n",
}

func TestSearchRanks(t *testing.T) {
	t.Parallel()
	dir := tree(t, shop)
	tests := []struct {
		name  string
		input json.RawMessage
		want  []string
	}{
		{"definition and path before mention", object("query", "checkout"), []string{"cart/checkout.go", "cart/cart.go", "docs/checkout"}},
		{"rare before common", object("query", "x", "keywords", []string{"error", "declined"}), []string{"pay/card.go", "cart/checkout.go", "pay/noise.go"}},
		{"words of a question", object("query", "Where is the card being DECLINED?"), []string{"pay/card.go"}},
		{"in a folder", object("query", "checkout", "path", "docs"), []string{"docs/checkout"}},
		{"in a file", object("query", "checkout", "path", "cart/cart.go"), []string{"cart/cart.go"}},
		{"by glob", object("query", "checkout", "glob", "*.go"), []string{"cart/checkout.go", "cart/cart.go"}},
		{"headings", object("query", "shop"), []string{"README.md"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := paths(both(t, dir, tc.input)); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	got := both(t, dir, object("query", "checkout"))
	contains(t, got, "3 of 6 files match (checkout 3), best first:\n", "cart/checkout.go:4: func Checkout(c Cart) error {\n", "\ndocs/checkout (its path matches)\n")
	contains(t, both(t, dir, object("query", "zebra")), "None of zebra is in any of the 6 files")
}

// Each part of the score decides where all else is equal; the names are such
// that the order of names would say the opposite.
func TestScore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		words []string
		first string
	}{
		{"a definition", map[string]string{"a": "call pump\n", "b": "func pump\n"}, []string{"pump"}, "b"},
		{"a rare word", map[string]string{"a": "common\n", "b": "rare\n", "c": "common\n", "d": "common\n"}, []string{"common", "rare"}, "b"},
		{"many lines", map[string]string{"a": "pump\n", "b": "pump\npump\npump\n"}, []string{"pump"}, "b"},
		{"the path", map[string]string{"a": "pump\n", "pump": "pump\n"}, []string{"pump"}, "pump"},
		{"together in a line", map[string]string{"a": "pump\nvalve\n", "b": "pump valve\n"}, []string{"pump", "valve"}, "b"},
		{"more of the words", map[string]string{"a": "pump pump\n", "b": "pump valve\n", "c": "valve valve"}, []string{"pump", "valve"}, "b"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := paths(both(t, tree(t, tc.files), object("query", "x", "keywords", tc.words))); got[0] != tc.first {
				t.Errorf("got %q, want %q first", got, tc.first)
			}
		})
	}
}

func TestSearchIsTheSameWithoutRipgrep(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("ripgrep is not here")
	}
	dir := tree(t, map[string]string{
		".gitignore":          "*.log\n/build/\n!keep.log\n",
		".ignore":             "secret*\n",
		".rgignore":           "only-rg.txt\n",
		".git/config":         "needle",
		".git/info/exclude":   "local.txt\n",
		"local.txt":           "needle",
		"only-rg.txt":         "needle",
		".hidden/file":        "a needle",
		".hidden.txt":         "Needle",
		"a.log":               "needle",
		"keep.log":            "needle",
		"build/out.txt":       "needle",
		"deep/build/out.txt":  "needle",
		"secret.txt":          "needle",
		"binary":              "needle\x00needle",
		"late":                strings.Repeat("x\n", 10_000) + "needle\n\x00\nneedle\n",
		"needle.bin":          "\x00\x01",
		"utf16":               "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00",
		"bom":                 "\xef\xbb\xbfneedle",
		"crlf":                "a\r\nneedle\r\nb\r\n",
		"latin1":              "gr\xfc\xdfe needle\n",
		"upper":               "NEEDLE GRÜSSE ÄRGER STRASSE",
		"turkish":             "İĞNE istanbul İSTANBUL",
		"kelvin":              "300 \u212Aelvin ſtraße ΣΊΣΥΦΟΣ σίσυφος",
		"-rf":                 "needle",
		"two\nlines":          "needle",
		"with space":          "needle",
		"ünï/cödé":            "needle",
		"long":                strings.Repeat("y", 2<<20) + "needle",
		"long2":               strings.Repeat("y", 1000) + "needle" + strings.Repeat("y", 1000),
		"empty":               "",
		"pdf":                 "%PDF-needle",
		"regexp":              `n..dle (needle) [a-z]+ $x`,
		"node_modules/x/a.js": "needle",
		"nested/.gitignore":   "*.js\n",
		"nested/a.js":         "needle",
		"nested/b.ts":         "needle",
	})
	if err := os.Symlink("upper", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "outside")); err != nil {
		t.Fatal(err)
	}
	t.Run("lines", func(t *testing.T) {
		t.Parallel()
		got := both(t, dir, object("query", "needle"))
		contains(t, got, ".hidden/file:1: ", "keep.log:1:", "only-rg.txt:1:", "deep/build/out.txt:1:", "-rf:1:", `"two\nlines":1:`, "crlf:2: needle\n", "needle.bin (its path matches)")
		for _, line := range strings.Split(got, "\n") {
			for _, ignored := range []string{"local.txt", "a.log", "build/", "secret", ".git/", "binary", "link", "utf16", "nested/a.js", "pdf", "long:"} {
				if strings.HasPrefix(line, ignored) {
					t.Errorf("%s is in the answer", ignored)
				}
			}
		}
	})
	for _, words := range [][]string{
		{"n..dle"},
		{"[a-z]+ $x"},
		{"grüße"},
		{"GRÜSSE"},
		{"ärger"},
		{"istanbul"},
		{"İstanbul"},
		{"kelvin"},
		{"straße"},
		{"strasse"},
		{"σίσυφος"},
		{"-e"},
		{"--regexp"},
		{"needle", "istanbul", "absent"},
		{"cödé"},
		{"yneedley"},
		{"  needle "},
		{"\\w"},
		{"a needle"},
	} {
		t.Run(words[0], func(t *testing.T) {
			t.Parallel()
			both(t, dir, object("query", "x", "keywords", words))
			both(t, dir, object("query", "x", "keywords", words, "glob", "**/*"))
			both(t, dir, object("query", "x", "keywords", words, "path", "nested"))
		})
	}
}

// What folding makes equal, ripgrep has to take for equal too, or it would
// leave out files.
func TestFoldStaysWithinSimpleFolding(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		folded := foldRune(r)
		same := folded == r
		for next := unicode.SimpleFold(r); next != r && !same; next = unicode.SimpleFold(next) {
			same = next == folded
		}
		if !same {
			t.Errorf("%U becomes %U", r, folded)
		}
	}
}

func TestSearchDoesWithoutABrokenRipgrep(t *testing.T) {
	t.Parallel()
	dir := tree(t, shop)
	want, err := use(t, Options{NoRipgrep: true}, dir, object("query", "checkout"))
	if err != nil {
		t.Fatal(err)
	}
	fake := tree(t, map[string]string{"rg": "#!/bin/sh\nexit 2\n"})
	if err := os.Chmod(filepath.Join(fake, "rg"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, rg := range []string{filepath.Join(fake, "rg"), filepath.Join(fake, "none")} {
		s := &searcher{rg: rg}
		res, err := s.run(t.Context(), tool.Env{Dir: dir}, object("query", "checkout"))
		if got := message.Text(res.Parts); err != nil || got != want {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// crowd is a tree in which more files match than are wanted.
func crowd(t *testing.T, n int) string {
	t.Helper()
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("f%03d.txt", i)] = fmt.Sprintf("needle number %d\n", i)
	}
	return tree(t, files)
}

func TestSearchAsksForRanking(t *testing.T) {
	t.Parallel()
	type asked struct {
		query      string
		candidates []string
	}
	tests := []struct {
		name   string
		files  int
		answer []int
		err    error
		first  []string
		asked  int
	}{
		{"the order is taken", 60, []int{5, 3}, nil, []string{"f005.txt", "f003.txt", "f000.txt", "f001.txt"}, 60},
		{"few are not ranked", 40, []int{5}, nil, []string{"f000.txt", "f001.txt"}, 0},
		{"nonsense is passed over", 60, []int{-1, 1000, 60, 7, 7}, nil, []string{"f007.txt", "f000.txt", "f001.txt"}, 60},
		{"nothing", 60, nil, nil, []string{"f000.txt"}, 60},
		{"an error", 60, []int{5}, errors.New("no model"), []string{"f000.txt"}, 60},
		{"not too many", 300, []int{250, 199}, nil, []string{"f199.txt", "f000.txt"}, 200},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got asked
			rank := func(ctx context.Context, env tool.Env, query string, candidates []string) ([]int, error) {
				got = asked{query, candidates}
				if _, ok := ctx.Deadline(); !ok || env.Dir == "" {
					t.Error("no deadline, or no environment")
				}
				return tc.answer, tc.err
			}
			answer, err := use(t, Options{Rank: rank}, crowd(t, tc.files), object("query", "the needle"))
			if err != nil {
				t.Fatal(err)
			}
			if first := paths(answer); !slices.Equal(first[:len(tc.first)], tc.first) {
				t.Errorf("got %q, want %q first", first[:5], tc.first)
			}
			if n := strings.Count(answer, tc.first[0]+":"); n != 1 {
				t.Errorf("%s is shown %d times", tc.first[0], n)
			}
			if len(got.candidates) != tc.asked {
				t.Fatalf("%d candidates, want %d", len(got.candidates), tc.asked)
			}
			if tc.asked > 0 && (got.query != "the needle" || got.candidates[0] != "f000.txt | 1: needle number 0") {
				t.Errorf("asked %q about %q", got.query, got.candidates[0])
			}
		})
	}
}

func TestSearchAnswerIsBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 400 {
		files[fmt.Sprintf("dir/%s%d.txt", strings.Repeat("n", 80), i)] = strings.Repeat("needle "+strings.Repeat("long ", 200)+"\n", 30)
	}
	dir := tree(t, files)
	got := both(t, dir, object("query", "needle"))
	if len(got) > maxOutput+500 {
		t.Errorf("%d bytes", len(got))
	}
	contains(t, got, "400 of 400 files match", "more files; add keywords", ": 24 more lines\n")
	keywords := make([]string, 20)
	for i := range keywords {
		keywords[i] = strings.Repeat("k", 90) + fmt.Sprint(i)
	}
	if got := both(t, dir, object("query", "x", "keywords", keywords)); len(got) > 4000 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	dir := tree(t, shop)
	for input, want := range map[string]string{
		`{}`:                                    `missing "query"`,
		`{"query":"is it the"}`:                 "nothing to look for",
		`{"query":"?"}`:                         "nothing to look for",
		`{"query":"a","keywords":["x"," "]}`:    "nothing to look for",
		`{"query":"a","keywords":["a\nb"]}`:     "not one line",
		`{"query":"a","keywords":["a\u0000b"]}`: "not one line",
		`{"query":"cart","path":"../x"}`:        "outside the working folder",
		`{"query":"cart","path":"/etc"}`:        "outside the working folder",
		`{"query":"cart","path":"nowhere"}`:     "nowhere",
		`{"query":"cart","glob":"["}`:           "not a valid glob",
		`{"query":"cart","keywords":["` + strings.Repeat("a", 101) + `"]}`:      "at most 100",
		`{"query":"cart","keywords":[` + strings.Repeat(`"aa",`, 20) + `"aa"]}`: "at most 20",
	} {
		got, err := use(t, Options{}, dir, json.RawMessage(input))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %q, %v; want %q", input, got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Keyword(Options{}).Run(ctx, tool.Env{Dir: dir}, object("query", "cart")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	dir := tree(t, shop)
	tl := Keyword(Options{})
	for path, want := range map[string]string{"": ".", "cart": "cart", "./pay/": "pay", filepath.Join(dir, "pay/card.go"): "pay/card.go"} {
		got, err := tl.Plan(t.Context(), tool.Env{Dir: dir}, object("query", "the Card charge", "path", path))
		if err != nil || got.Class != tool.Reads || !slices.Equal(got.Paths, []string{want}) || got.Shown != "Search for card, charge in "+want {
			t.Errorf("%q: %+v, %v", path, got, err)
		}
	}
	if _, err := tl.Plan(t.Context(), tool.Env{Dir: dir}, object("query", "card", "path", "../..")); err == nil {
		t.Error("a path outside is planned")
	}
	if n := len(tl.Description); n > 400 {
		t.Errorf("the description has %d bytes", n)
	}
}

func TestSearchReadsInBatches(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 700 {
		files[fmt.Sprintf("%s/%03d.txt", strings.Repeat("d", 180), i)] = fmt.Sprintf("word%d\n", i)
	}
	dir := tree(t, files)
	for _, i := range []int{0, 350, 520, 699} {
		contains(t, both(t, dir, object("query", fmt.Sprintf("word%d", i), "glob", "**/*.txt")), fmt.Sprintf("/%03d.txt:1: word%d\n", i, i))
	}
}
