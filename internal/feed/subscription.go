// This file is a subscription as its owner sees it.

package feed

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/cadre-dev/cadre/internal/store"
)

// Item is what a subscription yields: a change or a delta.
type Item struct {
	Change *store.Change // shared with other subscribers: not to be changed
	Delta  *Delta        // shared likewise
}

// defaultBuffer lets a subscriber survive what can come while it waits for a
// processor: thousands of agents that are started together.
const defaultBuffer = 1 << 14

// Options of a subscription. The zero value is fit for use.
type Options struct {
	Deltas bool // also pieces of replies on their way
	Buffer int  // items that may wait for the subscriber before it is cut off; 0: 16384
}

// Subscription yields first what was missed and then what is new. One
// goroutine at a time may call Next or range over All; Close may be called by
// any.
type Subscription struct {
	feed   *Feed
	filter store.Filter
	opts   Options
	ctx    context.Context // the subscription lives as long as it

	last   int64  // yielded up to here
	cursor int64  // read up to here
	ready  []Item // read or got when joining, not yet yielded
	joined bool   // what is new comes by itself
	read   bool   // it has read itself, so cursor is a number that exists
	more   bool   // the last read found a full page
	stop   func() bool

	registered bool // guarded by the feed's mutex
	closed     bool // guarded by the feed's mutex

	mu     sync.Mutex
	line   *line         // where what is new comes from; nil before it has joined
	at     *link         // its place in that: the next one is what it gets next; nil: it gets no more
	rest   []told        // what it gets before that
	err    error         // what comes after all of it
	signal chan struct{} // of size 1
}

// Subscribe begins with the first change after number since that fits the
// filter. It reads nothing before Next is called. The subscription ends with
// the context, or by Close.
func (f *Feed) Subscribe(ctx context.Context, since int64, filter store.Filter, opts Options) *Subscription {
	if opts.Buffer <= 0 {
		opts.Buffer = defaultBuffer
	}
	s := &Subscription{feed: f, filter: filter, opts: opts, ctx: ctx, last: since, cursor: since, signal: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		s.closed = true
		s.fail(ErrClosed)
		return s
	}
	f.open++
	if f.tailing.CompareAndSwap(false, true) {
		f.wg.Add(1)
		go f.tail()
	}
	s.stop = context.AfterFunc(ctx, s.Close)
	return s
}

// Close ends the subscription; a Next that waits returns ErrClosed.
func (s *Subscription) Close() {
	f := s.feed
	f.mu.Lock()
	if s.closed {
		f.mu.Unlock()
		return
	}
	s.closed = true
	f.open--
	f.unregister(s)
	f.mu.Unlock()
	s.stop()
	s.mu.Lock()
	s.at, s.rest = nil, nil
	s.mu.Unlock()
	s.fail(ErrClosed)
	f.poke() // the tailer may rest
}

// All yields items until the context ends or the loop does; an error comes
// last.
func (s *Subscription) All() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		defer s.Close()
		for {
			item, err := s.Next(s.ctx)
			if s.ctx.Err() != nil {
				return
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// Next waits for the next item. After an error there is none.
func (s *Subscription) Next(ctx context.Context) (Item, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Item{}, err
		}
		if len(s.ready) > 0 {
			item := s.ready[0]
			s.ready = s.ready[1:]
			if item.Change != nil {
				s.last = item.Change.Seq
			}
			return item, nil
		}
		s.last = max(s.last, s.cursor)
		if s.joined {
			return s.await(ctx)
		}
		if err := s.catchUp(ctx); err != nil {
			return Item{}, err
		}
	}
}

// Waiting tells whether the next item is there already. It belongs to the
// goroutine that calls Next.
func (s *Subscription) Waiting() bool {
	if len(s.ready) > 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rest) > 0 || s.at != nil && s.at.next.Load() != nil
}

// Last is the number up to which everything that fits was yielded. It belongs
// to the goroutine that calls Next.
func (s *Subscription) Last() int64 { return s.last }

// catchUp joins those who get what is new, if what was missed is in memory;
// else it reads a page of it.
func (s *Subscription) catchUp(ctx context.Context) error {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if !s.more {
		joined, err := s.feed.join(s)
		if joined || err != nil {
			return err
		}
	}
	changes, upTo, err := s.feed.source.Changes(ctx, s.cursor, pageSize, s.filter)
	if err != nil {
		return fmt.Errorf("reading the changes after %d: %w", s.cursor, err)
	}
	if upTo < s.cursor {
		return fmt.Errorf("subscribing after change %d: %w, which is %d", s.cursor, ErrAhead, upTo)
	}
	s.more = len(changes) == pageSize
	s.cursor, s.read = upTo, true
	for i := range changes {
		s.ready = append(s.ready, Item{Change: &changes[i]})
	}
	return nil
}

