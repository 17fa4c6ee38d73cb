// Everything at once, on the real clock and under the race detector.

package schedule_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/llm/schedule"
)

// TestStress: callers of several lanes and chats, some of whom give up, are
// cancelled, release twice or are refused, while others look at the numbers.
// Nothing may be lost, and no lane may have more calls under way than allowed.
func TestStress(t *testing.T) {
	const callers, calls, most = 200, 50, 16
	s := schedule.New(schedule.Config{
		Start: 4, Max: most, Moment: time.Millisecond, Refresh: time.Millisecond, FallbackAfter: 5 * time.Millisecond,
		FirstCoolDown: 100 * time.Microsecond, MaxCoolDown: time.Millisecond, Ramp: 100 * time.Microsecond,
	})
	var underWay [3]atomic.Int64
	var done, left atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var readers, work sync.WaitGroup
	readers.Go(func() {
		for ctx.Err() == nil {
			for _, name := range s.Lanes() {
				if st := s.Stats(name); st.InFlight > most || st.InFlight < 0 || st.Limit < 1 || st.Limit > most {
					t.Errorf("%+v", st)
				}
			}
			runtime.Gosched()
		}
	})
	for i := range callers {
		work.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range calls {
				which := r.IntN(len(underWay))
				ticket := schedule.Ticket{
					Lane: fmt.Sprint("lane ", which), Chat: fmt.Sprint(r.IntN(5)), Agent: fmt.Sprint(i),
					Depth: r.IntN(3), Retry: r.IntN(4) == 0, Fallback: r.IntN(4) == 0,
				}
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if r.IntN(4) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(1000))*time.Microsecond)
				}
				release, err := s.Acquire(ctx, ticket, func(string, time.Time) {})
				if err != nil {
					left.Add(1)
					cancel()
					continue
				}
				if n := underWay[which].Add(1); n > most {
					t.Errorf("%d calls under way, %d are allowed", n, most)
				}
				for range r.IntN(20) {
					runtime.Gosched()
				}
				underWay[which].Add(-1)
				switch r.IntN(20) {
				case 0:
					release(rateLimit(time.Duration(r.IntN(500)) * time.Microsecond))
				case 1:
					release(overloaded())
				case 2:
					release(schedule.Result{Err: context.Canceled})
				default:
					release(schedule.Result{})
				}
				if r.IntN(3) == 0 {
					release(schedule.Result{})
				}
				cancel()
				done.Add(1)
			}
		})
	}
	work.Wait()
	stop()
	readers.Wait()
	t.Logf("%d calls made, %d given up or cancelled", done.Load(), left.Load())
	if done.Load()+left.Load() != callers*calls {
		t.Errorf("%d calls ended, want %d", done.Load()+left.Load(), callers*calls)
	}
	for _, name := range s.Lanes() {
		if st := s.Stats(name); st.InFlight != 0 || st.Waiting != 0 {
			t.Errorf("left: %+v", st)
		}
	}
}
