// Bar 1: a fan-out of N sub-agents beside the floor and the peers.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/bench/chat"
)

const fanTurns = 3 // with a tool call, before the last one

// sample is one run of one contender.
type sample struct {
	span  float64 // ms
	cpu   float64 // s
	peak  float64 // MB
	file  float64 // MB of it are pages of the program's file
	bytes float64 // of all requests
	speed float64 // of the cores meanwhile
}

func (s *sample) remember(m chat.Memory) {
	s.peak, s.file = float64(m.PeakKB)/1024, float64(m.FileKB)/1024
}

// The contenders, in the order in which they take turns.
const (
	plainFloor = "floor"
	equalFloor = "floor, streamed, equal bytes"
	ourName    = "cadre"
	einoName   = "eino 0.9"
	adkName    = "adk-go 1.5"
)

// fanOut measures all contenders at N = 4, 64 and 1000.
func (b *bench) fanOut(ctx context.Context) (*section, error) {
	pairs := 7
	if b.quick {
		pairs = 2
	}
	s := &section{}
	rows := [][]string{{"N", "contender", "span ms", "× floor", "CPU s", "peak MB", "of it program file", "request MB", "speed of the cores"}}
	for _, n := range []int{4, 64, 1000} {
		if _, err := b.contend(ctx, ourName, n, ""); err != nil { // warm-up
			return nil, err
		}
		sizes, err := b.requestSizes(ctx)
		if err != nil {
			return nil, err
		}
		order := []string{plainFloor, ourName, einoName, adkName}
		if n == 1000 {
			order = []string{plainFloor, equalFloor, ourName, einoName, adkName}
		}
		samples := map[string][]sample{}
		for range pairs {
			for _, name := range order {
				got, speed, err := calmly(b, func() (sample, error) { return b.contend(ctx, name, n, sizes) })
				if err != nil {
					return nil, fmt.Errorf("%s at N=%d: %w", name, n, err)
				}
				got.speed = speed
				samples[name] = append(samples[name], got)
			}
		}
		for _, name := range order {
			m := medians(samples[name])
			rows = append(rows, []string{
				strconv.Itoa(n), name, fmt.Sprintf("%.0f", m.span), fmt.Sprintf("%.2f", ratio(samples[name], samples[plainFloor])),
				fmt.Sprintf("%.2f", m.cpu), fmt.Sprintf("%.0f", m.peak), fmt.Sprintf("%.0f", m.file), fmt.Sprintf("%.2f", m.bytes/1e6), percent(m.speed),
			})
		}
		judgeFanOut(s, n, samples)
	}
	s.table(rows)
	return s, nil
}

func judgeFanOut(s *section, n int, samples map[string][]sample) {
	ours := medians(samples[ourName])
	at := fmt.Sprintf(" at N=%d", n)
	switch n {
	case 4:
		s.atMost("span"+at, ratio(samples[ourName], samples[plainFloor]), 1.05, "×")
	case 64:
		s.atMost("span"+at, ratio(samples[ourName], samples[plainFloor]), 1.15, "×")
		s.atMost("CPU"+at, ours.cpu, 0.2, "s")
		s.atMost("peak memory"+at, ours.peak, 30, "MB")
	case 1000:
		s.atMost("span to the equal floor"+at, ratio(samples[ourName], samples[equalFloor]), 1.25, "×")
		s.atMost("CPU"+at, ours.cpu, 1.2, "s")
		s.atMost("peak memory"+at, ours.peak, 100, "MB")
	}
	for _, peer := range []string{einoName, adkName} {
		s.atMost("span beside "+peer+at, ratio(samples[ourName], samples[peer]), 1, "×")
	}
}

