// How an agent of a role would begin, without starting anything.

package app

import (
	"fmt"
	"slices"

	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/files"
	"github.com/cadre-dev/cadre/internal/tool/note"
	"github.com/cadre-dev/cadre/internal/tool/search"
	"github.com/cadre-dev/cadre/internal/tool/shell"
	"github.com/cadre-dev/cadre/internal/tool/web"
)

// Explain tells the prompt and the tools that an agent of a role would begin
// with at a depth below a parent, empty for an orchestrator. Tools of MCP
// servers are not among them: that would start the servers.
func Explain(o Options, roles *role.Registry, name, parent string, depth, maxDepth int) (prompt string, names []string, err error) {
	fetch, err := web.Fetch(web.Options{})
	if err != nil {
		return "", nil, fmt.Errorf("making the tools: %w", err)
	}
	all := slices.Concat(
		files.Tools(), []tool.Tool{files.ReadImage(), orchestrate.ArtifactTool(nil), search.Keyword(search.Options{}), fetch},
		note.Tools(), shell.New(shell.Options{}).Tools(), orchestrate.Tools(), orchestrate.RoleTools(roles),
		orchestrate.NewControl(nil, nil, orchestrate.Asking{}).Tools(),
	)
	usable, _ := sound(all)
	registry, err := tool.New(usable...)
	if err != nil {
		return "", nil, err
	}
	p := orchestrate.New(orchestrate.Config{Roles: roles, Tools: registry, About: instructions(o), MaxDepth: maxDepth})
	e, err := p.Explain(name, parent, depth, o.Dir)
	if err != nil {
		return "", nil, err
	}
	return e.Prompt, e.Tools, nil
}
