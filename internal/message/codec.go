package message

import (
	"encoding/json"
	"fmt"
)

// A part is stored as an object whose "type" names its kind. The encoding is
// canonical: fields in declaration order, nothing that depends on a map.

// The plain types have the fields of a part and not its method, so that the
// tagged ones below are no parts themselves.
type (
	plainText     TextPart
	plainThinking ThinkingPart
	plainImage    ImagePart
	plainCall     ToolCall
	plainResult   ToolResult
)

type taggedText struct {
	Type string `json:"type"`
	plainText
}

type taggedThinking struct {
	Type string `json:"type"`
	plainThinking
}

type taggedImage struct {
	Type string `json:"type"`
	plainImage
}

type taggedCall struct {
	Type string `json:"type"`
	plainCall
}

type taggedResult struct {
	Type string `json:"type"`
	plainResult
	Parts json.RawMessage `json:"parts,omitempty"`
}

// EncodeParts gives the stored form of parts.
func EncodeParts(parts []Part) ([]byte, error) { return appendParts(nil, parts) }

// appendParts joins what is encoded already: to marshal it again would look at
// each byte once more for each level.
func appendParts(b []byte, parts []Part) ([]byte, error) {
	b = append(b, '[')
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendPart(b, p); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendPart(b []byte, p Part) ([]byte, error) {
	var tagged any
	switch p := p.(type) {
	case TextPart:
		tagged = taggedText{"text", plainText(p)}
	case ThinkingPart:
		tagged = taggedThinking{"thinking", plainThinking(p)}
	case ImagePart:
		tagged = taggedImage{"image", plainImage(p)}
	case ToolCall:
		if len(p.Input) == 0 {
			p.Input = json.RawMessage("{}")
		}
		tagged = taggedCall{"tool_call", plainCall(p)}
	case ToolResult:
		tagged = taggedResult{Type: "tool_result", plainResult: plainResult(p)}
	default:
		return nil, fmt.Errorf("encoding a part: unknown part %T", p)
	}
	one, err := json.Marshal(tagged)
	if err != nil {
		return nil, fmt.Errorf("encoding a part: %w", err)
	}
	b = append(b, one...)
	result, ok := p.(ToolResult)
	if !ok {
		return b, nil
	}
	b = append(b[:len(b)-1], `,"parts":`...)
	if b, err = appendParts(b, result.Parts); err != nil {
		return nil, fmt.Errorf("encoding the result of %s: %w", result.Name, err)
	}
	return append(b, '}'), nil
}

// DecodeParts reads what EncodeParts wrote.
func DecodeParts(b []byte) ([]Part, error) {
	if len(b) == 0 {
		return nil, nil
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, fmt.Errorf("decoding parts: %w", err)
	}
	parts := make([]Part, len(raw))
	for i, r := range raw {
		p, err := decodePart(r)
		if err != nil {
			return nil, err
		}
		parts[i] = p
	}
	return parts, nil
}

func decodePart(b []byte) (Part, error) {
	var tag struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(b, &tag); err != nil {
		return nil, fmt.Errorf("decoding a part: %w", err)
	}
	switch tag.Type {
	case "text":
		return decodeAs[TextPart](b)
	case "thinking":
		return decodeAs[ThinkingPart](b)
	case "image":
		return decodeAs[ImagePart](b)
	case "tool_call":
		return decodeAs[ToolCall](b)
	case "tool_result":
		var t taggedResult
		if err := json.Unmarshal(b, &t); err != nil {
			return nil, fmt.Errorf("decoding a tool result: %w", err)
		}
		inner, err := DecodeParts(t.Parts)
		if err != nil {
			return nil, err
		}
		t.plainResult.Parts = inner
		return ToolResult(t.plainResult), nil
	}
	return nil, fmt.Errorf("decoding a part: unknown type %q", tag.Type)
}

func decodeAs[T Part](b []byte) (Part, error) {
	var p T
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("decoding a part: %w", err)
	}
	return p, nil
}

type storedMessage struct {
	Role  Role            `json:"role"`
	Kind  Kind            `json:"kind"`
	Parts json.RawMessage `json:"parts"`
}

// MarshalJSON writes the message with its parts.
func (m Message) MarshalJSON() ([]byte, error) {
	parts, err := EncodeParts(m.Parts)
	if err != nil {
		return nil, err
	}
	return json.Marshal(storedMessage{m.Role, m.Kind, parts})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Message) UnmarshalJSON(b []byte) error {
	var s storedMessage
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("decoding a message: %w", err)
	}
	parts, err := DecodeParts(s.Parts)
	if err != nil {
		return err
	}
	*m = Message{Role: s.Role, Kind: s.Kind, Parts: parts}
	return nil
}
