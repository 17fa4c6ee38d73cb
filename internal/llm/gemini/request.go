// Requests: from a history of messages to the bytes of generateContent.

package gemini

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

const (
	// generated begins the ids of calls to which the vendor gave none. They
	// are for us alone and not sent.
	generated = "gen_"
	// ofText marks a part that holds nothing but the signature of the text
	// before it; the ID of a ThinkingPart.
	ofText = "text"
	// unsigned is what the vendor wants in place of the signature of a call
	// that another model made.
	unsigned = "skip_thought_signature_validator"
)

// encode gives the body of req. Its settings come last, so that a request
// begins with the bytes of the one before it up to the new messages: the
// vendor finds by itself what it has read already.
func (p *provider) encode(req *llm.Request) ([]byte, error) {
	return p.format.Encode(req, func(e wire.Encoded) []byte {
		settings := appendSettings(nil, req)
		body := make([]byte, 0, len(e.Head)+len(e.History)+len(settings)+32)
		body = append(body, e.Head...)
		body = append(body, `"contents":[`...)
		body = append(body, e.History...)
		body = append(body, ']')
		return append(body, settings...)
	})
}

// appendSettings appends what follows the messages, and the end.
func appendSettings(dst []byte, req *llm.Request) []byte {
	dst = append(dst, `,"generationConfig":{`...)
	start := len(dst)
	if req.MaxOutput > 0 {
		dst = append(comma(dst, start), `"maxOutputTokens":`...)
		dst = strconv.AppendInt(dst, req.MaxOutput, 10)
	}
	if req.Temperature != nil {
		dst = append(comma(dst, start), `"temperature":`...)
		dst = strconv.AppendFloat(dst, *req.Temperature, 'g', -1, 64)
	}
	dst = appendThinking(dst, start, req)
	return append(dst, "}}"...)
}

// comma separates a member or element from one before it.
func comma(dst []byte, start int) []byte {
	if len(dst) > start {
		return append(dst, ',')
	}
	return dst
}

// appendHead implements wire.Format.
func appendHead(dst []byte, req *llm.Request) ([]byte, error) {
	dst = append(dst, '{')
	if strings.TrimSpace(req.System) != "" {
		dst = append(dst, `"systemInstruction":{"parts":[{"text":`...)
		dst = wire.AppendString(dst, req.System)
		dst = append(dst, `}]},`...)
	}
	if len(req.Tools) == 0 {
		return dst, nil
	}
	dst = append(dst, `"tools":[{"functionDeclarations":[`...)
	start := len(dst)
	for _, t := range req.Tools {
		dst = append(comma(dst, start), `{"name":`...)
		dst = wire.AppendString(dst, t.Name)
		if t.Description != "" {
			dst = append(dst, `,"description":`...)
			dst = wire.AppendString(dst, t.Description)
		}
		var err error
		if dst, err = appendParameters(dst, t.Schema); err != nil {
			return dst, fmt.Errorf("the schema of the tool %s: %w", t.Name, err)
		}
		dst = append(dst, '}')
	}
	return append(dst, `]}],`...), nil
}

// appendGroup implements wire.Format. Results stand alone in the content that
// follows the calls, as the vendor counts them there; what the user says comes
// in another.
func (p *provider) appendGroup(dst []byte, model string, group []message.Message) ([]byte, int, error) {
	if group[0].Role == message.Assistant {
		dst, err := p.appendReply(dst, model, group[0].Parts)
		return dst, 0, err
	}
	before := len(dst)
	dst = append(dst, `{"role":"user","parts":[`...)
	start := len(dst)
	var loose []message.ImagePart // of results, where they cannot be inside
	for _, m := range group {
		for _, part := range m.Parts {
			if r, ok := part.(message.ToolResult); ok {
				dst, loose = appendResult(comma(dst, start), &r, isNew(model), loose)
			}
		}
	}
	if len(dst) == start {
		dst = dst[:before]
	} else {
		dst = append(dst, "]}"...)
	}
	results := len(dst)
	dst = append(comma(dst, before), `{"role":"user","parts":[`...)
	start = len(dst)
	for i := range loose {
		dst = appendImage(comma(dst, start), &loose[i])
	}
	for _, m := range group {
		for _, part := range m.Parts {
			dst = appendSaid(dst, start, part)
		}
	}
	switch {
	case len(dst) > start:
	case results > before:
		return dst[:results], 0, nil
	default: // an empty message cannot be sent, nor left out: the last word would be the model's
		dst = appendText(dst, "(empty message)")
	}
	return append(dst, "]}"...), 0, nil
}

// isNew reports whether a model has what came with version 3: calls must be
// signed, and results may contain images. Names that tell no version are
// taken for new.
func isNew(model string) bool {
	name := strings.TrimPrefix(model, "models/")
	return !strings.HasPrefix(name, "gemini-1") && !strings.HasPrefix(name, "gemini-2")
}

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
	dst = append(dst, `{"text":`...)
	dst = wire.AppendString(dst, text)
	return append(dst, '}')
}

