// Continuing a finished sub-agent: a new task for an agent that remembers what
// it did.

package orchestrate

import (
	"encoding/json"
	"fmt"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
)

// resume plans the continuation of a finished child. It has the spec of the
// old one, begins with its history and takes over its name.
func (pl *planner) resume(input json.RawMessage) (*agent.Plan, error) {
	var in struct {
		wish
		Agent      string `json:"agent"`
		Background bool   `json:"background"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("the input cannot be read: %w", err)
	}
	if pl.store == nil {
		return nil, fmt.Errorf("nothing is on record here")
	}
	children, err := pl.store.Children(pl.ctx, pl.job.Spec.ID)
	if err != nil {
		return nil, fmt.Errorf("reading your agents: %w", err)
	}
	old, err := Find(children, in.Agent)
	if err != nil {
		return nil, err
	}
	if old.EndedAt == 0 {
		return nil, fmt.Errorf("%s is still at work (%s): tell it with %s", old.Path, old.Status, MessageAgent)
	}
	spec, err := specOf(pl.ctx, pl.store, old.ID)
	if err != nil {
		return nil, err
	}
	if spec.ToolRun() {
		return nil, fmt.Errorf("%s was one run of a tool: run it again with %s", old.Path, RunBehind)
	}
	rows, err := pl.store.History(pl.ctx, old.ID, 0)
	if err != nil {
		return nil, fmt.Errorf("reading the history of %s: %w", old.Path, err)
	}
	var tokens int64
	for _, row := range rows {
		tokens += int64(len(row.Parts))/4 + 4
	}
	planned := agent.Planned{Role: spec.Role, Priced: spec.Price.Known, Prior: len(rows)}
	if r, ok := pl.roles.Get(spec.Role); ok {
		planned.Tokens, planned.Cost = r.MaxTokens, r.MaxCost
	}
	spec.Continues, spec.Adopts, spec.Name = old.ID, old.ID, old.Name
	spec.ContextTokens = tokens
	if spec.Worktree { // what it left there may be settled: it goes on where its parent works
		spec.Worktree, spec.Dir, spec.Origin, spec.Fixed = false, pl.dir, "", pl.job.Spec.Fixed
	}
	if err := pl.limit(&spec, &planned, in.wish); err != nil {
		return nil, err
	}
	planned.Spec = spec
	planned.Task = message.Of(message.User, message.KindTask, in.Task)
	planned.Size = tokens + int64(len(in.Task))/4 + pl.toolTokens(spec)
	planned.First = spec.FirstTurn(planned.Size)
	return &agent.Plan{Background: in.Background, Tasks: []agent.Planned{planned}}, nil
}
