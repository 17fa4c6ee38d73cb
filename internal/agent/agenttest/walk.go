// Random lives of one agent. Most events are what could really happen next,
// so that walks go deep; the rest are early, late, doubled or nonsense.

package agenttest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
)

// Dice is where a walk takes its decisions from. Small numbers stand for the
// simpler events, so that a source that shrinks finds simple counterexamples.
type Dice interface {
	Intn(n int) int // 0 <= Intn(n) < n
}

// Walker leads one agent through a random life.
type Walker struct {
	Trace *Trace
	Dice  Dice
	Now   int64

	// Honest leaves the nonsense away, and the ends of children too: in a Tree
	// they are real.
	Honest bool

	sent  int                  // user messages
	lent  map[int]agent.Amount // what children were given beyond their budgets
	stuck bool                 // its model makes the same call again and again
}

// Next makes the next event.
func (w *Walker) Next() agent.Event {
	w.Now += []int64{0, 1, 40, 900, 5}[w.Dice.Intn(5)]
	if w.Dice.Intn(25) == 24 {
		w.Now += 20_000
	}
	if !w.Honest && w.Dice.Intn(6) == 5 {
		return w.wild()
	}
	return w.plausible()
}

// plausible makes an event that can really happen now.
func (w *Walker) plausible() agent.Event {
	s := w.Trace.State
	if ev := w.rare(); ev != nil {
		return ev
	}
	var options []func() agent.Event
	add := func(weight int, f func() agent.Event) {
		for range weight {
			options = append(options, f)
		}
	}
	for _, f := range s.Outstanding() {
		weight := 4
		if r, ok := f.(agent.RunTool); ok && w.Trace.talks.paused[toolKey(r.Turn, r.Call)] != "" {
			weight = 1 // mostly it waits for its answer
		}
		add(weight, func() agent.Event { return w.outcome(f) })
	}
	for _, item := range slices.Sorted(maps.Keys(w.Trace.inbox.open)) {
		add(2, func() agent.Event { return w.answer(item) })
	}
	if live := w.Trace.family.alive; len(live) > 0 && !w.Honest {
		add(2, func() agent.Event { return w.childEnds(live[w.Dice.Intn(len(live))]) })
		add(1, func() agent.Event { return w.extended(live[w.Dice.Intn(len(live))]) })
	}
	if s.Spec.Orchestrator() && !w.Honest {
		add(1, w.taskAsks)
	}
	if s.Deadline() > 0 {
		add(1, w.tick)
	}
	if _, idle := s.Phase.(agent.Idle); idle && s.Spec.Orchestrator() {
		add(4, w.message)
	}
	add(1, w.message)
	return options[w.Dice.Intn(len(options))]()
}

// rare makes the events that would end a life too early if they were common;
// nil most of the time.
func (w *Walker) rare() agent.Event {
	s := w.Trace.State
	likely := 100
	if s.LiveChildren() > 0 {
		likely = 65 // a cancel that has to wait for somebody
	}
	switch w.Dice.Intn(likely) {
	case 59:
		return w.cancel()
	case 58, 57:
		return agent.Recovered{At: w.at(), SoFar: soFar}
	case 56:
		return agent.Charged{At: w.at(), Spent: agent.Amount{Tokens: int64(w.Dice.Intn(50))}, Priced: true}
	case 55:
		if t, ok := s.Phase.(agent.Thinking); ok {
			return agent.ModelQueued{At: w.at(), Turn: s.Turn, Try: t.Try, Why: "rate_limit", Until: w.Now + 5000}
		}
	case 54:
		return agent.Migrated{At: w.at(), Spec: s.Spec, State: s}
	}
	return nil
}

func (w *Walker) at() agent.At { return agent.At(w.Now) }

func (w *Walker) tick() agent.Event {
	w.Now = max(w.Now, w.Trace.State.Deadline())
	return agent.Tick{At: w.at()}
}

func (w *Walker) message() agent.Event {
	w.sent++
	id := fmt.Sprintf("u%d", w.sent)
	ev := agent.UserMessage{At: w.at(), ID: id, Tokens: int64(w.Dice.Intn(60)), Body: message.Of(message.User, message.KindUser, id)}
	if w.Trace.State.Spec.Orchestrator() && w.Dice.Intn(4) == 3 {
		c := choice(w.Dice)
		ev.Choice = &c
	}
	return ev
}

// soFar is what the tool of a first call has printed.
var soFar = agent.SoFar{Tokens: 3, Output: map[int]string{0: "so far this"}}

func (w *Walker) cancel() agent.Event {
	reasons := []agent.Reason{agent.ReasonCancelled, agent.ReasonTimeout, agent.ReasonSuperseded, agent.ReasonBudget, agent.ReasonInterrupted}
	ev := agent.Cancel{At: w.at(), Reason: reasons[w.Dice.Intn(len(reasons))], Force: w.Dice.Intn(4) == 3}
	if w.Trace.State.Spec.ToolRun() && w.Dice.Intn(2) == 1 {
		ev.Printed = true
	}
	if ev.Printed || w.Dice.Intn(2) == 1 {
		ev.SoFar = soFar
	}
	return ev
}

