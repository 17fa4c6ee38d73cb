// The lane's timer, seen from inside.

package schedule

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLateTimer: a call that comes when a cool-down is over, but before the
// timer has said so, sets off those who wait; it does not disarm the timer and
// leave them there.
func TestLateTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Start: 4})
		release, err := s.Acquire(t.Context(), Ticket{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		e := *tooMany
		e.RetryAfter = time.Second
		release(Result{Err: &e})
		in := make(chan string, 2)
		call := func(agent string) {
			if _, err := s.Acquire(t.Context(), Ticket{Agent: agent}, nil); err != nil {
				t.Error(err)
			}
			in <- agent
		}
		go call("first")
		synctest.Wait()
		s.lane("").timer.Stop() // as if it were late
		<-time.After(2 * time.Second)
		go call("second")
		if got := []string{<-in, <-in}; got[0] != "first" || got[1] != "second" {
			t.Errorf("went %q", got)
		}
	})
}

// TestIdleLaneHasNoTimer: a cool-down that nobody waits for wakes nobody.
func TestIdleLaneHasNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{})
		for range 3 {
			release, err := s.Acquire(t.Context(), Ticket{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			release(Result{Err: tooMany})
			<-time.After(time.Minute)
		}
		if s.lane("").timer != nil {
			t.Error("it has a timer")
		}
	})
}
