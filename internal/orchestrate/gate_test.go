// Tests of the bound on agents that think at the same time.

package orchestrate

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
)

func TestGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gates{most: 2}
		var told []string
		enter := func(ctx context.Context, id string, depth int) (func(), error) {
			job := engine.Job{Spec: agent.Spec{ID: id, Chat: "k", Depth: depth}, Tell: func(ev agent.Event) { told = append(told, ev.(agent.ModelQueued).Why) }}
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
