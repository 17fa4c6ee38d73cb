// Replies: what a stream or a whole answer is gathered into.

package gemini

import (
	"crypto/rand"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

// partKind is the kind of a part.
type partKind int

const (
	textPart partKind = iota
	thoughtPart
	markPart // a signature without a text
	callPart
)

// part is a part on its way: pieces of one kind that follow each other are one.
type part struct {
	kind      partKind
	number    int // among the parts of the reply
	text      []byte
	signature string
	id, name  string
	input     []byte
}

// builder gathers a reply and passes on its pieces.
type builder struct {
	provider, model string
	onDelta         func(llm.Delta)

	parts    []*part
	next     int // the number of the next part
	usage    message.Usage
	answered string // the model that did
	id       string
	finish   string // why it ended, "" if it has not
	why      string // the vendor's words on it
	blocked  string // why the prompt was refused
}

// open begins a part.
func (b *builder) open(p *part) *part {
	if n := len(b.parts); n > 0 && b.parts[n-1].kind == textPart && b.parts[n-1].signature != "" {
		b.next++ // the signature of a text becomes a part behind it
	}
	p.number = b.next
	b.next++
	b.parts = append(b.parts, p)
	return p
}

// last returns the last part if it is of a kind.
func (b *builder) last(kind partKind) *part {
	if n := len(b.parts); n > 0 && b.parts[n-1].kind == kind {
		return b.parts[n-1]
	}
	return nil
}

// say takes in a piece of text or of a thought.
func (b *builder) say(kind partKind, text, signature string) {
	if text == "" && signature == "" {
		return
	}
	if text == "" && kind == textPart { // it signs what the vendor does not show
		b.open(&part{kind: markPart, signature: signature})
		return
	}
	p := b.last(kind)
	if p == nil {
		p = b.open(&part{kind: kind})
	}
	if signature != "" {
		p.signature = signature
	}
	if text == "" {
		return
	}
	p.text = append(p.text, text...)
	d := llm.Delta{Kind: llm.DeltaText, Part: p.number, Text: text}
	if kind == thoughtPart {
		d.Kind = llm.DeltaThinking
	}
	b.tell(d)
}

// call takes in a function call, which comes whole. The id pairs it with its
// result: where the vendor gives none, one is made that no other call has.
func (b *builder) call(p *part) {
	if p.id == "" {
		p.id = generated + strings.ToLower(rand.Text())
	}
	p.kind = callPart
	b.open(p)
	b.tell(llm.Delta{Kind: llm.DeltaCall, Part: p.number, Name: p.name, Text: string(p.input)})
}

func (b *builder) tell(d llm.Delta) {
	if b.onDelta != nil {
		b.onDelta(d)
	}
}

// ended reports whether the answer is whole.
func (b *builder) ended() bool { return b.finish != "" || b.blocked != "" }

// reply makes the reply of what was gathered, or the error that it is.
func (b *builder) reply(requestID string) (*llm.Reply, error) {
	r := &llm.Reply{Usage: b.usage, Model: b.answered, RequestID: requestID}
	if r.Model == "" {
		r.Model = b.model
	}
	if r.RequestID == "" {
		r.RequestID = b.id
	}
	fail := func(kind llm.ErrorKind, text string) (*llm.Reply, error) {
		return nil, &llm.Error{Kind: kind, Message: strings.TrimSuffix(wire.Scrub(text+": "+b.why), ": "), RequestID: r.RequestID}
	}
	if b.blocked != "" && b.finish == "" {
		return fail(llm.ErrFilter, "the prompt was blocked ("+b.blocked+")")
	}
	var ok bool
	if r.Stop, ok = stops[b.finish]; !ok {
		kind, known := faults[b.finish]
		switch {
		case known:
			return fail(kind, "the model ended with "+b.finish)
		case len(b.parts) == 0:
			return fail(llm.ErrServer, "the model ended with "+b.finish+" and said nothing")
		}
		r.Stop = llm.StopLength // not known, and so no success
	}
	calls := false
	for _, p := range b.parts {
		if p.kind == callPart && r.Stop == llm.StopFilter {
			continue // what was said before the filter struck is void
		}
		calls = calls || p.kind == callPart
		r.Parts = b.appendParts(r.Parts, p)
	}
	if calls && r.Stop == llm.StopEnd {
		r.Stop = llm.StopTools
	}
	return r, nil
}

// stops are the ends of a reply.
var stops = map[string]llm.Stop{
	"STOP":                     llm.StopEnd,
	"MAX_TOKENS":               llm.StopLength,
	"CONTINUATION":             llm.StopLength,
	"SAFETY":                   llm.StopFilter,
	"RECITATION":               llm.StopFilter,
	"LANGUAGE":                 llm.StopFilter,
	"BLOCKLIST":                llm.StopFilter,
	"PROHIBITED_CONTENT":       llm.StopFilter,
	"SPII":                     llm.StopFilter,
	"MODEL_ARMOR":              llm.StopFilter,
	"IMAGE_SAFETY":             llm.StopFilter,
	"IMAGE_PROHIBITED_CONTENT": llm.StopFilter,
	"IMAGE_RECITATION":         llm.StopFilter,
}

// faults are the ends that leave no reply: the model stumbled, and trying again
// helps; or the request lacked something.
var faults = map[string]llm.ErrorKind{
	"MALFORMED_FUNCTION_CALL":   llm.ErrServer,
	"MALFORMED_RESPONSE":        llm.ErrServer,
	"UNEXPECTED_TOOL_CALL":      llm.ErrServer,
	"TOO_MANY_TOOL_CALLS":       llm.ErrServer,
	"MISSING_THOUGHT_SIGNATURE": llm.ErrBadRequest,
}

func (b *builder) appendParts(parts []message.Part, p *part) []message.Part {
	switch p.kind {
	case thoughtPart, markPart:
		return append(parts, message.ThinkingPart{Text: string(p.text), Signature: p.signature, Provider: b.provider, Model: b.model})
	case callPart:
		c := message.ToolCall{ID: p.id, Name: p.name, Input: wire.Input(p.input)}
		if p.signature != "" {
			c.Signature, c.Provider, c.Model = p.signature, b.provider, b.model
		}
		return append(parts, c)
	case textPart:
		parts = append(parts, message.TextPart{Text: string(p.text)})
		if p.signature != "" {
			parts = append(parts, message.ThinkingPart{ID: ofText, Signature: p.signature, Provider: b.provider, Model: b.model})
		}
	}
	return parts
}
