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
