// The queue of a lane: who goes next.
//
// Chats take turns, in rounds: each gets one call a round. A chat that comes
// anew joins the round under way, so that a chat with one agent goes next
// though another has a thousand waiting; one that had its turn waits for the
// next round, even if it had left the queue in between. A round takes in a
// bounded number of newcomers, so that it ends.
//
// Within a chat the shallower agents go first, the orchestrator before all; of
// the same depth retries before first tries; among these, agents take turns;
// the calls of one agent go in the order they came. Every eldestEvery-th call
// of a chat is its eldest instead, whoever's it is, so that busy agents above
// cannot keep those below waiting for ever.
//
// Nobody starves. Those who come after a waiter are never older, so that a
// waiter with n older ones in its chat goes within eldestEvery*(n+1) calls of
// its chat. Each round serves its chat once, and is no longer than the number of
// chats that were there when it began, plus newcomers. TestNobodyStarves and
// TestNewChatsDoNotStarveOldOnes hold this.

package schedule

import (
	"slices"
	"time"
)

const (
	eldestEvery = 8
	newcomers   = 64 // that a round takes in
)

// queue is not safe for concurrent use. Its zero value is empty.
type queue struct {
	waiting int
	chats   map[string]*chatQueue // those with waiters
	rounds  [2]list[*chatQueue]
	current int                 // the index of the round under way; the other is the next one
	served  map[string]struct{} // the chats that had their turn in this round
	joined  int                 // newcomers taken into this round
	last    string              // the chat that was let through last
}

type chatQueue struct {
	id     string
	turn   node[*chatQueue] // in a round
	byAge  list[*waiter]
	ranks  []*rank // ascending, none empty
	agents map[agentKey]*agentQueue
	served int // calls since the chat came
}

// rank holds the agents whose calls are equally urgent.
type rank struct {
	order  int
	agents list[*agentQueue]
}

type agentKey struct {
	order int
	agent string
}

type agentQueue struct {
	key   agentKey
	rank  *rank
	turn  node[*agentQueue]
	calls list[*waiter]
}

// waiter is a call in the queue.
type waiter struct {
	ticket Ticket
	since  time.Time
	chat   *chatQueue
	agent  *agentQueue
	age    node[*waiter] // in chat.byAge
	call   node[*waiter] // in agent.calls

	ready   chan struct{} // closed when it has its place
	granted bool          // guarded by the lane's lock, as is epoch
	epoch   uint64
}

func (q *queue) len() int { return q.waiting }

// passed notes a chat whose call did not have to wait, so that the first to
// wait behind it are not those of the same chat.
func (q *queue) passed(chat string) { q.last = chat }

func (q *queue) push(t Ticket, now time.Time) *waiter {
	if q.waiting == 0 {
		if q.chats == nil {
			q.chats, q.served = map[string]*chatQueue{}, map[string]struct{}{}
		}
		q.newRound()
		q.served[q.last] = struct{}{}
	}
	q.waiting++
	c := q.chats[t.Chat]
	if c == nil {
		c = &chatQueue{id: t.Chat, agents: map[agentKey]*agentQueue{}}
		c.turn.value = c
		q.chats[t.Chat] = c
		q.enlist(c)
	}
	w := &waiter{ticket: t, since: now, chat: c, ready: make(chan struct{})}
	w.age.value, w.call.value = w, w
	c.byAge.push(&w.age)
	w.agent = c.agent(t)
	w.agent.calls.push(&w.call)
	return w
}

// enlist puts a chat that came anew into this round, or into the next.
func (q *queue) enlist(c *chatQueue) {
	if _, had := q.served[c.id]; had || q.joined == newcomers {
		q.rounds[1-q.current].push(&c.turn)
		return
	}
	q.joined++
	q.rounds[q.current].push(&c.turn)
}

func (q *queue) newRound() {
	clear(q.served)
	q.joined = 0
}

// pop takes out who goes next. The queue is not empty.
func (q *queue) pop() *waiter {
	if q.rounds[q.current].len == 0 {
		q.current = 1 - q.current
		q.newRound()
	}
	c := q.rounds[q.current].front.value
	q.served[c.id] = struct{}{}
	q.last = c.id
	w := c.next()
	q.remove(w)
	if c.byAge.len > 0 {
		c.turn.drop()
		q.rounds[1-q.current].push(&c.turn)
	}
	if a := w.agent; a.calls.len > 0 {
		a.turn.drop()
		a.rank.agents.push(&a.turn)
	}
	return w
}

// remove takes out a waiter, wherever it stands.
func (q *queue) remove(w *waiter) {
	q.waiting--
	c := w.chat
	c.remove(w)
	if c.byAge.len == 0 {
		c.turn.drop()
		delete(q.chats, c.id)
	}
}

// next returns whose turn it is within the chat.
func (c *chatQueue) next() *waiter {
	c.served++
	if c.served%eldestEvery == 0 {
		return c.byAge.front.value
	}
	return c.ranks[0].agents.front.value.calls.front.value
}

// agent returns the queue that a ticket belongs into, and makes it if needed.
func (c *chatQueue) agent(t Ticket) *agentQueue {
	key := agentKey{order: 2 * t.Depth, agent: t.Agent}
	if !t.Retry {
		key.order++
	}
	if a := c.agents[key]; a != nil {
		return a
	}
	i, ok := slices.BinarySearchFunc(c.ranks, key.order, func(r *rank, order int) int { return r.order - order })
	if !ok {
		c.ranks = slices.Insert(c.ranks, i, &rank{order: key.order})
	}
	a := &agentQueue{key: key, rank: c.ranks[i]}
	a.turn.value = a
	c.agents[key] = a
	a.rank.agents.push(&a.turn)
	return a
}

// remove takes out a waiter. Its agent, if it has more calls, keeps its turn.
func (c *chatQueue) remove(w *waiter) {
	a := w.agent
	w.age.drop()
	w.call.drop()
	if a.calls.len > 0 {
		return
	}
	a.turn.drop()
	delete(c.agents, a.key)
	if a.rank.agents.len == 0 {
		c.ranks = slices.DeleteFunc(c.ranks, func(r *rank) bool { return r == a.rank })
	}
}
