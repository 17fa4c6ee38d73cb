// Bar 4: how long a token is on its way from the model to those who watch.

package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/bench/chat"
)

// watcher is a subscriber that notes how old pieces are when they arrive.
type watcher struct {
	first []float64 // ms, of the first piece of each reply
	all   []float64
}

var textMark = []byte(`"text":"`)

// line reads a line of the feed; false: the last one has come.
func (w *watcher) line(line []byte) bool {
	now := time.Now().UnixNano()
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
		age := float64(now-sent) / 1e6
		w.all = append(w.all, age)
		if string(index) == "0" {
			w.first = append(w.first, age)
		}
		text = more
	}
}

// firstToken lets 200 agents stream 50 pieces a second each to 20 subscribers
// of the same chat. Each makes three replies, which begin at different times,
// so that first pieces come while all others are streaming.
func (b *bench) firstToken(ctx context.Context) (*section, error) {
	agents, subscribers, pieces := 200, 20, 75
	if b.quick {
		pieces = 40
	}
	srv, end, err := b.serveAnew(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	id, seq, err := srv.newChat(ctx)
	if err != nil {
		return nil, err
	}
	watchers := make([]watcher, subscribers)
	ended := make([]<-chan error, subscribers)
	for i := range watchers {
		if ended[i], err = srv.follow(ctx, id, seq, watchers[i].line); err != nil {
			return nil, err
		}
	}
	// CPU is taken while all of them stream.
	var used float64
	var busy sync.WaitGroup
	busy.Go(func() { used = cores(ctx, srv.pid(), 1500*time.Millisecond, 2*time.Second) })
	script := chat.Script{
		Kind: chat.Root, Fan: agents, Leaf: 2, Chunks: pieces, Gap: 20 * time.Millisecond,
		Wait: 50 * time.Millisecond, Spread: 5 * time.Millisecond,
	}
	if err := srv.send(ctx, id, script.String()); err != nil {
		return nil, err
	}
	for i := range ended {
		if err := <-ended[i]; err != nil {
			return nil, err
		}
	}
	busy.Wait()
	var first, all []float64
	for _, w := range watchers {
		first, all = append(first, w.first...), append(all, w.all...)
	}
	if want := agents * subscribers * 3; len(first) != want {
		return nil, fmt.Errorf("%d first pieces arrived, not %d", len(first), want)
	}
	s := &section{}
	s.table([][]string{
		{"", "arrived", "p50 ms", "p90 ms", "p99 ms"},
		{"first pieces", strconv.Itoa(len(first)), ms(first, 0.5), ms(first, 0.9), ms(first, 0.99)},
		{"all pieces", strconv.Itoa(len(all)), ms(all, 0.5), ms(all, 0.9), ms(all, 0.99)},
	})
	s.say("%d agents, 50 pieces/s each, %d subscribers that follow all of them. The subscribers are in the process of the driver; they and the model server share the two cores with Cadre.", agents, subscribers)
	s.atMost("first token p50", quantile(first, 0.5), 1, "ms")
	s.atMost("first token p99", quantile(first, 0.99), 10, "ms")
	s.atMost("CPU while all stream", used, 1.5, "cores")
	return s, nil
}

func ms(values []float64, q float64) string { return fmt.Sprintf("%.2f", quantile(values, q)) }

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
