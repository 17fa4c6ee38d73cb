// Failures: refusals, streams that break, stall or report an error, and
// callers who go away.

package openairesponses

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
)

// TestRefusals: the published error bodies of each kind.
func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		body   string
		kind   llm.ErrorKind
	}{
		{401, `{"error":{"message":"Incorrect API key provided: sk-test-0123456789.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, llm.ErrAuth},
		{403, `{"error":{"message":"Country, region, or territory not supported","type":"request_forbidden","param":null,"code":"unsupported_country_region_territory"}}`, llm.ErrPermission},
		{404, `{"error":{"message":"The requested model 'gpt-9' does not exist.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`, llm.ErrNotFound},
		{429, `{"error":{"message":"Rate limit reached for gpt-5.4","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, llm.ErrRateLimit},
		{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, llm.ErrQuota},
		{400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, llm.ErrOverflow},
		{400, `{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error","param":"input","code":null}}`, llm.ErrBadRequest},
		{400, `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}`, llm.ErrFilter},
		{408, `{"error":{"message":"Timed out","type":"timeout","param":null,"code":null}}`, llm.ErrTimeout},
		{500, `{"error":{"message":"An error occurred while processing your request.","type":"server_error","param":null,"code":"server_error"}}`, llm.ErrServer},
		{503, `{"error":{"message":"Slow down","type":"server_error","param":null,"code":"slow_down"}}`, llm.ErrOverloaded},
	}
	for _, tt := range tests {
		v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", "req-9")
			w.Header().Set("Retry-After-Ms", "1500")
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		e := wiretest.Fault(t, v.provider())
		if e.Kind != tt.kind || e.Status != tt.status || e.RequestID != "req-9" || e.RetryAfter != 1500*time.Millisecond || e.Message == "" {
			t.Errorf("%d %s: got %+v, want %s", tt.status, tt.body, *e, tt.kind)
		}
	}
}

// TestErrorsInStream: errors that come after a good beginning.
func TestErrorsInStream(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		event string
		kind  llm.ErrorKind
	}{
		"error":            {`{"type":"error","code":"server_error","message":"Something went wrong","param":null,"sequence_number":1}`, llm.ErrServer},
		"error, nested":    {`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model.","param":"input"},"sequence_number":2}`, llm.ErrOverflow},
		"error, bare":      {`{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}`, llm.ErrRateLimit},
		"failed":           {`{"type":"response.failed","sequence_number":1,"response":{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"The model failed to generate a response."},"incomplete_details":null,"output":[],"usage":null}}`, llm.ErrServer},
		"failed, limit":    {`{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"rate_limit_exceeded","message":"Rate limit reached. Please try again in 11.054s."}}}`, llm.ErrRateLimit},
		"failed, filter":   {`{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"invalid_prompt","message":"flagged"}}}`, llm.ErrFilter},
		"failed, overflow": {`{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"context_length_exceeded","message":"x"}}}`, llm.ErrOverflow},
		"failed, mute":     {`{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":null}}`, llm.ErrServer},
		"incomplete":       {`{"type":"response.incomplete","response":{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"boredom"}}}`, llm.ErrServer},
		"cancelled":        {`{"type":"response.completed","response":{"id":"resp_1","status":"cancelled"}}`, llm.ErrServer},
		"DONE":             {`[DONE]`, llm.ErrNetwork},
		"not JSON":         {`{"type":"response.output_text.delta","delta":"a`, llm.ErrNetwork},
		"no object":        {`[1]`, llm.ErrNetwork},
		"bad delta":        {`{"type":"response.output_text.delta","delta":{"x":1}}`, llm.ErrNetwork},
		"bad whole":        {`{"type":"response.output_text.done","text":[1]}`, llm.ErrNetwork},
		"bad item":         {`{"type":"response.output_item.done","item":[1]}`, llm.ErrNetwork},
		"bad content":      {`{"type":"response.output_item.done","item":{"type":"message","content":{"a":1}}}`, llm.ErrNetwork},
		"bad summary":      {`{"type":"response.output_item.done","item":{"type":"reasoning","summary":[7]}}`, llm.ErrNetwork},
		"bad response":     {`{"type":"response.completed","response":7}`, llm.ErrNetwork},
		"bad usage":        {`{"type":"response.completed","response":{"status":"completed","usage":[]}}`, llm.ErrNetwork},
		"no status":        {`{"type":"response.completed","response":{"status":"in_progress"}}`, llm.ErrNetwork},
	}
	for name, tt := range tests {
		e := wiretest.Fault(t, serve(t, wiretest.Say(eventStream, events(text, tt.event))).provider())
		if e.Kind != tt.kind || e.RequestID != wiretest.RequestID {
			t.Errorf("%s: got %+v, want %s", name, *e, tt.kind)
		}
		if name == "failed, limit" && e.RetryAfter != 11054*time.Millisecond {
			t.Errorf("%s: got %+v", name, *e)
		}
	}
	for body, kind := range map[string]llm.ErrorKind{
		`{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"x"}}`: llm.ErrServer,
		`{"error":{"code":"rate_limit_exceeded","message":"x"}}`:                          llm.ErrRateLimit,
		`{"id":"resp_1","status":"queued"}`:                                               llm.ErrNetwork,
		`{"id":"resp_1"`:                                                                  llm.ErrNetwork,
	} {
		if e := wiretest.Fault(t, serve(t, wiretest.Say("application/json", body)).provider()); e.Kind != kind {
			t.Errorf("%s: got %+v, want %s", body, *e, kind)
		}
	}
}

// TestEarlyEnd cuts streams everywhere: a reply comes only from a stream that
// has its last event.
func TestEarlyEnd(t *testing.T) {
	t.Parallel()
	body := wiretest.Fixture(t, "openai_parallel.sse")
	body = strings.TrimRight(body, "\n")
	for end := 0; end < len(body); end += 13 {
		_, err := wiretest.Call(t, serve(t, wiretest.Say(eventStream, body[:end])).provider(), wiretest.Ask("x"))
		if llm.KindOf(err) != llm.ErrNetwork {
			t.Fatalf("cut at %d of %d: got %v", end, len(body), err)
		}
	}
}

// TestBrokenConnection: a connection that is reset in mid-stream.
func TestBrokenConnection(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{false, true} {
		v := serve(t, wiretest.Break(events(text)))
		if e := wiretest.Fault(t, v.provider(func(o *Options) { o.Whole = whole })); e.Kind != llm.ErrNetwork {
			t.Errorf("got %+v", *e)
		}
	}
}

// TestStall: silence is bounded, before the answer and within it.
func TestStall(t *testing.T) {
	t.Parallel()
	for _, begin := range []string{"", events(text)} {
		v := serve(t, wiretest.Hang(begin))
		if e := wiretest.Fault(t, v.provider(func(o *Options) { o.Idle = wire.Silence(500 * time.Millisecond) })); e.Kind != llm.ErrTimeout {
			t.Errorf("after %q: got %+v", begin, *e)
		}
	}
}

// TestCancel: a caller who goes away gets the context's own error.
func TestCancel(t *testing.T) {
	t.Parallel()
	v := serve(t, wiretest.Hang(events(text)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := v.provider().Call(ctx, wiretest.Ask("x"), func(llm.Delta) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestPatience: a model may think for long before it speaks and between its
// items, but not in the middle of a word.
func TestPatience(t *testing.T) {
	t.Parallel()
	const begun = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n" +
		"data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"content\":[]}}\n\n"
	const within = begun + "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"a\"}\n\n"
	const between = within + "data: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":\"reasoning\",\"summary\":[]}}\n\n"
	p := func(c *http.Client) llm.Provider { return New(Options{HTTP: c}) }
	for stream, want := range map[string]time.Duration{"": wire.DefaultFirst, begun: wire.DefaultFirst, within: wire.DefaultThen, between: wire.DefaultFirst} {
		wiretest.Stalls(t, p, stream, want)
	}
}
