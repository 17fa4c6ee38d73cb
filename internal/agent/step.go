// Step itself: taking an event, beginning a life, and going on after a crash.

package agent

import (
	"errors"
	"fmt"
)

// The ways in which Step refuses an event. The state is then unchanged and no
// effect follows; the engine keeps a record of the event and never delivers
// it again.
var (
	// ErrStale: the event is about something that is already over. Harmless.
	ErrStale = errors.New("already over")
	// ErrImpossible: the event cannot have happened in this state. A bug.
	ErrImpossible = errors.New("impossible in this state")
	// ErrNotWaiting: the answered inbox item no longer waits.
	ErrNotWaiting = errors.New("no longer waiting for an answer")
	// ErrEnded: a message to an agent that has ended.
	ErrEnded = errors.New("the agent has ended; continue it with a new task")
	// ErrEnding: a message to a sub-agent whose outcome is decided: it would
	// never be read.
	ErrEnding = errors.New("the agent is ending and reads nothing more; continue it with a new task once it has ended")
	// ErrNoReader: a message to a task that is one run of a tool.
	ErrNoReader = errors.New("it is one run of a tool and reads no messages")
	// ErrNoPrice: a money limit on a model whose price is not known.
	ErrNoPrice = errors.New("a cost limit needs a model with a known price")
)

func impossible(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrImpossible)
}

// Step is the machine: the next state and the effects of one event. It does
// not change s, and its result depends on s and ev alone.
func Step(s State, ev Event) (State, []Effect, error) {
	m := &machine{State: s.clone(), at: max(ev.when(), s.LastAt)}
	m.countTime(ev)
	if err := m.take(ev); err != nil {
		return s, nil, err
	}
	m.dropGroups()
	m.LastAt = m.at
	m.Active = 0
	if m.active() {
		m.Active = m.at
	}
	return m.State, m.fx, nil
}

// machine is one step under way.
type machine struct {
	State
	fx []Effect
	at int64

	printed SoFar // by the tools that the event may end
}

func (m *machine) emit(e ...Effect) { m.fx = append(m.fx, e...) }

func (m *machine) take(ev Event) error {
	if born, ok := ev.(Created); ok {
		return m.created(born)
	}
	if moved, ok := ev.(Migrated); ok {
		return m.migrated(moved)
	}
	if m.Spec.ID == "" {
		return impossible("%T before Created", ev)
	}
	if m.Ended() {
		if _, ok := ev.(UserMessage); ok {
			return ErrEnded
		}
		if _, ok := ev.(ApprovalAnswered); ok {
			return ErrNotWaiting
		}
		if _, ok := ev.(QuestionAnswered); ok {
			return ErrNotWaiting
		}
		if decided, ok := ev.(WorkDecided); ok {
			return m.workDecided(decided)
		}
		return ErrStale
	}
	switch ev := ev.(type) {
	case Created, Migrated:
		return impossible("%T taken twice", ev)
	case UserMessage:
		return m.userMessage(ev)
	case ModelQueued:
		return m.modelQueued(ev)
	case ModelReplied:
		return m.modelReplied(ev)
	case ModelFailed:
		return m.modelFailed(ev)
	case Compacted:
		return m.compacted(ev)
	case ToolStarted:
		return m.toolStarted(ev)
	case ToolFinished:
		return m.toolFinished(ev)
	case ApprovalNeeded:
		return m.approvalNeeded(ev)
	case ApprovalAnswered:
		return m.approvalAnswered(ev)
	case Consulted:
		return m.consulted(ev)
	case QuestionAnswered:
		return m.questionAnswered(ev)
	case ChildEnded:
		return m.childEnded(ev)
	case ToolAsked:
		return m.toolAsked(ev)
	case TaskAsks:
		return m.taskAsks(ev)
	case Extended:
		return m.extended(ev)
	case WorkInspected:
		return m.workInspected(ev)
	case WorkDecided:
		return ErrNotWaiting
	case Charged:
		return m.charged(ev)
	case AcceptanceDone:
		return m.acceptanceDone(ev)
	case Cancel:
		m.printed = ev.SoFar
		return m.cancel(ev)
	case Tick:
		m.printed = ev.SoFar
		return m.tick()
	case Recovered:
		m.printed = ev.SoFar
		return m.recovered()
	}
	return impossible("unknown event %T", ev)
}

func (m *machine) created(ev Created) error {
	if m.Spec.ID != "" {
		return impossible("created twice")
	}
	if ev.Spec.Limits.Cost > 0 && !ev.Spec.priced() {
		return ErrNoPrice
	}
	m.Spec = ev.Spec
	m.Cause = ev.Spec.Cause
	m.Context = ev.Tokens
	m.Phase = Idle{}
	if ev.Prior > 0 {
		m.Pos = ev.Prior
		m.emit(Adopt{From: m.Spec.Adopts, Count: ev.Prior})
	}
	if m.Spec.Orchestrator() {
		return nil
	}
	if m.Spec.ToolRun() {
		m.beginToolRun(ev.Task)
		return nil
	}
	m.place(ev.Task)
	m.nextTurn()
	return nil
}

// migrated takes over a converted state. What follows depends on the event
// alone, not on what was before it: a replay starts here.
func (m *machine) migrated(ev Migrated) error {
	switch {
	case ev.Spec.ID == "" || ev.State.Phase == nil:
		return impossible("migrated to a state without agent or phase")
	case m.Spec.ID != "" && m.Spec.ID != ev.Spec.ID:
		return impossible("%s migrated to the state of %s", m.Spec.ID, ev.Spec.ID)
	case m.Ended() && !ev.State.Ended():
		return impossible("migrated out of a terminal phase")
	}
	m.at = max(ev.when(), ev.State.LastAt)
	m.State = ev.State.clone()
	m.Spec = ev.Spec
	return nil
}

