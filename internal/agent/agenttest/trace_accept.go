// Which events must be taken and which refused, and how. Refusing what should
// be taken loses it; taking what should be refused counts it twice.

package agenttest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cadre-dev/cadre/internal/agent"
)

// The verdicts on an event.
const (
	taken      = ""
	stale      = "stale"
	impossible = "impossible"
	notWaiting = "not waiting"
	hasEnded   = "ended"
	isEnding   = "ending"
	noReader   = "no reader"
	noPrice    = "no price"
	// refused: stale or impossible. The state cannot always tell which.
	refused = "refused"
)

func verdict(err error) string {
	switch {
	case err == nil:
		return taken
	case errors.Is(err, agent.ErrStale):
		return stale
	case errors.Is(err, agent.ErrImpossible):
		return impossible
	case errors.Is(err, agent.ErrNotWaiting):
		return notWaiting
	case errors.Is(err, agent.ErrEnded):
		return hasEnded
	case errors.Is(err, agent.ErrNoReader):
		return noReader
	case errors.Is(err, agent.ErrEnding):
		return isEnding
	case errors.Is(err, agent.ErrNoPrice):
		return noPrice
	}
	return err.Error()
}

// expected compares the verdict on an event with what it must be. The state
// and the ledgers are those from before the event.
func (tr *Trace) expected(ev agent.Event, err error) error {
	want, got := tr.mustBe(ev), verdict(err)
	if want == got || want == refused && (got == stale || got == impossible) {
		return nil
	}
	return fmt.Errorf("the verdict is %q, not %q (%w)", got, want, errors.Join(err, errVerdict))
}

var errVerdict = errors.New("wrong verdict")

func (tr *Trace) mustBe(ev agent.Event) string {
	s := tr.State
	switch ev := any(ev).(type) {
	case agent.Created:
		switch {
		case s.Phase != nil:
			return impossible
		case ev.Spec.Limits.Cost > 0 && !ev.Spec.Price.Known:
			return noPrice
		}
		return taken
	case agent.Migrated:
		if ev.Spec.ID == "" || ev.State.Phase == nil || s.Phase != nil && ev.Spec.ID != s.Spec.ID || s.Ended() && !ev.State.Ended() {
			return impossible
		}
		return taken
	}
	switch {
	case s.Phase == nil:
		return impossible
	case s.Ended():
		return tr.afterTheEnd(ev)
	}
	return tr.mustBeAlive(ev)
}

func (tr *Trace) afterTheEnd(ev agent.Event) string {
	switch ev := any(ev).(type) {
	case agent.UserMessage:
		return hasEnded
	case agent.ApprovalAnswered, agent.QuestionAnswered:
		return notWaiting
	case agent.WorkDecided:
		if tr.inbox.open[ev.Item] == "worktree" {
			return taken
		}
		return notWaiting
	}
	return stale
}

func (tr *Trace) mustBeAlive(ev agent.Event) string {
	s := tr.State
	iff := func(cond bool, otherwise string) string {
		if cond {
			return taken
		}
		return otherwise
	}
	switch ev := ev.(type) {
	case agent.UserMessage:
		if s.Spec.ToolRun() {
			return noReader
		}
		if !s.Spec.Orchestrator() && (in[agent.Cancelling](s) || in[agent.Settling](s)) {
			return isEnding
		}
		switch c := ev.Choice; {
		case slices.Contains(tr.history.queue, ev.ID):
			return stale
		case c != nil && !s.Spec.Orchestrator():
			return impossible
		case c != nil && s.Spec.Limits.Cost > 0 && !c.Price.Known:
			return noPrice
		}
		return taken
	case agent.ModelQueued:
		return tr.modelOutcome(ev.Turn, ev.Try)
	case agent.ModelReplied:
		return tr.modelOutcome(ev.Turn, ev.Try)
	case agent.ModelFailed:
		return tr.modelOutcome(ev.Turn, ev.Try)
	case agent.Compacted:
		return iff(tr.outside.running[compactKey(ev.Turn)], refused)
	case agent.ToolStarted:
		key := toolKey(ev.Turn, ev.Call)
		r := tr.outside.runs[key]
		return iff(tr.outside.running[key] && r != nil && r.write && !r.started, refused)
	case agent.ToolFinished:
		return iff(tr.outside.running[toolKey(ev.Turn, ev.Call)], refused)
	case agent.ApprovalNeeded:
		key := toolKey(ev.Turn, ev.Call)
		return iff(tr.outside.running[key] && !tr.outside.runs[key].started && tr.talks.paused[key] == "", refused)
	case agent.ToolAsked:
		key := toolKey(ev.Turn, ev.Call)
		r := tr.outside.runs[key]
		return iff(tr.outside.running[key] && tr.talks.paused[key] == "" && (!r.write || r.started), refused)
	case agent.ApprovalAnswered:
		kind := tr.inbox.open[ev.Item]
		return iff(kind == "approval" || kind == "budget", notWaiting)
	case agent.QuestionAnswered:
		kind := tr.inbox.open[ev.Item]
		return iff(kind == "question" || kind == "elicitation", notWaiting)
	case agent.TaskAsks:
		return tr.waiting.expects(ev, s.Spec)
	case agent.WorkInspected:
		return iff(tr.outside.running[inspectKey], stale)
	case agent.WorkDecided:
		return notWaiting
	case agent.Consulted:
		return iff(tr.outside.running[consultKey(ev.Item)], stale)
	case agent.ChildEnded:
		switch {
		case ev.Task < 1 || ev.Task > tr.family.started:
			return impossible
		case tr.family.ended[ev.Task]:
			return stale
		}
		return taken
	case agent.AcceptanceDone:
		return iff(tr.outside.running[acceptKey], stale)
	case agent.Cancel:
		return mustCancel(s, ev)
	case agent.Tick:
		d := s.Deadline()
		return iff(d > 0 && max(int64(ev.At), s.LastAt) >= d, stale)
	case agent.Recovered:
		return iff(works(s) || len(tr.outside.running) > 0 || in[agent.Cancelling](s), stale)
	case agent.Charged, agent.Extended:
		return taken
	case agent.Created, agent.Migrated:
	}
	return impossible
}

func (tr *Trace) modelOutcome(turn, try int) string {
	switch {
	case tr.outside.running[modelKey(turn, try)]:
		return taken
	case tr.outside.called[modelKey(turn, try)]:
		return stale
	case turn < 1 || try < 1 || turn > tr.State.Turn:
		return impossible
	}
	return refused
}

func mustCancel(s agent.State, c agent.Cancel) string {
	switch c.Reason {
	case agent.ReasonCancelled, agent.ReasonTimeout, agent.ReasonBudget, agent.ReasonSuperseded, agent.ReasonInterrupted:
	case agent.ReasonCompleted, agent.ReasonPartial, agent.ReasonFailed, agent.ReasonMaxTurns:
		return impossible
	default:
		return impossible
	}
	switch p := s.Phase.(type) {
	case agent.Cancelling:
		if !c.Force && p.Kept == len(s.Queue) {
			return stale
		}
	case agent.Idle:
		if s.Spec.Orchestrator() && s.LiveChildren() == 0 {
			return stale
		}
	case agent.Settling:
		if !c.Force {
			return stale
		}
	case agent.Thinking, agent.Backoff, agent.Compacting, agent.Extending, agent.Acting, agent.Accepting, agent.Completed, agent.Failed:
	}
	return taken
}
