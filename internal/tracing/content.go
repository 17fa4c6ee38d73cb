// What was said, for those who ask for it: only with
// OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true.

package tracing

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/cadre-dev/cadre/internal/store"
)

// contentSize bounds each text of a span, in bytes.
const contentSize = 32 << 10

func cut(s string) string {
	if len(s) <= contentSize {
		return s
	}
	return s[:contentSize] + "…"
}

// said is a message in the form of the conventions.
type said struct {
	Role   string     `json:"role"`
	Parts  []saidPart `json:"parts"`
	Finish string     `json:"finish_reason,omitempty"`
}

type saidPart struct {
	Type    string          `json:"type"`
	Content string          `json:"content,omitempty"`
	ID      string          `json:"id,omitempty"`
	Name    string          `json:"name,omitempty"`
	Input   json.RawMessage `json:"arguments,omitempty"`
}

func encoded(m said) string {
	b, err := json.Marshal([]said{m})
	if err != nil {
		return "" // an input that is no JSON
	}
	return string(b)
}

func inputText(text string) attribute.KeyValue {
	return semconv.GenAIInputMessagesKey.String(encoded(said{Role: "user", Parts: []saidPart{{Type: "text", Content: cut(text)}}}))
}

func outputText(text string) attribute.KeyValue {
	return semconv.GenAIOutputMessagesKey.String(encoded(said{Role: "assistant", Parts: []saidPart{{Type: "text", Content: cut(text)}}}))
}

// text is what a user message says, if content is wanted.
func (t *Tracer) text(m store.Message) string {
	if !t.content {
		return ""
	}
	body, err := m.Decode()
	if err != nil {
		return ""
	}
	return body.Text()
}

// reply is what a model call gave.
func (t *Tracer) reply(ctx context.Context, c store.ModelCall) ([]attribute.KeyValue, error) {
	if c.Reply < 1 {
		if c.Response == "" {
			return nil, nil
		}
		return []attribute.KeyValue{outputText(c.Response)}, nil
	}
	before := int64(c.Reply - 1)
	rows, _, err := t.cfg.Store.ListMessages(ctx, store.OfAgent{Agent: c.Agent, Window: store.Window{After: &store.Cursor{Key: before, Row: before}, Limit: 1}})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	body, err := rows[0].Decode()
	if err != nil {
		return nil, err
	}
	m := said{Role: "assistant", Finish: c.Stop}
	if text := body.Text(); text != "" {
		m.Parts = append(m.Parts, saidPart{Type: "text", Content: cut(text)})
	}
	for _, call := range body.Calls() {
		m.Parts = append(m.Parts, saidPart{Type: "tool_call", ID: call.ID, Name: call.Name, Input: call.Input})
	}
	return []attribute.KeyValue{semconv.GenAIOutputMessagesKey.String(encoded(m))}, nil
}
