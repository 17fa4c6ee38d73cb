// The table of attempts to leave the working folder: every path of escapes
// through every way that a tool takes a path. Nothing outside may be shown or
// changed by any of them.

package files

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/cadre-dev/cadre/internal/tool"
)

// more lists attempts beyond those of escapes: case, Unicode and names that
// only some systems know.
func more(base, work string) []string {
	up := strings.ToUpper
	return []string{
		"../OUTSIDE/secret", "../Outside/SECRET", up(work) + "/../outside/secret", up(base) + "/outside/secret", "LINK-DIR/secret", "Link-File", "SUB/UP-UP/outside/secret",
		work + "\x00/../outside/secret", "sub/\x00../../outside/secret", "link-dir\x00/secret", "\x00/etc/passwd", strings.Repeat("\x00", 5000),
		"..\u2024/outside/secret", "\u2025/outside/secret", ".\u200d./outside/secret", "..\u2044outside\u2044secret", "..\uff0foutside\uff0fsecret", "..\uff3coutside", "\u202e/terces/edistuo/..",
		"%2e%2e%5coutside%5csecret", "%uff0e%uff0e/outside/secret", "..%255coutside", "%c0%ae%c0%ae/outside/secret", "..%ef%bc%8foutside", "&#46;&#46;/outside/secret", `\u002e\u002e/outside/secret`, `\x2e\x2e/outside/secret`,
		"=?utf-8?q?=2E=2E?=/outside/secret", "+AC4ALg-/outside/secret", "..\x1b[2K/outside/secret", "..\r/outside/secret", "..\v/outside/secret", "../outside/secret\r\n../outside/secret",
		"/dev/fd/3/../../outside", "/proc/self/fd/0", "/proc/1/root/etc/passwd", "/proc/self/cwd/secret", "/proc/self/mem", "/sys/kernel/notes", "/dev/null", "/dev/zero", "/dev/tcp/localhost/80",
		"link-proc" + base + "/outside/secret", "link-root/proc/self/cwd", "link-etc/../etc/passwd", "abs-dir/../outside/secret", "abs-dots/deep/secret", "abs-chain/deep/secret", "chain-1/../outside/secret",
		"sub/deep/../../link-dir/secret", "sub/up/sub/up/sub/up/link-up/outside/secret", "sub/deep/link/../secret", "link-up/work/../outside/secret", "link-up/work-evil/secret", "link-up/work/link-dir/secret",
		strings.Repeat("link-up/work/", 30) + "link-dir/secret", strings.Repeat("a/../", 700) + "../outside/secret", strings.Repeat("../work/", 400) + "../outside/secret", "../" + strings.Repeat("x", 255) + "/../outside/secret",
		"CON", "NUL", "COM1", "aux.txt", `\\.\pipe\x`, `\\localhost\c$\x`, `C:outside`, `c:/windows`, "file.txt::$DATA", "file.txt:stream", "..::$INDEX_ALLOCATION/outside",
		"//localhost/etc/passwd", "smb://localhost/x", "http://localhost/../outside", "git@localhost:x", "-rf", "--help", "|id", ";id", "$(id)", "../outside/*", "../outside/{secret,deep}", "../[o]utside/secret", "../outsid?/secret", "~/.ssh/id_rsa", "~+/../outside/secret",
	}
}

// travel gives every call that hands the path to a tool.
func travel(p string) map[string]string {
	op := func(name string, pairs ...any) string {
		fields := map[string]any{"operation": name}
		for i := 0; i < len(pairs); i += 2 {
			fields[pairs[i].(string)] = pairs[i+1]
		}
		return object("operations", ops(fields))
	}
	edit := map[string]any{"old_string": "line", "new_string": "x"}
	return map[string]string{
		"Read":                    object("path", p),
		"LS":                      object("path", p),
		"Glob path":               object("pattern", "**", "path", p),
		"Glob pattern":            object("pattern", p+"/**"),
		"Grep path":               object("pattern", ".", "path", p),
		"Grep glob":               object("pattern", ".", "glob", p+"/*"),
		"Write":                   object("file_path", p, "content", "overwritten"),
		"Write below":             object("file_path", p+"/new/file", "content", "overwritten"),
		"Edit":                    object("file_path", p, "old_string", "line", "new_string", "x"),
		"Edit near":               object("file_path", p, "old_string", "CANARY-CONTINT", "new_string", "x"),
		"MultiEdit":               object("file_path", p, "edits", []any{edit}),
		"Patch create":            op("create", "path", p, "text", "x"),
		"Patch overwrite":         op("overwrite", "path", p, "text", "x"),
		"Patch append":            op("append_eof", "path", p, "text", "x"),
		"Patch prepend":           op("prepend_bof", "path", p, "text", "x"),
		"Patch insert":            op("insert", "path", p, "line", 0, "text", "x"),
		"Patch replace":           op("replace", "path", p, "old_string", "line", "new_string", "x"),
		"Patch delete":            op("delete", "path", p),
		"Patch rename from":       op("rename", "path", p, "to", "stolen"),
		"Patch rename to":         op("rename", "path", "inside", "to", p),
		"Patch path":              object("path", p, "operations", ops(map[string]any{"operation": "delete"})),
		"Patch hunks":             object("path", p, "patch", "@@ -1 +1 @@\n-line\n+x\n"),
		"Patch envelope add":      object("patch", "*** Begin Patch\n*** Add File: "+p+"\n+x\n*** End Patch\n"),
		"Patch envelope update":   object("patch", "*** Begin Patch\n*** Update File: "+p+"\n-line\n+x\n*** End Patch\n"),
		"Patch envelope delete":   object("patch", "*** Begin Patch\n*** Delete File: "+p+"\n*** End Patch\n"),
		"Patch envelope move":     object("patch", "*** Begin Patch\n*** Update File: inside\n*** Move to: "+p+"\n-inside\n+x\n*** End Patch\n"),
		"Patch diff":              object("patch", "--- a/"+p+"\n+++ b/"+p+"\n@@ -1 +1 @@\n-line\n+x\n"),
		"Patch diff bare":         object("patch", "--- "+p+"\n+++ "+p+"\n@@ -1 +1 @@\n-line\n+x\n"),
		"Patch diff new":          object("patch", "--- /dev/null\n+++ b/"+p+"\n@@ -0,0 +1 @@\n+x\n"),
		"Patch diff delete":       object("patch", "diff --git a/"+p+" b/"+p+"\ndeleted file mode 100644\n"),
		"Patch diff rename":       object("patch", "diff --git a/inside b/"+p+"\nrename from inside\nrename to "+p+"\n"),
		"Patch diff copy from":    object("patch", "diff --git a/"+p+" b/stolen\ncopy from "+p+"\ncopy to stolen\n"),
		"Patch diff quoted":       object("patch", fmt.Sprintf("--- \"a/%s\"\n+++ \"b/%s\"\n@@ -1 +1 @@\n-%s\n+x\n", octal(p), octal(p), "line")),
		"Patch diff git and mode": object("patch", "diff --git a/"+p+" b/"+p+"\nold mode 100644\nnew mode 100755\n"),
	}
}

