// This file is the tailer: it reads new changes once and hands them, and what
// is new of the replies, to the subscriptions that have joined.

package feed

import (
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
)

// tail runs while there are subscriptions.
func (f *Feed) tail() {
	defer f.wg.Done()
	for {
		select {
		case <-f.wake:
		case <-f.ctx.Done():
			return
		}
		if f.rest() {
			return
		}
		if err := f.move(); err != nil {
			f.lose(err)
		}
		if f.crowded() {
			select {
			case <-time.After(crowdPause):
			case <-f.ctx.Done():
			}
		}
	}
}

// A crowd of subscribers is told what is new less often, and more at a time: to
// wake a thousand for each of a thousand changes would take more of the machine
// than the agents that make them.
const (
	crowd      = 64
	crowdPause = 25 * time.Millisecond
)

func (f *Feed) crowded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open > crowd
}

// rest ends the tailing when nobody is left, and forgets what was kept for
// them.
func (f *Feed) rest() bool {
	f.moving.Lock()
	defer f.moving.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open > 0 && !f.closed {
		return false
	}
	f.tailing.Store(false)
	f.started, f.ring = false, nil
	clear(f.owners)
	f.composer.forget()
	f.fresh.after(math.MaxInt64)
	return true
}

// lose cuts off all who have joined, as the tail cannot be moved. It loses its
// place, so that the next who wants to join tries again.
func (f *Feed) lose(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cutAll(err)
	f.started, f.ring = false, nil
}

// move brings the tail up to what is committed. The tailer does it, and who
// joins, if it has seen more than the tailer.
func (f *Feed) move() error {
	f.moving.Lock()
	defer f.moving.Unlock()
	if err := f.start(); err != nil {
		return err
	}
	for {
		f.mu.Lock()
		since := f.last
		f.mu.Unlock()
		var fresh []store.Change
		upTo := since
		if f.newest.Load() > since {
			var err error
			if fresh, upTo, err = f.next(since); err != nil {
				return fmt.Errorf("tailing the changes after %d: %w", since, err)
			}
		}
		f.mu.Lock()
		f.distribute(fresh, max(since, upTo))
		f.mu.Unlock()
		if upTo <= since || f.newest.Load() <= upTo {
			return nil
		}
	}
}

// next returns the changes after since: made of what was handed over, as far
// as they can be; else read.
func (f *Feed) next(since int64) (changes []store.Change, upTo int64, err error) {
	upTo = since
	for _, e := range f.fresh.after(since) {
		c, ok := f.composer.compose(e)
		if !ok {
			break
		}
		changes, upTo = append(changes, c), c.Seq
	}
	if len(changes) > 0 {
		return changes, upTo, nil
	}
	changes, upTo, err = f.source.Changes(f.ctx, since, pageSize, store.Filter{})
	if err != nil || len(changes) == pageSize {
		f.composer.forget() // the documents may be newer than the changes
		return changes, upTo, err
	}
	f.composer.learn(changes)
	return changes, upTo, nil
}

// start gives the tail its place.
func (f *Feed) start() error {
	f.mu.Lock()
	started := f.started
	f.mu.Unlock()
	if started {
		return nil
	}
	last, err := f.source.LastSeq(f.ctx)
	if err != nil {
		return fmt.Errorf("finding the newest change: %w", err)
	}
	f.reached(last)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started, f.from = true, max(0, last-preload)
	f.last, f.ring = f.from, nil
	return nil
}

// distribute hands out changes and deltas: each delta after the changes that
// were committed before it was said, and before the change that commits its
// reply. The caller holds mu.
func (f *Feed) distribute(fresh []store.Change, upTo int64) {
	pieces := f.replies.take(upTo)
	over := map[string]bool{}
	for i := range fresh {
		c := &fresh[i]
		for len(pieces) > 0 && pieces[0].after < c.Seq {
			f.tell(pieces[0].Delta, over)
			pieces = pieces[1:]
		}
		for _, ls := range []lines{f.chats[c.Chat], f.wide} {
			for _, l := range ls {
				if fit, ok := fits(l.filter, c); ok {
					f.add(l, Item{Change: fit}, c.Seq)
				}
			}
		}
		f.last = c.Seq
		for _, call := range ended(c) {
			over[call] = true
			f.replies.over(call)
		}
	}
	for _, p := range pieces {
		f.tell(p.Delta, over)
	}
	f.wakeAll()
	f.last = upTo
	f.ring = append(f.ring, fresh...)
	if extra := len(f.ring) - ringSize; extra > ringSize { // seldom, as it copies
		f.from = f.ring[extra-1].Seq
		f.ring = append([]store.Change(nil), f.ring[extra:]...)
	}
}

