// The rules of the design that can be seen in a single step, and those of
// them that are about ends, replies, turns and the frame of the state.

package agenttest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/cadre-dev/cadre/internal/agent"
)

// step is one applied event: what was, what happened, what is, what follows.
type step struct {
	before agent.State
	ev     agent.Event
	after  agent.State
	fx     []agent.Effect
}

// rules are named by their number in the design.
var rules = []struct {
	name  string
	check func(step) error
}{
	{"1 (ends)", ends},
	{"2 (replies)", replies},
	{"3 (outcomes)", outcomes},
	{"4 (all or nothing)", allOrNothing},
	{"5 (fan-in)", fanIn},
	{"6 (wait)", waits},
	{"7 (detaching)", detaching},
	{"8 (input of a turn)", newTurn},
	{"8 (unread)", unread},
	{"11 (limits)", limits},
	{"11 (active time)", activeTime},
	{"12 (budgets)", budgets},
	{"12 (extensions)", extensions},
	{"13 (owners)", owners},
	{"14 (cancel)", cancels},
	{"14 (worktrees)", worktrees},
	{"15 (failures)", failures},
	{"16 (order of calls)", callOrder},
	{"17 (capabilities)", capabilities},
	{"of tool runs", toolRuns},
	{"of models", chosen},
	{"of the frame", frame},
}

// Check asserts every rule that can be seen in one step that Step has taken.
// A Migrated event replaces the state and is held to the rules about states
// only.
func Check(before agent.State, ev agent.Event, after agent.State, fx []agent.Effect) error {
	s := step{before, ev, after, fx}
	if _, ok := ev.(agent.Migrated); ok {
		return errors.Join(callOrder(s), owners(s))
	}
	if before.Ended() {
		return errors.Join(decidedAfterTheEnd(s), owners(s))
	}
	for _, r := range rules {
		if err := r.check(s); err != nil {
			return fmt.Errorf("rule %s: %w", r.name, err)
		}
	}
	return nil
}

