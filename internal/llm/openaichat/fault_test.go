// Failures: refusals of every kind, streams that break, stall or report an
// error, and callers who go away.

package openaichat

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
		vendor string
		status int
		body   string
		kind   llm.ErrorKind
	}{
		{"openai", 401, `{"error":{"message":"Incorrect API key provided: sk-test-0123456789. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, llm.ErrAuth},
		{"openai", 403, `{"error":{"message":"Country, region, or territory not supported","type":"request_forbidden","param":null,"code":"unsupported_country_region_territory"}}`, llm.ErrPermission},
		{"openai", 404, `{"error":{"message":"The model 'gpt-9' does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, llm.ErrNotFound},
		{"openai", 429, `{"error":{"message":"Rate limit reached for gpt-5.4 in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000. Please try again in 1.5s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, llm.ErrRateLimit},
		{"openai", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, llm.ErrQuota},
		{"openai", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, llm.ErrOverflow},
		{"openai", 400, `{"error":{"message":"Unrecognized request argument supplied: x","type":"invalid_request_error","param":null,"code":null}}`, llm.ErrBadRequest},
		{"openai", 400, `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}`, llm.ErrFilter},
		{"azure", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{}}}}`, llm.ErrFilter},
		{"openai", 500, `{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}`, llm.ErrServer},
		{"openai", 503, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error","param":null,"code":null}}`, llm.ErrOverloaded},
		{"deepseek", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, llm.ErrQuota},
		{"openrouter", 408, `{"error":{"code":408,"message":"Your request timed out"},"user_id":"u"}`, llm.ErrTimeout},
		{"openrouter", 402, `{"error":{"message":"This request requires more credits, or fewer max_tokens.","code":402}}`, llm.ErrQuota},
		{"groq", 413, `{"error":{"message":"Request too large for model in organization on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}`, llm.ErrOverflow},
		{"groq", 498, `{"error":{"message":"Flex tier capacity exceeded","type":"x"}}`, llm.ErrOverloaded},
		{"mistral", 422, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"Extra inputs are not permitted","input":1}]},"type":"invalid_request_error","code":null}`, llm.ErrBadRequest},
		{"vllm", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","param":null,"code":400}`, llm.ErrOverflow},
		{"llamacpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, llm.ErrOverflow},
		{"llamacpp", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, llm.ErrOverloaded},
		{"ollama", 404, `{"error":{"message":"model 'x' not found","type":"api_error","param":null,"code":null}}`, llm.ErrNotFound},
		{"a proxy", 502, "<html><body>Bad gateway</body></html>", llm.ErrServer},
		{"a proxy", 504, "", llm.ErrTimeout},
	}
	for _, tt := range tests {
		v := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", "req-9")
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		e := wiretest.Fault(t, v.provider())
		if e.Kind != tt.kind || e.Status != tt.status || e.RequestID != "req-9" || e.RetryAfter != 3*time.Second || e.Message == "" {
			t.Errorf("%s %d %s: got %+v, want %s", tt.vendor, tt.status, tt.body, *e, tt.kind)
		}
	}
}

