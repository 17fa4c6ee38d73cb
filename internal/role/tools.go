// The names of Cadre's tools as role files use them, and which of them a role
// may use.

package role

import (
	"slices"
	"strings"
)

// Tools lists the tools that a role may name. Beside them there are those of
// MCP servers, named mcp__server__tool.
func Tools() []string {
	return slices.Concat(reading, writing, []string{
		"Bash", "BashOutput", "KillBash", "keyword_search", "read_image", "think", "todo", "web_fetch", "web_search",
	})
}

// EveryAgents lists the tools that every sub-agent has, whatever its role says:
// without them it could neither report nor ask.
func EveryAgents() []string {
	return []string{"ask_user", "read_artifact", "submit_error", "submit_result"}
}

// Delegation lists the tools of delegation. A role has them if it has somebody
// to delegate to.
func Delegation() []string {
	return []string{
		"check_agent", "continue_agent", "delegate_to_agent", "list_agents", "message_agent", "run_in_background", "spawn_agents", "stop_agent",
	}
}

var (
	reading = []string{"Read", "LS", "Glob", "Grep"}
	writing = []string{"Write", "Edit", "MultiEdit", "Patch"}
)

// Changing lists the tools that change files or run commands: what a role that
// only reads goes without.
func Changing() []string { return append(slices.Clone(writing), "Bash", "BashOutput", "KillBash") }

// Uses tells whether the role lets its agents use a tool. What a parent may
// delegate, and the policy, narrow this further.
func (r Role) Uses(tool string) bool {
	switch {
	case slices.Contains(EveryAgents(), tool):
		return true
	case slices.ContainsFunc(r.DeniedTools, func(p string) bool { return matches(p, tool) }):
		return false
	case slices.Contains(Delegation(), tool):
		return len(r.Delegates) > 0 || r.AnyDelegate
	}
	return r.AllTools || slices.ContainsFunc(r.Tools, func(p string) bool { return matches(p, tool) })
}

// matches compares the name of a tool with a pattern that may end in *.
func matches(pattern, tool string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(tool, prefix)
	}
	return pattern == tool
}

// Not begins a rule that forbids a use of a tool.
const Not = "!"

// rulesFor are the rules about one tool: how alone it is used, and how not.
func (r Role) rulesFor(tool string) (only, never []string) {
	for _, rule := range r.ToolRules {
		name, _, _ := strings.Cut(rule, "(")
		switch name {
		case tool:
			only = append(only, rule)
		case Not + tool:
			never = append(never, rule)
		}
	}
	return only, never
}

// SharedRules are the rules that hold for a tool whichever of the roles uses
// it: all uses that one of them has, unless one has all; and no use that all of
// them are denied.
func SharedRules(users []Role, tool string) []string {
	var only, never []string
	free := false
	for i, r := range users {
		o, n := r.rulesFor(tool)
		free = free || len(o) == 0
		only = append(only, o...)
		if i == 0 {
			never = n
		}
		never = slices.DeleteFunc(slices.Clone(never), func(rule string) bool { return !slices.Contains(n, rule) })
	}
	if free {
		return never
	}
	return append(only, never...)
}

// Stated are the tools and the denied tools as a file says them: Bash(git *)
// instead of Bash.
func (r Role) Stated() (tools, denied []string) {
	for _, t := range r.Tools {
		if only, _ := r.rulesFor(t); len(only) > 0 {
			tools = append(tools, only...)
		} else {
			tools = append(tools, t)
		}
	}
	denied = slices.Clone(r.DeniedTools)
	for _, rule := range r.ToolRules {
		if text, is := strings.CutPrefix(rule, Not); is {
			denied = append(denied, text)
		}
	}
	return tools, denied
}
