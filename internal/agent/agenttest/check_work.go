// The rules about work that can be seen in a single step: limits, time,
// owners, cancels, failures and the order of tool calls.

package agenttest

import (
	"errors"
	"fmt"

	"github.com/cadre-dev/cadre/internal/agent"
)

// The numbers that the design leaves to the machine.
const (
	leastOutput   = 256
	defaultOutput = 8192
	firstDelay    = 500
	mostDelay     = 30_000 * 5 / 4
	mostFails     = 5
)

func maxOutput(s agent.Spec) int64 {
	if s.MaxOutput > 0 {
		return s.MaxOutput
	}
	return defaultOutput
}

// price of tokens, rounded up.
func price(tokens, perMillion int64) int64 { return (tokens*perMillion + 999_999) / 1_000_000 }

// limits hold before each model call, a compaction included: its input
// estimate and greatest output fit what is neither spent nor reserved.
func limits(s step) error {
	calls := effects[agent.CallModel](s)
	if len(calls) > 1 {
		return errors.New("two model calls at once")
	}
	for _, c := range calls {
		t, ok := s.after.Phase.(agent.Thinking)
		turns := s.after.Spec.Limits.Turns
		switch {
		case !ok || c.Turn != s.after.Turn || c.Try != t.Try || c.Last != t.Last:
			return fmt.Errorf("call %d.%d in phase %v", c.Turn, c.Try, s.after.Phase)
		case c.Last != (turns > 0 && s.after.Run.Turns > turns):
			return fmt.Errorf("turn %d of %d with last = %v", s.after.Run.Turns, turns, c.Last)
		case turns > 0 && s.after.Run.Turns > turns+1:
			return fmt.Errorf("turn %d of %d", s.after.Run.Turns, turns)
		case c.MaxOutput < min(leastOutput, maxOutput(s.after.Spec)) || c.MaxOutput > maxOutput(s.after.Spec):
			return fmt.Errorf("room for %d tokens", c.MaxOutput)
		case tooLong(s.after) && !t.Shrunk:
			return fmt.Errorf("a request of %d tokens to a model that reads %d", s.after.Context, s.after.Spec.Window)
		}
		if err := fits(s.after, c.MaxOutput); err != nil {
			return err
		}
	}
	if has[agent.Compact](s) {
		if _, ok := s.ev.(agent.Recovered); !ok { // then it was checked when it was first asked for
			return fits(s.after, min(leastOutput, maxOutput(s.after.Spec)))
		}
	}
	return nil
}

// tooLong tells whether the next request leaves too little of the model's
// window for an answer.
func tooLong(s agent.State) bool {
	w := s.Spec.Window
	return w > 0 && s.Context+min(maxOutput(s.Spec), w/4) > w
}

func fits(s agent.State, output int64) error {
	l, given := s.Spec.Limits, s.Run.Extra
	used := s.Run.Spent().Add(s.Held)
	switch {
	case l.Active > 0 && s.Run.Active >= l.Active:
		return fmt.Errorf("a model call after %d of %d ms", s.Run.Active, l.Active)
	case l.Tokens > 0 && used.Tokens+s.Context+output > l.Tokens+given.Tokens:
		return fmt.Errorf("a model call with %d+%d tokens after %d of %d", s.Context, output, used.Tokens, l.Tokens+given.Tokens)
	}
	cost := price(s.Context, s.Spec.Price.Input) + price(output, s.Spec.Price.Output)
	if l.Cost > 0 && used.Cost+cost > l.Cost+given.Cost {
		return fmt.Errorf("a model call for %d$ after %d$ of %d$", cost, used.Cost, l.Cost+given.Cost)
	}
	return nil
}

// activeTime counts model, tool and retry, and stands still otherwise and
// while the process is down.
func activeTime(s step) error {
	want := int64(0)
	if _, down := s.ev.(agent.Recovered); s.before.Active > 0 && !down {
		want = s.after.LastAt - s.before.Active
	}
	if got := s.after.Life.Active - s.before.Life.Active; got != want {
		return fmt.Errorf("%d ms counted, not %d", got, want)
	}
	run := s.before.Run.Active + want
	if s.after.Spec.Orchestrator() && has[agent.Place](s) {
		run = 0
	}
	if s.after.Run.Active != run {
		return fmt.Errorf("%d ms counted in the run, not %d", s.after.Run.Active, run)
	}
	since := int64(0)
	if works(s.after) {
		since = s.after.LastAt
	}
	if s.after.Active != since {
		return fmt.Errorf("active since %d in phase %T, not since %d", s.after.Active, s.after.Phase, since)
	}
	return nil
}

