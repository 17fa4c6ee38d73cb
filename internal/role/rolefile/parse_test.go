package rolefile

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/role"
)

// letters is a distance that is good enough for tests: how many letters differ,
// wherever they stand.
func letters(a, b string) int {
	count := map[rune]int{}
	for _, r := range a {
		count[r]++
	}
	for _, r := range b {
		count[r]--
	}
	n := 0
	for _, c := range count {
		n += max(c, -c)
	}
	return n
}

// parse reads a file as if it lay at a path.
func parse(path, src string) File {
	return Parse(path, []byte(src), Options{Distance: letters, CheckRule: sound})
}

// sound stands for the policy's knowledge of rules.
func sound(rule string) error {
	if strings.ContainsAny(rule, ";|~") || strings.Contains(rule, "mcp__") {
		return fmt.Errorf("%s means nothing", rule)
	}
	return nil
}

// front is a Markdown file with this front matter.
func front(lines string) string {
	return "---\nname: x\ndescription: d\n" + lines + "\n---\nPrompt.\n"
}

// TestKeys reads one or two lines of front matter after name and description,
// and wants a value, and the warnings that go with it.
func TestKeys(t *testing.T) {
	t.Parallel()
	const claude, copilot, opencode = "/p/.claude/agents/x.md", "/p/.github/agents/x.agent.md", "/p/.opencode/agent/x.md"
	tools := func(r role.Role) string { return strings.Join(r.Tools, " ") }
	denied := func(r role.Role) string { return strings.Join(r.DeniedTools, " ") }
	rules := func(r role.Role) string { return strings.Join(r.ToolRules, " ") }
	delegates := func(r role.Role) string { return fmt.Sprint(strings.Join(r.Delegates, " "), r.AnyDelegate) }
	model := func(r role.Role) string { return r.Model }
	for _, c := range []struct {
		path, lines string
		get         func(role.Role) string
		want        string
		warning     string // empty: there must be none
	}{
		// tools, in all the forms that are out there
		{claude, "tools: Read, Grep, Glob", tools, "Read Grep Glob", ""},
		{claude, "tools: [Read, Write]", tools, "Read Write", ""},
		{claude, "tools:\n  - Read\n  - MultiEdit", tools, "Read MultiEdit", ""},
		{claude, "tools: Read Write Bash", tools, "Read Write Bash", ""},
		{claude, `tools: "Read","Grep"`, tools, "Read Grep", "no valid YAML"},
		{claude, "tools: *", func(r role.Role) string { return fmt.Sprint(r.AllTools) }, "true", "no valid YAML"},
		{claude, `tools: ["*"]`, func(r role.Role) string { return fmt.Sprint(r.AllTools) }, "true", ""},
		{claude, "color: red", func(r role.Role) string { return fmt.Sprint(r.AllTools) }, "true", ""},
		{claude, "tools: []", func(r role.Role) string { return fmt.Sprint(r.AllTools, len(r.Tools)) }, "false 0", ""},
		{claude, "tools:", func(r role.Role) string { return fmt.Sprint(r.AllTools) }, "true", ""},
		{claude, "tools: Bash(git *), Read", tools, "Bash Read", ""},
		{claude, "tools: Bash(git *), Read, Bash(go test:*)", rules, "Bash(git *) Bash(go test:*)", ""},
		{claude, "tools: Bash(git *), Bash", rules, "", ""},
		{claude, "tools: [Bash(git *), '*']", rules, "", ""},
		{claude, "tools: Bash(*), WebFetch(domain:go.dev)", rules, "web_fetch(domain:go.dev)", ""},
		{claude, "tools: 'Bash(git log | tail), Read'", tools, "Read", "it is left out of the tools: Bash("},
		{claude, "tools: Read(~/notes/**), LS", tools, "LS", "it is left out of the tools: Read("},
		{claude, "tools: mcp__a__b(c)", tools, "", "it is left out of the tools: mcp__a__b("},
		{copilot, "tools: ['edit(docs/**)']", rules, "Edit(docs/**) MultiEdit(docs/**) Write(docs/**)", ""},
		{"/p/.gemini/agents/x.md", "tools: [run_shell_command(git log)]", rules, "Bash(git log *)", ""},
		{claude, "tools: Read, Agent(tester, coder)", delegates, "tester coderfalse", ""},
		{claude, "tools: Task, Read", delegates, "true", ""},
		{claude, "tools: [Read, CodeSearch]", delegates, "CodeSearchfalse", ""},
		{claude, "tools: mcp__github, mcp__docs__search, mcp__x__*", tools, "mcp__github__* mcp__docs__search mcp__x__*", ""},
		{claude, "tools: Raed", tools, "", "unknown tool Raed (did you mean Read?)"},
		{claude, "tools: Skill, NotebookEdit, Read", tools, "Read", "no counterpart in Cadre have the tools Skill, NotebookEdit"},
		{claude, "tools: Frobnicate", tools, "", "none of the tools it names are here"},
		{claude, "tools: KillShell, WebFetch, WebSearch, TodoWrite, LS, BashOutput", tools, "KillBash web_fetch web_search todo LS BashOutput", ""},
		{claude, "tools: AskUserQuestion, Read", tools, "Read", ""},
		{claude, "tools: {a: 1}", tools, "", "tools.a"},
		{copilot, "tools: ['edit', 'search', 'execute']", tools, "Edit MultiEdit Write Grep Glob LS Bash BashOutput KillBash", ""},
		{
			copilot, "tools: ['edit/editFiles', 'read/readFile', 'github/create_issue', 'microsoft.docs.mcp/*']", tools,
			"Edit MultiEdit Write Read mcp__github__create_issue mcp__microsoft_docs_mcp__*", "",
		},
		{copilot, "tools: [agent]\nagents: [A, B]", delegates, "A Bfalse", ""},
		{copilot, "tools: [agent]", delegates, "true", ""},
		{copilot, "tools: [agent]\nagents: []", delegates, "false", ""},
		{"/p/.gemini/agents/x.md", "tools: [read_file, replace, list_directory, google_web_search, mcp_ctx_*, mcp_*]", tools, "Read Edit LS web_search mcp__ctx__* mcp__*", ""},
		{opencode, "tools:\n  write: false\n  bash: true", denied, "Write Patch", ""},
		{opencode, "tools:\n  \"*\": false\n  read: true\n  grep: true", tools, "Read Grep", ""},
		{opencode, "tools:\n  mymcp_*: false", denied, "mcp__mymcp__*", ""},
		{opencode, "tools:\n  task: true", delegates, "true", ""},
		{claude, "disallowedTools: Edit", denied, "Edit MultiEdit Patch", ""},
		{claude, "denied_tools: [Bash(rm *)]", denied, "", ""},
		{claude, "disallowedTools: Bash(rm:*), Edit(*.sql)", rules, "!Bash(rm:*) !Edit(*.sql)", ""},
		{claude, "denied_tools: ['Bash(a; b)']", rules, "", "nothing is taken away"},
		{claude, "denied_tools: [Agent(tester)]", rules, "", "delegation to tester is not taken away"},
		{claude, "denied_tools: [Agent]\ndelegates: [a]", delegates, "false", "do not count"},

		// permissions: they take away, never give
		{claude, "permissionMode: bypassPermissions", denied, "", "not taken over; permissions come from Cadre's policy"},
		{claude, "permissionMode: default", denied, "", ""},
		{claude, "permissionMode: plan", denied, "Write Edit MultiEdit Patch Bash BashOutput KillBash", ""},
		{opencode, "permission:\n  edit: deny\n  bash: ask", denied, "Edit MultiEdit Patch Write", ""},
		{opencode, "permission:\n  bash:\n    \"*\": ask\n    \"git *\": allow", denied, "", "not taken over"},
		{opencode, "permission:\n  \"*\": deny\n  read: allow\n  edit: allow", tools, "Read Edit Write Patch MultiEdit", ""},
		{opencode, "permission: allow", denied, "", "not taken over"},
		{opencode, "permission:\n  bash:\n    \"*\": ask\n    \"git push *\": deny", rules, "!Bash(git push *)", ""},
		{opencode, "permission:\n  bash:\n    \"*\": deny\n    \"git *\": ask\n    \"git push *\": deny", rules, "Bash(git *) !Bash(git push *)", ""},
		{opencode, "permission:\n  bash:\n    \"git *\": ask\n    \"*\": deny", denied, "Bash", ""},
		{opencode, "permission:\n  bash:\n    \"*\": deny\n    \"a; b\": ask", denied, "Bash", "it is left out of the tools: Bash("},
		{opencode, "permission:\n  edit:\n    \"*\": deny\n    \"docs/**\": ask", rules, "Edit(docs/**) Write(docs/**) Patch(docs/**) MultiEdit(docs/**)", ""},
		{opencode, "permission:\n  \"*\": deny\n  bash:\n    \"*\": deny\n    \"go *\": ask", rules, "Bash(go *)", ""},
		{opencode, "permission:\n  bash:\n    \"*\": deny\n    \"go *\": ask\ntools:\n  \"*\": false\n  bash: true", rules, "Bash(go *)", ""},
		{opencode, "permission:\n  task:\n    \"*\": deny\n    \"team-*\": allow", delegates, "team-*false", "not taken over"},
		{claude, "hooks:\n  Stop: []", denied, "", "hooks is ignored"},
		{claude, "mcpServers: [a]", denied, "", "mcpServers is ignored"},

		// models
		{claude, "model: sonnet", model, "sonnet", ""},
		{claude, "model: inherit", model, "", ""},
		{claude, "model: opus[1m]", model, "opus", ""},
		{copilot, "model: Claude Sonnet 4.5 (copilot)", model, "Claude Sonnet 4.5", ""},
		{copilot, "model: ['GPT-5 (copilot)', Auto, haiku]", model, "GPT-5, haiku", ""},
		{copilot, "model: GPT-4.1 | 'gpt-5' | 'Claude Sonnet 4.5'", model, "GPT-4.1, gpt-5, Claude Sonnet 4.5", ""},
		{opencode, "model: anthropic/claude-sonnet-4-20250514", model, "anthropic/claude-sonnet-4-20250514", ""},
		{claude, "model: {a: b}", model, "", "has to be the name of a model"},

		// limits and the rest
		{claude, "maxTurns: 9", func(r role.Role) string { return fmt.Sprint(r.MaxTurns) }, "9", ""},
		{claude, "max-turns: '9'", func(r role.Role) string { return fmt.Sprint(r.MaxTurns) }, "9", ""},
		{claude, "maxTurns: -1", func(r role.Role) string { return fmt.Sprint(r.MaxTurns) }, "0", "whole number"},
		{claude, "max_duration: 90", func(r role.Role) string { return r.MaxDuration.String() }, "0s", "with its unit"},
		{claude, "max_duration: 1h 30m", func(r role.Role) string { return r.MaxDuration.String() }, "1h30m0s", ""},
		{claude, "timeout_mins: 2", func(r role.Role) string { return r.MaxDuration.String() }, "2m0s", ""},
		{claude, "max_tokens: 1.5M", func(r role.Role) string { return fmt.Sprint(r.MaxTokens) }, "1500000", ""},
		{claude, "max_cost: 0.25", func(r role.Role) string { return fmt.Sprint(r.MaxCost) }, "250000", ""},
		{claude, "max_cost: NaN", func(r role.Role) string { return fmt.Sprint(r.MaxCost) }, "0", "amount in dollars"},
		{claude, "temperature: 9", func(r role.Role) string { return fmt.Sprint(r.Temperature == nil) }, "true", "from 0 to 2"},
		{claude, "context: everything", func(r role.Role) string { return string(r.Context) }, "", "one of none, summary"},
		{claude, "can_delegate: true", delegates, "true", ""},
		{claude, "can_delegate: false\ndelegates: [a]", delegates, "false", "do not count"},
		{claude, "mode: primary", func(r role.Role) string { return string(r.Mode) }, "primary", ""},
		{copilot, "disable-model-invocation: true", func(r role.Role) string { return string(r.Mode) }, "primary", ""},
		{copilot, "user-invocable: false", func(r role.Role) string { return string(r.Mode) }, "subagent", ""},
		{claude, "as_tool: true", func(r role.Role) string { return r.AsTool.Name }, "x", ""},
		{claude, "as_tool: {name: Do It, max_turns: 3, tools: [Read]}", func(r role.Role) string { return fmt.Sprint(r.AsTool.Name, r.AsTool.MaxTurns, r.AsTool.Tools) }, "Do_It3 [Read]", ""},
		{
			claude, "tools: [Bash]\nas_tool: {name: Do, tools: [Read, Bash(git *)]}",
			func(r role.Role) string { return fmt.Sprint(r.AsTool.Tools, r.ToolRules) }, "[Read] []", "Bash(git *) is left out of the tools of as_tool",
		},
		{claude, "mdoel: opus", model, "", "unknown key mdoel (did you mean model?)"},
		{claude, "model: opus\nmodel: haiku", model, "haiku", "said twice, here and in line 4"},
		{claude, "base: &a [Read]\ntools: *a", tools, "", "anchors and aliases"},
	} {
		t.Run(c.lines, func(t *testing.T) {
			t.Parallel()
			f := parse(c.path, front(c.lines))
			if len(f.Errors) > 0 || len(f.Roles) != 1 {
				t.Fatalf("%d roles, errors %v", len(f.Roles), f.Errors)
			}
			if got := c.get(f.Roles[0]); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := fmt.Sprint(f.Warnings); c.warning == "" && len(f.Warnings) > 0 || !strings.Contains(got, c.warning) {
				t.Errorf("warnings are %v, want %q", got, c.warning)
			}
			for _, w := range f.Warnings {
				if w.File != c.path || w.Line < 2 || w.Line > 8 {
					t.Errorf("%+v does not say where", w)
				}
			}
		})
	}
}