func (w *Walker) childEnds(task int) agent.Event {
	reasons := []agent.Reason{agent.ReasonCompleted, agent.ReasonCompleted, agent.ReasonFailed, agent.ReasonPartial, agent.ReasonCancelled, agent.ReasonMaxTurns}
	held := w.held(task)
	e := agent.ChildEnded{At: w.at(), Task: task, Reason: reasons[w.Dice.Intn(len(reasons))], Held: held, Tokens: int64(w.Dice.Intn(40))}
	e.Spent.Tokens = int64(w.Dice.Intn(int(held.Tokens) + 20))
	if held.Cost > 0 {
		e.Spent.Cost = int64(w.Dice.Intn(int(held.Cost) + 5))
	}
	return e
}

// held is what a child returns when it ends: its budget, and what it was given
// beyond that.
func (w *Walker) held(task int) agent.Amount { return w.Trace.family.budget[task].Add(w.lent[task]) }

func (w *Walker) extended(task int) agent.Event {
	if w.lent == nil {
		w.lent = map[int]agent.Amount{}
	}
	more := w.Trace.family.budget[task]
	w.lent[task] = w.lent[task].Add(more)
	return agent.Extended{At: w.at(), Amount: more}
}

func (w *Walker) taskAsks() agent.Event {
	e := agent.TaskAsks{At: w.at(), Item: fmt.Sprintf("chat.%d-i1", 1+w.Dice.Intn(4))}
	e.Over = slices.Contains(w.Trace.State.Waiting, e.Item) && w.Dice.Intn(4) > 0
	if w.Dice.Intn(4) == 3 {
		e.Over, e.For = true, true
	}
	return e
}

func (w *Walker) answer(item string) agent.Event {
	switch w.Trace.inbox.open[item] {
	case "approval", "budget":
		return agent.ApprovalAnswered{At: w.at(), Item: item, Allow: w.Dice.Intn(4) < 3, Scope: "once"}
	case "worktree":
		return agent.WorkDecided{At: w.at(), Item: item, How: []string{"merged", "kept", "discarded"}[w.Dice.Intn(3)]}
	}
	return agent.QuestionAnswered{At: w.at(), Item: item, Declined: w.Dice.Intn(4) == 3, Tokens: int64(w.Dice.Intn(20)), Answer: "so"}
}

// outcome makes an outcome of an outside effect.
func (w *Walker) outcome(f agent.Effect) agent.Event {
	switch f := any(f).(type) {
	case agent.CallModel:
		return w.reply(f)
	case agent.RunTool:
		return w.ran(f)
	case agent.Compact:
		return agent.Compacted{
			At: w.at(), Turn: f.Turn, OK: w.Dice.Intn(4) < 3, Tokens: int64(w.Dice.Intn(200)), Spent: agent.Amount{Tokens: int64(w.Dice.Intn(50))}, Priced: true,
			Summary: w.Dice.Intn(2) == 1, View: agent.View{Keep: w.Dice.Intn(w.Trace.State.Pos + 1)}, Body: message.Of(message.User, message.KindNote, "so far"),
		}
	case agent.Consult:
		return agent.Consulted{At: w.at(), Item: f.Item, Answered: w.Dice.Intn(3) > 0, Confidence: w.Dice.Intn(101), Tokens: int64(w.Dice.Intn(20))}
	case agent.RunAcceptance:
		return agent.AcceptanceDone{At: w.at(), Passed: w.Dice.Intn(2) == 0, Tokens: 5}
	case agent.InspectWork:
		return agent.WorkInspected{At: w.at(), Empty: w.Dice.Intn(3) == 2, Action: "difference"}
	}
	return agent.Tick{At: w.at()}
}

func (w *Walker) ran(f agent.RunTool) agent.Event {
	finished := agent.ToolFinished{
		At: w.at(), Turn: f.Turn, Call: f.Call, IsError: w.Dice.Intn(4) == 3, Tokens: int64(w.Dice.Intn(80)),
		Same: []string{"s0", "s0", "s0", "s0", "s1", ""}[w.Dice.Intn(6)], Did: w.Dice.Intn(4) == 3,
		Parts: []message.Part{message.TextPart{Text: "output"}},
	}
	k := toolKey(f.Turn, f.Call)
	r := w.Trace.outside.runs[k]
	if r == nil || w.Trace.talks.paused[k] != "" {
		return finished // it went on without the answer
	}
	if mayAsk := !r.write || r.started; mayAsk && w.Dice.Intn(4) == 3 {
		return agent.ToolAsked{At: w.at(), Turn: f.Turn, Call: f.Call, Deadline: int64(w.Dice.Intn(2)) * (w.Now + 30_000), Action: "which?"}
	}
	switch d := w.Dice.Intn(6); {
	case r.started:
	case d == 5 || d == 4 && f.Class == agent.ClassWrite:
		return agent.ApprovalNeeded{At: w.at(), Turn: f.Turn, Call: f.Call, Grant: fmt.Sprintf("h%d", w.Dice.Intn(5)), Deadline: w.Now + int64(w.Dice.Intn(2))*30_000}
	case d > 0 && f.Class == agent.ClassWrite:
		return agent.ToolStarted{At: w.at(), Turn: f.Turn, Call: f.Call}
	}
	return finished
}

