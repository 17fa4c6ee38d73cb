// The scenarios in testdata/scripts, each held to what it says must follow.

package agent_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/agent/agenttest"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected parts of scripts and logs")

func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 150 {
		t.Errorf("only %d scripts were found", len(paths))
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(want), "# Rule") {
				t.Error("a script begins with the rules that it holds")
			}
			got, _, err := agenttest.RunScript(string(want))
			if err != nil {
				t.Fatal(err)
			}
			if got == string(want) {
				return
			}
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Error(firstDifference(string(want), got))
		})
	}
}

// firstDifference shows the lines around the first one that differs.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := 0; i < len(w) || i < len(g); i++ {
		if i < len(w) && i < len(g) && w[i] == g[i] {
			continue
		}
		return "-want\n" + around(w, i) + "\n+got\n" + around(g, i)
	}
	return "no difference"
}

func around(lines []string, i int) string {
	from, to := min(max(i-3, 0), len(lines)), min(i+3, len(lines))
	return strings.Join(lines[from:to], "\n")
}
