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

// watcher keeps the deltas that are published, and what the call is said to
// have printed then.
type watcher struct {
	mu      sync.Mutex
	deltas  []feed.Delta
	asked   func(call string) string
	printed []string
}

func (*watcher) Notify([]*store.Entry) {}
func (*watcher) Discard(string)        {}

func (w *watcher) Publish(d feed.Delta) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.Kind == "output" {
		w.deltas = append(w.deltas, d)
		w.printed = append(w.printed, w.asked(d.Call))
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
		w.asked = e.Printed
		completes(t, begin(t, e))
		var want []feed.Delta
		var printed []string
		for i, name := range []string{enginetest.Read, enginetest.Write} {
			d := feed.Delta{Chat: "chat", Agent: "chat", Path: "main", Call: store.ToolCallID("chat", 1, i), Turn: 1, Kind: "output", Name: name, Text: "at work, "}
			next := d
			next.Offset, next.Text = len(d.Text), "nearly done"
			want = append(want, d, next)
			printed = append(printed, d.Text, d.Text+next.Text)
			if now := e.Printed(d.Call); now != "" {
				t.Errorf("a call that is over has printed %q", now)
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if !slices.Equal(w.deltas, want) {
			t.Errorf("published were\n%+v, want\n%+v", w.deltas, want)
		}
		if !slices.Equal(w.printed, printed) {
			t.Errorf("printed so far were %q, want %q", w.printed, printed)
		}
	})
}
