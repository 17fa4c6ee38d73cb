// The order of the queue, by itself: scripts for each rule, and random walks
// for the promise that nobody starves.

package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drain pops everything and names the agents in the order they went.
func drain(q *queue) []string {
	var order []string
	for q.len() > 0 {
		order = append(order, q.pop().ticket.Agent)
	}
	return order
}

func TestOrder(t *testing.T) {
	orchestrator := Ticket{Chat: "a", Agent: "main"}
	child := func(name string) Ticket { return Ticket{Chat: "a", Agent: name, Depth: 1} }
	grandchild := Ticket{Chat: "a", Agent: "deep", Depth: 2}
	again := func(t Ticket) Ticket { t.Retry = true; return t }
	of := func(chat, name string) Ticket { return Ticket{Chat: chat, Agent: name, Depth: 1} }

	for _, tt := range []struct {
		name string
		last string // the chat that was let through last
		in   []Ticket
		want []string
	}{
		{
			name: "the orchestrator first, then by depth",
			in:   []Ticket{grandchild, child("x"), child("y"), orchestrator},
			want: []string{"main", "x", "y", "deep"},
		},
		{
			name: "who was turned away goes before first tries, but not before those above",
			in:   []Ticket{grandchild, child("x"), again(child("y")), again(grandchild), orchestrator},
			want: []string{"main", "y", "x", "deep", "deep"},
		},
		{
			name: "agents take turns, each in its own order",
			in:   []Ticket{child("x"), child("x"), child("x"), child("y"), child("z"), child("z")},
			want: []string{"x", "y", "z", "x", "z", "x"},
		},
		{
			name: "chats take turns",
			in:   []Ticket{of("a", "a1"), of("a", "a2"), of("a", "a3"), of("b", "b1"), of("b", "b2"), of("c", "c1")},
			want: []string{"a1", "b1", "c1", "a2", "b2", "a3"},
		},
		{
			name: "the chat that was let through last goes behind the others",
			last: "a",
			in:   []Ticket{of("a", "a1"), of("a", "a2"), of("b", "b1")},
			want: []string{"b1", "a1", "a2"},
		},
		{
			name: "every eighth call of a chat is its eldest",
			in: []Ticket{
				grandchild, child("1"), child("2"), child("3"), child("4"), child("5"), child("6"), child("7"), child("8"), child("9"),
			},
			want: []string{"1", "2", "3", "4", "5", "6", "7", "deep", "8", "9"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var q queue
			q.passed(tt.last)
			for _, ticket := range tt.in {
				q.push(ticket, time.Time{})
			}
			if got := drain(&q); !slices.Equal(got, tt.want) {
				t.Errorf("went %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTurnIsRemembered: a chat that had its turn in a round does not get a
// second one by leaving the queue and coming back.
func TestTurnIsRemembered(t *testing.T) {
	var q queue
	for _, chat := range []string{"a", "b", "c"} {
		q.push(Ticket{Chat: chat, Agent: chat}, time.Time{})
		q.push(Ticket{Chat: chat, Agent: chat}, time.Time{})
	}
	var order []string
	for range 6 {
		order = append(order, q.pop().ticket.Chat)
		if order[len(order)-1] == "a" && len(order) > 1 {
			q.push(Ticket{Chat: "a", Agent: "a"}, time.Time{})
		}
	}
	if want := []string{"a", "b", "c", "a", "b", "c"}; !slices.Equal(order, want) {
		t.Errorf("went %q, want %q", order, want)
	}
}

// TestRemovedKeepsTurn: a call that leaves does not cost its agent the turn.
func TestRemovedKeepsTurn(t *testing.T) {
	var q queue
	x := q.push(Ticket{Agent: "x"}, time.Time{})
	q.push(Ticket{Agent: "x"}, time.Time{})
	q.push(Ticket{Agent: "y"}, time.Time{})
	q.remove(x)
	if got := drain(&q); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("went %q", got)
	}
}

// TestNewChatsDoNotStarveOldOnes: an endless supply of chats that were never
// seen before, one for each call that goes, lets the others go too.
func TestNewChatsDoNotStarveOldOnes(t *testing.T) {
	const calls = 10
	var q queue
	q.passed("old")
	for i := range calls {
		q.push(Ticket{Chat: "old", Agent: fmt.Sprint(i)}, time.Time{})
	}
	waited, served := 0, 0
	for i := 0; served < calls; i++ {
		q.push(Ticket{Chat: fmt.Sprint("new ", i)}, time.Time{})
		if q.pop().ticket.Chat == "old" {
			waited = 0
			served++
			continue
		}
		// As many come as go, so that each call of the old chat leaves one
		// new chat over for the next round.
		if waited++; waited > newcomers+served+1 {
			t.Fatalf("the old chat waits for %d calls of new ones", waited)
		}
	}
}

// TestNobodyStarves walks at random, with a preference for arrivals, and holds
// the bounds that the queue promises.
func TestNobodyStarves(t *testing.T) {
	const chats = 5
	rapid.Check(t, func(t *rapid.T) {
		type watch struct {
			older       int // of its chat, when it came
			chat, total int // calls that went since
		}
		var q queue
		in := map[*waiter]*watch{}
		var order []*waiter                   // by arrival
		passed := map[string]map[string]int{} // waiting chat → other chat → calls since the former's last turn or arrival
		gone := func(w *waiter) {
			delete(in, w)
			order = slices.DeleteFunc(order, func(x *waiter) bool { return x == w })
			if !slices.ContainsFunc(order, func(x *waiter) bool { return x.ticket.Chat == w.ticket.Chat }) {
				delete(passed, w.ticket.Chat)
			}
		}
		ticket := rapid.Custom(func(t *rapid.T) Ticket {
			return Ticket{
				Chat:  fmt.Sprint("chat ", rapid.IntRange(1, chats).Draw(t, "chat")),
				Agent: fmt.Sprint("agent ", rapid.IntRange(1, 6).Draw(t, "agent")),
				Depth: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "depth"),
				Retry: rapid.Bool().Draw(t, "retry"),
			}
		})
		steps := rapid.IntRange(200, 600).Draw(t, "steps")
		for range steps {
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what < 5:
				w := q.push(ticket.Draw(t, "ticket"), time.Time{})
				v := &watch{}
				for _, x := range order {
					if x.ticket.Chat == w.ticket.Chat {
						v.older++
					}
				}
				if v.older == 0 {
					passed[w.ticket.Chat] = map[string]int{}
				}
				in[w] = v
				order = append(order, w)
			case what < 9 && q.len() > 0:
				w := q.pop()
				checkOrder(t, w, order)
				for x, v := range in {
					v.total++
					if x.ticket.Chat == w.ticket.Chat {
						v.chat++
					}
					if limit := eldestEvery * (v.older + 1); v.chat > limit || v.total > chats*(limit+1) {
						t.Fatalf("%+v with %d older ones waits for %d calls of its chat, %d in all", x.ticket, v.older, v.chat, v.total)
					}
				}
				for chat, others := range passed {
					if others[w.ticket.Chat]++; chat != w.ticket.Chat && others[w.ticket.Chat] > 2 {
						t.Fatalf("%s went three times while %s waited", w.ticket.Chat, chat)
					}
				}
				passed[w.ticket.Chat] = map[string]int{}
				gone(w)
			case q.len() > 0:
				w := rapid.SampledFrom(order).Draw(t, "who leaves")
				q.remove(w)
				gone(w)
			}
			if q.len() != len(order) {
				t.Fatalf("%d wait, want %d", q.len(), len(order))
			}
		}
		for q.len() > 0 {
			gone(q.pop())
		}
		if len(q.chats) != 0 || len(order) != 0 {
			t.Fatalf("%d chats and %d waiters are left of an empty queue", len(q.chats), len(order))
		}
	})
}

// checkOrder holds that w was first of its chat by rank, or its eldest, and the
// first of its agent's calls of that rank.
func checkOrder(t *rapid.T, w *waiter, order []*waiter) {
	eldest := true
	for _, x := range order {
		if x == w {
			break
		}
		if x.ticket.Chat != w.ticket.Chat {
			continue
		}
		eldest = false
		if x.agent == w.agent {
			t.Fatalf("%+v went before an older call of the same agent", w.ticket)
		}
	}
	for _, x := range order {
		if x.ticket.Chat == w.ticket.Chat && x.agent.key.order < w.agent.key.order && !eldest {
			t.Fatalf("%+v went before %+v", w.ticket, x.ticket)
		}
	}
}
