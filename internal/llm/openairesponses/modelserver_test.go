// A conversation with the scripted model server.

package openairesponses

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
			return New(Options{Name: testProvider, BaseURL: url + "/v1", Key: key, Whole: whole})
		},
		Model: testModel, Declined: llm.StopRefusal,
		Thinks: func(t *testing.T, r *llm.Reply) {
			t.Helper()
			if thought, ok := r.Parts[0].(message.ThinkingPart); !ok || thought.Encrypted == "" || thought.ID == "" {
				t.Errorf("the reasoning is %+v", r.Parts[0])
			}
		},
		Spoil: func(parts []message.Part) {
			thought, _ := parts[0].(message.ThinkingPart)
			thought.Encrypted = "c3BvaWx0"
			parts[0] = thought
		},
	}.Run(t)
}
