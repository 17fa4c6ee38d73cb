// A whole tree of agents in memory: parent, children and grandchildren, with
// starts, reports and cancels delivered between them at once, as an engine
// does within one commit.

package agenttest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cadre-dev/cadre/internal/agent"
)

// Tree is the agents of one chat.
type Tree struct {
	Dice Dice
	Now  int64

	agents   map[string]*Walker
	children map[string][]string
	order    []string // in order of birth
	todo     []delivery
	reports  map[string]int
	last     *delivery // the newest report, to be delivered once more
	forced   bool      // a sub-agent was ended before its children: what they spent is not in its report
}

type delivery struct {
	to      string
	ev      agent.Event
	between bool // sent by another agent
}

// NewTree makes a chat whose orchestrator has no work yet.
func NewTree(d Dice) (*Tree, error) {
	t := &Tree{Dice: d, Now: 1_000_000, agents: map[string]*Walker{}, children: map[string][]string{}, reports: map[string]int{}}
	born := t.newWalker("chat").Birth(0).(agent.Created)
	born.Spec.MaxDepth = 2
	born.Spec.Limits.Children = 6
	born.Spec.Delegable = toolNames
	if born.Spec.Limits.Tokens > 0 {
		born.Spec.Limits.Tokens *= 100 // enough for a tree
	}
	return t, t.commit("chat", born)
}

func (t *Tree) newWalker(id string) *Walker {
	w := &Walker{Trace: &Trace{Fast: true}, Dice: t.Dice, Now: t.Now, Honest: true}
	t.agents[id] = w
	t.order = append(t.order, id)
	return w
}

// Size is how many agents the tree has had.
func (t *Tree) Size() int { return len(t.order) }

// Trace is the life of one agent, nil if there is none with that id.
func (t *Tree) Trace(id string) *Trace {
	if w := t.agents[id]; w != nil {
		return w.Trace
	}
	return nil
}

// IDs lists the agents in order of birth.
func (t *Tree) IDs() []string { return slices.Clone(t.order) }

// Step lets something happen to one of the agents, or to all of them: a crash.
func (t *Tree) Step() error {
	switch t.Dice.Intn(80) {
	case 79:
		return t.crash()
	case 78:
		if t.last != nil { // delivered twice: must be refused
			return t.commit(t.last.to, t.last.ev)
		}
	}
	var alive []string
	for _, id := range t.order {
		if s := t.agents[id].Trace.State; !s.Ended() || s.Work != "" {
			alive = append(alive, id)
		}
	}
	id := alive[t.Dice.Intn(len(alive))]
	w := t.agents[id]
	w.Now = t.Now
	ev := w.Next()
	t.Now = w.Now
	if r, ok := ev.(agent.ModelReplied); ok {
		r.Agents = t.Size()
		ev = r
	}
	return t.commit(id, ev)
}