// octal writes a name as git quotes it.
func octal(p string) string {
	var b strings.Builder
	for i := range len(p) {
		fmt.Fprintf(&b, `\%03o`, p[i])
	}
	return b.String()
}

// attempt is one row of the table: a path through one way in.
type attempt struct{ way, path, input string }

func (a attempt) String() string {
	return a.way + " " + strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != '/' {
			return r
		}
		return '_'
	}, clipped(a.path))
}

func table(base, work string) []attempt {
	var all []attempt
	seen := map[string]bool{}
	for _, p := range append(escapes(base, work), more(base, work)...) {
		ways := travel(p)
		for _, way := range slices.Sorted(maps.Keys(ways)) {
			if key := way + "\x00" + p; !seen[key] {
				seen[key] = true
				all = append(all, attempt{way, p, ways[way]})
			}
		}
	}
	return all
}

// outside describes everything in base but work.
func outside(t *testing.T, base string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all[e.Name()] = e.Type().String()
		if e.Name() != "work" {
			maps.Copy(all, snapshot(t, filepath.Join(base, e.Name())))
		}
	}
	return all
}

func TestTraversalTable(t *testing.T) {
	t.Parallel()
	base, work := prison(t)
	rows := table(base, work)
	paths := map[string]bool{}
	for _, a := range rows {
		paths[a.path] = true
	}
	if len(rows) < 300 || len(paths) < 200 {
		t.Fatalf("only %d attempts with %d paths", len(rows), len(paths))
	}
	t.Logf("%d attempts with %d paths", len(rows), len(paths))
	tools, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	before := outside(t, base)
	for _, a := range rows {
		tl, _ := tools.Get(toolOf(a.way))
		planned, err := tl.Plan(t.Context(), tool.Env{Dir: work}, json.RawMessage(a.input))
		if sign := reveals(tool.Text(planned.Shown), err); sign != "" {
			t.Errorf("the plan of %s shows %s: %s %v", a, sign, planned.Shown, err)
		}
		res, err := use(t, work, toolOf(a.way), a.input)
		if sign := reveals(res, err); sign != "" {
			t.Errorf("%s shows %s: %.500v %v", a, sign, res, err)
		}
		if err != nil && len(err.Error()) > 30_000 {
			t.Errorf("%s: an error of %d bytes", a, len(err.Error()))
		}
		// Some names are odd, but inside: what they made goes again.
		if err == nil && len(res.Record.Files) > 0 {
			for _, f := range res.Record.Files {
				if !filepath.IsLocal(f.Path) {
					t.Errorf("%s recorded %s", a, f.Path)
				}
				_ = os.RemoveAll(filepath.Join(work, f.Path))
			}
			put(t, filepath.Join(work, "inside"), "inside\n", false)
		}
		unchanged(t, before, outside(t, base))
		if t.Failed() {
			t.Fatalf("by %s", a)
		}
	}
}

// From one folder higher the same ways do reach the canary: what keeps them
// out above is the folder.
func TestTraversalTableCanFail(t *testing.T) {
	t.Parallel()
	for way, input := range travel("outside/secret") {
		switch toolOf(way) {
		case "Read", "LS", "Glob", "Grep":
			continue
		}
		base, _ := prison(t)
		put(t, filepath.Join(base, "inside"), "inside\n", false)
		before := snapshot(t, base)
		_, err := use(t, base, toolOf(way), input)
		after := snapshot(t, base)
		same := len(before) == len(after)
		for name, was := range before {
			same = same && after[name] == was
		}
		// It exists, so that these refuse to make it, or make something below.
		switch way {
		case "Patch create", "Patch envelope add", "Patch envelope move", "Patch diff new", "Patch rename to", "Patch diff rename", "Write below", "Edit near":
			if !same {
				t.Errorf("%s changed something: %v", way, err)
			}
		default:
			if same {
				t.Errorf("%s changed nothing: %v", way, err)
			}
		}
	}
}
