// This file makes changes out of what was just committed, so that nobody reads
// back from the store what was written to it a moment ago.

package feed

import (
	"fmt"
	"slices"
	"sync"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// maxKnown bounds the agents whose documents are remembered.
const maxKnown = 1 << 14

// composer knows the documents of agents at work as the changes so far left
// them. What it does not know, or what is seldom changed, has to be read: it
// says so, and learns from what was read.
type composer struct {
	agents map[string]*store.Agent
	tasks  map[string]*store.Task
	calls  map[string]*store.ToolCall

	touched []store.Document // by the entry in hand; Data is a pointer into the maps, or the document itself
	ended   string           // the agent that has ended with it
}

func newComposer() composer {
	return composer{agents: map[string]*store.Agent{}, tasks: map[string]*store.Task{}, calls: map[string]*store.ToolCall{}}
}

func (c *composer) forget() {
	clear(c.agents)
	clear(c.tasks)
	clear(c.calls)
}

// compose makes the change of a committed entry, each document as that entry
// left it. Entries come by number without gap; after one that has to be read
// (false) the composer must learn the changes from there on, or forget all.
func (c *composer) compose(e *store.Entry) (store.Change, bool) {
	c.touched, c.ended = c.touched[:0], ""
	for _, d := range e.Docs {
		if !c.apply(e, d) {
			return store.Change{}, false
		}
	}
	a := c.agents[e.Agent]
	if a == nil {
		return store.Change{}, false
	}
	change := store.Change{Seq: e.Seq, At: e.At, Type: e.Type, Chat: a.ChatID, Agent: a.ID, Path: a.Path, User: a.UserID}
	if len(c.touched) > 0 {
		change.Docs = make([]store.Document, len(c.touched))
	}
	for i, d := range c.touched {
		switch v := d.Data.(type) {
		case *store.Agent:
			d.Data = *v
		case *store.Task:
			d.Data = *v
		case *store.ToolCall:
			d.Data = *v
			if v.EndedAt != 0 {
				delete(c.calls, v.ID)
			}
		}
		change.Docs[i] = d
	}
	if c.ended != "" {
		delete(c.agents, c.ended)
		delete(c.tasks, c.ended)
	}
	return change, true
}

// apply does to the remembered documents what the store did to its own.
func (c *composer) apply(e *store.Entry, d store.Doc) bool {
	switch d := d.(type) {
	case store.PutUser, store.PutPrompt, store.NewArtifact:
		return true
	case store.NewChat, store.SetChat, store.DeleteChat, store.SetModel, store.PlaceMessage, store.SetItem, store.PutReadMark, store.PutSettings:
		return false
	case store.NewAgent:
		a := d.Agent
		c.agents[a.ID] = &a
		return c.touchAgent(a.ID)
	case store.SetHead:
		if a := c.agents[d.ID]; a != nil {
			a.Head = d.Head
		}
		return c.touchAgent(d.ID)
	case store.EndAgent:
		if a := c.agents[d.ID]; a != nil {
			a.Summary, a.Error, a.EndedAt = d.Summary, d.Error, d.EndedAt
		}
		if d.EndedAt != 0 {
			c.ended = d.ID
		}
		return c.touchAgent(d.ID)
	case store.AdoptMessages:
		return c.touchAgent(d.Agent)
	case store.NewTask:
		t := d.Task
		c.tasks[t.ID] = &t
		return c.touchTask(t.ID)
	case store.SetTask:
		if t := c.tasks[d.ID]; t != nil {
			t.Status, t.UpdatedAt = d.Status, d.At
		}
		return c.touchTask(d.ID)
	case store.EndTask:
		if t := c.tasks[d.ID]; t != nil {
			t.Result, t.Error, t.ErrorKind, t.Reason = d.Result, d.Error, d.ErrorKind, d.Reason
			t.Metadata, t.UpdatedAt = d.Metadata, d.At
		}
		return c.touchTask(d.ID)
	case store.NewMessage:
		m := d.Message
		if m.ID == "" {
			m.ID = store.MessageID(m.Agent, m.Pos)
		}
		c.touch(store.Collection(e.Chat, m.Agent, "messages"), m.ID, m)
		return c.result(m, d.Said)
	case store.NewToolCall:
		call := d.ToolCall
		call.ID = store.ToolCallID(call.Agent, call.Turn, call.Call)
		c.calls[call.ID] = &call
		return c.touchCall(e.Chat, call.ID)
	case store.SetToolCall:
		id := store.ToolCallID(d.Agent, d.Turn, d.Call)
		if call := c.calls[id]; call != nil {
			setCall(call, d)
		}
		return c.touchCall(e.Chat, id)
	case store.NewModelCall:
		call := d.ModelCall
		call.ID = store.ModelCallID(call.Agent, call.Turn, call.Try)
		c.touch(store.Collection(e.Chat, call.Agent, "model-calls"), call.ID, call)
		return true
	case store.NewItem:
		c.touch("inbox", d.ID, d.Item)
		return true
	}
	panic(fmt.Sprintf("feed: unknown document %T", d))
}

func setCall(call *store.ToolCall, d store.SetToolCall) {
	call.Phase, call.Status = d.Phase, d.Status
	if d.StartedAt != 0 {
		call.StartedAt = d.StartedAt
	}
	if d.EndedAt != 0 {
		call.EndedAt = d.EndedAt
	}
	if d.Record != nil {
		call.Record = d.Record
	}
}

// result gives a tool call what the message with its result says.
func (c *composer) result(m store.Message, said []message.Part) bool {
	call := c.calls[m.Call]
	if call == nil || m.Kind != string(message.KindResult) {
		return true
	}
	if said == nil {
		return false
	}
	if text, isError := store.ResultText(said); isError {
		call.Error = text
	} else {
		call.Result = text
	}
	return true
}

func (c *composer) touchAgent(id string) bool {
	a := c.agents[id]
	if a == nil {
		return false
	}
	c.touch(a.Collection(), id, a)
	return true
}

func (c *composer) touchTask(id string) bool {
	t := c.tasks[id]
	if t == nil {
		return false
	}
	c.touch("tasks", id, t)
	return true
}

func (c *composer) touchCall(chat, id string) bool {
	call := c.calls[id]
	if call == nil {
		return false
	}
	c.touch(store.Collection(chat, call.Agent, "tool-calls"), id, call)
	return true
}

// touch notes a document of the entry in hand, once, where it came first.
func (c *composer) touch(collection, id string, data any) {
	for _, d := range c.touched {
		if d.ID == id && d.Collection == collection {
			return
		}
	}
	c.touched = append(c.touched, store.Document{Collection: collection, ID: id, Data: data})
}

// learn takes in changes that were read. They must reach up to the newest one
// that the store had when it was read: then each document is as the last of
// them left it.
func (c *composer) learn(changes []store.Change) {
	if len(c.agents) > maxKnown {
		c.forget()
	}
	for i := range changes {
		for _, d := range changes[i].Docs {
			if d.Deleted {
				c.forget()
			}
			switch v := d.Data.(type) {
			case store.Agent:
				if v.EndedAt == 0 || v.ID == v.ChatID {
					c.agents[v.ID] = &v
				} else {
					delete(c.agents, v.ID)
					delete(c.tasks, v.ID)
				}
			case store.Task:
				if c.agents[v.ID] != nil {
					c.tasks[v.ID] = &v
				}
			case store.ToolCall:
				if v.EndedAt == 0 {
					c.calls[v.ID] = &v
				} else {
					delete(c.calls, v.ID)
				}
			}
		}
	}
}

// handed holds committed entries until the tailer has told them.
type handed struct {
	mu      sync.Mutex
	entries []*store.Entry // by number, without gap
}

// put adds entries. What does not follow on what is there replaces it, as does
// what is too much: the tailer reads the rest.
func (h *handed) put(entries []*store.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.entries); n > 0 && (h.entries[n-1].Seq+1 != entries[0].Seq || n > maxHanded) {
		h.entries = nil
	}
	h.entries = append(h.entries, entries...)
}

// after drops the entries up to since and returns a page of those that follow
// on it.
func (h *handed) after(since int64) []*store.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for n < len(h.entries) && h.entries[n].Seq <= since {
		h.entries[n] = nil
		n++
	}
	if h.entries = h.entries[n:]; len(h.entries) == 0 {
		h.entries = nil
		return nil
	}
	if h.entries[0].Seq != since+1 {
		return nil
	}
	return slices.Clone(h.entries[:min(pageSize, len(h.entries))])
}