// owners: whatever waits has a deadline, an outside effect under way, or
// someone who can end it.
func owners(s step) error {
	a := s.after
	switch p := a.Phase.(type) {
	case agent.Completed, agent.Failed:
		if len(a.Outstanding()) > 0 || a.Deadline() != 0 || len(a.Groups) > 0 || a.Held != (agent.Amount{}) {
			return errors.New("something is left after the end")
		}
	case agent.Idle:
		if !a.Spec.Orchestrator() && !expects(a) {
			return errors.New("a sub-agent waits for nothing")
		}
	case agent.Thinking, agent.Compacting:
		if len(a.Outstanding()) == 0 || a.Deadline() == 0 {
			return errors.New("a model call without deadline")
		}
	case agent.Accepting:
		if len(a.Outstanding()) == 0 {
			return errors.New("nothing checks the acceptance")
		}
	case agent.Backoff:
		if a.Deadline() == 0 || a.Deadline() > p.Until {
			return errors.New("nothing ends the wait for a retry")
		}
	case agent.Cancelling:
		if a.Deadline() == 0 || a.LiveChildren() == 0 {
			return errors.New("a cancel waits for nothing, or for ever")
		}
	case agent.Extending:
		if p.Item == "" || p.Deadline == 0 || a.Deadline() == 0 || a.Deadline() > p.Deadline || len(a.Outstanding()) > 0 || !a.Run.Asked {
			return errors.New("a spent budget waits for nobody, or for ever")
		}
	case agent.Settling:
		if len(a.Outstanding()) != 1 || p.Deadline == 0 || a.Deadline() != p.Deadline {
			return errors.New("nobody looks at the worktree, or for ever")
		}
	case agent.Acting:
		return callOwners(a, p)
	default:
		return fmt.Errorf("unknown phase %T", p)
	}
	return nil
}

func callOwners(a agent.State, p agent.Acting) error {
	held := map[int]bool{}
	for _, g := range a.Groups {
		if g.Call >= 0 {
			held[g.Call] = true
			if g.Closed || g.Live == 0 || g.Call >= len(p.Calls) || p.Calls[g.Call].Phase != agent.CallChildren {
				return fmt.Errorf("%s holds call %d", tasks(g.First, g.Size), g.Call)
			}
		}
	}
	ahead := false // an earlier call of the queue is under way
	for i, c := range p.Calls {
		ordinary := c.Class == agent.ClassRead || c.Class == agent.ClassWrite
		switch c.Phase {
		case agent.CallDone, agent.CallRunning, agent.CallStarted:
		case agent.CallQueued:
			if !ordinary || !ahead {
				return fmt.Errorf("call %d waits for nothing", i)
			}
		case agent.CallApproval, agent.CallAsking, agent.CallAsked, agent.CallPaused:
			if c.Item == "" {
				return fmt.Errorf("call %d waits for no inbox item", i)
			}
			if d := a.Deadline(); c.Deadline > 0 && (d == 0 || d > c.Deadline) {
				return fmt.Errorf("nothing ends the wait of call %d", i)
			}
		case agent.CallChildren:
			if !held[i] {
				return fmt.Errorf("call %d waits for no child", i)
			}
		default:
			return fmt.Errorf("call %d in phase %q", i, c.Phase)
		}
		ahead = ahead || ordinary && c.Phase != agent.CallDone
	}
	return nil
}

// cancels work in every state: own work stops, open calls are answered,
// children are told, messages stay and nothing begins.
func cancels(s step) error {
	c, ok := s.ev.(agent.Cancel)
	if !ok {
		return nil
	}
	was, settled := in[agent.Cancelling](s.before), in[agent.Settling](s.before)
	switch s.after.Phase.(type) {
	case agent.Cancelling, agent.Settling:
		if c.Force {
			return errors.New("force waits")
		}
	case agent.Idle:
		if !s.after.Spec.Orchestrator() {
			return errors.New("a sub-agent became idle")
		}
	case agent.Completed:
		if !was && !settled {
			return errors.New("a cancelled agent completed")
		}
	case agent.Failed:
	case agent.Thinking, agent.Backoff, agent.Compacting, agent.Extending, agent.Acting, agent.Accepting:
		return fmt.Errorf("it goes on in phase %T", s.after.Phase)
	}
	switch {
	case len(s.after.Outstanding()) > 0 && !in[agent.Settling](s.after):
		return errors.New("work goes on")
	case len(s.before.Outstanding()) > 0 && !has[agent.StopWork](s):
		return errors.New("work was not stopped")
	case s.after.Spec.Orchestrator() && (len(s.after.Queue) != len(s.before.Queue) || has[agent.Place](s)):
		return errors.New("messages began something")
	}
	if a, ok := s.before.Phase.(agent.Acting); ok {
		for i, call := range a.Calls {
			if call.Phase != agent.CallDone && !s.answered(i, true) {
				return fmt.Errorf("call %d was left open", i)
			}
		}
	}
	if p, ok := s.after.Phase.(agent.Cancelling); ok && p.Kept != len(s.after.Queue) {
		return fmt.Errorf("%d of %d messages kept", p.Kept, len(s.after.Queue))
	}
	told := map[int]bool{}
	for _, child := range effects[agent.CancelChild](s) {
		if child.Force == c.Force {
			told[child.Task] = true
		}
	}
	for _, g := range s.before.Groups {
		for t := range g.Size {
			if !g.Ended.Has(t) && !told[g.First+t] && !settled && (c.Force || !was && !g.Closed) {
				return fmt.Errorf("task %d was not told", g.First+t)
			}
		}
	}
	for _, o := range effects[agent.Conclude](s) {
		want := c.Reason
		if in[agent.Idle](s.before) && s.before.Last.Reason != "" {
			want = s.before.Last.Reason // the run was over before
		}
		if o.Outcome.Reason != want {
			return fmt.Errorf("cancelled for %s, concluded %s", c.Reason, o.Outcome.Reason)
		}
		if a, ok := s.before.Phase.(agent.Accepting); ok && o.Outcome.Result != a.Outcome.Result {
			return fmt.Errorf("the submission at %v was lost", a.Outcome.Result)
		}
	}
	return nil
}

