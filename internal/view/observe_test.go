// Tests of the events for observers.

package view

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/store"
)

func TestObserve(t *testing.T) {
	t.Parallel()
	tree := NewTree()
	row := func(id, parent, name, role string, depth int) store.Agent {
		return store.Agent{ID: id, ChatID: "k", Parent: parent, Name: name, Path: "main/" + name, Role: role, Depth: depth}
	}
	put := func(seq int64, kind, agent string, docs ...any) *Observed {
		c := store.Change{Seq: seq, At: seq, Type: kind, Chat: "k", Agent: agent}
		for _, d := range docs {
			c.Docs = append(c.Docs, store.Document{Data: d})
		}
		tree.Change(c)
		return tree.Observe(c)
	}
	if o := put(1, "created", "k", row("k", "", "main", "main", 0)); o != nil {
		t.Errorf("an event about the orchestrator: %+v", o)
	}
	coder := row("k.1", "k", "coder", "coder", 1)
	o := put(2, "created", "k.1", coder, store.Task{ID: "k.1", SubAgentID: "k.1", Instruction: "write it"})
	if o == nil || o.Type != Started || o.Task != "write it" || o.Name != "coder" || o.Event != nil {
		t.Fatalf("start: %+v", o)
	}
	o = put(3, "created", "k.1.1", row("k.1.1", "k.1", "tester", "tester", 2), store.Task{ID: "k.1.1", SubAgentID: "k.1.1", Instruction: "test it"})
	if o == nil || o.Type != Progress || o.Agent != "k.1" || o.Event == nil || o.Event.Type != Started || o.Event.Agent != "k.1.1" || o.Event.Depth != 2 {
		t.Fatalf("nested start: %+v", o)
	}
	if o = put(4, "tool_finished", "k.1"); o.Type != Progress || o.Change != "tool_finished" || o.Event != nil {
		t.Errorf("progress: %+v", o)
	}
	coder.EndedAt, coder.Turns = 6, 3
	coder.Tokens, coder.ChildTokens = 10, 5
	if o = put(5, "tool_finished", "k.1", coder); o.Type != Progress {
		t.Errorf("a change before the end, read after it: %+v", o)
	}
	o = put(6, "model_replied", "k.1", coder, store.Task{ID: "k.1", SubAgentID: "k.1", Reason: "completed", Result: "done"})
	if o.Type != Ended || o.Outcome != "completed" || o.Result != "done" || o.Turns != 3 || o.Tokens != 15 {
		t.Errorf("end: %+v", o)
	}
	if o = put(7, "work_inspected", "k.1", coder); o != nil {
		t.Errorf("the end is told again: %+v", o)
	}
}