func appendImage(dst []byte, img *message.ImagePart) []byte {
	dst = append(dst, `{"inlineData":{"mimeType":`...)
	dst = wire.AppendString(dst, img.MediaType)
	dst = append(dst, `,"data":`...)
	dst = wire.AppendBase64(dst, img.Data)
	return append(dst, "}}"...)
}

// appendResult appends a result. Its images go inside if the model takes them
// there, else they are returned.
func appendResult(dst []byte, r *message.ToolResult, inside bool, loose []message.ImagePart) ([]byte, []message.ImagePart) {
	dst = append(dst, `{"functionResponse":{`...)
	dst = appendID(dst, r.CallID)
	dst = append(dst, `"name":`...)
	dst = wire.AppendString(dst, r.Name)
	key := `,"response":{"output":`
	if r.IsError {
		key = `,"response":{"error":`
	}
	dst = append(dst, key...)
	dst = wire.AppendString(dst, message.Text(r.Parts))
	dst = append(dst, '}')
	images := 0
	for _, part := range r.Parts {
		img, ok := part.(message.ImagePart)
		switch {
		case !ok || len(img.Data) == 0:
		case inside:
			if images++; images == 1 {
				dst = append(dst, `,"parts":[`...)
			} else {
				dst = append(dst, ',')
			}
			dst = appendImage(dst, &img)
		default:
			loose = append(loose, img)
		}
	}
	if images > 0 {
		dst = append(dst, ']')
	}
	return append(dst, "}}"...), loose
}

// appendID appends the id of a call, if it has one that the vendor knows.
func appendID(dst []byte, id string) []byte {
	if id == "" || strings.HasPrefix(id, generated) {
		return dst
	}
	dst = append(dst, `"id":`...)
	dst = wire.AppendString(dst, id)
	return append(dst, ',')
}

// appendReply appends what the model said. Nothing is left of a reply of which
// nothing can be sent.
func (p *provider) appendReply(dst []byte, model string, parts []message.Part) ([]byte, error) {
	before := len(dst)
	dst = append(dst, `{"role":"model","parts":[`...)
	start := len(dst)
	calls := 0
	for i, part := range parts {
		switch part := part.(type) {
		case message.TextPart:
			if part.Text != "" {
				dst = append(comma(dst, start), `{"text":`...)
				dst = wire.AppendString(dst, part.Text)
				dst = appendSignature(dst, p.textSignature(parts, i, model))
				dst = append(dst, '}')
			}
		case message.ThinkingPart:
			if part.ID == ofText && i > 0 || !p.isOwn(part.Provider, part.Model, part.Signature, model) {
				continue
			}
			dst = append(comma(dst, start), `{"text":`...)
			dst = wire.AppendString(dst, part.Text)
			if part.Text != "" {
				dst = append(dst, `,"thought":true`...)
			}
			dst = appendSignature(dst, part.Signature)
			dst = append(dst, '}')
		case message.ToolCall:
			calls++
			signature := ""
			switch {
			case p.isOwn(part.Provider, part.Model, part.Signature, model):
				signature = part.Signature
			case calls == 1 && isNew(model):
				signature = unsigned
			}
			var err error
			if dst, err = appendCall(comma(dst, start), &part, signature); err != nil {
				return dst, err
			}
		case message.ImagePart, message.ToolResult:
			// Not from the model.
		}
	}
	if len(dst) == start {
		return dst[:before], nil
	}
	return append(dst, "]}"...), nil
}

// textSignature returns the signature of the text at i, which is kept in a
// part of its own behind it.
func (p *provider) textSignature(parts []message.Part, i int, model string) string {
	if i+1 < len(parts) {
		if t, ok := parts[i+1].(message.ThinkingPart); ok && t.ID == ofText && p.isOwn(t.Provider, t.Model, t.Signature, model) {
			return t.Signature
		}
	}
	return ""
}

// isOwn reports whether a signature came from the model that is asked now.
func (p *provider) isOwn(provider, made, signature, model string) bool {
	return signature != "" && provider == p.opts.Name && made == model
}

func appendSignature(dst []byte, signature string) []byte {
	if signature == "" {
		return dst
	}
	dst = append(dst, `,"thoughtSignature":`...)
	return wire.AppendString(dst, signature)
}

func appendCall(dst []byte, c *message.ToolCall, signature string) ([]byte, error) {
	dst = append(dst, `{"functionCall":{`...)
	dst = appendID(dst, c.ID)
	dst = append(dst, `"name":`...)
	dst = wire.AppendString(dst, c.Name)
	dst = append(dst, `,"args":`...)
	dst, err := wire.AppendRaw(dst, c.Input)
	if err != nil {
		return dst, fmt.Errorf("the input of %s: %w", c.Name, err)
	}
	dst = append(dst, '}')
	dst = appendSignature(dst, signature)
	return append(dst, '}'), nil
}
