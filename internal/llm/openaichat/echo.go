// Encoding reasoning that goes back to the model it came from, in the form in
// which it came.

package openaichat

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

// The fields in which plain reasoning comes. A thinking part keeps the one it
// came in as its signature; that of structured reasoning is an envelope (see
// detail), which begins with a brace.
const (
	fieldContent   = "reasoning_content" // DeepSeek, vLLM, llama.cpp, xAI
	fieldReasoning = "reasoning"         // OpenRouter, Groq, Ollama
	fieldThinking  = "content.thinking"  // Mistral: a part of the content
)

// appendContent appends the content of a reply.
func appendContent(dst []byte, text string, own []message.ThinkingPart, calls bool) []byte {
	thought := reasoning(own, fieldThinking)
	switch {
	case thought != "":
		dst = append(dst, `[{"type":"thinking","thinking":[{"type":"text","text":`...)
		dst = append(wire.AppendString(dst, thought), "}]}"...)
		if text != "" {
			dst = append(dst, `,{"type":"text","text":`...)
			dst = append(wire.AppendString(dst, text), '}')
		}
		return append(dst, ']')
	case text == "" && calls:
		return append(dst, "null"...)
	}
	return wire.AppendString(dst, text)
}

// reasoning joins the reasoning that came in field.
func reasoning(own []message.ThinkingPart, field string) string {
	var text strings.Builder
	for _, t := range own {
		if t.Signature == field {
			text.WriteString(t.Text)
		}
	}
	return text.String()
}

// appendReasoning appends the fields for reasoning other than content.
func (e encoder) appendReasoning(dst []byte, own []message.ThinkingPart) ([]byte, error) {
	if s := reasoning(own, fieldContent); s != "" || e.quirks.ReasoningAlways {
		dst = wire.AppendString(append(dst, `,"reasoning_content":`...), s)
	}
	if s := reasoning(own, fieldReasoning); s != "" {
		dst = wire.AppendString(append(dst, `,"reasoning":`...), s)
	}
	first := true
	for _, t := range own {
		if !strings.HasPrefix(t.Signature, "{") {
			continue
		}
		if first {
			dst = append(dst, `,"reasoning_details":[`...)
		} else {
			dst = append(dst, ',')
		}
		first = false
		var err error
		if dst, err = appendDetail(dst, t); err != nil {
			return dst, err
		}
	}
	if !first {
		dst = append(dst, ']')
	}
	return dst, nil
}

// appendDetail puts a detail of reasoning together again: its envelope, and
// the fields that the part holds.
func appendDetail(dst []byte, t message.ThinkingPart) ([]byte, error) {
	dst, err := wire.AppendRaw(dst, json.RawMessage(t.Signature))
	if err != nil {
		return dst, fmt.Errorf("the envelope of a detail of reasoning: %w", err)
	}
	var kind string
	for f := wire.Object([]byte(t.Signature)); f.Next(); {
		if string(f.Key) == "type" {
			kind, _ = wire.String(f.Value)
		}
	}
	dst = dst[:len(dst)-1]
	add := func(name, value string) {
		if value == "" {
			return
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(dst, `"`+name+`":`...)
		dst = wire.AppendString(dst, value)
	}
	if name := textField(kind); name != "" {
		add(name, t.Text)
	}
	add("data", t.Encrypted)
	add("id", t.ID)
	return append(dst, '}'), nil
}
