// A lane: the places of one model, and who gets the next one. The lane holds
// the lock around a pace and a queue, neither of which knows of the other.

package schedule

import (
	"context"
	"sync"
	"time"
)

type lane struct {
	name string
	cfg  *Config

	mu    sync.Mutex
	pace  pace
	queue queue
	timer *time.Timer // set while there are places, and those who wait may not start yet; nil until first needed
	seen  refusals

	turned map[string]turned // by agent: those that a refusal made wait, see orElse
}

func newLane(name string, cfg *Config) *lane {
	return &lane{name: name, cfg: cfg, pace: newPace(cfg)}
}

// enter takes a place, at once or after a wait. The epoch that it returns
// belongs to the place.
func (l *lane) enter(ctx context.Context, t Ticket, onWait OnWait) (epoch uint64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, l.ended(err)
	}
	l.mu.Lock()
	var now time.Time
	if !l.pace.calm {
		now = time.Now() // in calm times nothing depends on it
	}
	if l.queue.len() == 0 && l.pace.mayStart(now) {
		l.pace.begin(now)
		l.queue.passed(t.Chat)
		epoch = l.pace.epoch
		l.mu.Unlock()
		return epoch, nil
	}
	now = time.Now()
	if t.Fallback && l.hopeless(now, now) {
		err := l.gaveUp(now, now)
		l.mu.Unlock()
		return 0, err
	}
	w := l.queue.push(t, now)
	l.dispatch(now) // a place may be due whose timer is late
	l.mu.Unlock()
	return l.await(ctx, w, onWait)
}

// dispatch gives free places to those who wait, and sets the timer for the
// rest. Whatever changes the queue or the pace ends with it, so that no place
// stays free while somebody waits for it. The lock is held.
func (l *lane) dispatch(now time.Time) {
	for l.queue.len() > 0 && l.pace.mayStart(now) {
		w := l.queue.pop()
		l.pace.begin(now)
		w.granted, w.epoch = true, l.pace.epoch
		close(w.ready)
	}
	l.arm(now)
}

// arm sets the timer for the moment at which the next waiter may start, if it
// is time that it waits for, and not a place. It is part of dispatch: who may
// start now has started.
func (l *lane) arm(now time.Time) {
	switch wait := l.pace.opens().Sub(now); {
	case l.queue.len() == 0 || !l.pace.free():
		if l.timer != nil {
			l.timer.Stop()
		}
	case l.timer == nil:
		l.timer = time.AfterFunc(wait, l.wake)
	default:
		l.timer.Reset(wait)
	}
}

// wake is the timer's. A timer that fires though it was stopped or set anew
// does no harm: dispatch looks at the time itself.
func (l *lane) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dispatch(time.Now())
}

// leave takes a waiter that will not make its call out of the queue; if it has
// been given a place in the meantime, the place goes to the next.
func (l *lane) leave(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.granted {
		l.pace.abandoned()
	} else {
		l.queue.remove(w)
	}
	l.dispatch(time.Now())
}

// place is the right to have one call under way.
type place struct {
	lane  *lane
	epoch uint64 // of the pace when the call started
	gone  bool   // guarded by the lane's lock
}

func (p *place) release(r Result) {
	l := p.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.gone {
		return
	}
	p.gone = true
	if e := refusal(r.Err); e != nil {
		now := time.Now()
		l.seen.add(now, e.Kind)
		l.pace.refused(now, p.epoch, e)
	} else if r.Err == nil {
		l.pace.succeeded(p.epoch)
	} else {
		l.pace.abandoned()
	}
	if l.queue.len() > 0 {
		l.dispatch(time.Now())
	}
}
