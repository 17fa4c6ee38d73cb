// Playing: from a request to the reply the script has for it, streamed at the
// pace the script gives and failing where it says so.

package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// Take is what the script has to say to one request: the whole reply, known
// beforehand, and how it is delivered.
type Take struct {
	Reply llm.Reply

	delay, chunkDelay time.Duration
	chunk             int
	fault             *fault // nil if this try succeeds
}

// Call implements llm.Provider.
func (m *Model) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	take, err := m.Take(req)
	if err != nil {
		return nil, err
	}
	return take.Play(ctx, onDelta)
}

// Take finds what the script has for req. Its error is an *llm.Error: the
// script has nothing, or a template has no value.
func (m *Model) Take(req *llm.Request) (*Take, error) {
	block, groups, err := m.blockFor(req.Caller)
	if err != nil {
		return nil, err
	}
	in := inputOf(req.Messages)
	t, err := m.turnFor(block, req.Caller, in.turn, in)
	if err != nil {
		return nil, err
	}
	s := &scope{
		caller: callerFacts{
			agent: req.Caller.Agent, name: req.Caller.Name, role: req.Caller.Role,
			task: req.Caller.Task, depth: req.Caller.Depth, try: max(req.Caller.Try, 1),
		},
		turn: in.turn, user: in.user, results: in.results, groups: groups,
	}
	take := &Take{
		delay:      inherit(time.Duration(0), m.script.Defaults.Delay, t.Delay),
		chunk:      inherit(0, m.script.Defaults.Chunk, t.Chunk),
		chunkDelay: inherit(time.Duration(0), m.script.Defaults.ChunkDelay, t.ChunkDelay),
	}
	if t.Fault.strikes(req.Caller.Try) {
		take.fault = t.Fault
	}
	take.Reply, err = m.reply(t, s, req)
	if err != nil {
		line := t.node.GetToken().Position.Line
		return nil, m.missing("cannot play the turn at line %d for %s: %v", line, who(req.Caller), err)
	}
	return take, nil
}

// inherit returns the last of the settings that is set.
func inherit[T ~int | ~int64, S ~int | ~int64](zero T, settings ...*S) T {
	v := zero
	for _, s := range settings {
		if s != nil {
			v = T(*s)
		}
	}
	return v
}

// reply builds the reply of t.
func (m *Model) reply(t *turn, s *scope, req *llm.Request) (llm.Reply, error) {
	r := llm.Reply{Stop: llm.Stop(t.Stop), Model: m.script.Model}
	if r.Model == "" {
		r.Model = req.Model
	}
	if t.Thinking != nil {
		if text := template(*t.Thinking).expand(s); text != "" {
			r.Parts = append(r.Parts, message.ThinkingPart{Text: text, Provider: "scripted", Model: r.Model})
		}
	}
	if t.Text != nil {
		if text := template(*t.Text).expand(s); text != "" {
			r.Parts = append(r.Parts, message.TextPart{Text: text})
		}
	}
	calls, err := t.toolCalls(s)
	if err != nil {
		return llm.Reply{}, err
	}
	for _, c := range calls {
		r.Parts = append(r.Parts, c)
	}
	if r.Stop == "" {
		r.Stop = llm.StopEnd
		if len(calls) > 0 {
			r.Stop = llm.StopTools
		}
	}
	if t.Usage != nil {
		r.Usage = t.Usage.counts()
	} else {
		r.Usage = estimate(req, r.Parts)
	}
	return r, nil
}

// toolCalls expands the calls of t, those repeated into as many as they say.
func (t *turn) toolCalls(s *scope) ([]message.ToolCall, error) {
	var calls []message.ToolCall
	ids := map[string]bool{}
	add := func(c *call, input value, s *scope) error {
		tc := message.ToolCall{ID: fmt.Sprintf("call_%d_%d", s.turn, len(calls)+1), Name: c.Tool}
		if c.ID != nil {
			tc.ID = template(*c.ID).expand(s)
		}
		if ids[tc.ID] {
			return fmt.Errorf("two calls have the id %q", tc.ID)
		}
		ids[tc.ID] = true
		filled, err := input.fill(s)
		if err != nil {
			return fmt.Errorf("input of %s: %w", c.Tool, err)
		}
		var b bytes.Buffer
		filled.appendJSON(&b)
		tc.Input = json.RawMessage(b.Bytes())
		calls = append(calls, tc)
		return nil
	}
	for _, c := range t.Calls {
		input := c.Input
		input.kind = objectValue // an input not given is {}
		if c.Repeat == nil {
			if err := add(c, input, s); err != nil {
				return nil, err
			}
			continue
		}
		if c.Repeat.Key != "" {
			copies, err := c.Repeat.copies(s)
			if err != nil {
				return nil, fmt.Errorf("repeat of %s: %w", c.Tool, err)
			}
			if err := add(c, input.with(c.Repeat.Key, copies), s); err != nil {
				return nil, err
			}
			continue
		}
		for at := range c.Repeat.scopes(s) {
			if err := add(c, input, at); err != nil {
				return nil, err
			}
		}
	}
	return calls, nil
}

