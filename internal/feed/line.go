// This file is what subscriptions share: those that ask for the same are told
// the same, however many they are.

package feed

import (
	"fmt"
	"sync/atomic"

	"github.com/cadre-dev/cadre/internal/store"
)

// line is what is told to the subscriptions that ask for the same: a list that
// grows at its end, and that each of them follows at its own pace. Its fields
// are guarded by the feed's mutex.
type line struct {
	filter store.Filter
	deltas bool
	subs   map[*Subscription]struct{}
	end    *link
	added  bool // what they are still to be woken for

	more atomic.Pointer[chan struct{}] // closed when there is more than when it was read
}

// link is an item of a line. What all have passed is garbage.
type link struct {
	told
	n    int64 // its number within the line
	next atomic.Pointer[link]
}

// told is an item, and the number up to which all changes that fit are told
// with it or before.
type told struct {
	Item
	upTo int64
}

// lines are those of a chat, or those for more than one, by what they tell.
type lines map[string]*line

// of returns the line that tells what the filter asks for.
func (ls lines) of(filter store.Filter, deltas bool) *line {
	key := fmt.Sprintf("%q %v", filter, deltas)
	l := ls[key]
	if l == nil {
		l = &line{filter: filter, deltas: deltas, subs: map[*Subscription]struct{}{}, end: &link{}}
		c := make(chan struct{})
		l.more.Store(&c)
		ls[key] = l
	}
	return l
}

// drop forgets the lines that nobody follows.
func (ls lines) drop() {
	for key, l := range ls {
		if len(l.subs) == 0 {
			delete(ls, key)
		}
	}
}

// add tells an item to those who follow a line. The caller holds mu.
func (f *Feed) add(l *line, item Item, upTo int64) {
	next := &link{told: told{item, upTo}, n: l.end.n + 1}
	l.end.next.Store(next)
	l.end = next
	if !l.added {
		l.added = true
		f.added = append(f.added, l)
	}
}

// wakeAll wakes all for whom something was added, and cuts off those who do not
// keep up. The caller holds mu.
func (f *Feed) wakeAll() {
	for _, l := range f.added {
		l.added = false
		c := make(chan struct{})
		close(*l.more.Swap(&c))
		for s := range l.subs {
			if last, ok := s.keepsUp(); !ok {
				f.cut(s, &SlowError{Last: last})
			}
		}
	}
	clear(f.added)
	f.added = f.added[:0]
}
