// Bar 3: what the engine adds to one turn of one agent.

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/bench/chat"
)

// turnCost measures the time from the end of a reply to the arrival of the
// next request, both taken by the model server, which does not wait. It holds
// a commit, a tool call, and the way over the network twice; the floor has the
// latter only.
func (b *bench) turnCost(ctx context.Context) (*section, error) {
	lengths := []int{10, 100, 1000, 5000} // messages
	if b.quick {
		lengths = []int{10, 100, 1000}
	}
	s := &section{}
	if err := b.overHistory(ctx, s, lengths); err != nil {
		return nil, err
	}
	if err := b.overChildren(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

const window = 60 // turns around a length of history

func (b *bench) overHistory(ctx context.Context, s *section, lengths []int) error {
	last := lengths[len(lengths)-1]/2 + window
	calls, _, err := calmly(b, func() ([]chat.Call, error) { return b.alone(ctx, chat.Script{Kind: chat.Root, Turns: last}) })
	if err != nil {
		return err
	}
	all := gaps(calls)
	if err := b.shortTurns(ctx, s); err != nil {
		return err
	}
	sizes := make([]string, len(lengths))
	for i, n := range lengths {
		sizes[i] = strconv.Itoa(calls[min(n/2, len(calls)-1)].Bytes)
	}
	floor, err := b.floorGaps(ctx, sizes)
	if err != nil {
		return err
	}
	rows := [][]string{{"messages", "request KB", "p50 ms", "p99 ms", "floor p50 ms", "added p50 ms"}}
	var first float64
	for i, n := range lengths {
		row, added := turnRow(n, sizes[i], between(all, max(5, n/2-window/2), n/2+window/2), floor[i])
		rows = append(rows, row)
		if i == 0 {
			first = added
			continue
		}
		s.atMost(fmt.Sprintf("added to the floor with %d messages", n), added, max(1, 1.5*first), "ms")
	}
	s.table(rows)
	return nil
}

// shortTurns measures turns with a short history several times, as a single
// stall of the machine decides a p99.
func (b *bench) shortTurns(ctx context.Context, s *section) error {
	rounds := 7
	if b.quick {
		rounds = 3
	}
	var p50, p99, speeds []float64
	for range rounds {
		calls, speed, err := calmly(b, func() ([]chat.Call, error) { return b.alone(ctx, chat.Script{Kind: chat.Root, Turns: 300}) })
		if err != nil {
			return err
		}
		speeds = append(speeds, speed)
		own := between(gaps(calls), 5, 300)
		p50, p99 = append(p50, quantile(own, 0.5)), append(p99, quantile(own, 0.99))
	}
	s.say("The overhead of a turn is the median of %d rounds of 300 turns; the p50 of a round was %.2f to %.2f ms, the p99 %.2f to %.2f ms, and the speed of the cores %s to %s.",
		rounds, slices.Min(p50), slices.Max(p50), slices.Min(p99), slices.Max(p99), percent(slices.Min(speeds)), percent(slices.Max(speeds)))
	s.atMost("overhead of a turn, p50", median(p50), 1, "ms")
	s.atMost("overhead of a turn, p99", median(p99), 5, "ms")
	return nil
}

// overChildren measures the turns of parents. What the results of more children
// add to their requests is the floor's as well.
func (b *bench) overChildren(ctx context.Context, s *section) error {
	families := []int{1, 10, 100, 1000}
	turns, sizes := make([][]float64, len(families)), make([]string, len(families))
	for i, n := range families {
		calls, _, err := calmly(b, func() ([]chat.Call, error) {
			return b.alone(ctx, chat.Script{Kind: chat.Root, Fan: n, Turns: 2 * window})
		})
		if err != nil {
			return err
		}
		var root []chat.Call
		for _, c := range calls {
			if c.Kind == chat.Root && c.Turn > 0 {
				root = append(root, c)
			}
		}
		turns[i], sizes[i] = gaps(root), strconv.Itoa(root[len(root)/2].Bytes)
	}
	floor, err := b.floorGaps(ctx, sizes)
	if err != nil {
		return err
	}
	rows := [][]string{{"finished children", "request KB", "p50 ms", "p99 ms", "floor p50 ms", "added p50 ms"}}
	first := 0.0
	for i, n := range families {
		row, added := turnRow(n, sizes[i], turns[i], floor[i])
		rows = append(rows, row)
		if i == 0 {
			first = added
			continue
		}
		s.atMost(fmt.Sprintf("added to the floor with %d finished children", n), added, max(1, 1.5*first), "ms")
	}
	s.table(rows)
	return nil
}

// turnRow is a row about turns beside the floor, and what they add to that in
// the middle.
func turnRow(n int, size string, turns, floor []float64) (row []string, added float64) {
	p50, p99, least := quantile(turns, 0.5), quantile(turns, 0.99), median(floor)
	bytes, _ := strconv.Atoi(size) // it was made of a number
	ms := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	return []string{strconv.Itoa(n), fmt.Sprintf("%.0f", float64(bytes)/1e3), ms(p50), ms(p99), ms(least), ms(p50 - least)}, p50 - least
}

// alone runs a script on a server of its own and returns the model calls.
func (b *bench) alone(ctx context.Context, script chat.Script) ([]chat.Call, error) {
	srv, end, err := b.serveAnew(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := b.model.reset(ctx, false); err != nil {
		return nil, err
	}
	if _, err := srv.use(ctx, script); err != nil {
		return nil, err
	}
	return b.model.calls(ctx)
}

// floorGaps are the gaps between requests of plain net/http, by size.
func (b *bench) floorGaps(ctx context.Context, sizes []string) ([][]float64, error) {
	if err := b.model.reset(ctx, false); err != nil {
		return nil, err
	}
	if _, err := measure(ctx, b.dir, b.path("floor"), "-url", b.model.url, "-sequence", strings.Join(sizes, ",")); err != nil {
		return nil, err
	}
	calls, err := b.model.calls(ctx)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(sizes))
	for i := range calls[1:] {
		if now := calls[i+1]; now.ID == calls[i].ID {
			out[now.ID] = append(out[now.ID], float64(now.Came-calls[i].Done)/1e6)
		}
	}
	return out, nil
}

// gaps are the times in ms between each reply and the next request of one
// agent.
func gaps(calls []chat.Call) []float64 {
	var out []float64
	for i := range len(calls) - 1 {
		out = append(out, float64(calls[i+1].Came-calls[i].Done)/1e6)
	}
	return out
}

// between is a copy of a part, as far as there is one.
func between(values []float64, from, to int) []float64 {
	to = min(to, len(values))
	return append([]float64(nil), values[min(from, to):to]...)
}
