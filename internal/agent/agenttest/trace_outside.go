// The ledgers of what is under way: outside effects, and what waits in the
// inbox. They must agree with the state after every event, or a crash would
// lose work or do it twice.

package agenttest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cadre-dev/cadre/internal/agent"
)

func modelKey(turn, try int) string { return fmt.Sprintf("model %d.%d", turn, try) }
func compactKey(turn int) string    { return fmt.Sprintf("compact %d", turn) }
func toolKey(turn, call int) string { return fmt.Sprintf("tool %d.%d", turn, call) }
func consultKey(item string) string { return "consult " + item }

const (
	acceptKey  = "acceptance"
	inspectKey = "inspection"
)

// key names an outside effect, "" for others.
func key(f agent.Effect) string {
	switch f := f.(type) {
	case agent.CallModel:
		return modelKey(f.Turn, f.Try)
	case agent.Compact:
		return compactKey(f.Turn)
	case agent.RunTool:
		return toolKey(f.Turn, f.Call)
	case agent.Consult:
		return consultKey(f.Item)
	case agent.RunAcceptance:
		return acceptKey
	case agent.InspectWork:
		return inspectKey
	case agent.AddMessage, agent.Enqueue, agent.Place, agent.AddResults, agent.RepeatResult, agent.Adopt, agent.SetModel, agent.AddWaiting,
		agent.SetCall, agent.OpenCall, agent.RecordModel, agent.OpenItem, agent.ShowItem, agent.CloseItem, agent.Conclude,
		agent.StartChild, agent.CancelChild, agent.TellRoot, agent.ExtendParent, agent.Report,
		agent.TellTool, agent.StopWork, agent.Done:
	}
	return ""
}

func keys(fx []agent.Effect) map[string]bool {
	out := map[string]bool{}
	for _, f := range fx {
		out[key(f)] = true
	}
	return out
}

func sameKeys(a, b map[string]bool) bool {
	return slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
}

// run is what happened to one tool call.
type run struct {
	write   bool
	times   int
	started bool
	shown   string // the hash that was shown for approval, "" if none was
	allowed bool   // and whether it was approved
}

type outside struct {
	running map[string]bool
	called  map[string]bool // all model calls ever made
	runs    map[string]*run
	ended   int // tool calls that have come to their end
	records int // and those that left a record
}

func (o *outside) follow(ev agent.Event, fx []agent.Effect, after agent.State) error {
	if o.running == nil {
		o.running, o.called, o.runs = map[string]bool{}, map[string]bool{}, map[string]*run{}
	}
	o.arrived(ev, fx)
	for _, f := range fx {
		k := key(f)
		switch f := any(f).(type) {
		case agent.StopWork:
			if len(o.running) == 0 {
				return errors.New("nothing was there to stop")
			}
			clear(o.running)
		case agent.CloseItem:
			delete(o.running, consultKey(f.ID))
		case agent.CallModel:
			if o.called[k] {
				return fmt.Errorf("%s was made twice", k)
			}
			o.called[k] = true
		case agent.RunTool:
			if err := o.run(ev, f); err != nil {
				return err
			}
		}
		if k != "" {
			if o.running[k] {
				return fmt.Errorf("%s was started while it runs", k)
			}
			o.running[k] = true
		}
	}
	if after.Calls != o.ended || after.Records != o.records {
		return fmt.Errorf("%d tools ran and %d left a record, counted are %d and %d", o.ended, o.records, after.Calls, after.Records)
	}
	if got := keys(after.Outstanding()); !sameKeys(got, o.running) {
		return fmt.Errorf("under way are %v, the state says %v", slices.Sorted(maps.Keys(o.running)), slices.Sorted(maps.Keys(got)))
	}
	return nil
}

// arrived takes away what the event is the outcome of.
func (o *outside) arrived(ev agent.Event, fx []agent.Effect) {
	switch ev := any(ev).(type) {
	case agent.ModelReplied:
		delete(o.running, modelKey(ev.Turn, ev.Try))
	case agent.ModelFailed:
		delete(o.running, modelKey(ev.Turn, ev.Try))
	case agent.Compacted:
		delete(o.running, compactKey(ev.Turn))
	case agent.ToolStarted:
		o.runs[toolKey(ev.Turn, ev.Call)].started = true
	case agent.ToolFinished:
		delete(o.running, toolKey(ev.Turn, ev.Call))
		o.ended++
		if ev.Did {
			o.records++
		}
	case agent.ApprovalNeeded:
		k := toolKey(ev.Turn, ev.Call)
		delete(o.running, k)
		o.runs[k].shown, o.runs[k].allowed = ev.Grant, false
	case agent.ApprovalAnswered:
		for _, f := range fx {
			if r, ok := f.(agent.RunTool); ok && ev.Allow && o.runs[toolKey(r.Turn, r.Call)] != nil {
				o.runs[toolKey(r.Turn, r.Call)].allowed = true
			}
		}
	case agent.Consulted:
		delete(o.running, consultKey(ev.Item))
	case agent.AcceptanceDone:
		delete(o.running, acceptKey)
	case agent.WorkInspected:
		delete(o.running, inspectKey)
	case agent.Recovered:
		clear(o.running)
	}
}