// crash tells every agent that had something under way, as recovery does.
func (t *Tree) crash() error {
	t.Now += 500_000
	for _, id := range t.IDs() {
		s := t.agents[id].Trace.State
		if s.Busy() || in[agent.Cancelling](s) {
			if err := t.commit(id, agent.Recovered{At: agent.At(t.Now)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// commit steps an event and all that follows from it between agents, and
// then holds the tree to its rules.
func (t *Tree) commit(to string, ev agent.Event) error {
	t.todo = []delivery{{to: to, ev: ev}}
	for len(t.todo) > 0 {
		d := t.todo[0]
		t.todo = t.todo[1:]
		if err := t.deliver(d); err != nil {
			return fmt.Errorf("%s: %w", d.to, err)
		}
	}
	return t.consistent()
}

func (t *Tree) deliver(d delivery) error {
	w := t.agents[d.to]
	if err := w.Trace.Step(d.ev); err != nil {
		return err
	}
	switch v := verdict(w.Trace.Refused); {
	case v == impossible:
		return fmt.Errorf("an honest %s was impossible: %w", agent.EventType(d.ev), w.Trace.Refused)
	case v == taken:
		return t.spread(d.to, w.Trace)
	case !d.between:
	default:
		return t.refusedBetween(d, w.Trace)
	}
	return nil
}

// refusedBetween tells which refusals between agents are in order: a cancel
// of what is ending anyway, and the report to a parent that was ended first.
func (t *Tree) refusedBetween(d delivery, tr *Trace) error {
	switch any(d.ev).(type) {
	case agent.Cancel:
		if tr.State.Ended() || in[agent.Cancelling](tr.State) || in[agent.Settling](tr.State) {
			return nil
		}
	case agent.ChildEnded:
		if tr.State.Ended() && t.forced {
			return nil
		}
	}
	return fmt.Errorf("%s was refused: %w", agent.EventType(d.ev), tr.Refused)
}

// spread delivers what one agent has for others.
func (t *Tree) spread(id string, tr *Trace) error {
	force := false
	for _, f := range tr.Effects {
		switch f := any(f).(type) {
		case agent.StartChild:
			if _, ok := t.agents[f.Spec.ID]; ok {
				return fmt.Errorf("%s was started twice", f.Spec.ID)
			}
			if err := t.inherits(f.Spec); err != nil {
				return err
			}
			t.newWalker(f.Spec.ID)
			t.children[id] = append(t.children[id], f.Spec.ID)
			t.send(f.Spec.ID, agent.Created{At: agent.At(t.Now), Spec: f.Spec, Tokens: f.Tokens, Prior: f.Prior, Task: f.Body})
		case agent.TellRoot:
			t.send("chat", agent.TaskAsks{At: agent.At(t.Now), Item: f.Item, Over: f.Over, For: f.For})
		case agent.ExtendParent:
			t.send(tr.State.Spec.Parent, agent.Extended{At: agent.At(t.Now), Amount: f.Amount})
		case agent.CancelChild:
			force = force || f.Force
			t.send(fmt.Sprintf("%s.%d", id, f.Task), agent.Cancel{At: agent.At(t.Now), Reason: f.Reason, Force: f.Force, By: id})
		case agent.Report:
			t.reports[id]++
			if !force {
				if err := t.bottomUp(id); err != nil {
					return err
				}
			}
			t.forced = t.forced || force
			parent := tr.State.Spec.Parent
			t.send(parent, agent.ChildEnded{
				At: agent.At(t.Now), Task: f.Task, Reason: f.Outcome.Reason, Spent: f.Spent, Held: f.Held, Unpriced: f.Unpriced, Tokens: 16,
			})
			newest := t.todo[len(t.todo)-1]
			t.last = &newest
		}
	}
	return nil
}

func (t *Tree) send(to string, ev agent.Event) {
	t.todo = append(t.todo, delivery{to: to, ev: ev, between: true})
}

// bottomUp: an agent that ends by itself has no descendant at work.
func (t *Tree) bottomUp(id string) error {
	for _, child := range t.children[id] {
		if !t.agents[child].Trace.State.Ended() {
			return fmt.Errorf("it ended before its child %s", child)
		}
	}
	return nil
}

// inherits: what a child may use was delegable at every depth above it.
func (t *Tree) inherits(s agent.Spec) error {
	for up := s.Parent; up != ""; {
		parent := t.agents[up].Trace.State.Spec
		for _, tool := range slices.Concat(s.Tools, s.Delegable) {
			if !slices.Contains(parent.Delegable, tool) {
				return fmt.Errorf("%s got %s, which %s may not delegate", s.ID, tool, parent.ID)
			}
		}
		if !s.ToolRun() && !restricts(s.Bounds, parent.Passed) {
			return fmt.Errorf("%s is free of a restriction that holds below %s", s.ID, parent.ID)
		}
		up = parent.Parent
	}
	return nil
}

// consistent holds between commits: who has ended has told it once, leaves
// nobody at work below, and who lives knows how many children do and holds
// what they may use, extensions included. The orchestrator knows who waits for
// the user.
func (t *Tree) consistent() error {
	waiting := 0
	for _, id := range t.order {
		s := t.agents[id].Trace.State
		live, held := 0, agent.Amount{}
		for _, child := range t.children[id] {
			if c := t.agents[child].Trace.State; !c.Ended() {
				live++
				held = held.Add(agent.Amount{Tokens: c.Spec.Limits.Tokens, Cost: c.Spec.Limits.Cost}).Add(c.Run.Extra)
			}
		}
		for item := range t.agents[id].Trace.news.told {
			waiting++
			if !slices.Contains(t.agents["chat"].Trace.State.Waiting, item) {
				return fmt.Errorf("%s waits for the user, the orchestrator knows of %v", item, t.agents["chat"].Trace.State.Waiting)
			}
		}
		switch {
		case !s.Ended() && s.Held != held:
			return fmt.Errorf("%s holds %v, its children may use %v", id, s.Held, held)
		case s.Ended() && live > 0:
			return fmt.Errorf("%s has ended, %d of its children have not", id, live)
		case !s.Ended() && s.LiveChildren() != live:
			return fmt.Errorf("%s counts %d children at work, there are %d", id, s.LiveChildren(), live)
		case s.Ended() != (t.reports[id] == 1), t.reports[id] > 1:
			return fmt.Errorf("%s has told its end %d times", id, t.reports[id])
		}
	}
	root := t.agents["chat"].Trace.State
	if n := root.Spec.Limits.Agents; n > 0 && t.Size() > n {
		return fmt.Errorf("the chat has %d agents, allowed are %d", t.Size(), n)
	}
	if len(root.Waiting) != waiting {
		return fmt.Errorf("%d wait for the user, the orchestrator knows of %v", waiting, root.Waiting)
	}
	return nil
}

// Rest lets everything under way end, and holds the tree to what must then be
// true: all sub-agents have ended, the orchestrator has been told everything,
// and all that was spent anywhere is counted at the top.
func (t *Tree) Rest() error {
	if err := t.drain(); err != nil {
		return err
	}
	root := t.agents["chat"]
	root.Now = t.Now
	if err := t.commit("chat", root.message()); err != nil {
		return err
	}
	if err := t.drain(); err != nil {
		return err
	}
	var spent agent.Amount
	for _, id := range t.order {
		tr := t.agents[id].Trace
		if err := tr.AtRest(); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		spent = spent.Add(tr.State.Life.Own)
	}
	if s := root.Trace.State; !t.forced && s.Life.Spent() != spent {
		return fmt.Errorf("%v were spent in the tree, the orchestrator counts %v", spent, s.Life.Spent())
	}
	return nil
}

// drain ends what is under way, the youngest agents first.
func (t *Tree) drain() error {
	for range 50_000 {
		var next *delivery
		for _, id := range slices.Backward(t.order) {
			w := t.agents[id]
			w.Now = t.Now
			if ev := w.settle(); ev != nil {
				next = &delivery{to: id, ev: ev}
				t.Now = w.Now
				break
			}
		}
		if next == nil {
			return nil // AtRest tells whether that is an end
		}
		if err := t.commit(next.to, next.ev); err != nil {
			return err
		}
		if err := t.agents[next.to].Trace.Refused; err != nil {
			return fmt.Errorf("%s: %s was refused: %w", next.to, agent.EventType(next.ev), err)
		}
	}
	return errors.New("the tree does not come to rest")
}
