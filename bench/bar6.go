// Bar 6: how large requests are, and how much of them a vendor can cache.

package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/cadre-dev/cadre/bench/chat"
)

// requests looks at what built-in roles send: the first request of a
// researcher, which only reads, and of a coder, beyond the task, and how much
// of the requests of a 20-turn agent is the same as in the one before.
func (b *bench) requests(ctx context.Context) (*section, error) {
	s := &section{}
	rows := [][]string{{"role", "first request bytes", "beyond the task", "shared with a sibling", "20 turns, bytes", "cacheable"}}
	for _, of := range []struct {
		role string
		most float64
	}{{"researcher", 4 << 10}, {"coder", 12 << 10}} {
		r, err := b.requestsOf(ctx, of.role)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []string{
			of.role, strconv.Itoa(r.first), strconv.Itoa(r.beyond), fmt.Sprintf("%.0f %%", 100*r.sibling), strconv.Itoa(r.total), fmt.Sprintf("%.1f %%", 100*r.cacheable),
		})
		s.atMost("first request of a "+of.role+", beyond its task", float64(r.beyond), of.most, "bytes")
		s.atLeast("cacheable of a 20-turn "+of.role, 100*r.cacheable, 90, "%")
	}
	s.table(rows)
	s.say("Cacheable is what a request has in common with the one before it of the same agent, from its first byte on; the first one shares with its sibling. The project has no instructions of its own.")
	return s, nil
}

type sent struct {
	first, beyond, total int
	sibling, cacheable   float64 // shares
}

func (b *bench) requestsOf(ctx context.Context, role string) (r sent, err error) {
	srv, end, err := b.serveAnew(ctx)
	if err != nil {
		return r, err
	}
	defer end()
	if err := b.model.reset(ctx, true); err != nil {
		return r, err
	}
	script := chat.Script{Kind: chat.Root, Fan: 2, Leaf: 19, Role: role}
	if _, err := srv.use(ctx, script); err != nil {
		return r, err
	}
	calls, err := b.model.calls(ctx)
	if err != nil {
		return r, err
	}
	var bodies [2][][]byte // of each sibling, in order
	for i, c := range calls {
		if c.Kind != chat.Leaf {
			continue
		}
		body, err := b.model.body(ctx, i)
		if err != nil {
			return r, err
		}
		bodies[c.ID] = append(bodies[c.ID], body)
	}
	if len(bodies[0]) == 0 || len(bodies[1]) == 0 {
		return r, fmt.Errorf("a %s made no request", role)
	}
	task := script.Tasks()[0].Task
	one, other := bodies[0][0], bodies[1][0]
	r.first, r.beyond = len(one), len(one)-len(task)
	cached := common(one, other)
	r.sibling = float64(cached) / float64(len(one))
	for i, body := range bodies[0] {
		r.total += len(body)
		if i > 0 {
			cached += common(bodies[0][i-1], body)
		}
	}
	r.cacheable = float64(cached) / float64(r.total)
	if n := len(bodies[0]); n != script.Leaf+1 {
		return r, fmt.Errorf("a %s made %d requests, not %d", role, n, script.Leaf+1)
	}
	return r, b.model.reset(ctx, false)
}

// common is how many bytes two requests begin with.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	if bytes.Equal(a[:n], b[:n]) {
		return n
	}
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
