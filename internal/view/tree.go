// Package view is the model of what is shown of one chat: the tree of agents,
// what each does now, and how it ended. It is fed with committed changes and
// with pieces of replies, and gives rows; the text renderer, the screen and
// the JSON printer beside it turn those into bytes.
//
// The package knows documents and words. It must not know engines, commands or
// where its input comes from, so that a terminal, a tail of the feed and a web
// server can share it. A Tree has one owner; nothing here locks.
package view

import (
	"slices"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// Tree is what is known of one chat. Documents replace what was known of them,
// so that applying a change twice, or one that was read late, does no harm.
type Tree struct {
	Chat   store.Chat
	Root   *Agent // the orchestrator; nil before it is known
	Paused error  // why nothing can be committed at present

	agents map[string]*Agent
	last   *agent.Outcome // of the run that is shown, once it is over
	said   []Said
}

// Agent is one agent as it is shown.
type Agent struct {
	store.Agent
	Task     store.Task // of a sub-agent
	Parent   *Agent
	Children []*Agent // in the order in which they were started

	calls    []store.ToolCall // those without a result
	failed   store.ModelCall  // the newest model call that failed
	stream   stream
	printed  map[string]string // the end of what tools print that run, by call
	progress int64             // when it last got on, in Unix milliseconds
	since    int64             // when it was started, or got the user message it works on
	told     int64             // the end that observers know of
}

// stream is the reply that is being received.
type stream struct {
	call string
	part int
	kind string
	name string // of the tool
	text string // of the part, or its end
	said string // the parts of plain text before this one
}

// Said is a text of the orchestrator that was committed.
type Said struct {
	Pos  int
	Text string
	More bool // calls of tools follow: it is not the answer
}

// streamKept bounds how much of a reply is kept while it arrives; more is
// never shown at once.
const streamKept = 16 << 10

// printedKept bounds how much is kept of what a running tool prints: its last
// line is shown.
const printedKept = 2 << 10

// NewTree makes an empty tree.
func NewTree() *Tree { return &Tree{agents: map[string]*Agent{}} }

// Len is the number of agents, the orchestrator among them.
func (t *Tree) Len() int { return len(t.agents) }

// Agent returns an agent by its id, nil if it is not known.
func (t *Tree) Agent(id string) *Agent { return t.agents[id] }

// Finish tells how the run that is shown has ended.
func (t *Tree) Finish(o agent.Outcome) { t.last = &o }

// Begin tells that another run is shown.
func (t *Tree) Begin() { t.last = nil }

// Said returns what the orchestrator has said since the last call.
func (t *Tree) Said() []Said {
	s := t.said
	t.said = nil
	return s
}

// Change applies a committed change.
func (t *Tree) Change(c store.Change) {
	for _, d := range c.Docs {
		if d.Deleted {
			continue
		}
		switch v := d.Data.(type) {
		case store.Chat:
			t.Chat = v
		case store.Agent:
			t.putAgent(v)
		case store.Task:
			t.putTask(v)
		case store.ToolCall:
			t.putCall(v)
		case store.ModelCall:
			t.putModelCall(v)
		case store.Message:
			t.putMessage(v)
		}
	}
	if a := t.agents[c.Agent]; a != nil {
		a.progress = max(a.progress, c.At)
	}
}

func (t *Tree) putAgent(row store.Agent) {
	a := t.agents[row.ID]
	if a == nil {
		a = &Agent{since: row.CreatedAt}
		t.agents[row.ID] = a
		if p := t.agents[row.Parent]; p != nil {
			a.Parent = p
			p.Children = append(p.Children, a)
		} else {
			t.Root = a
		}
	}
	if row.UpdatedAt < a.UpdatedAt {
		return
	}
	a.Agent = row
	a.progress = max(a.progress, row.UpdatedAt)
	if a.Over() {
		a.calls, a.stream, a.printed = nil, stream{}, nil
	}
}

func (t *Tree) putTask(task store.Task) {
	if a := t.agents[task.SubAgentID]; a != nil && task.UpdatedAt >= a.Task.UpdatedAt {
		a.Task = task
	}
}

func (t *Tree) putCall(c store.ToolCall) {
	a := t.agents[c.Agent]
	if a == nil {
		return
	}
	i := slices.IndexFunc(a.calls, func(x store.ToolCall) bool { return x.ID == c.ID })
	switch {
	case c.Phase == string(agent.CallDone) && i >= 0:
		a.calls = slices.Delete(a.calls, i, i+1)
		delete(a.printed, c.ID)
	case c.Phase == string(agent.CallDone) || a.Over():
	case i >= 0:
		a.calls[i] = c
	default:
		a.calls = append(a.calls, c)
	}
}

func (t *Tree) putModelCall(c store.ModelCall) {
	a := t.agents[c.Agent]
	if a == nil {
		return
	}
	if c.Status == "failed" && c.StartedAt >= a.failed.StartedAt {
		a.failed = c
	}
	if a.stream.call == c.ID { // it is over: replied, failed or lost
		a.stream = stream{}
	}
}

// putMessage notes what the orchestrator says, and when the user's message
// began its run.
func (t *Tree) putMessage(row store.Message) {
	if t.Root == nil || row.Agent != t.Root.ID {
		return
	}
	switch message.Kind(row.Kind) {
	case message.KindUser:
		if row.CreatedAt > t.Root.since {
			t.Root.since = row.CreatedAt
		}
	case message.KindReply:
		m, err := row.Decode()
		if err != nil || m.Text() == "" || slices.ContainsFunc(t.said, func(s Said) bool { return s.Pos == row.Pos }) {
			return
		}
		t.said = append(t.said, Said{Pos: row.Pos, Text: m.Text(), More: len(m.Calls()) > 0})
	case message.KindTask, message.KindResult, message.KindResults, message.KindNote, message.KindSummary:
	}
}

// Delta takes in a piece of a reply, or of what a tool prints. One of a reply
// that does not follow what is known begins anew: the start was missed, and the
// end is what is shown.
func (t *Tree) Delta(d feed.Delta, at time.Time) {
	a := t.agents[d.Agent]
	if a == nil || a.Over() {
		return
	}
	a.progress = max(a.progress, at.UnixMilli())
	if d.Kind == feed.Output {
		if a.printed == nil {
			a.printed = map[string]string{}
		}
		text := a.printed[d.Call] + d.Text
		a.printed[d.Call] = text[max(0, len(text)-printedKept):]
		return
	}
	if old := a.stream; old.call != d.Call || old.part != d.Part || d.Offset == 0 {
		a.stream = stream{call: d.Call, part: d.Part, kind: d.Kind, name: d.Name}
		if old.call == d.Call && old.part < d.Part {
			a.stream.said = old.plain()
		}
	}
	text := a.stream.text + d.Text
	if len(text) > streamKept {
		text = text[len(text)-streamKept:]
	}
	a.stream.text = text
}

// plain is the plain text of the reply so far.
func (s stream) plain() string {
	if s.kind != feed.Text {
		return s.said
	}
	if s.said == "" {
		return s.text
	}
	return s.said + "\n\n" + s.text
}

// Streaming returns what the orchestrator is saying right now.
func (t *Tree) Streaming() string {
	if t.Root == nil {
		return ""
	}
	return t.Root.stream.plain()
}

// Over tells whether a sub-agent has ended.
func (a *Agent) Over() bool { return a.EndedAt > 0 }

// Working tells whether the agent, or the run of the orchestrator, goes on.
func (a *Agent) Working() bool {
	return !a.Over() && a.Status != string(agent.StatusIdle)
}

// AtRest tells whether nothing in the tree works.
func (t *Tree) AtRest() bool {
	return t.Root != nil && !t.Root.Working() && !t.Live()
}

// Live tells whether a sub-agent has not ended.
func (t *Tree) Live() bool {
	for _, a := range t.agents {
		if a != t.Root && !a.Over() {
			return true
		}
	}
	return false
}

// Elapsed is how long ago the agent was started (the orchestrator: was given
// its message), up to its end. It is wall time: it contains waits, and the time
// in which no process was there to go on.
func (t *Tree) Elapsed(a *Agent, now time.Time) time.Duration {
	end := now.UnixMilli()
	switch {
	case a.Over():
		end = a.EndedAt
	case !a.Working():
		end = a.UpdatedAt
	}
	return time.Duration(max(end-a.since, 0)) * time.Millisecond
}

// Sum is what an agent and everything below it has used.
type Sum struct {
	Tokens   int64
	Cost     int64 // millionths of a dollar
	Unpriced bool  // the cost is not known
}

func (s Sum) add(o Sum) Sum {
	return Sum{s.Tokens + o.Tokens, s.Cost + o.Cost, s.Unpriced || o.Unpriced}
}

// Sum adds up a and its descendants.
func (a *Agent) Sum() Sum {
	s := Sum{a.Tokens, a.Cost, a.Unpriced}
	for _, c := range a.Children {
		s = s.add(c.Sum())
	}
	return s
}

// Counts tells how many sub-agents are in which situation.
type Counts struct {
	Working, Waiting, Completed, Failed, Cancelled int
}

// Counts looks at all sub-agents. Waiting are those that need a person,
// Cancelled also those that were no longer needed, and Failed are those that
// ended in any other way but well.
func (t *Tree) Counts() Counts {
	var c Counts
	for _, a := range t.agents {
		switch s := stateOf(a.Status); {
		case a == t.Root:
		case s.person:
			c.Waiting++
		case !a.Over():
			c.Working++
		case s.bad:
			c.Failed++
		case a.Status == string(agent.ReasonCompleted):
			c.Completed++
		default:
			c.Cancelled++
		}
	}
	return c
}

// Newest is when something last happened in the tree, in Unix milliseconds.
func (t *Tree) Newest() int64 {
	newest := t.Chat.UpdatedAt
	for _, a := range t.agents {
		newest = max(newest, a.UpdatedAt)
	}
	return newest
}
