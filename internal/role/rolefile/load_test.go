package rolefile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cadre-dev/cadre/internal/role"
)

// tree writes files below a new folder, which is a repository.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files[".git/HEAD"] = "ref: refs/heads/main\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(to, path); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// load loads the roles of a folder, with a home of its own.
func load(t *testing.T, dir, home string) *Set {
	t.Helper()
	set, err := Load(Sources{Dir: dir, Distance: letters, Env: func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Registry(); err != nil {
		t.Fatalf("what was loaded makes no registry: %v", err)
	}
	return set
}

func get(t *testing.T, set *Set, name string) role.Role {
	t.Helper()
	r, err := set.Registry()
	if err != nil {
		t.Fatal(err)
	}
	found, ok := r.Get(name)
	if !ok {
		t.Fatalf("there is no role %s; errors: %v", name, set.Errors)
	}
	return found
}

// TestProject loads a project that has files of every format.
func TestProject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/project")); err != nil {
		t.Fatal(err)
	}
	set := load(t, dir, t.TempDir())
	if len(set.Errors) > 0 {
		t.Errorf("errors: %v", set.Errors)
	}
	for name, want := range map[string]string{
		"release manager":  "cadre smart, default [Read Grep Glob Bash mcp__github__*] [tester code-reviewer] 12 4m0s subagent worktree PrepareRelease",
		"researcher-fast":  "cadre haiku [Read Grep] [] 20 5m0s   ",
		"code reviewer":    "claude sonnet [Read Grep Glob Bash todo] [] 15 5m0s  worktree ",
		"deployer":         "claude  [Bash Read] [] 20 5m0s   ",
		"docs-writer":      "opencode anthropic/claude-sonnet-4-20250514 all [] 8 5m0s subagent  ",
		"team/auditor":     "opencode  [Read Grep] [docs-writer] 20 5m0s   ",
		"planner-lite":     "opencode  all [] 20 5m0s primary  ",
		"security-auditor": "gemini gemini-3-flash-preview [Read Grep Bash mcp__context7__*] [] 10 4m0s   ",
		"swe":              "copilot GPT-5.3-Codex, Claude Sonnet 4.6 [Bash BashOutput KillBash Read Edit MultiEdit Write Grep Glob LS web_fetch web_search todo mcp__github__*] [code-reviewer] 20 5m0s subagent  ",
		"code-explorer":    "codex gpt-5.4 all [] 20 5m0s   ",
		"worker":           "codex gpt-5-mini all [] 20 5m0s   ",
		"chief":            "agent-roles qwen/qwen3-coder-30b all [coder tester] 50 10m0s   ",
		"typist":           "agent-roles  all [] 18 4m0s   ",
	} {
		r := get(t, set, name)
		tools, face := fmt.Sprint(r.Tools), ""
		if r.AllTools {
			tools = "all"
		}
		if r.AsTool != nil {
			face = r.AsTool.Name
		}
		got := fmt.Sprintf("%s %s %s %v %d %v %s %s %s", r.Source.Format, r.Model, tools, r.Delegates, r.MaxTurns, r.MaxDuration, r.Mode, r.Isolation, face)
		if got != want || r.Prompt == "" || r.Description == "" || r.Source.Scope != role.Project {
			t.Errorf("%s:\n got %s\nwant %s\n%+v", name, got, want, r)
		}
	}
	if r := get(t, set, "chief"); r.Prompt != "You are the chief." || r.Origin("max_turns").Line != 15 || !strings.HasSuffix(r.Origin("max_turns").File, "appsettings.json") {
		t.Errorf("chief: %q, %v", r.Prompt, r.Origin("max_turns"))
	}
	if r := get(t, set, "typist"); r.Origin("max_turns").Line != 5 || r.Description != "You type." {
		t.Errorf("typist: %v %q", r.Origin("max_turns"), r.Description)
	}
	if r := get(t, set, "worker"); r.Description != "Does the work." || r.Source.Line != 6 {
		t.Errorf("worker: %+v", r)
	}
	if r := get(t, set, "code_explorer"); !slices.Contains(r.DeniedTools, "Bash") || r.Effort != "high" || r.Prompt != "You explore.\nQuote files." {
		t.Errorf("code_explorer: %+v", r)
	}
	texts := fmt.Sprint(set.Warnings)
	for _, want := range []string{
		"code-reviewer.md:7: permissionMode acceptEdits is not taken over", "code-reviewer.md:9: skills is ignored", "code-reviewer.md:10: mcpServers is ignored",
		"code-reviewer.md:12: hooks is ignored", "broken-colon.md:3: the front matter is no valid YAML", "docs-writer.md:6: top_p is ignored",
		"swe.agent.md:9: handoffs is ignored", "explorer.toml:12: mcp_servers is ignored",
	} {
		if !strings.Contains(texts, want) {
			t.Errorf("%q is missing in %s", want, texts)
		}
	}
}

