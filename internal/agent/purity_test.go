// Step is pure: two runs of the same log never differ. This test holds the
// package to it, whatever a linter is told.

package agent_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pureImports is all that the machine may know.
var pureImports = []string{
	"bytes", "crypto/sha256", "encoding/hex", "encoding/json", "errors", "fmt", "hash/fnv", "math", "slices", "strings",
	"github.com/cadre-dev/cadre/internal/message", "github.com/cadre-dev/cadre/internal/role",
}

// TestPure fails on a goroutine, a channel, a map iteration, a package level
// variable that is ever assigned, or an import that could bring a clock,
// randomness or the world outside into the machine.
func TestPure(t *testing.T) {
	fset := token.NewFileSet()
	files := machineFiles(t, fset)
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, err := conf.Check("github.com/cadre-dev/cadre/internal/agent", fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, imp := range f.Imports {
			if path, err := strconv.Unquote(imp.Path.Value); err != nil || !slices.Contains(pureImports, path) {
				t.Errorf("%s: import of %s", fset.Position(imp.Pos()), imp.Path.Value)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if why := impure(info, pkg, n); why != "" {
				t.Errorf("%s: %s in a pure package", fset.Position(n.Pos()), why)
			}
			return true
		})
	}
}

func machineFiles(t *testing.T, fset *token.FileSet) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if len(files) < 5 {
		t.Fatalf("only %d files were found", len(files))
	}
	return files
}

func impure(info *types.Info, pkg *types.Package, n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
		return "concurrency"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "concurrency"
		}
	case *ast.RangeStmt:
		switch info.TypeOf(n.X).Underlying().(type) {
		case *types.Map:
			return "map iteration"
		case *types.Chan:
			return "concurrency"
		}
	case *ast.AssignStmt:
		for _, to := range n.Lhs {
			if id, ok := to.(*ast.Ident); ok && global(info.Uses[id], pkg) {
				return "global state"
			}
		}
	case *ast.FuncDecl:
		if n.Name.Name == "init" && n.Recv == nil {
			return "init"
		}
	}
	return ""
}

func global(o types.Object, pkg *types.Package) bool {
	v, ok := o.(*types.Var)
	return ok && v.Parent() == pkg.Scope()
}
