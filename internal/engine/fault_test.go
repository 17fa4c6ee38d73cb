package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/enginetest"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// shaky is a store that fails once where it is told to.
type shaky struct {
	store.Store
	start, results, load atomic.Bool // fails at the next of them
	full                 atomic.Bool // until there is room again
}

func unavailable(what string) error {
	return fmt.Errorf("%s: %w: io error", what, store.ErrUnavailable)
}

func (s *shaky) Commit(ctx context.Context, b *store.Batch) error {
	if s.full.Load() {
		return unavailable("committing")
	}
	for _, e := range b.Entries {
		if e.Type == "tool_started" && s.start.Swap(false) {
			return unavailable("committing")
		}
	}
	return s.Store.Commit(ctx, b)
}

func (s *shaky) Results(ctx context.Context, id string, first, n int) ([]store.Task, error) {
	if s.results.Swap(false) {
		return nil, unavailable("reading")
	}
	return s.Store.Results(ctx, id, first, n)
}

func (s *shaky) Load(ctx context.Context, id string) (*store.Loaded, error) {
	if id == "chat" && s.load.Swap(false) {
		return nil, unavailable("reading")
	}
	return s.Store.Load(ctx, id)
}

// onShaky lets test play with a chat on a store that can fail; afterwards
// nothing may be missing.
func onShaky(t *testing.T, think func(*engine.Job, agent.CallModel) enginetest.Answer, test func(t *testing.T, st *shaky, e func() *engine.Engine)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		disk, err := sqlite.Open(dir, sqlite.Options{Readers: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, disk)
		st := &shaky{Store: disk}
		world := enginetest.NewWorld(1)
		world.Think = think
		var last *engine.Engine
		test(t, st, func() *engine.Engine {
			if last != nil {
				last.Close()
			}
			last = engine.New(engine.Config{Store: st, Performer: world, NewID: func() string { return "chat" }})
			return last
		})
		last.Close()
		if !t.Failed() {
			enginetest.Audit(t.Context(), st, "chat", t.Errorf)
		}
		for key, n := range world.Writes {
			if n != 1 {
				t.Errorf("write %s ran %d times", key, n)
			}
		}
	})
}

func begin(t *testing.T, e *engine.Engine) <-chan agent.Outcome {
	t.Helper()
	if _, err := e.CreateChat(t.Context(), enginetest.Chat()); err != nil {
		t.Fatal(err)
	}
	done, _ := e.Outcomes("chat")
	if err := e.Send(t.Context(), "chat", "m1", message.Of(message.User, message.KindUser, "go"), nil); err != nil {
		t.Fatal(err)
	}
	return done
}

func completes(t *testing.T, done <-chan agent.Outcome) {
	t.Helper()
	select {
	case o := <-done:
		if o.Reason != agent.ReasonCompleted {
			t.Errorf("ended as %s", o.Reason)
		}
	case <-time.After(time.Hour):
		t.Error("it does not end")
	}
}

// spawning is an orchestrator with n children that say something.
func spawning(n int) func(*engine.Job, agent.CallModel) enginetest.Answer {
	return func(job *engine.Job, call agent.CallModel) enginetest.Answer {
		switch {
		case job.Spec.Depth > 0:
			return enginetest.Answer{Text: "found"}
		case call.Turn == 1:
			return enginetest.Answer{Calls: []enginetest.Call{{Tool: enginetest.Spawn, Plan: enginetest.Plan(n)}}}
		}
		return enginetest.Answer{Text: "all in"}
	}
}

// TestFullWhenAToolStarts: the tool begins when there is room again.
func TestFullWhenAToolStarts(t *testing.T) {
	onShaky(t, func(_ *engine.Job, call agent.CallModel) enginetest.Answer {
		if call.Turn == 1 {
			return enginetest.Answer{Calls: []enginetest.Call{{Tool: enginetest.Write}}}
		}
		return enginetest.Answer{Text: "written"}
	}, func(t *testing.T, st *shaky, open func() *engine.Engine) {
		st.start.Store(true)
		completes(t, begin(t, open()))
	})
}

// TestUnreadableResults: a fan-in whose results cannot be read is not
// committed without them, but tried again.
func TestUnreadableResults(t *testing.T) {
	onShaky(t, spawning(3), func(t *testing.T, st *shaky, open func() *engine.Engine) {
		st.results.Store(true)
		completes(t, begin(t, open()))
	})
}

// TestUnreadableParent: a child's end is not committed without its parent's
// knowledge, also when the parent has to be loaded first.
func TestUnreadableParent(t *testing.T) {
	onShaky(t, func(job *engine.Job, call agent.CallModel) enginetest.Answer {
		if job.Spec.Depth > 0 {
			<-time.After(time.Minute)
		}
		return spawning(1)(job, call)
	}, func(t *testing.T, st *shaky, open func() *engine.Engine) {
		begin(t, open())
		<-time.After(10 * time.Second)
		e := open()
		done, _ := e.Outcomes("chat")
		if err := e.Recover(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		st.load.Store(true)
		completes(t, done)
	})
}

// TestQueueOutlivesRestart: a message that waited in the queue over a restart
// is taken in with the next turn, and the model is sent it.
func TestQueueOutlivesRestart(t *testing.T) {
	onShaky(t, func(job *engine.Job, call agent.CallModel) enginetest.Answer {
		if call.Turn == 1 {
			return enginetest.Answer{Calls: []enginetest.Call{{Tool: enginetest.Read}}}
		}
		return enginetest.Answer{Text: "you said " + job.History[len(job.History)-1].Text()}
	}, func(t *testing.T, st *shaky, open func() *engine.Engine) {
		e := open()
		begin(t, e)
		for a, _ := st.Agent(t.Context(), "chat"); a.Status != "acting"; a, _ = st.Agent(t.Context(), "chat") {
			<-time.After(time.Millisecond)
		}
		if err := e.Send(t.Context(), "chat", "m2", message.Of(message.User, message.KindUser, "and this"), nil); err != nil {
			t.Fatal(err)
		}
		e = open() // the queue is now in the store alone
		done, _ := e.Outcomes("chat")
		if err := e.Recover(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		completes(t, done)
		rows, err := st.History(t.Context(), "chat", 0)
		if err != nil || len(rows) != 5 || rows[3].ID != "m2" || !strings.Contains(string(rows[4].Parts), "you said and this") {
			t.Errorf("%d messages, %v", len(rows), err)
		}
	})
}

// TestCallersAreToldWhilePaused: whoever waits gets an answer, however many
// events of the agents themselves wait for room.
func TestCallersAreToldWhilePaused(t *testing.T) {
	onShaky(t, spawning(600), func(t *testing.T, st *shaky, open func() *engine.Engine) {
		e := open()
		done := begin(t, e)
		for tree, _ := st.Tree(t.Context(), "chat"); len(tree) < 600; tree, _ = st.Tree(t.Context(), "chat") {
			<-time.After(time.Millisecond)
		}
		st.full.Store(true)
		<-time.After(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := e.Cancel(ctx, "chat", "user"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a cancel while nothing can be written: %v", err)
		}
		st.full.Store(false)
		completes(t, done)
	})
}
