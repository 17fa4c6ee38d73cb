package message

import "encoding/json"

// Part is one piece of a message. The set of parts is sealed: text, thinking,
// an image, a tool call, a tool result.
//
//sumtype:decl
type Part interface{ isPart() }

// TextPart is plain text or Markdown.
type TextPart struct {
	Text string `json:"text"`
}

// ThinkingPart is the reasoning a model shows or hides. Signature and
// Encrypted come from the vendor and go back to the same vendor and model
// unchanged; for any other model the whole part is left out.
type ThinkingPart struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Encrypted string `json:"encrypted,omitempty"`
	ID        string `json:"id,omitempty"`
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model,omitempty"`
}

// ImagePart is an image, its bytes in base64.
type ImagePart struct {
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

// ToolCall is a model's wish to use a tool. ID is the provider's and pairs the
// call with its result; Input is a JSON object. Signature carries a vendor's
// signature of the call, and goes back like that of a ThinkingPart.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Signature string          `json:"signature,omitempty"`
	Provider  string          `json:"provider,omitempty"`
	Model     string          `json:"model,omitempty"`
}

// ToolResult answers the call with the same ID. Parts holds text and images
// only.
type ToolResult struct {
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	IsError bool   `json:"is_error,omitempty"`
	Parts   []Part `json:"-"`
}

func (TextPart) isPart()     {}
func (ThinkingPart) isPart() {}
func (ImagePart) isPart()    {}
func (ToolCall) isPart()     {}
func (ToolResult) isPart()   {}

func size(p Part) int {
	switch p := p.(type) {
	case TextPart:
		return len(p.Text)
	case ThinkingPart:
		return len(p.Text) + len(p.Encrypted)
	case ImagePart:
		return imageSize
	case ToolCall:
		return len(p.Name) + len(p.Input)
	case ToolResult:
		n := 0
		for _, inner := range p.Parts {
			n += size(inner)
		}
		return n
	}
	return 0
}

// imageSize is what an image counts in Size: vendors bill about 1,600 tokens
// for a large one, whatever its bytes.
const imageSize = 6400
