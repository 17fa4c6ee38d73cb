// Putting a reply together from its pieces.

package openaichat

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

// builder collects a reply. A whole answer is fed to it as a single chunk.
//
// The format has one text per message, so that text which goes on after
// reasoning or calls joins the text before; parts stand in the order in which
// they began.
type builder struct {
	provider, model string
	onDelta         func(llm.Delta) // never nil

	parts    []*part
	text     *part
	thinking *part // plain reasoning; structured reasoning has a part per detail
	last     *part // the call that was begun last

	tags tagState
	held string // of the text; see addContent

	id, requestID string // the vendor's, in the body and in the header
	answered      string // the model
	finish        string
	refused       bool
	usage         message.Usage
	settled       bool   // the answer came in one piece, or its usage behind it
	failure       []byte // the error that the last chunk reported
}

// part is a piece of a reply in the making.
type part struct {
	at   int // its place among the parts
	kind llm.DeltaKind
	text strings.Builder // of a call: its arguments

	// Of calls.
	index    string // as the vendor numbers it, "" if it does not
	id, name string
	extra    string // extra_content: what Google hangs on a call

	// Of reasoning.
	field  string  // in which field it came
	detail *detail // of structured reasoning
}

func (b *builder) open(kind llm.DeltaKind) *part {
	p := &part{at: len(b.parts), kind: kind}
	b.parts = append(b.parts, p)
	return p
}

// add appends text to p and tells so.
func (b *builder) add(p *part, text string) {
	if text == "" {
		return
	}
	p.text.WriteString(text)
	b.onDelta(llm.Delta{Kind: p.kind, Part: p.at, Text: text})
}

func (b *builder) addText(text string) {
	if text == "" {
		return
	}
	if b.text == nil {
		b.text = b.open(llm.DeltaText)
	}
	b.add(b.text, text)
}

// addThinking adds plain reasoning; field is where it came from and where it
// may go back to.
func (b *builder) addThinking(text, field string) {
	if text == "" {
		return
	}
	if b.thinking == nil {
		b.thinking = b.open(llm.DeltaThinking)
		b.thinking.field = field
	}
	b.add(b.thinking, text)
}

// callDelta is a piece of a call as a chunk has it.
type callDelta struct {
	index, id, name string
	arguments       string
	extra           string
}

// addCall finds the call that d belongs to, or begins it. What a call has been
// told once, some servers repeat in every piece.
func (b *builder) addCall(d callDelta) {
	p := b.callOf(d)
	if p == nil && d.id == "" && d.name == "" && d.arguments == "" {
		return // a place for a call, with none in it
	}
	if p == nil {
		p = b.open(llm.DeltaCall)
		p.index = d.index
		b.last = p
	}
	if p.id == "" {
		p.id = d.id
	}
	if p.name == "" && d.name != "" {
		p.name = d.name
		b.onDelta(llm.Delta{Kind: llm.DeltaCall, Part: p.at, Name: p.name})
	}
	if d.extra != "" {
		p.extra = d.extra
	}
	b.add(p, d.arguments)
}

// callOf returns the call that d continues, nil if d begins one. Vendors tell
// calls apart by index, by id, or only by sending each one whole; some number
// all of them 0.
func (b *builder) callOf(d callDelta) *part {
	for _, p := range slices.Backward(b.parts) {
		if p.kind != llm.DeltaCall {
			continue
		}
		switch {
		case d.index != "" && p.index == d.index:
			if d.name != "" && d.id != "" && p.id != "" && d.id != p.id {
				return nil
			}
			return p
		case d.index == "" && d.id != "" && p.id == d.id:
			return p
		}
	}
	if d.index == "" && d.name == "" {
		return b.last
	}
	return nil
}

// reply gives the finished reply. ended says that the vendor marked the end
// of it.
func (b *builder) reply(resp *wire.Response, ended bool) (*llm.Reply, error) {
	b.endContent()
	stop, err := b.stop(resp, ended)
	if err != nil {
		return nil, err
	}
	r := &llm.Reply{Stop: stop, Usage: b.usage, Model: b.answered, RequestID: b.requestID}
	if r.Model == "" {
		r.Model = b.model
	}
	if r.RequestID == "" {
		r.RequestID = b.id
	}
	ids := map[string]bool{}
	for _, p := range b.parts {
		switch p.kind {
		case llm.DeltaText:
			r.Parts = append(r.Parts, message.TextPart{Text: p.text.String()})
		case llm.DeltaThinking:
			r.Parts = append(r.Parts, b.thinkingPart(p))
		case llm.DeltaCall:
			if p.id == "" || ids[p.id] {
				p.id = "call_" + rand.Text()
			}
			ids[p.id] = true
			r.Parts = append(r.Parts, b.callPart(p, stop))
		}
	}
	return r, nil
}

func (b *builder) thinkingPart(p *part) message.Part {
	t := message.ThinkingPart{Text: p.text.String(), Signature: p.field, Provider: b.provider, Model: b.model}
	if p.detail != nil {
		t.Signature, t.Encrypted, t.ID = p.detail.envelope(), p.detail.data, p.detail.id
	}
	return t
}

// callPart gives the finished call. The last one of a reply that was cut may
// have lost its input, and must not pass for a call without any.
func (b *builder) callPart(p *part, stop llm.Stop) message.Part {
	c := message.ToolCall{ID: p.id, Name: p.name, Input: wire.Input([]byte(p.text.String()))}
	if stop == llm.StopLength && p == b.last && p.text.Len() == 0 {
		c.Input = wire.Input([]byte(`""`))
	}
	if p.extra != "" && json.Valid([]byte(p.extra)) {
		c.Signature, c.Provider, c.Model = p.extra, b.provider, b.model
	}
	return c
}

// stop says why the reply ended. Vendors' own words are taken for what they
// mean. A reason that is not known must not pass for success: it counts as a
// limit.
func (b *builder) stop(resp *wire.Response, ended bool) (llm.Stop, error) {
	stop := llm.StopLength
	switch strings.ToLower(b.finish) {
	case "": // some servers tell no reason
		if !ended || b.last == nil && (!b.settled || len(b.parts) == 0) {
			return "", resp.Cut()
		}
		stop = llm.StopEnd
	case "stop", "end", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed", "done",
		"tool_calls", "tool_call", "tool_use", "function_call":
		stop = llm.StopEnd
	case "length", "max_tokens", "model_length":
		return llm.StopLength, nil
	case "content_filter", "safety", "sensitive", "recitation", "blocklist", "prohibited_content":
		return llm.StopFilter, nil
	case "refusal":
		return llm.StopRefusal, nil
	case "error", "abort", "aborted", "network_error":
		return "", b.brokenOff(llm.ErrServer)
	case "insufficient_system_resource": // DeepSeek
		return "", b.brokenOff(llm.ErrOverloaded)
	}
	switch {
	case b.last != nil:
		return llm.StopTools, nil
	case b.refused:
		return llm.StopRefusal, nil
	}
	return stop, nil
}

func (b *builder) brokenOff(kind llm.ErrorKind) error {
	return &llm.Error{Kind: kind, Message: "the vendor broke the reply off: " + b.finish, RequestID: b.requestID}
}
