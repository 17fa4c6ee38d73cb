// The rules about children that can be seen in a single step: spawning, the
// fan-in, waits, detaching, budgets and capabilities.

package agenttest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cadre-dev/cadre/internal/agent"
)

// allOrNothing: of a delegating call all tasks start or none, and none where
// one of them is bad.
func allOrNothing(s step) error {
	started := effects[agent.StartChild](s)
	for i, c := range started {
		if c.Task != s.before.Tasks+1+i {
			return fmt.Errorf("task %d follows task %d", c.Task, s.before.Tasks+i)
		}
	}
	if s.after.Tasks != s.before.Tasks+len(started) {
		return fmt.Errorf("%d tasks counted, %d started", s.after.Tasks-s.before.Tasks, len(started))
	}
	r, ok := s.ev.(agent.ModelReplied)
	if !ok {
		if len(started) > 0 {
			return errors.New("a child was started by something other than a reply")
		}
		return nil
	}
	for i, p := range r.Calls {
		n := 0
		for _, c := range started {
			if c.Call == i {
				n++
			}
		}
		if n == 0 {
			if p.Class == agent.ClassDelegate && !s.answered(i, true) {
				return fmt.Errorf("call %d started nothing and was not told so", i)
			}
			continue
		}
		if why := badPlan(s.before, p, r.Agents+before(started, i)); why != "" {
			return fmt.Errorf("call %d started %d tasks although %s", i, n, why)
		}
		if n != len(p.Plan.Tasks) {
			return fmt.Errorf("call %d started %d of %d tasks", i, n, len(p.Plan.Tasks))
		}
	}
	return nil
}

// before counts the children that calls before call i have started.
func before(started []agent.StartChild, i int) int {
	n := 0
	for _, c := range started {
		if c.Call < i {
			n++
		}
	}
	return n
}

// badPlan says why nothing of a plan may start, as far as one can tell
// without the budget.
func badPlan(s agent.State, p agent.Proposal, agents int) string {
	t, _ := s.Phase.(agent.Thinking)
	switch {
	case p.Class != agent.ClassDelegate || p.Plan == nil:
		return "it is no delegation"
	case p.Refused:
		return "its input is bad"
	case t.Last:
		return "the turn limit is reached"
	case !slices.Contains(s.Spec.Tools, p.Name):
		return "the agent does not have the tool"
	case s.Spec.Depth >= s.Spec.MaxDepth:
		return "the depth limit is reached"
	case p.Plan.Wait < 0 || p.Plan.Wait > len(p.Plan.Tasks):
		return "it waits for more tasks than there are"
	case s.Spec.Limits.Children > 0 && len(p.Plan.Tasks) > s.Spec.Limits.Children-s.LiveChildren():
		return "too many would run at once"
	case s.Spec.Limits.Agents > 0 && len(p.Plan.Tasks) > s.Spec.Limits.Agents-agents:
		return "the chat would have too many agents"
	}
	for _, t := range p.Plan.Tasks {
		if t.Tool != "" {
			if !slices.Contains(s.Spec.Tools, t.Tool) || t.Class != agent.ClassRead && t.Class != agent.ClassWrite {
				return "the tool " + t.Tool + " cannot be run"
			}
			continue
		}
		if !slices.Contains(s.Spec.Delegates, t.Role) {
			return "the role " + t.Role + " is not allowed"
		}
		if !t.Priced && (t.Cost > 0 || s.Spec.Limits.Cost > 0) {
			return "the price of a model is not known"
		}
	}
	return ""
}

// fanIn: per group, pending + done = spawned, pending only shrinks, done only
// grows, and only the end of a child changes what has ended.
func fanIn(s step) error {
	for _, g := range s.after.Groups {
		ended := 0
		for t := range g.Size {
			if g.Ended.Has(t) {
				ended++
			}
		}
		switch {
		case ended+g.Live != g.Size:
			return fmt.Errorf("%s: %d ended, %d live", tasks(g.First, g.Size), ended, g.Live)
		case g.Closed && g.Done != g.Size:
			return fmt.Errorf("%s: closed with %d done", tasks(g.First, g.Size), g.Done)
		case !g.Closed && g.Done != ended:
			return fmt.Errorf("%s: %d ended, %d done", tasks(g.First, g.Size), ended, g.Done)
		case g.Pending()+g.Done != g.Size || g.Pending() < 0 || g.Good > g.Done:
			return fmt.Errorf("%s: %d pending, %d done, %d good", tasks(g.First, g.Size), g.Pending(), g.Done, g.Good)
		}
		if old, ok := groupOf(s.before, g.First); ok {
			if err := grown(s, old, g); err != nil {
				return fmt.Errorf("%s: %w", tasks(g.First, g.Size), err)
			}
		} else if g.First <= s.before.Tasks {
			return fmt.Errorf("%s came back", tasks(g.First, g.Size))
		}
	}
	if s.after.Ended() {
		return nil
	}
	for _, g := range s.before.Groups {
		if _, ok := groupOf(s.after, g.First); ok {
			continue
		}
		live := g.Live
		if e, ok := s.ev.(agent.ChildEnded); ok && e.Task >= g.First && e.Task < g.First+g.Size {
			live--
		}
		delivered := slices.ContainsFunc(effects[agent.AddResults](s), func(a agent.AddResults) bool {
			return slices.ContainsFunc(a.Groups, func(r agent.TaskRange) bool { return r.First == g.First })
		})
		dying := (in[agent.Cancelling](s.after) || in[agent.Settling](s.after)) && !s.after.Spec.Orchestrator() // nobody is left to be told
		if live > 0 || (g.Ready || !g.Closed) && !delivered && !dying {
			return fmt.Errorf("%s was forgotten: %d live", tasks(g.First, g.Size), live)
		}
	}
	return nil
}

