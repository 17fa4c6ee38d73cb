// Feeds take turns to send once there are many of them, so that those who watch
// do not slow down those who work: a change that a thousand clients wait for
// would else put a thousand goroutines before those of the engine.

package api

import (
	"context"
	"runtime"
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
)

// turns has room for those who may send at the same time: most of what the
// machine can do at once is left to others.
type turns chan struct{}

func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)/4)) }

// take waits for a turn. The returned function ends it, unless its time has
// come before.
func (t turns) take(ctx context.Context) (end func(), err error) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var once sync.Once
	leave := func() { once.Do(func() { <-t }) }
	late := time.AfterFunc(turnTime, leave)
	return func() {
		late.Stop()
		leave()
	}, nil
}
