// The provider around another one.

package schedule_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/schedule"
)

// callFunc is a provider made of its Call.
type callFunc func(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error)

func (f callFunc) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	return f(ctx, req, onDelta)
}

func TestProviderPassesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{})
		want := &llm.Reply{Stop: llm.StopEnd}
		req := &llm.Request{Model: "model", Caller: llm.Caller{Chat: "c", Agent: "a"}}
		p := schedule.Provider{Scheduler: b.Scheduler, Lane: lane, Next: callFunc(func(_ context.Context, got *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
			if got != req {
				t.Error("another request")
			}
			if s := b.Stats(lane); s.InFlight != 1 {
				t.Errorf("%d under way", s.InFlight)
			}
			onDelta(llm.Delta{Text: "piece"})
			return want, nil
		})}
		pieces := 0
		got, err := p.Call(t.Context(), req, func(llm.Delta) { pieces++ })
		if got != want || err != nil || pieces != 1 {
			t.Errorf("got %v, %v and %d pieces", got, err, pieces)
		}
		b.empty()
	})
}

// TestProviderTellsTheLane: the vendor's refusals come back as they are, and
// the lane learns of them.
func TestProviderTellsTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{})
		refusal := &llm.Error{Kind: llm.ErrRateLimit, RetryAfter: time.Minute}
		p := schedule.Provider{Scheduler: b.Scheduler, Lane: lane, Fallback: true, Next: callFunc(func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Reply, error) {
			return nil, refusal
		})}
		if _, err := p.Call(t.Context(), &llm.Request{}, nil); !errors.Is(err, refusal) || !errors.Is(err, schedule.ErrGaveUp) {
			t.Errorf("with a fallback, told to wait a minute: %v", err)
		}
		if s := b.Stats(lane); s.RateLimited != 1 || s.CoolingUntil.IsZero() {
			t.Errorf("the lane does not know: %+v", s)
		}
		if _, err := p.Call(t.Context(), &llm.Request{}, nil); !errors.Is(err, schedule.ErrGaveUp) {
			t.Errorf("with a fallback, during a long cool-down: %v", err)
		}
		b.empty()
	})
}

// TestProviderGivesUpInTime: short waits that a vendor asks for again and again
// count together.
func TestProviderGivesUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{FallbackAfter: 20 * time.Second})
		refusal := &llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 6 * time.Second}
		p := schedule.Provider{Scheduler: b.Scheduler, Lane: lane, Fallback: true, Next: callFunc(func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Reply, error) {
			return nil, refusal
		})}
		for try := 1; ; try++ {
			_, err := p.Call(t.Context(), &llm.Request{Caller: llm.Caller{Agent: "a", Turn: 3, Try: try}}, nil)
			if errors.Is(err, schedule.ErrGaveUp) {
				break
			}
			if !errors.Is(err, refusal) || time.Since(b.began) > time.Minute {
				t.Fatalf("try %d after %s: %v", try, time.Since(b.began), err)
			}
			<-time.After(refusal.RetryAfter)
		}
		if d := time.Since(b.began); d != 18*time.Second {
			t.Errorf("gave up after %s", d)
		}
		p.Fallback = false
		if _, err := p.Call(t.Context(), &llm.Request{Caller: llm.Caller{Agent: "b", Turn: 1}}, nil); errors.Is(err, schedule.ErrGaveUp) {
			t.Errorf("without another model: %v", err)
		}
		b.empty()
	})
}

// TestProviderReleases: the place comes back however the call ends.
func TestProviderReleases(t *testing.T) {
	for name, end := range map[string]func() error{
		"panic":   func() error { panic("provider") },
		"Goexit":  func() error { runtime.Goexit(); return nil },
		"error":   func() error { return errors.New("boom") },
		"success": func() error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, schedule.Config{Start: 1})
				p := schedule.Provider{Scheduler: b.Scheduler, Lane: lane, Next: callFunc(func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Reply, error) {
					return nil, end()
				})}
				go func() {
					defer func() { _ = recover() }()
					_, _ = p.Call(t.Context(), &llm.Request{}, nil)
				}()
				b.empty()
				if s := b.Stats(lane); s.Limit != 1 && name != "success" {
					t.Errorf("limit %d: a call that failed is no reason to grow", s.Limit)
				}
			})
		})
	}
}

// TestProviderRetriesGoFirst: a call that was turned away before does not queue
// from the end again.
func TestProviderRetriesGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{Start: 1, Max: 1})
		release := b.take(schedule.Ticket{})
		for i, agent := range []string{"first", "second", "again"} {
			go func() {
				p := schedule.Provider{Scheduler: b.Scheduler, Lane: lane, Next: callFunc(func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Reply, error) {
					b.order = append(b.order, req.Caller.Agent)
					return nil, nil
				})}
				_, _ = p.Call(t.Context(), &llm.Request{Caller: llm.Caller{Agent: agent, Depth: 1, Try: i}}, nil)
			}()
			synctest.Wait()
		}
		release(schedule.Result{})
		b.empty()
		if len(b.order) != 3 || b.order[0] != "again" {
			t.Errorf("went %q", b.order)
		}
	})
}
