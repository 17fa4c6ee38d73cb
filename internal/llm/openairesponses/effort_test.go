// Tests of how much a model is to reason, and what may not stand beside it.

package openairesponses

import (
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
)

func TestEffort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model  string
		effort llm.Effort
		tokens int64
		show   bool
		want   string
	}{
		{"gpt-5", "", 0, false, ""},
		{"gpt-5", llm.EffortHigh, 0, false, `,"reasoning":{"effort":"high"}`},
		{"gpt-5", llm.EffortLow, 0, true, `,"reasoning":{"effort":"low","summary":"auto"}`},
		{"o3", "", 0, true, `,"reasoning":{"summary":"auto"}`},
		{"o3", "", 20_000, false, `,"reasoning":{"effort":"high"}`},
		{"gpt-5.4", llm.EffortNone, 0, false, `,"temperature":0.5,"reasoning":{"effort":"none"}`},
		{"gpt-4o", llm.EffortHigh, 9, true, `,"temperature":0.5`}, // it does not reason
	} {
		warm := 0.5
		req := wiretest.Ask("x")
		req.Model, req.Effort, req.ThinkingTokens, req.ShowThinking, req.Temperature = tt.model, tt.effort, tt.tokens, tt.show, &warm
		if got := sent(t, req); !strings.HasSuffix(got, "]"+tt.want+"}") {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}

// TestLeastOutput: a limit that the vendor would refuse is raised to what it
// takes.
func TestLeastOutput(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int64]string{0: `]}`, 5: `],"max_output_tokens":16}`, 17: `],"max_output_tokens":17}`} {
		req := wiretest.Ask("x")
		req.MaxOutput = limit
		if got := sent(t, req); !strings.HasSuffix(got, want) {
			t.Errorf("%d: got %s", limit, got)
		}
	}
}
