// The ledgers of children and of money: who was started, who has ended, whose
// results were delivered, and what is spent and reserved.

package agenttest

import (
	"fmt"
	"slices"

	"github.com/cadre-dev/cadre/internal/agent"
)

type family struct {
	started   int
	alive     []int // those that have not ended
	held      agent.Amount
	lent      agent.Amount // of that, what children were given beyond their budgets
	ended     map[int]bool
	budget    map[int]agent.Amount
	late      map[int]bool  // has ended after its group was closed
	groups    []agent.Group // as they were before the event
	size      map[int]int   // of the group that begins with a task
	delivered map[int]bool
}

func (y *family) follow(ev agent.Event, fx []agent.Effect, after agent.State) error {
	if y.ended == nil {
		y.ended, y.budget, y.late = map[int]bool{}, map[int]agent.Amount{}, map[int]bool{}
		y.size, y.delivered = map[int]int{}, map[int]bool{}
	}
	defer func() { y.groups = after.Groups }()
	if e, ok := ev.(agent.ChildEnded); ok {
		y.ended[e.Task] = true
		y.late[e.Task] = tooLate(y.groups, e.Task)
		y.alive = slices.DeleteFunc(y.alive, func(t int) bool { return t == e.Task })
		y.held = y.held.Sub(e.Held)
		y.lent = y.lent.Sub(e.Held.Sub(y.budget[e.Task]))
		if y.lent.Tokens < 0 || y.lent.Cost < 0 {
			return fmt.Errorf("task %d returned %v, held were %v and some extension", e.Task, e.Held, y.budget[e.Task])
		}
	}
	if e, ok := ev.(agent.Extended); ok {
		y.held, y.lent = y.held.Add(e.Amount), y.lent.Add(e.Amount)
	}
	if r, ok := ev.(agent.ModelReplied); ok {
		y.spawned(r, fx)
	}
	for _, f := range fx {
		switch f := any(f).(type) {
		case agent.StartChild:
			y.started++
			y.alive = append(y.alive, f.Task)
			y.budget[f.Task] = agent.Amount{Tokens: f.Spec.Limits.Tokens, Cost: f.Spec.Limits.Cost}
			y.held = y.held.Add(y.budget[f.Task])
		case agent.CancelChild:
			if y.ended[f.Task] || f.Task < 1 || f.Task > y.started {
				return fmt.Errorf("task %d was cancelled, which does not run", f.Task)
			}
		case agent.AddResults:
			if err := y.deliver(f); err != nil {
				return err
			}
		}
	}
	switch {
	case after.Ended():
	case after.LiveChildren() != len(y.alive):
		return fmt.Errorf("%d children live, not %v", after.LiveChildren(), y.alive)
	case after.Held != y.held:
		return fmt.Errorf("%v are held, not %v", after.Held, y.held)
	case y.lent.Tokens > after.Lent.Tokens || y.lent.Cost > after.Lent.Cost || len(y.alive) == 0 && after.Lent != agent.Amount{}:
		return fmt.Errorf("%v are lent to children, not %v", after.Lent, y.lent)
	}
	return nil
}

// spawned notes the groups that a reply has started.
func (y *family) spawned(r agent.ModelReplied, fx []agent.Effect) {
	first := y.started + 1
	for i, p := range r.Calls {
		n := 0
		for _, f := range fx {
			if c, ok := f.(agent.StartChild); ok && c.Call == i {
				n++
			}
		}
		if p.Plan != nil && n > 0 {
			y.size[first] = n
			first += n
		}
	}
}

// deliver holds that a group's results come once, whole, and say why a task
// that has none was ended.
func (y *family) deliver(f agent.AddResults) error {
	for _, r := range f.Groups {
		switch {
		case y.size[r.First] != r.Size:
			return fmt.Errorf("%s is no group", tasks(r.First, r.Size))
		case y.delivered[r.First]:
			return fmt.Errorf("%s was delivered twice", tasks(r.First, r.Size))
		}
		y.delivered[r.First] = true
		for t := r.First; t < r.First+r.Size; t++ {
			switch {
			case !y.ended[t] && r.Rest == "":
				return fmt.Errorf("task %d was delivered, but has not ended", t)
			case y.late[t] != r.Late.Has(t-r.First):
				return fmt.Errorf("task %d ended too late: %v, told so: %v", t, y.late[t], r.Late.Has(t-r.First))
			}
		}
	}
	return nil
}

// money compares the meters with what the events said, and the sum of spent
// and reserved with the limit. Beyond the limit is only what nobody could
// hold before: side calls, and calls or children that took more than they
// were given.
type money struct {
	own, children agent.Amount
	over          agent.Amount // beyond what was held, in this run
	hold          agent.Amount // of the model call under way
	context       int64        // at least this much is in the history
	queued        int64        // and this much waits in the queue
	results       map[int]int64
	groups        []agent.Group // as they were before the event
}

