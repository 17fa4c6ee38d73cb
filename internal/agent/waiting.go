// What an orchestrator knows of those below it that wait for the user.

package agent

import "slices"

// taskAsks takes note. It wakes nobody: the user is shown the question, and
// the orchestrator's model is told with the user's next message.
func (m *machine) taskAsks(ev TaskAsks) error {
	if !m.Spec.Orchestrator() {
		return impossible("a sub-agent is told who waits")
	}
	k := slices.Index(m.Waiting, ev.Item)
	switch {
	case ev.For:
		m.Answered = append(m.Answered, ev.Item)
	case ev.Over && k < 0, !ev.Over && k >= 0:
		return ErrStale
	case !ev.Over:
		m.Waiting = append(m.Waiting, ev.Item)
	}
	if ev.Over && k >= 0 {
		m.Waiting = slices.Delete(m.Waiting, k, k+1)
	}
	return nil
}

// tellWaiting places a note on who waits for the user, and what was answered
// on the user's behalf since the last one.
func (m *machine) tellWaiting() {
	if len(m.Waiting)+len(m.Answered) == 0 {
		return
	}
	m.emit(AddWaiting{Pos: m.Pos, Waiting: slices.Clone(m.Waiting), Answered: m.Answered})
	m.Pos++
	m.Context += noteTokens * int64(1+min(len(m.Waiting)+len(m.Answered), 20))
	m.Answered = nil
}
