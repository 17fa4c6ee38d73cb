// A conversation with the scripted model server.

package gemini

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

func TestModelServer(t *testing.T) {
	t.Parallel()
	wiretest.Conversation{
		Client: func(url, key string, whole bool) llm.Provider {
			return New(Options{BaseURL: url, Key: key, Whole: whole})
		},
		Model: asked, Declined: llm.StopFilter, NoCacheWrite: true,
		Thinks: func(t *testing.T, r *llm.Reply) {
			t.Helper()
			if thought, ok := r.Parts[0].(message.ThinkingPart); !ok || thought.Text != wiretest.Thought {
				t.Errorf("the thinking is %+v", r.Parts[0])
			}
			if calls := (message.Message{Parts: r.Parts}).Calls(); calls[0].Signature == "" {
				t.Errorf("the first call is not signed: %+v", calls[0])
			}
		},
		Spoil: func(parts []message.Part) {
			for i, p := range parts {
				if c, ok := p.(message.ToolCall); ok && c.Signature != "" {
					c.Signature = "c3BvaWx0"
					parts[i] = c
				}
			}
		},
	}.Run(t)
}
