// Limits, budgets and deadlines.

package agent

const cancelGrace = 10_000 // milliseconds descendants have to end, where the spec does not say

// countTime adds the time since the last event to the active time, if the
// agent was active. What passed while the process was down does not count.
func (m *machine) countTime(ev Event) {
	if m.Active == 0 {
		return
	}
	if _, ok := ev.(Recovered); ok {
		return
	}
	m.Run.Active += m.at - m.Active
	m.Life.Active += m.at - m.Active
}

// active tells whether time counts: it does for model, tool and retry, and
// stands still while the agent waits for the user, an approval, children or
// its place at the model.
func (m *machine) active() bool {
	switch p := m.Phase.(type) {
	case Thinking:
		return p.Why == "" // waiting for a place is not work
	case Backoff, Compacting, Accepting:
		return true
	case Acting:
		for _, c := range p.Calls {
			if c.Phase == CallRunning || c.Phase == CallStarted {
				return true
			}
		}
		return false
	case Idle, Extending, Cancelling, Settling, Completed, Failed:
	}
	return false
}

// facts are those of the model in use.
func (m *machine) facts() Facts {
	if i := m.Model - 1; i >= 0 && i < len(m.Spec.Others) {
		return m.Spec.Others[i]
	}
	return Facts{Price: m.Spec.Price, MaxOutput: m.Spec.MaxOutput, Window: m.Spec.Window}
}

// exhausted tells which limit, if any, forbids another model call.
func (m *machine) exhausted() Reason {
	if m.Spec.Limits.Active > 0 && m.Run.Active >= m.Spec.Limits.Active {
		return ReasonTimeout
	}
	if m.room() < min(minOutput, m.maxOutput()) {
		return ReasonBudget
	}
	return ""
}

func (m *machine) maxOutput() int64 {
	if n := m.facts().MaxOutput; n > 0 {
		return n
	}
	return maxOutput
}

// room is how many tokens the next reply may have, so that the whole call,
// input and output, fits what is left of the budget.
func (m *machine) room() int64 {
	left := m.remainder()
	out := m.maxOutput()
	if m.Spec.Limits.Tokens > 0 {
		out = min(out, left.Tokens-m.Context)
	}
	if m.Spec.Limits.Cost > 0 {
		money := left.Cost - cost(m.Context, m.facts().Price.Input)
		switch {
		case money <= 0:
			out = 0
		case m.facts().Price.Output > 0:
			out = min(out, money*1_000_000/m.facts().Price.Output)
		}
	}
	if w := m.facts().Window; w > 0 && w > m.Context+minOutput {
		out = min(out, max(w-m.Context-w/20, minOutput)) // input, which is an estimate, and output share the window
	}
	return max(out, 0)
}

// remainder is what is neither spent nor reserved. It has a meaning only for
// the amounts that have a limit.
func (m *machine) remainder() Amount {
	l := m.Spec.Limits
	return Amount{l.Tokens, l.Cost}.Add(m.Run.Extra).Sub(m.Run.Spent()).Sub(m.Held)
}

// overflows tells whether the next request would leave too little of the
// model's window for an answer.
func (m *machine) overflows() bool {
	w := m.facts().Window
	return w > 0 && m.Context+min(m.maxOutput(), w/4) > w
}

func cost(tokens, price int64) int64 { return (tokens*price + 999_999) / 1_000_000 }

// readingTurn is how much output the turn is given that reads the results of
// children: an answer of some length, not all that the model could write.
func (m *machine) readingTurn() int64 { return min(m.maxOutput(), 4096) }

// share is what each of n children may use at most: the remainder, less one
// turn in which the parent reads their results, divided by n. An amount
// without limit is 0.
func (m *machine) share(n int) Amount {
	l, left := m.Spec.Limits, m.remainder()
	var s Amount
	if l.Tokens > 0 {
		s.Tokens = max(left.Tokens-m.Context-m.readingTurn(), 0) / int64(n)
	}
	if l.Cost > 0 {
		turn := cost(m.Context, m.facts().Price.Input) + cost(m.readingTurn(), m.facts().Price.Output)
		s.Cost = max(left.Cost-turn, 0) / int64(n)
	}
	return s
}

// grant is the budget of one child: its own maximum, but not more than its
// share. ok is false if that leaves it no room for a single turn.
func (m *machine) grant(p Planned, share Amount) (a Amount, ok bool) {
	if p.Tool != "" {
		return Amount{}, true // no model, no cost
	}
	a = Amount{p.Tokens, p.Cost}
	l := m.Spec.Limits
	if l.Tokens > 0 {
		a.Tokens = smaller(a.Tokens, share.Tokens)
	}
	if l.Cost > 0 {
		a.Cost = smaller(a.Cost, share.Cost)
	}
	ok = (l.Tokens == 0 && a.Tokens == 0 || a.Tokens >= p.Size+minOutput) && (l.Cost == 0 && a.Cost == 0 || a.Cost >= max(p.First, 1))
	return a, ok
}