// failures of the model: which are tried again, when, and what that costs.
func failures(s step) error {
	t, ok := s.before.Phase.(agent.Thinking)
	if !ok {
		return nil
	}
	kind, after := agent.Failure(""), int64(0)
	switch ev := any(s.ev).(type) {
	case agent.ModelFailed:
		kind, after = ev.Kind, ev.RetryAfter
		if ev.GaveUp && s.before.Model+1 < len(s.before.Spec.Models) {
			// A limit may end the run, and a message that had waited choose its own.
			if s.after.Model != s.before.Model+1 && !has[agent.SetModel](s) {
				return errors.New("no other model took over from one that has no place")
			}
			return nil
		}
	case agent.ModelReplied:
		if ev.Text || len(ev.Calls) > 0 || ev.Stop == agent.StopRefusal || ev.Stop == agent.StopFilter || ev.Stop == agent.StopLength {
			return nil
		}
		kind = agent.FailEmpty
	default:
		return nil
	}
	fails := t.Fails
	switch kind {
	case agent.FailRateLimit:
	case agent.FailOverloaded, agent.FailNetwork, agent.FailTimeout, agent.FailServer, agent.FailEmpty:
		fails++
	case agent.FailOverflow:
		if !t.Shrunk && !in[agent.Compacting](s.after) && !in[agent.Extending](s.after) && !has[agent.Conclude](s) {
			return errors.New("the first overflow was not compacted")
		}
		if t.Shrunk && !has[agent.Conclude](s) {
			return errors.New("an overflow after compaction went on")
		}
		return nil
	case agent.FailAuth, agent.FailPermission, agent.FailNotFound, agent.FailQuota, agent.FailBadRequest, agent.FailFilter:
		if in[agent.Backoff](s.after) {
			return fmt.Errorf("%s was tried again", kind)
		}
		return nil
	}
	b, ok := s.after.Phase.(agent.Backoff)
	if !ok {
		if kind == agent.FailRateLimit || fails < mostFails {
			return fmt.Errorf("%s after %d failures was not tried again", kind, fails)
		}
		return nil
	}
	wait := b.Until - s.after.LastAt
	switch {
	case fails >= mostFails || b.Fails != fails:
		return fmt.Errorf("%s: %d failures counted, not %d", kind, b.Fails, fails)
	case b.Try != t.Try+1 || b.Last != t.Last || b.Shrunk != t.Shrunk:
		return fmt.Errorf("try %d follows %d", b.Try, t.Try)
	case wait < max(after, firstDelay) || wait > max(after, mostDelay):
		return fmt.Errorf("a wait of %d ms, asked for were %d", wait, after)
	}
	return nil
}

// callOrder: consecutive reads together, writes alone, in call order;
// delegations and questions at once.
func callOrder(s step) error {
	p, ok := s.after.Phase.(agent.Acting)
	if !ok {
		return nil
	}
	open, write := false, false // among the earlier ones
	for i, c := range p.Calls {
		switch c.Class {
		case agent.ClassRead, agent.ClassWrite:
		case agent.ClassDelegate, agent.ClassAsk, agent.ClassSubmit, agent.ClassGiveUp:
			if c.Phase == agent.CallQueued {
				return fmt.Errorf("call %d (%s) was queued", i, c.Class)
			}
			continue
		default:
			if c.Phase != agent.CallDone {
				return fmt.Errorf("call %d has class %q", i, c.Class)
			}
			continue
		}
		if c.Phase == agent.CallDone {
			continue
		}
		mayRun := !write && (c.Class == agent.ClassRead || !open)
		if mayRun == (c.Phase == agent.CallQueued) {
			return fmt.Errorf("call %d (%s) is %s", i, c.Class, c.Phase)
		}
		open = true
		write = write || c.Class == agent.ClassWrite
	}
	return nil
}
