// Requests in the format of Anthropic's Messages API.

package modelserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// anthropic is the dialect of the Messages API.
type anthropic struct{}

var _ dialect = anthropic{}

type anthropicRequest struct {
	Model       string             `json:"model"`
	MaxTokens   *int64             `json:"max_tokens"`
	System      json.RawMessage    `json:"system"`
	Messages    []anthropicMessage `json:"messages"`
	Tools       []anthropicTool    `json:"tools"`
	Stream      bool               `json:"stream"`
	Temperature *float64           `json:"temperature"`
}

type anthropicMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`

	blocks []anthropicBlock
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// anthropicBlock holds the fields of every kind of block.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Source    struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      []byte `json:"data"`
	} `json:"source"`
}

// refuse makes the error of a request that is not as it must be.
func refuse(format string, args ...any) *llm.Error {
	return &llm.Error{
		Kind: llm.ErrBadRequest, Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...),
	}
}

func (anthropic) requestIDHeader() string { return "request-id" }

func (anthropic) authorized(h http.Header, key string) bool {
	return h.Get("x-api-key") == key || h.Get("Authorization") == "Bearer "+key
}

func (anthropic) decode(h http.Header, body []byte) (*call, *llm.Error) {
	if h.Get("anthropic-version") == "" {
		return nil, refuse("anthropic-version: header is required")
	}
	var in anthropicRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, refuse("The request body is not valid JSON: %v", err)
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	c := &call{streamed: in.Stream}
	c.Model, c.MaxOutput, c.Temperature = in.Model, *in.MaxTokens, in.Temperature
	system, err := anthropicBlocks(in.System, "system")
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, b := range system {
		texts = append(texts, b.Text)
	}
	c.System = strings.Join(texts, "\n\n")
	for _, t := range in.Tools {
		c.Tools = append(c.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	names := map[string]string{} // of tools, by the id of their call
	for i := range in.Messages {
		msgs, err := in.Messages[i].messages(names)
		if err != nil {
			return nil, err
		}
		c.Messages = append(c.Messages, msgs...)
	}
	return c, nil
}

// check refuses what the vendor refuses, and reads the blocks of all messages.
func (in *anthropicRequest) check() *llm.Error {
	switch {
	case in.Model == "":
		return refuse("model: Field required")
	case in.MaxTokens == nil:
		return refuse("max_tokens: Field required")
	case *in.MaxTokens < 1:
		return refuse("max_tokens: Input should be greater than or equal to 1")
	case len(in.Messages) == 0:
		return refuse("messages: at least one message is required")
	}
	tools := map[string]bool{}
	for _, t := range in.Tools {
		if tools[t.Name] {
			return refuse("tools: Tool names must be unique.")
		}
		tools[t.Name] = true
	}
	for i := range in.Messages {
		m := &in.Messages[i]
		at := fmt.Sprintf("messages.%d", i)
		if m.Role != "user" && m.Role != "assistant" && m.Role != "system" {
			return refuse("%s.role: Input should be 'user', 'assistant' or 'system'", at)
		}
		var err *llm.Error
		if m.blocks, err = anthropicBlocks(m.Content, at+".content"); err != nil {
			return err
		}
		if len(m.blocks) == 0 && i < len(in.Messages)-1 {
			return refuse("%s: all messages must have non-empty content except for the optional final assistant message", at)
		}
		for k, b := range m.blocks {
			if err := b.check(m.Role, fmt.Sprintf("%s.content.%d", at, k)); err != nil {
				return err
			}
		}
	}
	if in.Messages[0].Role != "user" {
		return refuse("messages: first message must use the \"user\" role")
	}
	return in.checkPairs()
}

// anthropicBlocks reads content that is a text or a list of blocks.
func anthropicBlocks(raw json.RawMessage, at string) ([]anthropicBlock, *llm.Error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, refuse("%s: %v", at, err)
		}
		if s == "" {
			return nil, nil
		}
		return []anthropicBlock{{Type: "text", Text: s}}, nil
	}
	var blocks []anthropicBlock
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return nil, refuse("%s: Input should be a valid list: %v", at, err)
	}
	return blocks, nil
}

func (b *anthropicBlock) check(role, at string) *llm.Error {
	misplaced := refuse("%s: `%s` blocks can not be in `%s` messages", at, b.Type, role)
	switch b.Type {
	case "text":
		if b.Text == "" {
			return refuse("messages: text content blocks must be non-empty")
		}
	case "tool_use":
		if role != "assistant" {
			return misplaced
		}
		if b.ID == "" || b.Name == "" || !isObject(b.Input) {
			return refuse("%s.tool_use: id, name and input (a dictionary) are required", at)
		}
	case "tool_result":
		if role != "user" {
			return misplaced
		}
	case "thinking":
		if role != "assistant" {
			return misplaced
		}
		if b.Signature != signature(b.Thinking) {
			return refuse("%s: Invalid `signature` in `thinking` block", at)
		}
	case "redacted_thinking":
		if role != "assistant" {
			return misplaced
		}
	case "image", "document":
		if role != "user" {
			return misplaced
		}
	default:
		return refuse("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, b.Type)
	}
	return nil
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}

// checkPairs makes sure that the calls of each reply are answered, all of
// them, by the next message, and before anything else in it.
func (in *anthropicRequest) checkPairs() *llm.Error {
	merged, index := in.merged()
	for i, m := range merged {
		open := map[string]bool{}
		if i > 0 && merged[i-1].Role == "assistant" {
			for _, b := range merged[i-1].blocks {
				if b.Type == "tool_use" {
					open[b.ID] = true
				}
			}
		}
		leading := true
		for k, b := range m.blocks {
			if b.Type != "tool_result" {
				leading = false
				continue
			}
			if !open[b.ToolUseID] {
				return refuse("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", index[i], k, b.ToolUseID)
			}
			if leading {
				delete(open, b.ToolUseID)
			}
		}
		if m.Role == "user" && len(open) > 0 {
			return refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", index[i-1], joinIDs(merged[i-1].blocks, open))
		}
	}
	return nil
}

// merged joins neighbouring messages of one role, as the vendor does; index
// gives the place of each in the request.
func (in *anthropicRequest) merged() (msgs []anthropicMessage, index []int) {
	for i, m := range in.Messages {
		if n := len(msgs); n > 0 && msgs[n-1].Role == m.Role {
			msgs[n-1].blocks = append(msgs[n-1].blocks[:len(msgs[n-1].blocks):len(msgs[n-1].blocks)], m.blocks...)
			continue
		}
		msgs, index = append(msgs, m), append(index, i)
	}
	return msgs, index
}

// joinIDs lists the open ids in the order of their calls.
func joinIDs(blocks []anthropicBlock, open map[string]bool) string {
	var ids []string
	for _, b := range blocks {
		if b.Type == "tool_use" && open[b.ID] {
			ids = append(ids, b.ID)
		}
	}
	return strings.Join(ids, ", ")
}

// messages gives the messages m stands for.
func (m *anthropicMessage) messages(names map[string]string) ([]message.Message, *llm.Error) {
	var msgs []message.Message
	var parts []message.Part
	for _, b := range m.blocks {
		switch b.Type {
		case "tool_use":
			names[b.ID] = b.Name
			parts = append(parts, message.ToolCall{ID: b.ID, Name: b.Name, Input: b.Input})
		case "tool_result":
			inner, err := anthropicBlocks(b.Content, "tool_result.content")
			if err != nil {
				return nil, err
			}
			r := message.ToolResult{CallID: b.ToolUseID, Name: names[b.ToolUseID], IsError: b.IsError}
			for _, in := range inner {
				r.Parts = append(r.Parts, in.part())
			}
			msgs = append(msgs, resultMessage(r))
		default:
			parts = append(parts, b.part())
		}
	}
	switch m.Role {
	case "assistant":
		return []message.Message{{Role: message.Assistant, Kind: message.KindReply, Parts: parts}}, nil
	case "system":
		return []message.Message{{Role: message.User, Kind: message.KindNote, Parts: parts}}, nil
	}
	return append(msgs, userMessages(parts)...), nil
}

// part gives the part that a block of text, thinking or an image stands for.
func (b *anthropicBlock) part() message.Part {
	switch b.Type {
	case "text":
		return message.TextPart{Text: b.Text}
	case "thinking":
		return message.ThinkingPart{Text: b.Thinking, Signature: b.Signature, Provider: "anthropic"}
	case "redacted_thinking":
		return message.ThinkingPart{Encrypted: b.Data, Provider: "anthropic"}
	}
	return message.ImagePart{MediaType: b.Source.MediaType, Data: b.Source.Data}
}
