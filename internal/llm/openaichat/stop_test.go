package openaichat

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

// TestStopped: most vendors tell what was used at the end only; some tell it
// all along.
func TestStopped(t *testing.T) {
	t.Parallel()
	provider := func(v *wiretest.Vendor) llm.Provider { return vendor{v}.provider() }
	const delta = `"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]`
	wiretest.Stopped(t, provider, "data: {"+delta+"}\n\n", message.Usage{})
	wiretest.Stopped(t, provider, `data: {"usage":{"prompt_tokens":12,"completion_tokens":2},`+delta+"}\n\n", message.Usage{Input: 12, Output: 2})
}
