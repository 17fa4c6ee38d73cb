// Feeds take turns to send once there are many of them, so that those who watch
// do not slow down those who work: a change that a thousand clients wait for
// would else put a thousand goroutines before those of the engine.

package api

import (
	"context"
	"sync"
	"time"
)

const (
	// fewStreams is how many feeds may be open without taking turns: they are
	// sent to at once.
	fewStreams = 64
	// turnTime is how long a turn lasts at most. A client that does not take
	// what it is sent holds up nobody but itself.
	turnTime = 2 * time.Millisecond
	// restShare is how long a place rests after so much sending, as a multiple
	// of that: most of what the machine can do is left to others.
	restShare = 3
)

// turns has places for those who may send at the same time.
type turns chan *place

// place remembers how long was sent from it since it rested.
type place struct{ busy time.Duration }

func newTurns(places int) turns {
	t := make(turns, places)
	for range places {
		t <- &place{}
	}
	return t
}

// take waits for a turn. The returned function ends it, unless its time has
// come before.
func (t turns) take(ctx context.Context) (end func(), err error) {
	var p *place
	select {
	case p = <-t:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	began := time.Now()
	var once sync.Once
	leave := func() { once.Do(func() { t.leave(p, time.Since(began)) }) }
	late := time.AfterFunc(turnTime, leave)
	return func() {
		late.Stop()
		leave()
	}, nil
}

// leave frees a place. Timers are too coarse for a rest after each turn, which
// may be much shorter than turnTime.
func (t turns) leave(p *place, sent time.Duration) {
	p.busy += sent
	if p.busy < turnTime {
		t <- p
		return
	}
	rest := restShare * p.busy
	p.busy = 0
	time.AfterFunc(rest, func() { t <- p })
}