func (y *money) follow(ev agent.Event, fx []agent.Effect, after agent.State) error {
	if y.results == nil {
		y.results = map[int]int64{}
	}
	y.spend(ev)
	if after.Life.Own != y.own || after.Life.Children != y.children {
		return fmt.Errorf("counted %v and %v, spent %v and %v", after.Life.Own, after.Life.Children, y.own, y.children)
	}
	y.estimate(ev, fx)
	y.groups = after.Groups
	for _, f := range fx {
		switch f := any(f).(type) {
		case agent.Place:
			if after.Spec.Orchestrator() {
				y.over = agent.Amount{}
			}
		case agent.CallModel:
			if after.Context < y.context {
				return fmt.Errorf("the input is estimated at %d tokens, known are %d", after.Context, y.context)
			}
			y.hold = agent.Amount{
				Tokens: after.Context + f.MaxOutput,
				Cost:   price(after.Context, after.Spec.Price.Input) + price(f.MaxOutput, after.Spec.Price.Output),
			}
		}
	}
	l, used := after.Spec.Limits, after.Run.Spent().Add(after.Held).Sub(after.Run.Extra)
	switch {
	case l.Tokens > 0 && used.Tokens > l.Tokens+y.over.Tokens:
		return fmt.Errorf("%d tokens spent or held of %d beyond what was given, %d of them unforeseen", used.Tokens, l.Tokens, y.over.Tokens)
	case l.Cost > 0 && used.Cost > l.Cost+y.over.Cost:
		return fmt.Errorf("%d$ spent or held of %d$ beyond what was given, %d$ of them unforeseen", used.Cost, l.Cost, y.over.Cost)
	}
	return nil
}

func (y *money) spend(ev agent.Event) {
	own := func(spent, held agent.Amount) {
		y.own = y.own.Add(spent)
		y.over.Tokens += max(spent.Tokens-held.Tokens, 0)
		y.over.Cost += max(spent.Cost-held.Cost, 0)
	}
	switch ev := any(ev).(type) {
	case agent.ModelReplied:
		own(ev.Spent, y.hold)
	case agent.ModelFailed:
		own(ev.Spent, y.hold)
	case agent.Compacted:
		own(ev.Spent, agent.Amount{})
	case agent.Charged:
		own(ev.Spent, agent.Amount{})
	case agent.ChildEnded:
		y.children = y.children.Add(ev.Spent)
		y.over.Tokens += max(ev.Spent.Tokens-ev.Held.Tokens, 0)
		y.over.Cost += max(ev.Spent.Cost-ev.Held.Cost, 0)
	}
}

// estimate follows how much the next request must at least count: what the
// last reply read and wrote, and all that was placed since.
func (y *money) estimate(ev agent.Event, fx []agent.Effect) {
	switch ev := any(ev).(type) {
	case agent.Created:
		y.context = ev.Tokens
	case agent.ModelReplied:
		if ev.Tokens > 0 && (ev.Text || len(ev.Calls) > 0) && ev.Stop != agent.StopRefusal && ev.Stop != agent.StopFilter {
			y.context = ev.Tokens
		}
	case agent.Compacted:
		if ev.OK {
			y.context = ev.Tokens
		}
	case agent.UserMessage:
		y.queued += ev.Tokens
	case agent.ChildEnded:
		if !tooLate(y.groups, ev.Task) {
			y.results[ev.Task] = ev.Tokens
		}
	case agent.ToolFinished:
		y.context += ev.Tokens
	case agent.Consulted:
		for _, f := range fx {
			if c, ok := f.(agent.CloseItem); ok && c.How == "answered_for_user" {
				y.context += ev.Tokens
			}
		}
	case agent.QuestionAnswered:
		told := slices.ContainsFunc(fx, func(f agent.Effect) bool { _, ok := f.(agent.TellTool); return ok })
		if !ev.Declined && !told { // a running tool's answer is for the tool
			y.context += ev.Tokens
		}
	}
	for _, f := range fx {
		switch f := any(f).(type) {
		case agent.Place:
			y.context += y.queued // a turn places all that waits
			y.queued = 0
		case agent.AddResults:
			for _, g := range f.Groups {
				for t := g.First; t < g.First+g.Size; t++ {
					y.context += y.results[t]
					delete(y.results, t)
				}
			}
		}
	}
}

// tooLate tells whether the group of a child is closed: what it still reports
// is recorded, not delivered.
func tooLate(groups []agent.Group, task int) bool {
	return slices.ContainsFunc(groups, func(g agent.Group) bool {
		return g.Closed && task >= g.First && task < g.First+g.Size
	})
}
