// Tasks of type tool: a tool of the orchestrator's own, run in the background.

package orchestrate

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

// toolRun plans one run of a tool that the caller has.
func (pl *planner) toolRun(input json.RawMessage) (*agent.Plan, error) {
	var in struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("the input cannot be read: %w", err)
	}
	t, ok := pl.tools.Get(in.Tool)
	if !ok || !slices.Contains(pl.job.Spec.Tools, in.Tool) {
		return nil, fmt.Errorf("you have no tool %q", in.Tool)
	}
	if err := pl.tools.Validate(in.Tool, in.Input); err != nil {
		return nil, err
	}
	class := pl.classOf(pl.ctx, pl.job, t, in.Input)
	if t.Class == tool.Delegates || class != agent.ClassRead && class != agent.ClassWrite {
		return nil, fmt.Errorf("%s cannot be run in the background: call it", in.Tool)
	}
	call := message.ToolCall{ID: agent.ToolRunCall, Name: in.Tool, Input: in.Input}
	return &agent.Plan{Background: true, Tasks: []agent.Planned{{
		Tool: in.Tool, Class: class,
		Task: message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: []message.Part{call}},
	}}}, nil
}
