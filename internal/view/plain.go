// Progress in plain lines, for logs and pipes: who started, who ended and how.

package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
)

// Plain writes a line when something has happened to an agent that a reader
// of a log wants to know.
type Plain struct {
	w      io.Writer
	known  map[string]bool // agents that were told to have started
	ended  map[string]bool
	paused bool
}

// NewPlain makes a printer that tells what happens from now on: what is in t
// already is not told.
func NewPlain(w io.Writer, t *Tree) *Plain {
	p := &Plain{w: w, known: map[string]bool{}, ended: map[string]bool{}}
	for id, a := range t.agents {
		p.known[id] = true
		p.ended[id] = a.Over()
	}
	return p
}

// manyAtOnce is from how many siblings on that start, or complete, together
// one line tells of all of them.
const manyAtOnce = 5

// Update tells what is new in t.
func (p *Plain) Update(t *Tree, now time.Time) {
	if paused := t.Paused != nil; paused != p.paused {
		p.paused = paused
		if paused {
			fmt.Fprintln(p.w, t.whyPaused())
		} else {
			fmt.Fprintln(p.w, "writing again")
		}
	}
	if t.Root != nil {
		p.known[t.Root.ID] = true
		p.update(t, t.Root, now)
	}
}

func (p *Plain) update(t *Tree, a *Agent, now time.Time) {
	var fresh []*Agent
	for _, c := range a.Children {
		if !p.known[c.ID] {
			p.known[c.ID] = true
			fresh = append(fresh, c)
		}
	}
	if len(fresh) >= manyAtOnce {
		fmt.Fprintf(p.w, "%s started %s: %s to %s\n", shown(a), Count(len(fresh), "agent"), Clean(fresh[0].Name), Clean(fresh[len(fresh)-1].Name))
	} else {
		for _, c := range fresh {
			fmt.Fprintf(p.w, "%s started %s: %s\n", shown(a), Clean(c.Name), Cut(oneLine(FirstLine(instruction(c.Task))), 120))
		}
	}
	var done []*Agent
	for _, c := range a.Children {
		p.update(t, c, now)
		if !c.Over() || p.ended[c.ID] {
			continue
		}
		p.ended[c.ID] = true
		if c.Status == string(agent.ReasonCompleted) {
			done = append(done, c)
		} else {
			p.over(t, c, now)
		}
	}
	if len(done) < manyAtOnce {
		for _, c := range done {
			p.over(t, c, now)
		}
		return
	}
	fmt.Fprintf(p.w, "%s of %s completed, %d to go\n", Count(len(done), "agent"), shown(a), a.live())
}

func (p *Plain) over(t *Tree, a *Agent, now time.Time) {
	sum := a.Sum()
	line := fmt.Sprintf("%s: %s after %s (%s, %s tokens, %s)", shown(a), Word(a.Status),
		Duration(t.Elapsed(a, now)), Count(a.Turns, "turn"), Tokens(sum.Tokens), Money(sum.Cost, !sum.Unpriced))
	if a.Status != string(agent.ReasonCompleted) {
		if why := Cut(a.ending(), 200); why != "" {
			line += " · " + why
		}
	}
	fmt.Fprintln(p.w, line)
}

// shown is an agent's place in the tree without the orchestrator, which is
// above all of them.
func shown(a *Agent) string {
	if _, rest, ok := strings.Cut(a.Path, "/"); ok {
		return Clean(rest)
	}
	return Clean(a.Path)
}