// TestShapes reads files that are written or broken in unusual ways.
func TestShapes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("All work and no play. ", 60<<10/22)
	for name, c := range map[string]struct {
		path, src, want string // name | description | start of the prompt
		warning         string
	}{
		"crlf":         {"a.md", "---\r\nname: a\r\ndescription: d\r\n---\r\nP\r\nq\r\n", "a|d|P\nq", ""},
		"old mac":      {"a.md", "---\rname: a\rdescription: d\r---\rP\r", "a|d|P", ""},
		"bom":          {"a.md", "\ufeff---\nname: a\ndescription: d\n---\nP", "a|d|P", ""},
		"spaces":       {"a.md", "\n\n---  \nname: Code Reviewer\ndescription: d\n--- \nP", "Code Reviewer|d|P", ""},
		"quoted name":  {"a.md", "---\nname: 'A B'\ndescription: \"d: e\"\n---\nP", "A B|d: e|P", ""},
		"folded":       {"a.md", "---\nname: a\ndescription: >\n  one\n  two\n---\nP", "a|one two|P", ""},
		"no name":      {"x/Big-Agent.md", "---\ndescription: d\n---\nP", "Big-Agent|d|P", ""},
		"agent.md":     {"x/swe.agent.md", "---\ndescription: d\n---\nP", "swe|d|P", ""},
		"no beginning": {"a.md", "name: a\ndescription: d\nmodel: opus\n---\nP", "a|d|P", "has no beginning"},
		"no rules":     {"a.md", "name: a\ndescription: d\n\nYou are a.\n", "a|d|You are a.", "has no end"},
		"letter":       {"a.md", "Name: none\n\nI am: here.\n", "a|Name: none|Name: none\n\nI am: here.", "no front matter"},
		"no end":       {"a.md", "---\nname: a\ndescription: d\n\nYou are a.\n", "a|d|You are a.", "has no end"},
		"no front":     {"x/helper.md", "# Helper\n\nYou help.\n", "helper|You help.|# Helper\n\nYou help.", "no front matter"},
		"no descr":     {"a.md", "---\nname: a\n---\n# T\n\nYou help.\n", "a|You help.|# T\n\nYou help.", "no description"},
		"no prompt":    {"a.md", "---\nname: a\ndescription: d\n---\n", "a|d|", "has no prompt"},
		"colon":        {"a.md", "---\nname: a\ndescription: Use when: it rains\ntools: Read\n---\nP", "a|Use when: it rains|P", "no valid YAML"},
		"dialogue":     {"a.md", "---\nname: a\ndescription: Use it: now\nContext: it rains\nuser: \"hi: you\"\nassistant: ok\nmodel: opus\n---\nP", "a|Use it: now\nContext: it rains\nuser: \"hi: you\"\nassistant: ok|P", "no valid YAML"},
		"tab":          {"a.md", "---\nname: a\ndescription: d\ntools:\n\t- Read\n\t- Grep\n---\nP", "a|d|P", "not tabs"},
		"open quote":   {"a.md", "---\nname: a\ndescription: \"d\nmodel: opus\n---\nP", "a|\"d|P", "no valid YAML"},
		"bad utf8":     {"a.md", "---\nname: a\ndescription: d\xff\n---\nP", "a|d\ufffd|P", ""},
		"rules inside": {"a.md", "---\nname: a\ndescription: d\n---\nP\n\n---\n\nQ\n", "a|d|P\n\n---\n\nQ", ""},
		"fenced":       {"a.agent.md", "```chatagent\n---\nname: a\ndescription: d\n---\nP\n```\n", "a|d|P", ""},
		"comment":      {"a.md", "---\n# hello\nname: a # b\ndescription: d\n---\nP", "a|d|P", ""},
		"long prompt":  {"a.md", "---\nname: a\ndescription: d\n---\n" + long, "a|d|" + strings.TrimSpace(long), ""},
		"emoji":        {"a.md", "---\nname: 审查员\ndescription: d\nemoji: 🦊\n---\nP", "审查员|d|P", ""},
		"deep":         {"a.md", "---\nname: a\ndescription: d\nmetadata: " + strings.Repeat("[", 5000) + "\n---\nP", "a|d|P", "nested too deeply"},
		"nested oc":    {"/p/.opencode/agents/team/lead.md", "---\ndescription: d\n---\nP", "team/lead|d|P", ""},
		"toml":         {"a.toml", "name = \"a\"\ndescription = \"d\"\ndeveloper_instructions = '''P'''", "a|d|P", ""},
		"toml no name": {"b.toml", "description = \"d\"\ndeveloper_instructions = \"P\"", "b|d|P", "has no name"},
		"toml danger":  {"b.toml", "name = \"b\"\ndescription = \"d\"\nsandbox_mode = \"danger-full-access\"\ndeveloper_instructions = \"P\"", "b|d|P", "3: sandbox_mode danger-full-access is not taken over"},
		"json one":     {"a.json", `{"name":"a","description":"d","systemPrompt":"P","allowedTools":["Read"],"maxIterations":5}`, "a|d|P", ""},
		"json map":     {"a.json", `{"a":{"description":"d","prompt":"P"}}`, "a|d|P", ""},
		"json agents":  {"a.json", `{"agents":{"a":{"description":"d","prompt":"P"}}}`, "a|d|P", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := parse(c.path, c.src)
			if len(f.Errors) > 0 || len(f.Roles) != 1 {
				t.Fatalf("%d roles, errors %v", len(f.Roles), f.Errors)
			}
			r := f.Roles[0]
			if got := r.Name + "|" + r.Description + "|" + r.Prompt; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := fmt.Sprint(f.Warnings); c.warning == "" && len(f.Warnings) > 0 || !strings.Contains(got, c.warning) {
				t.Errorf("warnings are %v, want %q", got, c.warning)
			}
		})
	}
	r := parse("a.md", "---\nname: a\ndescription: d\ntools:\n\t- Read\n\t- Grep\n---\nP").Roles[0]
	if got := strings.Join(r.Tools, " "); got != "Read Grep" {
		t.Errorf("by lines, tools are %q", got)
	}
}

