// Encoding requests.
//
// The order of keys is fixed, and whatever may change from turn to turn stands
// behind the input: a request begins with the bytes of the one before it,
// which is what the vendor's cache goes by.

package openairesponses

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

// minOutput is the least that the vendor takes for max_output_tokens.
const minOutput = 16

func (c *client) encode(req *llm.Request) ([]byte, error) {
	extra, err := c.extra()
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: err.Error(), Err: err}
	}
	return c.format.Encode(req, func(e wire.Encoded) []byte {
		const around = 512 // what comes before the head and after the input
		b := make([]byte, 0, around+len(extra)+len(e.Head)+len(e.History))
		b = append(b, `{"model":`...)
		b = wire.AppendString(b, req.Model)
		if !c.opts.Whole {
			b = append(b, `,"stream":true`...)
		}
		b = append(b, `,"store":false`...)
		if !c.opts.Plain(req.Model) {
			b = append(b, `,"include":["reasoning.encrypted_content"]`...)
		}
		if req.Caller.Chat != "" && !c.opts.NoCacheKey {
			b = append(b, `,"prompt_cache_key":`...)
			b = wire.AppendString(b, wire.CacheKey(req.Caller.Chat))
		}
		b = append(b, e.Head...)
		b = append(b, e.History...)
		b = append(b, ']')
		if req.MaxOutput > 0 {
			b = strconv.AppendInt(append(b, `,"max_output_tokens":`...), max(req.MaxOutput, minOutput), 10)
		}
		plain := c.opts.Plain(req.Model)
		if req.Temperature != nil && (plain || req.Effort == llm.EffortNone) {
			b = strconv.AppendFloat(append(b, `,"temperature":`...), *req.Temperature, 'g', -1, 64)
		}
		if !plain {
			b = appendReasoning(b, req)
		}
		b = append(b, extra...)
		return append(b, '}')
	})
}

// appendReasoning appends how much the model is to reason, and that it is to
// tell: summaries are for verified organisations only, and so come on request.
func appendReasoning(b []byte, req *llm.Request) []byte {
	effort := llm.EffortOf(req)
	if effort == "" && !req.ShowThinking {
		return b
	}
	b = append(b, `,"reasoning":{`...)
	if effort != "" {
		b = wire.AppendString(append(b, `"effort":`...), string(effort))
	}
	if req.ShowThinking {
		if effort != "" {
			b = append(b, ',')
		}
		b = append(b, `"summary":"auto"`...)
	}
	return append(b, '}')
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
type encoder struct{ provider string }

// head appends the system prompt, the tools and the opening of the input.
func (e encoder) head(dst []byte, req *llm.Request) ([]byte, error) {
	if req.System != "" {
		dst = wire.AppendString(append(dst, `,"instructions":`...), req.System)
	}
	for i, t := range req.Tools {
		if i == 0 {
			dst = append(dst, `,"parallel_tool_calls":true,"tools":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"function","name":`...)
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
		dst = append(dst, `,"strict":false}`...)
	}
	if len(req.Tools) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, `,"input":[`...), nil
}

// group appends a reply of the model, or all that was said to it in between:
// results first, as each has to follow its call.
func (e encoder) group(dst []byte, model string, group []message.Message) ([]byte, int, error) {
	w := &items{dst: dst, start: len(dst)}
	if group[0].Role == message.Assistant {
		e.assistant(w, model, group[0].Parts)
		return w.dst, 0, nil
	}
	for _, m := range group {
		for _, p := range m.Parts {
			if r, ok := p.(message.ToolResult); ok {
				w.result(r)
			}
		}
	}
	for _, m := range group {
		w.user(m.Parts)
	}
	return w.dst, 0, nil
}

// assistant appends the items of a reply, in the order in which they came.
func (e encoder) assistant(w *items, model string, parts []message.Part) {
	for i := 0; i < len(parts); {
		switch p := parts[i].(type) {
		case message.TextPart:
			n := run(parts[i:], func(p message.Part) bool { _, ok := p.(message.TextPart); return ok })
			w.reply(parts[i:i+n], e.phase(model, parts[i+n:]))
			i += n
		case message.ThinkingPart:
			n := run(parts[i:], func(q message.Part) bool {
				t, ok := q.(message.ThinkingPart)
				return ok && t.ID == p.ID && t.Provider == p.Provider && t.Model == p.Model && !isPhase(t)
			})
			// A reasoning item that nothing follows is refused: a reply that
			// was cut while the model was thinking leaves one.
			if n > 0 && p.Provider == e.provider && p.Model == model && said(parts[i+n:]) {
				w.reasoning(parts[i : i+n])
			}
			i += max(n, 1)
		case message.ToolCall:
			w.call(p)
			i++
		case message.ImagePart, message.ToolResult:
			i++
		}
	}
}

// run counts the parts at the beginning of parts that are alike.
func run(parts []message.Part, alike func(message.Part) bool) int {
	n := 0
	for n < len(parts) && alike(parts[n]) {
		n++
	}
	return n
}

// said reports whether parts have a text or a call.
func said(parts []message.Part) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case message.TextPart:
			if p.Text != "" {
				return true
			}
		case message.ToolCall:
			return true
		case message.ThinkingPart, message.ImagePart, message.ToolResult:
		}
	}
	return false
}

// phasePrefix begins the signature of the thinking part that stands behind a
// text and keeps its phase: newer models tell comments on their work from
// their answer so, and do worse if that is forgotten.
const phasePrefix = "phase:"

func isPhase(t message.ThinkingPart) bool { return strings.HasPrefix(t.Signature, phasePrefix) }

// phase returns the phase of a text, kept in the part right behind it.
func (e encoder) phase(model string, rest []message.Part) string {
	if len(rest) == 0 {
		return ""
	}
	if t, ok := rest[0].(message.ThinkingPart); ok && isPhase(t) && t.Provider == e.provider && t.Model == model {
		return strings.TrimPrefix(t.Signature, phasePrefix)
	}
	return ""
}
