// What other products' role files say about permissions: it can take tools
// away, never give leave.

package rolefile

import (
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/role"
)

// setDelegates reads to whom a role may delegate.
func setDelegates(r *reader, e entry) {
	if is, ok := boolean(e.value); ok {
		r.canDelegate = &is
		r.from("delegates", e.line)
		return
	}
	names, ok := list(e.value)
	if !ok {
		r.wrong(e, "a list of roles")
		return
	}
	r.delegatesSaid = true
	r.from("delegates", e.line)
	for _, name := range names {
		switch {
		case name == "*" || strings.EqualFold(name, "all") || strings.EqualFold(name, "any"):
			r.role.AnyDelegate = true
		case name != "":
			r.role.Delegates = append(r.role.Delegates, name)
		}
	}
}

// setPermission reads opencode's permissions: deny takes a tool away, ask is
// what Cadre does anyway, allow is for the user to say elsewhere. If everything
// is denied but some, those are the tools.
func setPermission(r *reader, e entry) {
	rules, ok := pairs(e.value, e.line)
	if !ok {
		if s, _ := text(e.value); s != "ask" {
			r.warn(e.line, "%s is not taken over; permissions come from Cadre's policy", e.key)
		}
		return
	}
	none := slices.ContainsFunc(rules, func(x entry) bool { return x.key == "*" && x.value == "deny" })
	if none {
		r.toolsSaid = true
		r.from("tools", e.line)
	}
	allowed := false
	for _, rule := range rules {
		level := verdict(rule.value)
		allowed = allowed || allows(rule.value)
		switch {
		case rule.key == "*":
		case level == "deny":
			r.refuse(rule.key, e.line)
		case rule.key == "task" && level == "mixed":
			r.taskRules(rule, e.line)
		default:
			if none {
				r.permit(rule.key, e.line)
			}
			r.patterns(rule, e.line)
		}
	}
	if allowed && !none {
		r.warn(e.line, "leave given under %s is not taken over; permissions come from Cadre's policy", e.key)
	}
}

// edits are what opencode means by edit.
var edits = []string{"edit", "write", "patch", "multiedit"}

func (r *reader) refuse(key string, line int) {
	if key == "edit" {
		for _, t := range edits {
			r.deny(t, line)
		}
		return
	}
	if m := r.mean(key); m.known && (len(m.tools) > 0 || m.delegates) {
		r.deny(key, line)
	}
}

func (r *reader) permit(key string, line int) {
	if key == "edit" {
		for _, t := range edits {
			r.grant(t, line)
		}
		return
	}
	if m := r.mean(key); m.known && len(m.tools) == 0 && !m.delegates {
		return // such as doom_loop: no tool at all
	}
	r.grant(key, line)
}

// patterns reads what opencode says of single commands or paths. The last one
// that fits counts there: what stands before a * is void. If that denies, only
// what follows it is left of the tool.
func (r *reader) patterns(rule entry, line int) {
	rules, ok := pairs(rule.value, line)
	m := r.mean(rule.key)
	if !ok || m.delegates {
		return
	}
	if rule.key == "edit" {
		m.tools = nil
		for _, name := range edits {
			m.tools = append(m.tools, r.mean(name).tools...)
		}
	}
	denied := false
	for i, x := range slices.Backward(rules) {
		if x.key == "*" {
			rules, denied = rules[i+1:], x.value == "deny"
			break
		}
	}
	var left []string
	for _, x := range rules {
		switch {
		case x.value == "deny":
			r.forbid(m, x.key, line)
		case denied:
			left = append(left, r.only(m.tools, x.key, line)...)
		}
	}
	if denied {
		r.narrowed = append(r.narrowed, left...)
		r.role.DeniedTools = append(r.role.DeniedTools, slices.DeleteFunc(slices.Clone(m.tools), func(t string) bool { return slices.Contains(left, t) })...)
	}
}

// taskRules reads to which agents opencode lets an agent delegate.
func (r *reader) taskRules(rule entry, line int) {
	r.delegatesSaid = true
	r.from("delegates", line)
	patterns, _ := pairs(rule.value, line)
	for _, p := range patterns {
		if p.value == "deny" {
			continue
		}
		if p.key == "*" {
			r.role.AnyDelegate = true
			continue
		}
		r.role.Delegates = append(r.role.Delegates, p.key)
	}
}

// verdict is what a rule comes down to: allow, ask, deny, or mixed if it
// depends on the command.
func verdict(v any) string {
	m, ok := pairs(v, 0)
	if !ok {
		s, _ := text(v)
		return strings.ToLower(s)
	}
	found := ""
	for _, x := range m {
		s, _ := text(x.value)
		if found != "" && found != s {
			return "mixed"
		}
		found = s
	}
	return found
}

// allows tells whether a rule gives leave for anything.
func allows(v any) bool {
	m, ok := pairs(v, 0)
	if !ok {
		m = []entry{{value: v}}
	}
	return slices.ContainsFunc(m, func(x entry) bool { s, _ := text(x.value); return strings.EqualFold(s, "allow") })
}

// setPermissionMode reads Claude Code's mode. Plan only reads; all others
// would give leave.
func setPermissionMode(r *reader, e entry) {
	switch s, _ := text(e.value); s {
	case "", "default", "manual":
	case "plan":
		r.readOnly(e)
	default:
		r.warn(e.line, "%s %s is not taken over; permissions come from Cadre's policy", e.key, s)
	}
}

// setSandbox reads Codex's sandbox.
func setSandbox(r *reader, e entry) {
	switch s, _ := text(e.value); s {
	case "", "workspace-write":
	case "read-only":
		r.readOnly(e)
	default:
		r.warn(e.line, "%s %s is not taken over; permissions come from Cadre's policy", e.key, s)
	}
}

// readOnly takes away every tool that could change something.
func (r *reader) readOnly(e entry) {
	r.role.DeniedTools = append(r.role.DeniedTools, role.Changing()...)
	r.note("denied_tools", e.line, e.key)
}
