// The scheduler from outside, in bubbles of synctest: time is the bubble's, and
// a goroutine that is left behind fails the test.

package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/schedule"
)

const lane = "vendor/model"

func rateLimit(after time.Duration) schedule.Result {
	return schedule.Result{Err: &llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: after}}
}

func overloaded() schedule.Result {
	return schedule.Result{Err: &llm.Error{Kind: llm.ErrOverloaded, Status: 529}}
}

func pass(d time.Duration) { <-time.After(d) }

// bench is a scheduler under test and the order in which calls started.
type bench struct {
	t *testing.T
	*schedule.Scheduler

	mu    sync.Mutex
	order []string
	at    []time.Duration // when, since the bench was made
	began time.Time
}

func newBench(t *testing.T, cfg schedule.Config) *bench {
	return &bench{t: t, Scheduler: schedule.New(cfg), began: time.Now()}
}

// take gets a place that must be free.
func (b *bench) take(ticket schedule.Ticket) func(schedule.Result) {
	b.t.Helper()
	ticket.Lane = lane
	start := time.Now()
	release, err := b.Acquire(b.t.Context(), ticket, func(string, time.Time) { b.t.Error("told to wait") })
	if err != nil {
		b.t.Fatal(err)
	}
	if d := time.Since(start); d != 0 {
		b.t.Errorf("waited %s for a free place", d)
	}
	return release
}

// run makes a call of its own goroutine, that succeeds after a time.
func (b *bench) run(ticket schedule.Ticket, takes time.Duration) {
	ticket.Lane = lane
	go func() {
		release, err := b.Acquire(b.t.Context(), ticket, nil)
		if err != nil {
			b.t.Error(err)
			return
		}
		b.mu.Lock()
		b.order = append(b.order, ticket.Agent)
		b.at = append(b.at, time.Since(b.began))
		b.mu.Unlock()
		if takes > 0 {
			pass(takes)
		}
		release(schedule.Result{})
	}()
	synctest.Wait()
}

// started returns who has started so far, and when.
func (b *bench) started() (order []string, at []time.Duration) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.order), slices.Clone(b.at)
}

// empty checks that nothing is under way and nobody waits.
func (b *bench) empty() {
	b.t.Helper()
	synctest.Wait()
	if s := b.Stats(lane); s.InFlight != 0 || s.Waiting != 0 || len(s.Chats) != 0 {
		b.t.Errorf("left: %+v", s)
	}
}

func TestLimitAdapts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{Start: 8, Max: 100})
		// 200 calls of a second each, all at once: 8, 16, 32, 64, the rest.
		for i := range 200 {
			b.run(schedule.Ticket{Chat: "a", Agent: fmt.Sprint(i)}, time.Second)
		}
		for _, want := range []int{8, 16, 32, 64} {
			if s := b.Stats(lane); s.Limit != want || s.InFlight != want {
				t.Fatalf("%d of %d under way, want %d", s.InFlight, s.Limit, want)
			}
			pass(time.Second)
			synctest.Wait()
		}
		pass(time.Minute)
		b.empty()
		if s := b.Stats(lane); s.Limit != 100 {
			t.Errorf("limit %d, want the maximum, 100", s.Limit)
		}
		for _, r := range []schedule.Result{rateLimit(0), overloaded()} {
			before := b.Stats(lane).Limit
			b.take(schedule.Ticket{})(r)
			if s := b.Stats(lane); s.Limit != before/2 {
				t.Errorf("limit %d after %v, want %d", s.Limit, r.Err, before/2)
			}
			pass(time.Minute)
		}
	})
}

func TestOtherErrorsChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{Start: 1})
		for _, err := range []error{
			context.Canceled, errors.New("boom"),
			&llm.Error{Kind: llm.ErrServer, Status: 500}, &llm.Error{Kind: llm.ErrQuota, Status: 429},
		} {
			b.take(schedule.Ticket{})(schedule.Result{Err: err})
		}
		if s := b.Stats(lane); s.Limit != 1 || !s.CoolingUntil.IsZero() || s.RateLimited+s.Overloaded != 0 {
			t.Errorf("after errors that are no refusals: %+v", s)
		}
	})
}

func TestLanesAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{})
		b.take(schedule.Ticket{})(rateLimit(time.Hour))
		release, err := b.Acquire(t.Context(), schedule.Ticket{Lane: "other/model"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		release(schedule.Result{})
		if got := b.Lanes(); !slices.Equal(got, []string{"other/model", lane}) {
			t.Errorf("lanes %q", got)
		}
	})
}

// TestCoolDownIsShared: one refusal holds back everybody until the time the
// vendor named, and then they come back gradually.
func TestCoolDownIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{Start: 32})
		b.take(schedule.Ticket{})(rateLimit(10 * time.Second))
		for i := range 100 {
			b.run(schedule.Ticket{Chat: "a", Agent: fmt.Sprint(i)}, time.Hour)
		}
		s := b.Stats(lane)
		if s.InFlight != 0 || s.Waiting != 100 || !s.CoolingUntil.Equal(b.began.Add(10*time.Second)) || s.CoolingFor != llm.ErrRateLimit {
			t.Errorf("while cooling: %+v", s)
		}
		pass(time.Minute)
		_, starts := b.started()
		if len(starts) != 16 {
			t.Fatalf("%d started, want 16: half of 32", len(starts))
		}
		for i, n := range map[int]int{10: 1, 11: 2, 12: 4, 13: 8, 14: 16} {
			by := time.Duration(i) * time.Second
			started := 0
			for _, at := range starts {
				if at <= by {
					started++
				}
			}
			if started != n {
				t.Errorf("%d started by %s, want %d", started, by, n)
			}
		}
		pass(2 * time.Hour)
		pass(8 * time.Hour)
		b.empty()
	})
}

// TestCoolDownExtended: the latest time that any refusal named holds, and
// refusals of one round trip cut once.
func TestCoolDownExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{Start: 4})
		one, two := b.take(schedule.Ticket{}), b.take(schedule.Ticket{})
		one(rateLimit(5 * time.Second))
		b.run(schedule.Ticket{Agent: "x"}, 0)
		pass(2 * time.Second)
		two(rateLimit(8 * time.Second))
		pass(20 * time.Second)
		if _, at := b.started(); len(at) != 1 || at[0] != 10*time.Second {
			t.Errorf("started at %s, want at 10s: the later of the two", at)
		}
		if s := b.Stats(lane); s.RateLimited != 2 || s.Limit != 2 {
			t.Errorf("two refusals of one round trip: %+v", s)
		}
		pass(time.Minute)
		if s := b.Stats(lane); s.RateLimited != 0 {
			t.Errorf("%d refusals in the last minute, want 0", s.RateLimited)
		}
		b.empty()
	})
}

func TestFairness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{Start: 1, Max: 1})
		release := b.take(schedule.Ticket{Chat: "big"})
		for i := range 1000 {
			b.run(schedule.Ticket{Chat: "big", Agent: fmt.Sprint("big ", i), Depth: 1}, time.Second)
		}
		b.run(schedule.Ticket{Chat: "big", Agent: "big's orchestrator"}, time.Second)
		b.run(schedule.Ticket{Chat: "small", Agent: "small"}, time.Second)
		s := b.Stats(lane)
		if s.Waiting != 1002 || s.Chats["big"] != 1001 || s.Chats["small"] != 1 || !s.Oldest.Equal(b.began) {
			t.Errorf("waiting: %+v", s)
		}
		release(schedule.Result{})
		pass(time.Hour)
		b.empty()
		want := []string{"small", "big's orchestrator"}
		for i := range 1000 {
			want = append(want, fmt.Sprint("big ", i))
		}
		if order, _ := b.started(); !slices.Equal(order, want) {
			t.Errorf("went %q …, want %q …", order[:4], want[:4])
		}
	})
}

