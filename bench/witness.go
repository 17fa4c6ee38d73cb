// The machine itself: how fast its cores are while something is measured.

package main

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	witnessWork  = 100_000              // turns of a loop, 0.03 ms of a fast core
	witnessPause = 5 * time.Millisecond // between two pieces of work
	calm         = 0.85                 // of the speed of the cores: what was measured then counts
	calmTries    = 3                    // to find such a time
	held         = 0.25                 // of the speed: below, hardly anything goes on
)

// witness does the same small piece of work again and again, and notes how
// much CPU time it takes. The CPU time of its own thread does not grow when
// others use the cores; it grows when whoever lends the cores to this machine
// slows them down, of which the machine itself knows nothing.
type witness struct {
	stop, done chan struct{}
	mu         sync.Mutex
	seen       []sighting
}

type sighting struct {
	at   time.Time // when the work was done
	took time.Duration
}

func startWitness() *witness {
	w := &witness{stop: make(chan struct{}), done: make(chan struct{})}
	go w.watch()
	return w
}

func (w *witness) watch() {
	defer close(w.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tick := time.NewTicker(witnessPause)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
		before := threadTime()
		spin()
		s := sighting{time.Now(), threadTime() - before}
		w.mu.Lock()
		w.seen = append(w.seen, s)
		w.mu.Unlock()
	}
}

func (w *witness) end() {
	close(w.stop)
	<-w.done
}

// at is the speed of the cores at a moment, 1 being the fastest that they have
// been seen to have.
type at struct {
	moment time.Time
	speed  float64
}

// between tells the speed of the cores from one moment to another.
func (w *witness) between(from, to time.Time) []at {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		return nil
	}
	times := make([]time.Duration, len(w.seen))
	for i, s := range w.seen {
		times[i] = s.took
	}
	slices.Sort(times)
	fastest := times[len(times)/100] // the very first may be a slip of the clock
	var out []at
	for _, s := range w.seen {
		if !s.at.Before(from) && !s.at.After(to) {
			out = append(out, at{s.at, min(1, float64(fastest)/float64(s.took))})
		}
	}
	return out
}

// speed is the mean speed since a moment.
func (w *witness) speed(since time.Time) float64 {
	seen := w.between(since, time.Now())
	if len(seen) == 0 {
		return 0
	}
	sum := 0.0
	for _, s := range seen {
		sum += s.speed
	}
	return sum / float64(len(seen))
}

// calmly measures something anew until the cores were fast meanwhile, or often
// enough, and returns what it found when they were fastest, and how fast that
// was. What was found has no say in it.
func calmly[T any](b *bench, measure func() (T, error)) (best T, speed float64, err error) {
	for range calmTries {
		began := time.Now()
		got, err := measure()
		if err != nil {
			return got, 0, err
		}
		if now := b.witness.speed(began); now >= speed {
			best, speed = got, now
		}
		if speed >= calm {
			break
		}
	}
	return best, speed, nil
}

// threadTime is the CPU time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0 // every Linux has it
	}
	return time.Duration(t.Nano())
}

func spin() {
	n := 0
	for i := range witnessWork {
		n += i * i
	}
	runtime.KeepAlive(n) // no compiler leaves the work out
}
