package llm

import "testing"

func TestEffortWithin(t *testing.T) {
	t.Parallel()
	low, mid := []Effort{EffortLow, EffortMedium, EffortHigh}, []Effort{"strange", EffortHigh, EffortXHigh}
	for _, tt := range []struct {
		effort Effort
		levels []Effort
		want   Effort
	}{
		{EffortHigh, nil, EffortHigh},
		{EffortHigh, low, EffortHigh},
		{EffortMax, low, EffortHigh},
		{EffortNone, low, EffortLow},
		{EffortMinimal, low, EffortLow},
		{EffortMedium, mid, EffortHigh},
		{EffortMax, mid, EffortXHigh},
		{EffortLow, []Effort{"strange"}, EffortLow},
		{"", low, ""},
	} {
		if got := tt.effort.Within(tt.levels); got != tt.want {
			t.Errorf("%q within %v: got %q, want %q", tt.effort, tt.levels, got, tt.want)
		}
	}
}

// TestEffortOf: tokens come to the effort that has as many, and words win.
func TestEffortOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		effort Effort
		tokens int64
		want   Effort
	}{
		{"", 0, ""},
		{"", -1, ""},
		{"", 1, EffortLow},
		{"", EffortLow.Tokens(), EffortLow},
		{"", EffortLow.Tokens() + 1, EffortMedium},
		{"", EffortHigh.Tokens(), EffortHigh},
		{"", EffortHigh.Tokens() + 1, EffortMax},
		{EffortNone, 9000, EffortNone},
	} {
		if got := EffortOf(&Request{Effort: tt.effort, ThinkingTokens: tt.tokens}); got != tt.want {
			t.Errorf("%q and %d tokens: got %q, want %q", tt.effort, tt.tokens, got, tt.want)
		}
	}
	before := int64(-1)
	for _, e := range efforts {
		if !e.Valid() || e.Tokens() < before {
			t.Errorf("%s has %d tokens, less than what is before it, or is not valid", e, e.Tokens())
		}
		before = e.Tokens()
	}
	if Effort("much").Valid() {
		t.Error("any word is an effort")
	}
}
