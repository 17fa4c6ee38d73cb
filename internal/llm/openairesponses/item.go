// Reading output items: messages, reasoning, calls.

package openairesponses

import (
	"errors"
	"strconv"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// errShape says that a value is not what the format says it is.
var errShape = errors.New("a value has an unknown shape")

// item is an output item with the fields that some item has, as they are
// written.
type item struct {
	kind, id         string
	callID, name     []byte
	arguments        []byte
	content, summary []byte
	encrypted, phase []byte
}

// readItem takes an item in, when it begins or when it is done. One that is
// done may be told twice, by its own event and by the response's.
func (b *builder) readItem(number string, text []byte, done bool) error {
	var it item
	f := wire.Object(text)
	for f.Next() {
		switch string(f.Key) {
		case "type":
			it.kind, _ = wire.String(f.Value)
		case "id":
			it.id, _ = wire.String(f.Value)
		case "call_id":
			it.callID = f.Value
		case "name":
			it.name = f.Value
		case "arguments":
			it.arguments = f.Value
		case "content":
			it.content = f.Value
		case "summary":
			it.summary = f.Value
		case "encrypted_content":
			it.encrypted = f.Value
		case "phase":
			it.phase = f.Value
		}
	}
	if f.Err() != nil {
		return f.Err()
	}
	switch {
	case it.kind == "function_call":
		return b.readCall(number, &it)
	case !done: // its content is still to come
	case it.kind == "message":
		return b.readMessage(number, &it)
	case it.kind == "reasoning":
		return b.readReasoning(number, &it)
	}
	return nil
}

func (b *builder) readCall(number string, it *item) error {
	k := key{number, pieceCall, ""}
	p := b.open(k)
	if id, _ := wire.String(it.callID); id != "" {
		p.id = id
	}
	if name, _ := wire.String(it.name); name != "" && p.name == "" {
		p.name = name
		b.onDelta(llm.Delta{Kind: llm.DeltaCall, Part: p.at, Name: p.name})
	}
	arguments, ok := wire.String(it.arguments)
	if !ok { // some servers send the object itself
		arguments = string(it.arguments)
	}
	b.whole(k, arguments)
	return nil
}

// readMessage reads the texts of a message, and its phase.
func (b *builder) readMessage(number string, it *item) error {
	list := wire.Array(it.content)
	for i := 0; list.Next(); i++ {
		var kind string
		var text []byte
		f := wire.Object(list.Value)
		for f.Next() {
			switch string(f.Key) {
			case "type":
				kind, _ = wire.String(f.Value)
			case "text", "refusal":
				text = f.Value
			}
		}
		if f.Err() != nil {
			return f.Err()
		}
		b.refused = b.refused || kind == "refusal"
		if err := b.settle(key{number, pieceText, strconv.Itoa(i)}, text); err != nil {
			return err
		}
	}
	if phase, _ := wire.String(it.phase); phase != "" {
		b.open(key{number, pieceText, "phase"}).phase = phase
	}
	return list.Err()
}

// readReasoning reads the texts of reasoning, and what it goes back by, for
// which there is a part even if it has no text.
func (b *builder) readReasoning(number string, it *item) error {
	if err := b.settleTexts(number, pieceSummary, it.summary); err != nil {
		return err
	}
	if err := b.settleTexts(number, pieceContent, it.content); err != nil {
		return err
	}
	encrypted, _ := wire.String(it.encrypted)
	var first *part
	for _, p := range b.parts {
		if p.item != number || p.piece != pieceSummary && p.piece != pieceContent {
			continue
		}
		p.id = it.id
		if first == nil {
			first = p
		}
	}
	if encrypted == "" {
		return nil
	}
	if first == nil {
		first = b.open(key{number, pieceSummary, "0"})
		first.id = it.id
	}
	first.encrypted = encrypted
	return nil
}

func (b *builder) settleTexts(number string, p piece, texts []byte) error {
	list := wire.Array(texts)
	for i := 0; list.Next(); i++ {
		f := wire.Object(list.Value)
		for f.Next() {
			if string(f.Key) != "text" {
				continue
			}
			if err := b.settle(key{number, p, strconv.Itoa(i)}, f.Value); err != nil {
				return err
			}
		}
		if f.Err() != nil {
			return f.Err()
		}
	}
	return list.Err()
}