// userMessage keeps a message until a turn takes it in. One that cannot be
// read any more is refused, so that its sender knows.
func (m *machine) userMessage(ev UserMessage) error {
	switch {
	case m.Spec.ToolRun():
		return ErrNoReader
	case m.ending():
		return ErrEnding
	}
	for _, id := range m.Queue {
		if id == ev.ID {
			return ErrStale
		}
	}
	switch {
	case ev.Choice == nil:
	case !m.Spec.Orchestrator() || len(ev.Choice.Models) == 0:
		return impossible("a message that chooses the models of a sub-agent, or none")
	case m.Spec.Limits.Cost > 0 && !ev.Choice.priced():
		return ErrNoPrice
	default:
		m.Choosing = ev.Choice
	}
	m.emit(Enqueue{ID: ev.ID, Body: ev.Body})
	m.Queue = append(m.Queue, ev.ID)
	m.QueueTokens += ev.Tokens
	switch m.Phase.(type) {
	case Idle:
		m.nextTurn()
	case Acting:
		m.answerQuestionByMessage()
		m.advance()
	case Thinking, Backoff, Compacting, Extending, Accepting, Cancelling, Settling, Completed, Failed:
		// It waits; the turn that comes next takes it in.
	}
	return nil
}

// Outstanding lists the outside effects that must be under way in state s:
// what an engine has started and whose outcome it has not yet delivered. It
// is the outbox: nothing else needs to be stored to find them after a crash.
func (s State) Outstanding() []Effect {
	switch p := s.Phase.(type) {
	case Thinking:
		return []Effect{CallModel{Turn: s.Turn, Try: p.Try}}
	case Compacting:
		return []Effect{Compact{Turn: s.Turn, Refused: p.Refused}}
	case Accepting:
		return []Effect{RunAcceptance{}}
	case Acting:
		var fx []Effect
		for i, c := range p.Calls {
			switch c.Phase {
			case CallRunning, CallStarted, CallPaused:
				fx = append(fx, RunTool{Turn: s.Turn, Call: i, ID: c.ID, Name: c.Name, Class: c.Class, Grant: c.Grant})
			case CallAsking:
				fx = append(fx, Consult{Item: c.Item, Turn: s.Turn, Call: i})
			case CallQueued, CallApproval, CallAsked, CallChildren, CallDone:
			}
		}
		return fx
	case Settling:
		return []Effect{InspectWork{}}
	case Idle, Backoff, Extending, Cancelling, Completed, Failed:
	}
	return nil
}

// Busy tells whether a crash concerns the agent: an outside effect is under
// way, or its active time runs. Recovery owes it a Recovered event.
func (s State) Busy() bool { return s.Active > 0 || len(s.Outstanding()) > 0 }

// recovered goes on after a crash. Effects that only read are asked for
// again; one that may have changed something is never repeated.
func (m *machine) recovered() error {
	switch p := m.Phase.(type) {
	case Thinking:
		m.emit(RecordModel{Turn: m.Turn, Try: p.Try, Outcome: "lost", Pos: -1, Info: CallInfo{Model: m.model(), EndedAt: m.at}})
		m.Phase = Idle{}
		m.think(Thinking{Try: p.Try + 1, Fails: p.Fails, Last: p.Last, Shrunk: p.Shrunk})
	case Backoff:
		// Nothing was under way; but the time that has passed does not count.
	case Compacting:
		p.Deadline = m.at + modelTimeout
		m.Phase = p
		m.emit(Compact{Turn: m.Turn, Refused: p.Refused})
	case Accepting:
		m.emit(RunAcceptance{})
	case Acting:
		return m.recoverCalls(p)
	case Cancelling:
		m.cancelChildren(p.Outcome.Reason, false)
	case Settling:
		p.Deadline = m.at + settleTime
		m.Phase = p
		m.emit(InspectWork{})
	case Idle, Extending, Completed, Failed:
		return ErrStale
	}
	return nil
}

// Interrupted tells whether a call ends with the process that ran it: what it
// has done is unknown, so that it cannot be made again.
func (c Call) Interrupted() bool {
	return (c.Phase == CallStarted || c.Phase == CallPaused) && c.Class != ClassRead
}

func (m *machine) recoverCalls(p Acting) error {
	m.Context += m.printed.Tokens
	found := false
	for i, c := range p.Calls {
		switch c.Phase {
		case CallStarted, CallPaused:
			found = true
			if c.Item != "" {
				m.emit(CloseItem{ID: c.Item, How: "withdrawn"})
			}
			if !c.Interrupted() { // it asks again
				m.run(i)
				continue
			}
			text := "Interrupted: the process ended while this ran. Its effects are unknown; look before you repeat it."
			if out := m.printed.Output[i]; out != "" {
				text += hadPrinted + out
			}
			m.answer(i, true, text)
		case CallRunning:
			found = true
			m.emit(RunTool{Turn: m.Turn, Call: i, ID: c.ID, Name: c.Name, Class: c.Class, Grant: c.Grant})
		case CallAsking:
			found = true
			m.emit(Consult{Item: c.Item, Turn: m.Turn, Call: i})
		case CallQueued, CallApproval, CallAsked, CallChildren, CallDone:
		}
	}
	if !found {
		return ErrStale
	}
	m.advance()
	return nil
}
