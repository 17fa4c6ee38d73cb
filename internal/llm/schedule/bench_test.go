// What a place costs: where there is one, and where a thousand wait for it.

package schedule_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/schedule"
)

func ignore(string, time.Time) {}

// BenchmarkFree is the fast path: a place is free, nobody waits.
func BenchmarkFree(b *testing.B) {
	s := schedule.New(schedule.Config{})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	ticket := schedule.Ticket{Lane: lane, Chat: "chat", Agent: "agent"}
	b.ReportAllocs()
	for b.Loop() {
		release, err := s.Acquire(ctx, ticket, ignore)
		if err != nil {
			b.Fatal(err)
		}
		release(schedule.Result{})
	}
}

// BenchmarkFreeParallel is the same from all cores, on one lane.
func BenchmarkFreeParallel(b *testing.B) {
	s := schedule.New(schedule.Config{})
	ticket := schedule.Ticket{Lane: lane, Chat: "chat", Agent: "agent"}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			release, err := s.Acquire(b.Context(), ticket, ignore)
			if err != nil {
				b.Error(err)
				return
			}
			release(schedule.Result{})
		}
	})
}

// BenchmarkProvider is the fast path through the provider.
func BenchmarkProvider(b *testing.B) {
	reply := &llm.Reply{}
	p := schedule.Provider{Scheduler: schedule.New(schedule.Config{}), Lane: lane, Next: callFunc(
		func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Reply, error) { return reply, nil },
	)}
	req := &llm.Request{Caller: llm.Caller{Chat: "chat", Agent: "agent"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Call(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkThousandWaiting is a call that queues behind a thousand others of
// ten chats, with its goroutine's wake-up: one operation is one call, from
// Acquire to release.
func BenchmarkThousandWaiting(b *testing.B) {
	s := schedule.New(schedule.Config{Start: 8, Max: 8})
	left := make(chan struct{}, b.N)
	for range b.N {
		left <- struct{}{}
	}
	close(left)
	b.ReportAllocs()
	b.ResetTimer()
	var callers sync.WaitGroup
	for i := range 1000 {
		ticket := schedule.Ticket{Lane: lane, Chat: fmt.Sprint(i % 10), Agent: fmt.Sprint(i), Depth: i % 3}
		callers.Go(func() {
			for range left {
				release, err := s.Acquire(b.Context(), ticket, ignore)
				if err != nil {
					b.Error(err)
					return
				}
				runtime.Gosched() // lets the others come and queue
				release(schedule.Result{})
			}
		})
	}
	callers.Wait()
}
