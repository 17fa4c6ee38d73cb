// This file tests changes: no gap, no double, in order, at any speed.

package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/cadre-dev/cadre/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is a store in memory that counts how often it is read.
type source struct {
	mu      sync.Mutex
	changes []store.Change
	reads   atomic.Int64
	fail    error
	gate    chan struct{} // if there is one, reads of changes wait until it is closed
}

// hold makes the reads of changes wait until the function it returns is called.
func (s *source) hold() (release func()) {
	gate := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = gate
	return func() {
		s.mu.Lock()
		s.gate = nil
		s.mu.Unlock()
		close(gate)
	}
}

func (s *source) add(chat, agent string, docs ...store.Document) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq := int64(len(s.changes) + 1)
	s.changes = append(s.changes, store.Change{Seq: seq, Chat: chat, Agent: agent, User: "owner-" + chat, Type: fmt.Sprintf("T%d", seq), Docs: docs})
	return seq
}

func (s *source) Changes(_ context.Context, since int64, limit int, f store.Filter) (list []store.Change, upTo int64, err error) {
	s.reads.Add(1)
	s.mu.Lock()
	if gate := s.gate; gate != nil {
		s.mu.Unlock()
		<-gate
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, since, s.fail
	}
	for _, c := range s.changes {
		if c.Seq <= since {
			continue
		}
		fit, ok := fits(f, &c)
		if !ok {
			continue
		}
		list = append(list, *fit)
		if len(list) == limit {
			return list, c.Seq, nil
		}
	}
	return list, int64(len(s.changes)), nil
}

func (s *source) LastSeq(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.changes)), s.fail
}

func (s *source) Chat(_ context.Context, id string) (*store.Chat, error) {
	return &store.Chat{ID: id, UserID: "owner-" + id}, nil
}

// commit adds a change and tells the feed, as the engine does.
func commit(s *source, f *Feed, chat string, docs ...store.Document) int64 {
	seq := s.add(chat, chat, docs...)
	f.reached(seq)
	return seq
}

// next wants an item without waiting for anyone outside the bubble.
func next(t *testing.T, s *Subscription) Item {
	t.Helper()
	item, err := s.Next(t.Context())
	if err != nil {
		t.Fatalf("waiting for an item: %v", err)
	}
	return item
}

func wantChange(t *testing.T, s *Subscription, seq int64) {
	t.Helper()
	item := next(t, s)
	if item.Change == nil || item.Change.Seq != seq {
		t.Fatalf("got %+v %+v, want change %d", item.Change, item.Delta, seq)
	}
}

func wantDelta(t *testing.T, s *Subscription, want Delta) {
	t.Helper()
	item := next(t, s)
	if item.Delta == nil || *item.Delta != want {
		t.Fatalf("got %+v %+v, want delta %+v", item.Change, item.Delta, want)
	}
}

// wantNothing makes sure that no item waits when everything has come to rest.
func wantNothing(t *testing.T, s *Subscription) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var item Item
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		item, err = s.Next(ctx)
	}()
	synctest.Wait()
	cancel()
	<-done
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %+v %+v (%v), want nothing", item.Change, item.Delta, err)
	}
}

// said is a delta of turn 1 of the orchestrator of a chat.
func said(chat string, part, offset int, text string) Delta {
	return Delta{
		Chat: chat, Agent: chat, Path: "main", Call: chat + "-t1.1", Turn: 1, Try: 1,
		Kind: Text, Part: part, Offset: offset, Text: text,
	}
}

func bubble(t *testing.T, test func(t *testing.T, s *source, f *Feed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		f := New(s)
		defer f.Close()
		test(t, s, f)
	})
}

func TestMissedThenNew(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		for range 700 { // more than a page
			commit(s, f, "c1")
		}
		sub := f.Subscribe(t.Context(), 3, store.Filter{}, Options{})
		for seq := int64(4); seq <= 700; seq++ {
			wantChange(t, sub, seq)
		}
		if got := sub.Last(); got != 700 {
			t.Errorf("Last is %d, want 700", got)
		}
		wantNothing(t, sub)
		for range 5 {
			wantChange(t, sub, commit(s, f, "c1"))
		}
		first := commit(s, f, "c2")
		commit(s, f, "c2")
		wantChange(t, sub, first)
		if got := sub.Last(); got != first {
			t.Errorf("Last is %d, want %d", got, first)
		}
	})
}

