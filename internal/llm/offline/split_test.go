// Tests of taking requests apart: into parts, and into what they name.

package offline

import (
	"reflect"
	"testing"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		request string
		want    []string // nil: not split
	}{
		{"find Cart", nil},
		{"find and explain Cart", nil},
		{"find Cart and explain it", nil},
		{"find the bread and butter code", nil},
		{"explain how carts and prices work together", nil},
		{"hello and goodbye", nil},
		{`find "this and find that"`, nil},
		{"list the files in docs and count the lines in go.mod", []string{"list the files in docs", "count the lines in go.mod"}},
		{"list the files in docs, then count the lines in go.mod", []string{"list the files in docs", "count the lines in go.mod"}},
		{"list the files in docs; summarise go.mod, and find Cart", []string{"list the files in docs", "summarise go.mod", "find Cart"}},
		{"Please list the files. Then count the lines in go.mod.", []string{"list the files", "count the lines in go.mod"}},
		{`find "a and b" and count the lines in go.mod`, []string{`find "a and b"`, "count the lines in go.mod"}},
		{"summarise a.go and b.go", []string{"summarise a.go", "summarise b.go"}},
		{"summarise a.go, b.go, and c.go", []string{"summarise a.go", "summarise b.go", "summarise c.go"}},
		{"where is parseConfig, writeConfig and Load()?", []string{"where is parseConfig", "where is writeConfig", "where is Load()"}},
		{"find `a` and `b`", []string{"find `a`", "find `b`"}},
		{"for each of a.go, b.go and c.go, count the lines", []string{"count the lines in a.go", "count the lines in b.go", "count the lines in c.go"}},
		{"for each of a.go and b.go: explain what it does", []string{"explain what a.go does", "explain what b.go does"}},
		{"count the lines for each of a.go and b.go", []string{"count the lines in a.go", "count the lines in b.go"}},
		{"1. find Cart\n2) list the files\n", []string{"find Cart", "list the files"}},
		{"Do this:\n- find Cart\n  in cart\n- list the files", []string{"find Cart in cart", "list the files"}},
		{"Summarise these files:\n- a.go\n- b.go", []string{"summarise a.go", "summarise b.go"}},
		{"My shopping:\n- milk\n- eggs", nil},
		{"find Cart\n\nlist the files", []string{"find Cart", "list the files"}},
		{"find Cart\nand be quick", nil},
	}
	for _, tt := range tests {
		want := tt.want
		if want == nil {
			want = []string{tt.request}
		}
		if got := split(tt.request); !reflect.DeepEqual(got, want) {
			t.Errorf("split(%q) = %q, want %q", tt.request, got, want)
		}
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	tests := []struct{ action, item, want string }{
		{"summarise", "a.go", "summarise a.go"},
		{"summarise it", "a.go", "summarise a.go"},
		{"explain its purpose", "a.go", "explain a.go's purpose"},
		{"count the lines", "a.go", "count the lines in a.go"},
		{"count the lines of the file.", "a.go", "count the lines of a.go"},
	}
	for _, tt := range tests {
		if got := apply(tt.action, tt.item); got != tt.want {
			t.Errorf("apply(%q, %q) = %q, want %q", tt.action, tt.item, got, tt.want)
		}
	}
}

func TestParseQuery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want query
	}{
		{"Could you please find the session token?", query{verb: "find", words: []string{"session", "token"}}},
		{"Where is parseConfig() in internal/conf.go defined?", query{verb: "where", idents: []string{"parseConfig"}, paths: []string{"internal/conf.go"}}},
		{"what does strings.Builder do", query{verb: "what", idents: []string{"strings.Builder"}}},
		{"find 'not found' in ./docs/", query{verb: "find", quoted: []string{"not found"}, paths: []string{"docs"}}},
		{"summarise `README.md`, e.g. version 1.5", query{verb: "summarise", paths: []string{"README.md"}, words: []string{"version", "1.5"}}},
		{"find https://example.test/a.go or Makefile", query{verb: "find", paths: []string{"Makefile"}}},
		{"explain why the user's cart is empty", query{verb: "explain", words: []string{"user", "cart", "empty"}}},
		{"where is Step", query{verb: "where", words: []string{"Step"}}},
		{"who calls HTTP_PROXY", query{verb: "who", idents: []string{"HTTP_PROXY"}}},
	}
	for _, tt := range tests {
		got := parseQuery(tt.text, "")
		got.whole, got.text, got.lower = "", "", ""
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("parseQuery(%q) =\n%+v, want\n%+v", tt.text, got, tt.want)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"how many files are in internal?":        "internal",
		"list the Go files in the docs folder":   "docs",
		"list the files in internal/llm":         "internal/llm",
		"how many files are in this project":     "",
		"how many files are in the project":      "",
		"how many lines are in cart.go":          "",
		"count the lines of Go code":             "",
		"list the files under internal/llm/x.go": "",
	} {
		if got := parseQuery(text, "").place(); got != want {
			t.Errorf("the place of %q is %q, want %q", text, got, want)
		}
	}
}
