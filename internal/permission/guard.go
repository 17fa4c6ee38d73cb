// Guards: which files a walk has to ask about.

package permission

import (
	"path"
	"strings"
)

// Guarded returns a test, cheap enough for every file of a tree, of whether a
// rule may keep the agent of the request from a file or a folder because of
// its own name, whatever the folders above it are called.
func (p *Policy) Guarded(req Request) func(name string) bool {
	names := map[string]bool{}
	var patterns []string
	add := func(r Rule) {
		if r.Effect == Allow || !r.isFor(req) || !r.namesTool(req.Tool, false) || r.Command != "" || r.Host != "" {
			return
		}
		pattern := strings.ToLower(r.Path)
		switch {
		case pattern == "":
			patterns = append(patterns, "**")
		case !strings.ContainsAny(pattern, `/*?[{\`):
			names[pattern] = true
		default:
			patterns = append(patterns, pattern)
		}
	}
	for _, r := range builtInRules() {
		add(r)
	}
	for _, r := range p.Rules {
		add(r)
	}
	return func(name string) bool {
		name = strings.ToLower(name)
		if names[path.Base(name)] {
			return true
		}
		for _, pattern := range patterns {
			if globPath(pattern, name) {
				return true
			}
		}
		return false
	}
}
