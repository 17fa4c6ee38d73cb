// Package orchestrate is what stands between the engine and the world: it
// performs the effects that agents ask for (model calls, tools), reads a
// model's wishes to delegate and turns them into plans, and words prompts and
// results. It decides nothing about conversations; agent.Step does.
package orchestrate

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

// The tools that the machine itself carries out.
const (
	SpawnAgents  = "spawn_agents"
	SubmitResult = "submit_result"
	SubmitError  = "submit_error"
)

var (
	//go:embed spawn_agents.md
	spawnText string
	//go:embed submit_result.md
	resultText string
	//go:embed submit_error.md
	errorText string
)

// Tools returns the tools of delegation. They have descriptions and schemas
// like any other, but no run of their own: Step handles them.
func Tools() []tool.Tool {
	decided := func(context.Context, tool.Env, json.RawMessage) (tool.Result, error) {
		return tool.Result{}, errors.New("this tool is carried out by the agent's machine")
	}
	return []tool.Tool{
		{
			Name: SpawnAgents, Description: strings.TrimSpace(spawnText), Class: tool.Delegates, Run: decided,
			Schema: json.RawMessage(`{"type":"object","required":["tasks"],"additionalProperties":false,"properties":{` +
				`"tasks":{"type":"array","minItems":1,"items":{"type":"object","required":["task"],"additionalProperties":false,"properties":{` +
				`"task":{"type":"string","minLength":1},"role":{"type":"string"},"cwd":{"type":"string"},"model":{"type":"string"},` +
				`"timeout":{"type":"string","description":"active time, such as 90s or 5m"}}}},` +
				`"wait":{"oneOf":[{"enum":["all","any","first_valid"]},{"type":"integer","minimum":1}]},` +
				`"deadline":{"type":"string","description":"then go on with the results there are, such as 10m"},` +
				`"background":{"type":"boolean"}}}`),
		},
		{
			Name: SubmitResult, Description: strings.TrimSpace(resultText), Class: tool.Delegates, Run: decided,
			Schema: json.RawMessage(`{"type":"object","required":["result"],"properties":{"result":{"type":"string","minLength":1}}}`),
		},
		{
			Name: SubmitError, Description: strings.TrimSpace(errorText), Class: tool.Delegates, Run: decided,
			Schema: json.RawMessage(`{"type":"object","required":["error"],"properties":{"error":{"type":"string","minLength":1}}}`),
		},
	}
}
