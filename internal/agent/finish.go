// The end of an agent or of an orchestrator's run: limits, failures, cancels.

package agent

// how an end came about.
type how int

const (
	byItself how = iota
	asked        // someone asked for it: messages queued before stay, and start nothing
	forced       // and does not wait for the children
)

// finish ends the work for a reason of its own: done, failed, at a limit.
func (m *machine) finish(o Outcome, text string) { m.end(o, text, byItself) }

// end decides the outcome. Open calls are answered and inbox items withdrawn
// in the same step; what had finished is kept. The agent ends at once, or,
// where children have to end first, when the last of them has. Children of an
// orchestrator outlive a run that ended by itself: their results wake it.
func (m *machine) end(o Outcome, text string, h how) {
	m.abandon(o.Reason)
	if !m.Spec.Orchestrator() {
		m.leaveUnread()
	}
	m.emit(Conclude{Outcome: o, Text: text})
	m.Last = o
	kept := 0
	if h != byItself {
		kept = len(m.Queue)
	}
	if m.LiveChildren() == 0 || m.Spec.Orchestrator() && h == byItself {
		m.close(o, kept, h)
		return
	}
	grace := m.Spec.CancelGrace
	if grace == 0 {
		grace = cancelGrace
	}
	p := Cancelling{Outcome: o, Deadline: m.at + grace, Kept: kept}
	m.Phase = p
	if h == forced {
		m.force(p, h)
		return
	}
	m.cancelChildren(o.Reason, false)
}

// leaveUnread places the messages that a sub-agent ends without having read,
// so that whoever goes on for it reads them; its parent is told how many.
func (m *machine) leaveUnread() {
	if len(m.Queue) > 0 {
		m.note("You ended before you could read what follows.")
		m.placeQueue()
	}
}

// ending tells whether the outcome of a sub-agent is decided, though it has
// not ended yet.
func (m *machine) ending() bool {
	switch m.Phase.(type) {
	case Cancelling, Settling:
		return !m.Spec.Orchestrator()
	case Idle, Thinking, Backoff, Compacting, Extending, Acting, Accepting, Completed, Failed:
	}
	return false
}

// close ends the agent, or the run of an orchestrator.
func (m *machine) close(o Outcome, kept int, h how) {
	m.Last = o
	if m.settles(o, h) {
		return
	}
	if !m.Spec.Orchestrator() {
		m.Groups, m.Held, m.Lent = nil, Amount{}, Amount{}
		m.Phase = Failed{Outcome: o}
		if o.Success() {
			m.Phase = Completed{Outcome: o}
		}
		m.emit(Report{
			Task: m.Spec.Number, Outcome: o, Spent: m.Life.Spent(), Unpriced: m.Life.Unpriced,
			Held: Amount{m.Spec.Limits.Tokens, m.Spec.Limits.Cost}.Add(m.Run.Extra),
		})
		return
	}
	m.Phase = Idle{}
	m.emit(Done{Outcome: o})
	if len(m.Queue) > kept {
		m.nextTurn()
	}
}

// abandon ends what the agent itself has under way.
func (m *machine) abandon(r Reason) {
	if len(m.State.Outstanding()) > 0 {
		m.emit(StopWork{})
	}
	if t, ok := m.Phase.(Thinking); ok {
		m.emit(RecordModel{Turn: m.Turn, Try: t.Try, Outcome: "stopped", Pos: -1, Info: CallInfo{Model: m.model(), EndedAt: m.at}})
	}
	if p, ok := m.Phase.(Extending); ok {
		m.emit(CloseItem{ID: p.Item, How: "withdrawn"})
	}
	a, ok := m.Phase.(Acting)
	if !ok {
		return
	}
	m.Context += m.printed.Tokens
	for i, c := range a.Calls {
		if c.Phase == CallDone {
			continue
		}
		if c.Item != "" {
			m.emit(CloseItem{ID: c.Item, How: "withdrawn"})
			if c.Phase == CallAsked {
				m.tellRoot(c.Item, true, false)
			}
		}
		m.answer(i, true, abandonText(r)+m.soFarOf(i, c))
	}
	for k := range m.Groups {
		m.Groups[k].Call = -1
	}
}

const hadPrinted = " It had printed:\n\n"

// soFarOf tells what the tool of a call had printed that is ended.
func (m *machine) soFarOf(i int, c Call) string {
	out := m.printed.Output[i]
	switch {
	case out == "":
		return ""
	case c.Class != ClassRead:
		return " Its effects are unknown." + hadPrinted + out
	}
	return hadPrinted + out
}

func abandonText(r Reason) string {
	switch r {
	case ReasonTimeout:
		return "Ended: the time limit was reached before this had a result."
	case ReasonBudget:
		return "Ended: the budget was spent before this had a result."
	case ReasonMaxTurns:
		return "Not executed: the turn limit is reached."
	case ReasonCancelled, ReasonSuperseded, ReasonInterrupted, ReasonCompleted, ReasonPartial, ReasonFailed:
	}
	return "Cancelled before this had a result."
}

func (m *machine) cancel(ev Cancel) error {
	switch ev.Reason {
	case ReasonCancelled, ReasonTimeout, ReasonBudget, ReasonSuperseded, ReasonInterrupted:
	case ReasonCompleted, ReasonPartial, ReasonFailed, ReasonMaxTurns:
		return impossible("cancelled because %s", ev.Reason)
	default:
		return impossible("cancelled for the unknown reason %q", ev.Reason)
	}
	switch p := m.Phase.(type) {
	case Cancelling:
		if !ev.Force && p.Kept == len(m.Queue) {
			return ErrStale
		}
		p.Kept = len(m.Queue) // what came since the first stop was queued before this one
		m.Phase = p
		if ev.Force {
			m.force(p, forced)
		}
		return nil
	case Settling:
		if !ev.Force {
			return ErrStale
		}
		m.unsettled(p)
		return nil
	case Idle:
		if m.Spec.Orchestrator() && m.LiveChildren() == 0 {
			return ErrStale
		}
	case Thinking, Backoff, Compacting, Extending, Acting, Accepting, Completed, Failed:
	}
	h := asked
	if ev.Force {
		h = forced
	}
	o := Outcome{Reason: ev.Reason, Result: m.soFar()}
	if _, idle := m.Phase.(Idle); idle && m.Last.Reason != "" {
		o = m.Last // the run was over: only what it has left running is stopped
	}
	if ev.Printed && m.Spec.ToolRun() {
		o.Result = m.output()
	}
	m.end(o, "", h)
	return nil
}

// force ends a cancel without waiting for the children any longer. What had
// finished is told with the next turn; what the others report is recorded.
func (m *machine) force(p Cancelling, h how) {
	m.cancelChildren(p.Outcome.Reason, true)
	for k := range m.Groups {
		if g := &m.Groups[k]; !g.Closed {
			g.Done, g.Closed, g.Rest, g.Ready = g.Size, true, ReasonCancelled, true
		}
	}
	m.close(p.Outcome, p.Kept, h)
}

// cancelChildren asks all children that have not ended to end. A child that
// ends because its parent does was cancelled, whatever ended the parent.
func (m *machine) cancelChildren(r Reason, force bool) {
	reason := ReasonCancelled
	if r == ReasonSuperseded || r == ReasonInterrupted {
		reason = r
	}
	for _, g := range m.Groups {
		if g.Closed && !force {
			continue // those of a closed group have been asked already
		}
		for t := range g.Size {
			if !g.Ended.Has(t) {
				m.emit(CancelChild{Task: g.First + t, Reason: reason, Force: force})
			}
		}
	}
}
