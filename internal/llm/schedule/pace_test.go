// The pace by numbers: how the limit and the cool-down follow what a vendor
// answers.

package schedule

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cadre-dev/cadre/internal/llm"
)

func testPace(c Config) pace {
	c = c.withDefaults()
	return newPace(&c)
}

var (
	t0       = time.Unix(1_000_000, 0)
	tooMany  = &llm.Error{Kind: llm.ErrRateLimit, Status: 429}
	overload = &llm.Error{Kind: llm.ErrOverloaded, Status: 529}
)

// fill starts calls until there is no place, and returns how many.
func fill(p *pace, now time.Time) int {
	n := 0
	for p.mayStart(now) {
		p.begin(now)
		n++
	}
	return n
}

// roundTrip lets all calls under way succeed while others wait for the places.
func roundTrip(p *pace, now time.Time) {
	for range p.inFlight {
		p.succeeded(p.epoch)
		fill(p, now)
	}
}

func TestGrowth(t *testing.T) {
	p := testPace(Config{Start: 4, Max: 20})
	for _, want := range []int{4, 8, 16, 20, 20} {
		fill(&p, t0)
		if p.limit != want || p.inFlight != want {
			t.Fatalf("%d of %d under way, want %d", p.inFlight, p.limit, want)
		}
		roundTrip(&p, t0)
	}

	// After a cut it grows by one or two a round trip: a round trip that has
	// already made it larger needs more successes for the second.
	p.refused(t0, p.epoch, tooMany)
	for p.inFlight > 0 {
		p.succeeded(p.epoch - 1)
	}
	if p.limit != 10 {
		t.Fatalf("limit %d after successes from before the cut, want 10", p.limit)
	}
	later := t0.Add(time.Hour)
	for p.limit < 20 {
		for p.inFlight < p.limit { // through the ramp
			fill(&p, later)
			later = later.Add(time.Minute)
		}
		before := p.limit
		roundTrip(&p, later)
		if grown := p.limit - before; grown < 1 || grown > perRoundTrip {
			t.Fatalf("limit %d after %d", p.limit, before)
		}
	}
}

func TestNoGrowthWithoutNeed(t *testing.T) {
	p := testPace(Config{Start: 4})
	for range 100 {
		p.begin(t0)
		p.succeeded(p.epoch)
	}
	if p.limit != 4 {
		t.Errorf("limit %d, want 4: one call at a time proves nothing", p.limit)
	}
}

// TestOneCutPerRoundTrip: of the calls that were under way together only one
// counts, and only a call started after the cut can cut again.
func TestOneCutPerRoundTrip(t *testing.T) {
	p := testPace(Config{})
	now := t0
	for _, want := range []int{32, 16, 8, 4, 2, 1, 1} {
		before, n := p.epoch, fill(&p, now)
		if n == 0 {
			t.Fatal("nothing may start")
		}
		for i := range n {
			e := tooMany
			if i%2 == 1 {
				e = overload
			}
			p.refused(now, before, e)
		}
		if p.limit != want {
			t.Fatalf("limit %d, want %d", p.limit, want)
		}
		now = p.coolUntil
	}
}

// TestAfterOutage: refusals without a success in between take the limit down to
// one, yet what had worked before is known: it doubles up to half of that.
func TestAfterOutage(t *testing.T) {
	p := testPace(Config{Start: 64})
	now := t0
	for range 8 {
		p.begin(now)
		p.refused(now, p.epoch, overload)
		now = p.coolUntil
	}
	if p.limit != 1 {
		t.Fatalf("limit %d, want 1", p.limit)
	}
	for _, want := range []int{1, 2, 4, 8, 16, 32, 33, 35} {
		for p.inFlight < p.limit {
			fill(&p, now)
			now = now.Add(time.Minute)
		}
		if p.limit != want {
			t.Fatalf("limit %d, want %d", p.limit, want)
		}
		roundTrip(&p, now)
	}
}

func TestCoolDown(t *testing.T) {
	p := testPace(Config{FirstCoolDown: time.Second, MaxCoolDown: 10 * time.Second})
	now := t0
	refuse := func(e *llm.Error, want time.Duration) {
		t.Helper()
		p.begin(now)
		p.refused(now, p.epoch, e)
		if got := p.coolUntil.Sub(now); got != want {
			t.Fatalf("cools for %s, want %s", got, want)
		}
		if p.mayStart(p.coolUntil.Add(-1)) || !p.mayStart(p.coolUntil) {
			t.Fatal("opens at another time than it says")
		}
		now = p.coolUntil
	}
	for _, want := range []time.Duration{1000, 1500, 2250, 3375} {
		refuse(tooMany, want*time.Millisecond)
	}
	for range 3 {
		now = p.coolUntil
		p.begin(now)
		p.refused(now, p.epoch, tooMany)
	}
	refuse(tooMany, 10*time.Second)
	refuse(&llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 3 * time.Second}, 3*time.Second)
	refuse(&llm.Error{Kind: llm.ErrRateLimit, RetryAfter: time.Hour}, time.Hour)
	p.begin(now)
	p.succeeded(p.epoch)
	refuse(tooMany, time.Second)
}

