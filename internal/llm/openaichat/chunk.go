// Reading chunks of a stream, and whole answers, which differ from a chunk
// only in that their delta is called message.

package openaichat

import (
	"errors"

	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// errReported says that a chunk reports an error, which is in builder.failure.
var errReported = errors.New("the vendor reports an error")

// take takes a chunk in; its errors are those of the contract.
func (b *builder) take(resp *wire.Response, text []byte) error {
	ended := b.finish != ""
	err := b.read(text)
	switch {
	case errors.Is(err, errReported):
		return resp.Fail(b.failure)
	case err != nil && ended:
		return nil // what follows the end cannot spoil it
	case err != nil:
		return resp.Broken(err)
	}
	return nil
}

// read takes a chunk in.
func (b *builder) read(text []byte) error {
	says, counts := true, false
	c := wire.Object(text)
	for c.Next() {
		var err error
		switch string(c.Key) {
		case "choices":
			says = wire.Array(c.Value).Next()
			err = b.readChoices(c.Value)
		case "usage":
			counts = !wire.IsNull(c.Value)
			err = b.readUsage(c.Value)
		case "x_groq":
			err = b.readGroq(c.Value)
		case "id":
			keep(&b.id, c.Value)
		case "model":
			keep(&b.answered, c.Value)
		case "error":
			err = b.report(c.Value, text)
		case "object":
			if string(c.Value) == `"error"` { // vLLM, Mistral
				err = b.report(text, text)
			}
		}
		if err != nil {
			return err
		}
	}
	b.settled = b.settled || counts && !says
	return c.Err()
}

// keep stores a string that all chunks repeat; only the first is allocated.
func keep(to *string, value []byte) {
	if *to == "" {
		*to, _ = wire.String(value)
	}
}

// report notes an error object and the chunk it stands in.
func (b *builder) report(object, chunk []byte) error {
	if wire.IsNull(object) {
		return nil
	}
	b.failure = chunk
	return errReported
}

func (b *builder) readUsage(text []byte) error {
	if wire.IsNull(text) {
		return nil
	}
	u, err := usageOf(text)
	if err == nil {
		b.usage = u
	}
	return err
}

func (b *builder) readGroq(text []byte) error {
	x := wire.Object(text)
	for x.Next() {
		if string(x.Key) == "usage" {
			if err := b.readUsage(x.Value); err != nil {
				return err
			}
		}
	}
	return x.Err()
}

// readChoices reads the first choice, which is the only one ever asked for.
func (b *builder) readChoices(text []byte) error {
	choices := wire.Array(text)
	if !choices.Next() {
		return choices.Err()
	}
	choice := wire.Object(choices.Value)
	for choice.Next() {
		var err error
		switch string(choice.Key) {
		case "delta", "message":
			err = b.readDelta(choice.Value)
		case "finish_reason":
			if s, _ := wire.String(choice.Value); s != "" {
				b.finish = s
			}
		case "usage": // Moonshot
			err = b.readUsage(choice.Value)
		case "error": // OpenRouter
			err = b.report(choice.Value, choices.Value)
		}
		if err != nil {
			return err
		}
	}
	return choice.Err()
}

// readDelta takes a delta in. Its fields are read first and added after, as
// reasoning comes before text, and text before calls, whatever their order in
// the object.
func (b *builder) readDelta(text []byte) error {
	var content, refusal, plain, details, calls, function []byte
	field := fieldContent
	d := wire.Object(text)
	for d.Next() {
		if wire.IsNull(d.Value) {
			continue
		}
		switch string(d.Key) {
		case "content":
			content = d.Value
		case "refusal":
			refusal = d.Value
		case fieldContent:
			if len(d.Value) > len(plain) { // who sends both sends the same
				plain, field = d.Value, fieldContent
			}
		case fieldReasoning:
			if len(d.Value) > len(plain) {
				plain, field = d.Value, fieldReasoning
			}
		case "reasoning_details":
			details = d.Value
		case "tool_calls":
			calls = d.Value
		case "function_call":
			function = d.Value
		}
	}
	if d.Err() != nil {
		return d.Err()
	}
	hasText, err := b.addDetails(details)
	if err != nil {
		return err
	}
	if s, ok := wire.String(plain); ok && !hasText {
		b.addThinking(s, field)
	}
	if err := b.readContent(content); err != nil {
		return err
	}
	if s, _ := wire.String(refusal); s != "" {
		b.refused = true
		b.addText(s)
	}
	if err := b.readCalls(calls); err != nil {
		return err
	}
	if function != nil { // the format before there were several calls
		return b.readFunction(function, callDelta{index: "function_call"})
	}
	return nil
}

// readContent reads a text, or a list of texts and thoughts, as Mistral sends
// it.
func (b *builder) readContent(text []byte) error {
	if s, ok := wire.String(text); ok {
		b.addContent(s)
		return nil
	}
	items := wire.Array(text)
	for items.Next() {
		if s, ok := wire.String(items.Value); ok {
			b.addText(s)
			continue
		}
		if err := b.readContentPart(items.Value); err != nil {
			return err
		}
	}
	return items.Err()
}

func (b *builder) readContentPart(text []byte) error {
	p := wire.Object(text)
	for p.Next() {
		s, ok := wire.String(p.Value)
		switch string(p.Key) {
		case "text":
			b.addText(s)
		case "refusal":
			b.refused = b.refused || s != ""
			b.addText(s)
		case "thinking":
			if ok {
				b.addThinking(s, fieldThinking)
				continue
			}
			if err := b.readThoughts(p.Value); err != nil {
				return err
			}
		}
	}
	return p.Err()
}

func (b *builder) readThoughts(text []byte) error {
	items := wire.Array(text)
	for items.Next() {
		t := wire.Object(items.Value)
		for t.Next() {
			if string(t.Key) == "text" {
				s, _ := wire.String(t.Value)
				b.addThinking(s, fieldThinking)
			}
		}
		if t.Err() != nil {
			return t.Err()
		}
	}
	return items.Err()
}

func (b *builder) readCalls(text []byte) error {
	items := wire.Array(text)
	for items.Next() {
		var d callDelta
		var function []byte
		c := wire.Object(items.Value)
		for c.Next() {
			if wire.IsNull(c.Value) {
				continue
			}
			switch string(c.Key) {
			case "index":
				d.index = string(c.Value)
			case "id":
				d.id, _ = wire.String(c.Value)
			case "function":
				function = c.Value
			case "extra_content":
				d.extra = string(c.Value)
			}
		}
		if c.Err() != nil {
			return c.Err()
		}
		if err := b.readFunction(function, d); err != nil {
			return err
		}
	}
	return items.Err()
}

// readFunction reads name and arguments into d, and adds it. Arguments are a
// text, or with some vendors the object itself.
func (b *builder) readFunction(text []byte, d callDelta) error {
	f := wire.Object(text)
	for f.Next() {
		switch string(f.Key) {
		case "name":
			d.name, _ = wire.String(f.Value)
		case "arguments":
			s, ok := wire.String(f.Value)
			if !ok {
				s = string(f.Value)
			}
			d.arguments = s
		}
	}
	if f.Err() != nil {
		return f.Err()
	}
	b.addCall(d)
	return nil
}
