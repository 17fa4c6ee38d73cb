// Encoding requests.
//
// The order of keys is fixed, and whatever may change from turn to turn stands
// behind the messages: a request begins with the bytes of the one before it,
// which is what vendors' caches go by.

package openaichat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

func (c *client) encode(req *llm.Request) ([]byte, error) {
	extra, err := c.extra()
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: err.Error(), Err: err}
	}
	return c.format.Encode(req, func(e wire.Encoded) []byte {
		const around = 512 // what comes before the head and after the messages
		b := make([]byte, 0, around+len(extra)+len(e.Head)+len(e.History))
		b = append(b, `{"model":`...)
		b = wire.AppendString(b, req.Model)
		if !c.opts.Whole {
			b = append(b, `,"stream":true`...)
			if !c.opts.Quirks.NoStreamOptions {
				b = append(b, `,"stream_options":{"include_usage":true}`...)
			}
		}
		if c.opts.Quirks.CacheKey && req.Caller.Chat != "" {
			b = append(b, `,"prompt_cache_key":`...)
			b = wire.AppendString(b, wire.CacheKey(req.Caller.Chat))
		}
		b = append(b, e.Head...)
		if len(e.History) > 0 && b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = append(b, e.History...)
		b = append(b, ']')
		if req.MaxOutput > 0 {
			name := `,"max_tokens":`
			if c.opts.Quirks.MaxCompletionTokens {
				name = `,"max_completion_tokens":`
			}
			b = strconv.AppendInt(append(b, name...), req.MaxOutput, 10)
		}
		if req.Temperature != nil {
			b = strconv.AppendFloat(append(b, `,"temperature":`...), *req.Temperature, 'g', -1, 64)
		}
		b = c.opts.Quirks.appendEffort(b, req)
		b = append(b, extra...)
		return append(b, '}')
	})
}

// extra gives the members of Options.Extra, each with a comma before it.
func (c *client) extra() ([]byte, error) {
	if len(c.opts.Extra) == 0 {
		return nil, nil
	}
	b, err := wire.AppendRaw(nil, c.opts.Extra)
	if err != nil || b[0] != '{' {
		return nil, errors.New("the options' extra fields are no JSON object")
	}
	if len(b) == len("{}") {
		return nil, nil
	}
	b[0] = ','
	return b[:len(b)-1], nil
}

// encoder writes the lasting parts of a request.
type encoder struct {
	provider string
	quirks   Quirks
}

// name tells this encoder's bytes from those of others.
func (e encoder) name() string { return fmt.Sprintf("openaichat %s %+v", e.provider, e.quirks) }

// head appends the tools, the opening of the messages and the system prompt.
func (e encoder) head(dst []byte, req *llm.Request) ([]byte, error) {
	for i, t := range req.Tools {
		if i == 0 {
			dst = append(dst, `,"tools":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"function","function":{"name":`...)
		dst = wire.AppendString(dst, t.Name)
		dst = append(dst, `,"description":`...)
		dst = wire.AppendString(dst, t.Description)
		dst = append(dst, `,"parameters":`...)
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		var err error
		if dst, err = wire.AppendRaw(dst, schema); err != nil {
			return dst, fmt.Errorf("the schema of tool %s: %w", t.Name, err)
		}
		dst = append(dst, "}}"...)
	}
	if len(req.Tools) > 0 {
		dst = append(dst, ']')
	}
	dst = append(dst, `,"messages":[`...)
	if req.System == "" {
		return dst, nil
	}
	role := `{"role":"system","content":`
	if e.quirks.DeveloperRole {
		role = `{"role":"developer","content":`
	}
	dst = wire.AppendString(append(dst, role...), req.System)
	return append(dst, '}'), nil
}

// group appends a reply of the model, or all that was said to it in between.
func (e encoder) group(dst []byte, model string, group []message.Message) ([]byte, int, error) {
	if group[0].Role == message.Assistant {
		dst, err := e.assistant(dst, model, group[0].Parts)
		return dst, 0, err
	}
	w := &input{encoder: e, dst: dst, start: len(dst)}
	for _, m := range group {
		for _, p := range m.Parts {
			if r, ok := p.(message.ToolResult); ok {
				w.result(r)
			}
		}
	}
	w.resultImages()
	for _, m := range group {
		w.user(m.Parts)
	}
	w.endUser()
	return w.dst, 0, nil
}

// assistant appends a reply of the model.
func (e encoder) assistant(dst []byte, model string, parts []message.Part) ([]byte, error) {
	var calls []message.ToolCall
	var own []message.ThinkingPart
	for _, p := range parts {
		switch p := p.(type) {
		case message.ToolCall:
			calls = append(calls, p)
		case message.ThinkingPart:
			if p.Provider == e.provider && p.Model == model && p.Signature != "" && (e.quirks.Reasoning || p.Signature != fieldReasoning) {
				own = append(own, p)
			}
		case message.TextPart, message.ImagePart, message.ToolResult:
		}
	}
	dst = append(dst, `{"role":"assistant","content":`...)
	dst = appendContent(dst, message.Text(parts), own, len(calls) > 0)
	dst, err := e.appendReasoning(dst, own)
	if err != nil {
		return dst, err
	}
	for i, c := range calls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		if dst, err = e.call(dst, model, c); err != nil {
			return dst, err
		}
	}
	if len(calls) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}'), nil
}

func (e encoder) call(dst []byte, model string, c message.ToolCall) ([]byte, error) {
	dst = append(dst, `{"id":`...)
	dst = wire.AppendString(dst, e.callID(c.ID))
	dst = append(dst, `,"type":"function","function":{"name":`...)
	dst = wire.AppendString(dst, c.Name)
	dst = append(dst, `,"arguments":`...)
	arguments := string(c.Input)
	if arguments == "" {
		arguments = "{}"
	}
	dst = append(wire.AppendString(dst, arguments), '}')
	if c.Signature != "" && c.Provider == e.provider && c.Model == model {
		var err error
		if dst, err = wire.AppendRaw(append(dst, `,"extra_content":`...), json.RawMessage(c.Signature)); err != nil {
			return dst, fmt.Errorf("the signature of call %s: %w", c.ID, err)
		}
	}
	return append(dst, '}'), nil
}

// The lengths of ids of calls: the longest that OpenAI takes, and the only one
// that Mistral takes.
const (
	maxCallID   = 40
	shortCallID = 9
)

// callID gives a call's id in a form that the vendor takes. It depends on
// nothing but the id, so that a call and its result agree.
func (e encoder) callID(id string) string {
	switch {
	case e.quirks.ShortCallIDs && !isShortCallID(id):
		return wire.HashID(id, shortCallID)
	case len(id) > maxCallID:
		return "call_" + wire.HashID(id, maxCallID-len("call_"))
	}
	return id
}

func isShortCallID(id string) bool {
	return len(id) == shortCallID && strings.IndexFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}
