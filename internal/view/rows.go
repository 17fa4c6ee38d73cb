// The tree as rows: which agents are shown one by one, which are counted, so
// that what matters fits the height there is.

package view

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
)

// Row is one line of the tree: an agent, or several of which only the number
// is told.
type Row struct {
	Depth int
	Last  []bool // for each level from 1 on: nothing follows on it
	Name  string
	Text  string

	Elapsed, Turns, Tokens, Cost string

	state state
}

// RowOptions say what rows are for.
type RowOptions struct {
	Now    time.Time
	Height int  // most rows; 0: any number
	All    bool // every agent has a row, also below those that have ended
}

// fold says how far a tree is folded.
type fold struct {
	all   bool
	group int // from how many siblings on those that ended alike are counted
	live  int // working siblings with a row of their own
	bad   int // failed siblings with a row of their own
	depth int // agents below it have no rows
}

// Rows gives the rows that show the tree best in the height there is: first
// those that ended well are counted, then those that work, then the lower
// levels are left out. Failures and those that wait for a person are the last
// to be counted.
func (t *Tree) Rows(o RowOptions) []Row {
	if t.Root == nil {
		return nil
	}
	if o.All {
		return t.draw(t.entries(fold{all: true, depth: math.MaxInt}), o.Now)
	}
	height := o.Height
	if height <= 0 {
		height = math.MaxInt
	}
	const some, any = 5, math.MaxInt
	for _, f := range []fold{
		{group: some, live: any, bad: any, depth: any},
		{group: 2, live: any, bad: any, depth: any},
	} {
		if e := t.entries(f); len(e) <= height {
			return t.draw(e, o.Now)
		}
	}
	widest := 0
	for _, a := range t.agents {
		widest = max(widest, len(a.Children))
	}
	searches := []struct {
		from int
		make func(n int) fold
	}{
		{3, func(n int) fold { return fold{group: 2, live: n, bad: any, depth: any} }},
		{0, func(n int) fold { return fold{group: 2, live: n, bad: any, depth: 1} }},
		{0, func(n int) fold { return fold{group: 2, bad: n, depth: 1} }},
	}
	for _, s := range searches {
		// The most that fits: one more of a kind never makes fewer rows.
		n := sort.Search(widest-s.from+1, func(i int) bool { return len(t.entries(s.make(s.from+i))) > height })
		if n > 0 {
			return t.draw(t.entries(s.make(s.from+n-1)), o.Now)
		}
	}
	e := t.entries(fold{group: 2, depth: 1})
	return t.draw(e[:min(len(e), height)], o.Now)
}

// entry is a row before it is written: an agent, or a group of siblings.
type entry struct {
	depth int
	last  []bool
	one   *Agent
	group []*Agent
}

func (t *Tree) entries(f fold) []entry {
	return t.below(f, []entry{{one: t.Root}}, t.Root, nil)
}

// below appends the rows of a's children.
func (t *Tree) below(f fold, out []entry, a *Agent, last []bool) []entry {
	depth := len(last) + 1
	if depth > f.depth || a.Over() && !f.all {
		return out
	}
	kids := siblings(f, a.Children)
	for i, k := range kids {
		k.depth = depth
		k.last = append(slices.Clone(last), i == len(kids)-1)
		out = append(out, k)
		if k.one != nil {
			out = t.below(f, out, k.one, k.last)
		}
	}
	return out
}

// siblings chooses the rows of a list of siblings: those of their own in
// order, then the groups.
func siblings(f fold, list []*Agent) []entry {
	if f.all {
		out := make([]entry, len(list))
		for i, a := range list {
			out[i] = entry{one: a}
		}
		return out
	}
	ended := map[string]int{}
	for _, a := range list {
		if s := stateOf(a.Status); a.Over() && !s.bad {
			ended[a.Status]++
		}
	}
	var own []entry
	var working, failed []*Agent
	counted := map[string][]*Agent{}
	live, bad := 0, 0
	for _, a := range list {
		switch s := stateOf(a.Status); {
		case a.Over() && !s.bad:
			if ended[a.Status] >= f.group {
				counted[a.Status] = append(counted[a.Status], a)
				continue
			}
		case s.bad:
			if bad++; bad > f.bad {
				failed = append(failed, a)
				continue
			}
		case !s.person:
			if live++; live > f.live {
				working = append(working, a)
				continue
			}
		}
		own = append(own, entry{one: a})
	}
	for _, g := range [][]*Agent{working, failed} {
		switch len(g) {
		case 0:
		case 1:
			own = append(own, entry{one: g[0]}) // takes no more room than its number
		default:
			own = append(own, entry{group: g})
		}
	}
	for _, s := range states {
		if g := counted[s.status]; len(g) > 0 {
			own = append(own, entry{group: g})
		}
	}
	return own
}

func (t *Tree) draw(entries []entry, now time.Time) []Row {
	rows := make([]Row, len(entries))
	for i, e := range entries {
		if e.one != nil {
			rows[i] = t.row(e.one, now)
		} else {
			rows[i] = groupRow(e.group)
		}
		rows[i].Depth, rows[i].Last = e.depth, e.last
	}
	return rows
}

func (t *Tree) row(a *Agent, now time.Time) Row {
	status := a.Status
	if a == t.Root && t.last != nil {
		status = string(t.last.Reason)
	}
	sum := a.Sum()
	r := Row{
		Name: Clean(a.Name), Text: t.Activity(a, now), state: stateOf(status),
		Elapsed: Duration(t.Elapsed(a, now)), Turns: Count(a.Turns, "turn"),
		Tokens: Tokens(sum.Tokens) + " tok", Cost: Money(sum.Cost, !sum.Unpriced),
	}
	if n := a.badBelow(); n > 0 && a.Over() {
		r.Text = join(fmt.Sprintf("%d failed below", n), r.Text)
	}
	return r
}

func (a *Agent) badBelow() int {
	n := 0
	for _, c := range a.Children {
		if c.Over() && stateOf(c.Status).bad {
			n++
		}
		n += c.badBelow()
	}
	return n
}

// groupRow tells of several siblings how many there are, and what came of them
// or what they do.
func groupRow(list []*Agent) Row {
	var sum Sum
	counts := map[string]int{} // by word: two states may share one
	most := list[0].Status
	for _, a := range list {
		sum = sum.add(a.Sum())
		counts[stateOf(a.Status).word]++
		if counts[stateOf(a.Status).word] > counts[stateOf(most).word] {
			most = a.Status
		}
	}
	r := Row{state: stateOf(most), Tokens: Tokens(sum.Tokens) + " tok", Cost: Money(sum.Cost, !sum.Unpriced)}
	if list[0].Over() && len(counts) == 1 && !r.state.bad {
		r.Name = fmt.Sprintf("%d %s", len(list), r.state.word)
		r.state.word = ""
		return r
	}
	r.Name = fmt.Sprintf("%d more", len(list))
	var words []string
	for _, s := range states {
		word := stateOf(s.status).word
		if n := counts[word]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, word))
			delete(counts, word)
		}
	}
	r.Text = strings.Join(words, ", ")
	if r.state.bad {
		r.state = stateOf(string(agent.ReasonFailed))
	}
	r.state.word, r.state.moves = "", false
	return r
}
