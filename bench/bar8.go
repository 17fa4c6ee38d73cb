// Bar 8: whether those who watch slow down those who work.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cadre-dev/cadre/bench/chat"
)

// quiet is a time in which something would have arrived, were there more.
const quiet = 500 * time.Millisecond

// connectGap keeps the subscribers below the rate at which the server lets one
// client make requests.
const connectGap = 22 * time.Millisecond

// audience lets 64 sub-agents work in a chat that nobody watches, and in one
// that a thousand subscribers follow, in turns.
func (b *bench) audience(ctx context.Context) (*section, error) {
	pairs, subscribers, fan := 3, 1000, 64
	if b.quick {
		pairs, subscribers = 1, 200
	}
	srv, end, err := b.serveAnew(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	script := chat.Script{Kind: chat.Root, Fan: fan, Leaf: fanTurns, Wait: -1}
	var alone, watched, ratios, sent, behind []float64
	for range pairs {
		a, err := b.watchedBy(ctx, srv, 0, script)
		if err != nil {
			return nil, err
		}
		w, err := b.watchedBy(ctx, srv, subscribers, script)
		if err != nil {
			return nil, err
		}
		alone, watched = append(alone, a.span), append(watched, w.span)
		ratios, sent, behind = append(ratios, w.span/a.span), append(sent, w.sent), append(behind, w.behind)
	}
	s := &section{}
	s.table([][]string{
		{"subscribers", "span ms", "sent MB", "all of it received after s"},
		{"0", fmt.Sprintf("%.0f", median(alone)), "0", ""},
		{strconv.Itoa(subscribers), fmt.Sprintf("%.0f", median(watched)), fmt.Sprintf("%.0f", median(sent)), fmt.Sprintf("%.1f", median(behind))},
	})
	s.say("%d sub-agents as in bar 1; the span ends when the model has given its last reply. The subscribers are in the process of the driver, and everything they are sent goes through the same two cores.", fan)
	s.atMost(fmt.Sprintf("span with %d subscribers to that without", subscribers), median(ratios), 1.1, "×")
	return s, nil
}

// attended is a run in front of an audience.
type attended struct {
	span   float64 // ms, until the last reply of the model
	sent   float64 // MB
	behind float64 // s, from the beginning until all of it has arrived
}

func (b *bench) watchedBy(ctx context.Context, srv *server, subscribers int, script chat.Script) (got attended, err error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	id, seq, err := srv.newChat(ctx)
	if err != nil {
		return got, err
	}
	var arrived atomic.Int64
	for range subscribers {
		if err := srv.attend(ctx, id, seq, &arrived); err != nil {
			return got, err
		}
		if !pause(ctx, connectGap) {
			return got, ctx.Err()
		}
	}
	if err := b.model.reset(ctx, false); err != nil {
		return got, err
	}
	began := time.Now()
	if err := srv.send(ctx, id, script.String()); err != nil {
		return got, err
	}
	for len(ended(ctx, b.model)) < script.Fan*(fanTurns+1)+2 {
		if !pause(ctx, quiet) {
			return got, ctx.Err()
		}
	}
	// Heartbeats go on, but they are small.
	for before := int64(-1); arrived.Load()-before > 100*int64(subscribers); {
		before = arrived.Load()
		got.behind = time.Since(began).Seconds()
		if !pause(ctx, quiet) {
			return got, ctx.Err()
		}
	}
	got.sent = float64(arrived.Load()) / 1e6
	var last int64
	for _, at := range ended(ctx, b.model) {
		last = max(last, at)
	}
	got.span = float64(last-began.UnixNano()) / 1e6
	return got, nil
}

// ended are the times at which replies of the model were complete.
func ended(ctx context.Context, m *model) (times []int64) {
	calls, err := m.calls(ctx)
	if err != nil {
		return nil // it is asked again
	}
	for _, c := range calls {
		if c.Done > 0 {
			times = append(times, c.Done)
		}
	}
	return times
}

// attend follows a chat until the context ends, and counts the bytes that
// arrive.
func (s *server) attend(ctx context.Context, chatID string, since int64, arrived *atomic.Int64) error {
	res, err := s.do(ctx, http.MethodGet, fmt.Sprintf("%s/%s/changes?since=%d", chatsPath, chatID, since), nil) //nolint:bodyclose // by the goroutine that reads it
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("following chat %s: %s", chatID, res.Status), res.Body.Close())
	}
	go func() {
		defer func() { _ = res.Body.Close() }()    // it was only read
		_, _ = io.Copy(counter{arrived}, res.Body) // until the context ends
	}()
	return nil
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}