// copies are the repeated template, filled in.
func (r *repeat) copies(s *scope) ([]value, error) {
	var out []value
	for at := range r.scopes(s) {
		v, err := r.Template.fill(at)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// scopes gives s once for each value that i and item take.
func (r *repeat) scopes(s *scope) func(yield func(*scope) bool) {
	n, from := len(r.Each), 1
	if n == 0 {
		n = int(r.Count)
	}
	if r.From != nil {
		from = int(*r.From)
	}
	return func(yield func(*scope) bool) {
		for k := range n {
			at := *s
			at.i = from + k
			if len(r.Each) > 0 {
				at.item = r.Each[k]
			}
			if !yield(&at) {
				return
			}
		}
	}
}

// estimate counts four bytes to a token, and at least one token each way.
func estimate(req *llm.Request, parts []message.Part) message.Usage {
	in := len(req.System)
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range req.Messages {
		in += m.Size()
	}
	reply := message.Message{Parts: parts}
	u := message.Usage{Input: int64(max(in/4, 1)), Output: int64(max(reply.Size()/4, 1))}
	for _, p := range parts {
		if t, ok := p.(message.ThinkingPart); ok {
			u.Reasoning += int64(len(t.Text) / 4)
		}
	}
	return u
}

// Play delivers the take: chunk by chunk, at its pace, and failing as it
// should. It is what Call does, for those who need the reply beforehand.
func (t *Take) Play(ctx context.Context, onDelta func(llm.Delta)) (*llm.Reply, error) {
	if err := wait(ctx, t.delay); err != nil {
		return nil, err
	}
	deltas := t.deltas()
	end := len(deltas)
	if t.fault != nil {
		end = t.fault.chunksBefore(end)
	}
	for i, d := range deltas[:end] {
		if i > 0 {
			if err := wait(ctx, t.chunkDelay); err != nil {
				return nil, err
			}
		}
		if onDelta != nil {
			onDelta(d)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t.fault != nil {
		return nil, t.fault.strike(ctx)
	}
	reply := t.Reply
	return &reply, nil
}

// strike ends a take in its fault. A stall holds until the context ends or
// the idle limit is reached.
func (f *fault) strike(ctx context.Context) error {
	if f.Stall {
		if f.Idle == 0 {
			<-ctx.Done()
			return ctx.Err()
		}
		if err := wait(ctx, time.Duration(f.Idle)); err != nil {
			return err
		}
	}
	return f.err()
}

// shortChunk is the chunk of a reply that breaks off in the middle: if none is
// set it would come in one piece and have no middle.
const shortChunk = 8

// deltas cuts the reply into chunks.
func (t *Take) deltas() []llm.Delta {
	size := t.chunk
	if size == 0 && t.fault != nil {
		size = shortChunk
	}
	var out []llm.Delta
	for i, p := range t.Reply.Parts {
		d := llm.Delta{Part: i}
		var text string
		switch p := p.(type) {
		case message.TextPart:
			d.Kind, text = llm.DeltaText, p.Text
		case message.ThinkingPart:
			d.Kind, text = llm.DeltaThinking, p.Text
		case message.ToolCall:
			d.Kind, d.Name, text = llm.DeltaCall, p.Name, string(p.Input)
		case message.ImagePart, message.ToolResult: // no model says these
			continue
		}
		for k, piece := range chunks(text, size) {
			if k > 0 {
				d.Name = "" // only the first delta of a call names its tool
			}
			d.Text = piece
			out = append(out, d)
		}
	}
	return out
}

// chunks cuts s into pieces of size runes; all of it is one piece for size 0.
func chunks(s string, size int) []string {
	if size <= 0 {
		return []string{s}
	}
	var out []string
	start, runes := 0, 0
	for i := range s {
		if runes == size {
			out = append(out, s[start:i])
			start, runes = i, 0
		}
		runes++
	}
	return append(out, s[start:])
}

// wait lets d pass, unless ctx ends first.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
