// This file keeps what running replies have said so far, and what running tools
// have printed.

package feed

import (
	"maps"
	"slices"
	"sync"
)

// Delta is a piece of a reply on its way, or of what a running tool prints. Who
// joins in the middle gets one for each part so far, with everything it says.
type Delta struct {
	Chat    string `json:"chat"`
	Agent   string `json:"agent"`
	Path    string `json:"path,omitempty"`
	Call    string `json:"call"`              // the model call, AGENT-tTURN.TRY, or the tool call, AGENT-cTURN.CALL
	Message string `json:"message,omitempty"` // the id that the reply has once it is committed; none: the output of a tool
	Turn    int    `json:"turn"`
	Try     int    `json:"try"`
	Kind    string `json:"kind"`           // text, thinking, tool_call, output
	Part    int    `json:"part"`           // of the reply, from 0
	Offset  int    `json:"offset"`         // bytes of that part before this piece
	Name    string `json:"name,omitempty"` // of the tool
	Text    string `json:"text"`
}

// The kinds of delta.
const (
	Text     = "text"
	Thinking = "thinking"
	ToolCall = "tool_call"
	Output   = "output" // what a running tool prints
)

const (
	// maxPart bounds what is kept of one part. Of a longer one the beginning
	// is forgotten, which Offset shows to who joins.
	maxPart  = 256 << 10
	maxParts = 256 // of a reply
	// maxReplies bounds the replies kept, should nobody tell that they are
	// over.
	maxReplies = 1 << 14
	// maxOver is how many calls that are over are remembered, so that what
	// they say late is dropped.
	maxOver = 4096
)

// replies holds the running replies. Adding to one costs the same however many
// subscribers there are: the tailer collects what is new.
type replies struct {
	mu      sync.Mutex
	running map[string]*reply // by call
	agents  map[string]*reply // by agent, which has one of its model at a time
	fresh   []*reply          // those with something new, oldest first
	readers int               // joined subscriptions that want deltas

	ended   map[string]struct{}
	endings [maxOver]string // those in ended, as a ring
	next    int
}

type reply struct {
	Delta // of its first piece, without the text
	parts []part
	fresh bool  // it is in replies.fresh
	after int64 // the newest change when it got there
}

type part struct {
	kind, name string
	base       int // bytes forgotten
	text       []byte
	told       int  // bytes told to those who read, the forgotten ones included
	begun      bool // those who read know of it: a tool call begins with its name alone
}

func (p *part) end() int { return p.base + len(p.text) }

func newReplies() replies {
	return replies{running: map[string]*reply{}, agents: map[string]*reply{}, ended: map[string]struct{}{}}
}

// add appends a piece and tells whether somebody has to be woken for it.
func (r *replies) add(d Delta, newest int64) bool {
	if d.Part < 0 || d.Part >= maxParts {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	rep := r.reply(d)
	if rep == nil {
		return false
	}
	for len(rep.parts) <= d.Part {
		rep.parts = append(rep.parts, part{})
	}
	rep.parts[d.Part].add(d)
	if r.readers == 0 || rep.fresh {
		return false
	}
	rep.fresh, rep.after = true, newest
	r.fresh = append(r.fresh, rep)
	return true
}

// reply returns the reply that a piece belongs to, nil if that is over. A new
// try of an agent takes the place of its last one.
func (r *replies) reply(d Delta) *reply {
	if rep := r.running[d.Call]; rep != nil {
		return rep
	}
	if _, over := r.ended[d.Call]; over {
		return nil
	}
	if old := r.agents[d.Agent]; old != nil && d.Kind != Output {
		if old.Turn > d.Turn || old.Turn == d.Turn && old.Try > d.Try {
			return nil
		}
		r.drop(old)
	}
	if len(r.running) >= maxReplies {
		for _, old := range r.running {
			r.drop(old)
			break
		}
	}
	rep := &reply{Delta: d}
	rep.Text, rep.Name, rep.Offset = "", "", 0
	r.running[d.Call] = rep
	if d.Kind != Output { // of its tools several may run
		r.agents[d.Agent] = rep
	}
	return rep
}

func (p *part) add(d Delta) {
	if p.kind == "" {
		p.kind, p.base, p.told = d.Kind, d.Offset, d.Offset
	}
	if d.Name != "" {
		p.name = d.Name
	}
	text := d.Text
	if known := p.end() - d.Offset; known > 0 { // a piece that comes twice
		text = text[min(known, len(text)):]
	}
	p.text = append(p.text, text...)
	if len(p.text) > maxPart {
		forget := len(p.text) - maxPart/2
		p.text = append([]byte(nil), p.text[forget:]...)
		p.base += forget
	}
}

// over forgets a reply for good.
func (r *replies) over(call string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rep := r.running[call]; rep != nil {
		r.drop(rep)
	}
	if _, known := r.ended[call]; known {
		return
	}
	delete(r.ended, r.endings[r.next])
	r.endings[r.next] = call
	r.ended[call] = struct{}{}
	r.next = (r.next + 1) % maxOver
}

func (r *replies) drop(rep *reply) {
	delete(r.running, rep.Call)
	if r.agents[rep.Agent] == rep {
		delete(r.agents, rep.Agent)
	}
	rep.parts = nil // it may still be among the fresh ones
}

// take returns what is new of the replies whose place is not after change
// upTo, in order.
func (r *replies) take(upTo int64) []piece {
	r.mu.Lock()
	defer r.mu.Unlock()
	var pieces []piece
	n := 0
	for ; n < len(r.fresh) && r.fresh[n].after <= upTo; n++ {
		rep := r.fresh[n]
		rep.fresh = false
		for i := range rep.parts {
			p := &rep.parts[i]
			if p.kind != "" && (!p.begun || p.told < p.end()) {
				pieces = append(pieces, piece{p.between(rep, i, p.told, p.end()), rep.after})
				p.told, p.begun = p.end(), true
			}
		}
	}
	rest := copy(r.fresh, r.fresh[n:])
	clear(r.fresh[rest:])
	r.fresh = r.fresh[:rest]
	return pieces
}

// piece is a delta and the change that it comes after.
type piece struct {
	*Delta
	after int64
}

// between is what a part says from a byte to another, as far as it is known.
func (p *part) between(rep *reply, index, from, to int) *Delta {
	from = max(from, p.base)
	to = max(from, to)
	d := rep.Delta
	d.Kind, d.Part, d.Name, d.Offset, d.Text = p.kind, index, p.name, from, string(p.text[from-p.base:to-p.base])
	return &d
}

// join adds a reader and returns what all replies have said up to the place
// from which the other readers will be told more.
func (r *replies) join() []*Delta {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers++
	var soFar []*Delta
	for _, call := range slices.Sorted(maps.Keys(r.running)) {
		rep := r.running[call]
		for i := range rep.parts {
			p := &rep.parts[i]
			if r.readers == 1 { // nobody kept count
				p.told, p.begun = p.end(), true
			}
			if p.kind != "" && p.begun {
				soFar = append(soFar, p.between(rep, i, p.base, p.told))
			}
		}
	}
	return soFar
}

// leave takes a reader away.
func (r *replies) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers--
	if r.readers > 0 {
		return
	}
	for _, rep := range r.fresh {
		rep.fresh = false
	}
	clear(r.fresh)
	r.fresh = r.fresh[:0]
}
