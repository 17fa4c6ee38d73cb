// The ledger of repetitions: what each call gave, how often, and since when
// nothing was changed or said that makes it worth another try.

package agenttest

import (
	"fmt"

	"github.com/cadre-dev/cadre/internal/agent"
)

const (
	mostSame    = 3  // times the same call may give the same answer
	mostNoticed = 16 // calls that the machine remembers
)

// gave is what running a call has given.
type gave struct {
	same  string
	times int
	pos   int // where it stands
}

// spawned is a group of children that a call with a key has started.
type spawned struct {
	key  string
	size int
	good int
}

type loops struct {
	turn    int               // of the reply whose calls are open
	reply   int               // and where it stands
	key     map[string]string // of the open calls, by toolKey
	write   map[string]bool
	known   map[string]gave
	lost    bool // more are known than the machine remembers
	groups  map[int]*spawned
	closed  []agent.Group // as they were before the event
	started map[int]int   // the first task of the group, by task
}

func (l *loops) follow(ev agent.Event, fx []agent.Effect, after agent.State) error {
	if l.known == nil {
		l.known, l.groups, l.started = map[string]gave{}, map[int]*spawned{}, map[int]int{}
	}
	switch ev := any(ev).(type) {
	case agent.ModelReplied:
		if err := l.replied(ev, fx, after); err != nil {
			return err
		}
	case agent.ToolFinished:
		l.finished(ev)
	case agent.Compacted:
		if ev.OK { // what a call gave may no longer be in sight
			l.known, l.lost = map[string]gave{}, false
		}
	case agent.ChildEnded:
		if g := l.groups[l.started[ev.Task]]; g != nil && ev.Reason == agent.ReasonCompleted && !tooLate(l.closed, ev.Task) {
			g.good++
		}
	}
	_, recovered := ev.(agent.Recovered)
	_, approved := ev.(agent.ApprovalAnswered)
	for _, f := range fx {
		switch f := any(f).(type) {
		case agent.RunTool:
			key := l.key[toolKey(f.Turn, f.Call)]
			if key != "" && l.known[key].times >= mostSame && !l.lost && !recovered && !approved {
				return fmt.Errorf("%s gave the same %d times and is run again", key, l.known[key].times)
			}
		case agent.RepeatResult:
			if err := l.repeated(f); err != nil {
				return err
			}
		case agent.AddResults:
			l.delivered(f)
		case agent.Place:
			l.known, l.lost = map[string]gave{}, false // the user has spoken: everything may be worth another try
		}
	}
	l.closed = after.Groups
	return nil
}

// replied notes the calls of a reply, and holds that a delegation is not
// started again while it runs or when it is known what it gives.
func (l *loops) replied(r agent.ModelReplied, fx []agent.Effect, after agent.State) error {
	l.turn, l.key, l.write = r.Turn, map[string]string{}, map[string]bool{}
	if a, ok := after.Phase.(agent.Acting); ok {
		l.reply = a.Pos
	}
	for i, p := range r.Calls {
		l.key[toolKey(r.Turn, i)], l.write[toolKey(r.Turn, i)] = p.Key, p.Class == agent.ClassWrite
	}
	last := -1
	var g *spawned
	for _, f := range fx {
		c, ok := f.(agent.StartChild)
		if !ok {
			continue
		}
		if c.Call != last {
			last = c.Call
			g = &spawned{key: r.Calls[c.Call].Key}
			if err := l.mayStart(g.key); err != nil {
				return err
			}
			l.groups[c.Task] = g
		}
		g.size++
		l.started[c.Task] = c.Task - g.size + 1
	}
	return nil
}

func (l *loops) mayStart(key string) error {
	if key == "" || l.lost {
		return nil
	}
	if l.known[key].times >= mostSame {
		return fmt.Errorf("%s was delegated again", key)
	}
	for first, g := range l.groups {
		if g.key == key && !tooLate(l.closed, first) {
			return fmt.Errorf("%s was delegated again while it runs", key)
		}
	}
	return nil
}

// finished notes what a tool gave. A write makes all else worth another try.
func (l *loops) finished(ev agent.ToolFinished) {
	k := toolKey(ev.Turn, ev.Call)
	key := l.key[k]
	if l.write[k] {
		l.forgetBut(key)
	}
	if key == "" || ev.Same == "" {
		return
	}
	g := l.known[key]
	if g.same != ev.Same {
		g = gave{ev.Same, 0, l.reply + 1 + ev.Call}
	}
	g.times++
	l.know(key, g)
}

func (l *loops) know(key string, g gave) {
	l.known[key] = g
	l.lost = l.lost || len(l.known) > mostNoticed
}

func (l *loops) forgetBut(key string) {
	for k := range l.known {
		if k != key || key == "" {
			delete(l.known, k)
		}
	}
}

// delivered notes the results of delegations; one that succeeded as a whole is
// not worth a second time.
func (l *loops) delivered(f agent.AddResults) {
	for _, r := range f.Groups {
		g := l.groups[r.First]
		if g == nil {
			continue
		}
		delete(l.groups, r.First)
		l.forgetBut(g.key)
		if g.key == "" {
			continue
		}
		times := l.known[g.key].times + 1
		if g.good == g.size {
			times = mostSame
		}
		l.know(g.key, gave{times: times, pos: f.Pos, same: l.known[g.key].same})
	}
}

// repeated holds that only what is known well enough is told again, from where
// it really stands.
func (l *loops) repeated(f agent.RepeatResult) error {
	key := l.key[toolKey(l.turn, f.Call)]
	if g := l.known[key]; !l.lost && (key == "" || g.times < mostSame || g.pos != f.From) || f.From >= f.Pos {
		return fmt.Errorf("call %d (%s) was answered from @%d, known is %v", f.Call, key, f.From, g)
	}
	return nil
}
