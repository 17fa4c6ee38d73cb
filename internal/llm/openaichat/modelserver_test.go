// A conversation with the scripted model server.

package openaichat

import (
	"reflect"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
)

func TestModelServer(t *testing.T) {
	t.Parallel()
	wiretest.Conversation{
		Client: func(url, key string, whole bool) llm.Provider {
			return New(Options{Name: testProvider, BaseURL: url + "/v1", Key: key, Whole: whole, Quirks: QuirksOf("vllm")})
		},
		Model: testModel, Declined: llm.StopRefusal,
		Thinks: func(t *testing.T, r *llm.Reply) {
			t.Helper()
			if want := thought(wiretest.Thought, fieldContent); !reflect.DeepEqual(r.Parts[0], want) {
				t.Errorf("the reasoning is %+v, want %+v", r.Parts[0], want)
			}
		},
	}.Run(t)
}
