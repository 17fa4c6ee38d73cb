// The feed over HTTP: cut off anywhere, through restarts, each change once.

package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/api"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// follower is a client of server-sent events.
type follower struct {
	cancel context.CancelFunc
	res    *http.Response
	lines  *bufio.Scanner
	spec   *spec
}

func (w *world) follow(t testing.TB, token, path string, header ...string) *follower {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.http.URL+path, nil)
	w.ok(err)
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req) //nolint:bodyclose // close does, in the end
	w.ok(err)
	f := &follower{cancel: cancel, res: res, lines: bufio.NewScanner(res.Body), spec: w.spec}
	f.lines.Buffer(nil, 64<<20)
	t.Cleanup(f.close)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s got %d", path, res.StatusCode)
	}
	return f
}

func (f *follower) close() {
	f.cancel()
	_ = f.res.Body.Close() // it is left on purpose
}

// event is one event; ok is false at the end of the stream.
func (f *follower) event(t testing.TB) (name, id, data string, ok bool) {
	t.Helper()
	for f.lines.Scan() {
		key, value, _ := strings.Cut(f.lines.Text(), ": ")
		switch {
		case f.lines.Text() == "" && data != "":
			return name, id, data, true
		case key == "event":
			name = value
		case key == "id":
			id = value
		case key == "data":
			data = value
		}
	}
	return "", "", "", false
}

// change is the next change; ok is false at the end.
func (f *follower) change(t testing.TB) (c wire.Change, ok bool) {
	t.Helper()
	for {
		name, id, data, ok := f.event(t)
		if !ok {
			return c, false
		}
		if name != "change" {
			continue
		}
		c = wire.Change{}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if id != fmt.Sprint(c.Seq) {
			t.Fatalf("change %d has the id %s", c.Seq, id)
		}
		return c, true
	}
}

func (f *follower) next(t testing.TB) wire.Change {
	t.Helper()
	c, ok := f.change(t)
	if !ok {
		t.Fatal("the feed has ended")
	}
	return c
}

func (f *follower) ends(t testing.TB) {
	t.Helper()
	began := time.Now()
	for {
		if _, ok := f.change(t); !ok {
			break
		}
	}
	if time.Since(began) > 10*time.Second {
		t.Error("the feed did not end with its key")
	}
	f.close()
}

// TestCutOffAnywhere: a client that is cut off 200 times, with the server
// started anew now and then, sees every change exactly once, in order.
func TestCutOffAnywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	random := rand.New(rand.NewPCG(7, 7))
	var chat string
	var seen []int64
	last := int64(0)
	for round := range 200 {
		switch {
		case round%40 == 0:
			if round > 0 {
				w.close()
				w.open()
			}
			chat, _ = w.newChat("Go on")
		case round%5 == 0:
			title := fmt.Sprintf("Title %d", round)
			w.want(http.StatusOK, http.MethodPatch, chats+"/"+chat, wire.SetChat{Title: &title})
		}
		path, header := "/v1/users/me/changes?deltas=false", []string{"Last-Event-ID", fmt.Sprint(last)}
		if round%2 == 0 {
			path, header = fmt.Sprintf("%s&since=%d", path, last), nil
		}
		newest := w.newest()
		f := w.follow(t, w.token, path, header...)
		for range random.IntN(6) {
			if last >= newest {
				break
			}
			c := f.next(t)
			if c.Prev != last {
				t.Fatalf("change %d follows %d, the client has %d", c.Seq, c.Prev, last)
			}
			last = c.Seq
			seen = append(seen, c.Seq)
		}
		f.close()
	}
	newest := w.newest()
	f := w.follow(t, w.token, fmt.Sprintf("/v1/users/me/changes?deltas=false&since=%d", last))
	for last < newest {
		last = f.next(t).Seq
		seen = append(seen, last)
	}
	all, _, err := w.app.Store.Changes(t.Context(), 0, 0, store.Filter{User: "local"})
	w.ok(err)
	var want []int64
	for _, c := range all {
		if c.Seq <= last {
			want = append(want, c.Seq)
		}
	}
	if !slices.Equal(seen, want) {
		t.Errorf("saw %d changes, there are %d", len(seen), len(want))
	}
}

// newest is the number of the newest change that the user can see.
func (w *world) newest() int64 {
	w.t.Helper()
	all, _, err := w.app.Store.Changes(w.t.Context(), 0, 0, store.Filter{User: "local"})
	w.ok(err)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].Seq
}

// pausable is an engine that can be made to say that nothing can be stored.
type pausable struct {
	api.Engine
	why atomic.Pointer[error]
}

func (p *pausable) Paused() error {
	if why := p.why.Load(); why != nil {
		return *why
	}
	return nil
}