// join makes s one of those that get what is new, if no change lies between
// what it has read and what is in memory; and gives it those of the latter
// that it has not read, and what the running replies have said so far.
func (f *Feed) join(s *Subscription) (bool, error) {
	if s.read {
		f.reached(s.cursor) // who read it may be ahead of who wrote it and has still to tell
	}
	f.mu.Lock()
	// What was committed while nobody tailed woke nobody. From here on the
	// tailer is told, as there is this subscription.
	behind := !f.started || f.last < max(s.cursor, f.newest.Load())
	f.mu.Unlock()
	if behind {
		if err := f.move(); err != nil {
			if f.ctx.Err() != nil {
				err = ErrClosed
			}
			return false, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.closed || f.closed {
		return false, ErrClosed
	}
	if !f.started || s.cursor < f.from || f.last < s.cursor {
		return false, nil
	}
	for i := range f.ring {
		if c := &f.ring[i]; c.Seq > s.cursor {
			if fit, ok := fits(s.filter, c); ok {
				s.ready = append(s.ready, Item{Change: fit})
			}
		}
	}
	s.cursor, s.joined = f.last, true
	f.register(s)
	if s.opts.Deltas {
		for _, d := range f.replies.join() {
			if f.wants(s.filter, d) {
				s.ready = append(s.ready, Item{Delta: d})
			}
		}
	}
	return true, nil
}

// await takes the next item that was told.
func (s *Subscription) await(ctx context.Context) (Item, error) {
	for {
		more := *s.line.more.Load() // before looking, so that nothing comes unnoticed
		item, ok, err := s.take()
		if ok {
			if item.Change != nil {
				s.last = item.Change.Seq
			}
			return item, nil
		}
		if err != nil {
			return Item{}, err
		}
		select {
		case <-more:
		case <-s.signal:
		case <-ctx.Done():
			return Item{}, ctx.Err()
		}
	}
}

// take returns what waits, if anything does; if not, why nothing will come.
func (s *Subscription) take() (item Item, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rest) > 0 {
		item = s.rest[0].Item
		s.rest[0] = told{}
		s.rest = s.rest[1:]
		return item, true, nil
	}
	if s.at != nil {
		if next := s.at.next.Load(); next != nil {
			s.at = next
			return next.Item, true, nil
		}
	}
	return Item{}, false, s.err
}

// keepsUp tells whether no more waits for the subscriber than may. If it does
// not, what is beyond is taken away, and last is the number of the last change
// that is not.
func (s *Subscription) keepsUp() (last int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil || int64(len(s.rest))+s.line.end.n-s.at.n <= int64(s.opts.Buffer) {
		return 0, true
	}
	s.gather()
	if len(s.rest) <= s.opts.Buffer {
		return 0, true
	}
	clear(s.rest[s.opts.Buffer:])
	s.rest = s.rest[:s.opts.Buffer]
	return s.rest[len(s.rest)-1].upTo, false
}

// maxMerged bounds the text of deltas that are merged while they wait.
const maxMerged = 4 << 10

// gather makes what waits in the line this subscription's own. Pieces of one
// part are merged. The caller holds mu.
func (s *Subscription) gather() {
	for next := s.at.next.Load(); next != nil; next = s.at.next.Load() {
		s.at = next
		if d := next.Delta; d != nil && len(s.rest) > 0 {
			last := &s.rest[len(s.rest)-1]
			before := last.Delta
			if before != nil && before.Call == d.Call && before.Part == d.Part && before.Offset+len(before.Text) == d.Offset && len(before.Text) < maxMerged {
				both := *before
				both.Text += d.Text
				last.Delta = &both
				continue
			}
		}
		s.rest = append(s.rest, next.told)
	}
}

// end is the end of a subscription that has joined: it gets what waits for it,
// and then the error.
func (s *Subscription) end(err error) {
	s.mu.Lock()
	if s.at != nil {
		s.gather()
		s.at = nil
	}
	s.mu.Unlock()
	s.fail(err)
}

// fail ends the subscription with an error, once.
func (s *Subscription) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		s.wake()
	}
}

func (s *Subscription) wake() {
	select {
	case s.signal <- struct{}{}:
	default:
	}
}
