// How a state reads in a script: one line that tells the phase and whatever
// else is not empty, with times relative to the beginning of the script.

package agenttest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
)

// clock renders times relative to its own value.
type clock int64

func (c clock) at(t int64) string { return fmt.Sprintf("+%d", t-int64(c)) }

// state renders s in one line.
func (c clock) state(s agent.State) string {
	parts := []string{c.phase(s)}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if s.Unread > 0 {
		add("unread %d", s.Unread)
	}
	if len(s.Queue) > 0 {
		add("queue %s", strings.Join(s.Queue, " "))
	}
	if s.Choosing != nil {
		add("choosing %s", strings.Join(s.Choosing.Models, " "))
	}
	for _, g := range s.Groups {
		parts = append(parts, c.group(g))
	}
	if s.Run.Extra != (agent.Amount{}) {
		add("extra %s", amount(s.Run.Extra))
	}
	if s.Held != (agent.Amount{}) {
		add("held %s", amount(s.Held))
	}
	if s.Run.Own != (agent.Amount{}) {
		add("own %s", amount(s.Run.Own))
	}
	if s.Run.Children != (agent.Amount{}) {
		add("children %s", amount(s.Run.Children))
	}
	if s.Spec.Limits.Tokens > 0 || s.Spec.Limits.Cost > 0 || s.Spec.Window > 0 {
		add("context %d", s.Context)
	}
	if s.Run.Active > 0 {
		add("active %d", s.Run.Active)
	}
	if s.Model > 0 {
		add("model %d", s.Model)
	}
	if s.Epoch > 0 {
		add("epoch %d", s.Epoch)
	}
	if v := s.View; v != (agent.View{}) {
		add("view @%d for all before @%d, cleared before @%d", v.Summary, v.Keep, v.Clear)
	}
	if _, ok := s.Phase.(agent.Idle); ok && s.Last.Reason != "" {
		add("last %s", outcome(s.Last))
	}
	for _, r := range s.Repeats {
		add("%s gave %s %d times @%d", r.Key, cmp.Or(r.Same, "results"), r.Times, r.Pos)
	}
	if len(s.Waiting) > 0 {
		add("waiting %s", strings.Join(s.Waiting, " "))
	}
	if len(s.Answered) > 0 {
		add("answered %s", strings.Join(s.Answered, " "))
	}
	if s.Work != "" {
		add("work %s", short(s.Work))
	}
	if d := s.Deadline(); d > 0 {
		add("deadline %s", c.at(d))
	}
	return strings.Join(parts, "; ")
}

func (c clock) phase(s agent.State) string {
	switch p := s.Phase.(type) {
	case agent.Idle:
		return "idle"
	case agent.Thinking:
		out := fmt.Sprintf("thinking %d.%d", s.Turn, p.Try) + flags(p.Fails, p.Last, p.Shrunk)
		if p.Why != "" {
			out += " waits for " + p.Why
		}
		return out
	case agent.Backoff:
		return fmt.Sprintf("backoff %s before %d.%d", p.Why, s.Turn, p.Try) + flags(p.Fails, p.Last, p.Shrunk)
	case agent.Compacting:
		return fmt.Sprintf("compacting after %d.%d", s.Turn, p.Try) + flags(p.Fails, p.Last, false)
	case agent.Acting:
		calls := make([]string, len(p.Calls))
		for i, call := range p.Calls {
			calls[i] = call.ID + " " + string(call.Phase)
		}
		return fmt.Sprintf("acting %d: %s", s.Turn, strings.Join(calls, ", "))
	case agent.Accepting:
		return "accepting " + outcome(p.Outcome)
	case agent.Extending:
		return fmt.Sprintf("extending before %d.%d by %s", s.Turn, p.Then.Try, short(p.Item)) + flags(p.Then.Fails, p.Then.Last, p.Then.Shrunk)
	case agent.Settling:
		return "settling " + outcome(p.Outcome)
	case agent.Cancelling:
		out := "cancelling " + outcome(p.Outcome)
		if p.Kept > 0 {
			out += fmt.Sprintf(" kept %d", p.Kept)
		}
		return out
	case agent.Completed:
		return "COMPLETED " + outcome(p.Outcome)
	case agent.Failed:
		return "FAILED " + outcome(p.Outcome)
	}
	return "unborn"
}

func flags(fails int, last, shrunk bool) string {
	out := ""
	if fails > 0 {
		out += fmt.Sprintf(" fails %d", fails)
	}
	if last {
		out += " last"
	}
	if shrunk {
		out += " shrunk"
	}
	return out
}

func (c clock) group(g agent.Group) string {
	out := tasks(g.First, g.Size)
	if g.Wait < g.Size || g.Valid {
		out += fmt.Sprintf(" wait %d", g.Wait)
	}
	if g.Valid {
		out += " valid"
	}
	out += fmt.Sprintf(" done %d/%d live %d", g.Done, g.Size, g.Live)
	if g.Call < 0 {
		out += " detached"
	}
	if g.Deadline > 0 {
		out += " by " + c.at(g.Deadline)
	}
	if g.Closed {
		out += " closed " + string(g.Rest)
	}
	if g.Ready {
		out += " ready"
	}
	return out
}

func tasks(first, size int) string {
	if size == 1 {
		return fmt.Sprintf("task %d", first)
	}
	return fmt.Sprintf("tasks %d-%d", first, first+size-1)
}

// amount renders tokens as 5t and money as 7$, in millionths of a dollar.
func amount(a agent.Amount) string {
	var parts []string
	if a.Tokens != 0 {
		parts = append(parts, fmt.Sprintf("%dt", a.Tokens))
	}
	if a.Cost != 0 {
		parts = append(parts, fmt.Sprintf("%d$", a.Cost))
	}
	return strings.Join(parts, " ")
}

// outcome renders a reason, its kind and where the result stands: a reply,
// replies, or a call of a reply.
func outcome(o agent.Outcome) string {
	out := string(o.Reason)
	if o.Kind != "" {
		out += "/" + string(o.Kind)
	}
	r := o.Result
	switch {
	case r.None():
	case r.Call > 0:
		out += fmt.Sprintf(" result @%d#%d", r.From, r.Call)
	case r.From == r.To:
		out += fmt.Sprintf(" result @%d", r.From)
	default:
		out += fmt.Sprintf(" result @%d-%d", r.From, r.To)
	}
	return out
}
