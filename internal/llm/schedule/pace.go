// The pace of a lane: how many calls may be under way, and when the next one
// may start. It reads no clock and holds no lock, so that it can be tested by
// numbers alone.
//
// The limit grows while calls succeed and all places are taken: by one with
// each success at first, which doubles it every round trip (slow start), and by
// perRoundTrip after the first refusal. A refusal halves it. Only a refusal of a
// call that started after the last cut cuts again: those that were already under
// way met the same congestion, and would otherwise push the limit to the floor
// at once.
//
// If every call is refused for a while (an outage) the limit ends up low for a
// reason that says nothing about its right size. The first cut of such a streak
// therefore notes half of what had worked, and up to there the limit doubles
// again once calls succeed.

package schedule

import (
	"errors"
	"math"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
)

// perRoundTrip is how much the limit grows additively. Model calls take long: by
// one, a lane would need minutes to find out that a vendor bears more again.
const perRoundTrip = 2

type pace struct {
	cfg *Config

	inFlight int
	limit    int
	double   int    // below it each success adds one to the limit
	credit   int    // towards the next one of additive growth
	epoch    uint64 // counts cuts; a call remembers the one it started in
	streak   int    // cuts without a success in between

	// calm: neither a cool-down nor the ramp behind one holds back calls. It
	// lets the common case do without the clock.
	calm      bool
	coolUntil time.Time
	coolKind  llm.ErrorKind
	rampFrom  time.Time // when the first call after the cool-down started
	ramped    int       // calls started since, the first included
}

func newPace(cfg *Config) pace {
	return pace{cfg: cfg, limit: cfg.Start, double: cfg.Max, calm: true}
}

// free tells whether there is a place, whatever the time.
func (p *pace) free() bool { return p.inFlight < p.limit }

// mayStart tells whether a call may start now.
func (p *pace) mayStart(now time.Time) bool {
	return p.free() && !p.opens().After(now)
}

// opens is when cool-down and ramp let the next call start; zero: at any time.
func (p *pace) opens() time.Time {
	if p.calm {
		return time.Time{}
	}
	at := p.coolUntil
	if p.ramped > 0 {
		if step := p.rampFrom.Add(p.rampTime(p.ramped + 1)); step.After(at) {
			at = step
		}
	}
	return at
}

// rampTime is how long after the first call of a ramp the nth may start: the
// count doubles every cfg.Ramp. A vendor who refuses again does so to the first
// few, not to a stampede.
func (p *pace) rampTime(n int) time.Duration {
	return time.Duration(math.Log2(float64(n)) * float64(p.cfg.Ramp))
}

// begin takes a place for a call that mayStart. In calm times it does not look
// at the clock.
func (p *pace) begin(now time.Time) {
	p.inFlight++
	if p.calm {
		return
	}
	if p.ramped == 0 {
		p.rampFrom = now
	}
	p.ramped++
	p.calm = p.ramped >= p.limit || now.Sub(p.rampFrom) >= p.rampTime(p.limit)
}

// abandoned gives back the place of a call that tells nothing about the vendor.
func (p *pace) abandoned() { p.inFlight-- }

// succeeded gives back the place of a call that went well.
func (p *pace) succeeded(epoch uint64) {
	full := p.inFlight >= p.limit
	p.inFlight--
	if epoch != p.epoch {
		return // says nothing about the limit since the cut
	}
	p.streak = 0
	if !full || p.limit >= p.cfg.Max {
		return
	}
	if p.limit < p.double {
		p.limit++
		return
	}
	if p.credit += perRoundTrip; p.credit >= p.limit {
		p.limit++
		p.credit = 0
	}
}

// refused gives back the place of a call that the vendor refused.
func (p *pace) refused(now time.Time, epoch uint64, e *llm.Error) {
	p.inFlight--
	if epoch == p.epoch {
		half := max(p.limit/2, 1)
		if p.streak == 0 {
			p.double = half
		}
		p.limit = half
		p.credit = 0
		p.epoch++
		p.streak++
		if e.RetryAfter <= 0 {
			p.cool(now.Add(p.coolDown()), e.Kind)
		}
	}
	if e.RetryAfter > 0 {
		p.cool(now.Add(e.RetryAfter), e.Kind)
	}
}

// coolDown is how long to stay away where the vendor does not say. It grows by
// half, not twofold: of a vendor that refuses every second call by chance, long
// streaks are common, and doubling would make them most of all the waiting.
func (p *pace) coolDown() time.Duration {
	d := p.cfg.FirstCoolDown
	for range p.streak - 1 {
		if d += d / 2; d >= p.cfg.MaxCoolDown {
			return p.cfg.MaxCoolDown
		}
	}
	return d
}

// cool lets no call start before until, and those after it gradually.
func (p *pace) cool(until time.Time, kind llm.ErrorKind) {
	p.calm = false
	p.ramped = 0
	if until.After(p.coolUntil) {
		p.coolUntil, p.coolKind = until, kind
	}
}

// cooling tells whether a cool-down is under way.
func (p *pace) cooling(now time.Time) bool { return !p.calm && p.coolUntil.After(now) }

// refusal returns the error by which a vendor asks for fewer calls, nil for
// any other outcome.
func refusal(err error) *llm.Error {
	if err == nil {
		return nil
	}
	var e *llm.Error
	if errors.As(err, &e) && (e.Kind == llm.ErrRateLimit || e.Kind == llm.ErrOverloaded) {
		return e
	}
	return nil
}
