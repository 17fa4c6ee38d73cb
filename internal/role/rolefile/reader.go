// Reading one role: its entries one by one, then what follows from all of them
// together.

package rolefile

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/cadre-dev/cadre/internal/role"
)

// maxName bounds a name, in characters: it is part of prompts, paths and
// tables.
const maxName = 64

// reader reads one role.
type reader struct {
	p    *parser
	role role.Role

	toolsSaid     bool  // the file says which tools it may use
	delegatesSaid bool  // … and to whom it may delegate
	delegating    bool  // it has a tool of delegation
	canDelegate   *bool // what the file says so, if it does
	disabled      bool
	whole         []string // tools that it has for all they can do
	narrowed      []string // … unless it denies them all other uses
	without       []string // tools that have no counterpart here
	broken        bool     // an error was told: the role does not count
}

// begin starts a role that begins in a line, with the name it has if it does
// not name itself.
func (p *parser) begin(name string, line int, note string) *reader {
	r := &reader{p: p, role: role.Role{Name: name, Origins: map[string]role.Origin{}}}
	r.role.Source = role.Source{Scope: p.o.Scope, File: p.file.Path, Line: line, Format: string(p.o.Format)}
	if line == 1 {
		r.role.Source.Line = 0
	}
	r.role.Origins["name"] = role.Origin{File: p.file.Path, Note: note}
	return r
}

func (r *reader) from(key string, line int) {
	r.role.Origins[key] = role.Origin{File: r.p.file.Path, Line: line}
}

func (r *reader) note(key string, line int, note string) {
	r.role.Origins[key] = role.Origin{File: r.p.file.Path, Line: line, Note: note}
}

func (r *reader) warn(line int, format string, args ...any) {
	r.role.Warnings = append(r.role.Warnings, role.Warning{File: r.p.file.Path, Line: line, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) fail(line int, format string, args ...any) {
	r.broken = true
	r.p.fail(line, format, args...)
}

// read takes the entries in.
func (r *reader) read(entries []entry) {
	seen := map[string]int{}
	for _, e := range entries {
		key := snake(e.key)
		if to, ok := sameAs[key]; ok {
			key = to
		}
		if at, twice := seen[key]; twice {
			r.warn(e.line, "%s is said twice, here and in line %d: this one counts", e.key, at)
		}
		seen[key] = e.line
		set, ok := keys[key]
		if !ok {
			r.warn(e.line, "unknown key %s%s: it is ignored", e.key, r.p.o.nearest(key, allKeys))
			continue
		}
		set(r, e)
	}
}

// finish settles what follows from all entries together, and adds the role to
// the file.
func (r *reader) finish() {
	x := &r.role
	x.Name = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(x.Name, ""), func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
	line := x.Origins["name"].Line
	switch {
	case role.Key(x.Name) == "":
		r.fail(line, "the role has no name")
	case len([]rune(x.Name)) > maxName:
		r.fail(line, "the name has more than %d characters", maxName)
	}
	if r.broken {
		return
	}
	if r.disabled {
		r.p.file.Disabled = append(r.p.file.Disabled, x.Name)
		return
	}
	if x.Description+x.Prompt == "" && r.p.o.Format == OpenCode && slices.Contains(openCodesOwn, x.Name) {
		r.p.warn(x.Source.Line, "it adjusts opencode's own agent %s, which Cadre does not have: it is left out", x.Name)
		return
	}
	if !r.describe() {
		return
	}
	if !r.toolsSaid {
		x.AllTools = true
		x.Origins["tools"] = role.Origin{Note: "default: whatever the parent may delegate"}
	}
	r.settleDelegation()
	r.settleFace()
	r.settleRules()
	x.Tools, x.DeniedTools = unique(x.Tools), unique(x.DeniedTools)
	r.p.file.Roles = append(r.p.file.Roles, *x)
}

// openCodesOwn are the agents that come with opencode. Its configuration
// adjusts them without saying what they are.
var openCodesOwn = []string{"build", "plan", "general", "explore", "scout", "title", "summary", "compaction"}

// describe sees to it that a role has a description. It is false if there is
// nothing that could stand in.
func (r *reader) describe() bool {
	x := &r.role
	if x.Description == "" {
		stands := "the first line of the prompt"
		if x.Description = firstSentence(x.Prompt); x.Description == "" {
			x.Description, stands = x.DisplayName, "the display name"
		}
		if x.Description == "" {
			r.fail(x.Source.Line, "the role %s has neither a description nor a prompt", x.Name)
			return false
		}
		r.note("description", 0, stands)
		r.warn(x.Source.Line, "the role %s has no description: nobody knows when to delegate to it; %s stands in", x.Name, stands)
	}
	if x.Prompt == "" {
		r.warn(x.Source.Line, "the role %s has no prompt: it works with its description alone", x.Name)
	}
	return true
}

// settleDelegation decides to whom the role may delegate. A tool of delegation
// without names means anyone, and so does leave to delegate.
func (r *reader) settleDelegation() {
	x := &r.role
	switch {
	case r.canDelegate != nil && !*r.canDelegate:
		if len(x.Delegates) > 0 {
			r.warn(x.Origins["delegates"].Line, "it may not delegate (can_delegate is false), so that the roles it names do not count")
		}
		x.Delegates, x.AnyDelegate = nil, false
	case !r.delegatesSaid && (r.delegating || r.canDelegate != nil):
		x.AnyDelegate = true
	}
	x.Delegates = unique(x.Delegates)
}

// firstSentence is the first line of a prompt that is no heading.
func firstSentence(prompt string) string {
	for line := range strings.Lines(prompt) {
		line = strings.Trim(line, " \t\n*_>")
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "<") {
			continue
		}
		if runes := []rune(line); len(runes) > 200 {
			line = string(runes[:200]) + " …"
		}
		return line
	}
	return ""
}

// unique drops what comes again, and keeps the order.
func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
