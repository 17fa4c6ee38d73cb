package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/role"
)

// put writes a file into the working folder.
func (f *folder) put(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func decodeTo[T any](t *testing.T, text string) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}

const claudeCoder = "---\nname: coder\ndescription: My coder\ntools: Read, Edit\nmodel: sonnet\nmaxTurns: 4\n---\nYou are mine.\n"

func TestAgentsList(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(".claude/agents/coder.md", claudeCoder)
	f.put(".claude/agents/bad.md", "\x00")
	r := f.run(0, "agents", "list")
	r.wants(t, "NAME", "planner", "CodeSearch", "My coder", "Not used", "coder of built-in", ".claude/agents/coder.md counts", "error: .claude/agents/bad.md")
	got := decodeTo[struct {
		Roles, Shadowed  []listedRole
		Errors, Warnings []role.Warning
	}](t, f.run(0, "agents", "list", "--json").out)
	i := slices.IndexFunc(got.Roles, func(r listedRole) bool { return r.Name == "coder" })
	if i < 0 || got.Roles[i].MaxTurns != 4 || got.Roles[i].Scope != role.Project || !strings.HasSuffix(got.Roles[i].File, "coder.md") || len(got.Shadowed) != 1 || len(got.Errors) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAgentsLint(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.run(0, "agents", "lint").wants(t, "0 roles, 0 errors, 0 warnings")
	f.put(".claude/agents/a.md", "---\nname: a\ndescription: use it: now\ntools: Read, Raed\nmodel: sonet-9000\npermissionMode: bypassPermissions\nmodl: x\n---\nP\n")
	want := []string{
		".claude/agents/a.md:3: warning: the front matter is no valid YAML", ".claude/agents/a.md:4: warning: unknown tool Raed (did you mean Read?)",
		".claude/agents/a.md:6: warning: permissionMode bypassPermissions is not taken over", ".claude/agents/a.md:7: warning: unknown key modl (did you mean model?)",
		`.claude/agents/a.md:5: warning: model "sonet-9000" cannot be used`, "1 role, 0 errors, 5 warnings",
	}
	f.run(0, "agents", "lint").wants(t, want...)
	f.run(0, "agents", "lint", ".claude/agents/a.md").wants(t, want...)
	f.run(exitFailed, "agents", "lint", "--strict")
	f.put(".gemini/agents/b.toml", "x")
	f.put(".codex/agents/b.toml", "name = ")
	f.run(exitFailed, "agents", "lint").wants(t, ".codex/agents/b.toml:1: error: it is no valid TOML", "1 error")
	got := decodeTo[struct {
		OK     bool
		Errors []role.Warning
	}](t, f.run(exitFailed, "agents", "lint", "--json").out)
	if got.OK || len(got.Errors) != 1 || got.Errors[0].Line != 1 {
		t.Errorf("%+v", got)
	}
	f.run(exitUsage, "agents", "lint", "nowhere").wants(t, "nowhere")
	f.run(exitUsage, "agents").wants(t, "say what to do")
}

// TestAgentsLintModels tells a model that lacks a key from one that does not
// exist.
func TestAgentsLintModels(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.put(".claude/agents/coder.md", claudeCoder)
	f.run(0, "agents", "lint", "--strict").wants(t, `coder.md:5: note: model "sonnet" cannot be used`, "ANTHROPIC_API_KEY", "0 warnings")
	f.env = []string{"ANTHROPIC_API_KEY=none"}
	if r := f.run(0, "agents", "lint"); strings.Contains(r.out, "sonnet") {
		t.Errorf("%s", r.out)
	}
}

func TestAgentsExplain(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.env = []string{"ANTHROPIC_API_KEY=none"}
	f.put(".claude/agents/coder.md", claudeCoder)
	f.put("AGENTS.md", "Indent by tabs.")
	f.run(0, "agents", "explain", "Coder").wants(t, "which goes before built-in", ".claude/agents/coder.md:6", "model sonnet is anthropic/claude-sonnet",
		"Tools at depth 1 under main: Edit, Read, ask_user", "You are mine.", "Indent by tabs.")
	got := decodeTo[explained](t, f.run(0, "agents", "explain", "coder", "--json").out)
	i := slices.IndexFunc(got.Values, func(s stated) bool { return s.Key == "max_turns" })
	if got.Depth != 1 || got.Parent != "main" || i < 0 || got.Values[i].Value != 4.0 || got.Values[i].From != ".claude/agents/coder.md:6" || !slices.Contains(got.Tools, "Edit") || slices.Contains(got.Tools, "Write") {
		t.Errorf("%+v", got)
	}
	f.run(0, "agents", "explain", "main").wants(t, "Tools at depth 0:", "spawn_agents", "- tester: Writes tests")
	deep := decodeTo[explained](t, f.run(0, "agents", "explain", "planner", "--depth", "2", "--parent", "tester", "--json").out)
	if slices.Contains(deep.Tools, "spawn_agents") || len(deep.Notes) != 1 || !strings.Contains(deep.Prompt, "depth 2") {
		t.Errorf("%+v", deep)
	}
	f.run(exitUsage, "agents", "explain", "codr").wants(t, `there is no role "codr"`, "did you mean coder?")
	f.run(exitUsage, "agents", "explain", "coder", "--depth", "9").wants(t, "0 to 2")
	f.run(exitUsage, "agents", "explain", "main", "--depth", "0", "--parent", "coder").wants(t, "no parent")
	f.run(exitUsage, "agents", "explain").wants(t, "NAME is missing")
}

func TestAgentsNew(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.run(0, "agents", "new", "Release  Manager").wants(t, ".cadre/agents/release-manager.md")
	f.run(0, "agents", "lint", "--strict").wants(t, "1 role, 0 errors, 0 warnings")
	f.run(exitFailed, "agents", "new", "release_manager").wants(t, "exists already")
	f.run(0, "agents", "new", "strict", "--from", "reviewer", "--user").wants(t, "agents/strict.md")
	f.run(0, "agents", "explain", "strict").wants(t, "You review code or a design", "smart")
	f.run(0, "agents", "new", "coder").wants(t, "there is a role coder already")
	f.run(0, "agents", "lint", "--strict").wants(t, "3 roles, 0 errors, 0 warnings")
	f.run(exitUsage, "agents", "new", "../..").wants(t, "is no name")
	f.run(exitUsage, "agents", "new", "x", "--from", "nobody").wants(t, "there is no role")
	f.run(exitUsage, "agents", "new", "x", "--user", "--project").wants(t, "exclude")
	f.run(0, "agents", "new", "../../evil/x").wants(t, ".cadre/agents/evil-x.md")
}

// TestAgentsImport converts files of every format, and what it writes is
// clean.
func TestAgentsImport(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		".claude/agents", ".opencode/agent", ".opencode/agents", ".gemini/agents", ".github/agents", ".codex/agents", ".codex/config.toml",
		"opencode.jsonc", "appsettings.json", ".cadre/agents",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			from, err := filepath.Abs(filepath.Join("..", "..", "internal", "role", "rolefile", "testdata", "project", path))
			if err != nil {
				t.Fatal(err)
			}
			f := newFolder(t)
			dry := f.run(0, "agents", "import", from, "--dry-run")
			dry.wants(t, "would import")
			if _, err := os.Stat(filepath.Join(f.work, ".cadre")); err == nil {
				t.Error("a dry run wrote something")
			}
			f.run(0, "agents", "import", from).wants(t, "imported ", "tools: ")
			r := f.run(0, "agents", "lint", "--json")
			got := decodeTo[struct {
				Roles            []string
				Errors, Warnings []role.Warning
			}](t, r.out)
			got.Warnings = slices.DeleteFunc(got.Warnings, func(w role.Warning) bool {
				return strings.Contains(w.Text, "no such role") || strings.Contains(w.Text, "cannot be used") // those it names are not here
			})
			if len(got.Roles) == 0 || len(got.Errors)+len(got.Warnings) > 0 {
				t.Errorf("%s", r.out)
			}
			f.run(exitFailed, "agents", "import", from).wants(t, "exists already")
			f.run(0, "agents", "import", from, "--force", "--json")
		})
	}
	f := newFolder(t)
	f.run(exitUsage, "agents", "import").wants(t, "PATH is missing")
	f.run(exitFailed, "agents", "import", ".").wants(t, "no role files")
}