// Drain lets everything that is under way end in the plainest way. An agent
// that does not come to rest by that hangs, which is an error. Deliver takes
// each event.
func (w *Walker) Drain(deliver func(agent.Event) error) error {
	for range 2000 {
		s := w.Trace.State
		ev := w.settle()
		switch {
		case ev != nil:
		case s.Ended(), s.Spec.Orchestrator() && in[agent.Idle](s) && s.LiveChildren() == 0:
			return nil
		default:
			return fmt.Errorf("it hangs in phase %T: %s", s.Phase, clock(0).state(s))
		}
		if err := deliver(ev); err != nil {
			return err
		}
		if w.Trace.Refused != nil {
			return fmt.Errorf("%s was refused: %w", agent.EventType(ev), w.Trace.Refused)
		}
	}
	return errors.New("it does not come to rest")
}

// settle makes the plainest event that ends something under way, nil if there
// is none.
func (w *Walker) settle() agent.Event {
	s := w.Trace.State
	if s.Ended() {
		if s.Work == "" {
			return nil
		}
		return agent.WorkDecided{At: w.at(), Item: s.Work, How: "kept"}
	}
	if live := w.Trace.family.alive; len(live) > 0 && !w.Honest {
		return agent.ChildEnded{At: w.at(), Task: live[0], Reason: agent.ReasonCompleted, Held: w.held(live[0])}
	}
	if out := s.Outstanding(); len(out) > 0 {
		switch f := any(out[0]).(type) {
		case agent.CallModel:
			return agent.ModelReplied{At: w.at(), Turn: f.Turn, Try: f.Try, Text: true, Stop: agent.StopEnd, Priced: true}
		case agent.RunTool:
			return agent.ToolFinished{At: w.at(), Turn: f.Turn, Call: f.Call}
		case agent.Compact:
			return agent.Compacted{At: w.at(), Turn: f.Turn}
		case agent.Consult:
			return agent.Consulted{At: w.at(), Item: f.Item}
		case agent.RunAcceptance:
			return agent.AcceptanceDone{At: w.at(), Passed: true}
		case agent.InspectWork:
			return agent.WorkInspected{At: w.at(), Empty: true}
		}
	}
	if items := slices.Sorted(maps.Keys(w.Trace.inbox.open)); len(items) > 0 {
		if kind := w.Trace.inbox.open[items[0]]; kind == "approval" || kind == "budget" {
			return agent.ApprovalAnswered{At: w.at(), Item: items[0]}
		}
		return agent.QuestionAnswered{At: w.at(), Item: items[0], Declined: true}
	}
	if s.Deadline() > 0 {
		return w.tick()
	}
	return nil
}

// Rest drains an agent and holds it to what must be true at rest: nothing
// reserved, and, of an orchestrator after one more message, every message
// placed and every result delivered.
func (w *Walker) Rest() error {
	deliver := func(ev agent.Event) error { return w.Trace.Step(ev) }
	if err := w.Drain(deliver); err != nil {
		return err
	}
	if s := w.Trace.State; s.Spec.Orchestrator() {
		if err := deliver(w.message()); err != nil {
			return err
		}
		if err := w.Drain(deliver); err != nil {
			return err
		}
	}
	return w.Trace.AtRest()
}

// AtRest holds an agent that has nothing under way to what must then be true.
func (tr *Trace) AtRest() error {
	s := tr.State
	switch {
	case s.Held != (agent.Amount{}) || s.Spec.Orchestrator() && tr.family.lent != (agent.Amount{}):
		return fmt.Errorf("%v are still held, %v of extensions were not returned", s.Held, tr.family.lent)
	case s.Work != "":
		return fmt.Errorf("nobody decided about the worktree (%s)", s.Work)
	case !s.Spec.Orchestrator():
		if !s.Ended() {
			return errors.New("a sub-agent rests without having ended")
		}
		return nil
	case len(s.Queue) > 0:
		return fmt.Errorf("%v were never placed", s.Queue)
	case len(s.Groups) > 0:
		return fmt.Errorf("groups are left: %v", s.Groups)
	}
	for first, size := range tr.family.size {
		if !tr.family.delivered[first] {
			return fmt.Errorf("the results of %s were never delivered", tasks(first, size))
		}
	}
	return nil
}
