// Package llm is the door to models: what is asked of one, what it answers,
// how it fails. Each wire format is a package below this one and keeps its
// vendor's types to itself; nothing here knows agents, tools or stores.
package llm

import (
	"context"
	"encoding/json"

	"github.com/cadre-dev/cadre/internal/message"
)

// Provider makes model calls. Implementations are safe for concurrent use.
type Provider interface {
	// Call makes one request and returns the whole reply. While the reply is
	// generated its pieces go to onDelta, in order, from the calling
	// goroutine; onDelta may be nil. A reply that did not end properly (a
	// stream cut or stalled, an error inside the stream) is an *Error, never
	// a Reply. Call does not retry: the agent's machine decides that.
	Call(ctx context.Context, req *Request, onDelta func(Delta)) (*Reply, error)
}

// Request is one model call.
type Request struct {
	// Caller tells who asks. Real providers ignore it; the scripted and the
	// offline model choose their answer by it.
	Caller Caller

	Model       string
	System      string
	Tools       []Tool
	Messages    []message.Message
	MaxOutput   int64
	Temperature *float64 // left out where the vendor refuses it, as most do beside thinking

	// Effort and ThinkingTokens say how much the model is to think: the one in
	// words, the other in tokens, which counts if there is no effort. Both zero
	// leave it to the model. ShowThinking asks for what it thought, or a summary
	// of it, where the vendor does not tell by itself. None of them may change
	// within an epoch of an agent's life: vendors' caches depend on them.
	Effort         Effort
	ThinkingTokens int64
	ShowThinking   bool

	// Memo spares the provider encoding the same history every turn; nil will
	// do.
	Memo *Memo
}

// Caller names the agent behind a request.
type Caller struct {
	Chat  string
	Agent string
	Name  string // as shown: coder, coder-2
	Role  string
	Depth int
	Task  string // the instruction it works on; for the orchestrator the last user message
	Dir   string // its working folder
	Turn  int    // counts from 1 over the agent's life
	Try   int    // counts from 1 within the turn
}

// Tool describes a tool to a model.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// DeltaKind says what a Delta adds to.
type DeltaKind string

// The kinds of delta.
const (
	DeltaText     DeltaKind = "text"
	DeltaThinking DeltaKind = "thinking"
	DeltaCall     DeltaKind = "tool_call" // a piece of a tool call's input
)

// Delta is a piece of a reply on its way. Part counts the parts of the reply
// from 0; Name is set on the first delta of a tool call.
type Delta struct {
	Kind DeltaKind
	Part int
	Name string
	Text string
}

// Stop says why a reply ended.
type Stop string

// The reasons for a reply to end.
const (
	StopEnd     Stop = "end"     // the model had said what it wanted to say
	StopTools   Stop = "tools"   // it waits for tool results
	StopLength  Stop = "length"  // the output limit was reached
	StopRefusal Stop = "refusal" // the model declined
	StopFilter  Stop = "filter"  // the vendor's filter cut the reply
)

// Reply is a whole reply of a model.
type Reply struct {
	Parts     []message.Part // text, thinking, tool calls
	Stop      Stop
	Usage     message.Usage
	Model     string // the model that really answered
	RequestID string
}
