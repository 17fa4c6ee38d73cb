// Putting a reply together from its pieces.

package openairesponses

import (
	"crypto/rand"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

// piece says what a piece of an item is.
type piece string

const (
	pieceText    piece = "text"    // of a message, refusals too
	pieceSummary piece = "summary" // of reasoning
	pieceContent piece = "content" // reasoning itself
	pieceCall    piece = "call"    // the arguments of a call
)

func (p piece) kind() llm.DeltaKind {
	switch p {
	case pieceSummary, pieceContent:
		return llm.DeltaThinking
	case pieceCall:
		return llm.DeltaCall
	case pieceText:
	}
	return llm.DeltaText
}

// key names a piece: the number of its item, what it is, and its number among
// those. The numbers are as they are written; a vendor without them has one
// piece of each sort.
type key struct {
	item  string
	piece piece
	index string
}

// builder collects a reply. Each piece is a part of it, in the order in which
// they began.
type builder struct {
	provider, model string
	onDelta         func(llm.Delta) // never nil
	boundary        bool            // the last event began or ended an item, between which the model reasons without a word

	parts []*part
	calls int

	id, requestID string // of the response, and of the request as the header tells
	answered      string // the model
	stop          llm.Stop
	refused       bool
	usage         message.Usage
	failure       []byte // the error that was reported
}

// part is a piece in the making.
type part struct {
	key
	at   int // its place among the parts
	text strings.Builder

	id        string // of a call: what pairs it with its result; of reasoning: its item's
	name      string // of a call
	encrypted string // of reasoning
	phase     string // set on a part that keeps nothing but the phase of a text
}

// find returns the part of k, nil if it has not begun.
func (b *builder) find(k key) *part {
	for i := len(b.parts) - 1; i >= 0; i-- { // it is nearly always the last
		if b.parts[i].key == k {
			return b.parts[i]
		}
	}
	return nil
}

// open returns the part of k, and begins it if need be.
func (b *builder) open(k key) *part {
	p := b.find(k)
	if p == nil {
		p = &part{key: k, at: len(b.parts)}
		b.parts = append(b.parts, p)
		if k.piece == pieceCall {
			b.calls++
		}
	}
	return p
}

// grow appends a delta.
func (b *builder) grow(k key, delta []byte) error {
	s, ok := wire.String(delta)
	if !ok {
		return errShape
	}
	if s != "" {
		b.add(b.open(k), s)
	}
	return nil
}

func (b *builder) add(p *part, s string) {
	p.text.WriteString(s)
	b.onDelta(llm.Delta{Kind: p.piece.kind(), Part: p.at, Text: s})
}

// settle takes in a piece as a whole, as it is written.
func (b *builder) settle(k key, text []byte) error {
	s, ok := wire.String(text)
	if !ok {
		return errShape
	}
	b.whole(k, s)
	return nil
}

// whole takes in a piece as a whole. Deltas have brought it already, or a part
// of it, or there were none.
func (b *builder) whole(k key, s string) {
	if s == "" {
		return
	}
	p := b.open(k)
	rest, goesOn := strings.CutPrefix(s, p.text.String())
	switch {
	case !goesOn: // what is told last counts
		p.text.Reset()
		p.text.WriteString(s)
	case rest != "":
		b.add(p, rest)
	}
}

// reply gives the finished reply.
func (b *builder) reply() *llm.Reply {
	r := &llm.Reply{Stop: b.stop, Usage: b.usage, Model: b.answered, RequestID: b.requestID}
	if r.Model == "" {
		r.Model = b.model
	}
	if r.RequestID == "" {
		r.RequestID = b.id
	}
	ids := map[string]bool{}
	for _, p := range b.parts {
		switch p.piece {
		case pieceText:
			if p.phase == "" {
				r.Parts = append(r.Parts, message.TextPart{Text: p.text.String()})
				continue
			}
			r.Parts = append(r.Parts, message.ThinkingPart{Signature: phasePrefix + p.phase, Provider: b.provider, Model: b.model})
		case pieceSummary, pieceContent:
			t := message.ThinkingPart{Text: p.text.String(), Encrypted: p.encrypted, ID: p.id, Provider: b.provider, Model: b.model}
			if p.piece == pieceContent {
				t.Signature = contentSignature
			}
			r.Parts = append(r.Parts, t)
		case pieceCall:
			if p.id == "" || ids[p.id] {
				p.id = "call_" + rand.Text()
			}
			ids[p.id] = true
			r.Parts = append(r.Parts, message.ToolCall{ID: p.id, Name: p.name, Input: b.input(p)})
		}
	}
	return r
}

// input gives the input of a call. The last part of a reply that was cut may
// have lost its input, and must not pass for a call without any.
func (b *builder) input(p *part) []byte {
	if b.stop == llm.StopLength && p.at == len(b.parts)-1 && p.text.Len() == 0 {
		return wire.Input([]byte(`""`))
	}
	return wire.Input([]byte(p.text.String()))
}
