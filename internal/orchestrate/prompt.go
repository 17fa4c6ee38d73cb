// System prompts: assembled of parts, the same for all siblings.

package orchestrate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/role"
)

// promptText assembles the system prompt of a role at its place in the tree:
// the role, whom it may delegate to and when, its place and limits, its
// environment, the form of its result, what the project wants it to know. It
// holds nothing that differs between siblings, so that vendors' caches serve
// them all; what differs, the task, is the first message.
func (p *Performer) promptText(r role.Role, parent string, spec agent.Spec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Role: %s\n\n%s\n", r.Name, r.Prompt)
	if len(spec.Delegates) > 0 {
		var to []role.Role
		for _, name := range spec.Delegates {
			if d, ok := p.roles.Get(name); ok {
				to = append(to, d)
			}
		}
		b.WriteString("\n" + role.Guidelines(to) + "\n")
	}
	b.WriteString("\n## Your place\n\n")
	if spec.Depth > 0 {
		fmt.Fprintf(&b, "- You are a %s sub-agent at depth %d of %d, for the %s agent.", r.Name, spec.Depth, spec.MaxDepth, parent)
		if len(spec.Delegates) == 0 {
			b.WriteString(" You cannot delegate.")
		}
		b.WriteByte('\n')
	}
	switch {
	case spec.Worktree:
		b.WriteString("- You work in a git worktree of your own, made of the project as it is. Use relative paths; tools do not leave it.\n")
	case spec.Dir != "":
		fmt.Fprintf(&b, "- Working folder: %s. Tools do not leave it.\n", spec.Dir)
	}
	fmt.Fprintf(&b, "- Limits: %d turns, %s of working time. System: %s.\n", spec.Limits.Turns, duration(spec.Limits.Active), runtime.GOOS)
	if len(r.ToolRules) > 0 {
		b.WriteString("- " + inWays(r) + "\n")
	}
	if spec.Depth > 0 {
		b.WriteString("- " + resultForm(r, spec) + "\n")
	}
	for _, in := range p.about(spec.Dir) {
		fmt.Fprintf(&b, "\n## Instructions from %s\n\n%s\n", in.File, in.Text)
	}
	return b.String()
}

// inWays says how the role's tools may be used, so that no call is made in vain.
func inWays(r role.Role) string {
	var only, not []string
	for _, rule := range r.ToolRules {
		if text, is := strings.CutPrefix(rule, role.Not); is {
			not = append(not, text)
		} else {
			only = append(only, rule)
		}
	}
	var s []string
	if len(only) > 0 {
		s = append(s, "Of these tools you have only these uses: "+strings.Join(only, ", ")+". Every command of a line must be one of them.")
	}
	if len(not) > 0 {
		s = append(s, "You may not use "+strings.Join(not, ", ")+".")
	}
	return strings.Join(s, " ")
}

// resultForm says how a sub-agent ends.
func resultForm(r role.Role, spec agent.Spec) string {
	s := "End with submit_result, or with submit_error if it cannot be done."
	if spec.Schema {
		s = "End with submit_result in the form that its schema asks for, or with submit_error if it cannot be done."
	}
	if spec.Acceptance {
		s += " Your result counts only if this command passes: " + spec.Command
	}
	if r.Summary != "" {
		s += " " + r.Summary
	}
	return s
}

func duration(ms int64) string {
	if ms == 0 {
		return "any amount"
	}
	d := time.Duration(ms) * time.Millisecond
	if d%time.Minute == 0 {
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return d.String()
}

// keep remembers a prompt under the id that its text gives it.
func (p *Performer) keep(text string) string {
	sum := sha256.Sum256([]byte(text))
	id := "p" + hex.EncodeToString(sum[:12])
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prompts[id] = text
	return id
}

// Prompt implements engine.Performer.
func (p *Performer) Prompt(id string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, ok := p.prompts[id]
	return text, ok
}

// Explained is how an agent of a role would begin.
type Explained struct {
	Spec   agent.Spec
	Prompt string
	Tools  []string
}

// Explain tells how an agent of a role would begin at a depth below a parent
// of another role, in a folder.
func (p *Performer) Explain(name, parent string, depth int, dir string) (Explained, error) {
	r, ok := p.roles.Get(name)
	if !ok {
		return Explained{}, fmt.Errorf("there is no role %q", name)
	}
	spec := p.spec(r, depth, p.depth)
	if above, ok := p.roles.Get(parent); ok && depth > 0 {
		from := p.spec(above, depth-1, p.depth)
		spec.Tools = slices.DeleteFunc(spec.Tools, func(t string) bool { return !slices.Contains(from.Delegable, t) })
		spec.Bounds = slices.Concat(spec.Bounds, from.Passed)
	}
	spec.Dir, spec.Schema, spec.Output = dir, len(r.OutputSchema) > 0, r.OutputSchema
	spec.Command, spec.Acceptance = r.Acceptance, r.Acceptance != ""
	return Explained{Spec: spec, Prompt: p.promptText(r, parent, spec), Tools: spec.Tools}, nil
}
