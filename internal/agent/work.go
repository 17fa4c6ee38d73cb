// Work in a worktree of its own: what the agent leaves there is looked at
// before it ends, and somebody decides what becomes of it afterwards.

package agent

const settleTime = 60_000 // milliseconds that looking at the worktree may take

// settles tells whether the end has to wait until the worktree was looked at.
// One by force waits for nothing: then somebody has to look afterwards.
func (m *machine) settles(o Outcome, h how) bool {
	if _, settled := m.Phase.(Settling); settled || !m.Spec.Worktree || m.Spec.Orchestrator() {
		return false
	}
	if h == forced {
		m.leave(OpenItem{Reason: "the agent was ended by force before its worktree was looked at"})
		return false
	}
	m.Phase = Settling{Outcome: o, Deadline: m.at + settleTime}
	m.emit(InspectWork{})
	return true
}

// workInspected ends the agent, with an inbox item about what it leaves.
func (m *machine) workInspected(ev WorkInspected) error {
	p, ok := m.Phase.(Settling)
	if !ok {
		return ErrStale
	}
	if !ev.Empty {
		m.leave(OpenItem{Action: ev.Action, Reason: ev.Reason, Detail: ev.Detail})
	}
	m.close(p.Outcome, 0, asked)
	return nil
}

// unsettled ends the agent though nobody knows what it leaves: then somebody
// has to look.
func (m *machine) unsettled(p Settling) {
	m.emit(StopWork{})
	m.leave(OpenItem{Reason: "the worktree could not be looked at in time"})
	m.close(p.Outcome, 0, asked)
}

func (m *machine) leave(item OpenItem) {
	m.Work = m.newItem()
	item.ID, item.Kind, item.Turn, item.Call = m.Work, "worktree", m.Turn, -1
	m.emit(item)
}

// workDecided closes the item: the only thing that can still happen to an
// agent that has ended. Its phase and its outcome stay as they are.
func (m *machine) workDecided(ev WorkDecided) error {
	if ev.Item == "" || ev.Item != m.Work {
		return ErrNotWaiting
	}
	m.Work = ""
	m.emit(CloseItem{ID: ev.Item, How: ev.How, By: ev.By, Answer: ev.Answer})
	return nil
}