func TestCommittedButNotYetTold(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		early := f.Subscribe(t.Context(), 0, store.Filter{}, Options{})
		wantChange(t, early, commit(s, f, "c1"))
		seq := s.add("c1", "c1") // committed; Notify comes later
		late := f.Subscribe(t.Context(), 0, store.Filter{}, Options{})
		wantChange(t, late, 1)
		f.reached(seq)
		wantChange(t, late, seq)
		wantChange(t, early, seq)
		wantNothing(t, late)
		wantNothing(t, early)
	})
}

func TestFilters(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		doc := func(c string) store.Document { return store.Document{Collection: c, ID: c} }
		filters := map[string]store.Filter{
			"chat": {Chat: "c1"}, "user": {User: "owner-c2"}, "agent": {Agent: "c2"},
			"collection": {Collections: []string{"sub-agents/*/messages"}},
			"both":       {Chat: "c1", Collections: []string{"tasks"}},
			"nothing":    {Chat: "c3"},
		}
		want := map[string][]int64{
			"chat": {1, 3, 4, 5, 7, 8}, "user": {2, 6}, "agent": {2, 6}, "collection": {3, 7}, "both": {4, 8}, "nothing": nil,
		}
		round := func() {
			commit(s, f, "c1")
			commit(s, f, "c2", doc("messages"))
			commit(s, f, "c1", doc("messages"), doc("sub-agents/c1.1/messages"))
			commit(s, f, "c1", doc("tasks"))
		}
		round()
		s.mu.Lock()
		s.changes = append(s.changes, store.Change{Seq: 5, Chat: "c1"}) // of no agent
		s.mu.Unlock()
		f.reached(5)
		subs := map[string]*Subscription{}
		got := map[string][]int64{}
		take := func() { // what is there, by each way: missed, and new
			for name, sub := range subs {
				for {
					ctx, cancel := context.WithCancel(t.Context())
					stop := make(chan struct{})
					var item Item
					var err error
					go func() { item, err = sub.Next(ctx); close(stop) }()
					synctest.Wait()
					cancel()
					<-stop
					if err != nil {
						break
					}
					got[name] = append(got[name], item.Change.Seq)
					if name == "collection" && len(item.Change.Docs) != 1 {
						t.Errorf("documents that were not asked for came along: %v", item.Change.Docs)
					}
				}
			}
		}
		for name, filter := range filters {
			subs[name] = f.Subscribe(t.Context(), 0, filter, Options{})
		}
		take()
		commit(s, f, "c2", doc("messages"))
		commit(s, f, "c1", doc("messages"), doc("sub-agents/c1.1/messages"))
		commit(s, f, "c1", doc("tasks"))
		take()
		for name := range filters {
			if !slices.Equal(got[name], want[name]) {
				t.Errorf("the subscriber by %s got %v, want %v", name, got[name], want[name])
			}
		}
	})
}

func TestWaitingTellsWhatIsThere(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		sub := f.Subscribe(t.Context(), 0, store.Filter{}, Options{})
		if wantChange(t, sub, commit(s, f, "c1")); sub.Waiting() {
			t.Error("something waits, but all was read")
		}
		commit(s, f, "c1")
		commit(s, f, "c1")
		synctest.Wait()
		for seq := int64(2); seq <= 3; seq++ {
			if !sub.Waiting() {
				t.Errorf("change %d is there, but does not wait", seq)
			}
			wantChange(t, sub, seq)
		}
		if sub.Waiting() {
			t.Error("something waits after the last change")
		}
	})
}

func TestSlowSubscriberIsCutOffAndResumes(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		slow := f.Subscribe(t.Context(), 0, store.Filter{}, Options{Buffer: 5})
		quick := f.Subscribe(t.Context(), 0, store.Filter{}, Options{Buffer: 5})
		wantChange(t, slow, commit(s, f, "c1"))
		wantChange(t, quick, 1)
		for seq := int64(2); seq <= 20; seq++ {
			commit(s, f, "c1")
			synctest.Wait()
			wantChange(t, quick, seq)
		}
		var last int64
		var cut *SlowError
		for {
			item, err := slow.Next(t.Context())
			if errors.As(err, &cut) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			last = item.Change.Seq
		}
		if last != 6 || cut.Last != last {
			t.Fatalf("the slow one got up to %d and was told %d, want 6 and 6", last, cut.Last)
		}
		if _, err := slow.Next(t.Context()); !errors.As(err, &cut) {
			t.Errorf("after it was cut off, the slow one got %v", err)
		}
		slow.Close()
		again := f.Subscribe(t.Context(), cut.Last, store.Filter{}, Options{Buffer: 5})
		for seq := cut.Last + 1; seq <= 20; seq++ {
			wantChange(t, again, seq)
		}
		wantNothing(t, again)
		wantChange(t, quick, commit(s, f, "c1"))
		wantChange(t, again, 21)
	})
}