const plainRole = "---\nname: %s\ndescription: %s\n---\nP\n"

// TestPrecedence holds which of several roles of one name counts.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	text := func(name, description string) string { return fmt.Sprintf(plainRole, name, description) }
	dir := tree(t, map[string]string{
		"sub/.claude/agents/a.md":      text("A", "near"),
		".cadre/agents/a.md":           text("a", "far"),
		".cadre/agents/both.md":        text("both", "cadre's"),
		".claude/agents/both.md":       text("Both", "claude's"),
		".claude/agents/twin-1.md":     text("twin", "first"),
		".claude/agents/twin-2.md":     text("Twin", "second"),
		".cadre/agents/coder.md":       text("Coder", "mine"),
		".cadre/agents/mine.md":        text("mine", "the project's"),
		".opencode/agent/tester.md":    "---\ndisable: true\ndescription: d\n---\n",
		".opencode/agent/main.md":      "---\ndisable: true\ndescription: d\n---\n",
		".cadre/agents/typo.md":        "---\nname: typo\ndescription: d\ndelegates: [revewer, mine]\n---\nP",
		"sub/deeper/.keep":             "",
		".cadre/agents/.hidden/old.md": text("old", "hidden"),
	})
	home := tree(t, map[string]string{
		".config/cadre/agents/mine.md": text("mine", "the user's"),
		".claude/agents/yours.md":      text("yours", "the user's"),
		".claude/agents/coder.md":      text("coder", "the user's"),
	})
	set := load(t, filepath.Join(dir, "sub", "deeper"), home)
	for name, want := range map[string]string{
		"a": "near", "both": "cadre's", "twin": "first", "coder": "mine", "mine": "the project's", "yours": "the user's",
	} {
		if got := get(t, set, name).Description; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	registry, err := set.Registry()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := registry.Get("tester"); ok {
		t.Error("tester was not switched off")
	}
	if _, ok := registry.Get("old"); ok {
		t.Error("a hidden folder was read")
	}
	if main, _ := registry.Get("main"); main.Source.Scope != role.BuiltIn || !slices.Contains(main.Delegates, "yours") || slices.Contains(main.Delegates, "tester") {
		t.Errorf("main delegates to %v", main.Delegates)
	}
	if got := get(t, set, "typo").Delegates; !slices.Equal(got, []string{"mine"}) {
		t.Errorf("typo delegates to %v", got)
	}
	warnings, notes := fmt.Sprint(set.Warnings), fmt.Sprint(set.Notes)
	for _, want := range []string{"twin-2.md: the role Twin is not used", "main cannot be switched off", "revewer (did you mean reviewer?)", "no such role"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("%q is missing in %s", want, warnings)
		}
	}
	for _, want := range []string{"it replaces the built-in role coder", "it switches the role tester off", "the role a is not used", "the role mine is not used"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is missing in %s", want, notes)
		}
	}
	if n := len(set.Shadowed); n != 7 { // a, Both, Twin, mine, coder of the user, coder and tester built in
		t.Errorf("%d roles are shadowed: %v", n, set.Shadowed)
	}
}

