package role

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func builtin(t *testing.T) *Registry {
	t.Helper()
	roles, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRegistry(roles...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBuiltin holds the limits, delegations and models that the roles were
// designed with.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	r := builtin(t)
	for name, want := range map[string]string{
		"main":       " 50 10m0s [general researcher planner coder tester reviewer debugger CodeSearch CodeReview]",
		"general":    " 20 5m0s [general]",
		"researcher": " 20 5m0s []",
		"planner":    "smart 15 3m0s [coder tester reviewer]",
		"coder":      "default 30 5m0s [tester]",
		"tester":     "fast 20 3m0s []",
		"reviewer":   "smart 10 2m0s []",
		"debugger":   "default 25 4m0s []",
		"codesearch": " 8 5m0s []",
		"CODEREVIEW": " 6 5m0s []",
	} {
		x, ok := r.Get(name)
		if got := fmt.Sprintf("%s %d %v %v", x.Model, x.MaxTurns, x.MaxDuration, x.Delegates); !ok || got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if n := len(x.Prompt); n < 300 || n > 2500 || x.Icon == "" || x.Description == "" || x.Source.Scope != BuiltIn || x.Origin("tools").String() != "built-in" {
			t.Errorf("%s: a prompt of %d bytes, %+v", name, n, x)
		}
	}
	if n := len(r.All()); n != 10 {
		t.Errorf("there are %d roles", n)
	}
}

// TestReaders holds that roles that only read can only read, in few words.
func TestReaders(t *testing.T) {
	t.Parallel()
	r := builtin(t)
	for _, name := range []string{"researcher", "reviewer", "planner", "CodeSearch", "CodeReview"} {
		x, _ := r.Get(name)
		for _, tool := range Changing() {
			if x.Uses(tool) {
				t.Errorf("%s may use %s", name, tool)
			}
		}
		if !x.Uses("Read") || !x.Uses("submit_result") || len(x.Prompt) > 1200 {
			t.Errorf("%s: %v, %d bytes", name, x.Tools, len(x.Prompt))
		}
	}
	tester, _ := r.Get("tester")
	if !tester.Uses("Bash") || !tester.Uses("Write") || tester.Uses("spawn_agents") || tester.Uses("mcp__a__b") {
		t.Errorf("tester: %v", tester.Tools)
	}
}

// TestAsTools holds the roles as tools: their inputs, tools and limits.
func TestAsTools(t *testing.T) {
	t.Parallel()
	r := builtin(t)
	for role, want := range map[string]string{
		"CodeSearch": "CodeSearch 8 [Read LS Glob Grep] query,scope",
		"CodeReview": "CodeReview 6 [Read Glob Grep] target,focus",
		"planner":    "Planner 6 [Read LS Glob Grep] task,constraints",
	} {
		x, _ := r.Get(role)
		c := x.Called()
		var schema struct {
			Required   []string                   `json:"required"`
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(c.InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		tools := slices.DeleteFunc(slices.Clone(c.Tools), func(t string) bool { return slices.Contains(EveryAgents(), t) })
		optional := ""
		for name := range schema.Properties {
			if !slices.Contains(schema.Required, name) {
				optional = name
			}
		}
		if found, ok := r.ByTool(x.AsTool.Name); !ok || found.Name != x.Name {
			t.Errorf("the tool %s leads to role %q", x.AsTool.Name, found.Name)
		}
		got := fmt.Sprintf("%s %d %v %s,%s", x.AsTool.Name, c.MaxTurns, tools, schema.Required[0], optional)
		if got != want || len(c.Delegates) != 0 || c.Uses("spawn_agents") || c.Prompt == "" {
			t.Errorf("%s: %s, want %s; delegates to %v", role, got, want, c.Delegates)
		}
	}
	planner, _ := r.Get("planner")
	if planner.Called().Prompt == planner.Prompt || planner.MaxTurns != 15 {
		t.Error("the tool Planner is not told from the role")
	}
}

func TestRegistryRefuses(t *testing.T) {
	t.Parallel()
	for want, roles := range map[string][]Role{
		"no name":                 {{Name: " - "}},
		`two roles named "A"`:     {{Name: "a"}, {Name: "A"}},
		`two roles named "a-b_c"`: {{Name: "A B  C"}, {Name: "a-b_c"}},
		`delegate to "b"`:         {{Name: "a", Delegates: []string{"b"}}},
	} {
		if _, err := NewRegistry(roles...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	given := []Role{
		{Name: "Code Reviewer", Delegates: []string{"any-one"}},
		{Name: "Any One", AnyDelegate: true, MaxTurns: 7, MaxDuration: time.Second},
		{Name: "boss", Mode: ModePrimary},
	}
	r, err := NewRegistry(given...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Code Reviewer", "code-reviewer", "CODE_REVIEWER", " code  reviewer "} {
		if x, ok := r.Get(name); !ok || x.Name != "Code Reviewer" || x.MaxTurns != DefaultTurns || x.MaxDuration != DefaultDuration || x.Delegates[0] != "Any One" {
			t.Errorf("%q: %+v", name, x)
		}
	}
	if x, _ := r.Get("any one"); !slices.Equal(x.Delegates, []string{"Code Reviewer"}) || x.MaxTurns != 7 {
		t.Errorf("any one: %+v", x)
	}
	if given[0].Delegates[0] != "any-one" {
		t.Error("the caller's roles were changed")
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	r := Role{Tools: []string{"Read", "mcp__git__*"}, DeniedTools: []string{"mcp__git__push"}}
	all := Role{AllTools: true, DeniedTools: []string{"Bash", "mcp__*"}, Delegates: []string{"x"}}
	for _, c := range []struct {
		role Role
		tool string
		want bool
	}{
		{r, "Read", true},
		{r, "Write", false},
		{r, "mcp__git__log", true},
		{r, "mcp__git__push", false},
		{r, "mcp__other__log", false},
		{r, "ask_user", true},
		{r, "spawn_agents", false},
		{all, "Write", true},
		{all, "Bash", false},
		{all, "mcp__a__b", false},
		{all, "spawn_agents", true},
	} {
		if got := c.role.Uses(c.tool); got != c.want {
			t.Errorf("%v of %v: %v", c.tool, c.role.Tools, got)
		}
	}
}

func TestGuidelines(t *testing.T) {
	t.Parallel()
	if Guidelines(nil) != "" {
		t.Error("there is something to say about nobody")
	}
	r := builtin(t)
	coder, _ := r.Get("coder")
	planner, _ := r.Get("planner")
	text := Guidelines([]Role{coder, planner, {Name: "Own", Description: "Use me.\n" + strings.Repeat("Very long. ", 200) + "<example>no</example>"}})
	for _, want := range []string{"- coder: Writes and changes code", "For: new features or components; changes to several files; refactoring.", "Also the tool Planner.", "- Own: Use me. Very long.", "…\n", "Do not delegate", "success criteria"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "{{") || strings.Contains(text, "example") || len(text) > 3000 {
		t.Errorf("%d bytes:\n%s", len(text), text)
	}
}

// write writes files below a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
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

func TestInstructions(t *testing.T) {
	t.Parallel()
	outside := write(t, map[string]string{"secret.md": "CANARY"})
	dir := write(t, map[string]string{
		"AGENTS.md":                   "above the repository",
		"repo/.git/HEAD":              "",
		"repo/AGENTS.md":              "\ufeffroot\r\n",
		"repo/CLAUDE.md":              "See @docs/a.md and\n@docs/b.md\n@nowhere.md\n```\n@docs/a.md\n```\n@" + outside + "/secret.md\n@../AGENTS.md\n",
		"repo/docs/a.md":              "from a",
		"repo/docs/b.md":              "from b, @../CLAUDE.md, @a.md",
		"repo/sub/AGENTS.md":          "-> ../AGENTS.md",
		"repo/sub/CLAUDE.md":          "-> " + filepath.Join(outside, "secret.md"),
		"repo/sub/work/CLAUDE.md":     "nearest",
		"repo/.cadre/instructions.md": "cadre's own",
	})
	config := write(t, map[string]string{"AGENTS.md": "the user's"})
	found, warnings := Instructions(filepath.Join(dir, "repo", "sub", "work"), config)
	var texts []string
	for _, in := range found {
		texts = append(texts, in.Text)
	}
	want := []string{"the user's", "root", "See from a and\nfrom b, @../CLAUDE.md, @a.md\n@nowhere.md\n```\n@docs/a.md\n```\n@" + outside + "/secret.md\n@../AGENTS.md", "cadre's own", "nearest"}
	// A copy counts where it is nearest.
	want = []string{want[0], want[2], want[3], want[1], want[4]}
	if !slices.Equal(texts, want) {
		t.Errorf("got %q\nwant %q", texts, want)
	}
	if len(warnings) != 1 || !strings.HasSuffix(warnings[0].File, filepath.Join("sub", "CLAUDE.md")) {
		t.Errorf("warnings: %v", warnings)
	}
	if strings.Contains(fmt.Sprint(found), "CANARY") {
		t.Error("a file outside was read")
	}
}

func TestInstructionsAreBounded(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		".git/HEAD": "", "AGENTS.md": "far " + strings.Repeat("é", maxInstructions), "sub/AGENTS.md": strings.Repeat("near", 1000),
		"loop/CLAUDE.md": strings.Repeat("@CLAUDE.md @b.md\n", 1000), "loop/b.md": strings.Repeat("@CLAUDE.md\nb @c.md\n", 1000), "loop/c.md": strings.Repeat("c", 30000),
	})
	found, warnings := Instructions(filepath.Join(dir, "sub"), "")
	if len(found) != 2 || found[1].Cut || !found[0].Cut || len(found[0].Text)+len(found[1].Text) > maxInstructions || !strings.HasPrefix(found[0].Text, "far é") || len(warnings) != 1 {
		t.Errorf("%d found, %v", len(found), warnings)
	}
	if found, _ := Instructions(filepath.Join(dir, "loop"), ""); len(found) == 0 {
		t.Error("files that draw each other in are lost")
	}
	if found, warnings := Instructions("", ""); len(found)+len(warnings) != 0 {
		t.Errorf("%v %v", found, warnings)
	}
}
