// Encoding what is said to the model: results of tools, and messages in the
// role of the user.

package openaichat

import (
	"strings"

	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

// input writes all that is said to the model between two replies of it.
type input struct {
	encoder
	dst   []byte
	start int

	results bool                 // some have been written
	images  []message.ToolResult // results with images, which follow them
	pending []message.Part       // of the user, to be merged
}

// separate puts a comma between two messages.
func (w *input) separate() {
	if len(w.dst) > w.start {
		w.dst = append(w.dst, ',')
	}
}

// result appends the result of a tool. The format has no mark for failures, so
// that the text has to say it.
func (w *input) result(r message.ToolResult) {
	w.results = true
	w.separate()
	w.dst = append(w.dst, `{"role":"tool","tool_call_id":`...)
	w.dst = wire.AppendString(w.dst, w.callID(r.CallID))
	w.dst = append(w.dst, `,"content":`...)
	text := message.Text(r.Parts)
	if r.IsError && !strings.HasPrefix(strings.ToLower(text), "error") {
		text = strings.TrimSuffix("Error: "+text, ": ")
	}
	switch images := imagesOf(r.Parts); {
	case len(images) == 0:
		w.dst = wire.AppendString(w.dst, text)
	case w.quirks.ToolImages && !w.quirks.NoImages:
		parts := make([]message.Part, 0, len(images)+1)
		if text != "" {
			parts = append(parts, message.TextPart{Text: text})
		}
		w.parts(append(parts, images...))
	case w.quirks.NoImages:
		w.dst = wire.AppendString(w.dst, message.Text([]message.Part{message.TextPart{Text: text}, noImage}))
	default:
		if text == "" {
			text = "The result is an image; it follows."
		}
		w.dst = wire.AppendString(w.dst, text)
		w.images = append(w.images, r)
	}
	w.dst = append(w.dst, '}')
}

// resultImages appends the images of results as a message of the user. It
// stands behind all results: none of them may be separated from its call.
func (w *input) resultImages() {
	if len(w.images) == 0 {
		return
	}
	var parts []message.Part
	for _, r := range w.images {
		parts = append(parts, message.TextPart{Text: "Image from the result of " + r.Name + ":"})
		parts = append(parts, imagesOf(r.Parts)...)
	}
	w.user(parts)
}

// user appends a message of the user made of the texts and images of parts, if
// there are any.
func (w *input) user(parts []message.Part) {
	said := make([]message.Part, 0, len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case message.TextPart:
			if p.Text != "" {
				said = append(said, p)
			}
		case message.ImagePart:
			if w.quirks.NoImages {
				said = append(said, noImage)
			} else {
				said = append(said, p)
			}
		case message.ThinkingPart, message.ToolCall, message.ToolResult:
		}
	}
	w.pending = append(w.pending, said...)
	if !w.quirks.MergeUsers {
		w.endUser()
	}
}

// endUser writes the message of the user that is pending.
func (w *input) endUser() {
	if len(w.pending) == 0 {
		return
	}
	if w.results && w.quirks.ReplyToTools {
		w.separate()
		w.dst = append(w.dst, `{"role":"assistant","content":"OK."}`...)
		w.results = false
	}
	w.separate()
	w.dst = append(w.dst, `{"role":"user","content":`...)
	w.parts(w.pending)
	w.dst = append(w.dst, '}')
	w.pending = w.pending[:0]
}

// parts appends content: a text if it is nothing else, a list of parts if it
// has images.
func (w *input) parts(parts []message.Part) {
	if len(imagesOf(parts)) == 0 {
		w.dst = wire.AppendString(w.dst, message.Text(parts))
		return
	}
	w.dst = append(w.dst, '[')
	for i, p := range parts {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		switch p := p.(type) {
		case message.TextPart:
			w.dst = append(w.dst, `{"type":"text","text":`...)
			w.dst = append(wire.AppendString(w.dst, p.Text), '}')
		case message.ImagePart:
			w.dst = append(w.dst, `{"type":"image_url","image_url":{"url":`...)
			w.dst = append(wire.AppendDataURL(w.dst, p.MediaType, p.Data), "}}"...)
		case message.ThinkingPart, message.ToolCall, message.ToolResult:
		}
	}
	w.dst = append(w.dst, ']')
}

// noImage stands for an image with models that see none.
var noImage = message.TextPart{Text: "[An image was here, which this model cannot see.]"}

func imagesOf(parts []message.Part) []message.Part {
	var images []message.Part
	for _, p := range parts {
		if _, ok := p.(message.ImagePart); ok {
			images = append(images, p)
		}
	}
	return images
}