// TestStrangers holds what a project's files cannot do, and that one bad file
// hides no other.
func TestStrangers(t *testing.T) {
	t.Parallel()
	outside := tree(t, map[string]string{"secret.md": fmt.Sprintf(plainRole, "secret", "CANARY"), "roles/far.md": fmt.Sprintf(plainRole, "far", "d")})
	dir := tree(t, map[string]string{
		".claude/agents/good.md":       fmt.Sprintf(plainRole, "good", "d"),
		".claude/agents/linked.md":     "-> ../../shared/linked.md",
		"shared/linked.md":             fmt.Sprintf(plainRole, "linked", "d"),
		".claude/agents/loop":          "-> .",
		".claude/agents/loop2":         "-> ../agents",
		".claude/agents/dangling.md":   "-> nowhere.md",
		".claude/agents/out.md":        "-> " + filepath.Join(outside, "secret.md"),
		".claude/agents/outdir":        "-> " + filepath.Join(outside, "roles"),
		".claude/agents/binary.md":     "a\x00b",
		".claude/agents/large.md":      strings.Repeat("x", maxSize+1),
		".claude/agents/a-folder.md/x": "",
		"opencode.json":                `{"agent": {"thief": {"description": "d", "prompt": "{file:../` + filepath.Base(outside) + `/secret.md}"}, "abs": {"description": "d", "prompt": "{file:` + outside + `/secret.md}"}}}`,
	})
	if err := syscall.Mkfifo(filepath.Join(dir, ".claude/agents/pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".claude/agents/locked.md"), nil, 0o000); err != nil {
		t.Fatal(err)
	}
	set := load(t, dir, t.TempDir())
	get(t, set, "good")
	get(t, set, "linked")
	if strings.Contains(fmt.Sprintf("%+v", set), "CANARY") {
		t.Error("a file outside the project was read")
	}
	errs := fmt.Sprint(set.Errors)
	for _, want := range []string{"dangling.md", "out.md", "outdir", "binary.md", "large.md", "pipe.md", `file ../`, "opencode.json"} {
		if !strings.Contains(errs, want) {
			t.Errorf("%q is missing in %s", want, errs)
		}
	}
	if os.Getuid() != 0 && !strings.Contains(errs, "locked.md") {
		t.Errorf("locked.md is missing in %s", errs)
	}
	if len(set.Roles) != 10+2 || len(set.Shadowed) != 0 {
		t.Errorf("%d roles, shadowed %v", len(set.Roles), set.Shadowed)
	}
}

// TestOutsideRepository holds that folders above a folder that is in no
// repository are not read.
func TestOutsideRepository(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".cadre/agents/above.md":      fmt.Sprintf(plainRole, "above", "d"),
		"work/.cadre/agents/here.md":  fmt.Sprintf(plainRole, "here", "d"),
		"home/.claude/agents/mine.md": fmt.Sprintf(plainRole, "mine", "d"),
	})
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	set := load(t, filepath.Join(dir, "work"), filepath.Join(dir, "home"))
	get(t, set, "here")
	for _, r := range set.Roles {
		if r.Name == "above" {
			t.Error("a role of a folder above was read")
		}
	}
	set = load(t, filepath.Join(dir, "home"), filepath.Join(dir, "home"))
	if r := get(t, set, "mine"); r.Source.Scope != role.User || len(set.Files) != 1 {
		t.Errorf("in the home folder: %+v", set.Files)
	}
}

// TestDepth holds that a project can lower the depth of a tree, and that only
// the user can raise it.
func TestDepth(t *testing.T) {
	t.Parallel()
	const says = `{"agentRoles": {"maxDepth": %d, "roles": []}}`
	for _, c := range []struct{ config, user, project, want int }{
		{0, 0, 0, role.DefaultDepth},
		{0, 0, 1, 1},
		{0, 0, 100, role.DefaultDepth},
		{4, 0, 0, 4},
		{4, 0, 3, 3},
		{4, 0, 9, 4},
		{0, 5, 0, 5},
		{0, 5, 9, 5},
		{1, 5, 9, 1},
	} {
		files := map[string]string{}
		if c.project > 0 {
			files[".cadre/agents.json"] = fmt.Sprintf(says, c.project)
		}
		dir, home := tree(t, files), t.TempDir()
		if c.user > 0 {
			home = tree(t, map[string]string{".config/cadre/agents/all.json": fmt.Sprintf(says, c.user)})
		}
		set, err := Load(Sources{Dir: dir, Depth: c.config, Env: func(name string) string { return map[string]string{"HOME": home}[name] }})
		if err != nil {
			t.Fatal(err)
		}
		told := strings.Contains(fmt.Sprint(set.Warnings), "a project may only lower")
		if set.MaxDepth != c.want || told != (c.project > c.want) || len(set.Errors) > 0 {
			t.Errorf("%+v: the depth is %d; %v %v", c, set.MaxDepth, set.Warnings, set.Errors)
		}
	}
}

