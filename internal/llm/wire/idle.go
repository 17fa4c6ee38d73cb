// How long a vendor may be silent.

package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
)

const (
	// DefaultFirst is how long a stream may be silent while the model may be
	// thinking: before it says anything, and between the parts of its reply.
	// Reasoning models of some vendors say nothing for minutes then.
	DefaultFirst = 5 * time.Minute
	// DefaultThen is how long it may be silent within what it is saying.
	DefaultThen = 90 * time.Second
	// DefaultWhole is how long a reply that is not streamed may take: all of
	// it is silence. For so long, too, may a stream give signs of life and
	// nothing else: a vendor that holds back a long input of a tool does that,
	// and so does a gateway behind which nobody is left.
	DefaultWhole = 10 * time.Minute
)

var (
	errSilent = errors.New("nothing was heard for too long")
	errClosed = errors.New("the response was closed")
)

// Idle is how long a vendor may be silent; 0 means the default of each.
type Idle struct {
	First time.Duration // before the first delta, and between parts of the reply
	Then  time.Duration // after a delta
}

// Silence is an Idle that allows the same everywhere.
func Silence(d time.Duration) Idle { return Idle{d, d} }

// ForWhole is idle for a reply that is not streamed.
func (i Idle) ForWhole() Idle {
	if i.First <= 0 {
		i.First = DefaultWhole
	}
	return i
}

// Heard tells that a delta came: from now on the vendor is in the middle of
// something.
func (w *watch) Heard() { w.limit, w.still = min(w.idle.Then, w.most), 0 }

// Between tells that a part of the reply has begun or has ended: the model may
// think now, out of hearing.
func (w *watch) Between() { w.limit, w.still = min(w.idle.First, w.most), 0 }

// SetIdle bounds how long the vendor may be silent from here on: once a reply
// is complete, its epilogue is not worth a long wait.
func (w *watch) SetIdle(most time.Duration) {
	w.most = min(w.most, most)
	w.limit = min(w.limit, w.most)
}

// Listen returns a function for deltas that notes them before it passes them
// on. onDelta may be nil.
func (w *watch) Listen(onDelta func(llm.Delta)) func(llm.Delta) {
	return func(d llm.Delta) {
		w.Heard()
		if onDelta != nil {
			onDelta(d)
		}
	}
}

// watch bounds silence: it cancels the inner context when nothing comes for
// too long while someone waits. The time that its user takes does not count.
type watch struct {
	outer  context.Context // the caller's
	inner  context.Context // of the request
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   Idle
	limit  time.Duration // the one that counts now
	most   time.Duration // see SetIdle
	still  time.Duration // waited since the last delta or part, whatever came
	since  time.Time     // when the waiting that goes on has begun
}

func newWatch(ctx context.Context, idle Idle) watch {
	if idle.First <= 0 {
		idle.First = DefaultFirst
	}
	if idle.Then <= 0 {
		idle.Then = DefaultThen
	}
	inner, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(idle.First, func() { cancel(errSilent) })
	return watch{outer: ctx, inner: inner, cancel: cancel, timer: timer, idle: idle, limit: idle.First, most: max(idle.First, idle.Then)}
}

func (w *watch) start() {
	w.since = time.Now()
	w.timer.Reset(min(w.limit, max(DefaultWhole, w.limit)-w.still))
}

func (w *watch) stop() {
	w.timer.Stop()
	w.still += time.Since(w.since)
}

func (w *watch) end() {
	w.timer.Stop()
	w.cancel(errClosed)
}

// explain turns an error of the transport into one of the contract.
func (w *watch) explain(doing string, err error, secrets []string) error {
	if ended := w.outer.Err(); ended != nil {
		return ended
	}
	// An *url.Error repeats the address, which may contain more than it should.
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(context.Cause(w.inner), errSilent) {
		text := fmt.Sprintf("%s: nothing was heard for %v", doing, w.limit)
		if w.still > w.limit {
			text = fmt.Sprintf("%s: there were signs of life for %v, but nothing of a reply", doing, w.still.Round(time.Second))
		}
		return &llm.Error{Kind: llm.ErrTimeout, Message: text, Err: errSilent}
	}
	kind := llm.ErrNetwork
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
		kind = llm.ErrTimeout
	}
	return &llm.Error{Kind: kind, Message: Scrub(doing+": "+err.Error(), secrets...), Err: err}
}