// TestErrors reads what cannot be a role.
func TestErrors(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct{ path, src string }{
		"no text file":                       {"a.md", "---\nname: a\x00\n---\n"},
		"more than 1048576 bytes":            {"a.md", strings.Repeat("a", maxSize+1)},
		"UTF-16":                             {"a.md", "\xff\xfe-\x00-\x00"},
		"it is empty":                        {"a.md", " \n"},
		"has no name":                        {"a.md", "---\nname: '--'\ndescription: d\n---\nP"},
		"more than 64 characters":            {"a.md", "---\nname: " + strings.Repeat("n", 65) + "\ndescription: d\n---\nP"},
		"neither a description nor a prompt": {"a.md", "---\nname: a\n---\n"},
		"a.md:3: it describes a remote":      {"a.md", "---\nname: a\nkind: remote\nagent_card_url: https://x\n---\n"},
		"team.md:2: it lists remote agents":  {"team.md", "---\n- kind: remote\n  name: a\n  agent_card_url: https://x\n- name: b\n  kind: remote\n  agent_card_json: '{}'\n---\n"},
		"b.md:2: it lists remote agents":     {"b.md", "---\n- name: a\n  kind: \"remote\"\n  auth: {type: http}\n---\nText."},
		"c.md:2: it is a list":               {"c.md", "---\n- name: a\n  description: remote control\n---\nP"},
		"a.md:4: output_schema is no":        {"a.md", "---\nname: a\ndescription: d\noutput_schema: {type: 7}\n---\nP"},
		"leads out of the schema":            {"a.md", "---\nname: a\ndescription: d\noutput_schema: {$ref: 'file:///etc/passwd'}\n---\nP"},
		"a.toml:2: it is no valid TOML":      {"a.toml", "name = \"a\"\ndescription = d"},
		"a.json:3: it is no valid JSON":      {"a.json", "{\n\"a\": {\n\"x\" 1}}"},
		"nested too deeply":                  {"a.json", strings.Repeat("[", 200)},
		"has to be an object":                {"a.json", "[1]"},
		"AgentRoles has no Roles":            {"a.json", `{"AgentRoles": {}}`},
		"cannot be read from here":           {"a.json", `{"AgentRoles": {"Roles": [{"RoleId": "a", "SystemPromptFile": "p.md"}]}}`},
	} {
		f := parse(c.path, c.src)
		if len(f.Roles) != 0 || !strings.Contains(fmt.Sprint(f.Errors), want) {
			t.Errorf("%d roles, errors %v, want %q", len(f.Roles), f.Errors, want)
		}
	}
	f := parse("a.json", `{"agent": {"good": {"description": "d", "prompt": "P"}, "bad": 7, "worse": {"description": "d", "prompt": "{file:/etc/passwd}"}}}`)
	if len(f.Roles) != 1 || f.Roles[0].Name != "good" || len(f.Errors) != 2 {
		t.Errorf("a bad role hides a good one: %+v", f)
	}
	for _, path := range []string{"README.md", "/x/agents/CLAUDE.md"} {
		if f := parse(path, "# Read me\n\ntext\n"); !f.Skipped || len(f.Roles)+len(f.Errors) > 0 {
			t.Errorf("%s was taken for a role: %+v", path, f)
		}
	}
}

