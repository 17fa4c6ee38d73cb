// Children: spawning, fan-in, detached tasks.

package agent

import (
	"fmt"
	"slices"
	"strings"
)

// spawn starts the children of a delegating call, all or none.
func (m *machine) spawn(i int, p Proposal, agents int) {
	plan := p.Plan
	if why := m.refuseSpawn(plan, agents); why != "" {
		m.answer(i, true, why+" No task was started.")
		return
	}
	n := len(plan.Tasks)
	share := m.share(n)
	g := Group{First: m.Tasks + 1, Size: n, Call: i, Wait: n, Valid: plan.Valid, Ended: newBits(n), Live: n, Key: p.Key}
	switch {
	case plan.Wait > 0:
		g.Wait = plan.Wait
	case plan.Valid:
		g.Wait = 1
	}
	if plan.Timeout > 0 {
		g.Deadline = m.at + plan.Timeout
	}
	for k, t := range plan.Tasks {
		budget, _ := m.grant(t, share)
		m.Held = m.Held.Add(budget)
		m.emit(StartChild{Task: g.First + k, Spec: m.childSpec(g.First+k, t, budget), Body: t.Task, Tokens: t.Size, Prior: t.Prior, Turn: m.Turn, Call: i})
	}
	m.Tasks += n
	m.Groups = append(m.Groups, g)
	m.call(i).Phase = CallChildren
	m.emit(SetCall{Turn: m.Turn, Call: i, Phase: CallChildren})
	if plan.Background || len(m.Queue) > 0 {
		m.detach(i)
	}
}

// refuseSpawn says why a plan cannot be carried out, in words that the model
// can act on.
func (m *machine) refuseSpawn(plan *Plan, agents int) string {
	switch {
	case plan == nil || len(plan.Tasks) == 0:
		return "There is no task in the list."
	case m.Spec.Depth+1 > m.Spec.MaxDepth:
		return fmt.Sprintf("The depth limit of %d is reached: you cannot delegate further. Do the work yourself.", m.Spec.MaxDepth)
	case plan.Wait < 0 || plan.Wait > len(plan.Tasks):
		return fmt.Sprintf("wait is %d, but there are %d tasks.", plan.Wait, len(plan.Tasks))
	case m.Spec.Limits.Children > 0 && m.LiveChildren()+len(plan.Tasks) > m.Spec.Limits.Children:
		return fmt.Sprintf("You may have %d tasks running at once, %d run already and %d more were asked for.", m.Spec.Limits.Children, m.LiveChildren(), len(plan.Tasks))
	case m.Spec.Limits.Agents > 0 && agents+len(plan.Tasks) > m.Spec.Limits.Agents:
		return fmt.Sprintf("This chat may have %d agents in all, %d were started and %d more were asked for. Do the work yourself.", m.Spec.Limits.Agents, agents, len(plan.Tasks))
	}
	share := m.share(len(plan.Tasks))
	for k, t := range plan.Tasks {
		if t.Tool != "" {
			if !m.may(t.Tool) || t.Class != ClassRead && t.Class != ClassWrite {
				return fmt.Sprintf("Task %d: you cannot run the tool %q in the background.", k+1, t.Tool)
			}
			continue
		}
		if !slices.Contains(m.Spec.Delegates, t.Role) {
			return fmt.Sprintf("Task %d: you may not delegate to the role %q. You may delegate to: %s.", k+1, t.Role, strings.Join(m.Spec.Delegates, ", "))
		}
		if (t.Cost > 0 || m.Spec.Limits.Cost > 0) && !t.Priced {
			return fmt.Sprintf("Task %d: its model has no known price, so that its cost cannot be limited.", k+1)
		}
		if a, ok := m.grant(t, share); !ok {
			return fmt.Sprintf("The budget does not suffice for %d tasks: task %d would get %s, too little for its first turn. Start fewer, or do the work yourself.", len(plan.Tasks), k+1, m.inWords(a, t.Tokens, t.Cost))
		}
	}
	return ""
}

