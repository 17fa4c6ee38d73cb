// What an agent of a role begins with at its place in the tree.

package main

import (
	"fmt"
	"os"

	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/role"
)

// atPlace is what an agent of a role has at a depth below a parent, nil for an
// orchestrator: its tools, and its prompt as the model sees it.
func atPlace(r role.Role, above *role.Role, registry *role.Registry, depth, maxDepth int) (tools []string, prompt string, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, "", fmt.Errorf("finding the current folder: %w", err)
	}
	parent := ""
	if above != nil {
		parent = above.Name
	}
	prompt, tools, err = app.Explain(app.Options{Dir: dir, Env: os.Getenv}, registry, r.Name, parent, depth, maxDepth)
	return tools, prompt, err
}
