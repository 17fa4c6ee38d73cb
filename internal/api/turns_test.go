// Turns: so many at a time, in order, and none for longer than it may be.

package api

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := newTurns(1)
		take := func() func() {
			t.Helper()
			end, err := all.take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return end
		}
		began := time.Now()
		stuck := take() // its client takes nothing
		second := take()
		if waited := time.Since(began); waited != turnTime+restShare*turnTime {
			t.Errorf("the second waited %s, not for a turn and the rest after it", waited)
		}
		stuck() // long after its turn: it must not end another's
		if len(all) != 0 {
			t.Error("one whose turn was over has ended the next one's")
		}
		second()
		second()
		began = time.Now()
		third := take()
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the third waited %s, though the turn was ended and short", waited)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := all.take(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("one that has gone got %v", err)
		}
		third()
	})
}
