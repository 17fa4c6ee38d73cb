// Package message holds what agents and models say to each other: messages
// made of parts, and the tokens they cost.
//
// It is a leaf package: every other package speaks in its types, so it knows
// no provider, no store and no agent.
package message

import "strings"

// Role says who speaks in a message.
type Role string

// The roles of a message. A system prompt is not a message of the history:
// it belongs to the agent and is recorded once, by its hash.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Kind says where a message came from, which its role alone does not tell:
// four kinds of message reach a model in the role of the user.
type Kind string

// The kinds of message.
const (
	KindUser    Kind = "user"    // typed by a person
	KindTask    Kind = "task"    // the instruction a sub-agent starts with
	KindReply   Kind = "reply"   // what the model said
	KindResult  Kind = "result"  // the result of one tool call
	KindResults Kind = "results" // results of detached tasks, aggregated
	KindNote    Kind = "note"    // told by the system itself
	KindSummary Kind = "summary" // stands for an older part of the history
)

// A Message is one entry of an agent's conversation. Messages are append-only:
// once placed in a history they never change.
type Message struct {
	Role  Role   `json:"role"`
	Kind  Kind   `json:"kind"`
	Parts []Part `json:"-"`
}

// Text joins the text parts of m, separated by blank lines.
func (m Message) Text() string { return Text(m.Parts) }

// Calls returns the tool calls of m in order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// Text joins the text parts among parts, separated by blank lines.
func Text(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		t, ok := p.(TextPart)
		if !ok || t.Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// Of makes a message with a single text part.
func Of(role Role, kind Kind, text string) Message {
	return Message{Role: role, Kind: kind, Parts: []Part{TextPart{Text: text}}}
}

// Size estimates the bytes of m that reach a model, which is what token
// estimates and context limits are made of.
func (m Message) Size() int {
	n := 0
	for _, p := range m.Parts {
		n += size(p)
	}
	return n
}
