// The ledger of the history: every position filled once, every tool call
// answered once, every user message placed once and in order.

package agenttest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
)

// rank is the order of what goes into a turn.
type rank int

const (
	aReply rank = iota
	aResult
	lateResults
	aNote
	fromUser
)

type history struct {
	filled map[int]rank
	user   int      // where the newest user message stands
	reply  int      // where the last reply with calls stands
	open   []string // the provider's ids of its calls, "" once answered
	queue  []string // user messages taken in and not placed
	seen   map[string]bool
	sent   agent.View   // what the model is sent
	input  map[int]rank // of the turn that comes next
}

func (h *history) follow(ev agent.Event, fx []agent.Effect, after agent.State) error {
	if h.filled == nil {
		h.filled, h.seen, h.input = map[int]rank{}, map[string]bool{}, map[int]rank{}
	}
	message, sent := ev.(agent.UserMessage)
	for _, f := range fx {
		var err error
		switch f := any(f).(type) {
		case agent.AddMessage:
			err = h.add(ev, f)
		case agent.AddResults:
			err = h.addResults(f)
		case agent.RepeatResult:
			err = h.answer(f.Pos, f.Call, f.CallID)
		case agent.AddWaiting:
			err = h.fill(f.Pos, aNote)
		case agent.Adopt:
			err = h.adopt(ev, f)
		case agent.Enqueue:
			if !sent || f.ID != message.ID || h.seen[f.ID] {
				err = fmt.Errorf("message %s was queued by %s", f.ID, agent.EventType(ev))
			}
			sent = false
			h.seen[f.ID] = true
			h.queue = append(h.queue, f.ID)
		case agent.Place:
			if len(h.queue) == 0 || h.queue[0] != f.ID {
				return fmt.Errorf("message %s was placed, queued are %v", f.ID, h.queue)
			}
			h.queue = h.queue[1:]
			h.user = f.Pos
			err = h.fill(f.Pos, fromUser)
		case agent.OpenCall:
			if f.Call != len(h.open) {
				err = fmt.Errorf("call %d was opened after %d", f.Call, len(h.open))
			}
			h.open = append(h.open, f.ID)
		case agent.CallModel:
			err = h.complete(f.Try == 1, after)
		case agent.Compact:
			err = h.complete(false, after)
		case agent.Done:
			h.input = map[int]rank{}
			if r := f.Outcome.Result; !r.None() && r.From <= h.user && !in[agent.Thinking](after) {
				err = fmt.Errorf("what was said at %d is no answer to the message at %d", r.From, h.user)
			}
		}
		if err != nil {
			return err
		}
	}
	if sent {
		return fmt.Errorf("message %s was lost", message.ID)
	}
	if err := h.view(ev, fx, after); err != nil {
		return err
	}
	if !slices.Equal(h.queue, after.Queue) {
		return fmt.Errorf("queued are %v, not %v", after.Queue, h.queue)
	}
	return nil
}

func (h *history) fill(pos int, r rank) error {
	if _, ok := h.filled[pos]; ok || pos < 0 {
		return fmt.Errorf("position %d was filled twice", pos)
	}
	h.filled[pos] = r
	h.input[pos] = r
	return nil
}

func (h *history) add(ev agent.Event, f agent.AddMessage) error {
	if f.Call >= 0 {
		for _, p := range f.Body.Parts {
			if r, ok := p.(message.ToolResult); ok {
				return h.answer(f.Pos, f.Call, r.CallID)
			}
		}
		return fmt.Errorf("the result of call %d has no result", f.Call)
	}
	if _, ok := ev.(agent.ModelReplied); ok && f.Body.Kind != message.KindNote {
		if slices.ContainsFunc(h.open, func(id string) bool { return id != "" }) {
			return errors.New("a reply while calls are open")
		}
		h.reply, h.open = f.Pos, nil
		h.input = map[int]rank{}
		return h.fill(f.Pos, aReply)
	}
	if f.Body.Kind == message.KindTask {
		if born := ev.(agent.Created); f.Pos != born.Prior || len(h.filled) != born.Prior {
			return fmt.Errorf("the task stands at %d behind %d messages taken over, not %d", f.Pos, len(h.filled), born.Prior)
		}
		return h.fill(f.Pos, aReply)
	}
	if born, ok := ev.(agent.Created); ok && born.Spec.ToolRun() {
		h.reply, h.open = f.Pos, nil
		return h.fill(f.Pos, aReply)
	}
	err := h.fill(f.Pos, aNote)
	if _, ok := ev.(agent.Compacted); ok {
		delete(h.input, f.Pos) // a summary is sent first, wherever it stands
	}
	return err
}

// adopt takes the beginning of another history over, before anything else.
func (h *history) adopt(ev agent.Event, f agent.Adopt) error {
	born, ok := ev.(agent.Created)
	if !ok || f.Count != born.Prior || f.From != born.Spec.Adopts || len(h.filled) > 0 {
		return fmt.Errorf("%d messages of %s were taken over by %s", f.Count, f.From, agent.EventType(ev))
	}
	for pos := range f.Count {
		h.filled[pos] = aReply
	}
	return nil
}

func (h *history) addResults(f agent.AddResults) error {
	if f.Call >= 0 {
		return h.answer(f.Pos, f.Call, f.CallID)
	}
	for _, r := range h.input {
		if r == lateResults {
			return errors.New("late results in two messages")
		}
	}
	return h.fill(f.Pos, lateResults)
}

// answer gives a call its result, at the place that was kept for it.
func (h *history) answer(pos, call int, id string) error {
	switch {
	case call >= len(h.open) || h.open[call] != id || id == "":
		return fmt.Errorf("call %d (%s) was answered, open are %q", call, id, h.open)
	case pos != h.reply+1+call:
		return fmt.Errorf("the result of call %d is at %d, its reply at %d", call, pos, h.reply)
	}
	h.open[call] = ""
	return h.fill(pos, aResult)
}

// complete holds before each model call: no gap, no open call, and the input
// of a new turn in its order.
func (h *history) complete(newTurn bool, after agent.State) error {
	if len(h.filled) != after.Pos {
		return fmt.Errorf("%d of %d positions are filled", len(h.filled), after.Pos)
	}
	for _, id := range h.open {
		if id != "" {
			return fmt.Errorf("call %s has no result", id)
		}
	}
	if !newTurn {
		return nil
	}
	last := aReply
	for pos := range after.Pos {
		r, ok := h.input[pos]
		if !ok {
			continue
		}
		if r < last {
			return fmt.Errorf("position %d of the input is out of order: %v", pos, h.input)
		}
		last = r
	}
	h.input = map[int]rank{}
	return nil
}

// view holds that what a model is sent changes by compaction only, and that a
// summary stands where the state says.
func (h *history) view(ev agent.Event, fx []agent.Effect, after agent.State) error {
	c, ok := ev.(agent.Compacted)
	if !ok || !c.OK {
		if after.View != h.sent {
			return fmt.Errorf("the view changed from %v to %v", h.sent, after.View)
		}
		return nil
	}
	want := c.View
	if c.Summary {
		for _, f := range fx {
			if a, ok := f.(agent.AddMessage); ok {
				want.Summary = a.Pos
				break // what ends the agent may add more
			}
		}
		if want.Summary == 0 {
			return errors.New("the summary has no place")
		}
	}
	if after.View != want {
		return fmt.Errorf("the view is %v, not %v", after.View, want)
	}
	h.sent = want
	return nil
}
