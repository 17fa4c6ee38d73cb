// Names of tools: what Cadre calls the tools of other products.

package rolefile

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/role"
)

// meaning is what the name of a tool stands for.
type meaning struct {
	tools     []string // Cadre's
	known     bool     // it is known, even if there is no such tool here
	delegates bool     // it stands for delegating
	to        []string // to these roles; none: to any
}

// peers maps the names of other products, in the form of plain, to Cadre's
// tools. An empty entry is a tool that has no counterpart.
var peers = map[string]string{
	// Claude Code
	"notebookread": "Read", "notebookedit": "", "killshell": "KillBash", "taskstop": "KillBash", "taskoutput": "BashOutput",
	"todowrite": "todo", "todoread": "todo", "taskcreate": "todo", "taskupdate": "todo", "tasklist": "todo", "taskget": "todo",
	"askuserquestion": "ask_user", "skill": "", "slashcommand": "", "exitplanmode": "", "enterplanmode": "", "lsp": "", "monitor": "",
	"toolsearch": "", "sendmessage": "", "teamcreate": "", "teamdelete": "", "croncreate": "", "crondelete": "", "cronlist": "",
	"enterworktree": "", "exitworktree": "", "listmcpresourcestool": "mcp__*", "readmcpresourcetool": "mcp__*", "powershell": "Bash",
	// opencode
	"list": "LS", "question": "ask_user", "doomloop": "", "externaldirectory": "",
	// Gemini CLI
	"readfile": "Read", "readmanyfiles": "Read Glob", "writefile": "Write", "replace": "Edit", "runshellcommand": "Bash",
	"searchfilecontent": "Grep", "grepsearch": "Grep", "listdirectory": "LS", "googlewebsearch": "web_search", "writetodos": "todo",
	"savememory": "", "activateskill": "", "getinternaldocs": "", "completetask": "submit_result", "askuser": "ask_user",
	// GitHub Copilot and VS Code
	"search": "Grep Glob LS", "execute": "Bash BashOutput KillBash", "shell": "Bash", "terminal": "Bash", "runcommands": "Bash BashOutput",
	"runinterminal": "Bash", "getterminaloutput": "BashOutput", "terminallastcommand": "BashOutput", "web": "web_fetch web_search",
	"fetch": "web_fetch", "fetchwebpage": "web_fetch", "opensimplebrowser": "web_fetch", "todos": "todo", "managetodolist": "todo",
	"codebase": "keyword_search Grep Glob", "usages": "Grep", "textsearch": "Grep", "filesearch": "Glob", "findtestfiles": "Glob",
	"listdir": "LS", "view": "Read", "editfiles": "Edit MultiEdit Write", "createfile": "Write", "create": "Write", "createdirectory": "Write",
	"inserteditintofile": "Edit", "replacestringinfile": "Edit", "multireplacestringinfile": "MultiEdit", "askquestions": "ask_user",
	"searchresults": "", "problems": "", "changes": "", "githubrepo": "", "vscodeapi": "", "extensions": "", "new": "", "vscode": "",
	"runtasks": "", "runtests": "", "runtask": "", "testfailure": "", "terminalselection": "", "runnotebooks": "",
	"createandruntask": "", "gettaskoutput": "BashOutput", "memory": "", "runcommand": "", "installextension": "", "newworkspace": "",
	"getprojectsetupinfo": "", "rename": "", "browser": "", "editnotebook": "", "createjupyternotebook": "", "activepullrequest": "",
	"copilotcodingagent": "", "terminalcommand": "", "awaitterminal": "", "switchagent": "", "symbols": "Grep",
	// Codex
	"applypatch": "Patch", "updateplan": "todo", "viewimage": "read_image", "localshell": "Bash", "execcommand": "Bash",
	"writestdin": "", "unifiedexec": "Bash",
}

// delegating are the names of tools that start agents.
var delegating = []string{"task", "agent", "agents", "runsubagent", "subagent", "customagent", "spawnagent", "invokeagent"}

// plain is the name of a tool without what differs between writers.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// ownTools maps Cadre's own tools by their plain names.
var ownTools = func() map[string]string {
	out := map[string]string{}
	for _, name := range slices.Concat(role.Tools(), role.EveryAgents()) {
		out[plain(name)] = name
	}
	return out
}()

// faces are the built-in roles that are offered as tools: who names one may
// delegate to it.
var faces = []string{"CodeSearch", "CodeReview", "Planner"}

