// Requests in the format of OpenAI's Chat Completions API.

package modelserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// openai is the dialect of the Chat Completions API.
type openai struct{}

var _ dialect = openai{}

type openaiRequest struct {
	Model               string          `json:"model"`
	Messages            []openaiMessage `json:"messages"`
	Tools               []openaiTool    `json:"tools"`
	MaxTokens           int64           `json:"max_tokens"`
	MaxCompletionTokens int64           `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	Stream              bool            `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type openaiMessage struct {
	Role       string           `json:"role"`
	Content    json.RawMessage  `json:"content"`
	Refusal    string           `json:"refusal"`
	ToolCalls  []openaiToolCall `json:"tool_calls"`
	ToolCallID string           `json:"tool_call_id"`
}

type openaiToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type openaiTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type openaiPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

func (openai) requestIDHeader() string { return "x-request-id" }

func (openai) authorized(h http.Header, key string) bool {
	return h.Get("Authorization") == "Bearer "+key
}

func (openai) decode(_ http.Header, body []byte) (*call, *llm.Error) {
	var in openaiRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, refuse("We could not parse the JSON body of your request: %v", err)
	}
	switch {
	case in.Model == "":
		return nil, refuse("you must provide a model parameter")
	case len(in.Messages) == 0:
		return nil, refuse("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	case in.StreamOptions != nil && !in.Stream:
		return nil, refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	if err := in.checkPairs(); err != nil {
		return nil, err
	}
	c := &call{streamed: in.Stream, includeUsage: in.StreamOptions != nil && in.StreamOptions.IncludeUsage}
	c.Model, c.Temperature = in.Model, in.Temperature
	c.MaxOutput = max(in.MaxTokens, in.MaxCompletionTokens)
	for _, t := range in.Tools {
		if t.Type != "function" {
			return nil, refuse("Invalid value: '%s'. Supported values are: 'function'.", t.Type)
		}
		f := t.Function
		c.Tools = append(c.Tools, llm.Tool{Name: f.Name, Description: f.Description, Schema: f.Parameters})
	}
	names := map[string]string{} // of tools, by the id of their call
	for i := range in.Messages {
		if err := in.Messages[i].addTo(c, names, fmt.Sprintf("messages[%d]", i)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// checkPairs makes sure that each call of a tool is answered before anything
// else is said, and that nothing else is answered.
func (in *openaiRequest) checkPairs() *llm.Error {
	var open []string
	for i, m := range in.Messages {
		if m.Role == "tool" {
			k := slices.Index(open, m.ToolCallID)
			if k < 0 {
				return refuse("Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'. (messages[%d], %q)", i, m.ToolCallID)
			}
			open = slices.Delete(open, k, k+1)
			continue
		}
		if len(open) > 0 {
			return unanswered(open)
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return nil
}

func unanswered(ids []string) *llm.Error {
	return refuse("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", "))
}

// addTo adds what m says to c.
func (m *openaiMessage) addTo(c *call, names map[string]string, at string) *llm.Error {
	parts, err := openaiParts(m.Content, at)
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		c.System = strings.TrimPrefix(c.System+"\n\n"+message.Text(parts), "\n\n")
	case "user":
		if len(parts) == 0 {
			return refuse("Invalid value for 'content': expected a string, got null. (%s)", at)
		}
		c.Messages = append(c.Messages, userMessages(parts)...)
	case "assistant":
		if m.Refusal != "" {
			parts = append(parts, message.TextPart{Text: m.Refusal})
		}
		for _, tc := range m.ToolCalls {
			names[tc.ID] = tc.Function.Name
			parts = append(parts, message.ToolCall{ID: tc.ID, Name: tc.Function.Name, Input: arguments(tc.Function.Arguments)})
		}
		c.Messages = append(c.Messages, message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: parts})
	case "tool":
		c.Messages = append(c.Messages, resultMessage(message.ToolResult{
			CallID: m.ToolCallID, Name: names[m.ToolCallID], Parts: parts,
		}))
	default:
		return refuse("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'. (%s.role)", m.Role, at)
	}
	return nil
}

// arguments gives the input of a call, which on this wire is a text that need
// not be JSON.
func arguments(s string) json.RawMessage {
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return marshal(s)
}

// openaiParts reads content that is a text or a list of parts.
func openaiParts(raw json.RawMessage, at string) ([]message.Part, *llm.Error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, refuse("%s.content: %v", at, err)
		}
		return []message.Part{message.TextPart{Text: s}}, nil
	}
	var list []openaiPart
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, refuse("%s.content: expected a string or an array: %v", at, err)
	}
	var parts []message.Part
	for i, p := range list {
		switch p.Type {
		case "text":
			parts = append(parts, message.TextPart{Text: p.Text})
		case "refusal":
			parts = append(parts, message.TextPart{Text: p.Refusal})
		case "image_url":
			img, err := dataURL(p.ImageURL.URL)
			if err != nil {
				return nil, refuse("%s.content[%d]: Invalid image data: %v", at, i, err)
			}
			parts = append(parts, img)
		case "input_audio", "file": // taken by the vendor, of no use to a script
			parts = append(parts, message.ImagePart{})
		default:
			return nil, refuse("Invalid value: '%s'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', and 'file'. (%s.content[%d].type)", p.Type, at, i)
		}
	}
	return parts, nil
}

// dataURL reads an image given in its URL; one that lies elsewhere is left
// there, as a script does not look at pictures.
func dataURL(url string) (message.ImagePart, error) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return message.ImagePart{}, nil
	}
	kind, data, ok := strings.Cut(rest, ";base64,")
	if !ok {
		return message.ImagePart{}, fmt.Errorf("a data URL must be in base64")
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return message.ImagePart{}, fmt.Errorf("reading a data URL: %w", err)
	}
	return message.ImagePart{MediaType: kind, Data: b}, nil
}
