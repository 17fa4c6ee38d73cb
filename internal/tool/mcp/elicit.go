// Questions of servers to the user.

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cadre-dev/cadre/internal/tool"
)

// maxAnswers is how often a question is put until its answer fits.
const maxAnswers = 3

// maxQuestion bounds a question, in characters.
const maxQuestion = 4000

// The actions with which the protocol answers a question.
const (
	accepted  = "accept"
	declined  = "decline"
	cancelled = "cancel"
)

// elicit puts a question of the server to the user of the call it belongs to.
func (s *server) elicit(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	c := s.owner(ctx)
	if c == nil {
		s.log.Warn("a question of the MCP server is cancelled: it is not clear whose it is")
		return &sdk.ElicitResult{Action: cancelled}, nil
	}
	if c.env.Ask == nil {
		return &sdk.ElicitResult{Action: declined}, nil
	}
	defer c.hold()()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	if req.Params.URL != "" {
		return s.askToVisit(ctx, c, req.Params)
	}
	return s.askForm(ctx, c, req.Params)
}

// owner finds the call that a question belongs to; nil: it cannot be told.
func (s *server) owner(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks = true
	if len(s.calls) == 0 {
		return nil
	}
	last := s.calls[len(s.calls)-1]
	if slices.ContainsFunc(s.calls, func(c *call) bool { return c.env.Chat != last.env.Chat }) {
		return nil
	}
	return last
}

func (s *server) askForm(ctx context.Context, c *call, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	text := clip(p.Message, maxQuestion)
	q := tool.Question{From: s.name, Text: text}
	if p.RequestedSchema != nil {
		schema, err := json.Marshal(p.RequestedSchema)
		if err != nil {
			return nil, fmt.Errorf("reading the schema of the question: %w", err)
		}
		q.Schema = schema
	}
	for range maxAnswers {
		answer, err := c.env.Ask(ctx, q)
		switch {
		case err != nil:
			s.log.Debug("a question of the MCP server was not answered", "error", err)
			return &sdk.ElicitResult{Action: cancelled}, nil
		case answer.Declined:
			return &sdk.ElicitResult{Action: declined}, nil
		case q.Schema == nil:
			return &sdk.ElicitResult{Action: accepted}, nil
		}
		fields := answerFields(answer, q.Schema)
		if err = fits(fields, q.Schema); err == nil {
			var content map[string]any
			if err := json.Unmarshal(fields, &content); err != nil {
				return nil, fmt.Errorf("reading the answer: %w", err)
			}
			return &sdk.ElicitResult{Action: accepted, Content: content}, nil
		}
		q.Text = fmt.Sprintf("%s\n\nThe answer did not fit: %v", text, err)
	}
	return &sdk.ElicitResult{Action: cancelled}, nil
}

// answerFields are the fields of the answer. An answer in words is the value of
// the only field, if there is but one.
func answerFields(answer tool.Answer, schema json.RawMessage) json.RawMessage {
	if len(answer.Fields) > 0 {
		return answer.Fields
	}
	var form struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &form) == nil && len(form.Properties) == 1 && answer.Text != "" {
		for name, property := range form.Properties {
			var value any = answer.Text
			if property.Type != "string" {
				value = json.RawMessage(answer.Text)
			}
			if fields, err := json.Marshal(map[string]any{name: value}); err == nil {
				return fields
			}
		}
	}
	return json.RawMessage("{}")
}

// fits says in words what an answer violates.
func fits(fields, schema json.RawMessage) error {
	const name = "answer"
	form, err := tool.New(tool.Tool{
		Name: name, Schema: schema, Class: tool.Reads,
		Run: func(context.Context, tool.Env, json.RawMessage) (tool.Result, error) { return tool.Result{}, nil },
	})
	if err != nil {
		return err
	}
	return form.Validate(name, fields)
}

func (s *server) askToVisit(ctx context.Context, c *call, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	if u, err := url.Parse(p.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		s.log.Warn("a question of the MCP server is declined: it asks to open what is not a web address")
		return &sdk.ElicitResult{Action: declined}, nil
	}
	answer, err := c.env.Ask(ctx, tool.Question{From: s.name, Text: clip(p.Message, maxQuestion), URL: p.URL})
	switch {
	case err != nil:
		return &sdk.ElicitResult{Action: cancelled}, nil
	case answer.Declined:
		return &sdk.ElicitResult{Action: declined}, nil
	}
	return &sdk.ElicitResult{Action: accepted}, nil
}

// requiredVisits are the addresses that the user has to open before the server
// takes the call, if that is what the error says.
func requiredVisits(err error) []*sdk.ElicitParams {
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) || refused.Code != sdk.CodeURLElicitationRequired {
		return nil
	}
	var data struct {
		Elicitations []*sdk.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(refused.Data, &data) != nil {
		return nil
	}
	return slices.DeleteFunc(data.Elicitations, func(p *sdk.ElicitParams) bool { return p == nil || p.URL == "" })
}

// visit asks the user to open addresses; whoever accepts says that it is done.
func (s *server) visit(c *call, required []*sdk.ElicitParams) error {
	if c.env.Ask == nil {
		return errors.New("it wants the user to open an address first, but there is nobody to ask")
	}
	defer c.hold()()
	for _, p := range required {
		result, err := s.askToVisit(c.ctx, c, p)
		if err != nil {
			return err
		}
		if result.Action != accepted {
			return errors.New("the user did not open the address that it wants opened first")
		}
	}
	return nil
}
