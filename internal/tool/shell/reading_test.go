// Every line of the table that is said to read is really run: in a folder
// that it could write, and, as the tool runs it, in one that it could not.

package shell_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/shell"
)

// scratch fills the folder with what the lines of the table speak of.
func (b *bench) scratch() {
	b.t.Helper()
	b.file("a.txt", "foo:1\nbar:2\nfoo bar x\n")
	b.file("b.txt", "foo:1\nzoo:3\n")
	b.file("a b.txt", "blank\n")
	b.file("src/main.go", "package main\n\nfunc main() {}\n")
	b.file("data.json", `{"a":[{"b":1}]}`)
	if r := b.bash("git init -q -b main . && git add -A && git -c user.name=a -c user.email=a@b commit -qm first && git tag v1 && git remote add origin https://example.com/x && echo more >> a.txt"); r.IsError {
		b.t.Fatalf("preparing the folder: %s", said(r))
	}
}

// check prints the number of every line that changed something. Each runs in
// a shell of its own, with nothing to read from.
const check = `state() { find . -printf '%p %y %m %s %T@ %C@ %i %l\n' | sort; }
before=$(state)
for f in "$LINES_DIR"/*; do
	timeout 20 bash "$f" </dev/null >/dev/null 2>&1
	after=$(state)
	if [ "$before" != "$after" ]; then
		echo "CHANGED by: $(cat "$f")"
		diff <(echo "$before") <(echo "$after")
		before=$after
	fi
done
echo DONE`

func TestReadingLinesChangeNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{})
	b.scratch()
	lines := t.TempDir()
	n := 0
	for _, v := range verdicts(t) {
		if v.reads {
			n++
			if err := os.WriteFile(filepath.Join(lines, fmt.Sprintf("%04d", n)), []byte(v.line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n < 100 {
		t.Fatalf("only %d lines read", n)
	}
	temp := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd, err := box(t, "").Command(ctx, sandbox.Policy{Dir: b.env.Dir, Temp: temp, Write: true, Extra: []string{lines}}, []string{"bash", "-c", check},
		[]string{"PATH=" + os.Getenv("PATH"), "HOME=" + temp, "LINES_DIR=" + lines, "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "x=y", "name=a.txt"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "DONE\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestReadingLinesRun runs them as an agent would. It shows that the sandbox
// gives a reading command what it needs.
func TestReadingLinesRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, shell.Options{})
	b.scratch()
	for i, v := range verdicts(t) {
		if !v.reads || i%5 != 0 && !strings.HasPrefix(v.line, "git ") { // a part will do
			continue
		}
		b.env.Agent = fmt.Sprintf("c.%d", i)
		if a := b.plan(fields{"command": v.line}); a.Class != tool.Reads {
			t.Errorf("%q is planned as %s", v.line, a.Class)
		}
		r := b.use(t.Context(), "Bash", fields{"command": v.line, "timeout": 20000})
		got := said(r)
		for _, bad := range []string{"Read-only file system", "Permission denied", "Operation not permitted", "fatal:", "killed"} {
			if strings.Contains(got, bad) {
				t.Errorf("%q: %s", v.line, got)
			}
		}
		if len(r.Record.Files) > 0 {
			t.Errorf("%q: recorded %s", v.line, files(r))
		}
		b.shell.Forget(b.env.Agent)
	}
}