func groupOf(s agent.State, first int) (agent.Group, bool) {
	for _, g := range s.Groups {
		if g.First == first {
			return g, true
		}
	}
	return agent.Group{}, false
}

func grown(s step, old, g agent.Group) error {
	switch {
	case old.Size != g.Size || old.Wait != g.Wait || old.Valid != g.Valid:
		return errors.New("it is another group")
	case g.Done < old.Done || g.Good < old.Good || g.Live > old.Live:
		return fmt.Errorf("done %d to %d, live %d to %d", old.Done, g.Done, old.Live, g.Live)
	case old.Closed && !g.Closed:
		return errors.New("it was opened again")
	case old.Call < 0 && g.Call >= 0:
		return errors.New("it was attached again")
	}
	e, ok := s.ev.(agent.ChildEnded)
	mine := ok && e.Task >= g.First && e.Task < g.First+g.Size
	if good := mine && !old.Closed && e.Reason == agent.ReasonCompleted; good != (g.Good == old.Good+1) {
		return fmt.Errorf("%d valid ones became %d", old.Good, g.Good)
	}
	for t := range g.Size {
		now := ok && e.Task == g.First+t
		if g.Ended.Has(t) != (old.Ended.Has(t) || now) {
			return fmt.Errorf("task %d ended without a report", g.First+t)
		}
	}
	return nil
}

// waits: a group is closed as soon as it is satisfied, not later, and the
// commit that closes it ends the others.
func waits(s step) error {
	cancelled := map[int]agent.CancelChild{}
	for _, c := range effects[agent.CancelChild](s) {
		if _, twice := cancelled[c.Task]; twice {
			return fmt.Errorf("task %d was cancelled twice", c.Task)
		}
		cancelled[c.Task] = c
	}
	for _, g := range s.after.Groups {
		old, known := groupOf(s.before, g.First)
		if !g.Closed {
			if g.Done == g.Size || !g.Valid && g.Done >= g.Wait || g.Valid && g.Good >= g.Wait {
				return fmt.Errorf("%s: satisfied but open", tasks(g.First, g.Size))
			}
			continue
		}
		if known && old.Closed {
			continue
		}
		_, childEnded := s.ev.(agent.ChildEnded)
		if childEnded && in[agent.Cancelling](s.before) {
			continue // they were told when the cancel began
		}
		for t := range g.Size {
			c, ok := cancelled[g.First+t]
			switch {
			case g.Ended.Has(t):
			case !ok:
				return fmt.Errorf("task %d goes on after its group was closed", g.First+t)
			case childEnded && c.Reason != agent.ReasonSuperseded:
				return fmt.Errorf("task %d was superseded, but told %s", g.First+t, c.Reason)
			}
		}
	}
	return nil
}

// detaching: calls stay open while ordinary ones run; once only delegations
// are open a waiting message detaches them, and what is opened in its presence
// or in the background starts detached.
func detaching(s step) error {
	a, ok := s.after.Phase.(agent.Acting)
	if ok {
		ordinary, delegated := 0, 0
		for _, c := range a.Calls {
			switch c.Phase {
			case agent.CallDone:
			case agent.CallChildren:
				delegated++
			case agent.CallQueued, agent.CallRunning, agent.CallStarted, agent.CallPaused, agent.CallApproval, agent.CallAsking, agent.CallAsked:
				ordinary++
			}
		}
		switch {
		case ordinary+delegated == 0:
			return errors.New("no call is open, but no turn began")
		case ordinary == 0 && len(s.after.Queue) > 0:
			return errors.New("a user message waits for delegations")
		}
	}
	r, isReply := s.ev.(agent.ModelReplied)
	if !isReply {
		return nil
	}
	for i, p := range r.Calls {
		for _, c := range effects[agent.StartChild](s) {
			if c.Call != i {
				continue
			}
			g, found := groupOf(s.after, c.Task)
			if !found {
				continue // not the first of its group
			}
			if want := !p.Plan.Background && len(s.before.Queue) == 0; ok && want != (g.Call == i) {
				return fmt.Errorf("%s: held open by call %d", tasks(g.First, g.Size), g.Call)
			}
		}
	}
	return nil
}

