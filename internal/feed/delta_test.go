// This file tests deltas: who gets them, when, and what is kept of them.

package feed

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cadre-dev/cadre/internal/store"
)

// modelCall is the document that records the end of a model call.
func modelCall(id, status string) store.Document {
	return store.Document{Collection: "model-calls", ID: id, Data: store.ModelCall{ID: id, Status: status}}
}

func TestDeltasOnlyWhenAskedFor(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		with := f.Subscribe(t.Context(), 0, store.Filter{}, Options{Deltas: true})
		without := f.Subscribe(t.Context(), 0, store.Filter{}, Options{})
		other := f.Subscribe(t.Context(), 0, store.Filter{Chat: "c2"}, Options{Deltas: true})
		commit(s, f, "c1")
		commit(s, f, "c2")
		for _, sub := range []*Subscription{with, without} {
			wantChange(t, sub, 1)
			wantChange(t, sub, 2)
		}
		wantChange(t, other, 2)
		f.Publish(said("c1", 0, 0, "Hel"))
		wantDelta(t, with, said("c1", 0, 0, "Hel"))
		f.Publish(said("c1", 0, 3, "lo"))
		wantDelta(t, with, said("c1", 0, 3, "lo"))
		f.Publish(said("c2", 0, 0, "Hi"))
		wantDelta(t, other, said("c2", 0, 0, "Hi"))
		wantDelta(t, with, said("c2", 0, 0, "Hi"))
		for _, sub := range []*Subscription{with, without, other} {
			wantNothing(t, sub)
		}
	})
}

func TestJoiningInMidReply(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		commit(s, f, "c1")
		thinking := said("c1", 0, 0, "hm")
		thinking.Kind = Thinking
		call := said("c1", 2, 0, "")
		call.Kind, call.Name = ToolCall, "grep"
		f.Publish(thinking)
		f.Publish(said("c1", 1, 0, "The answer"))
		f.Publish(said("c1", 1, 10, " is"))
		f.Publish(call) // begins with its name alone

		first := f.Subscribe(t.Context(), 1, store.Filter{}, Options{Deltas: true})
		wantDelta(t, first, thinking)
		wantDelta(t, first, said("c1", 1, 0, "The answer is"))
		wantDelta(t, first, call)
		wantNothing(t, first)

		f.Publish(said("c1", 1, 13, " 4"))
		wantDelta(t, first, said("c1", 1, 13, " 4"))
		second := f.Subscribe(t.Context(), 0, store.Filter{Chat: "c1"}, Options{Deltas: true})
		wantChange(t, second, 1)
		wantDelta(t, second, thinking)
		wantDelta(t, second, said("c1", 1, 0, "The answer is 4"))
		wantDelta(t, second, call)
		rest := call
		rest.Name, rest.Text = "", `{"q":1}`
		f.Publish(rest)
		rest.Name = "grep" // told each time
		for _, sub := range []*Subscription{first, second} {
			wantDelta(t, sub, rest)
			wantNothing(t, sub)
		}
	})
}

func TestReplyThatIsOver(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		sub := f.Subscribe(t.Context(), 0, store.Filter{}, Options{Deltas: true})
		wantChange(t, sub, commit(s, f, "c1"))
		f.Publish(said("c1", 0, 0, "all"))
		wantDelta(t, sub, said("c1", 0, 0, "all"))
		seq := commit(s, f, "c1")
		f.Discard("c1-t1.1")
		wantChange(t, sub, seq)
		f.Publish(said("c1", 0, 3, " too late"))
		f.Publish(said("c1", 1, 0, "too late, too"))
		wantNothing(t, sub)
		late := f.Subscribe(t.Context(), seq, store.Filter{}, Options{Deltas: true})
		wantNothing(t, late)
		if n := len(f.replies.running) + len(f.replies.agents); n != 0 {
			t.Errorf("%d replies that are over are kept", n)
		}
	})
}

// TestChangeEndsReply: the change that records a model call ends its deltas
// even before Discard is called.
func TestChangeEndsReply(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		sub := f.Subscribe(t.Context(), 0, store.Filter{}, Options{Deltas: true})
		wantChange(t, sub, commit(s, f, "c1"))
		f.Publish(said("c1", 0, 0, "half"))
		wantDelta(t, sub, said("c1", 0, 0, "half"))
		// A side call is recorded in the same place and ends nothing.
		wantChange(t, sub, commit(s, f, "c1", modelCall("c1-t1.1", "side")))
		f.Publish(said("c1", 0, 4, " more"))
		wantDelta(t, sub, said("c1", 0, 4, " more"))
		seq := commit(s, f, "c1", modelCall("c1-t1.1", "replied"))
		wantChange(t, sub, seq)
		late := f.Subscribe(t.Context(), seq, store.Filter{}, Options{Deltas: true})
		f.Publish(said("c1", 0, 9, " late"))
		wantNothing(t, late)
		wantNothing(t, sub)
	})
}

