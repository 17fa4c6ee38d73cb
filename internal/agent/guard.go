// Loops: a call that is made again and again, with the same answer each time,
// is answered with what is known instead of being made once more.

package agent

import (
	"fmt"
	"slices"
)

const (
	maxSame    = 3  // times the same call may give the same answer
	maxRepeats = 16 // calls that are remembered
)

// Repeat is a call that was made, and what it gave.
type Repeat struct {
	Key   string `json:"key"`            // hash of name and input
	Same  string `json:"same,omitempty"` // hash of the answer
	Times int    `json:"times"`          // how often running that call gave that answer
	Pos   int    `json:"pos"`            // where it stands: the first of them, which was committed long ago
}

// remember notes what a tool call gave. Whatever may have changed the world
// makes other calls worth repeating.
func (m *machine) remember(c *Call, same string, pos int) {
	if c.Class == ClassWrite {
		m.Repeats = slices.DeleteFunc(m.Repeats, func(r Repeat) bool { return r.Key != c.Key || c.Key == "" })
	}
	if c.Key == "" || same == "" {
		return
	}
	r := &m.Repeats[m.repeat(c.Key)]
	if r.Same != same {
		r.Same, r.Times, r.Pos = same, 0, pos
	}
	r.Times++
}

// delegated notes the results of a delegation. One that succeeded as a whole
// is not worth a second time.
func (m *machine) delegated(g Group, pos int) {
	m.Repeats = slices.DeleteFunc(m.Repeats, func(r Repeat) bool { return r.Key != g.Key || g.Key == "" })
	if g.Key == "" {
		return
	}
	k := m.repeat(g.Key)
	m.Repeats[k].Times++
	m.Repeats[k].Pos = pos
	if g.Good == g.Size {
		m.Repeats[k].Times = maxSame
	}
}

// repeat finds what is noted about a call, and makes room for it.
func (m *machine) repeat(key string) int {
	k := slices.IndexFunc(m.Repeats, func(r Repeat) bool { return r.Key == key })
	if k >= 0 {
		return k
	}
	if len(m.Repeats) == maxRepeats {
		m.Repeats = slices.Delete(m.Repeats, 0, 1)
	}
	m.Repeats = append(m.Repeats, Repeat{Key: key})
	return len(m.Repeats) - 1
}

// loops answers call i if it is known what it would give.
func (m *machine) loops(i int) bool {
	c := m.call(i)
	if c.Key == "" {
		return false
	}
	if k := slices.IndexFunc(m.Groups, func(g Group) bool { return g.Key == c.Key && !g.Closed }); k >= 0 {
		m.answer(i, true, fmt.Sprintf("Not started again: the same is running already, as task %s.%d.", m.Spec.ID, m.Groups[k].First))
		return true
	}
	k := slices.IndexFunc(m.Repeats, func(r Repeat) bool { return r.Key == c.Key })
	if k < 0 || m.Repeats[k].Times < maxSame {
		return false
	}
	text := fmt.Sprintf("Not run again: this exact call was made %d times and gave the same each time. Do something else. What it gave:", m.Repeats[k].Times)
	if c.Class == ClassDelegate {
		text = "Not started again: this exact task was delegated before. Use what it gave, or ask for something else:"
	}
	c.Phase = CallDone
	m.Context += noteTokens
	m.emit(
		SetCall{Turn: m.Turn, Call: i, Phase: CallDone, IsError: true},
		RepeatResult{Pos: m.Phase.(Acting).Pos + 1 + i, Call: i, CallID: c.ID, Name: c.Name, From: m.Repeats[k].Pos, Text: text},
	)
	return true
}
