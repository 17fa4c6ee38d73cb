// Answers: streams of events, and whole messages.

package anthropic

import (
	"errors"
	"io"

	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// errShape says that an answer is JSON but not what the API promises.
var errShape = errors.New("the answer has another shape than the API promises")

// errSpliced says that a stream goes on with another message than it began with.
var errSpliced = errors.New("another message began before the first had ended")

// event is an event of the stream, its parts still text.
type event struct {
	kind                         []byte
	index                        int64
	delta, block, message, usage []byte
}

// readStream reads events up to message_stop. A stream that ends before it is
// an error, whatever had come.
func (b *builder) readStream(resp *wire.Response) error {
	for {
		ev, err := resp.Next()
		if errors.Is(err, io.EOF) {
			return resp.Cut()
		}
		if err != nil {
			return err
		}
		if len(ev.Data) == 0 {
			continue
		}
		e, err := parse(ev)
		if err != nil {
			return resp.Broken(err)
		}
		switch string(e.kind) {
		case "message_stop":
			return nil
		case "error":
			return resp.Fail(ev.Data)
		case "content_block_start", "content_block_stop":
			resp.Between()
		}
		if err := b.take(&e); err != nil {
			return resp.Broken(err)
		}
	}
}

// parse takes an event apart. The kind is told twice, and some proxies leave
// one of them out.
func parse(ev wire.Event) (event, error) {
	e := event{kind: ev.Name}
	walk := wire.Object(ev.Data)
	for walk.Next() {
		switch string(walk.Key) {
		case "type":
			e.kind = unquoted(walk.Value)
		case "index":
			e.index = wire.Int(walk.Value)
		case "delta":
			e.delta = walk.Value
		case "content_block":
			e.block = walk.Value
		case "message":
			e.message = walk.Value
		case "usage":
			e.usage = walk.Value
		}
	}
	return e, walk.Err()
}

// unquoted strips the quotes of a name, which contains no escapes.
func unquoted(value []byte) []byte {
	if len(value) >= 2 && value[0] == '"' {
		return value[1 : len(value)-1]
	}
	return nil
}

// take takes in an event. Unknown ones are passed over: the API may add some.
func (b *builder) take(e *event) error {
	switch string(e.kind) {
	case "content_block_delta":
		return b.takeDelta(e)
	case "content_block_start":
		return b.takeBlock(e.block, e.index)
	case "message_start":
		before := b.id
		if err := b.takeMessage(e.message); err != nil {
			return err
		}
		if before != "" && b.id != before { // a proxy has begun anew in the middle
			return errSpliced
		}
	case "message_delta":
		if err := b.takeStop(e.delta); err != nil {
			return err
		}
		return b.takeUsage(e.usage)
	}
	return nil
}

func (b *builder) takeDelta(e *event) error {
	bl := b.find(e.index)
	if bl == nil {
		return errShape
	}
	walk := wire.Object(e.delta)
	for walk.Next() {
		switch string(walk.Key) {
		case "text", "thinking", "partial_json":
			s, ok := wire.String(walk.Value)
			if !ok {
				return errShape
			}
			b.add(bl, s)
		case "signature":
			s, ok := wire.String(walk.Value)
			if !ok {
				return errShape
			}
			bl.signature += s
			if bl.kind == thinkingBlock && s != "" {
				b.number(bl)
			}
		}
	}
	return walk.Err()
}

// takeBlock begins a block, with whatever is in it already: all of it in a
// whole message, nothing as a rule in a stream.
func (b *builder) takeBlock(raw []byte, index int64) error {
	bl := &block{index: index}
	var text string
	ok := true
	set := func(field *string, value []byte) {
		s, fine := wire.String(value)
		*field, ok = s, ok && fine
	}
	walk := wire.Object(raw)
	for walk.Next() {
		switch string(walk.Key) {
		case "type":
			bl.kind = kindOf(unquoted(walk.Value))
		case "text", "thinking":
			set(&text, walk.Value)
		case "signature":
			set(&bl.signature, walk.Value)
		case "data":
			set(&bl.data, walk.Value)
		case "id":
			set(&bl.id, walk.Value)
		case "name":
			set(&bl.name, walk.Value)
		case "input":
			if len(walk.Value) > len("{}") {
				bl.input = append([]byte(nil), walk.Value...)
			}
		}
	}
	if err := walk.Err(); err != nil {
		return err
	}
	if !ok && bl.kind != unknownBlock {
		return errShape
	}
	b.add(b.open(bl), text)
	return nil
}

// takeMessage reads a message: an empty one that begins a stream, or a whole.
func (b *builder) takeMessage(raw []byte) error {
	var content []byte
	walk := wire.Object(raw)
	for walk.Next() {
		switch string(walk.Key) {
		case "id":
			b.id, _ = wire.String(walk.Value)
		case "model":
			b.answered, _ = wire.String(walk.Value)
		case "stop_reason":
			b.stop, _ = wire.String(walk.Value)
		case "usage":
			if err := b.takeUsage(walk.Value); err != nil {
				return err
			}
		case "content":
			content = walk.Value
		}
	}
	if err := walk.Err(); err != nil {
		return err
	}
	blocks := wire.Array(content)
	for i := int64(0); blocks.Next(); i++ {
		if err := b.takeBlock(blocks.Value, i); err != nil {
			return err
		}
	}
	return blocks.Err()
}

func (b *builder) takeStop(raw []byte) error {
	walk := wire.Object(raw)
	for walk.Next() {
		if s, _ := wire.String(walk.Value); string(walk.Key) == "stop_reason" && s != "" {
			b.stop = s
		}
	}
	return walk.Err()
}

// readWhole reads a message in one piece.
func (b *builder) readWhole(resp *wire.Response) error {
	body, err := resp.All()
	if err != nil {
		return err
	}
	walk := wire.Object(body)
	isMessage := false
	for walk.Next() {
		switch string(walk.Key) {
		case "error":
			if !wire.IsNull(walk.Value) {
				return resp.Fail(body)
			}
		case "content":
			isMessage = true
		}
	}
	if err := walk.Err(); err != nil {
		return resp.Broken(err)
	}
	if !isMessage {
		return resp.Broken(errShape)
	}
	if err := b.takeMessage(body); err != nil {
		return resp.Broken(err)
	}
	return nil
}