// TestErrorsInStream: errors that come after a good beginning.
func TestErrorsInStream(t *testing.T) {
	t.Parallel()
	begun := `data: {"id":"c1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}` + "\n\n"
	tests := map[string]struct {
		event string
		kind  llm.ErrorKind
	}{
		"openai":     {`{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`, llm.ErrServer},
		"limit":      {`{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, llm.ErrRateLimit},
		"openrouter": {`{"id":"gen-1","object":"chat.completion.chunk","error":{"code":502,"message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`, llm.ErrServer},
		"a choice's": {`{"id":"gen-1","choices":[{"index":0,"delta":{"content":""},"error":{"code":429,"message":"upstream"},"finish_reason":"error"}]}`, llm.ErrRateLimit},
		"vllm":       {`{"object":"error","message":"the prompt is too long: maximum context length is 10","type":"BadRequestError","param":null,"code":400}`, llm.ErrOverflow},
		"a text":     {`{"error":"CUDA out of memory"}`, llm.ErrServer},
		"not JSON":   {`{"choices":[{"delta":{"content":"a`, llm.ErrNetwork},
		"no object":  {`[1]`, llm.ErrNetwork},
		"bad shape":  {`{"choices":{"delta":1}}`, llm.ErrNetwork},
		"bad delta":  {`{"choices":[{"delta":[1]}]}`, llm.ErrNetwork},
		"bad calls":  {`{"choices":[{"delta":{"tool_calls":{"id":1}}}]}`, llm.ErrNetwork},
		"bad text":   {`{"choices":[{"delta":{"content":{"text":1}}}]}`, llm.ErrNetwork},
		"bad usage":  {`{"choices":[],"usage":[1]}`, llm.ErrNetwork},
	}
	for name, tt := range tests {
		v := serve(t, wiretest.Say(eventStream, begun+"data: "+tt.event+"\n\ndata: [DONE]\n\n"))
		if e := wiretest.Fault(t, v.provider()); e.Kind != tt.kind || e.RequestID != "req-1" {
			t.Errorf("%s: got %+v, want %s", name, *e, tt.kind)
		}
		if tt.kind != llm.ErrNetwork || name == "not JSON" {
			v := serve(t, wiretest.Say("application/json", tt.event))
			if e := wiretest.Fault(t, v.provider()); e.Kind != tt.kind {
				t.Errorf("%s, whole: got %+v, want %s", name, *e, tt.kind)
			}
		}
	}
}

// TestEarlyEnd cuts streams everywhere: a reply comes only from a stream that
// has its finish reason.
func TestEarlyEnd(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openai_text.sse", "openai_parallel.sse", "openrouter_details.sse"} {
		body := wiretest.Fixture(t, name)
		finish := strings.Index(body, `"finish_reason":"`)
		finish += strings.Index(body[finish:], "\n")
		for end := 0; end < len(body); end += 7 {
			_, err := wiretest.Call(t, serve(t, wiretest.Say(eventStream, body[:end])).provider(), wiretest.Ask("x"))
			if end < finish && llm.KindOf(err) != llm.ErrNetwork {
				t.Fatalf("%s cut at %d of %d: got %v", name, end, len(body), err)
			}
			if end > finish && err != nil {
				t.Fatalf("%s cut at %d of %d, behind its end: got %v", name, end, len(body), err)
			}
		}
	}
}

// TestBrokenConnection: a connection that is reset in mid-stream.
func TestBrokenConnection(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{false, true} {
		v := serve(t, wiretest.Break(wiretest.Fixture(t, "openai_text.sse")[:1200]))
		if e := wiretest.Fault(t, v.provider(func(o *Options) { o.Whole = whole })); e.Kind != llm.ErrNetwork {
			t.Errorf("got %+v", *e)
		}
	}
	v := serve(t, wiretest.Say(eventStream, ""))
	v.Close()
	if e := wiretest.Fault(t, v.provider()); e.Kind != llm.ErrNetwork {
		t.Errorf("nobody there: got %+v", *e)
	}
}

// TestStall: silence is bounded, before the answer and within it.
func TestStall(t *testing.T) {
	t.Parallel()
	for _, begin := range []string{"", chunks(`null`, `{"content":"a"}`)[:100]} {
		v := serve(t, wiretest.Hang(begin))
		if e := wiretest.Fault(t, v.provider(func(o *Options) { o.Idle = wire.Silence(500 * time.Millisecond) })); e.Kind != llm.ErrTimeout {
			t.Errorf("after %q: got %+v", begin, *e)
		}
	}
}

// TestStallBehindTheEnd: a server that keeps a finished stream open costs the
// reply nothing but its usage.
func TestStallBehindTheEnd(t *testing.T) {
	t.Parallel()
	body := wiretest.Fixture(t, "openai_length.sse")
	body = body[:strings.Index(body, `"finish_reason":"length"`)]
	body = body[:strings.LastIndex(body, "data: ")] + strings.SplitAfter(chunks(`"length"`), "\n\n")[0]
	v := serve(t, wiretest.Hang(body))
	r, err := wiretest.Call(t, v.provider(func(o *Options) { o.Idle = wire.Silence(500 * time.Millisecond) }), wiretest.Ask("x"))
	if err != nil || r.Stop != llm.StopLength {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestCancel: a caller who goes away gets the context's own error.
func TestCancel(t *testing.T) {
	t.Parallel()
	v := serve(t, wiretest.Hang(strings.SplitAfter(chunks(`null`, `{"content":"a"}`), "\n\n")[0]))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := v.provider().Call(ctx, wiretest.Ask("x"), func(llm.Delta) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := v.provider().Call(ctx, wiretest.Ask("x"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("called with a context that had ended: got %v", err)
	}
}

// TestPatience: a model may think for long before it speaks, but not in the
// middle of a word.
func TestPatience(t *testing.T) {
	t.Parallel()
	const begun = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
	const within = begun + "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"
	p := func(c *http.Client) llm.Provider { return New(Options{HTTP: c}) }
	for stream, want := range map[string]time.Duration{"": wire.DefaultFirst, begun: wire.DefaultFirst, within: wire.DefaultThen} {
		wiretest.Stalls(t, p, stream, want)
	}
}
