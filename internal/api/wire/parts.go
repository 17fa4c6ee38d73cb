// The parts of a message as they are written: package message's encoding,
// spelled out for those who read the OpenAPI document.

package wire

import (
	"encoding/json"

	"github.com/cadre-dev/cadre/internal/message"
)

// TextPart is text.
type TextPart struct {
	Type string `json:"type" enum:"text"`
	message.TextPart
}

// ThinkingPart is the reasoning of a model.
type ThinkingPart struct {
	Type string `json:"type" enum:"thinking"`
	message.ThinkingPart
}

// ImagePart is an image.
type ImagePart struct {
	Type string `json:"type" enum:"image"`
	message.ImagePart
}

// ToolCallPart is a model's wish to use a tool.
type ToolCallPart struct {
	Type string `json:"type" enum:"tool_call"`
	message.ToolCall
}

// ToolResultPart is what a tool answered.
type ToolResultPart struct {
	Type string `json:"type" enum:"tool_result"`
	message.ToolResult
	Parts json.RawMessage `json:"parts"`
}
