package orchestrate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/role"
)

// promptText assembles the system prompt of a role at its place in the tree.
// It holds nothing that differs between siblings, so that vendors' caches
// serve them all; what differs, the task, is the first message.
func promptText(r role.Role, roles *role.Registry, parent string, spec agent.Spec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Role: %s\n\n%s\n\n## Your place\n\n", r.Name, r.Prompt)
	if spec.Depth > 0 {
		fmt.Fprintf(&b, "- You are a %s sub-agent at depth %d of %d; the %s agent gave you the task.\n", r.Name, spec.Depth, spec.MaxDepth, parent)
	}
	if spec.Dir != "" {
		fmt.Fprintf(&b, "- Working folder: %s. File tools do not leave it.\n", spec.Dir)
	}
	fmt.Fprintf(&b, "- Limits: %d turns, %s of working time.\n", spec.Limits.Turns, duration(spec.Limits.Active))
	if len(spec.Delegates) == 0 {
		b.WriteString("- You cannot delegate.\n")
		return b.String()
	}
	b.WriteString("- You may delegate to:\n")
	for _, name := range spec.Delegates {
		if d, ok := roles.Get(name); ok {
			fmt.Fprintf(&b, "  - %s: %s\n", d.Name, d.Description)
		}
	}
	return b.String()
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