// inWords tells an amount, as far as it is limited for the agent, or by limits
// of a task's own.
func (m *machine) inWords(a Amount, tokens, micros int64) string {
	var words []string
	if m.Spec.Limits.Tokens+tokens > 0 {
		words = append(words, fmt.Sprintf("%d tokens", a.Tokens))
	}
	if m.Spec.Limits.Cost+micros > 0 {
		words = append(words, fmt.Sprintf("$%.4f", float64(a.Cost)/1e6))
	}
	return strings.Join(words, " and ")
}

// childSpec completes a planned spec by what the parent decides. Capabilities
// only shrink: a child gets no tool that its parent may not delegate, and what
// restricts those the parent may delegate restricts it, too.
func (m *machine) childSpec(task int, t Planned, budget Amount) Spec {
	s := t.Spec
	s.ID = fmt.Sprintf("%s.%d", m.Spec.ID, task)
	s.Number = task
	s.Chat, s.Parent, s.User = m.Spec.Chat, m.Spec.ID, m.Spec.User
	s.Depth, s.MaxDepth = m.Spec.Depth+1, m.Spec.MaxDepth
	s.Role = t.Role
	s.Cause = m.Cause
	s.Limits.Tokens, s.Limits.Cost = budget.Tokens, budget.Cost
	s.Tools = intersect(s.Tools, m.Spec.Delegable)
	s.Delegable = intersect(s.Delegable, m.Spec.Delegable)
	s.Bounds, s.Passed = slices.Concat(s.Bounds, m.Spec.Passed), slices.Concat(s.Passed, m.Spec.Passed)
	if t.Tool != "" { // it is the parent's own tool, and the policy knows it by the parent's role
		s.Role, s.Tool, s.Class, s.Tools, s.Bounds = m.Spec.Role, t.Tool, t.Class, []string{t.Tool}, m.Spec.Bounds
	}
	s.Limits.Agents = m.Spec.Limits.Agents
	s.CancelGrace, s.BudgetWait = m.Spec.CancelGrace, m.Spec.BudgetWait
	return s
}