func TestWritersNeverWait(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		const subscribers = 1000
		subs := make([]*Subscription, subscribers)
		for i := range subs {
			subs[i] = f.Subscribe(t.Context(), 0, store.Filter{Chat: "c1"}, Options{Deltas: true, Buffer: 8})
		}
		commit(s, f, "c1")
		for _, sub := range subs {
			wantChange(t, sub, 1)
		}
		// The tailer is held up in a read, and nobody takes anything.
		release := s.hold()
		for i := range 2000 {
			f.Publish(said("c1", 0, i, "x"))
			commit(s, f, "c1")
			f.Discard(fmt.Sprintf("other-%d", i))
		}
		release()
		synctest.Wait()
		for i, sub := range subs {
			for {
				_, err := sub.Next(t.Context())
				var slow *SlowError
				if errors.As(err, &slow) {
					break
				}
				if err != nil {
					t.Fatalf("subscriber %d: %v", i, err)
				}
			}
		}
	})
}

func TestOneReadForAll(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		const subscribers, commits = 1000, 50
		for range 100 {
			commit(s, f, "c1")
		}
		subs := make([]*Subscription, subscribers)
		for i := range subs {
			subs[i] = f.Subscribe(t.Context(), 90, store.Filter{}, Options{})
			for seq := int64(91); seq <= 100; seq++ {
				wantChange(t, subs[i], seq)
			}
		}
		if got := s.reads.Load(); got > 3 {
			t.Errorf("%d subscribers that missed a little read the database %d times", subscribers, got)
		}
		s.reads.Store(0)
		for range commits {
			seq := commit(s, f, "c1")
			synctest.Wait()
			for _, sub := range subs {
				wantChange(t, sub, seq)
			}
		}
		if got := s.reads.Load(); got > commits {
			t.Errorf("%d commits for %d subscribers were read with %d reads", commits, subscribers, got)
		}
	})
}

func TestNobodyListens(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		sub := f.Subscribe(t.Context(), 0, store.Filter{}, Options{})
		wantChange(t, sub, commit(s, f, "c1"))
		sub.Close()
		synctest.Wait()
		if f.tailing.Load() || f.ring != nil {
			t.Error("the tailer goes on without subscribers")
		}
		s.reads.Store(0)
		for i := range 100 {
			commit(s, f, "c1")
			f.Publish(said("c1", 0, i, "x"))
		}
		synctest.Wait()
		if len(f.replies.fresh) > 0 {
			t.Error("pieces are collected for nobody")
		}
		if got := s.reads.Load(); got != 0 {
			t.Errorf("without subscribers the database was read %d times", got)
		}
		sub = f.Subscribe(t.Context(), 99, store.Filter{}, Options{})
		wantChange(t, sub, 100)
		wantChange(t, sub, 101)
		wantNothing(t, sub)
	})
}

// TestCommittedWhileNobodyTailed: one that is closed while it joins may move
// the tail after the tailer has gone. Who comes next must not take it for the
// newest.
func TestCommittedWhileNobodyTailed(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		commit(s, f, "c1")
		f.Subscribe(t.Context(), 0, store.Filter{}, Options{}).Close()
		synctest.Wait() // the tailer has gone
		if err := f.move(); err != nil || f.tailing.Load() {
			t.Fatalf("moving the tail: %v, tailing: %v", err, f.tailing.Load())
		}
		seq := commit(s, f, "c1")
		sub := f.Subscribe(t.Context(), 1, store.Filter{}, Options{})
		wantChange(t, sub, seq)
	})
}