// contend runs one contender once.
func (b *bench) contend(ctx context.Context, name string, n int, sizes string) (got sample, err error) {
	if err := b.model.reset(ctx, false); err != nil {
		return got, err
	}
	work := filepath.Join(b.dir, "work")
	args := []string{"-url", b.model.url, "-n", strconv.Itoa(n), "-turns", strconv.Itoa(fanTurns)}
	var report chat.Report
	switch name {
	case ourName:
		got, err = b.contendOurs(ctx, n)
	case plainFloor:
		report, err = measure(ctx, work, b.path("floor"), args...)
	case equalFloor:
		report, err = measure(ctx, work, b.path("floor"), append(args, "-stream", "-sizes", sizes)...)
	case einoName:
		report, err = measure(ctx, work, b.path("eino"), append(args, "-stream")...)
	case adkName:
		report, err = measure(ctx, work, b.path("adk"), append(args, "-stream")...)
	}
	if err != nil {
		return got, err
	}
	if name != ourName {
		got = sample{span: report.SpanMS, cpu: report.CPU}
		got.remember(report.Memory)
	}
	calls, err := b.model.calls(ctx)
	if err != nil {
		return got, err
	}
	if want := n*(fanTurns+1) + 2; len(calls) != want {
		return got, fmt.Errorf("it made %d model calls, not %d", len(calls), want)
	}
	for _, c := range calls {
		got.bytes += float64(c.Bytes)
	}
	return got, nil
}

// contendOurs measures Cadre: a new server on a new data folder. Its CPU time
// counts from the creation of the chat on, as the peers have no server to start; the bar
// judges that.
func (b *bench) contendOurs(ctx context.Context, n int) (got sample, err error) {
	srv, end, err := b.serveAnew(ctx)
	if err != nil {
		return got, err
	}
	defer end()
	before, err := cpu(srv.pid())
	if err != nil {
		return got, err
	}
	profiled := b.profiled(ctx, srv, n)
	span, err := srv.use(ctx, chat.Script{Kind: chat.Root, Fan: n, Leaf: fanTurns, Wait: -1})
	if err != nil {
		return got, err
	}
	after, err := cpu(srv.pid())
	if err != nil {
		return got, err
	}
	memory, err := chat.MemoryOf(srv.pid())
	if err != nil {
		return got, err
	}
	got.remember(memory)
	got.span, got.cpu = chat.Millis(span), after-before
	if err := profiled(); err != nil {
		return got, err
	}
	return got, nil
}

// profiled begins a CPU profile, if one is wanted, and returns what waits for
// it and keeps it, and with it one of all that was allocated.
func (b *bench) profiled(ctx context.Context, srv *server, n int) func() error {
	if b.profile == "" {
		return func() error { return nil }
	}
	name := fmt.Sprintf("%s-%d", b.profile, n)
	done := make(chan error, 1)
	go func() { done <- srv.keepProfile(ctx, "profile?seconds=5", name+".cpu") }()
	return func() error { return errors.Join(<-done, srv.keepProfile(ctx, "allocs", name+".allocs")) }
}

func (s *server) keepProfile(ctx context.Context, which, name string) error {
	res, err := s.do(ctx, http.MethodGet, "/debug/pprof/"+which, nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, res.Body)
	return errors.Join(err, f.Close())
}

// requestSizes tells the floor how large the requests were that the model
// server has just seen, by kind and turn.
func (b *bench) requestSizes(ctx context.Context) (string, error) {
	calls, err := b.model.calls(ctx)
	if err != nil {
		return "", err
	}
	sum, count := map[string]int{}, map[string]int{}
	for _, c := range calls {
		key := fmt.Sprintf("%s.%d", c.Kind, c.Turn)
		sum[key] += c.Bytes
		count[key]++
	}
	var out []string
	for key, total := range sum {
		out = append(out, fmt.Sprintf("%s=%d", key, total/count[key]))
	}
	return strings.Join(out, ","), nil
}

func medians(all []sample) sample {
	of := func(get func(sample) float64) float64 {
		var values []float64
		for _, x := range all {
			values = append(values, get(x))
		}
		return median(values)
	}
	return sample{
		span: of(func(x sample) float64 { return x.span }), cpu: of(func(x sample) float64 { return x.cpu }),
		peak: of(func(x sample) float64 { return x.peak }), file: of(func(x sample) float64 { return x.file }),
		bytes: of(func(x sample) float64 { return x.bytes }), speed: of(func(x sample) float64 { return x.speed }),
	}
}

// ratio is the median of the ratios of the spans of each pair.
func ratio(of, to []sample) float64 {
	var values []float64
	for i := range of {
		values = append(values, of[i].span/to[i].span)
	}
	return median(values)
}
