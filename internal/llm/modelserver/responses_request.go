// Requests in the format of OpenAI's Responses API.

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

// responses is the dialect of the Responses API. Nothing is stored between
// requests: what a client refers to by an id is not found.
type responses struct{ openai }

var _ dialect = responses{}

type responsesRequest struct {
	Model           string          `json:"model"`
	Input           json.RawMessage `json:"input"`
	Instructions    string          `json:"instructions"`
	Tools           []responsesTool `json:"tools"`
	Include         []string        `json:"include"`
	Stream          bool            `json:"stream"`
	Previous        string          `json:"previous_response_id"`
	MaxOutputTokens *int64          `json:"max_output_tokens"`
	Temperature     *float64        `json:"temperature"`
	Reasoning       struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// responsesItem holds the fields of every kind of input item.
type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
	Summary   []struct {
		Text string `json:"text"`
	} `json:"summary"`
}

// kind is the type of the item, which messages may leave out.
func (it *responsesItem) kind() string {
	if it.Type == "" && it.Role != "" {
		return "message"
	}
	return it.Type
}

// minOutput is the least that the vendor takes for max_output_tokens.
const minOutput = 16

func (responses) decode(_ http.Header, body []byte) (*call, *llm.Error) {
	var in responsesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, refuse("We could not parse the JSON body of your request: %v", err)
	}
	switch {
	case in.Model == "":
		return nil, refuse("Missing required parameter: 'model'.")
	case in.Previous != "":
		return nil, refuse("Previous response with id '%s' not found.", in.Previous)
	case in.MaxOutputTokens != nil && *in.MaxOutputTokens < minOutput:
		return nil, refuse("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= %d, but got %d instead.", minOutput, *in.MaxOutputTokens)
	}
	items, err := in.items()
	if err != nil {
		return nil, err
	}
	c := &call{
		streamed: in.Stream, encrypted: slices.Contains(in.Include, "reasoning.encrypted_content"),
		thoughts: in.Reasoning.Summary != "",
	}
	c.Model, c.Temperature, c.System = in.Model, in.Temperature, in.Instructions
	if in.MaxOutputTokens != nil {
		c.MaxOutput = *in.MaxOutputTokens
	}
	for _, t := range in.Tools {
		if t.Type != "function" {
			return nil, refuse("Invalid value: '%s'. Supported values are: 'function'.", t.Type)
		}
		c.Tools = append(c.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Parameters})
	}
	if err := checkItems(items); err != nil {
		return nil, err
	}
	names := map[string]string{} // of tools, by the id of their call
	for i := range items {
		if err := items[i].addTo(c, names, fmt.Sprintf("input[%d]", i)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// items reads the input: a text is a message of the user.
func (in *responsesRequest) items() ([]responsesItem, *llm.Error) {
	raw := bytes.TrimSpace(in.Input)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, refuse("Missing required parameter: 'input'.")
	}
	if raw[0] == '"' {
		return []responsesItem{{Type: "message", Role: "user", Content: raw}}, nil
	}
	var items []responsesItem
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, refuse("Invalid type for 'input': expected one of an array of objects or string: %v", err)
	}
	if len(items) == 0 {
		return nil, refuse("Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	return items, nil
}

// checkItems makes sure that each call has its output and each output its
// call, and that reasoning is followed by what it led to.
func checkItems(items []responsesItem) *llm.Error {
	var open []string
	for i := range items {
		it := &items[i]
		switch it.kind() {
		case "function_call":
			open = append(open, it.CallID)
		case "function_call_output":
			k := slices.Index(open, it.CallID)
			if k < 0 {
				return refuse("No tool call found for function call output with call_id %s.", it.CallID)
			}
			open = slices.Delete(open, k, k+1)
		case "reasoning":
			if i+1 == len(items) || !items[i+1].isOutput() {
				return refuse("Item '%s' of type 'reasoning' was provided without its required following item.", it.ID)
			}
		}
	}
	if len(open) > 0 {
		return refuse("No tool output found for function call %s.", open[0])
	}
	return nil
}

// isOutput tells what a model says from what is said to it.
func (it *responsesItem) isOutput() bool {
	switch it.kind() {
	case "reasoning", "function_call":
		return true
	case "message":
		return it.Role == "assistant"
	}
	return false
}

// addTo adds what an item says to c. Items of the model that follow each other
// are one reply.
func (it *responsesItem) addTo(c *call, names map[string]string, at string) *llm.Error {
	switch it.kind() {
	case "message":
		return it.addMessage(c, at)
	case "function_call":
		names[it.CallID] = it.Name
		c.reply(message.ToolCall{ID: it.CallID, Name: it.Name, Input: arguments(it.Arguments)})
	case "function_call_output":
		parts, err := responsesParts(it.Output, at+".output")
		if err != nil {
			return err
		}
		c.Messages = append(c.Messages, resultMessage(message.ToolResult{CallID: it.CallID, Name: names[it.CallID], Parts: parts}))
	case "reasoning":
		text, ok := unsealed(it.Encrypted)
		if it.Encrypted != "" && !ok {
			return refuse("The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", it.ID)
		}
		c.reply(message.ThinkingPart{Text: text, ID: it.ID, Encrypted: it.Encrypted, Provider: "openai"})
	case "item_reference":
		return refuse("Item with id '%s' not found. Items are not persisted when `store` is set to false.", it.ID)
	default:
		return refuse("Invalid value: '%s'. Supported values are: 'function_call', 'function_call_output', 'item_reference', 'message', and 'reasoning'. (%s.type)", it.Type, at)
	}
	return nil
}

func (it *responsesItem) addMessage(c *call, at string) *llm.Error {
	parts, err := responsesParts(it.Content, at+".content")
	if err != nil {
		return err
	}
	switch it.Role {
	case "system", "developer":
		c.System = strings.TrimPrefix(c.System+"\n\n"+message.Text(parts), "\n\n")
	case "user":
		c.Messages = append(c.Messages, userMessages(parts)...)
	case "assistant":
		c.reply(parts...)
	default:
		return refuse("Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'. (%s.role)", it.Role, at)
	}
	return nil
}

// reply adds parts to the reply that the history ends with, or begins one.
func (c *call) reply(parts ...message.Part) {
	if n := len(c.Messages); n > 0 && c.Messages[n-1].Role == message.Assistant {
		c.Messages[n-1].Parts = append(c.Messages[n-1].Parts, parts...)
		return
	}
	c.Messages = append(c.Messages, message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: parts})
}

// responsesParts reads content that is a text or a list of parts.
func responsesParts(raw json.RawMessage, at string) ([]message.Part, *llm.Error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, refuse("Missing required parameter: '%s'.", at)
	}
	if raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, refuse("%s: %v", at, err)
		}
		return []message.Part{message.TextPart{Text: s}}, nil
	}
	var list []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Refusal  string `json:"refusal"`
		ImageURL string `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, refuse("%s: expected a string or an array: %v", at, err)
	}
	var parts []message.Part
	for i, p := range list {
		switch p.Type {
		case "input_text", "output_text":
			parts = append(parts, message.TextPart{Text: p.Text})
		case "refusal":
			parts = append(parts, message.TextPart{Text: p.Refusal})
		case "input_image":
			img, err := dataURL(p.ImageURL)
			if err != nil {
				return nil, refuse("%s[%d]: Invalid image data: %v", at, i, err)
			}
			parts = append(parts, img)
		case "input_file": // taken by the vendor, of no use to a script
			parts = append(parts, message.ImagePart{})
		default:
			return nil, refuse("Invalid value: '%s'. Supported values are: 'input_text', 'input_image', 'output_text', 'refusal', and 'input_file'. (%s[%d].type)", p.Type, at, i)
		}
	}
	return parts, nil
}

// sealed stands in for the vendor's encryption of reasoning: only what was
// sealed here can be unsealed.
func sealed(text string) string {
	return base64.StdEncoding.EncodeToString([]byte(signature(text) + text))
}

func unsealed(s string) (text string, ok bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	n := len(signature(""))
	if err != nil || len(b) < n {
		return "", false
	}
	text = string(b[n:])
	return text, string(b[:n]) == signature(text)
}