// TestParts holds that files which others name are no roles of their own.
func TestParts(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".cadre/agents/roles.json":            `{"AgentRoles": {"Roles": [{"RoleId": "main", "DisplayName": "Chief", "SystemPromptFile": "prompts/roles/main.md"}, {"RoleId": "typist", "SystemPromptFile": "prompts/roles/typist.md"}, {"RoleId": "bare", "DisplayName": "Bare one"}]}}`,
		".cadre/agents/prompts/roles/main.md": "You are the chief.",
		// It is named, but stands for itself as well.
		".cadre/agents/prompts/roles/typist.md": fmt.Sprintf(plainRole, "writer", "d"),
		".cadre/agents/prompts/roles/loose.md":  "You are loose.",
		".codex/config.toml":                    "[agents.worker]\ndescription = \"Works.\"\nconfig_file = \"agents/worker.toml\"\n",
		".codex/agents/worker.toml":             "model = \"gpt-5\"\ndeveloper_instructions = \"Work.\"\n",
	})
	set := load(t, dir, t.TempDir())
	if len(set.Errors)+len(set.Shadowed) != 1 || len(set.Roles) != 10+5 { // shadowed is the built-in main
		t.Errorf("%d roles, errors %v, shadowed %v", len(set.Roles), set.Errors, set.Shadowed)
	}
	if r := get(t, set, "main"); r.Prompt != "You are the chief." || r.DisplayName != "Chief" || r.Source.Format != "cadre" {
		t.Errorf("main: %+v", r)
	}
	if r := get(t, set, "worker"); r.Description != "Works." || r.Prompt != "Work." || r.Model != "gpt-5" {
		t.Errorf("worker: %+v", r)
	}
	if r := get(t, set, "bare"); r.Description != "Bare one" {
		t.Errorf("bare: %+v", r)
	}
	get(t, set, "writer")
	get(t, set, "loose")
	for _, f := range []string{".cadre/agents", ".codex"} {
		files, err := Read(filepath.Join(dir, f), Options{})
		if err != nil || len(files) == 0 || slices.ContainsFunc(files, func(f File) bool { return filepath.Base(f.Path) == "main.md" || filepath.Base(f.Path) == "worker.toml" }) {
			t.Errorf("%s: %v %v", f, files, err)
		}
	}
}

// TestRead reads paths that a person names.
func TestRead(t *testing.T) {
	t.Parallel()
	files, err := Read("testdata/project/.claude/agents", Options{})
	if err != nil || len(files) != 2 {
		t.Fatalf("%v %v", files, err)
	}
	files, err = Read("testdata/project/.github/agents/swe.agent.md", Options{})
	if err != nil || len(files) != 1 || files[0].Format != Copilot || files[0].Roles[0].Name != "SWE" {
		t.Fatalf("%v %v", files, err)
	}
	if _, err := Read("testdata/nowhere", Options{}); err == nil {
		t.Error("a path that is not there was read")
	}
	all, err := Read("testdata/project", Options{Distance: letters})
	if err != nil {
		t.Fatal(err)
	}
	set, err := Join(all, []string{"elsewhere"}, nil)
	if err != nil || len(set.Errors) > 0 || len(set.Roles) != 10+13 {
		t.Errorf("%d roles, %v %v", len(set.Roles), set.Errors, err)
	}
	if docs, err := Read("testdata/project/prompts", Options{}); err != nil || len(docs) != 0 {
		t.Errorf("texts were taken for roles: %v %v", docs, err)
	}
}

// TestNoRoles holds that files which only look like roles are told from them:
// opencode's adjustments of its own agents, schemas, packages.
func TestNoRoles(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"opencode.json":      `{"agent": {"plan": {"mode": "primary", "tools": {"write": false}}, "build": {"model": "opus"}, "mine": {"description": "d", "prompt": "P"}}}`,
		"lib/pyproject.toml": "[project]\nname = \"x\"\n",
		"lib/schema.json":    `{"description": "a schema", "type": "object", "properties": {"a": {"type": "string"}}}`,
		"lib/package.json":   `{"name": "x", "description": "a package", "scripts": {"test": "x"}}`,
		"lib/role.json":      `{"name": "lone", "description": "d", "prompt": "P"}`,
	})
	set := load(t, dir, t.TempDir())
	if len(set.Errors) > 0 || len(set.Roles) != 10+1 || strings.Count(fmt.Sprint(set.Warnings), "opencode's own agent") != 2 {
		t.Errorf("%d roles, %v %v", len(set.Roles), set.Errors, set.Warnings)
	}
	files, err := Read(filepath.Join(dir, "lib"), Options{})
	if err != nil || len(files) != 1 || files[0].Roles[0].Name != "lone" {
		t.Errorf("%+v %v", files, err)
	}
}
