// Tests of the classification: a table of command lines, and rules that hold
// for every line.

package shell_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cadre-dev/cadre/internal/tool/shell"
)

type verdict struct {
	reads bool
	line  string
}

// verdicts reads the table.
func verdicts(t testing.TB) []verdict {
	t.Helper()
	b, err := os.ReadFile("testdata/verdicts.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []verdict
	for n, l := range strings.Split(string(b), "\n") {
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		want, line, ok := strings.Cut(l, " ")
		if !ok || want != "reads" && want != "asks" {
			t.Fatalf("line %d of the table is not understood: %s", n+1, l)
		}
		out = append(out, verdict{want == "reads", strings.ReplaceAll(line, "⏎", "\n")})
	}
	return out
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	all := verdicts(t)
	if len(all) < 250 {
		t.Errorf("the table has only %d lines", len(all))
	}
	seen := map[string]bool{}
	for _, v := range all {
		if seen[v.line] {
			t.Errorf("%q is in the table twice", v.line)
		}
		seen[v.line] = true
		got := shell.Classify(v.line)
		if got.Reads != v.reads {
			t.Errorf("%q: reads %v, want %v (%s)", v.line, got.Reads, v.reads, got.Why)
		}
		if got.Reads == (got.Why != "") {
			t.Errorf("%q: reads %v, but the reason is %q", v.line, got.Reads, got.Why)
		}
		if got.Reads && len(got.Commands) == 0 {
			t.Errorf("%q reads, but its commands are not known", v.line)
		}
	}
}

func TestStrangeText(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "  ", "# only a comment", "ls\x00", "ls\r", "ls \x1b[2J", "ls \xff", "ls\u0085rm x", strings.Repeat("a", 200_000), strings.Repeat("$(", 5000)} {
		if got := shell.Classify(line); got.Reads {
			t.Errorf("%.40q reads", line)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"ls -la": {"ls -la"},
		"go  test './...' && git commit -m \"a b\"": {"go test ./...", "git commit -m a b"},
		`\rm -rf "$x"`:                     {`rm -rf "$x"`},
		"echo $(rm x) | tee y":             {"rm x", "echo $(rm x)", "tee y"},
		"PATH=. ls":                        {"PATH=. ls"},
		"x=1; export PATH=$(pwd)":          {"x=1", "export PATH=$(pwd)", "pwd"},
		"go test > out 2>&1":               {"> out", "go test"},
		"for f in *; do rm $f; done":       {"rm $f"},
		"(cd a && make) &":                 {"cd a", "make"},
		"cat < in >> out":                  {"> out", "cat"},
		"$cmd x":                           nil,
		"ls; f() { rm x; }":                nil,
		"eval ls":                          {"eval ls"},
		"ls (":                             nil,
		"bash -c 'rm x'":                   {"bash -c rm x"},
		"if a; then b; elif c; then d; fi": {"a", "b", "c", "d"},
	} {
		if got := shell.Classify(line).Commands; !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// FuzzClassify: it never panics, and whatever has a redirection that could
// write, or runs something in the background, does not read.
func FuzzClassify(f *testing.F) {
	for _, v := range verdicts(f) {
		f.Add(v.line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got := shell.Classify(line)
		if !got.Reads {
			return
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
		if err != nil {
			t.Fatalf("%q reads, but does not parse: %v", line, err)
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Redirect:
				writes := slices.Contains([]syntax.RedirOperator{syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll}, n.Op)
				if writes && strings.Trim(n.Word.Lit(), "\\") != "/dev/null" && !quotedNull(n.Word) {
					t.Errorf("%q reads, but writes by %s", line, n.Op)
				}
			case *syntax.FuncDecl, *syntax.CoprocClause, *syntax.LetClause, *syntax.ArithmCmd, *syntax.DeclClause:
				t.Errorf("%q reads, but has a %T", line, n)
			case *syntax.Stmt:
				if n.Background {
					t.Errorf("%q reads, but runs in the background", line)
				}
			}
			return true
		})
	})
}

// quotedNull: /dev/null written in another way.
func quotedNull(w *syntax.Word) bool {
	var b strings.Builder
	_ = syntax.NewPrinter().Print(&b, w)
	return strings.NewReplacer(`"`, "", `'`, "", `\`, "", "$", "").Replace(b.String()) == "/dev/null"
}
