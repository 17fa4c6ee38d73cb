// Guards: which files a walk has to ask about.

package permission

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// Guarded returns a test, cheap enough for every file of a tree, of whether a
// rule may keep the agent of the request from a file or a folder because of
// its own name, whatever the folders above it are called.
func (p *Policy) Guarded(req Request) func(name string) bool {
	// Most tools look at no file but the one they were asked for.
	build := sync.OnceValue(func() *guard { return p.guard(req) })
	return func(name string) bool { return build().keeps(name) }
}

// guard is what the rules say about names.
type guard struct {
	names    map[string]bool
	patterns []string
}

func (p *Policy) guard(req Request) *guard {
	g := &guard{names: map[string]bool{}}
	add := func(r Rule) {
		if r.Effect == Allow || !r.isFor(req) || !r.namesTool(req.Tool, false) || r.Command != "" || r.Host != "" {
			return
		}
		pattern := strings.ToLower(r.Path)
		switch {
		case pattern == "":
			g.patterns = append(g.patterns, "**")
		case !strings.ContainsAny(pattern, `/*?[{\`):
			g.names[pattern] = true
		default:
			g.patterns = append(g.patterns, pattern)
		}
	}
	for _, r := range builtInRules() {
		add(r)
	}
	for _, r := range p.Rules {
		add(r)
	}
	for _, r := range req.Bounds.rules(req) {
		add(r)
	}
	return g
}

func (g *guard) keeps(name string) bool {
	name = strings.ToLower(name)
	return g.names[path.Base(name)] || slices.ContainsFunc(g.patterns, func(pattern string) bool { return globPath(pattern, name) })
}