func intersect(a, b []string) []string {
	var out []string
	for _, x := range a {
		if slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

// detach answers the call that group i holds open: its results will arrive as
// a message.
func (m *machine) detach(i int) {
	k := slices.IndexFunc(m.Groups, func(g Group) bool { return g.Call == i })
	g := &m.Groups[k]
	g.Call = -1
	ids := fmt.Sprintf("%s.%d", m.Spec.ID, g.First)
	if g.Size > 1 {
		ids += fmt.Sprintf(" to %s.%d", m.Spec.ID, g.First+g.Size-1)
	}
	m.answer(i, false, fmt.Sprintf("running, task %s. The results will arrive as a message.", ids))
}

func (m *machine) childEnded(ev ChildEnded) error {
	if ev.Task < 1 || ev.Task > m.Tasks {
		return impossible("task %d ended, which was never started", ev.Task)
	}
	k := slices.IndexFunc(m.Groups, func(g Group) bool { return g.holds(ev.Task) })
	if k < 0 || m.Groups[k].Ended.Has(ev.Task-m.Groups[k].First) {
		return ErrStale
	}
	g := &m.Groups[k]
	g.Ended = g.Ended.with(ev.Task - g.First)
	g.Live--
	m.settle(ev)
	if g.Closed {
		// Superseded, or too late: recorded, not delivered.
		if g.Ready {
			if g.Late == nil {
				g.Late = newBits(g.Size)
			}
			g.Late = g.Late.with(ev.Task - g.First)
		}
		m.childrenEnded()
		return nil
	}
	g.Done++
	if ev.Reason == ReasonCompleted {
		g.Good++
	}
	g.Tokens += ev.Tokens
	if g.satisfied() {
		_, idle := m.Phase.(Idle)
		m.closeGroup(k, ReasonSuperseded)
		if idle {
			m.nextTurn()
		}
		m.advance()
		return nil
	}
	m.childrenEnded()
	return nil
}

// settle returns what the child did not use.
func (m *machine) settle(ev ChildEnded) {
	m.Held = m.Held.Sub(ev.Held)
	m.Lent = m.Lent.least(m.Held)
	for _, meter := range []*Meter{&m.Run, &m.Life} {
		meter.Children = meter.Children.Add(ev.Spent)
		meter.Unpriced = meter.Unpriced || ev.Unpriced
	}
}

func (g Group) satisfied() bool {
	if g.Done == g.Size {
		return true
	}
	if g.Valid {
		return g.Good >= g.Wait
	}
	return g.Done >= g.Wait
}

// closeGroup ends the fan-in of group k: the others are ended and count as
// done, and the results are delivered, now to the call that waits for them,
// or with the next turn. The caller goes on with what follows from that.
func (m *machine) closeGroup(k int, rest Reason) {
	g := &m.Groups[k]
	g.Done, g.Closed, g.Rest = g.Size, true, rest
	if _, ok := m.Phase.(Cancelling); ok { // all have been asked to end already
		g.Rest = ReasonCancelled
		g.Ready = m.Spec.Orchestrator() // what had finished is told with the next turn
		m.childrenEnded()
		return
	}
	for t := range g.Size {
		if !g.Ended.Has(t) {
			m.emit(CancelChild{Task: g.First + t, Reason: rest})
		}
	}
	if g.Call < 0 {
		g.Ready = true
		return
	}
	i := g.Call
	g.Call = -1
	m.Context += told(*g)
	c := m.call(i)
	m.delegated(*g, m.Phase.(Acting).Pos+1+i)
	c.Phase = CallDone
	m.emit(
		AddResults{
			Pos: m.Phase.(Acting).Pos + 1 + i, Call: i, CallID: c.ID, Name: c.Name,
			Groups: []TaskRange{{First: g.First, Size: g.Size, Rest: rest}},
		},
		SetCall{Turn: m.Turn, Call: i, Phase: CallDone},
	)
}

// told is about how many tokens the parent's model is told of a group's
// results: however long they are, what is worded of one is bounded, and of all
// together.
func told(g Group) int64 {
	n := int64(g.Size)
	return min(g.Tokens, 3_200*n, 15_000+100*n)
}

// expireGroups closes the groups whose deadline has come.
func (m *machine) expireGroups() (closed bool) {
	for k, g := range m.Groups {
		if !g.Closed && g.Deadline > 0 && m.at >= g.Deadline {
			m.closeGroup(k, ReasonTimeout)
			closed = true
		}
	}
	return closed
}

// expects tells whether a child can still report something that the model
// will be told. Those that were superseded report to the record only.
func (m *machine) expects() bool {
	return slices.ContainsFunc(m.Groups, func(g Group) bool { return !g.Closed })
}

func (m *machine) hasReady() bool {
	return slices.ContainsFunc(m.Groups, func(g Group) bool { return g.Ready })
}

// deliverReady places the results of detached groups as one message.
func (m *machine) deliverReady() {
	var ranges []TaskRange
	for k := range m.Groups {
		if g := &m.Groups[k]; g.Ready {
			ranges = append(ranges, TaskRange{First: g.First, Size: g.Size, Rest: g.Rest, Late: g.Late})
			m.Context += told(*g)
			m.delegated(*g, m.Pos)
			g.Ready, g.Late = false, nil
		}
	}
	if len(ranges) == 0 {
		return
	}
	m.emit(AddResults{Pos: m.Pos, Call: -1, Groups: ranges})
	m.Pos++
}

// childrenEnded finishes a cancel once no child is left.
func (m *machine) childrenEnded() {
	if p, ok := m.Phase.(Cancelling); ok && m.LiveChildren() == 0 {
		m.close(p.Outcome, p.Kept, asked)
	}
}

// dropGroups forgets groups that nothing more can happen to.
func (m *machine) dropGroups() {
	m.Groups = slices.DeleteFunc(m.Groups, func(g Group) bool { return g.Closed && g.Live == 0 && !g.Ready })
	if len(m.Groups) == 0 {
		m.Groups = nil
	}
}
