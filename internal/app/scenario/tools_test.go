// Tools of the tests: one that waits until the test lets it go, and one that
// returns what the test tells it to.

package scenario_test

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/cadre-dev/cadre/internal/tool"
)

// gates hold calls of the tool mcp__test__hold until they are opened by name.
type gates struct {
	mu   sync.Mutex
	open map[string]chan struct{}
}

func (g *gates) gate(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = map[string]chan struct{}{}
	}
	if g.open[name] == nil {
		g.open[name] = make(chan struct{})
	}
	return g.open[name]
}

// let lets the calls of that name go on, now and later.
func (g *gates) let(name string) {
	c := g.gate(name)
	select {
	case <-c:
	default:
		close(c)
	}
}

// tool is the tool; it only reads, so that it runs again after a kill.
func (g *gates) tool() tool.Tool {
	return tool.Tool{
		Name: "mcp__test__hold", Description: "waits", Class: tool.Reads,
		Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		Run: func(ctx context.Context, _ tool.Env, input json.RawMessage) (tool.Result, error) {
			var in struct {
				Name string `json:"name"`
			}
			if err := json.Unmarshal(input, &in); err != nil {
				return tool.Result{}, err
			}
			select {
			case <-g.gate(in.Name):
				return tool.Text(in.Name), nil
			case <-ctx.Done():
				return tool.Result{}, ctx.Err()
			}
		},
	}
}

// page is a tool that returns a text from outside.
func page(text string) tool.Tool {
	return tool.Tool{
		Name: "mcp__test__page", Description: "a page", Class: tool.Reads, Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(context.Context, tool.Env, json.RawMessage) (tool.Result, error) { return tool.Text(text), nil },
	}
}

func tools(all ...tool.Tool) []tool.Tool { return all }
