// How many agents of one chat may think at the same time.

package orchestrate

import (
	"context"
	"sync"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
)

// gates bounds the sub-agents of each chat that have a model call under way.
// Those over the bound wait, first come first served; the orchestrator never
// does. The zero bound lets everybody pass.
type gates struct {
	most int

	mu    sync.Mutex
	chats map[string]*gate
}

type gate struct {
	places chan struct{}
	users  int // who hold a place or wait for one
}

// enter waits for a place. The returned function gives it back.
func (g *gates) enter(ctx context.Context, job *engine.Job, call agent.CallModel) (leave func(), err error) {
	if g.most == 0 || job.Spec.Orchestrator() {
		return func() {}, nil
	}
	at := g.at(job.Spec.Chat)
	leave = func() {
		<-at.places
		g.left(job.Spec.Chat)
	}
	select {
	case at.places <- struct{}{}:
		return leave, nil
	default:
	}
	job.Tell(agent.ModelQueued{Turn: call.Turn, Try: call.Try, Why: "parallel_agents"})
	select {
	case at.places <- struct{}{}:
		job.Tell(agent.ModelQueued{Turn: call.Turn, Try: call.Try})
		return leave, nil
	case <-ctx.Done():
		g.left(job.Spec.Chat)
		return nil, ctx.Err()
	}
}

func (g *gates) at(chat string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.chats == nil {
		g.chats = map[string]*gate{}
	}
	at := g.chats[chat]
	if at == nil {
		at = &gate{places: make(chan struct{}, g.most)}
		g.chats[chat] = at
	}
	at.users++
	return at
}

func (g *gates) left(chat string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.chats[chat]
	if at.users--; at.users == 0 {
		delete(g.chats, chat)
	}
}
