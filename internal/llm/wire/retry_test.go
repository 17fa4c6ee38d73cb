// Tests of the waits that vendors ask for.

package wire

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const date = "Mon, 02 Jan 2006 15:04:05 GMT"
	limited := `{"type":"error","error":{"type":"rate_limit_error","message":"no"}}`
	for _, tt := range []struct {
		name   string
		status int
		header map[string]string
		body   string
		want   time.Duration
	}{
		{"nothing", 429, nil, limited, 0},
		{"seconds", 429, map[string]string{"Retry-After": "17"}, limited, 17 * time.Second},
		{"broken seconds", 503, map[string]string{"Retry-After": "0.5"}, "", 500 * time.Millisecond},
		{"negative", 429, map[string]string{"Retry-After": "-3"}, limited, 0},
		{"absurd", 429, map[string]string{"Retry-After": "1e300"}, limited, 24 * time.Hour},
		{"not a number", 429, map[string]string{"Retry-After": "NaN"}, limited, 0},
		{"words", 429, map[string]string{"Retry-After": "soon"}, limited, 0},
		{"date", 529, map[string]string{"Retry-After": "Mon, 02 Jan 2006 15:04:35 GMT"}, "", 30 * time.Second},
		{"past date", 529, map[string]string{"Retry-After": "Mon, 02 Jan 2006 15:00:00 GMT"}, "", 0},
		{"milliseconds", 429, map[string]string{"Retry-After-Ms": "1250", "Retry-After": "2"}, limited, 1250 * time.Millisecond},
		{"any status", 500, map[string]string{"Retry-After": "3"}, "", 3 * time.Second},
		{"anthropic, exhausted", 429, map[string]string{
			"Anthropic-Ratelimit-Requests-Limit": "50", "Anthropic-Ratelimit-Requests-Remaining": "49", "Anthropic-Ratelimit-Requests-Reset": "2006-01-02T15:04:06Z",
			"Anthropic-Ratelimit-Input-Tokens-Limit": "30000", "Anthropic-Ratelimit-Input-Tokens-Remaining": "0", "Anthropic-Ratelimit-Input-Tokens-Reset": "2006-01-02T15:04:25Z",
		}, limited, 20 * time.Second},
		{"anthropic, without the rest", 429, map[string]string{"Anthropic-Ratelimit-Tokens-Reset": "2006-01-02T15:05:05Z"}, limited, time.Minute},
		{"limits are no reason to wait after other errors", 500, map[string]string{"Anthropic-Ratelimit-Tokens-Reset": "2006-01-02T15:05:05Z"}, "", 0},
		{"openai", 429, map[string]string{
			"X-Ratelimit-Limit-Requests": "60", "X-Ratelimit-Remaining-Requests": "59", "X-Ratelimit-Reset-Requests": "1s",
			"X-Ratelimit-Limit-Tokens": "150000", "X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "6m0s",
		}, limited, 6 * time.Minute},
		{"openai, milliseconds", 429, map[string]string{"X-Ratelimit-Reset-Requests": "250ms"}, limited, 250 * time.Millisecond},
		{"openrouter, epoch in milliseconds", 429, map[string]string{"X-Ratelimit-Limit": "20", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "1136214255000"}, limited, 10 * time.Second},
		{"epoch in seconds", 429, map[string]string{"X-Ratelimit-Reset": "1136214255"}, limited, 10 * time.Second},
		{"the IETF's names", 429, map[string]string{"Ratelimit-Limit": "10", "Ratelimit-Remaining": "0", "Ratelimit-Reset": "7"}, limited, 7 * time.Second},
		{"seconds until reset", 429, map[string]string{"X-Ratelimit-Reset": "12"}, limited, 12 * time.Second},
		{"reset without sense", 429, map[string]string{"X-Ratelimit-Reset": "later"}, limited, 0},
		{"gemini", 429, nil, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Please retry in 3s.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}`, 17 * time.Second},
		{"gemini, broken seconds", 429, nil, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"no","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17.476523s"}]}}`, 17476523 * time.Microsecond},
		{"in words", 429, nil, `{"error":{"message":"Rate limit reached for x. Please try again in 6m0s. Visit y","code":"rate_limit_exceeded"}}`, 6 * time.Minute},
		{"in words, short", 429, nil, `{"error":{"message":"Please try again in 250ms.","code":"rate_limit_exceeded"}}`, 250 * time.Millisecond},
		{"in words, broken", 429, nil, `{"error":{"message":"Please retry in 47.5s.","code":"rate_limit_exceeded"}}`, 47500 * time.Millisecond},
		{"in words, spelled out", 429, nil, `{"error":{"message":"Please retry after 2 seconds.","code":"rate_limit_exceeded"}}`, 2 * time.Second},
		{"in words, composite", 429, nil, `{"error":{"message":"try again in 1h2m3.5s","code":"rate_limit_exceeded"}}`, time.Hour + 2*time.Minute + 3500*time.Millisecond},
		{"in words, without a time", 429, nil, `{"error":{"message":"Please try again later.","code":"rate_limit_exceeded"}}`, 0},
	} {
		h := http.Header{"Date": {date}}
		for k, v := range tt.header {
			h.Set(k, v)
		}
		if got := Classify(tt.status, h, []byte(tt.body)).RetryAfter; got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestDateOfHereIfTheServerTellsNone(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	got := Classify(429, http.Header{"Retry-After": {at}}, nil).RetryAfter
	if got < 59*time.Minute || got > time.Hour {
		t.Errorf("got %v", got)
	}
}