// TestLateRefusal: a refusal of a call from before the cut moves the end of the
// cool-down only if the vendor says so, and never to an earlier time.
func TestLateRefusal(t *testing.T) {
	p := testPace(Config{})
	fill(&p, t0)
	p.refused(t0, 0, &llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 10 * time.Second})
	for _, tt := range []struct {
		after, want time.Duration
	}{{0, 10}, {2 * time.Second, 10}, {12 * time.Second, 13}} {
		p.refused(t0.Add(time.Second), 0, &llm.Error{Kind: llm.ErrOverloaded, RetryAfter: tt.after})
		if got := p.coolUntil.Sub(t0); got != tt.want*time.Second {
			t.Errorf("told to wait %s: cools until %s, want %s", tt.after, got, tt.want*time.Second)
		}
	}
	if p.limit != 32 || p.epoch != 1 {
		t.Errorf("limit %d after %d cuts", p.limit, p.epoch)
	}
}

// TestRamp: what starts after a cool-down doubles every second from its first
// call on, whenever that comes, and then nothing holds calls back any more.
func TestRamp(t *testing.T) {
	for _, idle := range []time.Duration{0, time.Hour} {
		t.Run(fmt.Sprint("idle for ", idle), func(t *testing.T) {
			p := testPace(Config{Start: 64})
			p.begin(t0)
			p.refused(t0, 0, tooMany)
			now, started := p.coolUntil.Add(idle), 0
			for _, want := range []int{1, 2, 4, 8, 16, 32} {
				if started += fill(&p, now); started != want {
					t.Fatalf("%d started %s after the cool-down, want %d", started, now.Sub(p.coolUntil), want)
				}
				now = now.Add(time.Second)
			}
			if !p.calm {
				t.Error("not calm though all places are taken")
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{tooMany, true},
		{overload, true},
		{fmt.Errorf("calling: %w", tooMany), true},
		{&llm.Error{Kind: llm.ErrQuota, Status: 429}, false},
		{&llm.Error{Kind: llm.ErrServer, Status: 500}, false},
		{errors.New("anything"), false},
	} {
		if got := refusal(tt.err) != nil; got != tt.want {
			t.Errorf("%v: %t", tt.err, got)
		}
	}
}

// TestPaceInvariants walks at random: no call starts above the limit or during
// a cool-down, the limit stays within its bounds, and time alone always ends
// what holds calls back.
func TestPaceInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 40).Draw(t, "max")
		p := testPace(Config{Start: rapid.IntRange(1, 40).Draw(t, "start"), Max: most})
		now := t0
		var notBefore time.Time
		var calls []uint64
		for range rapid.IntRange(200, 500).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what < 6:
				if !p.mayStart(now) {
					break
				}
				if now.Before(notBefore) {
					t.Fatal("may start during a cool-down")
				}
				p.begin(now)
				calls = append(calls, p.epoch)
				if p.inFlight > p.limit {
					t.Fatalf("%d under way, limit %d", p.inFlight, p.limit)
				}
			case len(calls) > 0:
				i := rapid.IntRange(0, len(calls)-1).Draw(t, "which")
				epoch := calls[i]
				calls = append(calls[:i], calls[i+1:]...)
				switch what {
				case 6:
					after := time.Duration(rapid.IntRange(0, 5000).Draw(t, "after")) * time.Millisecond
					p.refused(now, epoch, &llm.Error{Kind: llm.ErrRateLimit, RetryAfter: after})
					if until := now.Add(after); after > 0 && until.After(notBefore) {
						notBefore = until
					}
				case 7:
					p.abandoned()
				default:
					p.succeeded(epoch)
				}
			}
			if p.limit < 1 || p.limit > most {
				t.Fatalf("limit %d, not within 1 and %d", p.limit, most)
			}
			if p.inFlight != len(calls) {
				t.Fatalf("%d under way, want %d", p.inFlight, len(calls))
			}
			longest := max(p.cfg.MaxCoolDown, 5*time.Second) + p.rampTime(most+1)
			if p.free() && !p.mayStart(now.Add(longest)) {
				t.Fatal("held back for longer than a cool-down and a ramp")
			}
		}
	})
}
