// Encoding the items of a request's input.

package openairesponses

import (
	"strings"

	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

// items writes items, separated by commas.
type items struct {
	dst   []byte
	start int
}

func (w *items) separate() {
	if len(w.dst) > w.start {
		w.dst = append(w.dst, ',')
	}
}

func (w *items) raw(s string)  { w.dst = append(w.dst, s...) }
func (w *items) text(s string) { w.dst = wire.AppendString(w.dst, s) }

// user appends a message of the user made of the texts and images of parts, if
// there are any.
func (w *items) user(parts []message.Part) {
	said := make([]message.Part, 0, len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case message.TextPart:
			if p.Text != "" {
				said = append(said, p)
			}
		case message.ImagePart:
			said = append(said, p)
		case message.ThinkingPart, message.ToolCall, message.ToolResult:
		}
	}
	if len(said) == 0 {
		return
	}
	w.separate()
	w.raw(`{"type":"message","role":"user","content":`)
	w.content(said)
	w.raw("}")
}

// content appends a text if parts are nothing else, a list if they have
// images.
func (w *items) content(parts []message.Part) {
	images := false
	for _, p := range parts {
		_, ok := p.(message.ImagePart)
		images = images || ok
	}
	if !images {
		w.text(message.Text(parts))
		return
	}
	w.raw("[")
	for i, p := range parts {
		if i > 0 {
			w.raw(",")
		}
		switch p := p.(type) {
		case message.TextPart:
			w.raw(`{"type":"input_text","text":`)
			w.text(p.Text)
		case message.ImagePart:
			w.raw(`{"type":"input_image","image_url":`)
			w.dst = wire.AppendDataURL(w.dst, p.MediaType, p.Data)
		case message.ThinkingPart, message.ToolCall, message.ToolResult:
			w.raw(`{"type":"input_text","text":""`) // no such part is passed in
		}
		w.raw("}")
	}
	w.raw("]")
}

// result appends the result of a tool. The format has no mark for failures, so
// that the text has to say it.
func (w *items) result(r message.ToolResult) {
	w.separate()
	w.raw(`{"type":"function_call_output","call_id":`)
	w.text(callID(r.CallID))
	w.raw(`,"output":`)
	parts := make([]message.Part, 0, len(r.Parts)+1)
	if r.IsError && !strings.HasPrefix(strings.ToLower(message.Text(r.Parts)), "error") {
		parts = append(parts, message.TextPart{Text: "Error:"})
	}
	for _, p := range r.Parts {
		switch t := p.(type) {
		case message.TextPart:
			if t.Text != "" {
				parts = append(parts, t)
			}
		case message.ImagePart:
			parts = append(parts, t)
		case message.ThinkingPart, message.ToolCall, message.ToolResult:
		}
	}
	w.content(parts)
	w.raw("}")
}

// reply appends texts of the model as one message.
func (w *items) reply(texts []message.Part, phase string) {
	first := true
	for _, p := range texts {
		t, ok := p.(message.TextPart)
		if !ok || t.Text == "" {
			continue
		}
		if first {
			w.separate()
			w.raw(`{"type":"message","role":"assistant","content":[`)
		} else {
			w.raw(",")
		}
		first = false
		w.raw(`{"type":"output_text","text":`)
		w.text(t.Text)
		w.raw("}")
	}
	if first {
		return
	}
	w.raw("]")
	if phase != "" {
		w.raw(`,"phase":`)
		w.text(phase)
	}
	w.raw("}")
}

// call appends a call, without the id of its item: that would bind it to the
// reasoning before it, which other models do not get.
func (w *items) call(c message.ToolCall) {
	w.separate()
	w.raw(`{"type":"function_call","call_id":`)
	w.text(callID(c.ID))
	w.raw(`,"name":`)
	w.text(c.Name)
	w.raw(`,"arguments":`)
	arguments := string(c.Input)
	if arguments == "" {
		arguments = "{}"
	}
	w.text(arguments)
	w.raw("}")
}

// contentSignature marks a thinking part that is reasoning itself, as open
// models give it, and no summary.
const contentSignature = "reasoning_text"

// reasoning appends the item that parts are the pieces of. Without its
// encrypted content the vendor knows nothing of it, unless it is all there.
func (w *items) reasoning(parts []message.Part) {
	var id, encrypted string
	var summary, content []string
	for _, p := range parts {
		t, ok := p.(message.ThinkingPart)
		if !ok {
			continue
		}
		id = t.ID
		if t.Encrypted != "" {
			encrypted = t.Encrypted
		}
		switch {
		case t.Text == "":
		case t.Signature == contentSignature:
			content = append(content, t.Text)
		default:
			summary = append(summary, t.Text)
		}
	}
	if encrypted == "" && len(content) == 0 {
		return
	}
	w.separate()
	w.raw(`{"type":"reasoning"`)
	if id != "" {
		w.raw(`,"id":`)
		w.text(id)
	}
	w.raw(`,"summary":`)
	w.texts("summary_text", summary)
	if len(content) > 0 {
		w.raw(`,"content":`)
		w.texts("reasoning_text", content)
	}
	if encrypted != "" {
		w.raw(`,"encrypted_content":`)
		w.text(encrypted)
	}
	w.raw("}")
}

func (w *items) texts(kind string, texts []string) {
	w.raw("[")
	for i, s := range texts {
		if i > 0 {
			w.raw(",")
		}
		w.raw(`{"type":"` + kind + `","text":`)
		w.text(s)
		w.raw("}")
	}
	w.raw("]")
}

// maxCallID is the longest id of a call that OpenAI takes.
const maxCallID = 64

// callID gives a call's id in a form that the vendor takes. It depends on
// nothing but the id, so that a call and its result agree.
func callID(id string) string {
	if len(id) <= maxCallID {
		return id
	}
	return "call_" + wire.HashID(id, maxCallID-len("call_"))
}
