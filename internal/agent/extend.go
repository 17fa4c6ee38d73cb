// A spent budget: the user is asked once whether to extend it.

package agent

// outOf handles a limit that forbids the next model call.
func (m *machine) outOf(reason Reason, t Thinking) {
	if reason != ReasonBudget || m.Spec.BudgetWait == 0 || m.Run.Asked {
		m.finish(Outcome{Reason: reason, Result: m.soFar()}, "")
		return
	}
	m.Run.Asked = true
	p := Extending{Item: m.newItem(), Deadline: m.at + m.Spec.BudgetWait, Then: t}
	m.Phase = p
	limit := Amount{m.Spec.Limits.Tokens, m.Spec.Limits.Cost}.Add(m.Run.Extra)
	m.emit(OpenItem{
		ID: p.Item, Kind: "budget", Turn: m.Turn, Call: -1, Deadline: p.Deadline, Action: m.inWords(m.Run.Spent(), 0, 0),
		Reason: "what is left of " + m.inWords(limit, 0, 0) + " may not suffice for the next turn",
	})
}

// budgetAnswered goes on with as much again, or ends.
func (m *machine) budgetAnswered(p Extending, ev ApprovalAnswered) {
	m.Phase = Idle{}
	if !ev.Allow {
		m.emit(CloseItem{ID: p.Item, How: "denied", By: ev.By, Scope: ev.Scope, Answer: ev.Reason})
		m.finish(Outcome{Reason: ReasonBudget, Result: m.soFar()}, "")
		return
	}
	m.emit(CloseItem{ID: p.Item, How: "allowed", By: ev.By, Scope: ev.Scope, Answer: ev.Reason})
	m.extend(Amount{m.Spec.Limits.Tokens, m.Spec.Limits.Cost})
	m.think(p.Then)
}

// extend raises the limits of this agent and of those above it, whose budgets
// contain its own.
func (m *machine) extend(a Amount) {
	m.Run.Extra = m.Run.Extra.Add(a)
	if !m.Spec.Orchestrator() {
		m.emit(ExtendParent{Amount: a})
	}
}

// extended makes room for what a child was given.
func (m *machine) extended(ev Extended) error {
	m.Held, m.Lent = m.Held.Add(ev.Amount), m.Lent.Add(ev.Amount)
	m.extend(ev.Amount)
	return nil
}

// stillLent is what a new run has beyond its limits from the beginning: what
// running children hold that does not fit into them.
func (m *machine) stillLent() Amount {
	a := m.Lent
	if l := m.Spec.Limits.Tokens; l > 0 {
		a.Tokens = max(a.Tokens, m.Held.Tokens-l)
	}
	if l := m.Spec.Limits.Cost; l > 0 {
		a.Cost = max(a.Cost, m.Held.Cost-l)
	}
	return a
}
