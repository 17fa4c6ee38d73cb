// Bar 4: how long a token is on its way from the model to those who watch.

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/bench/chat"
)

// watcher is a subscriber that notes how old pieces are when they arrive.
type watcher struct {
	first []piece   // of each reply
	all   []float64 // ages
	cores float64   // that it took
}

// piece is the first one of a reply, as it arrives.
type piece struct {
	came time.Time
	age  float64 // ms
}

var textMark = []byte(`"text":"`)

// line reads a line of the feed; false: the last one has come.
func (w *watcher) line(line []byte) bool {
	now := time.Now()
	if bytes.HasPrefix(line, changeMark) {
		return !bytes.Contains(line, finishedMark)
	}
	_, text, ok := bytes.Cut(line, textMark)
	if !ok {
		return true
	}
	for {
		index, rest, ok := bytes.Cut(text, []byte(":"))
		stamp, more, ok2 := bytes.Cut(rest, []byte(" "))
		if !ok || !ok2 {
			return true
		}
		sent, err := strconv.ParseInt(string(stamp), 10, 64)
		if err != nil {
			return true
		}
		age := float64(now.UnixNano()-sent) / 1e6
		w.all = append(w.all, age)
		if string(index) == "0" {
			w.first = append(w.first, piece{now, age})
		}
		text = more
	}
}

// The load of the bar.
const (
	streaming   = 200 // agents
	subscribers = 20
	streamGap   = 20 * time.Millisecond // between pieces
)

// firstToken measures several times, as a single stall of the machine decides
// a p99.
func (b *bench) firstToken(ctx context.Context) (*section, error) {
	rounds, pieces := 5, 75
	if b.quick {
		rounds, pieces = 1, 40
	}
	var first, running, all delays
	var used, speeds []float64
	for range rounds {
		w, speed, err := calmly(b, func() (watcher, error) { return b.streams(ctx, pieces) })
		if err != nil {
			return nil, err
		}
		first.add(ages(w.first))
		running.add(ages(b.undisturbed(w.first)))
		all.add(w.all)
		used, speeds = append(used, w.cores), append(speeds, speed)
	}
	s := &section{}
	s.table([][]string{
		{"", "arrived", "p50 ms", "p90 ms", "p99 ms", "p99 of the worst round"},
		first.row("first pieces"), running.row("of these while the cores ran"), all.row("all pieces"),
	})
	s.say("%d agents, 50 pieces/s each, %d subscribers that follow all of them; medians of %d rounds. The subscribers are in the process of the driver; they and the model server share the two cores with Cadre, which ran at %s of their speed. Those that came while the cores ran are told apart: neither in a tenth of a second in which these were at less than %s of their speed for a moment, nor in the one after it, in which what had piled up is delivered.",
		streaming, subscribers, rounds, percent(median(speeds)), percent(held))
	s.atMost("first token p50", median(first.p50), 1, "ms")
	s.atMost("first token p99", median(first.p99), 10, "ms")
	s.atMost("first token p99 while the cores ran", median(running.p99), 10, "ms")
	s.atMost("CPU while all stream", median(used), 1.5, "cores")
	return s, nil
}

// undisturbed are the pieces that came while the cores ran.
func (b *bench) undisturbed(pieces []piece) []piece {
	if len(pieces) == 0 {
		return nil
	}
	const slot = 100 * time.Millisecond
	from, to := pieces[0].came, pieces[0].came
	for _, p := range pieces {
		if p.came.Before(from) {
			from = p.came
		}
		if p.came.After(to) {
			to = p.came
		}
	}
	late := map[time.Duration]bool{}
	for _, a := range b.witness.between(from.Add(-slot), to) {
		if a.speed < held {
			n := a.moment.Sub(from).Truncate(slot)
			late[n], late[n+slot] = true, true
		}
	}
	return slices.DeleteFunc(slices.Clone(pieces), func(p piece) bool { return late[p.came.Sub(from).Truncate(slot)] })
}

func ages(pieces []piece) []float64 {
	out := make([]float64, len(pieces))
	for i, p := range pieces {
		out[i] = p.age
	}
	return out
}

// delays are the quantiles of each round.
type delays struct {
	arrived       int
	p50, p90, p99 []float64
}

func (d *delays) add(ages []float64) {
	d.arrived += len(ages)
	d.p50, d.p90, d.p99 = append(d.p50, quantile(ages, 0.5)), append(d.p90, quantile(ages, 0.9)), append(d.p99, quantile(ages, 0.99))
}

func (d *delays) row(name string) []string {
	ms := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	return []string{name, strconv.Itoa(d.arrived), ms(median(d.p50)), ms(median(d.p90)), ms(median(d.p99)), ms(slices.Max(d.p99))}
}

// streams lets agents stream to subscribers of the same chat. Each makes three
// replies, which begin at different times, so that first pieces come while all
// others are streaming.
func (b *bench) streams(ctx context.Context, pieces int) (all watcher, err error) {
	srv, end, err := b.serveAnew(ctx)
	if err != nil {
		return all, err
	}
	defer end()
	id, seq, err := srv.newChat(ctx)
	if err != nil {
		return all, err
	}
	watchers := make([]watcher, subscribers)
	ended := make([]<-chan error, subscribers)
	for i := range watchers {
		if ended[i], err = srv.follow(ctx, id, seq, watchers[i].line); err != nil {
			return all, err
		}
	}
	// CPU is taken while all of them stream.
	var busy sync.WaitGroup
	busy.Go(func() { all.cores = cores(ctx, srv.pid(), 1500*time.Millisecond, 2*time.Second) })
	script := chat.Script{
		Kind: chat.Root, Fan: streaming, Leaf: 2, Chunks: pieces, Gap: streamGap,
		Wait: 50 * time.Millisecond, Spread: 5 * time.Millisecond,
	}
	if err := srv.send(ctx, id, script.String()); err != nil {
		return all, err
	}
	for i := range ended {
		if err := <-ended[i]; err != nil {
			return all, err
		}
	}
	busy.Wait()
	for _, w := range watchers {
		all.first, all.all = append(all.first, w.first...), append(all.all, w.all...)
	}
	if want := streaming * subscribers * 3; len(all.first) != want {
		return all, fmt.Errorf("%d first pieces arrived, not %d", len(all.first), want)
	}
	return all, nil
}

// cores is how many cores a process uses during a time that begins later.
func cores(ctx context.Context, pid int, later, during time.Duration) float64 {
	if !pause(ctx, later) {
		return 0
	}
	before, err1 := cpu(pid)
	began := time.Now()
	if !pause(ctx, during) {
		return 0
	}
	after, err2 := cpu(pid)
	if err1 != nil || err2 != nil {
		return 0
	}
	return (after - before) / time.Since(began).Seconds()
}

// pause waits; false: the context ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
