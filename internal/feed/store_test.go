// This file tests the feed over a real store with everyone at work at once.

package feed_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// TestManyWritersManyReaders has agents stream and commit while subscribers
// come from anywhere, are cut off, and come back. Every one of them must have
// got exactly what fits its filter, in order, and the deltas must make up what
// was committed.
func TestManyWritersManyReaders(t *testing.T) {
	const chats, turns, readers = 6, 40, 24
	s, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := feed.New(s)
	defer func() {
		f.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var entries []*store.Entry
	for i := range chats {
		id := fmt.Sprintf("c%d", i)
		entries = append(entries, &store.Entry{Chat: id, Agent: id, Type: "Created", Docs: []store.Doc{
			store.NewChat{Chat: store.Chat{ID: id}}, store.NewAgent{Agent: store.Agent{ID: id, ChatID: id}},
		}})
	}
	if err := s.Commit(t.Context(), &store.Batch{Entries: entries}); err != nil {
		t.Fatal(err)
	}

	const last = chats + chats*turns
	var writers, all sync.WaitGroup
	for i := range chats {
		writers.Go(func() { write(t, s, f, fmt.Sprintf("c%d", i), turns) })
	}
	for i := range readers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			r := reader{chat: fmt.Sprintf("c%d", i%chats), since: int64(rng.IntN(chats + 1)), buffer: 1 + rng.IntN(30), texts: map[string]string{}}
			if i%4 == 0 {
				r.chat = ""
			}
			r.read(t, s, f, last)
		})
	}
	writers.Wait()
	// The end is told to everyone, whatever the filter: a change in each chat.
	for i := range chats {
		id := fmt.Sprintf("c%d", i)
		b := &store.Batch{Entries: []*store.Entry{{Chat: id, Agent: id, Type: "End"}}}
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		f.Notify(b.Entries)
	}
	all.Wait()
}

// write streams and commits the turns of one agent as the engine does.
func write(t *testing.T, s store.Store, f *feed.Feed, id string, turns int) {
	for turn := 1; turn <= turns; turn++ {
		call := store.ModelCallID(id, turn, 1)
		text := ""
		for n := range 10 {
			piece := fmt.Sprintf("%s/%d/%d ", id, turn, n)
			f.Publish(feed.Delta{Chat: id, Agent: id, Call: call, Turn: turn, Try: 1, Kind: feed.Text, Offset: len(text), Text: piece})
			text += piece
		}
		b := &store.Batch{Entries: []*store.Entry{{Chat: id, Agent: id, Type: text, Docs: []store.Doc{
			store.NewModelCall{ModelCall: store.ModelCall{Agent: id, Turn: turn, Try: 1, Status: "replied"}},
		}}}}
		if err := s.Commit(t.Context(), b); err != nil {
			t.Error(err)
			return
		}
		f.Notify(b.Entries)
		f.Discard(call)
	}
}

// reader is a subscriber that comes back whenever it is cut off.
type reader struct {
	chat   string
	since  int64
	buffer int
	texts  map[string]string // of running replies, by call
	cuts   int
}

func (r *reader) read(t *testing.T, s store.Store, f *feed.Feed, last int64) {
	from := r.since
	var got []int64
	for {
		sub := f.Subscribe(t.Context(), r.since, store.Filter{Chat: r.chat}, feed.Options{Deltas: true, Buffer: r.buffer})
		clear(r.texts)
		done, err := r.follow(t, sub, &got, last)
		sub.Close()
		if done {
			break
		}
		var slow *feed.SlowError
		if !errors.As(err, &slow) {
			t.Errorf("the subscription ended with %v", err)
			return
		}
		r.cuts++
		r.since = slow.Last
	}
	list, _, err := s.Changes(t.Context(), from, 0, store.Filter{Chat: r.chat})
	if err != nil {
		t.Error(err)
		return
	}
	var wanted []int64
	for _, c := range list {
		if c.Type != "End" {
			wanted = append(wanted, c.Seq)
		}
	}
	t.Logf("reader of %q: %d changes, cut off %d times", r.chat, len(got), r.cuts)
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		t.Errorf("a reader of %q from %d on (cut off %d times) got\n%v, want\n%v", r.chat, from, r.cuts, got, wanted)
	}
}

// follow takes items until the writers have ended.
func (r *reader) follow(t *testing.T, sub *feed.Subscription, got *[]int64, last int64) (done bool, err error) {
	for {
		item, err := sub.Next(t.Context())
		if err != nil {
			return false, err
		}
		if d := item.Delta; d != nil {
			if d.Offset != len(r.texts[d.Call]) {
				t.Errorf("a piece of %s has offset %d, want %d", d.Call, d.Offset, len(r.texts[d.Call]))
			}
			r.texts[d.Call] += d.Text
			continue
		}
		c := item.Change
		if c.Type == "End" {
			if c.Seq > last && (r.chat != "" || c.Seq == last+6) {
				return true, nil
			}
			continue
		}
		*got = append(*got, c.Seq)
		for _, doc := range c.Docs {
			if m, ok := doc.Data.(store.ModelCall); ok {
				if said := r.texts[m.ID]; !strings.HasPrefix(c.Type, said) {
					t.Errorf("the deltas of %s say %q, the commit says %q", m.ID, said, c.Type)
				}
				// From now on nothing may come of it: any offset but this is wrong.
				r.texts[m.ID] = c.Type + " (committed)"
			}
		}
	}
}
