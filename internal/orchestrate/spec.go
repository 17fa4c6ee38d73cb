// Specs: what a role gives an agent at its place in the tree.

package orchestrate

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/role"
)

// spec is what a role gives an agent at a depth.
func (p *Performer) spec(r role.Role, depth, maxDepth int) agent.Spec {
	spec := agent.Spec{
		Role: r.Name, Depth: depth, MaxDepth: maxDepth, Context: string(role.ContextNone),
		Limits: agent.Limits{Turns: r.MaxTurns, Active: r.MaxDuration.Milliseconds(), Children: r.MaxParallel},
		Effort: r.Effort, Temperature: r.Temperature,
	}
	names := p.tools.Names()
	for _, name := range names {
		if p.has(r, name, depth, maxDepth) {
			spec.Tools = append(spec.Tools, name)
		}
	}
	if len(r.ToolRules) > 0 {
		spec.Bounds = [][]string{r.ToolRules}
	}
	if !delegating(r, depth, maxDepth) {
		return spec
	}
	spec.Delegates = r.Delegates
	var passed []string
	for _, name := range names {
		var users []role.Role
		for _, d := range r.Delegates {
			if to, ok := p.roles.Get(d); ok && p.has(to, name, depth+1, maxDepth+1) { // its own depth limit is checked when it delegates
				users = append(users, to)
			}
		}
		if len(users) > 0 {
			spec.Delegable = append(spec.Delegable, name)
			passed = append(passed, role.SharedRules(users, name)...)
		}
	}
	if len(passed) > 0 {
		spec.Passed = [][]string{passed}
	}
	return spec
}

func delegating(r role.Role, depth, maxDepth int) bool {
	return depth < maxDepth && len(r.Delegates) > 0
}

// has tells whether an agent of a role has a tool at a depth.
func (p *Performer) has(r role.Role, name string, depth, maxDepth int) bool {
	switch name {
	case SubmitResult, SubmitError: // a role made for sub-agents keeps to its form as an orchestrator, too
		return depth > 0 || r.Mode != role.ModePrimary
	case ReplyToAgent, SettleWork, ListAgents, CheckAgent, StopAgent, MessageAgent, ContinueAgent, RunBehind: // the orchestrator's
		return depth == 0 && delegating(r, depth, maxDepth) && !slices.Contains(r.DeniedTools, name)
	}
	if slices.Contains(role.Delegation(), name) {
		return delegating(r, depth, maxDepth) && r.Uses(name)
	}
	if to, ok := p.roles.ByTool(name); ok {
		return delegating(r, depth, maxDepth) && slices.Contains(r.Delegates, to.Name)
	}
	return r.Uses(name)
}

// below resolves a child's working folder, which lies in its parent's, whatever
// links are on the way. What it returns has no links in it.
func below(dir, cwd string) (string, error) {
	to := cwd
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("looking at the working folder: %w", err)
	}
	for _, base := range []string{dir, real} { // what is named and what is there
		rel, err := filepath.Rel(base, filepath.Clean(to))
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return "", fmt.Errorf("cwd %q is outside your working folder %s", cwd, dir)
		}
		if to, err = filepath.EvalSymlinks(to); err != nil {
			return "", fmt.Errorf("cwd %q is no folder in %s", cwd, dir)
		}
	}
	if info, err := os.Stat(to); err != nil || !info.IsDir() {
		return "", fmt.Errorf("cwd %q is no folder in %s", cwd, dir)
	}
	return to, nil
}

func millis(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no duration such as 90s or 5m", s)
	}
	return d.Milliseconds(), nil
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