// TestCrowd: many who ask for the same get the same, whenever they came and
// however fast they are.
func TestCrowd(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		const size = 3 * crowd
		subs := make([]*Subscription, size)
		for i := range subs {
			subs[i] = f.Subscribe(t.Context(), 0, store.Filter{Chat: "c1"}, Options{Deltas: true})
			wantChange(t, subs[i], commit(s, f, "c1")-int64(i)) // it has all before it still to get
		}
		other := f.Subscribe(t.Context(), size, store.Filter{Chat: "c2"}, Options{})
		for seq := int64(1); seq <= size; seq++ {
			for i, sub := range subs {
				if seq == 1 || i%3 == 0 && seq > size/2 { // some wait
					continue
				}
				wantChange(t, sub, seq)
			}
		}
		last := commit(s, f, "c1")
		for i, sub := range subs {
			for seq := int64(size/2 + 1); i%3 == 0 && seq <= size; seq++ {
				wantChange(t, sub, seq)
			}
			wantChange(t, sub, last)
			sub.Close()
		}
		wantNothing(t, other)
		if n := len(f.chats); n != 1 {
			t.Errorf("lines of %d chats are left, one is followed", n)
		}
	})
}

func TestEnds(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		commit(s, f, "c1")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		byContext := f.Subscribe(ctx, 0, store.Filter{}, Options{})
		var seqs []int64
		for item, err := range byContext.All() {
			if err != nil {
				t.Errorf("the end of the context is no error, but got %v", err)
				break
			}
			seqs = append(seqs, item.Change.Seq)
			cancel()
		}
		if !slices.Equal(seqs, []int64{1}) {
			t.Errorf("got %v before the context ended", seqs)
		}
		byBreak := f.Subscribe(t.Context(), 0, store.Filter{}, Options{})
		for range byBreak.All() {
			break
		}
		byClose := f.Subscribe(t.Context(), 0, store.Filter{}, Options{})
		wantChange(t, byClose, 1)
		waiting := make(chan error)
		go func() {
			_, err := byClose.Next(t.Context())
			waiting <- err
		}()
		synctest.Wait()
		byClose.Close()
		byClose.Close()
		if err := <-waiting; !errors.Is(err, ErrClosed) {
			t.Errorf("a closed subscription ended with %v", err)
		}
		synctest.Wait()
		if f.open != 0 || f.tailing.Load() {
			t.Errorf("%d subscriptions are still open", f.open)
		}

		byFeed := f.Subscribe(t.Context(), 0, store.Filter{}, Options{})
		wantChange(t, byFeed, 1)
		unread := f.Subscribe(t.Context(), 0, store.Filter{}, Options{})
		f.Close()
		for name, sub := range map[string]*Subscription{
			"joined": byFeed, "unread": unread, "late": f.Subscribe(t.Context(), 0, store.Filter{}, Options{}),
		} {
			if _, err := sub.Next(t.Context()); !errors.Is(err, ErrClosed) {
				t.Errorf("after the feed was closed, the %s subscription got %v", name, err)
			}
			sub.Close()
		}
		f.reached(99)
		f.Publish(said("c1", 0, 0, "x"))
		f.Close()
	})
}

func TestBeyondTheNewest(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		commit(s, f, "c1")
		sub := f.Subscribe(t.Context(), 0, store.Filter{}, Options{Deltas: true})
		wantChange(t, sub, 1)
		ahead := f.Subscribe(t.Context(), 50, store.Filter{}, Options{})
		if _, err := ahead.Next(t.Context()); !errors.Is(err, ErrAhead) {
			t.Errorf("a subscriber from the future got %v, want ErrAhead", err)
		}
		// It must not have led the feed to believe it.
		f.Publish(said("c1", 0, 0, "still here"))
		wantDelta(t, sub, said("c1", 0, 0, "still here"))
		wantChange(t, sub, commit(s, f, "c1"))
	})
}

func TestStoreFails(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		broken := errors.New("the disk is gone")
		sub := f.Subscribe(t.Context(), 0, store.Filter{}, Options{})
		wantChange(t, sub, commit(s, f, "c1"))
		s.mu.Lock()
		s.fail = broken
		s.mu.Unlock()
		commit(s, f, "c1")
		if _, err := sub.Next(t.Context()); !errors.Is(err, broken) {
			t.Fatalf("a failing store gave %v", err)
		}
		other := f.Subscribe(t.Context(), sub.Last(), store.Filter{}, Options{})
		if _, err := other.Next(t.Context()); !errors.Is(err, broken) {
			t.Fatalf("subscribing to a failing store gave %v", err)
		}
		s.mu.Lock()
		s.fail = nil
		s.mu.Unlock()
		again := f.Subscribe(t.Context(), sub.Last(), store.Filter{}, Options{})
		wantChange(t, again, 2)
		wantChange(t, again, commit(s, f, "c1"))
	})
}
