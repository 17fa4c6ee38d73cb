// What is configured, as the API tells it.

package app

import (
	"cmp"
	"context"
	"slices"

	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm/catalogue"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/tool"
)

// Setup tells what an App was made of.
type Setup struct {
	models   *catalogue.Catalogue
	config   *config.Config
	policy   permission.Policy
	tools    *tool.Registry
	depth    int
	warnings func() []string
}

// Providers lists those that can be used first, then those that lack a key or
// do not run.
func (s Setup) Providers() []wire.Provider {
	var out []wire.Provider
	for _, p := range s.models.Providers() {
		w := wire.Provider{
			Name: p.Name, Kind: string(p.Kind), BaseURL: p.BaseURL, Local: p.Local, Ready: p.Ready,
			KeyFrom: p.KeyFrom, Missing: p.Missing, Models: len(s.models.List(p.Name)),
		}
		if w.Local && w.Models == 0 {
			w.Ready, w.Missing = false, cmp.Or(w.Missing, "no server with models answers at "+w.BaseURL)
		}
		out = append(out, w)
	}
	slices.SortStableFunc(out, func(a, b wire.Provider) int {
		switch {
		case a.Ready == b.Ready:
			return 0
		case a.Ready:
			return -1
		}
		return 1
	})
	return out
}

// TestProvider asks a provider for its models.
func (s Setup) TestProvider(ctx context.Context, name string) (wire.Finding, bool) {
	f, ok := s.models.Check(ctx, name)
	return wire.Finding{OK: f.OK, Text: f.Text, Hint: f.Hint}, ok
}

// Policy is what agents may do and use.
func (s Setup) Policy() wire.Policy {
	a := s.config.Agents
	p := wire.Policy{
		Mode: string(cmp.Or(s.policy.Preset, permission.PresetAsk)), Budget: wire.Limits{Tokens: a.Budget.Tokens, CostMicros: a.Budget.Cost},
		BudgetMS: cmp.Or(a.Budget.Ask, budgetTime).Milliseconds(), ApprovalMS: cmp.Or(a.Approve, approvalTime).Milliseconds(),
		QuestionMS: cmp.Or(a.Questions.Timeout, questionTime).Milliseconds(), MaxAgents: cmp.Or(a.Most, mostAgents),
		MaxDepth: cmp.Or(s.depth, role.DefaultDepth), Parallel: a.Parallel, Files: s.config.Files, Warnings: s.warnings(),
	}
	for _, r := range s.policy.Rules {
		p.Rules = append(p.Rules, wire.Rule{Effect: string(r.Effect), What: r.String(), Source: r.Source})
	}
	return p
}

// Tool describes a tool as models see it.
func (s Setup) Tool(name string) (wire.Tool, bool) {
	t, ok := s.tools.Get(name)
	return wire.Tool{Name: name, Description: t.Description, Schema: t.Schema}, ok
}