// TestRoundTrip writes roles and reads them again.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	builtin, err := role.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	hot := 0.7
	roles := append(builtin, role.Role{
		Name: "Odd: one", DisplayName: "#1", Description: "says: \"no\"\nand - yes", Icon: "🦊", When: []string{"a, b", "c: d"}, Prompt: "P\n\n---\n\nq: r",
		Model: "smart, anthropic/claude-opus-4-5", Temperature: &hot, Effort: "low", Tools: []string{"Read", "mcp__a__*"}, DeniedTools: []string{"Bash"},
		Delegates: []string{"tester", "Odd: two"}, MaxTurns: 3, MaxDuration: 90 * time.Second, MaxTokens: 5, MaxCost: 1, MaxParallel: 2,
		Context: role.ContextFull, Summary: "yes", OutputSchema: json.RawMessage(`{"type":"object"}`), InputSchema: json.RawMessage(`{"type":"object"}`),
		Acceptance: "go test ./... && echo 'a: b'", Background: true, Isolation: "worktree", Mode: role.ModeSubagent,
		AsTool: &role.AsTool{Name: "Odd", Input: json.RawMessage(`{"type":"object"}`), Tools: []string{"Read"}, MaxTurns: 2, Prompt: "T"},
	}, role.Role{
		Name: "bound", Description: "d", Prompt: "p", Tools: []string{"Read", "Bash", "Edit"},
		ToolRules: []string{"Bash(git *)", "Bash(go test *)", "!Edit(*.sql)"},
	}, role.Role{
		Name: "bound but for", Description: "d", Prompt: "p", AllTools: true,
		ToolRules: []string{"!Bash(rm *)", "Bash(git *)", "Bash(go test *)", "Edit(docs/**)"},
	}, role.Role{Name: "yes", Description: "null", Prompt: "1", AllTools: true, AnyDelegate: true, MaxDuration: 2 * time.Hour})
	for _, r := range roles {
		text, err := Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		f := parse("/p/.cadre/agents/x.md", string(text))
		if len(f.Errors)+len(f.Warnings) > 0 || len(f.Roles) != 1 {
			t.Fatalf("%s: %v %v\n%s", r.Name, f.Errors, f.Warnings, text)
		}
		got := f.Roles[0]
		got.Source, got.Origins, got.Warnings, r.Source, r.Origins = role.Source{}, nil, nil, role.Source{}, nil
		r.Tools = namedTools(r.Tools)
		if t := r.AsTool; t != nil {
			face := *t
			if face.Tools != nil {
				face.Tools = namedTools(face.Tools)
			}
			r.AsTool = &face
		}
		if shown(got) != shown(r) {
			t.Errorf("%s:\n got %s\nwant %s\n%s", r.Name, shown(got), shown(r), text)
		}
	}
}