// effects returns the effects of one type.
func effects[E agent.Effect](s step) []E {
	var out []E
	for _, f := range s.fx {
		if e, ok := f.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

func has[E agent.Effect](s step) bool { return len(effects[E](s)) > 0 }

// in tells whether a state is in one phase.
func in[P agent.Phase](s agent.State) bool {
	_, ok := s.Phase.(P)
	return ok
}

// ends: terminal is terminal, for sub-agents only, and the parent is told in
// the same step; an orchestrator's run that ends is told to observers.
func ends(s step) error {
	reports := effects[agent.Report](s)
	if s.after.Spec.Orchestrator() {
		switch {
		case s.after.Ended():
			return errors.New("an orchestrator reached a terminal phase")
		case len(reports) > 0:
			return errors.New("an orchestrator reported to a parent")
		case s.before.Phase != nil && !in[agent.Idle](s.before) && in[agent.Idle](s.after) && !expects(s.after) && !has[agent.Done](s):
			return errors.New("a run ended without being told")
		}
		return nil
	}
	if has[agent.Done](s) {
		return errors.New("a sub-agent told of a run")
	}
	if !s.after.Ended() {
		if len(reports) > 0 {
			return errors.New("a report before the end")
		}
		return nil
	}
	if len(reports) != 1 {
		return fmt.Errorf("%d reports at the end", len(reports))
	}
	r := reports[0]
	var o agent.Outcome
	switch p := s.after.Phase.(type) {
	case agent.Completed:
		o = p.Outcome
	case agent.Failed:
		o = p.Outcome
	case agent.Idle, agent.Thinking, agent.Backoff, agent.Compacting, agent.Extending, agent.Acting, agent.Accepting, agent.Cancelling, agent.Settling:
	}
	held := agent.Amount{Tokens: s.after.Spec.Limits.Tokens, Cost: s.after.Spec.Limits.Cost}.Add(s.after.Run.Extra)
	switch {
	case r.Outcome != o || s.after.Last != o:
		return fmt.Errorf("ended with %s, reported %s, kept %s", outcome(o), outcome(r.Outcome), outcome(s.after.Last))
	case o.Success() != in[agent.Completed](s.after):
		return fmt.Errorf("%s in phase %T", outcome(o), s.after.Phase)
	case r.Task != s.after.Spec.Number:
		return fmt.Errorf("reported as task %d", r.Task)
	case r.Spent != s.after.Life.Spent():
		return fmt.Errorf("spent %v, reported %v", s.after.Life.Spent(), r.Spent)
	case r.Held != held:
		return fmt.Errorf("returned %v, held were %v", r.Held, held)
	}
	return nil
}

// works tells whether an agent is at work on something of its own.
func works(s agent.State) bool {
	switch p := s.Phase.(type) {
	case agent.Thinking:
		return p.Why == ""
	case agent.Backoff, agent.Compacting, agent.Accepting:
		return true
	case agent.Acting:
		return slices.ContainsFunc(p.Calls, func(c agent.Call) bool {
			return c.Phase == agent.CallRunning || c.Phase == agent.CallStarted
		})
	case agent.Idle, agent.Extending, agent.Cancelling, agent.Settling, agent.Completed, agent.Failed:
	}
	return false
}

// expects tells whether a child can still report what the model will be told.
func expects(s agent.State) bool {
	return slices.ContainsFunc(s.Groups, func(g agent.Group) bool { return !g.Closed })
}

func terminalClass(c agent.Class) bool { return c == agent.ClassSubmit || c == agent.ClassGiveUp }

// replies: what counts as success, and what a submission next to other calls
// leads to.
func replies(s step) error {
	r, ok := s.ev.(agent.ModelReplied)
	if !ok {
		return nil
	}
	t := s.before.Phase.(agent.Thinking)
	success, submitted := false, false
	for _, c := range effects[agent.Conclude](s) {
		success = success || c.Outcome.Success()
		submitted = submitted || c.Outcome.Result.Call > 0
	}
	text := r.Text && len(r.Calls) == 0
	switch {
	case !success:
	case r.Stop == agent.StopRefusal || r.Stop == agent.StopFilter:
		return errors.New("a refusal counted as success")
	case !r.Text && len(r.Calls) == 0:
		return errors.New("an empty answer counted as success")
	case t.Last:
		return errors.New("the turn limit counted as success")
	case text && r.Stop == agent.StopLength:
		return errors.New("an answer cut off counted as success")
	case text && s.before.Spec.Schema && !s.before.Spec.Orchestrator():
		return errors.New("plain text counted as success in spite of the output schema")
	}
	if text && !t.Last {
		if err := s.unfinished(r.Stop); err != nil {
			return err
		}
	}
	if len(r.Calls) < 2 {
		return nil
	}
	if submitted {
		return errors.New("a submission next to other calls was taken")
	}
	for i, c := range r.Calls {
		if terminalClass(c.Class) && !s.answered(i, true) {
			return fmt.Errorf("%s next to other calls was not returned as an error", c.Name)
		}
	}
	return nil
}

// unfinished: an answer that was cut off is continued once, plain text in
// spite of an output schema is sent back once; the second time it is the end.
func (s step) unfinished(stop agent.Stop) error {
	goesOn := s.after.Turn > s.before.Turn
	news := len(s.before.Queue) > 0 || slices.ContainsFunc(s.before.Groups, func(g agent.Group) bool { return g.Ready })
	switch spec := s.before.Spec; {
	case stop == agent.StopLength && !s.before.Continued:
		if !goesOn {
			return errors.New("an answer cut off was not continued")
		}
	case news:
		if !goesOn {
			return errors.New("what had arrived was passed over")
		}
	case stop != agent.StopLength && expects(s.before):
	case stop == agent.StopLength:
		if goesOn {
			return errors.New("an answer cut off twice was continued")
		}
	case spec.Schema && !spec.Orchestrator() && goesOn == s.before.Corrected:
		return fmt.Errorf("plain text was sent back: %v, before that: %v", goesOn, s.before.Corrected)
	}
	return nil
}

// answered tells whether call i got its result in this step.
func (s step) answered(i int, isError bool) bool {
	return slices.ContainsFunc(effects[agent.SetCall](s), func(c agent.SetCall) bool {
		return c.Call == i && c.Phase == agent.CallDone && c.IsError == isError
	})
}

// outcomes: each has a known reason, a kind if and only if it failed, and a
// result if it is success.
func outcomes(s step) error {
	var all []agent.Outcome
	for _, f := range s.fx {
		switch f := any(f).(type) {
		case agent.Conclude:
			all = append(all, f.Outcome)
		case agent.Report:
			all = append(all, f.Outcome)
		case agent.Done:
			all = append(all, f.Outcome)
		}
	}
	for _, o := range all {
		switch {
		case o.Names() == agent.Names{}:
			return fmt.Errorf("unknown reason %q", o.Reason)
		case (o.Kind != "") != (o.Reason == agent.ReasonFailed):
			return fmt.Errorf("reason %q with kind %q", o.Reason, o.Kind)
		case o.Success() && o.Result.None():
			return errors.New("success without a result")
		case o.Result.From > o.Result.To || o.Result.To >= max(s.after.Pos, 1):
			return fmt.Errorf("the result is at %v, the history ends at %d", o.Result, s.after.Pos)
		}
	}
	return nil
}

// newTurn: a turn takes in all that waits, and an orchestrator's limits begin
// anew with a user message.
func newTurn(s step) error {
	for _, c := range effects[agent.CallModel](s) {
		if c.Turn == s.before.Turn {
			continue // the same turn once more, or after its history was shortened
		}
		if len(s.after.Queue) > 0 {
			return fmt.Errorf("turn %d began without %v", c.Turn, s.after.Queue)
		}
		if slices.ContainsFunc(s.after.Groups, func(g agent.Group) bool { return g.Ready }) {
			return fmt.Errorf("turn %d began without results that were there", c.Turn)
		}
		want := s.before.Run.Turns + 1
		if s.after.Spec.Orchestrator() && has[agent.Place](s) {
			want = 1
		}
		if s.after.Run.Turns != want {
			return fmt.Errorf("turn %d is number %d of the run, not %d", c.Turn, s.after.Run.Turns, want)
		}
	}
	return nil
}

// unread: a sub-agent knows how many messages its model has not answered to,
// and ends with none that is not placed.
func unread(s step) error {
	want := s.before.Unread + len(effects[agent.Place](s))
	if _, ok := s.ev.(agent.ModelReplied); ok {
		want -= s.before.Unread
	}
	switch {
	case s.after.Spec.Orchestrator():
	case s.after.Unread != want:
		return fmt.Errorf("%d messages are unread, not %d", s.after.Unread, want)
	case has[agent.Conclude](s) && len(s.after.Queue) > 0:
		return fmt.Errorf("it ends, and %v were not placed", s.after.Queue)
	}
	return nil
}

// toolRuns: one run of a tool asks no model and starts nobody; it ends with
// the result of its call, as success only if that is no error.
func toolRuns(s step) error {
	if !s.after.Spec.ToolRun() {
		return nil
	}
	if has[agent.CallModel](s) || has[agent.StartChild](s) || has[agent.Consult](s) {
		return errors.New("a tool run does more than to run its tool")
	}
	a, acting := s.after.Phase.(agent.Acting)
	if acting && !slices.ContainsFunc(a.Calls, func(c agent.Call) bool { return c.Phase != agent.CallDone }) {
		return errors.New("a tool run outlives its call")
	}
	for _, c := range effects[agent.Conclude](s) {
		if c.Outcome.Success() && !s.answered(0, false) {
			return errors.New("a tool run succeeded without a result")
		}
		stop, ok := s.ev.(agent.Cancel)
		if kept := c.Outcome.Result != (agent.Ref{}); ok && kept != stop.Printed {
			return fmt.Errorf("a stopped tool run keeps a result: %v; it had printed something: %v", kept, stop.Printed)
		}
	}
	return nil
}

// frame: what never changes, and what only grows.
func frame(s step) error {
	b, a := s.before, s.after
	spec := b.Spec
	if ev, ok := s.ev.(agent.Compacted); ok && ev.Fit != nil && spec.Orchestrator() && a.Epoch > b.Epoch {
		spec.Tools, spec.Delegable, spec.Bounds, spec.Passed = ev.Fit.Tools, ev.Fit.Delegable, ev.Fit.Bounds, ev.Fit.Passed
	}
	if len(effects[agent.SetModel](s)) > 0 {
		spec.Choice = a.Spec.Choice // chosen looks at it
	}
	if _, ok := s.ev.(agent.Created); !ok && !sameSpec(spec, a.Spec) {
		return errors.New("the spec changed")
	}
	cause := b.Cause
	if born, ok := s.ev.(agent.Created); ok {
		cause = born.Spec.Cause
	}
	for _, p := range effects[agent.Place](s) {
		if a.Spec.Orchestrator() {
			cause = p.ID
		}
	}
	if a.Cause != cause {
		return fmt.Errorf("the cause is %q, not %q", a.Cause, cause)
	}
	grows := []struct {
		what     string
		old, new int64
	}{
		{"turn", int64(b.Turn), int64(a.Turn)},
		{"position", int64(b.Pos), int64(a.Pos)},
		{"epoch", int64(b.Epoch), int64(a.Epoch)},
		{"time", b.LastAt, a.LastAt},
		{"tasks", int64(b.Tasks), int64(a.Tasks)},
		{"items", int64(b.Items), int64(a.Items)},
		{"calls", int64(b.Calls), int64(a.Calls)},
		{"records", int64(b.Records), int64(a.Records)},
		{"turns of the life", int64(b.Life.Turns), int64(a.Life.Turns)},
		{"active time of the life", b.Life.Active, a.Life.Active},
		{"tokens of the life", b.Life.Spent().Tokens, a.Life.Spent().Tokens},
		{"cost of the life", b.Life.Spent().Cost, a.Life.Spent().Cost},
	}
	for _, g := range grows {
		if g.new < g.old {
			return fmt.Errorf("%s fell from %d to %d", g.what, g.old, g.new)
		}
	}
	return nil
}

// chosen: the models that a message chooses answer from the turn on that takes
// it in, the last choice of several; else a model only gives way to the next.
func chosen(s step) error {
	b, a := s.before, s.after
	want := b.Choosing
	if ev, ok := s.ev.(agent.UserMessage); ok && ev.Choice != nil {
		want = ev.Choice
	}
	switch {
	case want != nil && len(a.Queue) > 0:
		if a.Choosing != want {
			return errors.New("a choice of models was lost before its message was read")
		}
	case want != nil:
		if a.Model != 0 || !slices.Equal(a.Spec.Models, want.Models) {
			return fmt.Errorf("model %d of %v answers a message that chose %v", a.Model, a.Spec.Models, want.Models)
		}
	case a.Choosing != nil || len(effects[agent.SetModel](s)) > 0:
		return errors.New("nobody chose a model")
	}
	if a.Model < b.Model && want == nil {
		return fmt.Errorf("model fell from %d to %d", b.Model, a.Model)
	}
	other := a.Model != b.Model || !slices.Equal(a.Spec.Models, b.Spec.Models)
	if _, born := s.ev.(agent.Created); !born && other && a.Epoch == b.Epoch {
		return errors.New("another model goes on with what was encoded for the one before")
	}
	return nil
}

func sameSpec(a, b agent.Spec) bool {
	return a.ID == b.ID && a.Parent == b.Parent && a.Depth == b.Depth && a.Limits == b.Limits &&
		reflect.DeepEqual(a.Choice, b.Choice) && slices.Equal(a.Tools, b.Tools) && slices.Equal(a.Delegable, b.Delegable) && slices.Equal(a.Delegates, b.Delegates) &&
		slices.EqualFunc(a.Bounds, b.Bounds, slices.Equal[[]string]) && slices.EqualFunc(a.Passed, b.Passed, slices.Equal[[]string])
}
