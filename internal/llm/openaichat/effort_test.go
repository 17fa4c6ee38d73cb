// Tests of how much a model is to reason, in the words of each vendor.

package openaichat

import (
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
)

func TestEffort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		vendor string
		effort llm.Effort
		tokens int64
		want   string
	}{
		{"openai", "", 0, ""},
		{"openai", llm.EffortXHigh, 0, `,"reasoning_effort":"xhigh"`},
		{"", llm.EffortNone, 0, `,"reasoning_effort":"none"`},
		{"groq", "", 3000, `,"reasoning_effort":"medium"`},
		{"openrouter", "", 0, ""},
		{"openrouter", llm.EffortHigh, 0, `,"reasoning":{"effort":"high"}`},
		{"openrouter", "", 3000, `,"reasoning":{"max_tokens":3000}`},
		{"openrouter", llm.EffortLow, 3000, `,"reasoning":{"effort":"low"}`},
		{"deepseek", llm.EffortNone, 0, `,"thinking":{"type":"disabled"}`},
		{"deepseek", llm.EffortHigh, 0, `,"reasoning_effort":"high"`},
		{"zai", llm.EffortNone, 0, `,"thinking":{"type":"disabled"}`},
		{"moonshot", llm.EffortMedium, 0, `,"thinking":{"type":"enabled"}`},
	} {
		req := wiretest.Ask("x")
		req.Effort, req.ThinkingTokens = tt.effort, tt.tokens
		if got := sent(t, req, quirks(QuirksOf(tt.vendor))); !strings.HasSuffix(got, "]"+tt.want+"}") {
			t.Errorf("%s, %s, %d tokens: got %s", tt.vendor, tt.effort, tt.tokens, got)
		}
	}
}
