// Reading the events of a stream, and whole responses, which are what the last
// event of a stream contains.

package openairesponses

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

var (
	// errReported says that an error is reported, which is in builder.failure.
	errReported = errors.New("the vendor reports an error")
	// errBrokenOff says that the vendor gave a reply up.
	errBrokenOff = errors.New("the vendor broke the reply off")
)

// event is an event with the fields that some event needs, as they are
// written.
type event struct {
	kind                            []byte
	output, content, summary        []byte // numbers of item and piece
	delta, text, refusal, arguments []byte
	item, response                  []byte
	failure                         []byte
}

// read takes an event in. Kinds and fields that are not known are passed over.
func (b *builder) read(ev wire.Event) error {
	var e event
	f := wire.Object(ev.Data)
	for f.Next() {
		switch string(f.Key) {
		case "type":
			e.kind = f.Value
		case "output_index":
			e.output = f.Value
		case "content_index":
			e.content = f.Value
		case "summary_index":
			e.summary = f.Value
		case "delta":
			e.delta = f.Value
		case "text":
			e.text = f.Value
		case "refusal":
			e.refusal = f.Value
		case "arguments":
			e.arguments = f.Value
		case "item":
			e.item = f.Value
		case "response":
			e.response = f.Value
		case "error":
			e.failure = f.Value
		}
	}
	if f.Err() != nil {
		return f.Err()
	}
	kind := ev.Name
	if len(e.kind) > 2 {
		kind = e.kind[1 : len(e.kind)-1]
	}
	if string(kind) == "error" || !wire.IsNull(e.failure) {
		b.failure = ev.Data
		return errReported
	}
	return b.dispatch(kind, &e, ev.Data)
}

func (b *builder) dispatch(kind []byte, e *event, all []byte) error {
	b.boundary = bytes.HasPrefix(kind, []byte("response.output_item."))
	switch string(kind) {
	case "response.output_text.delta":
		return b.grow(key{string(e.output), pieceText, string(e.content)}, e.delta)
	case "response.refusal.delta":
		b.refused = true
		return b.grow(key{string(e.output), pieceText, string(e.content)}, e.delta)
	case "response.reasoning_summary_text.delta":
		return b.grow(key{string(e.output), pieceSummary, string(e.summary)}, e.delta)
	case "response.reasoning_text.delta":
		return b.grow(key{string(e.output), pieceContent, string(e.content)}, e.delta)
	case "response.function_call_arguments.delta":
		return b.grow(key{string(e.output), pieceCall, ""}, e.delta)
	case "response.output_text.done":
		return b.settle(key{string(e.output), pieceText, string(e.content)}, e.text)
	case "response.refusal.done":
		return b.settle(key{string(e.output), pieceText, string(e.content)}, e.refusal)
	case "response.reasoning_summary_text.done":
		return b.settle(key{string(e.output), pieceSummary, string(e.summary)}, e.text)
	case "response.reasoning_text.done":
		return b.settle(key{string(e.output), pieceContent, string(e.content)}, e.text)
	case "response.function_call_arguments.done":
		return b.settle(key{string(e.output), pieceCall, ""}, e.arguments)
	case "response.output_item.added":
		return b.readItem(string(e.output), e.item, false)
	case "response.output_item.done":
		return b.readItem(string(e.output), e.item, true)
	case "response.created", "response.in_progress", "response.queued":
		return b.readIdentity(e.response)
	case "response.completed":
		return b.readResponse(e.response, "completed")
	case "response.incomplete":
		return b.readResponse(e.response, "incomplete")
	case "response.failed":
		b.failure = all
		for f := wire.Object(e.response); f.Next(); {
			if string(f.Key) == "usage" && !wire.IsNull(f.Value) {
				if err := b.readUsage(f.Value); err != nil {
					return err
				}
			}
		}
		return errReported
	}
	return nil
}

// readIdentity reads what a response that has just begun tells of itself.
func (b *builder) readIdentity(text []byte) error {
	f := wire.Object(text)
	for f.Next() {
		switch string(f.Key) {
		case "id":
			b.id, _ = wire.String(f.Value)
		case "model":
			b.answered, _ = wire.String(f.Value)
		}
	}
	return f.Err()
}

// readResponse reads a response that has ended. Its output is read too: not
// every server has sent all of it before. status is how the event calls the
// end, and counts where the response itself does not say.
func (b *builder) readResponse(text []byte, status string) error {
	if err := b.readIdentity(text); err != nil {
		return err
	}
	var output, incomplete []byte
	f := wire.Object(text)
	for f.Next() {
		var err error
		switch string(f.Key) {
		case "status":
			if s, _ := wire.String(f.Value); s != "" {
				status = s
			}
		case "output":
			output = f.Value
		case "incomplete_details":
			incomplete = f.Value
		case "usage":
			err = b.readUsage(f.Value)
		case "error":
			if !wire.IsNull(f.Value) {
				b.failure = text
				return errReported
			}
		}
		if err != nil {
			return err
		}
	}
	if f.Err() != nil {
		return f.Err()
	}
	list := wire.Array(output)
	for i := 0; list.Next(); i++ {
		if err := b.readItem(fmt.Sprint(i), list.Value, true); err != nil {
			return err
		}
	}
	if list.Err() != nil {
		return list.Err()
	}
	return b.end(status, incomplete)
}

// end notes why the reply has ended.
func (b *builder) end(status string, incomplete []byte) error {
	switch status {
	case "completed", "complete":
		switch {
		case b.calls > 0:
			b.stop = llm.StopTools
		case b.refused:
			b.stop = llm.StopRefusal
		default:
			b.stop = llm.StopEnd
		}
		return nil
	case "incomplete":
		var reason string
		for f := wire.Object(incomplete); f.Next(); {
			if string(f.Key) == "reason" {
				reason, _ = wire.String(f.Value)
			}
		}
		switch reason {
		case "max_output_tokens", "max_tokens", "length":
			b.stop = llm.StopLength
			return nil
		case "content_filter":
			b.stop = llm.StopFilter
			return nil
		}
		return fmt.Errorf("%w: it is incomplete (%s)", errBrokenOff, reason)
	case "cancelled", "failed":
		return fmt.Errorf("%w: it is %s", errBrokenOff, status)
	}
	return fmt.Errorf("a response with the status %q has not ended", status)
}

func (b *builder) readUsage(text []byte) error {
	var cached, written int64
	u := wire.Object(text)
	for u.Next() {
		switch string(u.Key) {
		case "input_tokens":
			b.usage.Input = wire.Int(u.Value)
		case "output_tokens":
			b.usage.Output = wire.Int(u.Value)
		case "input_tokens_details":
			for d := wire.Object(u.Value); d.Next(); {
				switch string(d.Key) {
				case "cached_tokens":
					cached = wire.Int(d.Value)
				case "cache_write_tokens":
					written = wire.Int(d.Value)
				}
			}
		case "output_tokens_details":
			for d := wire.Object(u.Value); d.Next(); {
				if string(d.Key) == "reasoning_tokens" {
					b.usage.Reasoning = wire.Int(d.Value)
				}
			}
		}
	}
	b.usage.CacheRead, b.usage.CacheWrite = cached, written
	if cached+written <= b.usage.Input { // as documented: they are part of it
		b.usage.Input -= cached + written
	}
	return u.Err()
}
