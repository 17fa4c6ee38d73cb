// The rules about what the user gives and takes afterwards, as far as a single
// step shows them: extensions of a budget, and what becomes of a worktree.

package agenttest

import (
	"errors"
	"fmt"

	"github.com/cadre-dev/cadre/internal/agent"
)

const settleTime = 60_000 // milliseconds that looking at a worktree may take

// extensions: the user is asked once a run, limits grow by what was given and
// by nothing else, and whatever a child is given its parent is too.
func extensions(s step) error {
	given, isGift := s.given()
	up := effects[agent.ExtendParent](s)
	switch {
	case isGift != (len(up) == 1) && !s.after.Spec.Orchestrator(), len(up) > 1:
		return fmt.Errorf("%v was given, the parent was told %v", given, up)
	case len(up) == 1 && (up[0].Amount != given || s.after.Spec.Orchestrator()):
		return fmt.Errorf("%v was given, the parent was told %v", given, up[0].Amount)
	}
	want := s.before.Run.Extra.Add(given)
	held, extra := s.after.Held, s.after.Run.Extra
	switch {
	case s.newRun() && (extra.Tokens > held.Tokens || extra.Cost > held.Cost):
		return fmt.Errorf("a new run begins with %v beyond the limits, its children hold %v", extra, held)
	case !s.newRun() && extra != want:
		return fmt.Errorf("%v are given beyond the limits, not %v", extra, want)
	}
	return s.askedForMore()
}

// given is what the event gives beyond the limits.
func (s step) given() (agent.Amount, bool) {
	switch ev := any(s.ev).(type) {
	case agent.Extended:
		return ev.Amount, true
	case agent.ApprovalAnswered:
		if p, ok := s.before.Phase.(agent.Extending); ok && p.Item == ev.Item && ev.Allow {
			return agent.Amount{Tokens: s.before.Spec.Limits.Tokens, Cost: s.before.Spec.Limits.Cost}, true
		}
	}
	return agent.Amount{}, false
}

// newRun tells whether a user message has begun a run of an orchestrator.
func (s step) newRun() bool { return s.after.Spec.Orchestrator() && has[agent.Place](s) }

// askedForMore: a spent budget is the user's to extend, once, before it ends
// anything.
func (s step) askedForMore() error {
	asked := 0
	for _, item := range effects[agent.OpenItem](s) {
		if item.Kind != "budget" {
			continue
		}
		asked++
		p, ok := s.after.Phase.(agent.Extending)
		switch {
		case !ok || p.Item != item.ID:
			return fmt.Errorf("more was asked for in phase %T", s.after.Phase)
		case s.before.Run.Asked && !s.newRun():
			return errors.New("the user was asked for more a second time")
		case !s.after.Run.Asked:
			return errors.New("it was not noted that the user was asked for more")
		case s.after.Spec.BudgetWait == 0 || p.Deadline != s.after.LastAt+s.after.Spec.BudgetWait || item.Deadline != p.Deadline:
			return fmt.Errorf("the user has until %d, shown is %d", p.Deadline, item.Deadline)
		}
	}
	if s.newRun() && s.after.Run.Asked != (asked == 1) {
		return errors.New("a new run remembers that the user was asked for more in the last one")
	}
	if in[agent.Extending](s.after) != (asked == 1) && !in[agent.Extending](s.before) {
		return fmt.Errorf("asked for more %d times in phase %T", asked, s.after.Phase)
	}
	if _, cancelled := s.ev.(agent.Cancel); cancelled || s.before.Spec.BudgetWait == 0 || s.before.Run.Asked {
		return nil
	}
	for _, c := range effects[agent.Conclude](s) {
		if c.Outcome.Reason == agent.ReasonBudget {
			return errors.New("the budget ended the work before the user was asked")
		}
	}
	return nil
}

// worktrees: an agent with a worktree of its own ends only after that was
// looked at, or by force; what it leaves is one inbox item, which outlives the
// agent and is decided once.
func worktrees(s step) error {
	settling, was := s.before.Phase.(agent.Settling)
	now, is := s.after.Phase.(agent.Settling)
	spec := s.after.Spec
	switch {
	case is && (!spec.Worktree || spec.Orchestrator()):
		return errors.New("an agent without a worktree settles one")
	case is && !was && (!has[agent.InspectWork](s) || now.Deadline != s.after.LastAt+settleTime || now.Outcome != s.after.Last):
		return fmt.Errorf("it settles %s until %d", outcome(now.Outcome), now.Deadline)
	case is && was && now.Outcome != settling.Outcome:
		return fmt.Errorf("%s became %s", outcome(settling.Outcome), outcome(now.Outcome))
	case was && !is && !s.after.Ended():
		return fmt.Errorf("after the outcome was decided it goes on in phase %T", s.after.Phase)
	case was && s.after.Last != settling.Outcome:
		return fmt.Errorf("%s was decided, %s is kept", outcome(settling.Outcome), outcome(s.after.Last))
	}
	if _, late := s.ev.(agent.Tick); late && was && is {
		return errors.New("it settles beyond its deadline")
	}
	return s.leftBehind()
}

// leftBehind: whether there is an item about the worktree, and that nobody is
// asked about an empty one.
func (s step) leftBehind() error {
	ends := s.after.Ended() && !s.before.Ended()
	opened := ""
	for _, item := range effects[agent.OpenItem](s) {
		if item.Kind == "worktree" {
			if opened != "" || !ends || item.Call != -1 || item.Deadline != 0 {
				return fmt.Errorf("item %s about the worktree in phase %T", item.ID, s.after.Phase)
			}
			opened = item.ID
		}
	}
	force := false
	if c, ok := s.ev.(agent.Cancel); ok {
		force = c.Force
	}
	seen, looked := s.ev.(agent.WorkInspected)
	switch {
	case ends && s.after.Spec.Worktree && !in[agent.Settling](s.before) && !force:
		return errors.New("it ended before its worktree was looked at")
	case ends && (opened != "") != (s.after.Spec.Worktree && (!looked || !seen.Empty)):
		return fmt.Errorf("it left the item %q", opened)
	case ends && s.after.Work != opened, !s.after.Ended() && s.after.Work != "":
		return fmt.Errorf("its work is item %q, opened was %q", s.after.Work, opened)
	}
	return nil
}

// decidedAfterTheEnd: what an ended agent still takes changes nothing but the
// one item.
func decidedAfterTheEnd(s step) error {
	decided, ok := s.ev.(agent.WorkDecided)
	if !ok {
		return fmt.Errorf("%s was taken after the end", agent.EventType(s.ev))
	}
	closed, only := agent.CloseItem{}, len(s.fx) == 1
	if only {
		closed, only = s.fx[0].(agent.CloseItem)
	}
	switch {
	case !only || closed.ID != decided.Item || closed.ID != s.before.Work || closed.How != decided.How:
		return fmt.Errorf("%s was decided of %s, closed by %v", decided.Item, s.before.Work, s.fx)
	case s.after.Work != "":
		return errors.New("the work is still undecided")
	case s.after.Phase != s.before.Phase || s.after.Last != s.before.Last:
		return fmt.Errorf("%v became %v", s.before.Phase, s.after.Phase)
	}
	return nil
}
