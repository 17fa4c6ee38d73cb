package engine

import (
	"sync"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
)

// delivery is an event on its way to an agent.
type delivery struct {
	agent string
	ev    agent.Event
	key   effectKey // of the outside effect whose outcome this is
	chat  *NewChat  // for the creation of an orchestrator
	start *agent.StartChild
	reply chan error // nil: nobody waits
	after func()     // called when it is on record, or refused; may be nil

	managed *managed // not an event, but a change of a chat as a whole

	history []message.Message    // loaded by the effect, for the agent's cache
	ahead   []agent.ToolFinished // what the tools gave that a reply asks for
}

// mailbox holds what has arrived and is not yet stepped, of all agents, in
// order of arrival. It never refuses and never drops: an outcome that found a
// full queue would be lost.
type mailbox struct {
	signal chan struct{}

	mu     sync.Mutex
	items  []delivery
	closed bool
}

func newMailbox() *mailbox { return &mailbox{signal: make(chan struct{}, 1)} }

func (b *mailbox) put(d delivery) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.items = append(b.items, d)
	b.wake()
	return true
}

// putBack returns deliveries that could not be committed to the front.
func (b *mailbox) putBack(ds []delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(append([]delivery(nil), ds...), b.items...)
	b.wake()
}

func (b *mailbox) take(n int) []delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	n = min(n, len(b.items))
	out := b.items[:n:n]
	b.items = b.items[n:]
	if len(b.items) == 0 {
		b.items = nil
	} else {
		b.wake()
	}
	return out
}

// withdraw takes out the deliveries that somebody waits for.
func (b *mailbox) withdraw() []delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out, rest []delivery
	for _, d := range b.items {
		if d.reply != nil {
			out = append(out, d)
		} else {
			rest = append(rest, d)
		}
	}
	b.items = rest
	return out
}

func (b *mailbox) wake() {
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}
