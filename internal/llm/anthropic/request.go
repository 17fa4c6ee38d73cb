// Requests: from a history of messages to the bytes of the Messages API.

package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

// cacheMark asks the vendor to keep what it has read up to the end of the
// block it stands in.
func cacheMark(ttl string) string {
	if ttl == "" {
		return `,"cache_control":{"type":"ephemeral"}`
	}
	return `,"cache_control":{"type":"ephemeral","ttl":` + string(wire.AppendString(nil, ttl)) + `}`
}

// encode gives the body of req. What stays the same from turn to turn comes
// first and the messages last but for the settings, so that a request begins
// with the bytes of the one before it, cache marks aside.
//
// There may be four marks: at the end of the tools, which agents of one role
// share; of the system prompt; of the last message; and where the request
// before this one had its last. The vendor looks for what it knows only some
// 20 blocks behind a mark, and a turn with many tool calls is longer.
func (p *provider) encode(req *llm.Request) ([]byte, error) {
	return p.format.Encode(req, func(e wire.Encoded) []byte {
		settings := p.appendSettings(nil, req)
		body := make([]byte, 0, len(e.Head)+len(e.History)+len(settings)+2*len(p.mark)+64)
		body = append(body, e.Head...)
		body = append(body, `"messages":[`...)
		done := 0
		if p.mark != "" {
			for _, at := range marks(req.Messages, e.Groups) {
				body = append(body, e.History[done:at]...)
				body = append(body, p.mark...)
				done = at
			}
		}
		body = append(body, e.History[done:]...)
		body = append(body, ']')
		return append(body, settings...)
	})
}

// marks returns where cache marks go in the history: at the end of the last
// group of the user's, and of the one before it.
func marks(msgs []message.Message, groups []wire.Group) []int {
	var places []int
	for i := len(groups) - 1; i >= 0 && len(places) < 2; i-- {
		g := groups[i]
		if g.Mark > 0 && msgs[g.Messages-1].Role != message.Assistant {
			places = append([]int{g.Mark}, places...)
		}
	}
	return places
}

// appendSettings appends what follows the messages, and the end.
func (p *provider) appendSettings(dst []byte, req *llm.Request) []byte {
	limit := req.MaxOutput
	if limit <= 0 {
		limit = p.opts.MaxOutput
	}
	dst = append(dst, `,"max_tokens":`...)
	dst = strconv.AppendInt(dst, limit, 10)
	dst, sampled := p.appendThinking(dst, req, limit)
	if req.Temperature != nil && sampled {
		dst = append(dst, `,"temperature":`...)
		dst = strconv.AppendFloat(dst, *req.Temperature, 'g', -1, 64)
	}
	if !p.opts.Whole {
		dst = append(dst, `,"stream":true`...)
	}
	return append(dst, '}')
}

// isOwn reports whether t came from the model that is asked now, whole.
func (p *provider) isOwn(t *message.ThinkingPart, model string) bool {
	return t.Provider == p.opts.Name && t.Model == model && (t.Signature != "" || t.Encrypted != "")
}

// appendHead implements wire.Format.
func (p *provider) appendHead(dst []byte, req *llm.Request) ([]byte, error) {
	dst = append(dst, `{"model":`...)
	dst = wire.AppendString(dst, req.Model)
	dst = append(dst, ',')
	if len(req.Tools) > 0 {
		dst = append(dst, `"tools":[`...)
		for i, t := range req.Tools {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = p.appendTool(dst, t, i == len(req.Tools)-1); err != nil {
				return dst, err
			}
		}
		dst = append(dst, `],`...)
	}
	if strings.TrimSpace(req.System) != "" {
		dst = append(dst, `"system":[{"type":"text","text":`...)
		dst = wire.AppendString(dst, req.System)
		dst = append(dst, p.mark...)
		dst = append(dst, `}],`...)
	}
	return dst, nil
}

func (p *provider) appendTool(dst []byte, t llm.Tool, last bool) ([]byte, error) {
	dst = append(dst, `{"name":`...)
	dst = wire.AppendString(dst, t.Name)
	if t.Description != "" {
		dst = append(dst, `,"description":`...)
		dst = wire.AppendString(dst, t.Description)
	}
	dst = append(dst, `,"input_schema":`...)
	dst, err := appendSchema(dst, t.Schema)
	if err != nil {
		return dst, fmt.Errorf("the schema of the tool %s: %w", t.Name, err)
	}
	if last {
		dst = append(dst, p.mark...)
	}
	return append(dst, '}'), nil
}

// appendSchema appends a tool's schema, which the API wants to say that it is
// an object.
func appendSchema(dst []byte, schema json.RawMessage) ([]byte, error) {
	schema = bytes.TrimSpace(schema)
	typed, fields := false, 0
	walk := wire.Object(schema)
	for walk.Next() {
		typed = typed || string(walk.Key) == "type"
		fields++
	}
	if err := walk.Err(); err != nil {
		return dst, err
	}
	switch {
	case typed:
		return wire.AppendRaw(dst, schema)
	case fields == 0:
		return append(dst, `{"type":"object"}`...), nil
	}
	dst = append(dst, `{"type":"object",`...)
	start := len(dst)
	dst, err := wire.AppendRaw(dst, schema)
	if err != nil {
		return dst, err
	}
	return append(dst[:start], dst[start+1:]...), nil // without its own brace
}