// said records what an OnWait is told, with the time since the beginning.
type said struct {
	began time.Time
	lines []string
}

func (s *said) on(reason string, until time.Time) {
	line := fmt.Sprintf("%s %q", time.Since(s.began), reason)
	if !until.IsZero() {
		line += " until " + until.Sub(s.began).String()
	}
	s.lines = append(s.lines, line)
}

func (s *said) check(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.lines, want) {
		t.Errorf("told\n\t%s\nwant\n\t%s", strings.Join(s.lines, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestOnWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{Start: 2, Repeat: time.Minute})
		one, two := b.take(schedule.Ticket{}), b.take(schedule.Ticket{})
		notes := &said{began: b.began}
		done := make(chan struct{})
		go func() {
			defer close(done)
			release, err := b.Acquire(t.Context(), schedule.Ticket{Lane: lane}, notes.on)
			if err != nil {
				t.Error(err)
				return
			}
			release(schedule.Result{})
		}()
		pass(time.Second)
		one(rateLimit(10 * time.Second)) // one place is left, and two holds it
		pass(89 * time.Second)
		two(schedule.Result{})
		<-done
		notes.check(
			t,
			`200ms "queue"`,
			`2.2s "rate_limit" until 11s`,
			`12.2s "queue"`,
			`1m12.2s "queue"`, // so that a deadline of the listener can move on
			`1m30s ""`,
		)
		b.empty()
	})
}

func TestShortWaitIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{Start: 1})
		release := b.take(schedule.Ticket{})
		time.AfterFunc(199*time.Millisecond, func() { release(schedule.Result{}) })
		release, err := b.Acquire(t.Context(), schedule.Ticket{Lane: lane}, func(reason string, _ time.Time) {
			t.Errorf("told %q of a wait of %s", reason, time.Since(b.began))
		})
		if err != nil {
			t.Fatal(err)
		}
		release(schedule.Result{})
		b.empty()
	})
}

func TestCancelWhileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{Start: 1, Max: 1})
		release := b.take(schedule.Ticket{})
		ctx, cancel := context.WithCancel(t.Context())
		gone := 0
		for i := range 1000 {
			ctx := ctx
			if i%10 == 0 {
				b.run(schedule.Ticket{Agent: fmt.Sprint(i)}, 0)
				continue
			}
			go func() {
				notes := &said{began: b.began}
				_, err := b.Acquire(ctx, schedule.Ticket{Lane: lane, Agent: fmt.Sprint(i)}, notes.on)
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
				notes.check(t, `200ms "queue"`)
				b.mu.Lock()
				gone++
				b.mu.Unlock()
			}()
		}
		pass(time.Second)
		if s := b.Stats(lane); s.Waiting != 1000 {
			t.Errorf("%d wait, want 1000", s.Waiting)
		}
		cancel()
		synctest.Wait()
		if s := b.Stats(lane); s.Waiting != 100 || gone != 900 || s.InFlight != 1 {
			t.Errorf("%d gone, left: %+v", gone, s)
		}
		if _, err := b.Acquire(ctx, schedule.Ticket{Lane: lane}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that had ended: %v", err)
		}
		release(schedule.Result{})
		b.empty()
		if order, _ := b.started(); len(order) != 100 {
			t.Errorf("%d went, want 100", len(order))
		}
	})
}

// TestCancelTogetherWithGrant: a place given to a waiter whose context has just
// ended is not lost.
func TestCancelTogetherWithGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{Start: 1, Max: 1})
		for range 100 {
			release := b.take(schedule.Ticket{})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if release, err := b.Acquire(ctx, schedule.Ticket{Lane: lane}, nil); err == nil {
					release(schedule.Result{Err: ctx.Err()})
				}
			}()
			synctest.Wait()
			cancel()
			release(schedule.Result{})
			b.empty()
		}
	})
}

func TestReleaseTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, schedule.Config{Start: 2})
		one, two := b.take(schedule.Ticket{}), b.take(schedule.Ticket{})
		one(schedule.Result{})
		one(schedule.Result{})
		one(rateLimit(time.Hour))
		if s := b.Stats(lane); s.InFlight != 1 || s.RateLimited != 0 {
			t.Errorf("after the same release three times: %+v", s)
		}
		two(schedule.Result{})
		b.empty()
	})
}

// TestPanickingListener: a panic in OnWait leaves neither a waiter nor a place
// behind, whether the call still waits or has just got its place.
func TestPanickingListener(t *testing.T) {
	for _, at := range []string{schedule.WaitQueue, ""} {
		t.Run("told "+at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, schedule.Config{Start: 1})
				release := b.take(schedule.Ticket{})
				go func() {
					defer func() { _ = recover() }()
					_, _ = b.Acquire(t.Context(), schedule.Ticket{Lane: lane}, func(reason string, _ time.Time) {
						if reason == at {
							panic("listener")
						}
					})
					t.Error("it did not panic")
				}()
				pass(time.Second)
				release(schedule.Result{})
				b.empty()
			})
		})
	}
}

func TestFallback(t *testing.T) {
	ask := func(b *bench, fallback bool, notes *said) (func(schedule.Result), error) {
		return b.Acquire(b.t.Context(), schedule.Ticket{Lane: lane, Fallback: fallback}, notes.on)
	}
	gaveUp := func(t *testing.T, err error, kind llm.ErrorKind, after time.Duration) {
		t.Helper()
		var e *llm.Error
		if !errors.As(err, &e) || !errors.Is(err, schedule.ErrGaveUp) || e.Kind != kind || e.RetryAfter != after {
			t.Errorf("got %#v, want %s after %s", err, kind, after)
		}
	}
	cfg := schedule.Config{Start: 1, Max: 1, FallbackAfter: 5 * time.Second}

	for _, tt := range []struct {
		name string
		do   func(t *testing.T, b *bench, notes *said)
	}{
		{"all places taken", func(t *testing.T, b *bench, notes *said) {
			release := b.take(schedule.Ticket{})
			_, err := ask(b, true, notes)
			gaveUp(t, err, llm.ErrOverloaded, time.Second)
			notes.check(t, `200ms "queue"`)
			if d := time.Since(b.began); d != 5*time.Second {
				t.Errorf("gave up after %s", d)
			}
			release(schedule.Result{})
		}},
		{"a cool-down that is sure to outlast it", func(t *testing.T, b *bench, notes *said) {
			b.take(schedule.Ticket{})(rateLimit(time.Minute))
			_, err := ask(b, true, notes)
			gaveUp(t, err, llm.ErrRateLimit, time.Minute)
			notes.check(t)
			if d := time.Since(b.began); d != 0 {
				t.Errorf("gave up after %s", d)
			}
		}},
		{"a cool-down that comes in between", func(t *testing.T, b *bench, notes *said) {
			release := b.take(schedule.Ticket{})
			time.AfterFunc(time.Second, func() { release(rateLimit(time.Minute)) })
			_, err := ask(b, true, notes)
			gaveUp(t, err, llm.ErrRateLimit, 58*time.Second+800*time.Millisecond)
		}},
		{"a place in time", func(t *testing.T, b *bench, notes *said) {
			b.take(schedule.Ticket{})(rateLimit(4 * time.Second))
			release, err := ask(b, true, notes)
			if err != nil {
				t.Fatal(err)
			}
			release(schedule.Result{})
			notes.check(t, `200ms "rate_limit" until 4s`, `4s ""`)
		}},
		{"no other model", func(t *testing.T, b *bench, notes *said) {
			b.take(schedule.Ticket{})(rateLimit(time.Hour))
			release, err := ask(b, false, notes)
			if err != nil {
				t.Fatal(err)
			}
			release(schedule.Result{})
			if d := time.Since(b.began); d != time.Hour {
				t.Errorf("waited %s", d)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, cfg)
				tt.do(t, b, &said{began: b.began})
				b.empty()
			})
		})
	}
}
