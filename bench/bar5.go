// Bar 5: killed with a thousand agents in flight.

package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/bench/chat"
)

// recovery kills the server when all agents have finished one turn and are in
// the middle of the next, and looks at what the model server is asked after a
// new start.
func (b *bench) recovery(ctx context.Context) (*section, error) {
	agents, rounds := 1000, 5
	if b.quick {
		rounds = 1
	}
	s := &section{}
	var again, start []float64
	repeated := 0
	for range rounds {
		r, err := b.killOnce(ctx, agents)
		if err != nil {
			return nil, err
		}
		again, start = append(again, r.again), append(start, r.ready)
		repeated = max(repeated, r.repeated)
	}
	s.table([][]string{
		{"agents in flight", "server ready s", "all work again s", "finished turns made again"},
		{fmt.Sprint(agents), fmt.Sprintf("%.2f", median(start)), fmt.Sprintf("%.2f", median(again)), fmt.Sprint(repeated)},
	})
	s.say("Times are from the start of the new process; medians of %d. An agent works again when its model call has reached the model server.", rounds)
	s.atMost("all agents work again", median(again), 2, "s")
	s.atMost("finished turns made again", float64(repeated), 0, "")
	return s, nil
}

type recovered struct {
	again    float64 // s until all work again
	ready    float64 // s until the server is ready
	repeated int     // finished turns that were made again
}

func (b *bench) killOnce(ctx context.Context, agents int) (r recovered, err error) {
	data, err := os.MkdirTemp(b.dir, "data-")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(data) }() // the whole folder is removed at the end
	srv, err := b.serve(ctx, data)
	if err != nil {
		return r, err
	}
	defer srv.stop(syscall.SIGKILL)
	if err := b.model.reset(ctx, false); err != nil {
		return r, err
	}
	id, _, err := srv.newChat(ctx)
	if err != nil {
		return r, err
	}
	// The second request of each leaf is never answered before the kill.
	const wait = 10 * time.Second
	script := chat.Script{Kind: chat.Root, Fan: agents, Leaf: 2, Wait: -1, Second: wait}
	if err := srv.send(ctx, id, script.String()); err != nil {
		return r, err
	}
	if err := b.until(ctx, func(calls []chat.Call) bool { return len(leavesIn(calls, 1)) == agents }); err != nil {
		return r, err
	}
	srv.stop(syscall.SIGKILL)
	before, err := b.model.calls(ctx)
	if err != nil {
		return r, err
	}
	if err := b.model.reset(ctx, false); err != nil {
		return r, err
	}
	began := time.Now()
	second, err := b.serve(ctx, data)
	if err != nil {
		return r, err
	}
	defer second.stop(syscall.SIGKILL)
	r.ready = second.ready.Seconds()
	if err := b.until(ctx, func(calls []chat.Call) bool { return len(leavesIn(calls, 1)) == agents }); err != nil {
		return r, err
	}
	after, err := b.model.calls(ctx)
	if err != nil {
		return r, err
	}
	finished := map[[2]int]bool{}
	for _, c := range before {
		if c.Done > 0 && c.Kind == chat.Leaf {
			finished[[2]int{c.ID, c.Turn}] = true
		}
	}
	for _, c := range after {
		if c.Kind == chat.Root || finished[[2]int{c.ID, c.Turn}] {
			r.repeated++
		}
		r.again = max(r.again, time.Unix(0, c.Came).Sub(began).Seconds())
	}
	return r, nil
}

// leavesIn are the leaves of which a request of that turn has come.
func leavesIn(calls []chat.Call, turn int) map[int]bool {
	out := map[int]bool{}
	for _, c := range calls {
		if c.Kind == chat.Leaf && c.Turn == turn {
			out[c.ID] = true
		}
	}
	return out
}

// until waits for the model server to have seen something.
func (b *bench) until(ctx context.Context, seen func([]chat.Call) bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		calls, err := b.model.calls(ctx)
		if err != nil {
			return err
		}
		if seen(calls) {
			return nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("waiting for model calls, of which %d came: %w", len(calls), ctx.Err())
		}
	}
}