// TestPausesAreTold: who follows is told that nothing can be stored, and when it
// can again; who comes meanwhile is told at once.
func TestPausesAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.close()
	stuck := &pausable{}
	w.change = func(cfg *api.Config) {
		stuck.Engine = cfg.Engine
		cfg.Engine = stuck
	}
	w.open()
	full := errors.New("the disk is full")
	sse, lines := w.follow(t, w.token, "/v1/users/me/changes"), w.follow(t, w.token, "/v1/users/me/changes?format=ndjson")
	stuck.why.Store(&full)
	late := w.follow(t, w.token, "/v1/users/me/changes")
	told := func(f *follower, want string) {
		t.Helper()
		if name, _, data, ok := f.event(t); !ok || name != "state" || data != want {
			t.Errorf("told %s %s, want %s", name, data, want)
		}
	}
	line := func(want string) {
		t.Helper()
		for lines.lines.Scan() {
			var v any
			w.ok(json.Unmarshal(lines.lines.Bytes(), &v))
			w.spec.validate(t, []string{"paths", "/v1/users/{user}/changes", "get", "responses", "200", "content", "application/x-ndjson", "schema"}, v)
			if got := lines.lines.Text(); !strings.Contains(got, "heartbeat") {
				if got != want {
					t.Errorf("told %s, want %s", got, want)
				}
				return
			}
		}
		t.Error("the feed has ended")
	}
	told(sse, `{"event":"state","paused":"the disk is full"}`)
	told(late, `{"event":"state","paused":"the disk is full"}`)
	line(`{"event":"state","paused":"the disk is full"}`)
	stuck.why.Store(nil)
	told(sse, `{"event":"state"}`)
	told(late, `{"event":"state"}`)
	line(`{"event":"state"}`)
}

// TestRestored: who followed what a restored copy has replaced begins anew, also
// when there are more changes by then than it had seen.
func TestRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var snap wire.Snapshot
	w.want(http.StatusCreated, http.MethodPost, chats, wire.NewChat{Title: "Kept"}).into(t, &snap)
	rename := func(times int) {
		for i := range times {
			title := fmt.Sprint("Title ", i)
			w.want(http.StatusOK, http.MethodPatch, chats+"/"+snap.Chat.ID, wire.SetChat{Title: &title})
		}
	}
	file, fine := filepath.Join(w.dir, "copy.db"), func(*sqlite.Store) error { return nil }
	w.ok(w.app.Store.Backup(t.Context(), file, false, fine))
	kept := w.newest()
	rename(3)
	lost := w.newest()
	w.close()
	_, err := sqlite.Restore(t.Context(), filepath.Join(w.dir, "data"), file, fine)
	w.ok(err)
	w.open()
	rename(5)
	for _, path := range []string{"/v1/users/me", chats + "/" + snap.Chat.ID} {
		var p wire.Problem
		w.want(http.StatusGone, http.MethodGet, fmt.Sprintf("%s/changes?since=%d", path, lost), nil).into(t, &p)
		if p.Code != "restored" || p.Seq != w.newest() || (p.Snapshot == nil) == (p.Overview == nil) {
			t.Errorf("%s: %+v", path, p)
		}
		f := w.follow(t, w.token, fmt.Sprintf("%s/changes?since=%d", path, kept))
		for last := kept; last < w.newest(); {
			c := f.next(t)
			if c.Prev != last || c.Seq <= lost {
				t.Errorf("%s: change %d follows %d, not %d", path, c.Seq, c.Prev, last)
			}
			last = c.Seq
		}
		f.close()
	}
}

// TestSections: what is asked for comes, and nothing else; lines are as the
// document says.
func TestSections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chat, _ := w.newChat("Sections")
	sub, newest := chat+".1", w.newest()
	read := func(query string, until int64) (all []wire.Change) {
		f := w.follow(t, w.token, chats+"/"+chat+"/changes?since=0&format=ndjson"+query)
		defer f.close()
		for f.lines.Scan() {
			line := f.lines.Text()
			var v any
			w.ok(json.Unmarshal([]byte(line), &v))
			w.spec.validate(t, []string{"paths", "/v1/users/{user}/orch-chats/{chat}/changes", "get", "responses", "200", "content", "application/x-ndjson", "schema"}, v)
			var c wire.Change
			w.ok(json.Unmarshal([]byte(line), &c))
			if c.Event != "change" {
				continue
			}
			if all = append(all, c); c.Seq >= until {
				return all
			}
		}
		t.Fatalf("%s: the feed has ended", query)
		return nil
	}
	whole := read("", newest)
	last := func(wanted func(wire.Change) bool) (seq int64) {
		for _, c := range whole {
			if wanted(c) {
				seq = c.Seq
			}
		}
		return seq
	}
	below := read("&agent="+sub, last(func(c wire.Change) bool { return c.Agent == sub }))
	if len(below) == 0 || len(below) >= len(whole) {
		t.Errorf("below %s there are %d of %d", sub, len(below), len(whole))
	}
	for i, c := range below {
		if c.Agent != sub && !slices.ContainsFunc(c.Docs, func(d store.Document) bool { return d.ID == sub }) {
			t.Errorf("change %d is of %s", c.Seq, c.Agent)
		}
		if i > 0 && c.Prev != below[i-1].Seq {
			t.Errorf("change %d follows %d, not %d", c.Seq, c.Prev, below[i-1].Seq)
		}
	}
	said := last(func(c wire.Change) bool {
		return slices.ContainsFunc(c.Docs, func(d store.Document) bool { return d.Collection == "sub-agents/"+sub+"/messages" })
	})
	for _, c := range read("&collections=inbox,sub-agents/*/messages", said) {
		for _, d := range c.Docs {
			if d.Collection != "inbox" && d.Collection != "sub-agents/"+sub+"/messages" {
				t.Errorf("change %d shows %s", c.Seq, d.Collection)
			}
		}
	}
	f := w.follow(t, w.token, chats+"/"+chat+"/changes?since=0&deltas=false")
	w.want(http.StatusNoContent, http.MethodDelete, chats+"/"+chat+"?force=true", nil)
	var lastDocs []store.Document
	for {
		c, ok := f.change(t)
		if !ok {
			break
		}
		lastDocs = c.Docs
	}
	if len(lastDocs) != 1 || !lastDocs[0].Deleted {
		t.Errorf("the feed of a deleted chat ends with %+v", lastDocs)
	}
}
