// Tests of reading the tools' answers, in the forms the real ones give.

package offline

import (
	"reflect"
	"strings"
	"testing"
)

func TestHits(t *testing.T) {
	t.Parallel()
	got, more := hits("a.go:3: func f() {\nb c/d.go:12: x: 5:7: y\na.go-4- context\n--\n[stopped at 2 matches; there may be more]\n")
	want := []hit{{"a.go", 3, "func f() {"}, {"b c/d.go", 12, "x: 5:7: y"}}
	if !reflect.DeepEqual(got, want) || !more {
		t.Errorf("got %+v, more %v", got, more)
	}
	if got, more := hits("No match in 12 files.\n"); got != nil || more {
		t.Errorf("no match gives %v, more %v", got, more)
	}
}

func TestFoundPaths(t *testing.T) {
	t.Parallel()
	got, more := foundPaths("b.go\na b.go\n[and 40 more, older ones]\n")
	if !reflect.DeepEqual(got, []string{"b.go", "a b.go"}) || more != 40 {
		t.Errorf("got %q and %d more", got, more)
	}
	if got, more := foundPaths("No file matches \"*.x\". Ignored files are left out.\n"); got != nil || more != 0 {
		t.Errorf("no file gives %q and %d more", got, more)
	}
}

func TestEntriesOf(t *testing.T) {
	t.Parallel()
	got := entriesOf("cmd/\na (1).txt (12 bytes)\nlink -> cmd\nodd (a socket)\n[and at least 7 more]\n")
	want := listing{
		folders: []string{"cmd"}, files: []string{"a (1).txt", "link", "odd"}, more: 7,
		sizes: map[string]string{"a (1).txt": "12 bytes", "odd": "a socket"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := entriesOf("docs is an empty folder."); len(got.files)+len(got.folders) != 0 {
		t.Errorf("an empty folder gives %+v", got)
	}
}

func TestLinesOf(t *testing.T) {
	t.Parallel()
	got := linesOf("     7\tfunc f() {\n     8\t\treturn\n[lines 7-8 of 30 shown; read on with offset 9]\n[lines end in CR LF]\n")
	if want := (excerpt{first: 7, lines: []string{"func f() {", "\treturn"}, total: 30}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := linesOf("     1\ta\n     2\tb\n"); got.total != 2 {
		t.Errorf("a whole file has %d lines, want 2", got.total)
	}
	if got := linesOf("a.go is empty (0 bytes)."); got.total != 0 || got.lines != nil {
		t.Errorf("an empty file gives %+v", got)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file, text string
		lead       string
		heads      string
	}{
		{"a.py", "#!/usr/bin/env python\n# Sells tea.\n# And cake.\n\nclass Shop:\n    def sell(self):\ndef main():\n", "Sells tea. And cake.", "class Shop|def main()"},
		{"a.ts", "/**\n * Sells tea.\n */\nexport class Shop {\nexport const x = 1\n  inner() {}\n", "Sells tea.", "export class Shop|export const x = 1"},
		{"a.rs", "//! Sells tea.\npub fn sell() {\nstruct A;\n", "Sells tea.", "pub fn sell()|struct A;"},
		{"a.go", "//go:build linux\n\n// Package a sells.\npackage a\n\nfunc (s *Shop) Sell() error {\nvar x = 1\n", "Package a sells.", "func (s *Shop) Sell() error|var x = 1"},
		{"a.go", "package a\n\n// Later is no lead.\nfunc f() {}\n", "", "func f()"},
		{"a.md", "# T\n\n[![badge](x)](y)\n\nFirst words\ngo on.\n\nNot these.\n```\n# no heading\n```\n## S\n", "First words go on.", "# T|## S"},
		{"a.yaml", "# The shop.\nname: x\n  inner: y\nlist:\n", "The shop.", "name: x|list"},
		{"notes", "one\ntwo\n\nthree\n", "one two", ""},
	}
	for _, tt := range tests {
		d := digestOf(tt.file, excerpt{first: 1, lines: strings.Split(strings.TrimSuffix(tt.text, "\n"), "\n")})
		var heads []string
		for _, h := range d.heads {
			heads = append(heads, h.text)
		}
		if d.lead != tt.lead || strings.Join(heads, "|") != tt.heads {
			t.Errorf("%s: lead %q, heads %q; want %q, %q", tt.file, d.lead, strings.Join(heads, "|"), tt.lead, tt.heads)
		}
	}
	long := digestOf("a.txt", excerpt{first: 1, lines: []string{strings.Repeat("word ", 200)}})
	if len(long.lead) > maxLead+5 || !strings.HasSuffix(long.lead, " …") {
		t.Errorf("a long lead is %d bytes: %q", len(long.lead), long.lead)
	}
}

func TestRank(t *testing.T) {
	t.Parallel()
	found := []hit{
		{"z_test.go", 1, "func TestCart(t *testing.T) {"},
		{"use.go", 2, "\tc := cart.Cart{}"},
		{"method.go", 3, "func (s *Shop) Cart() *Cart {"},
		{"vendor/x.go", 4, "type Cart struct {"},
		{"cart.go", 5, "type Cart struct {"},
		{"lower.go", 6, "func cart() {"},
	}
	var order []string
	for _, p := range rank(found, []string{"Cart"}) {
		order = append(order, p.path)
	}
	if want := []string{"cart.go", "method.go", "lower.go"}; !reflect.DeepEqual(order[:3], want) {
		t.Errorf("the order is %q, want %q first", order, want)
	}
	words := rank([]hit{{"a.go", 1, "func tea() {"}, {"b.go", 2, "// tea is sold by weight"}}, []string{"tea", "weight"})
	if words[0].path != "b.go" {
		t.Errorf("of several words, the file with most of them is not first: %+v", words)
	}
}

func TestPlural(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"1 file": plural(1, "file"), "0 files": plural(0, "file"), "2 matches": plural(2, "match"), "3 entries": plural(3, "entry"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
