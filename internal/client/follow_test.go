// What a follower does when the server does not do as it should.

package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/client"
)

func change(seq, prev int) string {
	return fmt.Sprintf("id: %d\nevent: change\ndata: {\"event\":\"change\",\"prev\":%d,\"seq\":%d,\"docs\":[{\"collection\":\"new-things\",\"id\":\"x\",\"data\":{}}]}\n\n", seq, prev, seq)
}

func problem(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"status":%d,"code":%q,"detail":"told so","seq":7,"overview":{"seq":7,"chats":{"items":[{"id":"c9"}]}}}`, status, code)
}

// newClient answers the n-th request, counted from 0, by do.
func newClient(t *testing.T, do func(n int, w http.ResponseWriter, r *http.Request)) *client.Client {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { do(int(n.Add(1)-1), w, r) }))
	t.Cleanup(s.Close)
	c, err := client.New(client.Options{Address: s.URL + "/", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// read follows until most changes were seen, and returns their numbers.
func read(t *testing.T, c *client.Client, f client.Feed, most int) (seqs []int64, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for item, err := range c.Follow(ctx, f) {
		if err != nil {
			return seqs, err
		}
		if item.Change != nil {
			seqs = append(seqs, item.Change.Seq)
		}
		if len(seqs) == most {
			break
		}
	}
	return seqs, nil
}

func TestFollowGoesOnByNumber(t *testing.T) {
	t.Parallel()
	c := newClient(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if got, want := r.Header.Get("Last-Event-ID"), []string{"1", "4", "4", "4", "5"}[n]; got != want {
			t.Errorf("connection %d begins after %s, want %s", n, got, want)
		}
		switch n {
		case 0: // cut off in the middle of an event
			fmt.Fprint(w, ": connected\n\n"+change(2, 1)+change(4, 2)+strings.TrimSuffix(change(5, 4), "}]}\n\n"))
		case 1:
			problem(w, http.StatusServiceUnavailable, "shutting_down")
		case 2:
			problem(w, http.StatusTooManyRequests, "rate")
		case 3: // repeats what was seen
			fmt.Fprint(w, change(4, 2)+": heartbeat\n\n"+"event: delta\ndata: {\"event\":\"delta\",\"text\":\"x\"}\n\n"+"event: other\ndata: {}\n\n"+change(5, 4))
		default:
			fmt.Fprint(w, change(9, 5))
		}
	})
	got, err := read(t, c, client.Feed{Since: 1, Deltas: true, Patience: time.Minute}, 4)
	if fmt.Sprint(got) != "[2 4 5 9]" || err != nil {
		t.Errorf("saw %v, %v", got, err)
	}
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		do   func(http.ResponseWriter)
		want func(error) bool
	}{
		"gone":     {func(w http.ResponseWriter) { problem(w, http.StatusGone, "deleted") }, isGone},
		"no key":   {func(w http.ResponseWriter) { problem(w, http.StatusUnauthorized, "unauthorised") }, isProblem(http.StatusUnauthorized)},
		"deleted":  {func(w http.ResponseWriter) { problem(w, http.StatusNotFound, "not_found") }, isProblem(http.StatusNotFound)},
		"a gap":    {func(w http.ResponseWriter) { fmt.Fprint(w, change(9, 8)) }, func(err error) bool { return strings.Contains(err.Error(), "gap") }},
		"no Cadre": {func(w http.ResponseWriter) { http.Error(w, "hello", http.StatusTeapot) }, func(err error) bool { return strings.Contains(err.Error(), "no Cadre server") }},
		"elsewhere": {func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://evil.example/")
			w.WriteHeader(http.StatusFound)
		}, func(err error) bool { return strings.Contains(err.Error(), "no Cadre server") }},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, func(_ int, w http.ResponseWriter, _ *http.Request) { test.do(w) })
			if _, err := read(t, c, client.Feed{Since: 1}, 0); err == nil || !test.want(err) {
				t.Errorf("it ends with %v", err)
			}
		})
	}
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	c, err := client.New(client.Options{Address: dead.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, c, client.Feed{}, 0); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("without a server it ends with %v", err)
	}
}

func isGone(err error) bool {
	var gone *client.GoneError
	return errors.As(err, &gone) && gone.Seq == 7 && gone.Snapshot == nil && gone.Overview.Chats.Items[0].ID == "c9"
}

func isProblem(status int) func(error) bool {
	return func(err error) bool {
		var p *wire.Problem
		return errors.As(err, &p) && p.Status == status
	}
}

func TestFollowUntil(t *testing.T) {
	t.Parallel()
	c := newClient(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("until") != "7" {
			t.Errorf("it asks for %s", r.URL)
		}
		if n == 0 {
			w.Header().Set("Content-Length", "10000") // cut off before the end
			fmt.Fprint(w, change(3, 0))
			return
		}
		fmt.Fprint(w, change(7, 3))
	})
	if got, err := read(t, c, client.Feed{Until: 7, Patience: time.Minute}, 0); fmt.Sprint(got) != "[3 7]" || err != nil {
		t.Errorf("saw %v, %v", got, err)
	}
}

// TestFollowTellsPauses: who follows is told that the server can store nothing,
// and a server that comes back counts as one that can.
func TestFollowTellsPauses(t *testing.T) {
	t.Parallel()
	c := newClient(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		switch n {
		case 0:
			fmt.Fprint(w, "event: state\ndata: {\"event\":\"state\",\"paused\":\"the disk is full\"}\n\n")
		default:
			fmt.Fprint(w, change(2, 1))
		}
	})
	var told []string
	got, err := read(t, c, client.Feed{Since: 1, Patience: time.Minute, Paused: func(why string) { told = append(told, why) }}, 1)
	if fmt.Sprint(got) != "[2]" || err != nil || fmt.Sprintf("%q", told) != `["" "the disk is full" ""]` {
		t.Errorf("saw %v, %v, was told %q", got, err, told)
	}
}

// TestAsksAgainMoreSlowly: a request that is one too many is made again.
func TestAsksAgainMoreSlowly(t *testing.T) {
	t.Parallel()
	c := newClient(t, func(n int, w http.ResponseWriter, r *http.Request) {
		var b [100]byte
		if k, _ := r.Body.Read(b[:]); !strings.Contains(string(b[:k]), "Berta") {
			t.Errorf("request %d says %q", n, b[:k])
		}
		if n == 0 {
			problem(w, http.StatusTooManyRequests, "rate")
			return
		}
		fmt.Fprint(w, `{"id":"berta"}`)
	})
	if u, err := c.AddUser(t.Context(), "Berta"); err != nil || u.ID != "berta" {
		t.Errorf("%+v %v", u, err)
	}
}

// TestPatience: while the server is away, what can be made twice is made again,
// and nothing else.
func TestPatience(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	c := newClient(t, func(n int, w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch n {
		case 0:
			problem(w, http.StatusServiceUnavailable, "shutting_down")
		case 1, 3:
			panic(http.ErrAbortHandler)
		case 2:
			w.Header().Set("Content-Length", "100") // cut off
			fmt.Fprint(w, `{"id":`)
		default:
			fmt.Fprint(w, `{"id":"msg-1"}`)
		}
	}).Patient(time.Minute)
	if m, err := c.Post(t.Context(), "c", wire.NewMessage{ID: "msg-1", Text: "x"}); err != nil || m.ID != "msg-1" || asked.Load() != 5 {
		t.Errorf("%+v %v after %d requests", m, err, asked.Load())
	}
	down := newClient(t, func(int, http.ResponseWriter, *http.Request) {
		asked.Add(1)
		panic(http.ErrAbortHandler)
	})
	asked.Store(0)
	if _, err := down.Patient(time.Minute).Post(t.Context(), "c", wire.NewMessage{Text: "x"}); !errors.Is(err, client.ErrUnreachable) || asked.Load() != 1 {
		t.Errorf("a message without an id: %v after %d requests", err, asked.Load())
	}
	if _, err := down.Me(t.Context()); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("without patience: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "127.0.0.1:7777", "ftp://a", "http://", "unix:/x", "http://%zz"} {
		if _, err := client.New(client.Options{Address: bad}); err == nil {
			t.Errorf("%q is taken for an address", bad)
		}
	}
	for id, chat := range map[string]string{"k3x9": "k3x9", "k3x9.2.1": "k3x9", "k3x9.2-i1": "k3x9", "k3x9-i1": "k3x9", "": ""} {
		if got := client.ChatOf(id); got != chat {
			t.Errorf("%q is of chat %q", id, got)
		}
	}
}