// appendGroup implements wire.Format.
func (p *provider) appendGroup(dst []byte, model string, group []message.Message) ([]byte, int, error) {
	if group[0].Role == message.Assistant {
		dst, err := p.appendReply(dst, model, group[0].Parts)
		return dst, 0, err
	}
	dst = append(dst, `{"role":"user","content":[`...)
	start := len(dst)
	// The API wants results before all else.
	for _, m := range group {
		for _, part := range m.Parts {
			if r, ok := part.(message.ToolResult); ok {
				dst = appendResult(comma(dst, start), &r)
			}
		}
	}
	for _, m := range group {
		for _, part := range m.Parts {
			dst = appendSaid(dst, start, part)
		}
	}
	if len(dst) == start { // an empty message cannot be sent, nor left out: the last word would be the model's
		dst = appendText(dst, "(empty message)")
	}
	mark := len(dst) - 1
	return append(dst, "]}"...), mark, nil
}

// comma separates a block from one before it.
func comma(dst []byte, start int) []byte {
	if len(dst) > start {
		return append(dst, ',')
	}
	return dst
}

// appendSaid appends a text or an image. The API refuses text that is empty or
// made of spaces.
func appendSaid(dst []byte, start int, part message.Part) []byte {
	switch part := part.(type) {
	case message.TextPart:
		if strings.TrimSpace(part.Text) != "" {
			return appendText(comma(dst, start), part.Text)
		}
	case message.ImagePart:
		if len(part.Data) > 0 {
			return appendImage(comma(dst, start), &part)
		}
	case message.ThinkingPart, message.ToolCall, message.ToolResult:
		// The model's own, or written already.
	}
	return dst
}

func appendText(dst []byte, text string) []byte {
	dst = append(dst, `{"type":"text","text":`...)
	dst = wire.AppendString(dst, text)
	return append(dst, '}')
}

func appendImage(dst []byte, img *message.ImagePart) []byte {
	dst = append(dst, `{"type":"image","source":{"type":"base64","media_type":`...)
	dst = wire.AppendString(dst, img.MediaType)
	dst = append(dst, `,"data":`...)
	dst = wire.AppendBase64(dst, img.Data)
	return append(dst, "}}"...)
}

func appendResult(dst []byte, r *message.ToolResult) []byte {
	dst = append(dst, `{"type":"tool_result","tool_use_id":`...)
	dst = appendID(dst, r.CallID)
	before := len(dst)
	dst = append(dst, `,"content":[`...)
	start := len(dst)
	for _, part := range r.Parts {
		dst = appendSaid(dst, start, part)
	}
	if len(dst) == start && r.IsError { // an error without a text is refused
		dst = appendText(dst, "The tool failed and said nothing.")
	}
	if len(dst) == start {
		dst = dst[:before]
	} else {
		dst = append(dst, ']')
	}
	if r.IsError {
		dst = append(dst, `,"is_error":true`...)
	}
	return append(dst, '}')
}

// appendReply appends what the model said. Nothing is left of a reply of which
// nothing can be sent; the vendor joins the messages around it.
func (p *provider) appendReply(dst []byte, model string, parts []message.Part) ([]byte, error) {
	before := len(dst)
	dst = append(dst, `{"role":"assistant","content":[`...)
	start := len(dst)
	for _, part := range parts {
		switch part := part.(type) {
		case message.TextPart:
			dst = appendSaid(dst, start, part)
		case message.ThinkingPart:
			if p.isOwn(&part, model) {
				dst = appendThought(comma(dst, start), &part)
			}
		case message.ToolCall:
			var err error
			if dst, err = appendCall(comma(dst, start), &part); err != nil {
				return dst, err
			}
		case message.ImagePart, message.ToolResult:
			// The API takes neither from the model.
		}
	}
	if len(dst) == start {
		return dst[:before], nil
	}
	return append(dst, "]}"...), nil
}

func appendThought(dst []byte, t *message.ThinkingPart) []byte {
	if t.Encrypted != "" {
		dst = append(dst, `{"type":"redacted_thinking","data":`...)
		dst = wire.AppendString(dst, t.Encrypted)
		return append(dst, '}')
	}
	dst = append(dst, `{"type":"thinking","thinking":`...)
	dst = wire.AppendString(dst, t.Text)
	dst = append(dst, `,"signature":`...)
	dst = wire.AppendString(dst, t.Signature)
	return append(dst, '}')
}

func appendCall(dst []byte, c *message.ToolCall) ([]byte, error) {
	dst = append(dst, `{"type":"tool_use","id":`...)
	dst = appendID(dst, c.ID)
	dst = append(dst, `,"name":`...)
	dst = wire.AppendString(dst, c.Name)
	dst = append(dst, `,"input":`...)
	dst, err := wire.AppendRaw(dst, c.Input)
	if err != nil {
		return dst, fmt.Errorf("the input of %s: %w", c.Name, err)
	}
	return append(dst, '}'), nil
}

// appendID appends the id of a call. One of another vendor that this one would
// refuse is replaced, in the call and in its result alike.
func appendID(dst []byte, id string) []byte {
	if !isID(id) {
		id = "toolu_" + wire.HashID(id, 24)
	}
	return wire.AppendString(dst, id)
}

func isID(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return id != "" && len(id) <= 64
}
