// Package feed tells subscribers what has been committed, in order and by
// number, and passes on what is being said meanwhile.
//
// Committed changes are the truth: each subscriber gets every change that fits
// its filter once, without gap, and one that is too slow is cut off and can go
// on from the number it had. Deltas are pieces of replies on their way: they
// come as they can, are never stored and never take the place of the committed
// message.
//
// One goroutine, the tailer, tells new changes to all subscribers, and only
// while there are any: it makes them of what it is handed when that is
// committed, and reads what it cannot make. What a subscriber missed before it joined it reads
// itself, in the goroutine that calls Next. Those who write (Notify, Publish,
// Discard) never wait for those who read.
package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cadre-dev/cadre/internal/store"
)

const (
	ringSize = 1024 // recent changes kept at least for those who join
	// preload is how many changes from before its start the tailer reads: who
	// was away for a moment is served from memory, and the replies that were
	// committed just then are known to be over.
	preload  = 512
	pageSize = 256 // changes read at once
	// maxHanded bounds the entries that wait for the tailer. One that is so far
	// behind reads them.
	maxHanded = 4096
	// maxOwners bounds the chats whose owners are remembered.
	maxOwners = 4096
)

// Source is what the feed reads. A store.Store is one.
type Source interface {
	Changes(ctx context.Context, since int64, limit int, f store.Filter) ([]store.Change, int64, error)
	LastSeq(ctx context.Context) (int64, error)
	Chat(ctx context.Context, id string) (*store.Chat, error)
}

// The errors that a subscription ends with, beside SlowError and those of the
// store.
var (
	ErrClosed = errors.New("the feed is closed")
	// ErrAhead tells a subscriber that it has seen numbers that do not exist:
	// of another data folder, say. It has to begin anew.
	ErrAhead = errors.New("the number is beyond the newest change")
)

// SlowError tells a subscriber that it was cut off because it did not keep up.
// Everything up to number Last that fits its filter was delivered: it can
// subscribe again from there.
type SlowError struct{ Last int64 }

func (e *SlowError) Error() string {
	return fmt.Sprintf("the subscriber is too slow and was cut off after change %d; subscribe again from there", e.Last)
}

// Feed connects the writers of a store with its subscribers.
type Feed struct {
	source  Source
	replies replies
	newest  atomic.Int64  // of what Notify told
	tailing atomic.Bool   // the tailer runs
	wake    chan struct{} // of size 1

	ctx    context.Context // ends the reads of the tailer, which belong to no caller
	cancel context.CancelFunc
	wg     sync.WaitGroup

	moving   sync.Mutex // held by who moves the tail; taken before mu
	composer composer   // belongs to who moves the tail
	fresh    handed

	mu      sync.Mutex // taken before that of replies and of a subscription
	closed  bool
	open    int // subscriptions that are not closed
	chats   map[string]lines
	wide    lines             // for more than one chat
	added   []*line           // whose followers are to be woken
	owners  map[string]string // of chats, as far as deltas need them
	started bool              // the tail has a place
	last    int64             // the tail: all changes up to here are distributed
	ring    []store.Change    // the changes after from up to last
	from    int64
}

// New makes a feed of a store.
func New(source Source) *Feed {
	ctx, cancel := context.WithCancel(context.Background())
	return &Feed{
		source: source, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1),
		composer: newComposer(), replies: newReplies(), chats: map[string]lines{}, wide: lines{}, owners: map[string]string{},
	}
}

// Notify tells that entries are committed, and with them all changes before.
// It does not block. The entries are not to be changed any more.
func (f *Feed) Notify(entries []*store.Entry) {
	if len(entries) == 0 {
		return
	}
	if f.tailing.Load() {
		f.fresh.put(entries)
	}
	f.reached(entries[len(entries)-1].Seq)
}

// reached notes that all changes up to seq are committed.
func (f *Feed) reached(seq int64) {
	for {
		old := f.newest.Load()
		if seq <= old {
			return
		}
		if f.newest.CompareAndSwap(old, seq) {
			break
		}
	}
	f.poke()
}

// Publish passes on a piece of a reply. It does not block.
func (f *Feed) Publish(d Delta) {
	if f.replies.add(d, f.newest.Load()) {
		f.poke()
	}
}

// Discard tells that a call of a model or a tool is over: what it said is
// committed, or void.
// Pieces of it that come late are dropped. It does not block.
func (f *Feed) Discard(call string) { f.replies.over(call) }

// Close ends all subscriptions and waits for the tailer.
func (f *Feed) Close() {
	f.mu.Lock()
	f.closed = true
	f.cutAll(ErrClosed)
	f.mu.Unlock()
	f.cancel()
	f.wg.Wait()
}

func (f *Feed) poke() {
	if !f.tailing.Load() {
		return
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
