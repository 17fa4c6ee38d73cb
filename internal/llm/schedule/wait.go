// Waiting: what a caller does while its call is in the queue.

package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
)

// ErrGaveUp is inside the *llm.Error of a call that did not get a place in time
// and has another model to turn to. No request was made.
var ErrGaveUp = errors.New("waited too long for a place")

// await waits in the caller's goroutine until w has its place, the context
// ends, or the wait has been too long. However it ends, a panicking onWait
// included, w keeps a place only if the error is nil.
func (l *lane) await(ctx context.Context, w *waiter, onWait OnWait) (epoch uint64, err error) {
	in := false
	defer func() {
		if !in {
			l.leave(w)
		}
	}()
	var alarm <-chan time.Time
	var timer *time.Timer
	if onWait != nil || w.ticket.Fallback {
		timer = time.NewTimer(l.next(w, w.since, l.cfg.Moment))
		defer timer.Stop()
		alarm = timer.C
	}
	told := notice{on: onWait}
	for {
		select {
		case <-w.ready:
			told.over()
			in = true
			return w.epoch, nil
		case <-ctx.Done():
			return 0, l.ended(ctx.Err())
		case now := <-alarm:
			reason, until, err := l.look(w, now)
			if err != nil {
				return 0, err
			}
			if now.Sub(w.since) >= l.cfg.Moment {
				told.tell(reason, until, now, l.cfg.Repeat)
			}
			timer.Reset(l.next(w, now, l.cfg.Refresh))
		}
	}
}

// next is when to look again: after a while, or when it is time to give up.
func (l *lane) next(w *waiter, now time.Time, after time.Duration) time.Duration {
	if w.ticket.Fallback {
		return max(0, min(after, w.since.Add(l.cfg.FallbackAfter).Sub(now)))
	}
	return after
}

// look returns why w waits and until when, or the error by which it gives up.
func (l *lane) look(w *waiter, now time.Time) (reason string, until time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.ticket.Fallback && !w.granted && l.hopeless(w.since, now) {
		return "", time.Time{}, l.gaveUp(w.since, now)
	}
	if !l.pace.cooling(now) {
		return WaitQueue, time.Time{}, nil
	}
	if l.pace.coolKind == llm.ErrOverloaded {
		return WaitOverloaded, l.pace.coolUntil, nil
	}
	return WaitRateLimit, l.pace.coolUntil, nil
}

// hopeless tells whether a call with a fallback that has waited since then has
// waited long enough, or is sure to: while the lane cools for longer than that,
// nothing is gained by waiting. The lock is held.
func (l *lane) hopeless(since, now time.Time) bool {
	end := since.Add(l.cfg.FallbackAfter)
	return !now.Before(end) || l.pace.cooling(now) && l.pace.coolUntil.After(end)
}

// gaveUp is the error of a call that turns to another model. The lock is held.
func (l *lane) gaveUp(since, now time.Time) error {
	e := &llm.Error{Kind: llm.ErrOverloaded, RetryAfter: time.Second, Err: ErrGaveUp}
	why := fmt.Sprintf("all %d places are taken", l.pace.limit)
	if l.pace.cooling(now) {
		e.Kind, e.RetryAfter = l.pace.coolKind, l.pace.coolUntil.Sub(now)
		why = fmt.Sprintf("it is held back by %s for another %s", e.Kind, e.RetryAfter.Round(time.Millisecond))
	}
	e.Message = fmt.Sprintf("waited %s for a place on %s: %s", now.Sub(since).Round(time.Millisecond), l.name, why)
	return e
}

// ended is the error of a call whose context has ended.
func (l *lane) ended(err error) error {
	return fmt.Errorf("waiting for a place on %s: %w", l.name, err)
}

// notice is what an OnWait has been told.
type notice struct {
	on     OnWait
	reason string
	until  time.Time
	at     time.Time
}

func (n *notice) tell(reason string, until, now time.Time, repeat time.Duration) {
	if n.on == nil || reason == n.reason && until.Equal(n.until) && now.Sub(n.at) < repeat {
		return
	}
	n.reason, n.until, n.at = reason, until, now
	n.on(reason, until)
}

func (n *notice) over() {
	if n.reason != "" {
		n.on("", time.Time{})
	}
}