// FirstTurn is what the first turn of an agent costs at least, if its input has
// that many tokens.
func (s Spec) FirstTurn(size int64) int64 {
	output := int64(minOutput)
	if s.MaxOutput > 0 {
		output = min(output, s.MaxOutput)
	}
	return cost(size, s.Price.Input) + cost(output, s.Price.Output)
}

// smaller is the smaller of a limit, 0 meaning none, and a bound.
func smaller(limit, bound int64) int64 {
	if limit == 0 {
		return bound
	}
	return min(limit, bound)
}

// Deadline is when the agent must be woken by a Tick, 0 if never.
func (s State) Deadline() int64 {
	d := int64(0)
	add := func(t int64) {
		if t > 0 && (d == 0 || t < d) {
			d = t
		}
	}
	if s.Active > 0 && s.Spec.Limits.Active > 0 {
		add(s.Active + max(s.Spec.Limits.Active-s.Run.Active, 1))
	}
	switch p := s.Phase.(type) {
	case Thinking:
		add(p.Deadline)
	case Backoff:
		add(p.Until)
	case Acting:
		for _, c := range p.Calls {
			if c.Phase == CallApproval || c.Phase == CallAsked || c.Phase == CallPaused {
				add(c.Deadline)
			}
		}
	case Compacting:
		add(p.Deadline)
	case Extending:
		add(p.Deadline)
	case Cancelling:
		add(p.Deadline)
		return d
	case Settling:
		return p.Deadline
	case Completed, Failed:
		return 0
	case Idle, Accepting:
	}
	for _, g := range s.Groups {
		if !g.Closed {
			add(g.Deadline)
		}
	}
	return d
}

// tick does all that is due, and only then goes on: what came due together is
// taken in together.
func (m *machine) tick() error {
	before := m.State
	if before.Active > 0 {
		before.Run.Active -= m.at - before.Active // as it was when the deadline was told
	}
	if d := before.Deadline(); d == 0 || m.at < d {
		return ErrStale
	}
	if l := m.Spec.Limits.Active; l > 0 && m.Active > 0 && m.Run.Active >= l {
		m.finish(Outcome{Reason: ReasonTimeout, Result: m.soFar()}, "")
		return nil
	}
	if p, ok := m.Phase.(Cancelling); ok {
		m.force(p, asked)
		return nil
	}
	if p, ok := m.Phase.(Settling); ok {
		m.unsettled(p)
		return nil
	}
	closed := m.expireGroups()
	switch p := m.Phase.(type) {
	case Thinking:
		if m.at >= p.Deadline {
			m.emit(StopWork{}, RecordModel{
				Turn: m.Turn, Try: p.Try, Outcome: "failed", Kind: FailTimeout, Pos: -1,
				Message: "no answer within the time limit", Info: CallInfo{Model: m.model(), EndedAt: m.at},
			})
			m.Phase = Idle{}
			m.retry(p, FailTimeout, 0, "no answer within the time limit")
		}
	case Backoff:
		if m.at >= p.Until {
			m.think(Thinking{Try: p.Try, Fails: p.Fails, Last: p.Last, Shrunk: p.Shrunk})
		}
	case Compacting:
		if m.at >= p.Deadline {
			m.emit(StopWork{})
			m.Phase = Idle{}
			m.tooLong("it was not shortened within the time limit")
		}
	case Acting:
		m.expireItems(p)
		m.advance()
	case Extending:
		if m.at >= p.Deadline {
			m.emit(CloseItem{ID: p.Item, How: "expired"})
			m.Phase = Idle{}
			m.finish(Outcome{Reason: ReasonBudget, Result: m.soFar()}, "")
		}
	case Idle:
		if closed {
			m.nextTurn()
		}
	case Accepting, Cancelling, Settling, Completed, Failed:
	}
	return nil
}

func (m *machine) expireItems(p Acting) {
	for i, c := range p.Calls {
		if c.Deadline == 0 || m.at < c.Deadline {
			continue
		}
		switch c.Phase {
		case CallApproval:
			m.emit(CloseItem{ID: c.Item, How: "expired"})
			m.answer(i, true, "Denied: nobody answered the request for approval in time.")
		case CallAsked:
			m.emit(CloseItem{ID: c.Item, How: "expired"})
			m.tellRoot(c.Item, true, false)
			m.answer(i, true, "Nobody answered the question in time. Go on with your best judgement and say so in your result.")
		case CallPaused:
			m.emit(CloseItem{ID: c.Item, How: "expired"})
			m.resume(i, true, "")
		case CallQueued, CallRunning, CallStarted, CallAsking, CallChildren, CallDone:
		}
	}
}
