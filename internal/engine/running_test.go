// What a tool writes while it runs, as those who watch the chat see it.

package engine_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/enginetest"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// watcher keeps the deltas that are published.
type watcher struct {
	mu     sync.Mutex
	deltas []feed.Delta
}

func (*watcher) Notify([]*store.Entry) {}
func (*watcher) Discard(string)        {}

func (w *watcher) Publish(d feed.Delta) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.Kind == "output" {
		w.deltas = append(w.deltas, d)
	}
}

func TestLiveOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		st, err := sqlite.Open(dir, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, st)
		world := enginetest.NewWorld(1)
		world.Think = func(_ *engine.Job, call agent.CallModel) enginetest.Answer {
			if call.Turn == 1 {
				return enginetest.Answer{Calls: []enginetest.Call{{Tool: enginetest.Read}, {Tool: enginetest.Write}}}
			}
			return enginetest.Answer{Text: "through"}
		}
		w := &watcher{}
		e := engine.New(engine.Config{Store: st, Performer: world, Feed: w, NewID: func() string { return "chat" }})
		defer e.Close()
		completes(t, begin(t, e))
		var want []feed.Delta
		for i, name := range []string{enginetest.Read, enginetest.Write} {
			d := feed.Delta{Chat: "chat", Agent: "chat", Path: "main", Call: store.ToolCallID("chat", 1, i), Turn: 1, Kind: "output", Name: name, Text: "at work, "}
			next := d
			next.Offset, next.Text = len(d.Text), "nearly done"
			want = append(want, d, next)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if !slices.Equal(w.deltas, want) {
			t.Errorf("published were\n%+v, want\n%+v", w.deltas, want)
		}
	})
}
