// Answers: streams of chunks, and whole ones, which are a single chunk.

package gemini

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// errShape says that an answer is JSON but not what the API promises.
var errShape = errors.New("the answer has another shape than the API promises")

// epilogue is how long the stream may be silent after the model has finished:
// all that can still come is a count of tokens.
const epilogue = 5 * time.Second

// readStream reads chunks up to the end of the stream: the one that tells why
// the model finished need not be the last. A stream that ends without it is
// cut; one that breaks after it is a whole reply all the same.
func (b *builder) readStream(ctx context.Context, resp *wire.Response) error {
	for {
		ev, err := resp.Next()
		switch {
		case err != nil && b.ended() && ctx.Err() == nil:
			return nil
		case errors.Is(err, io.EOF):
			return resp.Cut()
		case err != nil:
			return err
		case len(ev.Data) == 0:
			continue
		}
		if err := b.takeChunk(resp, ev.Data); err != nil {
			return err
		}
		if b.ended() {
			resp.SetIdle(epilogue)
		}
	}
}

// readWhole reads an answer in one piece, or an array of chunks, which is how
// a server streams that was not asked for events.
func (b *builder) readWhole(resp *wire.Response) error {
	body, err := resp.All()
	if err != nil {
		return err
	}
	if body = bytes.TrimSpace(body); len(body) == 0 || body[0] != '[' {
		err = b.takeChunk(resp, body)
	} else {
		walk := wire.Array(body)
		for err == nil && walk.Next() {
			err = b.takeChunk(resp, walk.Value)
		}
		if err == nil && walk.Err() != nil {
			err = resp.Broken(walk.Err())
		}
	}
	if err == nil && !b.ended() {
		err = resp.Cut()
	}
	return err
}

// takeChunk takes in a chunk. Its errors are those of the contract.
func (b *builder) takeChunk(resp *wire.Response, data []byte) error {
	walk := wire.Object(data)
	for walk.Next() {
		var err error
		switch string(walk.Key) {
		case "candidates":
			err = b.takeCandidates(walk.Value)
		case "usageMetadata":
			err = b.takeUsage(walk.Value)
		case "promptFeedback":
			err = b.takeFeedback(walk.Value)
		case "modelVersion":
			if b.answered == "" {
				b.answered, _ = wire.String(walk.Value)
			}
		case "responseId":
			if b.id == "" {
				b.id, _ = wire.String(walk.Value)
			}
		case "error":
			if !wire.IsNull(walk.Value) {
				return resp.Fail(data)
			}
		}
		if err != nil {
			return resp.Broken(err)
		}
	}
	if err := walk.Err(); err != nil {
		return resp.Broken(err)
	}
	return nil
}

// takeCandidates takes the first candidate; no more are asked for.
func (b *builder) takeCandidates(raw []byte) error {
	list := wire.Array(raw)
	if !list.Next() {
		return list.Err()
	}
	walk := wire.Object(list.Value)
	for walk.Next() {
		var ok bool
		switch string(walk.Key) {
		case "content":
			if err := b.takeContent(walk.Value); err != nil {
				return err
			}
		case "finishReason":
			if b.finish, ok = wire.String(walk.Value); !ok {
				return errShape
			}
		case "finishMessage":
			b.why, _ = wire.String(walk.Value)
		}
	}
	return walk.Err()
}

func (b *builder) takeContent(raw []byte) error {
	content := wire.Object(raw)
	for content.Next() {
		if string(content.Key) != "parts" {
			continue
		}
		parts := wire.Array(content.Value)
		for parts.Next() {
			if err := b.takePart(parts.Value); err != nil {
				return err
			}
		}
		if err := parts.Err(); err != nil {
			return err
		}
	}
	return content.Err()
}

// takePart takes in a part. Kinds that are not asked for, as code that the
// vendor ran, are passed over.
func (b *builder) takePart(raw []byte) error {
	var text, signature string
	var call []byte
	kind, said, ok := textPart, false, true
	walk := wire.Object(raw)
	for walk.Next() {
		fine := true
		switch string(walk.Key) {
		case "text":
			text, fine = wire.String(walk.Value)
			said = true
		case "thoughtSignature":
			signature, fine = wire.String(walk.Value)
		case "thought":
			if string(walk.Value) == "true" {
				kind = thoughtPart
			}
		case "functionCall":
			call = walk.Value
		}
		ok = ok && fine
	}
	if err := walk.Err(); err != nil {
		return err
	}
	if !ok {
		return errShape
	}
	switch {
	case call != nil:
		return b.takeCall(call, signature)
	case said:
		b.say(kind, text, signature)
	}
	return nil
}

func (b *builder) takeCall(raw []byte, signature string) error {
	p := &part{signature: signature}
	ok := true
	walk := wire.Object(raw)
	for walk.Next() {
		fine := true
		switch string(walk.Key) {
		case "id":
			p.id, fine = wire.String(walk.Value)
		case "name":
			p.name, fine = wire.String(walk.Value)
		case "args":
			if !wire.IsNull(walk.Value) {
				p.input = bytes.Clone(walk.Value)
			}
		}
		ok = ok && fine
	}
	if err := walk.Err(); err != nil {
		return err
	}
	if !ok || p.name == "" {
		return errShape
	}
	b.call(p)
	return nil
}

func (b *builder) takeFeedback(raw []byte) error {
	walk := wire.Object(raw)
	for walk.Next() {
		switch string(walk.Key) {
		case "blockReason":
			b.blocked, _ = wire.String(walk.Value)
		case "blockReasonMessage":
			b.why, _ = wire.String(walk.Value)
		}
	}
	return walk.Err()
}

// takeUsage reads counts of tokens, which are of the whole reply so far. The
// vendor counts cached tokens among those of the prompt, and thoughts beside
// those of the answer.
func (b *builder) takeUsage(raw []byte) error {
	var prompt, cached, tools, answer, thoughts int64
	walk := wire.Object(raw)
	for walk.Next() {
		switch string(walk.Key) {
		case "promptTokenCount":
			prompt = wire.Int(walk.Value)
		case "cachedContentTokenCount":
			cached = wire.Int(walk.Value)
		case "toolUsePromptTokenCount":
			tools = wire.Int(walk.Value)
		case "candidatesTokenCount":
			answer = wire.Int(walk.Value)
		case "thoughtsTokenCount":
			thoughts = wire.Int(walk.Value)
		}
	}
	if prompt > 0 {
		b.usage.Input, b.usage.CacheRead = max(prompt-cached, 0)+tools, cached
	}
	if answer+thoughts > 0 {
		b.usage.Output, b.usage.Reasoning = answer+thoughts, thoughts
	}
	return walk.Err()
}
