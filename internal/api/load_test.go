// Much of everything: answers stay paged and bounded, and many who follow do
// not hold up those who work.

package api_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/api"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/store"
)

// pages reads a list to its end and returns how many it has. Only the first
// page is held against the document: there are hundreds.
func pages[T any](w *world, path string, id func(T) string) int {
	w.t.Helper()
	seen, cursor := map[string]bool{}, ""
	for {
		var p wire.Page[T]
		a := w.raw(w.token, http.MethodGet, path+cursor, nil)
		if a.status != http.StatusOK {
			w.t.Fatalf("%s%s: got %d: %s", path, cursor, a.status, a.body)
		}
		if cursor == "" {
			w.spec.check(w.t, http.MethodGet, path, nil, a)
		}
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
		t.Skip("it writes many rows")
	}
	t.Parallel()
	w := newWorld(t)
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
	// Many readers at once: what is bounded is what the server and these clients
	// have together.
	grown := watchHeap(t)
	var wg sync.WaitGroup
	var wrong atomic.Int64
	transport := &http.Transport{MaxIdleConnsPerHost: manyReaders}
	defer transport.CloseIdleConnections()
	for i := range manyReaders {
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
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				wrong.Add(1)
			}
			_ = res.Body.Close() // it was read
		})
	}
	wg.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d of %d readers got no answer", n, manyReaders)
	}
	if most := grown(); most > readersHeap {
		t.Errorf("%d readers took %d MB", manyReaders, most>>20)
	} else {
		t.Logf("%d readers took %d MB at most", manyReaders, most>>20)
	}
}

// readersHeap is what the readers and their connections may take: about 150 kB
// each.
const readersHeap = 300 << 20

// watchHeap samples the heap until the returned function is called, which tells
// how much it has grown at most.
func watchHeap(t *testing.T) func() int64 {
	t.Helper()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse)
	}
	runtime.GC()
	before := heap()
	stop, peak := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		most := before
		for {
			select {
			case <-tick.C:
				most = max(most, heap())
			case <-stop:
				peak <- max(most, heap())
				return
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-peak - before
	}
}

// TestManyFollow: a thousand feeds of one chat all get everything, and what is
// committed meanwhile does not wait for them: none of them reads before the
// last commit is done.
func TestManyFollow(t *testing.T) {
	if testing.Short() {
		t.Skip("it opens many connections")
	}
	t.Parallel()
	w := newWorld(t)
	w.close()
	w.change = func(c *api.Config) { c.Heartbeat = time.Minute } // those of a thousand feeds would be all that is tested
	w.open()
	var snap wire.Snapshot
	w.want(http.StatusCreated, http.MethodPost, chats, wire.NewChat{}).into(t, &snap)
	const changes = 50
	all := make([]*follower, manyFollowers)
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