// ended returns the model calls that a change records. Nothing they said can
// come after it.
func ended(c *store.Change) (calls []string) {
	for _, d := range c.Docs {
		if !strings.HasSuffix(d.Collection, "model-calls") {
			continue
		}
		// A side call has the place of a turn but none of its replies.
		if m, ok := d.Data.(store.ModelCall); ok && m.Status != "side" {
			calls = append(calls, d.ID)
		}
	}
	return calls
}

// tell gives a delta to those who want it. The caller holds mu.
func (f *Feed) tell(d *Delta, over map[string]bool) {
	if over[d.Call] {
		return
	}
	for _, ls := range []lines{f.chats[d.Chat], f.wide} {
		for _, l := range ls {
			if l.deltas && f.wants(l.filter, d) {
				f.add(l, Item{Delta: d}, f.last)
			}
		}
	}
}

// fits returns the change with the documents that the filter asks for.
func fits(f store.Filter, c *store.Change) (*store.Change, bool) {
	if f.Chat != "" && f.Chat != c.Chat || f.Agent != "" && f.Agent != c.Agent || f.User != "" && f.User != c.User {
		return nil, false
	}
	if len(f.Collections) == 0 {
		return c, true
	}
	var docs []store.Document
	for _, d := range c.Docs {
		if matches(f.Collections, d.Collection) {
			docs = append(docs, d)
		}
	}
	if len(docs) == 0 {
		return nil, false
	}
	part := *c
	part.Docs = docs
	return &part, true
}

func matches(patterns []string, collection string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, collection); err == nil && ok {
			return true
		}
	}
	return false
}

// wants tells whether a delta fits a filter: it belongs to the collection that
// its message will be in. The caller holds mu.
func (f *Feed) wants(filter store.Filter, d *Delta) bool {
	if filter.Chat != "" && filter.Chat != d.Chat || filter.Agent != "" && filter.Agent != d.Agent {
		return false
	}
	if filter.User != "" && filter.User != f.owner(d.Chat) {
		return false
	}
	if len(filter.Collections) == 0 {
		return true
	}
	return matches(filter.Collections, store.Collection(d.Chat, d.Agent, "messages"))
}

// owner returns whose chat it is. A chat that cannot be read is nobody's.
func (f *Feed) owner(chat string) string {
	if user, ok := f.owners[chat]; ok {
		return user
	}
	if len(f.owners) >= maxOwners {
		clear(f.owners)
	}
	c, err := f.source.Chat(f.ctx, chat)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			f.owners[chat] = ""
		}
		return ""
	}
	f.owners[chat] = c.UserID
	return c.UserID
}

// cut ends a subscription: it gets what it has been given, and then the error.
// The caller holds mu.
func (f *Feed) cut(s *Subscription, err error) {
	f.unregister(s)
	s.end(err)
}

func (f *Feed) cutAll(err error) {
	cut := func(ls lines) {
		for _, l := range ls {
			for s := range l.subs {
				f.cut(s, err)
			}
		}
	}
	cut(f.wide)
	for _, ls := range f.chats {
		cut(ls)
	}
}

// linesOf are those that a subscription with this filter follows one of. The
// caller holds mu.
func (f *Feed) linesOf(filter store.Filter) lines {
	if filter.Chat == "" {
		return f.wide
	}
	if f.chats[filter.Chat] == nil {
		f.chats[filter.Chat] = lines{}
	}
	return f.chats[filter.Chat]
}

// register makes a subscription one of those that get what is new. The caller
// holds mu.
func (f *Feed) register(s *Subscription) {
	l := f.linesOf(s.filter).of(s.filter, s.opts.Deltas)
	l.subs[s] = struct{}{}
	s.registered = true
	s.mu.Lock()
	s.line, s.at = l, l.end
	s.mu.Unlock()
}

// unregister takes that back. The caller holds mu.
func (f *Feed) unregister(s *Subscription) {
	if !s.registered {
		return
	}
	s.registered = false
	if s.opts.Deltas {
		f.replies.leave()
	}
	delete(s.line.subs, s)
	ls := f.linesOf(s.filter)
	if ls.drop(); len(ls) == 0 {
		delete(f.chats, s.filter.Chat)
	}
}