// TestFirstToJoinAfterCommit: a reply that was committed just before anybody
// listened is not told as running.
func TestFirstToJoinAfterCommit(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		f.Publish(said("c1", 0, 0, "done"))
		seq := commit(s, f, "c1", modelCall("c1-t1.1", "replied")) // Discard has still to come
		sub := f.Subscribe(t.Context(), seq, store.Filter{Collections: []string{"messages"}}, Options{Deltas: true})
		wantNothing(t, sub)
	})
}

func TestNewTryTakesTheOldOnesPlace(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		commit(s, f, "c1")
		f.Publish(said("c1", 0, 0, "first try"))
		second := said("c1", 0, 0, "second try")
		second.Call, second.Try = "c1-t1.2", 2
		f.Publish(second)
		f.Publish(said("c1", 0, 9, " goes on")) // of the try that was given up
		sub := f.Subscribe(t.Context(), 1, store.Filter{}, Options{Deltas: true})
		wantDelta(t, sub, second)
		wantNothing(t, sub)
	})
}

// TestOrderOfDeltasAndChanges: a delta comes after the changes that were
// committed before it was said, and before the one that commits its reply.
func TestOrderOfDeltasAndChanges(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		sub := f.Subscribe(t.Context(), 0, store.Filter{}, Options{Deltas: true})
		wantChange(t, sub, commit(s, f, "c1"))
		release := s.hold()
		turn := func(n int, text string) Delta {
			d := said("c1", 0, 0, text)
			d.Call, d.Turn = store.ModelCallID("c1", n, 1), n
			return d
		}
		// While the tailer is held up, three turns pass.
		commit(s, f, "c2")
		for n := 1; n <= 3; n++ {
			f.Publish(turn(n, "turn"))
			if n < 3 {
				commit(s, f, "c1", modelCall(store.ModelCallID("c1", n, 1), "replied"))
			}
		}
		synctest.Wait()
		release()
		// The replies of turns 1 and 2 were replaced before they could be told.
		for seq := int64(2); seq <= 4; seq++ {
			wantChange(t, sub, seq)
		}
		wantDelta(t, sub, turn(3, "turn"))

		// With the reply still running, its piece comes before its commit.
		release = s.hold()
		f.Publish(Delta{Chat: "c9", Agent: "c9", Call: "c9-t1.1", Turn: 1, Try: 1, Kind: Text, Text: "said"})
		synctest.Wait()
		commit(s, f, "c2")
		f.Publish(Delta{Chat: "c8", Agent: "c8", Call: "c8-t1.1", Turn: 1, Try: 1, Kind: Text, Text: "after 5"})
		commit(s, f, "c8", modelCall("c8-t1.1", "replied"))
		synctest.Wait()
		release()
		wantDelta(t, sub, Delta{Chat: "c9", Agent: "c9", Call: "c9-t1.1", Turn: 1, Try: 1, Kind: Text, Text: "said"})
		wantChange(t, sub, 5)
		wantDelta(t, sub, Delta{Chat: "c8", Agent: "c8", Call: "c8-t1.1", Turn: 1, Try: 1, Kind: Text, Text: "after 5"})
		wantChange(t, sub, 6)
		wantNothing(t, sub)
	})
}

func TestDeltasAndFilters(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		commit(s, f, "c1")
		subscribe := func(filter store.Filter) *Subscription {
			return f.Subscribe(t.Context(), 1, filter, Options{Deltas: true})
		}
		root := said("c1", 0, 0, "of the orchestrator")
		child := said("c1", 0, 0, "of a sub-agent")
		child.Agent, child.Call = "c1.1", "c1.1-t1.1"
		cases := []struct {
			sub         *Subscription
			root, child bool
		}{
			{subscribe(store.Filter{}), true, true},
			{subscribe(store.Filter{User: "owner-c1"}), true, true},
			{subscribe(store.Filter{User: "owner-c2"}), false, false},
			{subscribe(store.Filter{Agent: "c1.1"}), false, true},
			{subscribe(store.Filter{Collections: []string{"messages"}}), true, false},
			{subscribe(store.Filter{Chat: "c1", Collections: []string{"sub-agents/*/messages"}}), false, true},
			{subscribe(store.Filter{Collections: []string{"tasks"}}), false, false},
		}
		for _, c := range cases {
			wantNothing(t, c.sub)
		}
		for range 2 { // as they come, and as what was said so far
			f.Publish(root)
			f.Publish(child)
			for i, c := range cases {
				if c.root {
					wantDelta(t, c.sub, root)
				}
				if c.child {
					wantDelta(t, c.sub, child)
				}
				wantNothing(t, c.sub)
				cases[i].sub = subscribe(c.sub.filter)
				c.sub.Close()
			}
			for _, c := range cases {
				if c.root {
					wantDelta(t, c.sub, root)
				}
				if c.child {
					wantDelta(t, c.sub, child)
				}
				wantNothing(t, c.sub)
			}
			f.Discard(root.Call)
			f.Discard(child.Call)
			root.Call, root.Turn = "c1-t2.1", 2
			child.Call, child.Turn = "c1.1-t2.1", 2
		}
	})
}

func TestRunningTextIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		commit(s, f, "c1")
		text := strings.Repeat("0123456789", 1000)
		total := 0
		for total < 4*maxPart {
			f.Publish(said("c1", 0, total, text))
			total += len(text)
		}
		f.Publish(said("c1", maxParts+5, 0, "a part too many"))
		if got := cap(f.replies.running["c1-t1.1"].parts[0].text); got > 2*maxPart {
			t.Errorf("%d bytes are kept of a long reply", got)
		}
		sub := f.Subscribe(t.Context(), 1, store.Filter{}, Options{Deltas: true})
		d := next(t, sub).Delta
		if d.Offset+len(d.Text) != total || d.Offset == 0 || !strings.HasSuffix(d.Text, text) {
			t.Errorf("who joined got %d bytes from %d on, want the end of %d", len(d.Text), d.Offset, total)
		}
		for i := range 2 * maxReplies {
			d := said("c1", 0, 0, "x")
			d.Agent, d.Call = store.MessageID("a", i), store.MessageID("call", i)
			f.Publish(d)
		}
		if got := len(f.replies.running); got > maxReplies {
			t.Errorf("%d replies are kept", got)
		}
		for i := range 2 * maxOver {
			f.Discard(store.MessageID("call", i))
		}
		if got := len(f.replies.ended); got > maxOver+1 {
			t.Errorf("%d calls that are over are remembered", got)
		}
	})
}

func TestPieceThatComesTwice(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		commit(s, f, "c1")
		f.Publish(said("c1", 0, 0, "abc"))
		f.Publish(said("c1", 0, 0, "abc"))
		f.Publish(said("c1", 0, 2, "cd"))
		sub := f.Subscribe(t.Context(), 1, store.Filter{}, Options{Deltas: true})
		wantDelta(t, sub, said("c1", 0, 0, "abcd"))
	})
}

func TestWaitingPiecesAreMerged(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		commit(s, f, "c1")
		sub := f.Subscribe(t.Context(), 1, store.Filter{}, Options{Deltas: true, Buffer: 2})
		wantNothing(t, sub)
		want := ""
		for range 100 {
			f.Publish(said("c1", 0, len(want), "0123456789"))
			want += "0123456789"
			synctest.Wait() // each is handed out by itself
		}
		got := ""
		for len(got) < len(want) {
			d := next(t, sub).Delta
			if d.Offset != len(got) {
				t.Fatalf("a piece has offset %d, want %d", d.Offset, len(got))
			}
			got += d.Text
		}
		if got != want {
			t.Error("the merged pieces are not what was said")
		}
	})
}

// TestWhatToolsPrint: several tools of an agent print at the same time, and none
// takes another's place, nor that of a reply.
func TestWhatToolsPrint(t *testing.T) {
	bubble(t, func(t *testing.T, s *source, f *Feed) {
		commit(s, f, "c1")
		printed := func(call string, offset int, text string) Delta {
			d := said("c1", 0, offset, text)
			d.Call, d.Kind, d.Name = call, Output, "Bash"
			return d
		}
		early := f.Subscribe(t.Context(), 1, store.Filter{}, Options{Deltas: true})
		f.Publish(printed("c1-c1.0", 0, "a"))
		wantDelta(t, early, printed("c1-c1.0", 0, "a"))
		f.Publish(printed("c1-c1.1", 0, "b"))
		wantDelta(t, early, printed("c1-c1.1", 0, "b"))
		f.Publish(printed("c1-c1.0", 1, "aa"))
		f.Publish(said("c1", 0, 0, "Hello"))
		wantDelta(t, early, printed("c1-c1.0", 1, "aa"))
		wantDelta(t, early, said("c1", 0, 0, "Hello"))

		late := f.Subscribe(t.Context(), 1, store.Filter{}, Options{Deltas: true})
		wantDelta(t, late, printed("c1-c1.0", 0, "aaa"))
		wantDelta(t, late, printed("c1-c1.1", 0, "b"))
		wantDelta(t, late, said("c1", 0, 0, "Hello"))
		f.Discard("c1-c1.0")
		f.Publish(printed("c1-c1.0", 3, "too late"))
		f.Publish(printed("c1-c1.1", 1, "bb"))
		for _, sub := range []*Subscription{early, late} {
			wantDelta(t, sub, printed("c1-c1.1", 1, "bb"))
			wantNothing(t, sub)
		}
	})
}
