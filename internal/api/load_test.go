// Much of everything: answers stay paged and bounded, and many who follow do
// not hold up those who work.

package api_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/store"
)

// pages reads a list to its end and returns how many it has.
func pages[T any](w *world, path string, id func(T) string) int {
	w.t.Helper()
	seen, cursor := map[string]bool{}, ""
	for {
		var p wire.Page[T]
		a := w.want(http.StatusOK, http.MethodGet, path+cursor, nil)
		a.into(w.t, &p)
		if len(p.Items) > 200 || len(a.body) > 16<<20 {
			w.t.Fatalf("a page of %d entries and %d bytes", len(p.Items), len(a.body))
		}
		for _, x := range p.Items {
			if seen[id(x)] {
				w.t.Fatalf("%s came twice", id(x))
			}
			seen[id(x)] = true
		}
		if p.Next == "" {
			return len(seen)
		}
		cursor = "&cursor=" + p.Next
	}
}

func TestMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes 60,000 rows")
	}
	t.Parallel()
	w := newWorld(t)
	const manyChats, manyMessages = 10_000, 50_000
	var entries []*store.Entry
	flush := func() {
		w.ok(w.app.Store.Commit(t.Context(), &store.Batch{Entries: entries}))
		entries = nil
	}
	for i := range manyChats {
		id := fmt.Sprintf("c%d", i)
		c := store.Chat{ID: id, UserID: "local", Title: "Chat " + id, Role: "main", CreatedAt: int64(i + 1), UpdatedAt: int64(i + 1)}
		a := store.Agent{ID: id, ChatID: id, UserID: "local", Role: "main", Head: store.Head{Status: "idle"}}
		entries = append(entries, &store.Entry{Chat: id, Agent: id, At: 1, Type: "created", Version: 1, Docs: []store.Doc{store.NewChat{Chat: c}, store.NewAgent{Agent: a}}})
		if len(entries) == 500 {
			flush()
		}
	}
	text := strings.Repeat("x", 200)
	for i := range manyMessages / 100 {
		e := &store.Entry{Chat: "c0", Agent: "c0", At: 1, Type: "test", Version: 1, Verdict: store.Stale}
		for k := range 100 {
			e.Docs = append(e.Docs, store.NewMessage{Message: store.Message{Agent: "c0", Pos: i*100 + k, Role: "user", Kind: "note", Parts: []byte(`[{"type":"text","text":"` + text + `"}]`)}})
		}
		if entries = append(entries, e); len(entries) == 50 {
			flush()
		}
	}
	if n := pages(w, chats+"?limit=200", func(c wire.Chat) string { return c.ID }); n != manyChats {
		t.Errorf("the list has %d chats", n)
	}
	for _, order := range []string{"asc", "desc"} {
		if n := pages(w, chats+"/c0/messages?limit=200&order="+order, func(m wire.Message) string { return m.ID }); n != manyMessages {
			t.Errorf("the chat has %d messages", n)
		}
	}
	// 2,000 readers at once.
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	var wrong atomic.Int64
	transport := &http.Transport{MaxIdleConnsPerHost: 2000}
	defer transport.CloseIdleConnections()
	for i := range 2000 {
		wg.Go(func() {
			path := []string{chats + "?limit=200", chats + "/c0/messages?limit=200&order=desc", chats + "/c0/tree"}[i%3]
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.http.URL+path, nil)
			if err != nil {
				wrong.Add(1)
				return
			}
			req.Header.Set("Authorization", "Bearer "+w.token)
			res, err := transport.RoundTrip(req)
			if err != nil || res.StatusCode != http.StatusOK {
				wrong.Add(1)
			}
			if err == nil {
				_ = res.Body.Close() // its status is all that counts
			}
		})
	}
	wg.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d of 2,000 readers got no answer", n)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 1<<30 {
		t.Errorf("2,000 readers took %d MB", grown>>20)
	}
}

// TestManyFollow: a thousand feeds of one chat all get everything, and what is
// committed meanwhile does not wait for them.
func TestManyFollow(t *testing.T) {
	if testing.Short() {
		t.Skip("it opens a thousand connections")
	}
	t.Parallel()
	w := newWorld(t)
	var snap wire.Snapshot
	w.want(http.StatusCreated, http.MethodPost, chats, wire.NewChat{}).into(t, &snap)
	const followers, changes = 1000, 50
	all := make([]*follower, followers)
	for i := range all {
		all[i] = w.follow(t, w.token, fmt.Sprintf("%s/%s/changes?since=%d", chats, snap.Chat.ID, snap.Seq))
	}
	for i := range changes { // nobody reads yet: a commit that waited for a reader would never end
		title := fmt.Sprintf("Title %d", i)
		w.ok(w.app.Engine.SetChat(t.Context(), store.SetChat{ID: snap.Chat.ID, Title: &title}))
	}
	newest := w.newest()
	var wg sync.WaitGroup
	for _, f := range all {
		wg.Go(func() {
			last := snap.Seq
			for last < newest {
				c, ok := f.change(t)
				if !ok || c.Prev != last {
					t.Errorf("a follower at %d got %d after %d (%v)", last, c.Seq, c.Prev, ok)
					return
				}
				last = c.Seq
			}
		})
	}
	wg.Wait()
}
