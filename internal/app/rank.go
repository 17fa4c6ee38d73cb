// Ranking what a search has found, by the fast model.

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

// rankFunc orders candidates by how much they matter for a query.
type rankFunc = func(ctx context.Context, env tool.Env, query string, candidates []string) ([]int, error)

const rankPrompt = "You rank places in a code base by how much they matter for what somebody looks for. " +
	"Answer with a JSON array of the numbers of the places that matter, the best first, and nothing else."

// ranking asks the model that is configured for small work. Without one the
// search keeps its own order: a search must not cost money that nobody chose
// to spend.
func ranking(m *models) rankFunc {
	if m.tiers.Fast == "" {
		return nil
	}
	return func(ctx context.Context, env tool.Env, query string, candidates []string) ([]int, error) {
		model, err := m.Find(m.tiers.Fast)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "Looked for: %s\n\n", query)
		for i, c := range candidates {
			fmt.Fprintf(&b, "%d: %s\n", i, c)
		}
		reply, err := model.Provider.Call(ctx, &llm.Request{
			Caller: llm.Caller{Chat: env.Chat, Agent: env.Agent, Role: "rank", Dir: env.Dir, Turn: 1, Try: 1},
			Model:  model.Name, System: rankPrompt, MaxOutput: 1000,
			Messages: []message.Message{message.Of(message.User, message.KindUser, b.String())},
		}, nil)
		if err != nil {
			return nil, fmt.Errorf("ranking: %w", err)
		}
		text := message.Text(reply.Parts)
		if i, j := strings.IndexByte(text, '['), strings.LastIndexByte(text, ']'); i >= 0 && j > i {
			text = text[i : j+1]
		}
		var order []int
		if err := json.Unmarshal([]byte(text), &order); err != nil {
			return nil, fmt.Errorf("ranking: the answer is no list of numbers: %w", err)
		}
		return order, nil
	}
}
