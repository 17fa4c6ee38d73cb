// Package schedule decides when a model call may start. One Scheduler serves
// the whole process, so that a thousand agents that are ready at once meet a
// vendor's limits as one well-behaved client: what is over the limit is queued,
// never refused, and a rate limit that one agent meets holds back all of them.
//
// Each provider and model is a lane of its own, with
//
//   - a limit of calls under way that adapts to what the vendor bears (pace.go);
//   - one cool-down for all, after which calls start gradually (pace.go);
//   - a queue that is fair between chats and between agents (queue.go).
//
// The scheduler never repeats a call: a refusal goes to the caller, and the
// agent's machine alone decides what follows. It starts no goroutine: a waiter
// waits in the goroutine of its caller, and a lane has one timer, which is set
// only while calls wait for a time. There is nothing to close.
//
// It knows models by name and agents by id, and must not know either any
// better.
package schedule

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Config tunes a Scheduler. A field that is 0 has the default named beside it.
type Config struct {
	Start int // calls a new lane may have under way: 64
	Max   int // calls a lane may ever have under way: 1024

	// Limits says more about a lane: what it returns above 0 counts instead of
	// Start and Max. It may be nil.
	Limits func(lane string) (start, most int)

	// A waiter is told about its wait after Moment (200 ms). Every Refresh
	// (2 s) it looks whether why and until when have changed, and tells so; a
	// wait that goes on as before is told again every Repeat (4 min), so that a
	// deadline that the listener set can move on.
	Moment  time.Duration
	Refresh time.Duration
	Repeat  time.Duration

	FallbackAfter time.Duration // how long a call waits that has another model to turn to: 20 s

	// Where a refusal does not say how long to stay away, the lane cools for
	// FirstCoolDown (100 ms: fewer calls are under way besides), half as long
	// again after each further refusal without a success in between, at most for
	// MaxCoolDown (1 min).
	FirstCoolDown time.Duration
	MaxCoolDown   time.Duration

	Ramp time.Duration // after a cool-down the calls started double every Ramp: 1 s
}

func (c Config) withDefaults() Config {
	c.Max = positive(c.Max, 1024)
	c.Start = min(positive(c.Start, 64), c.Max)
	c.Moment = positive(c.Moment, 200*time.Millisecond)
	c.Refresh = positive(c.Refresh, 2*time.Second)
	c.Repeat = positive(c.Repeat, 4*time.Minute)
	c.FallbackAfter = positive(c.FallbackAfter, 20*time.Second)
	c.FirstCoolDown = positive(c.FirstCoolDown, 100*time.Millisecond)
	c.MaxCoolDown = max(positive(c.MaxCoolDown, time.Minute), c.FirstCoolDown)
	c.Ramp = positive(c.Ramp, time.Second)
	return c
}

// of is the configuration of one lane.
func (c Config) of(lane string) Config {
	if c.Limits == nil {
		return c
	}
	start, most := c.Limits(lane)
	c.Max = positive(most, c.Max)
	c.Start = min(positive(start, c.Start), c.Max)
	return c
}

func positive[T int | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// Ticket says who wants to make a call, and where.
type Ticket struct {
	Lane  string // provider/model
	Chat  string
	Agent string
	Depth int // of the agent; the orchestrator has 0

	// Retry: this turn has been here before. Such a call goes before the
	// first tries of its depth, so that agents whom a vendor turned away do
	// not queue from the end each time.
	Retry bool

	// Fallback: there is another model to turn to. Such a call gives up with
	// ErrGaveUp after Config.FallbackAfter; others wait as long as it takes.
	Fallback bool
}

// The reasons for a wait, as told to an OnWait.
const (
	WaitQueue      = "queue"      // all places are taken
	WaitRateLimit  = "rate_limit" // the lane cools down after a rate limit
	WaitOverloaded = "overloaded" // the lane cools down because the vendor is overloaded
)

// OnWait is told that a call waits: one of the reasons above, and until when if
// that is known. It is called again when either changes, and with an empty
// reason once the call may start; if it may not, the error says so instead. All
// calls come from the goroutine of the caller, with no lock held. A call that
// has to wait for no longer than a moment is not told of.
type OnWait = func(reason string, until time.Time)

// Result is how a call ended. Err is what the provider returned: nil makes the
// lane grow, a rate limit or an overload slows it down, anything else (a
// context that ended among it) gives back the place and no more.
type Result struct {
	Err error
}

// Scheduler hands out the places of all lanes. Make one with New; it is safe
// for concurrent use.
type Scheduler struct {
	cfg Config

	mu    sync.RWMutex
	lanes map[string]*lane
}

// New makes a Scheduler without lanes; each comes into being at its first use.
func New(cfg Config) *Scheduler {
	return &Scheduler{cfg: cfg.withDefaults(), lanes: map[string]*lane{}}
}

// Acquire waits for a place on the ticket's lane. With a nil error the caller
// has one, and must call release when its call has ended, however it ended;
// calling it again does nothing. onWait may be nil.
//
// The error is an *llm.Error around ErrGaveUp (see Ticket.Fallback) or wraps
// the context's. Then there is nothing to release.
func (s *Scheduler) Acquire(ctx context.Context, t Ticket, onWait OnWait) (release func(Result), err error) {
	l := s.lane(t.Lane)
	epoch, err := l.enter(ctx, t, onWait)
	if err != nil {
		return nil, err
	}
	p := &place{lane: l, epoch: epoch}
	return p.release, nil
}

// Stats returns a snapshot of a lane. A lane that was never used is empty.
func (s *Scheduler) Stats(name string) Stats {
	s.mu.RLock()
	l := s.lanes[name]
	s.mu.RUnlock()
	if l == nil {
		return Stats{Lane: name, Limit: s.cfg.Start}
	}
	return l.stats()
}

// Lanes returns the names of the lanes used so far, sorted.
func (s *Scheduler) Lanes() []string {
	s.mu.RLock()
	names := make([]string, 0, len(s.lanes))
	for name := range s.lanes {
		names = append(names, name)
	}
	s.mu.RUnlock()
	slices.Sort(names)
	return names
}

func (s *Scheduler) lane(name string) *lane {
	s.mu.RLock()
	l := s.lanes[name]
	s.mu.RUnlock()
	if l != nil {
		return l
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l = s.lanes[name]; l == nil {
		cfg := s.cfg.of(name)
		l = newLane(name, &cfg)
		s.lanes[name] = l
	}
	return l
}
