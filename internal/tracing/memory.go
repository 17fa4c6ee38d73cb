// What is remembered while following, so that little is read twice. All of it
// can be forgotten at any time.

package tracing

import (
	"context"
	"math"

	"go.opentelemetry.io/otel/trace"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// most bounds each of the maps.
const most = 10_000

type memory struct {
	sent   map[trace.SpanID]bool
	agents map[string]*store.Agent
	runs   map[string]*run // by chat
	length map[string]int  // the newest position of an orchestrator's history that a change told, by chat
}

func newMemory() memory {
	return memory{sent: map[trace.SpanID]bool{}, agents: map[string]*store.Agent{}, runs: map[string]*run{}, length: map[string]int{}}
}

// first tells whether a span was not made before.
func (m *memory) first(id trace.SpanID) bool {
	if m.sent[id] {
		return false
	}
	if len(m.sent) >= most {
		clear(m.sent)
	}
	m.sent[id] = true
	return true
}

func (m *memory) remember(a *store.Agent) {
	if len(m.agents) >= most {
		clear(m.agents)
	}
	m.agents[a.ID] = a
}

// reached notes how far the history of an orchestrator is by this change.
func (m *memory) reached(c *store.Change) {
	for _, d := range c.Docs {
		if doc, ok := d.Data.(store.Message); ok && doc.Agent == c.Chat {
			if len(m.length) >= most {
				clear(m.length)
			}
			m.length[c.Chat] = max(m.length[c.Chat], doc.Pos)
		}
	}
}

// agent reads what an agent was born with.
func (t *Tracer) agent(ctx context.Context, id string) (*store.Agent, error) {
	if a, ok := t.agents[id]; ok {
		return a, nil
	}
	a, err := t.cfg.Store.Agent(ctx, id)
	if err != nil {
		return nil, err
	}
	t.remember(a)
	return a, nil
}

// cause is a user message that an orchestrator works on; the zero one stands
// for what was done before the first.
type cause struct {
	id   string
	pos  int
	at   int64 // when it was sent
	text string
}

// run is the newest work of an orchestrator that was seen.
type run struct {
	cause cause
	known int   // the newest user message up to this position is cause
	end   int64 // of what was done last
}

// works notes that an orchestrator did something for a user message. If it had
// worked on another one before, that is over.
func (t *Tracer) works(a *store.Agent, c cause, end int64) {
	r := t.runs[a.ChatID]
	if r == nil || c.id == "" {
		return
	}
	if r.cause.pos < c.pos && r.end > 0 {
		t.root(a, r.cause, r.end, "")
	}
	if r.cause.pos <= c.pos {
		r.cause, r.end = c, max(end, r.end)
	}
}

// atRest makes the span of the work that an orchestrator has ended. Messages
// that came after that may be there to be read: they are not what it did.
func (t *Tracer) atRest(ctx context.Context, a store.Agent) error {
	pos, known := t.length[a.ChatID]
	if !known {
		pos = math.MaxInt - 1
	}
	c, err := t.causeAt(ctx, a.ChatID, pos)
	if err != nil || c.id == "" || c.at > a.UpdatedAt {
		return err
	}
	t.works(&a, c, a.UpdatedAt)
	failure := a.Bailout
	switch a.Recorded {
	case "completed", "cancelled":
		failure = ""
	case "failed":
		if failure == "" {
			failure = "failed"
		}
	}
	t.root(&a, c, a.UpdatedAt, failure)
	return nil
}

// causeAt finds the newest user message at or before a position of an
// orchestrator's history.
func (t *Tracer) causeAt(ctx context.Context, chat string, pos int) (cause, error) {
	r := t.runs[chat]
	if r != nil && pos >= r.cause.pos && pos <= r.known {
		return r.cause, nil
	}
	after, seen := &store.Cursor{Key: int64(pos) + 1, Row: int64(pos) + 1}, 0
	var found cause
search:
	for after != nil {
		page, next, err := t.cfg.Store.ListMessages(ctx, store.OfAgent{Agent: chat, Window: store.Window{After: after, Limit: 32, Bytes: 1 << 20, Desc: true}})
		if err != nil {
			return found, err
		}
		for _, m := range page {
			seen = max(seen, m.Pos)
			if r != nil && m.Pos >= r.cause.pos && m.Pos <= r.known {
				found = r.cause
				break search
			}
			if m.Kind == string(message.KindUser) {
				found = cause{m.ID, m.Pos, m.CreatedAt, t.text(m)}
				break search
			}
		}
		after = next
	}
	if r == nil && found.id != "" {
		if len(t.runs) >= most {
			clear(t.runs)
		}
		r = &run{cause: found}
		t.runs[chat] = r
	}
	if r != nil && found.id == r.cause.id {
		r.known = max(r.known, seen)
	}
	return found, nil
}
