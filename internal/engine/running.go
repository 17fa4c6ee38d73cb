// What passes between a running tool and the outside: its output as it comes,
// and the answers to its questions.

package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
)

// output publishes what a tool writes, as pieces of its call.
func (e *Engine) output(spec agent.Spec, f agent.RunTool) func(string) {
	id := store.ToolCallID(spec.ID, f.Turn, f.Call)
	var mu sync.Mutex
	offset := 0
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		e.cfg.Feed.Publish(feed.Delta{
			Chat: spec.Chat, Agent: spec.ID, Path: spec.Path, Call: id, Turn: f.Turn,
			Kind: "output", Offset: offset, Name: f.Name, Text: text,
		})
		offset += len(text)
	}
}

// ask puts a question of a running tool to the user. One at a time: a tool
// that asks again before it was answered is refused by the machine.
func (e *Engine) ask(id string, f agent.RunTool) func(context.Context, agent.ToolAsked) (agent.TellTool, error) {
	key := answerKey{id, f.Turn, f.Call}
	return func(ctx context.Context, q agent.ToolAsked) (agent.TellTool, error) {
		answer := make(chan agent.TellTool, 1)
		e.mu.Lock()
		e.answers[key] = answer
		e.mu.Unlock()
		defer func() {
			e.mu.Lock()
			delete(e.answers, key)
			e.mu.Unlock()
		}()
		q.Turn, q.Call = f.Turn, f.Call
		if err := e.Deliver(ctx, id, q); err != nil {
			return agent.TellTool{}, fmt.Errorf("asking the user: %w", err)
		}
		select {
		case a := <-answer:
			return a, nil
		case <-ctx.Done():
			return agent.TellTool{}, fmt.Errorf("asking the user: %w", ctx.Err())
		}
	}
}

// answerKey names the call whose tool waits for an answer.
type answerKey struct {
	agent      string
	turn, call int
}

// tellTool passes an answer on to the tool that waits for it.
func (e *Engine) tellTool(id string, f agent.TellTool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.answers[answerKey{id, f.Turn, f.Call}]; c != nil {
		select {
		case c <- f:
		default: // it was told already
		}
	}
}
