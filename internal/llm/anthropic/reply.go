// Replies: what a stream or a whole answer is gathered into.

package anthropic

import (
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

// blockKind is the kind of a content block.
type blockKind int

const (
	unknownBlock blockKind = iota // a server's own tool, or of a later version of the API
	textBlock
	thinkingBlock
	redactedBlock
	toolBlock
)

func kindOf(name []byte) blockKind {
	switch string(name) {
	case "text":
		return textBlock
	case "thinking":
		return thinkingBlock
	case "redacted_thinking":
		return redactedBlock
	case "tool_use":
		return toolBlock
	}
	return unknownBlock
}

// block is a content block on its way.
type block struct {
	kind      blockKind
	index     int64
	part      int    // its number among the parts of the reply, -1 until it has something in it
	text      []byte // text, thinking, or the pieces of a call's input
	signature string
	data      string // of redacted thinking
	id, name  string
	input     []byte // a call's input if it came with the block's beginning
}

// builder gathers a reply and passes on its pieces.
type builder struct {
	provider, model string
	onDelta         func(llm.Delta)

	blocks   []*block
	parts    int
	usage    message.Usage
	answered string // the model that did
	id       string
	stop     string
}

// open begins a block.
func (b *builder) open(bl *block) *block {
	bl.part = -1
	b.blocks = append(b.blocks, bl)
	switch bl.kind {
	case toolBlock:
		b.number(bl)
		b.tell(llm.Delta{Kind: llm.DeltaCall, Part: bl.part, Name: bl.name})
	case redactedBlock:
		b.number(bl)
	case thinkingBlock:
		if bl.signature != "" {
			b.number(bl)
		}
	case textBlock, unknownBlock:
	}
	return bl
}

// number gives a block its place in the reply. Blocks that stay empty have
// none, so that parts and deltas count alike.
func (b *builder) number(bl *block) {
	if bl.part < 0 {
		bl.part = b.parts
		b.parts++
	}
}

// find returns the block with an index: nearly always the last one.
func (b *builder) find(index int64) *block {
	for i := len(b.blocks) - 1; i >= 0; i-- {
		if b.blocks[i].index == index {
			return b.blocks[i]
		}
	}
	return nil
}

// add appends a piece to a block and passes it on.
func (b *builder) add(bl *block, piece string) {
	if piece == "" {
		return
	}
	kind := llm.DeltaText
	switch bl.kind {
	case thinkingBlock:
		kind = llm.DeltaThinking
	case toolBlock:
		kind = llm.DeltaCall
	case unknownBlock, redactedBlock:
		return
	case textBlock:
	}
	b.number(bl)
	bl.text = append(bl.text, piece...)
	b.tell(llm.Delta{Kind: kind, Part: bl.part, Text: piece})
}

func (b *builder) tell(d llm.Delta) {
	if b.onDelta != nil {
		b.onDelta(d)
	}
}

// reply makes the reply of what was gathered.
func (b *builder) reply(requestID string) *llm.Reply {
	r := &llm.Reply{Usage: b.usage, Model: b.answered, RequestID: requestID}
	if r.Model == "" {
		r.Model = b.model
	}
	if r.RequestID == "" {
		r.RequestID = b.id
	}
	calls := 0
	for i, bl := range b.blocks {
		if bl.kind == toolBlock {
			if b.cut(i) {
				continue
			}
			calls++
		}
		if bl.part >= 0 {
			r.Parts = append(r.Parts, b.partOf(bl))
		}
	}
	r.Stop = b.stopOf(calls)
	return r
}

// cut reports whether a tool call must not be made: the output limit cut the
// last one short, even if what is left of its input looks whole, and what a
// model says before it refuses is void.
func (b *builder) cut(i int) bool {
	switch b.stop {
	case "max_tokens", "model_context_window_exceeded":
		return i == len(b.blocks)-1
	case "refusal":
		return true
	}
	return false
}

func (b *builder) partOf(bl *block) message.Part {
	switch bl.kind {
	case thinkingBlock:
		return message.ThinkingPart{Text: string(bl.text), Signature: bl.signature, Provider: b.provider, Model: b.model}
	case redactedBlock:
		return message.ThinkingPart{Encrypted: bl.data, Provider: b.provider, Model: b.model}
	case toolBlock:
		input := bl.text
		if len(input) == 0 {
			input = bl.input
		}
		return message.ToolCall{ID: bl.id, Name: bl.name, Input: wire.Input(input)}
	case textBlock, unknownBlock:
	}
	return message.TextPart{Text: string(bl.text)}
}

// stopOf translates the reason to stop. One that is not known must not pass
// for success: it counts as a limit.
func (b *builder) stopOf(calls int) llm.Stop {
	switch b.stop {
	case "refusal":
		return llm.StopRefusal
	case "max_tokens", "model_context_window_exceeded", "pause_turn":
		return llm.StopLength
	}
	switch {
	case calls > 0:
		return llm.StopTools
	case b.stop == "", b.stop == "end_turn", b.stop == "stop_sequence", b.stop == "tool_use", b.stop == "stop":
		return llm.StopEnd
	case strings.Contains(b.stop, "filter"):
		return llm.StopFilter
	}
	return llm.StopLength
}

// takeUsage reads counts of tokens; those that come later are of the whole
// reply and replace those before. Proxies send zeros for what they do not know.
func (b *builder) takeUsage(raw []byte) error {
	walk := wire.Object(raw)
	for walk.Next() {
		var field *int64
		switch string(walk.Key) {
		case "input_tokens":
			field = &b.usage.Input
		case "output_tokens":
			field = &b.usage.Output
		case "cache_creation_input_tokens":
			field = &b.usage.CacheWrite
		case "cache_read_input_tokens":
			field = &b.usage.CacheRead
		case "output_tokens_details":
			for details := wire.Object(walk.Value); details.Next(); {
				if n := wire.Int(details.Value); string(details.Key) == "thinking_tokens" && n > 0 {
					b.usage.Reasoning = n
				}
			}
			continue
		default:
			continue
		}
		if n := wire.Int(walk.Value); n > 0 {
			*field = n
		}
	}
	return walk.Err()
}