var (
	called = regexp.MustCompile(`^([\w./-]+)\s*\((.*)\)$`)
	unsafe = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// tool tells what a name stands for, and warns if it is nothing.
func (r *reader) tool(name string, line int) meaning {
	name = strings.TrimPrefix(unquote(name), "#")
	inner := ""
	if m := called.FindStringSubmatch(name); m != nil {
		name, inner = m[1], m[2]
	}
	m := r.mean(name)
	switch {
	case m.delegates && inner != "":
		m.to, _ = list(inner)
	case inner != "" && inner != "*" && len(m.tools) > 0:
		m.tools = r.only(m.tools, inner, line)
	case !m.known:
		among := append(slices.Concat(role.Tools(), role.Delegation()), faces...)
		r.warn(line, "unknown tool %s%s: it is left out (the tools of an MCP server are named mcp__server__*)", name, r.p.o.nearest(name, among))
	case len(m.tools) == 0 && !m.delegates:
		r.without = append(r.without, name)
	}
	return m
}

// only lets the role use tools in one way only, and returns those for which
// that can be told. The others would be given as a whole: they are left out.
func (r *reader) only(tools []string, way string, line int) []string {
	var out []string
	for _, t := range tools {
		if r.p.o.Format == Gemini && t == "Bash" && !strings.HasSuffix(way, "*") {
			way += " *" // there it is how a command begins
		}
		rule := t + "(" + way + ")"
		if err := r.p.o.checkRule(rule); err != nil {
			r.warn(line, "it is left out of the tools: %v", err)
			continue
		}
		r.rule(rule, line)
		out = append(out, t)
	}
	return out
}

func (r *reader) mean(name string) meaning {
	key := plain(name)
	switch own, isOwn := ownTools[key]; {
	case slices.Contains(faces, name) || key == "codereview":
		return meaning{known: true, delegates: true, to: []string{name}}
	case r.p.o.Format == Copilot && key == "edit":
		return meaning{known: true, tools: []string{"Edit", "MultiEdit", "Write"}}
	case isOwn:
		return meaning{known: true, tools: []string{own}}
	case slices.Contains(delegating, key) || slices.Contains(role.Delegation(), name):
		return meaning{known: true, delegates: true}
	}
	if tools, ok := peers[key]; ok {
		return meaning{known: true, tools: strings.Fields(tools)}
	}
	return r.server(name)
}

// server reads the names of tools of MCP servers: mcp__server, mcp_server_tool
// as Gemini has it, server/tool as Copilot has it, server_* as opencode has it.
func (r *reader) server(name string) meaning {
	of := func(server, tool string) meaning {
		pattern := "mcp__" + unsafe.ReplaceAllString(server, "_")
		if server == "*" {
			return meaning{known: true, tools: []string{"mcp__*"}}
		}
		if tool != "*" {
			tool = unsafe.ReplaceAllString(tool, "_")
		}
		return meaning{known: true, tools: []string{pattern + "__" + tool}}
	}
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		server, tool, ok := strings.Cut(rest, "__")
		if !ok {
			tool = "*"
		}
		if server == "" || tool == "" {
			return meaning{}
		}
		return of(server, tool)
	}
	if rest, ok := strings.CutPrefix(name, "mcp_"); ok && rest != "" {
		server, tool, ok := strings.Cut(rest, "_")
		if !ok {
			tool = "*"
		}
		return of(server, tool)
	}
	if space, tool, ok := strings.Cut(name, "/"); ok && space != "" && tool != "" {
		if m := r.inNamespace(space, tool); m.known {
			return m
		}
		return of(space, tool)
	}
	if server, ok := strings.CutSuffix(name, "*"); ok && strings.Trim(server, "_-") != "" {
		return of(strings.TrimRight(server, "_-"), "*")
	}
	return meaning{}
}

// inNamespace reads the names that VS Code gives its own tools: edit/editFiles.
func (r *reader) inNamespace(space, tool string) meaning {
	key := plain(space)
	_, isPeer := peers[key]
	_, isOwn := ownTools[key]
	if !isPeer && !isOwn && !slices.Contains(delegating, key) {
		return meaning{}
	}
	if tool == "*" {
		return r.mean(space)
	}
	m := r.mean(tool)
	m.known = true // it is VS Code's, whether there is such a tool here or not
	return m
}

// setTools reads which tools a role may use. A map of names to bools takes
// tools away from all, unless it takes all away first.
func setTools(r *reader, e entry) {
	if m, ok := pairs(e.value, e.line); ok {
		r.toolMap(m, e)
		return
	}
	names, ok := list(e.value)
	if !ok {
		r.wrong(e, "a list of tools")
		return
	}
	if e.value == nil {
		return // the same as if it were not there
	}
	r.toolsSaid = true
	r.from("tools", e.line)
	before := len(r.role.Warnings)
	for _, name := range names {
		r.grant(name, e.line)
	}
	if len(r.without) > 0 {
		r.warn(e.line, "no counterpart in Cadre have the tools %s: they are left out", strings.Join(r.without, ", "))
	}
	if len(r.role.Warnings) > before && len(r.role.Tools) == 0 && !r.role.AllTools && !r.delegating {
		r.warn(e.line, "none of the tools it names are here: it has only those that every agent has")
	}
}