// budgets: a child gets at most its own maximum and its share, and the parent
// keeps a turn back.
func budgets(s step) error {
	started := effects[agent.StartChild](s)
	if len(started) == 0 {
		return nil
	}
	r := s.ev.(agent.ModelReplied)
	l, spent := s.after.Spec.Limits, s.before.Run.Spent().Add(r.Spent)
	plans := map[int]*agent.Plan{}
	for i, p := range r.Calls {
		plans[i] = p.Plan
	}
	left := agent.Amount{Tokens: l.Tokens, Cost: l.Cost}.Add(s.before.Run.Extra).Sub(spent).Sub(s.before.Held)
	nth, models := map[int]int{}, false
	for _, c := range started {
		got, plan := c.Spec.Limits, plans[c.Call]
		own := plan.Tasks[nth[c.Call]]
		nth[c.Call]++
		n := int64(len(plan.Tasks))
		run := c.Spec.ToolRun() // no model, no cost
		models = models || !run
		switch {
		case run && got.Tokens+got.Cost > 0:
			return fmt.Errorf("task %d got %v to run a tool", c.Task, got)
		case own.Tokens > 0 && got.Tokens > own.Tokens, own.Cost > 0 && got.Cost > own.Cost:
			return fmt.Errorf("task %d got %v, more than its own maximum", c.Task, got)
		case !run && l.Tokens > 0 && (got.Tokens <= 0 || got.Tokens > left.Tokens/n):
			return fmt.Errorf("task %d got %d tokens of %d for %d", c.Task, got.Tokens, left.Tokens, n)
		case !run && l.Cost > 0 && (got.Cost <= 0 || got.Cost > left.Cost/n):
			return fmt.Errorf("task %d got %d$ of %d$ for %d", c.Task, got.Cost, left.Cost, n)
		case nth[c.Call] == len(plan.Tasks):
			for _, same := range started {
				if same.Call == c.Call {
					left = left.Sub(agent.Amount{Tokens: same.Spec.Limits.Tokens, Cost: same.Spec.Limits.Cost})
				}
			}
		}
	}
	turn := maxOutput(s.before.Spec)
	switch {
	case !models:
	case l.Tokens > 0 && left.Tokens < turn:
		return fmt.Errorf("%d tokens are left to read the results", left.Tokens)
	case l.Cost > 0 && left.Cost < price(turn, s.before.Spec.Price.Output):
		return fmt.Errorf("%d$ are left to read the results", left.Cost)
	}
	return nil
}

// restricts tells whether bounds contain all of the others.
func restricts(bounds, others [][]string) bool {
	return !slices.ContainsFunc(others, func(list []string) bool {
		return !slices.ContainsFunc(bounds, func(b []string) bool { return slices.Equal(b, list) })
	})
}

// capabilities only shrink downwards, and are enforced where a tool runs.
func capabilities(s step) error {
	spec := s.after.Spec
	for _, c := range effects[agent.StartChild](s) {
		may, bounds := spec.Delegable, spec.Passed
		if c.Spec.ToolRun() {
			may, bounds = spec.Tools, spec.Bounds
			if c.Spec.Role != spec.Role || len(c.Spec.Tools) != 1 || c.Spec.Tools[0] != c.Spec.Tool {
				return fmt.Errorf("task %d runs %s as %s with %v", c.Task, c.Spec.Tool, c.Spec.Role, c.Spec.Tools)
			}
		}
		for _, t := range slices.Concat(c.Spec.Tools, c.Spec.Delegable) {
			if !slices.Contains(may, t) {
				return fmt.Errorf("task %d got %s, which its parent may not delegate", c.Task, t)
			}
		}
		if !restricts(c.Spec.Bounds, bounds) || !restricts(c.Spec.Passed, spec.Passed) {
			return fmt.Errorf("task %d is free of a restriction that holds below its parent", c.Task)
		}
		switch {
		case c.Spec.Depth != spec.Depth+1 || c.Spec.Depth > spec.MaxDepth || c.Spec.MaxDepth != spec.MaxDepth:
			return fmt.Errorf("task %d has depth %d of %d", c.Task, c.Spec.Depth, c.Spec.MaxDepth)
		case c.Spec.Parent != spec.ID || c.Spec.Chat != spec.Chat || c.Spec.User != spec.User || c.Spec.Number != c.Task:
			return fmt.Errorf("task %d belongs to %s", c.Task, c.Spec.Parent)
		case c.Spec.ID != fmt.Sprintf("%s.%d", spec.ID, c.Task):
			return fmt.Errorf("task %d has id %s", c.Task, c.Spec.ID)
		case c.Spec.BudgetWait != spec.BudgetWait || c.Spec.CancelGrace != spec.CancelGrace || c.Spec.Limits.Agents != spec.Limits.Agents:
			return fmt.Errorf("task %d lives by other rules than its parent", c.Task)
		case c.Spec.Cause != s.before.Cause:
			return fmt.Errorf("task %d is there because of %s, not %s", c.Task, c.Spec.Cause, s.before.Cause)
		}
	}
	for _, r := range effects[agent.RunTool](s) {
		if !slices.Contains(spec.Tools, r.Name) {
			return fmt.Errorf("%s runs, which the agent does not have", r.Name)
		}
	}
	if has[agent.Consult](s) && (spec.Orchestrator() || spec.Confidence == 0) {
		return errors.New("a question was put to the orchestrator's model that is not to be asked")
	}
	return nil
}
