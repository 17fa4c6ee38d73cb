// The ledgers of what is said to and fro: running tools that ask the user, and
// what the orchestrator knows of those below it that wait for the user.

package agenttest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cadre-dev/cadre/internal/agent"
)

// talks are the tools that wait for an answer: the item of each, by its call.
type talks struct {
	paused map[string]string
	due    map[string]int64 // until when each waits, by its item
}

func (t *talks) follow(ev agent.Event, fx []agent.Effect, after agent.State) error {
	if t.paused == nil {
		t.paused, t.due = map[string]string{}, map[string]int64{}
	}
	if err := t.asked(ev, fx); err != nil {
		return err
	}
	told := map[string]agent.TellTool{}
	for _, f := range fx {
		if tell, ok := f.(agent.TellTool); ok {
			k := toolKey(tell.Turn, tell.Call)
			if _, twice := told[k]; twice || t.paused[k] == "" {
				return fmt.Errorf("%s was told, which does not wait", k)
			}
			told[k] = tell
		}
	}
	for _, f := range fx {
		if err := t.closed(ev, f, told); err != nil {
			return err
		}
	}
	if len(told) > 0 {
		return fmt.Errorf("%v were told by %s, which answers nothing of theirs", slices.Sorted(maps.Keys(told)), agent.EventType(ev))
	}
	waits := map[string]string{}
	if a, ok := after.Phase.(agent.Acting); ok {
		for i, c := range a.Calls {
			if c.Phase == agent.CallPaused {
				waits[toolKey(after.Turn, i)] = c.Item
				if c.Deadline != t.due[c.Item] {
					return fmt.Errorf("item %s waits until %d, not %d", c.Item, c.Deadline, t.due[c.Item])
				}
			}
		}
	}
	if !maps.Equal(waits, t.paused) {
		return fmt.Errorf("paused are %v, the state says %v", t.paused, waits)
	}
	return nil
}

// asked notes a tool that asks: there is one item for it, with its deadline.
func (t *talks) asked(ev agent.Event, fx []agent.Effect) error {
	q, asked := ev.(agent.ToolAsked)
	for _, f := range fx {
		item, ok := f.(agent.OpenItem)
		if !ok || item.Kind != "elicitation" {
			continue
		}
		if !asked || item.Turn != q.Turn || item.Call != q.Call || item.Deadline != q.Deadline || item.Action != q.Action {
			return fmt.Errorf("%v was asked, shown is %v", q, item)
		}
		t.paused[toolKey(q.Turn, q.Call)], t.due[item.ID] = item.ID, q.Deadline
		asked = false
	}
	if asked {
		return errors.New("a tool asks and nobody is shown it")
	}
	return nil
}

// closed holds that the answer of an item reaches the one tool that waits for
// it, as it was given, and that nothing else does.
func (t *talks) closed(ev agent.Event, f agent.Effect, told map[string]agent.TellTool) error {
	item, ok := f.(agent.CloseItem)
	if !ok {
		return nil
	}
	for k, id := range t.paused {
		if id != item.ID {
			continue
		}
		tell, wasTold := told[k]
		a, answered := ev.(agent.QuestionAnswered)
		want := agent.TellTool{Turn: tell.Turn, Call: tell.Call, Declined: a.Declined || item.How == "expired", Answer: a.Answer}
		switch {
		case item.How == "withdrawn" && !wasTold && !answered:
		case item.How == "withdrawn" || !wasTold || tell != want || answered && a.Item != id:
			return fmt.Errorf("%s was closed as %s, its tool was told %v", id, item.How, told)
		}
		delete(told, k)
		delete(t.paused, k)
		return nil
	}
	return nil
}

// news is what a sub-agent has told the orchestrator of its questions.
type news struct {
	told map[string]bool // the open questions that it knows of
}

// follow holds that the orchestrator knows of exactly the questions that the
// user is shown, and is told of each answer that was given on the user's
// behalf.
func (n *news) follow(b *inbox, fx []agent.Effect, after agent.State) error {
	if n.told == nil {
		n.told = map[string]bool{}
	}
	behalf := map[string]bool{}
	for _, f := range fx {
		switch f := any(f).(type) {
		case agent.CloseItem:
			if f.How == "answered_for_user" {
				behalf[f.ID] = true
			}
		case agent.TellRoot:
			if f.For != behalf[f.Item] || f.For && !f.Over || !f.For && f.Over != n.told[f.Item] {
				return fmt.Errorf("the orchestrator was told %+v, it knew of %v", f, n.told)
			}
			delete(behalf, f.Item)
			delete(n.told, f.Item)
			if !f.Over {
				n.told[f.Item] = true
			}
		}
	}
	shown := map[string]bool{}
	for item, kind := range b.open {
		if kind == "question" && !b.hidden[item] && !after.Spec.Orchestrator() {
			shown[item] = true
		}
	}
	if len(behalf) > 0 && !after.Spec.Orchestrator() || !maps.Equal(shown, n.told) {
		return fmt.Errorf("the orchestrator knows of %v, shown are %v, answered for the user %v", n.told, shown, behalf)
	}
	return nil
}

// waitlist is what an orchestrator was told of those below it.
type waitlist struct {
	waiting  []string
	answered []string
}

func (w *waitlist) follow(ev agent.Event, fx []agent.Effect, after agent.State) error {
	if e, ok := ev.(agent.TaskAsks); ok {
		if len(fx) > 0 {
			return fmt.Errorf("to be told who waits led to %v", fx)
		}
		w.take(e)
	}
	told, placed := 0, false
	for _, f := range fx {
		switch f := any(f).(type) {
		case agent.AddWaiting:
			told++
			if placed || len(f.Waiting)+len(f.Answered) == 0 || !slices.Equal(f.Waiting, w.waiting) || !slices.Equal(f.Answered, w.answered) {
				return fmt.Errorf("told of %v and %v, waiting are %v and answered %v", f.Waiting, f.Answered, w.waiting, w.answered)
			}
		case agent.Place:
			placed = true
		}
	}
	due := placed && after.Spec.Orchestrator() && len(w.waiting)+len(w.answered) > 0
	if told > 1 || due != (told == 1) {
		return fmt.Errorf("told %d times who waits, due: %v", told, due)
	}
	if told > 0 {
		w.answered = nil
	}
	if !slices.Equal(after.Waiting, w.waiting) || !slices.Equal(after.Answered, w.answered) {
		return fmt.Errorf("waiting %v and answered %v, not %v and %v", after.Waiting, after.Answered, w.waiting, w.answered)
	}
	return nil
}

func (w *waitlist) take(e agent.TaskAsks) {
	if e.For {
		w.answered = append(w.answered, e.Item)
	}
	if e.Over {
		w.waiting = slices.DeleteFunc(slices.Clone(w.waiting), func(id string) bool { return id == e.Item })
	} else if !e.For {
		w.waiting = append(slices.Clone(w.waiting), e.Item)
	}
}

// expects tells the verdict that news of those who wait must meet.
func (w *waitlist) expects(e agent.TaskAsks, s agent.Spec) string {
	switch known := slices.Contains(w.waiting, e.Item); {
	case !s.Orchestrator():
		return impossible
	case !e.For && e.Over != known:
		return stale
	}
	return taken
}
