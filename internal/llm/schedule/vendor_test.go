// A thousand agents against simulated vendors. The agents retry as the agent's
// machine does; the vendors refuse as real ones do. All of it runs on the
// bubble's time.

package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/schedule"
)

// vendor is a model that takes a while, and may refuse.
type vendor struct {
	t       *testing.T
	takes   time.Duration
	refuses time.Duration // how long a refusal takes

	// admit is asked for each request, with the number under way, this one
	// included; the lock is held.
	admit func(request, underWay int) *llm.Error

	mu        sync.Mutex
	requests  int
	refused   int
	underWay  int
	most      int       // under way at once
	told      time.Time // when the last Retry-After was given
	notBefore time.Time // the latest time that a Retry-After named
}

func (v *vendor) Call(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Reply, error) {
	v.mu.Lock()
	v.requests++
	v.underWay++
	v.most = max(v.most, v.underWay)
	refusal := v.admit(v.requests, v.underWay)
	// Those that start at the very moment of the refusal may have been let go
	// before it.
	if now := time.Now(); now.After(v.told) && now.Before(v.notBefore) {
		v.t.Errorf("%s calls %s before the time that the vendor named", req.Caller.Agent, v.notBefore.Sub(now))
	}
	v.mu.Unlock()

	takes := v.takes
	if refusal != nil {
		takes = v.refuses
	}
	if takes > 0 {
		pass(takes)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.underWay--
	if refusal == nil {
		return &llm.Reply{Stop: llm.StopEnd}, nil
	}
	v.refused++
	if refusal.RetryAfter > 0 {
		v.told = time.Now()
		if until := v.told.Add(refusal.RetryAfter); until.After(v.notBefore) {
			v.notBefore = until
		}
	}
	return nil, refusal
}

// backoff is the machine's: see delay in internal/agent/model.go.
func backoff(agent string, try int, after time.Duration) time.Duration {
	d := int64(500) << min(try-1, 10)
	d = min(d, 30_000)
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d/%d", agent, 1, try)
	return max(after, time.Duration(d+int64(h.Sum64()%uint64(d/4+1)))*time.Millisecond)
}

// crowd is what became of the agents.
type crowd struct {
	finished int
	tries    int // the most that one agent needed for a turn
	took     time.Duration
	stats    schedule.Stats
}

// fanOut lets n agents of a chat take some turns each.
func fanOut(t *testing.T, cfg schedule.Config, v *vendor, n, turns int) crowd {
	b := newBench(t, cfg)
	v.t = t
	var c crowd
	var agents sync.WaitGroup
	for i := range n {
		agent := fmt.Sprint("agent ", i)
		agents.Go(func() {
			most := 0
			for range turns {
				for try := 1; ; try++ {
					p := schedule.Provider{Scheduler: b.Scheduler, Lane: lane, Next: v}
					_, err := p.Call(t.Context(), &llm.Request{Caller: llm.Caller{Chat: "c", Agent: agent, Depth: 1, Try: try}}, nil)
					if err == nil {
						most = max(most, try)
						break
					}
					var e *llm.Error
					if !errors.As(err, &e) {
						t.Errorf("%s: %v", agent, err)
						return
					}
					pass(backoff(agent, try, e.RetryAfter))
				}
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			c.finished++
			c.tries = max(c.tries, most)
		})
	}
	synctest.Wait()
	if s := b.Stats(lane); s.InFlight+s.Waiting != n {
		t.Errorf("of %d agents that are ready %d call and %d wait", n, s.InFlight, s.Waiting)
	}
	agents.Wait()
	c.took = time.Since(b.began)
	c.stats = b.Stats(lane)
	b.empty()
	t.Logf("%d requests, %d refused, at most %d at once and %d tries, %s; limit at the end %d",
		v.requests, v.refused, v.most, c.tries, c.took, c.stats.Limit)
	if c.finished != n {
		t.Errorf("%d of %d agents finished", c.finished, n)
	}
	return c
}

// worth checks that what the vendor bears was used, without many refusals. The
// bounds are loose: which call of an instant goes first is up to chance.
func (c crowd) worth(t *testing.T, v *vendor, ideal time.Duration) {
	t.Helper()
	t.Logf("%.0f%% of what the vendor bears", 100*float64(ideal)/float64(c.took))
	if c.took > 2*ideal {
		t.Errorf("took %s, the vendor could have done it in %s", c.took, ideal)
	}
	if v.refused > v.requests/4 {
		t.Errorf("%d of %d requests were refused", v.refused, v.requests)
	}
}

// TestHalfRefused: whatever one does, every second request is refused.
func TestHalfRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vendor{takes: 500 * time.Millisecond, refuses: 50 * time.Millisecond}
		v.admit = func(request, _ int) *llm.Error {
			switch {
			case request%2 == 1:
				return nil
			case request%4 == 0:
				return &llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: 1500 * time.Millisecond}
			}
			return &llm.Error{Kind: llm.ErrRateLimit, Status: 429}
		}
		c := fanOut(t, schedule.Config{Start: 50, Max: 50}, v, 1000, 1)
		if v.most > 50 {
			t.Errorf("%d calls at once, 50 are allowed", v.most)
		}
		if c.tries > 25 {
			t.Errorf("an agent needed %d tries", c.tries)
		}
	})
}

// TestBusyVendor: the vendor bears so many calls at once. The lane finds out,
// and stays near it.
func TestBusyVendor(t *testing.T) {
	for _, bears := range []int{5, 40, 300} {
		t.Run(fmt.Sprint(bears), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &vendor{takes: 5 * time.Second, refuses: 200 * time.Millisecond}
				v.admit = func(_, underWay int) *llm.Error {
					if underWay > bears {
						return &llm.Error{Kind: llm.ErrOverloaded, Status: 529}
					}
					return nil
				}
				const n, turns = 1000, 3
				c := fanOut(t, schedule.Config{}, v, n, turns)
				c.worth(t, v, time.Duration(n*turns/bears)*v.takes)
			})
		})
	}
}

// TestMeteredVendor: so many requests a second, and a Retry-After for the rest.
func TestMeteredVendor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond, burst = 20, 40
		tokens, last := float64(burst), time.Now()
		v := &vendor{takes: 5 * time.Second, refuses: 100 * time.Millisecond}
		v.admit = func(int, int) *llm.Error {
			now := time.Now()
			tokens = min(burst, tokens+perSecond*now.Sub(last).Seconds())
			last = now
			if tokens < 1 {
				return &llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: time.Second}
			}
			tokens--
			return nil
		}
		const n, turns = 1000, 3
		c := fanOut(t, schedule.Config{}, v, n, turns)
		c.worth(t, v, n*turns/perSecond*time.Second)
	})
}

// TestOutage: everything is refused for two minutes.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := time.Now().Add(20*time.Second), time.Now().Add(140*time.Second)
		v := &vendor{takes: 5 * time.Second, refuses: 100 * time.Millisecond}
		during := 0
		v.admit = func(int, int) *llm.Error {
			if now := time.Now(); now.After(from) && now.Before(to) {
				during++
				return &llm.Error{Kind: llm.ErrOverloaded, Status: 529}
			}
			return nil
		}
		const n = 1000
		c := fanOut(t, schedule.Config{}, v, n, 3)
		after := time.Since(to)
		t.Logf("%d calls during the outage, through %s after its end", during, after)
		if during > n+20 {
			t.Errorf("%d calls during the outage: more than those it met, and some probes", during)
		}
		if after > 3*time.Minute || c.tries > 4 {
			t.Errorf("through %s after the outage, with up to %d tries", after, c.tries)
		}
	})
}