// grant gives a role what a name stands for.
func (r *reader) grant(name string, line int) {
	if name = unquote(name); name == "*" || strings.EqualFold(name, "all") {
		r.role.AllTools, r.whole = true, append(r.whole, role.Tools()...)
		return
	}
	if words := strings.Fields(name); len(words) > 1 && !strings.Contains(name, "(") && !slices.ContainsFunc(words, func(w string) bool { return !r.mean(w).known }) {
		for _, w := range words {
			r.grant(w, line)
		}
		return
	}
	rules := len(r.role.ToolRules)
	m := r.tool(name, line)
	if len(r.role.ToolRules) == rules {
		r.whole = append(r.whole, m.tools...)
	}
	r.role.Tools = append(r.role.Tools, slices.DeleteFunc(m.tools, func(t string) bool { return slices.Contains(role.EveryAgents(), t) })...)
	r.delegate(m, line)
}

// delegate lets a role delegate as a tool of that meaning does.
func (r *reader) delegate(m meaning, line int) {
	if !m.delegates {
		return
	}
	r.delegating = true
	if len(m.to) > 0 {
		r.role.Delegates = append(r.role.Delegates, m.to...)
		r.delegatesSaid = true
		r.from("delegates", line)
	}
}

// toolMap reads opencode's form: names to true or false.
func (r *reader) toolMap(m []entry, e entry) {
	r.from("tools", e.line)
	none := slices.ContainsFunc(m, func(x entry) bool {
		is, ok := boolean(x.value)
		return x.key == "*" && ok && !is
	})
	r.toolsSaid = true
	r.role.AllTools = !none
	for _, x := range m {
		is, ok := boolean(x.value)
		switch {
		case !ok:
			r.wrong(entry{key: e.key + "." + x.key, line: e.line, value: x.value}, "true or false")
		case x.key == "*":
		case !is:
			r.deny(x.key, e.line)
		case none:
			r.grant(x.key, e.line)
		default:
			r.delegate(r.tool(x.key, e.line), e.line)
		}
	}
}

func setDenied(r *reader, e entry) {
	names, ok := list(e.value)
	if !ok {
		r.wrong(e, "a list of tools")
		return
	}
	r.from("denied_tools", e.line)
	for _, name := range names {
		r.deny(name, e.line)
	}
}

// forbid keeps the role from using what a name stands for in one way.
func (r *reader) forbid(m meaning, way string, line int) {
	if m.delegates {
		r.warn(line, "delegation to %s is not taken away: name those it may delegate to instead", way)
	}
	for _, t := range m.tools {
		rule := role.Not + t + "(" + way + ")"
		if err := r.p.o.checkRule(rule); err != nil {
			r.warn(line, "nothing is taken away: %v", err)
			continue
		}
		r.rule(rule, line)
	}
}

func (r *reader) rule(text string, line int) {
	r.from("tool_rules", line)
	r.role.ToolRules = append(r.role.ToolRules, text)
}

// settleRules drops restrictions of tools that the file also gives as a whole.
func (r *reader) settleRules() {
	r.role.ToolRules = slices.DeleteFunc(unique(r.role.ToolRules), func(rule string) bool {
		tool, _, _ := strings.Cut(rule, "(")
		return slices.Contains(r.whole, tool) && !slices.Contains(r.narrowed, tool)
	})
}

// deny takes away what a name stands for, and what could be used instead.
func (r *reader) deny(name string, line int) {
	if c := called.FindStringSubmatch(unquote(name)); c != nil && c[2] != "*" {
		r.forbid(r.mean(c[1]), c[2], line)
		return
	}
	m := r.mean(strings.TrimSuffix(unquote(name), "(*)"))
	if !m.known {
		r.warn(line, "unknown tool %s%s: there is nothing to take away", name, r.p.o.nearest(name, role.Tools()))
	}
	if m.delegates {
		no := false
		r.canDelegate = &no
	}
	for _, t := range m.tools {
		r.role.DeniedTools = append(r.role.DeniedTools, t)
		switch t {
		case "Edit":
			r.role.DeniedTools = append(r.role.DeniedTools, "MultiEdit", "Patch")
		case "Write":
			r.role.DeniedTools = append(r.role.DeniedTools, "Patch")
		}
	}
}
