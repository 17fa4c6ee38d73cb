// Requests in the format of Google's generateContent API.

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

// gemini is the dialect of generateContent. Its address tells what with others
// is in the body: the model, and whether the reply is streamed.
type gemini struct {
	model    string
	streamed bool
	events   bool   // of server-sent events; a stream without them is an array
	key      string // that came with the address
}

var _ dialect = gemini{}

// geminiAt reads the address of a request, whose last part is MODEL:METHOD.
func geminiAt(r *http.Request) (d gemini, known bool) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	query := r.URL.Query()
	d = gemini{model: model, streamed: method == "streamGenerateContent", events: query.Get("alt") == "sse", key: query.Get("key")}
	return d, d.streamed || method == "generateContent"
}

type geminiRequest struct {
	Contents          []geminiContent `json:"contents"`
	SystemInstruction *geminiContent  `json:"systemInstruction"`
	Tools             []struct {
		Functions []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		MaxOutputTokens int64    `json:"maxOutputTokens"`
		Temperature     *float64 `json:"temperature"`
		Thinking        struct {
			IncludeThoughts bool    `json:"includeThoughts"`
			Budget          *int64  `json:"thinkingBudget"`
			Level           *string `json:"thinkingLevel"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

// geminiPart holds the fields of every kind of part.
type geminiPart struct {
	Text      *string     `json:"text"`
	Thought   bool        `json:"thought"`
	Signature string      `json:"thoughtSignature"`
	Inline    *geminiBlob `json:"inlineData"`
	File      *struct{}   `json:"fileData"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *geminiResponse `json:"functionResponse"`
}

type geminiBlob struct {
	MimeType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type geminiResponse struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
	Parts    []struct {
		Inline *geminiBlob `json:"inlineData"`
	} `json:"parts"`
}

// skipSignature is what the vendor takes in place of the signature of a call
// that it did not make.
const skipSignature = "skip_thought_signature_validator"

func (gemini) requestIDHeader() string { return "x-goog-request-id" }

func (d gemini) authorized(h http.Header, key string) bool {
	return h.Get("x-goog-api-key") == key || d.key == key || h.Get("Authorization") == "Bearer "+key
}

func (d gemini) decode(_ http.Header, body []byte) (*call, *llm.Error) {
	var in geminiRequest
	if err := json.Unmarshal(camelCase(body), &in); err != nil {
		return nil, refuse("Invalid JSON payload received. %v", err)
	}
	if err := d.check(&in); err != nil {
		return nil, err
	}
	c := &call{streamed: d.streamed && d.events, thoughts: in.Config.Thinking.IncludeThoughts}
	c.Model, c.MaxOutput, c.Temperature = d.model, in.Config.MaxOutputTokens, in.Config.Temperature
	if in.SystemInstruction != nil {
		var texts []string
		for _, p := range in.SystemInstruction.Parts {
			if p.Text != nil {
				texts = append(texts, *p.Text)
			}
		}
		c.System = strings.Join(texts, "\n\n")
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			schema := f.JSONSchema
			if schema == nil {
				schema = f.Parameters
			}
			c.Tools = append(c.Tools, llm.Tool{Name: f.Name, Description: f.Description, Schema: schema})
		}
	}
	for i := range in.Contents {
		in.Contents[i].addTo(c)
	}
	return c, nil
}

// check refuses what the vendor refuses.
func (d gemini) check(in *geminiRequest) *llm.Error {
	if len(in.Contents) == 0 {
		return refuse("* GenerateContentRequest.contents: contents is not specified\n")
	}
	if t := in.Config.Thinking; t.Budget != nil && t.Level != nil {
		return refuse("You can only set only one of thinking budget and thinking level.")
	}
	for i, c := range in.Contents {
		if len(c.Parts) == 0 {
			return refuse("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.\n", i)
		}
		switch c.Role {
		case "", "user", "model", "function":
		default:
			return refuse("Please use a valid role: user, model.")
		}
		for k := range c.Parts {
			if err := c.Parts[k].check(i, k); err != nil {
				return err
			}
		}
	}
	return d.checkPairs(in.Contents)
}

func (p *geminiPart) check(content, part int) *llm.Error {
	if p.Text == nil && p.Inline == nil && p.File == nil && p.Call == nil && p.Response == nil {
		return refuse("* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field\n", content, part)
	}
	if p.Response != nil && p.Response.Name == "" {
		return refuse("* GenerateContentRequest.contents[%d].parts[%d].function_response.name: Name cannot be empty.\n", content, part)
	}
	if p.Call != nil && p.Signature != "" && p.Signature != skipSignature && p.Signature != callSignature(p.Call.Name, p.Call.Args) {
		return refuse("Corrupted thought signature.")
	}
	return nil
}

// checkPairs makes sure that calls are answered by the next content, all of
// them, and that calls are signed where the vendor wants it: the first of each
// content, from version 3 of its models on.
func (d gemini) checkPairs(contents []geminiContent) *llm.Error {
	calls := 0 // of the content before
	for i, c := range contents {
		responses, made := 0, 0
		for k, p := range c.Parts {
			switch {
			case p.Response != nil:
				responses++
			case p.Call != nil:
				made++
				if made == 1 && p.Signature == "" && strings.HasPrefix(d.model, "gemini-3") {
					return refuse("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d.", p.Call.Name, i+k+1)
				}
			}
		}
		if calls != responses {
			return refuse("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
		if made > 0 && (i == 0 || contents[i-1].Role == "model") {
			return refuse("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		calls = made
	}
	if calls > 0 {
		return refuse("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
	}
	return nil
}

// addTo adds what a content says to c.
func (g *geminiContent) addTo(c *call) {
	var parts []message.Part
	for _, p := range g.Parts {
		switch {
		case p.Call != nil:
			args := p.Call.Args
			if len(args) == 0 {
				args = json.RawMessage("{}")
			}
			id := p.Call.ID
			if id == "" {
				id = fmt.Sprintf("call-%d-%d", len(c.Messages), len(parts))
			}
			parts = append(parts, message.ToolCall{ID: id, Name: p.Call.Name, Input: args})
		case p.Response != nil:
			c.Messages = append(c.Messages, resultMessage(p.Response.result(c.Messages)))
		case p.Text != nil && p.Thought:
			parts = append(parts, message.ThinkingPart{Text: *p.Text, Signature: p.Signature, Provider: "google"})
		case p.Text != nil:
			if *p.Text != "" {
				parts = append(parts, message.TextPart{Text: *p.Text})
			}
		case p.Inline != nil:
			parts = append(parts, message.ImagePart{MediaType: p.Inline.MimeType, Data: p.Inline.Data})
		default: // a file, of no use to a script
			parts = append(parts, message.ImagePart{})
		}
	}
	if g.Role == "model" {
		c.reply(parts...)
		return
	}
	c.Messages = append(c.Messages, userMessages(parts)...)
}

// result reads what a tool answered: by the vendor's convention a text under
// output or error, else all there is.
func (r *geminiResponse) result(before []message.Message) message.ToolResult {
	out := message.ToolResult{CallID: r.ID, Name: r.Name}
	if out.CallID == "" {
		out.CallID = openCall(before, r.Name)
	}
	text, ok := r.Response["output"].(string)
	if failed, is := r.Response["error"].(string); is {
		text, ok, out.IsError = failed, true, true
	}
	if !ok {
		text = string(marshal(r.Response))
	}
	out.Parts = append(out.Parts, message.TextPart{Text: text})
	for _, p := range r.Parts {
		if p.Inline != nil {
			out.Parts = append(out.Parts, message.ImagePart{MediaType: p.Inline.MimeType, Data: p.Inline.Data})
		}
	}
	return out
}

// openCall finds the call that a response without an id belongs to: the first
// of its name in the last reply that has none yet.
func openCall(history []message.Message, name string) string {
	answered := map[string]bool{}
	for i := len(history) - 1; i >= 0; i-- {
		m := history[i]
		for _, p := range m.Parts {
			if r, ok := p.(message.ToolResult); ok {
				answered[r.CallID] = true
			}
		}
		if m.Role != message.Assistant {
			continue
		}
		for _, c := range m.Calls() {
			if c.Name == name && !answered[c.ID] {
				return c.ID
			}
		}
		break
	}
	return ""
}

// freeForm are the members whose content is the client's own.
var freeForm = map[string]bool{"args": true, "response": true, "parameters": true, "parametersJsonSchema": true, "responseSchema": true}

// camelCase gives the members of a body their names in the one spelling; the
// vendor takes snake_case as well.
func camelCase(body []byte) []byte {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return body
	}
	switch body[0] {
	case '{':
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) != nil {
			return body
		}
		out := make(map[string]json.RawMessage, len(members))
		for name, value := range members {
			name = camel(name)
			if !freeForm[name] {
				value = camelCase(value)
			}
			out[name] = value
		}
		return marshal(out)
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(body, &list) != nil {
			return body
		}
		for i := range list {
			list[i] = camelCase(list[i])
		}
		return marshal(list)
	}
	return body
}

func camel(name string) string {
	var b strings.Builder
	for i, word := range strings.Split(name, "_") {
		if i > 0 && word != "" {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	return b.String()
}