// shown is a role as text, all of it.
func shown(r role.Role) string {
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(string(b), "null", "[]")
}

func TestTemplateIsClean(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"helper", "Code Reviewer", "a: b", "yes", "审查员"} {
		f := parse("/p/.cadre/agents/x.md", string(Template(name)))
		if len(f.Errors)+len(f.Warnings) > 0 || len(f.Roles) != 1 || f.Roles[0].Name != name {
			t.Errorf("%s: %+v", name, f)
		}
	}
	// What is commented out is right, too.
	var lines []string
	for line := range strings.Lines(string(Template("x"))) {
		if rest, ok := strings.CutPrefix(line, "# "); ok && strings.Contains(rest, ": ") && isKey(strings.SplitN(rest, ":", 2)[0]) {
			line = rest
		}
		lines = append(lines, line)
	}
	f := parse("/p/.cadre/agents/x.md", strings.Join(lines, ""))
	if len(f.Errors)+len(f.Warnings) > 0 || len(f.Roles) != 1 || f.Roles[0].MaxCost != 500_000 || f.Roles[0].Isolation != "worktree" {
		t.Errorf("%v %v", f.Errors, f.Warnings)
	}
}

func TestWarningsAreBounded(t *testing.T) {
	t.Parallel()
	f := parse("a.md", front(strings.Repeat("a: b\n", 100_000)))
	if len(f.Roles) != 1 || len(f.Warnings) != maxWarnings+1 || len(f.Roles[0].Warnings) != maxWarnings+1 {
		t.Errorf("%d roles, %d warnings", len(f.Roles), len(f.Warnings))
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{".cadre/agents/release-manager.md", ".claude/agents/nested/broken-colon.md", ".opencode/agents/team/auditor.md", ".codex/agents/explorer.toml", "appsettings.json", "opencode.jsonc"} {
		b, err := os.ReadFile("testdata/project/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, b)
	}
	f.Add("a.md", []byte("---\na: [\n---\n"))
	f.Add("a.json", []byte("/*"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		got := Parse(name, data, Options{Distance: letters, CheckRule: sound})
		for _, r := range got.Roles {
			text, err := Encode(r)
			if err != nil {
				t.Fatal(err)
			}
			again := Parse("/p/.cadre/agents/x.md", text, Options{})
			if len(again.Roles) != 1 || len(again.Errors) > 0 || again.Roles[0].Name != r.Name {
				t.Fatalf("what was written does not read: %v\n%q", again.Errors, text)
			}
		}
	})
}
