package gemini

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

// TestStopped: each chunk tells what was used so far, and that is paid for.
func TestStopped(t *testing.T) {
	t.Parallel()
	wiretest.Stopped(t, func(v *wiretest.Vendor) llm.Provider { return New(Options{BaseURL: v.URL}) },
		`data: {"usageMetadata":{"promptTokenCount":80,"candidatesTokenCount":3,"thoughtsTokenCount":7},"candidates":[{"content":{"parts":[{"text":"Hel"}],"role":"model"}}]}

`, message.Usage{Input: 80, Output: 10, Reasoning: 7})
}
