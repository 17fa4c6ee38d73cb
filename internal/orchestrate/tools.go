// Package orchestrate is what stands between the engine and the world: it
// performs the effects that agents ask for (model calls, tools), reads a
// model's wishes to delegate and turns them into plans, and words prompts and
// results. It decides nothing about conversations; agent.Step does.
package orchestrate

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/tool"
)

// The tools of delegation.
const (
	SpawnAgents   = "spawn_agents"
	DelegateTo    = "delegate_to_agent"
	ContinueAgent = "continue_agent"
	SubmitResult  = "submit_result"
	SubmitError   = "submit_error"
	AskUser       = "ask_user"
	ListAgents    = "list_agents"
	CheckAgent    = "check_agent"
	StopAgent     = "stop_agent"
	MessageAgent  = "message_agent"
	ReplyToAgent  = "reply_to_agent"
	SettleWork    = "settle_work"
	RunBehind     = "run_in_background"
)

//go:embed *.md
var texts embed.FS

// text reads the description of a tool, which is known to be there: a test
// makes all tools.
func text(name string) string {
	b, err := texts.ReadFile(name + ".md")
	if err != nil {
		panic(fmt.Sprintf("reading an embedded description: %v", err))
	}
	return strings.TrimSpace(string(b))
}

const limitsSchema = `"limits":{"type":"object","additionalProperties":false,"properties":{"turns":{"type":"integer","minimum":1},` +
	`"duration":{"type":"string"},"tokens":{"type":"integer","minimum":1},"cost":{"type":"number","exclusiveMinimum":0,"description":"dollars"}}}`

// resultSchema is the form of a result where the role has none of its own. That
// it needs a summary or a result cannot be said here: vendors refuse a choice
// at the top of a schema. See needed.
//
// What is marked as deprecated is taken but not asked for: an older name, what
// the record tells better, what fits into another field.
const resultSchema = `{"type":"object","properties":{` +
	`"summary":{"type":"string","minLength":1},"details":{"type":"string"},"result":{"type":"string","minLength":1,"deprecated":true},` +
	`"files_modified":{"type":"array","items":{"type":"string"},"deprecated":true},"files_created":{"type":"array","items":{"type":"string"},"deprecated":true},` +
	`"tests_run":{"type":"integer","deprecated":true},"tests_passed":{"type":"integer","deprecated":true},` +
	`"warnings":{"type":"array","items":{"type":"string"}},"suggestions":{"deprecated":true,"type":"array","items":{"type":"string"}}}}`

const questionSchema = `"question":{"type":"string","minLength":1},"options":{"type":"array","minItems":2,"maxItems":4,"items":{"type":["string","object"]}},"multiple":{"type":"boolean","deprecated":true}`

// decidedSchemas are those of the tools that the machine itself carries out.
var decidedSchemas = map[string]string{
	SpawnAgents: `{"type":"object","required":["tasks"],"additionalProperties":false,"properties":{` +
		`"tasks":{"type":"array","minItems":1,"items":{"type":"object","required":["task"],"additionalProperties":false,"properties":{` +
		`"task":{"type":"string","minLength":1},"role":{"type":"string"},"cwd":{"type":"string"},"model":{"type":"string"},` +
		`"timeout":{"type":"string","description":"active time, such as 5m"}}}},` +
		`"wait":{"oneOf":[{"enum":["all","any","first_valid"]},{"type":"integer","minimum":1}]},` +
		`"deadline":{"type":"string","description":"then go on with what there is, such as 10m"},` +
		`"background":{"type":"boolean"}}}`,
	DelegateTo: `{"type":"object","required":["role","task"],"additionalProperties":false,"properties":{` +
		`"role":{"type":"string"},"task":{"type":"string","minLength":1},` +
		`"context_files":{"type":"array","items":{"type":"string"}},"success_criteria":{"type":"string"},` +
		`"context":{"enum":["none","summary","selective","full"]},"messages":{"type":"array","items":{"type":"integer","minimum":0},"description":"selective: of this conversation, from 0"},` +
		`"output_schema":{"type":"object"},"acceptance":{"type":"string","description":"command that must pass"},` +
		`"isolation":{"enum":["none","worktree"]},"background":{"type":"boolean"},"cwd":{"type":"string"},"model":{"type":"string"},` + limitsSchema + `}}`,
	ContinueAgent: `{"type":"object","required":["agent","task"],"additionalProperties":false,"properties":{` +
		`"agent":{"type":"string","description":"id or name"},"task":{"type":"string","minLength":1},"background":{"type":"boolean"},` + limitsSchema + `}}`,
	RunBehind: `{"type":"object","required":["tool","input"],"additionalProperties":false,"properties":{` +
		`"tool":{"type":"string","description":"one of your own tools, such as Bash"},"input":{"type":"object","description":"its input"}}}`,
	SubmitResult: resultSchema,
	SubmitError:  `{"type":"object","required":["error"],"properties":{"error":{"type":"string","minLength":1}}}`,
	AskUser: `{"type":"object","additionalProperties":false,"properties":{` + questionSchema +
		`,"questions":{"type":"array","minItems":1,"maxItems":4,"items":{"type":"object","required":["question"],"properties":{` +
		strings.ReplaceAll(questionSchema, `":{"type"`, `":{"deprecated":true,"type"`) + `}}}}}`, // they are as the outer ones
}

// needed are the keys of which an input must have one, by tool.
var needed = map[string][]string{SubmitResult: {"summary", "result"}, AskUser: {"question", "questions"}}

// Tools returns the tools that the machine carries out: they have descriptions
// and schemas like any other, but no run of their own.
func Tools() []tool.Tool {
	var out []tool.Tool
	for name, schema := range decidedSchemas {
		out = append(out, decided(name, text(name), json.RawMessage(schema)))
	}
	return out
}

// RoleTools returns a tool for each role that is offered as one.
func RoleTools(roles *role.Registry) []tool.Tool {
	var out []tool.Tool
	for _, r := range roles.All() {
		if r.AsTool != nil {
			out = append(out, decided(r.AsTool.Name, r.Description, r.AsTool.Input))
		}
	}
	return out
}

func decided(name, description string, schema json.RawMessage) tool.Tool {
	return tool.Tool{
		Name: name, Description: description, Class: tool.Delegates, Schema: schema,
		Run: func(context.Context, tool.Env, json.RawMessage) (tool.Result, error) {
			return tool.Result{}, errors.New("this tool is carried out by the agent's machine")
		},
	}
}
