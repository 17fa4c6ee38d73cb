// How long a vendor asks to wait.

package wire

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
)

// RetryAfter returns how long the vendor asks to wait, 0 if it does not say.
// In order of trust: Retry-After in its forms, the error's own words (Gemini's
// RetryInfo, "try again in 6m0s"), and, for a rate limit, when the limit that
// is most used up is reset.
func RetryAfter(kind llm.ErrorKind, header http.Header, f Fault) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	now := dateOf(header)
	if v := header.Get("Retry-After"); v != "" {
		if s, err := strconv.ParseFloat(v, 64); err == nil {
			return seconds(s)
		}
		if t, err := http.ParseTime(v); err == nil {
			return max(t.Sub(now), 0)
		}
	}
	if f.Retry > 0 {
		return f.Retry
	}
	if kind != llm.ErrRateLimit && kind != llm.ErrOverloaded {
		return 0
	}
	if m := tryAgain.FindStringSubmatch(f.Message); m != nil {
		if d, ok := spokenDuration(m[1]); ok {
			return d
		}
	}
	if kind != llm.ErrRateLimit {
		return 0
	}
	return untilReset(header, now)
}

// tryAgain finds the wait in words such as "Please try again in 6m0s." and
// "Please retry in 17.3s."
var tryAgain = regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:[0-9.]+ ?(?:milliseconds?|ms|minutes?|mins?|m|hours?|h|seconds?|secs?|s) ?)+)`)

var unitNames = strings.NewReplacer(
	"milliseconds", "ms", "millisecond", "ms", "hours", "h", "hour", "h",
	"minutes", "m", "minute", "m", "mins", "m", "min", "m",
	"seconds", "s", "second", "s", "secs", "s", "sec", "s", " ", "",
)

func spokenDuration(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(unitNames.Replace(strings.ToLower(strings.TrimSuffix(s, "."))))
	return d, err == nil && d > 0
}

// seconds gives s as a duration of at most a day: beyond it lies a mistake.
func seconds(s float64) time.Duration {
	if !(s > 0) {
		return 0
	}
	return time.Duration(min(s, 24*60*60) * float64(time.Second))
}

// dateOf is the server's time, which its dates are relative to; else ours.
func dateOf(header http.Header) time.Time {
	if t, err := http.ParseTime(header.Get("Date")); err == nil {
		return t
	}
	return time.Now()
}

// limits name the families of rate limit headers: limit, remaining, reset.
var limits = func() (all [][3]string) {
	for _, kind := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
		p := "Anthropic-Ratelimit-" + kind
		all = append(all, [3]string{p + "-Limit", p + "-Remaining", p + "-Reset"})
	}
	for _, kind := range []string{"requests", "tokens"} {
		p := "X-Ratelimit-"
		all = append(all, [3]string{p + "Limit-" + kind, p + "Remaining-" + kind, p + "Reset-" + kind})
	}
	return append(all,
		[3]string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
		[3]string{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"}, // the IETF's, of gateways
	)
}()

// untilReset returns the time until the limit that is most used up is reset.
// The other limits of the same answer are not what refused it, and some take
// hours to be reset.
func untilReset(header http.Header, now time.Time) time.Duration {
	var wait time.Duration
	least := 2.0
	for _, names := range limits {
		reset, ok := resetTime(header.Get(names[2]), now)
		if !ok {
			continue
		}
		share := 0.0 // of the limit that is left; none if it is not told
		limit, err1 := strconv.ParseFloat(header.Get(names[0]), 64)
		left, err2 := strconv.ParseFloat(header.Get(names[1]), 64)
		if err1 == nil && err2 == nil && limit > 0 {
			share = left / limit
		}
		if share < least || share == least && reset > wait {
			least, wait = share, reset
		}
	}
	return wait
}

// resetTime reads when a limit is reset: a date (Anthropic), a duration
// (OpenAI, Groq), seconds, or an epoch in seconds or milliseconds (OpenRouter).
func resetTime(v string, now time.Time) (time.Duration, bool) {
	if v == "" {
		return 0, false
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return max(t.Sub(now), 0), true
	}
	if d, err := time.ParseDuration(v); err == nil {
		return max(d, 0), true
	}
	n, err := strconv.ParseFloat(v, 64)
	switch {
	case err != nil || n < 0:
		return 0, false
	case n > 1e12:
		return max(time.UnixMilli(int64(n)).Sub(now), 0), true
	case n > 1e9:
		return max(time.Unix(int64(n), 0).Sub(now), 0), true
	}
	return seconds(n), true
}

// RequestID returns the id under which the vendor knows the request.
func RequestID(header http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "X-Goog-Request-Id", "X-Amzn-Requestid", "X-Generation-Id", "Apim-Request-Id", "Cf-Ray"} {
		if id := header.Get(name); id != "" {
			return id
		}
	}
	return ""
}
