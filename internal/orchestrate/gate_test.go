// Tests of the bound on agents that think at the same time.

package orchestrate

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

func TestGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gates{most: 2}
		var told []string
		enter := func(ctx context.Context, id string, depth int) (func(), error) {
			job := &engine.Job{Spec: agent.Spec{ID: id, Chat: "k", Depth: depth}, Tell: func(ev agent.Event) { told = append(told, ev.(agent.ModelQueued).Why) }}
			return g.enter(ctx, job, agent.CallModel{Turn: 1, Try: 1})
		}
		first, err := enter(t.Context(), "k.1", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := enter(t.Context(), "k.2", 1); err != nil || len(told) != 0 {
			t.Fatalf("a free place was not given: %v %q", err, told)
		}
		if _, err := enter(t.Context(), "k", 0); err != nil || len(told) != 0 {
			t.Fatalf("the orchestrator waited: %v %q", err, told)
		}
		in := make(chan func())
		go func() {
			leave, err := enter(t.Context(), "k.3", 1)
			if err != nil {
				t.Error(err)
			}
			in <- leave
		}()
		synctest.Wait()
		if len(told) != 1 || told[0] != "parallel_agents" {
			t.Fatalf("the third was told %q", told)
		}
		first()
		third := <-in
		if len(told) != 2 || told[1] != "" {
			t.Errorf("the end of the wait was not told: %q", told)
		}
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := enter(stopped, "k.4", 1); err == nil {
			t.Error("one who was stopped got a place")
		}
		third()
		if n := g.chats["k"].users; n != 1 {
			t.Errorf("%d users are left, 1 holds a place", n)
		}
	})
}

// TestWaited: the record of a call says how long it waited before it started.
func TestWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerformer(t, &models{reply: &llm.Reply{Parts: []message.Part{message.TextPart{Text: "done"}}, Stop: llm.StopEnd}})
		p.gates.most = 1
		job := &engine.Job{Spec: agent.Spec{ID: "k.1", Chat: "k", Depth: 1}, Now: time.Now, Tell: func(agent.Event) {}}
		leave, err := p.gates.enter(t.Context(), job, agent.CallModel{})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(1500*time.Millisecond, leave)
		for _, want := range []int64{1500, 0} {
			ev, ok := p.CallModel(t.Context(), job, agent.CallModel{Turn: 1, Try: 1, Model: "test/one"}, func(string, int, string, string) {}).(agent.ModelReplied)
			if !ok || ev.Info.Waited != want || ev.Info.StartedAt != time.Now().UnixMilli() {
				t.Errorf("it waited %d ms, want %d: %+v", ev.Info.Waited, want, ev)
			}
		}
	})
}