// run holds rule 17 and the durability of writes: what was shown for approval
// runs only as approved, and what may have begun never runs again.
func (o *outside) run(ev agent.Event, f agent.RunTool) error {
	k := toolKey(f.Turn, f.Call)
	r := o.runs[k]
	if r == nil {
		r = &run{write: f.Class == agent.ClassWrite}
		o.runs[k] = r
	}
	_, recovered := ev.(agent.Recovered)
	_, answered := ev.(agent.ApprovalAnswered)
	switch {
	case r.started:
		return fmt.Errorf("%s had begun and runs again", k)
	case r.times > 0 && !recovered && !answered:
		return fmt.Errorf("%s runs again because of %s", k, agent.EventType(ev))
	case r.shown != "" && (!r.allowed || f.Grant != r.shown):
		return fmt.Errorf("%s was shown as %s and runs as %q, allowed: %v", k, r.shown, f.Grant, r.allowed)
	case r.shown == "" && f.Grant != "":
		return fmt.Errorf("%s runs with a grant nobody gave", k)
	}
	r.times++
	return nil
}

// inbox knows the items that wait, the kind of each and what is asked.
type inbox struct {
	open     map[string]string
	hidden   map[string]bool
	question map[string]string
	answered map[string]int // how often a question was answered on the user's behalf
}

func (b *inbox) follow(ev agent.Event, fx []agent.Effect, after agent.State) error {
	if b.open == nil {
		b.open, b.hidden, b.question, b.answered = map[string]string{}, map[string]bool{}, map[string]string{}, map[string]int{}
	}
	if err := b.consulted(ev, fx, after.Spec); err != nil {
		return err
	}
	for _, f := range fx {
		switch f := any(f).(type) {
		case agent.OpenItem:
			if err := b.opened(ev, f, after.Spec); err != nil {
				return err
			}
		case agent.ShowItem:
			if b.open[f.ID] == "" || !b.hidden[f.ID] {
				return fmt.Errorf("item %s was shown, which is not hidden", f.ID)
			}
			b.hidden[f.ID] = false
		case agent.CloseItem:
			if b.open[f.ID] == "" {
				return fmt.Errorf("item %s was closed, which is not open", f.ID)
			}
			delete(b.open, f.ID)
		}
	}
	waiting := map[string]string{}
	if a, ok := after.Phase.(agent.Acting); ok {
		for _, c := range a.Calls {
			switch c.Phase {
			case agent.CallApproval:
				waiting[c.Item] = "approval"
			case agent.CallPaused:
				waiting[c.Item] = "elicitation"
			case agent.CallAsking, agent.CallAsked:
				waiting[c.Item] = "question"
				if b.hidden[c.Item] != (c.Phase == agent.CallAsking) {
					return fmt.Errorf("item %s is hidden: %v, its call is %s", c.Item, b.hidden[c.Item], c.Phase)
				}
			case agent.CallQueued, agent.CallRunning, agent.CallStarted, agent.CallChildren, agent.CallDone:
			}
		}
	}
	if p, ok := after.Phase.(agent.Extending); ok {
		waiting[p.Item] = "budget"
	}
	if after.Work != "" {
		waiting[after.Work] = "worktree"
	}
	if !maps.Equal(waiting, b.open) {
		return fmt.Errorf("the inbox holds %v, the state waits for %v", b.open, waiting)
	}
	return nil
}

// opened holds that each item is new, that a request for approval shows what
// was asked for, and that a question goes to the orchestrator's model first
// unless that has answered it too often.
func (b *inbox) opened(ev agent.Event, f agent.OpenItem, spec agent.Spec) error {
	if _, ok := b.hidden[f.ID]; ok {
		return fmt.Errorf("item %s was opened twice", f.ID)
	}
	b.open[f.ID], b.hidden[f.ID] = f.Kind, f.Hidden
	if n, ok := ev.(agent.ApprovalNeeded); ok {
		if f.Kind != "approval" || f.Grant != n.Grant || f.Deadline != n.Deadline {
			return fmt.Errorf("%v was asked for, shown is %v", n, f)
		}
		return nil
	}
	if f.Kind == "elicitation" || f.Kind == "budget" || f.Kind == "worktree" {
		return nil // held elsewhere to what it is about
	}
	r, ok := ev.(agent.ModelReplied)
	if !ok || f.Kind != "question" {
		return fmt.Errorf("a %s came from %s", f.Kind, agent.EventType(ev))
	}
	q := r.Calls[f.Call].Question
	b.question[f.ID] = q
	if first := !spec.Orchestrator() && spec.Confidence > 0 && b.answered[q] < spec.SameLimit; first != f.Hidden {
		return fmt.Errorf("a question answered %d times is hidden: %v", b.answered[q], f.Hidden)
	}
	return nil
}

// consulted holds that only an answer with enough confidence is one.
func (b *inbox) consulted(ev agent.Event, fx []agent.Effect, spec agent.Spec) error {
	c, ok := ev.(agent.Consulted)
	if !ok {
		return nil
	}
	closed := slices.ContainsFunc(fx, func(f agent.Effect) bool {
		item, ok := f.(agent.CloseItem)
		return ok && item.ID == c.Item && item.How == "answered_for_user"
	})
	if closed != (c.Answered && c.Confidence >= spec.Confidence) {
		return fmt.Errorf("answered for the user: %v, with confidence %d of %d", closed, c.Confidence, spec.Confidence)
	}
	if closed {
		b.answered[b.question[c.Item]]++
	}
	return nil
}
