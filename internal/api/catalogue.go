// What there is to choose from, and what was used.

package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/store"
)

func (s *Server) catalogueRoutes() {
	register(s, access.Read, huma.Operation{OperationID: "listRoles", Method: http.MethodGet, Path: "/v1/roles", Summary: "The roles that agents can have"}, s.listRoles)
	register(s, access.Read, huma.Operation{OperationID: "listModels", Method: http.MethodGet, Path: "/v1/models", Summary: "The models that can be used"}, s.listModels)
	register(s, access.Read, huma.Operation{OperationID: "getStats", Method: http.MethodGet, Path: "/v1/stats", Summary: "Tokens and cost, by agent, role, model, day or chat"}, s.getStats)
}

func (s *Server) listRoles(context.Context, *struct{}) (*body[wire.Page[wire.Role]], error) {
	var roles []wire.Role
	for _, r := range s.cfg.Roles.All() {
		var warnings []string
		for _, w := range r.Warnings {
			warnings = append(warnings, w.String())
		}
		tools, _ := r.Stated()
		roles = append(roles, wire.Role{
			Name: r.Name, Label: r.Label(), Description: r.Description, Icon: r.Icon, Model: r.Model, Mode: string(cmp.Or(r.Mode, role.ModeAll)),
			Tools: append([]string{}, tools...), AllTools: r.AllTools, Delegates: append([]string{}, r.Delegates...),
			MaxTurns: r.MaxTurns, MaxDuration: r.MaxDuration.Milliseconds(), Source: r.Source.String(), Warnings: warnings,
		})
	}
	return pageOf(roles, nil, nil)
}

func (s *Server) listModels(context.Context, *struct{}) (*body[wire.Models], error) {
	m := s.cfg.Models()
	m.Choices, m.Models = append([]wire.Choice{}, m.Choices...), append([]wire.Model{}, m.Models...)
	return &body[wire.Models]{m}, nil
}

// maxGroups bounds the rows of a statistic.
const maxGroups = 1000

func (s *Server) getStats(ctx context.Context, in *struct {
	By   string `query:"by" enum:"agent,role,model,day,chat" default:"model"`
	Chat string `query:"chat" maxLength:"100"`
	From int64  `query:"from" minimum:"0" doc:"Calls that ended at this time or later."`
	To   int64  `query:"to" minimum:"0" doc:"Calls that ended before this time; 0: now."`
},
) (*body[wire.Stats], error) {
	rows, err := s.cfg.Store.Spending(ctx, store.SpendingQuery{User: visitOf(ctx).User.ID, Chat: in.Chat, By: in.By, From: in.From, To: in.To, Limit: maxGroups})
	if err != nil {
		return nil, err
	}
	st := wire.Stats{By: in.By, Items: append([]wire.Spending{}, rows...), Total: wire.Spending{Key: "total"}}
	for _, r := range rows {
		t := &st.Total
		t.Calls, t.Failed, t.Unpriced, t.Cost = t.Calls+r.Calls, t.Failed+r.Failed, t.Unpriced+r.Unpriced, t.Cost+r.Cost
		t.Input, t.Output, t.Reasoning = t.Input+r.Input, t.Output+r.Output, t.Reasoning+r.Reasoning
		t.CacheRead, t.CacheWrite = t.CacheRead+r.CacheRead, t.CacheWrite+r.CacheWrite
	}
	return &body[wire.Stats]{st}, nil
}
