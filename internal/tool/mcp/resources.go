// Resources and prompts of a server, behind one tool. It is a tool of that
// server and not of all, so that a role which may not use a server cannot read
// from it either.

package mcp

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cadre-dev/cadre/internal/tool"
)

// resourcesTool is the name of the tool, as if the server had given it.
const resourcesTool = "resources"

//go:embed resources.md
var resourcesDescription string

type resourcesInput struct {
	Action    string            `json:"action"`
	URI       string            `json:"uri"`
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
	Cursor    string            `json:"cursor"`
}

func (s *server) newResourcesTool(name string, found offer) tool.Tool {
	var actions []string
	properties := map[string]any{"cursor": map[string]any{"type": "string", "description": "From the answer before, to go on with a list"}}
	if found.Resources {
		actions = append(actions, "list_resources", "read_resource")
		properties["uri"] = map[string]any{"type": "string", "description": "For read_resource"}
	}
	if found.Prompts {
		actions = append(actions, "list_prompts", "get_prompt")
		properties["name"] = map[string]any{"type": "string", "description": "For get_prompt"}
		properties["arguments"] = map[string]any{
			"type": "object", "description": "For get_prompt", "additionalProperties": map[string]any{"type": "string"},
		}
	}
	properties["action"] = map[string]any{"type": "string", "enum": actions}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "properties": properties, "required": []string{"action"}, "additionalProperties": false,
	})
	if err != nil {
		panic(err) // impossible: texts only
	}
	// Reading what a trusted server hands out is what it is there for.
	class := s.class(true)
	return tool.Tool{
		Name: name, Description: strings.ReplaceAll(resourcesDescription, "{server}", s.name), Schema: schema, Class: class,
		Plan: func(_ context.Context, _ tool.Env, input json.RawMessage) (tool.Action, error) {
			return s.plan(class, resourcesTool, input), nil
		},
		Run: func(ctx context.Context, env tool.Env, raw json.RawMessage) (tool.Result, error) {
			var in resourcesInput
			if err := json.Unmarshal(raw, &in); err != nil {
				return tool.Result{}, fmt.Errorf("reading the input: %w", err)
			}
			var c collector
			err := s.use(ctx, env, func(ctx context.Context, session *sdk.ClientSession, _ string) error {
				c = collector{}
				return c.lookUp(ctx, session, in)
			})
			if err != nil {
				return tool.Result{}, err
			}
			return c.result(), nil
		},
	}
}

func (c *collector) lookUp(ctx context.Context, session *sdk.ClientSession, in resourcesInput) error {
	switch in.Action {
	case "list_resources":
		return c.listResources(ctx, session, in.Cursor)
	case "read_resource":
		if in.URI == "" {
			return errors.New("read_resource needs a uri")
		}
		answer, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: in.URI})
		if err != nil {
			return err
		}
		for _, r := range present(answer.Contents) {
			c.resource(r)
		}
	case "list_prompts":
		answer, err := session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: in.Cursor})
		if err != nil {
			return err
		}
		var lines []string
		for _, p := range present(answer.Prompts) {
			lines = append(lines, promptText(p))
		}
		c.lines(lines, answer.NextCursor)
	case "get_prompt":
		if in.Name == "" {
			return errors.New("get_prompt needs a name")
		}
		answer, err := session.GetPrompt(ctx, &sdk.GetPromptParams{Name: in.Name, Arguments: in.Arguments})
		if err != nil {
			return err
		}
		for _, m := range present(answer.Messages) {
			c.text(string(m.Role) + ":")
			c.content(m.Content)
		}
	}
	return nil
}

// listResources lists a page of resources; the templates, of which there are
// few, come with the first.
func (c *collector) listResources(ctx context.Context, session *sdk.ClientSession, cursor string) error {
	answer, err := session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
	if err != nil {
		return err
	}
	var lines []string
	for _, r := range present(answer.Resources) {
		lines = append(lines, resourceText(r.URI, r.Name, r.MIMEType, r.Description))
	}
	if cursor == "" {
		// Not every server with resources has templates, and some refuse the
		// question.
		if templates, err := session.ListResourceTemplates(ctx, nil); err == nil {
			for _, t := range present(templates.ResourceTemplates) {
				lines = append(lines, "Template "+resourceText(t.URITemplate, t.Name, t.MIMEType, t.Description))
			}
		}
	}
	c.lines(lines, answer.NextCursor)
	return nil
}

// lines adds a page of a list.
func (c *collector) lines(lines []string, cursor string) {
	c.text(strings.Join(lines, "\n"))
	if cursor != "" {
		c.note("there is more; cursor: %s", cursor)
	}
}

// present leaves out the nulls that a careless server sends.
func present[T any](list []*T) []*T {
	return slices.DeleteFunc(slices.Clone(list), func(v *T) bool { return v == nil })
}

func resourceText(uri, name, kind, description string) string {
	text := uri
	if name != "" {
		text += " (" + name + ")"
	}
	if kind != "" {
		text += ", " + kind
	}
	if description != "" {
		text += ": " + clip(description, maxLine)
	}
	return text
}

func promptText(p *sdk.Prompt) string {
	text := p.Name
	var arguments []string
	for _, a := range present(p.Arguments) {
		name := a.Name
		if !a.Required {
			name += "?"
		}
		arguments = append(arguments, name)
	}
	text += "(" + strings.Join(arguments, ", ") + ")"
	if p.Description != "" {
		text += ": " + clip(p.Description, maxLine)
	}
	return text
}
