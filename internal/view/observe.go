// Events for observers: an agent was started, got on, ended. Those of nested
// agents are wrapped in those above them, so that who follows an agent sees
// its whole subtree.

package view

import "github.com/cadre-dev/cadre/internal/store"

// The kinds of event.
const (
	Started  = "sub_agent_start"
	Progress = "sub_agent_progress"
	Ended    = "sub_agent_end"
)

// Observed is one event about a sub-agent.
type Observed struct {
	Type   string `json:"type"`
	Seq    int64  `json:"seq"`
	At     string `json:"at"`
	Agent  string `json:"agentId"`
	Name   string `json:"subAgentName"`
	Path   string `json:"path"`
	Role   string `json:"role"`
	Depth  int    `json:"depth"`
	State  string `json:"state"`
	Turns  int    `json:"turns"`
	Tokens int64  `json:"tokens"`     // with its children's
	Cost   int64  `json:"costMicros"` // with its children's
	Open   bool   `json:"unpriced,omitempty"`

	Task    string `json:"task,omitempty"`    // when it starts
	Change  string `json:"change,omitempty"`  // the change behind it
	Outcome string `json:"outcome,omitempty"` // when it ends
	Result  string `json:"result,omitempty"`
	Error   string `json:"error,omitempty"`

	Event *Observed `json:"event,omitempty"` // of an agent below it
}

// Observe tells what a change means to those who follow agents; nil if it is
// about no sub-agent. The tree has the change already. Who reads late sees
// documents that are newer than the change: an end is told once, when its time
// has come, and nothing of that agent after it.
func (t *Tree) Observe(c store.Change) *Observed {
	a := t.agents[c.Agent]
	if a == nil || a.Depth == 0 {
		return nil
	}
	o := a.observed(Progress, c)
	o.Change = c.Type
	switch {
	case c.Type == "created":
		o.Type, o.Change, o.Task = Started, "", a.Task.Instruction
	case a.EndedAt > 0 && a.EndedAt == a.told:
		return nil
	case a.EndedAt > 0 && c.At >= a.EndedAt:
		a.told = a.EndedAt
		o.Type, o.Change = Ended, ""
		o.Outcome, o.Result, o.Error = a.Task.Reason, a.Task.Result, a.Task.Error
	}
	for above := a.Parent; above != nil && above.Depth > 0; above = above.Parent {
		outer := above.observed(Progress, c)
		outer.Event = o
		o = outer
	}
	return o
}

func (a *Agent) observed(kind string, c store.Change) *Observed {
	return &Observed{
		Type: kind, Seq: c.Seq, At: Time(c.At), Agent: a.ID, Name: a.Name, Path: a.Path, Role: a.Role, Depth: a.Depth,
		State: a.Status, Turns: a.Turns, Tokens: a.Tokens + a.ChildTokens, Cost: a.Cost + a.ChildCost, Open: a.Unpriced,
	}
}

// Observed writes an event for observers.
func (j *JSON) Observed(o *Observed) error { return j.write(o) }
