// Tests of failures: each kind of error, over a real connection.

package anthropic

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
)

func body(kind, text string) string {
	return `{"type":"error","error":{"type":"` + kind + `","message":"` + text + `"},"request_id":"req_body"}`
}

func TestKindsOfErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		header map[string]string
		body   string
		want   llm.ErrorKind
		wait   time.Duration
	}{
		{401, nil, body("authentication_error", "invalid x-api-key"), llm.ErrAuth, 0},
		{403, nil, body("permission_error", "no"), llm.ErrPermission, 0},
		{404, nil, body("not_found_error", "model: x"), llm.ErrNotFound, 0},
		{429, map[string]string{"Retry-After": "7"}, body("rate_limit_error", "slow"), llm.ErrRateLimit, 7 * time.Second},
		{529, nil, body("overloaded_error", "Overloaded"), llm.ErrOverloaded, 0},
		{400, nil, body("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), llm.ErrQuota, 0},
		{400, nil, body("invalid_request_error", "prompt is too long: 200251 tokens > 200000 maximum"), llm.ErrOverflow, 0},
		{413, nil, body("request_too_large", "Request exceeds the maximum size"), llm.ErrOverflow, 0},
		{400, nil, body("invalid_request_error", "messages: bad"), llm.ErrBadRequest, 0},
		{400, nil, body("invalid_request_error", "Output blocked by content filtering policy"), llm.ErrFilter, 0},
		{504, nil, body("timeout_error", "Request timed out"), llm.ErrTimeout, 0},
		{500, nil, body("api_error", "Internal server error"), llm.ErrServer, 0},
		{409, nil, body("conflict", "no"), llm.ErrServer, 0},
		{502, nil, "<html>Bad Gateway</html>", llm.ErrServer, 0},
	} {
		_, err := wiretest.Call(t, to(t, answers(tt.status, tt.header, tt.body), Options{Key: "k"}), hello())
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != tt.want || e.Status != tt.status || e.RetryAfter != tt.wait || e.RequestID != requestID {
			t.Errorf("%d %s: got %+v", tt.status, tt.body, err)
		}
	}
}

// TestErrorInStream is told after the answer had begun well.
func TestErrorInStream(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(wiretest.Fixture(t, "tool.sse"), "event: content_block_stop")
	for kind, want := range map[string]llm.ErrorKind{
		"overloaded_error": llm.ErrOverloaded, "api_error": llm.ErrServer, "rate_limit_error": llm.ErrRateLimit,
		"timeout_error": llm.ErrTimeout, "invalid_request_error": llm.ErrBadRequest, "something_new": llm.ErrServer,
	} {
		stream := head + "event: error\ndata: " + `{"type": "error", "error": {"type": "` + kind + `", "message": "Sorry"}}` + "\n\n"
		deltas := 0
		r, err := to(t, events(stream, 100), Options{}).Call(t.Context(), hello(), func(llm.Delta) { deltas++ })
		var e *llm.Error
		if r != nil || !errors.As(err, &e) || e.Kind != want || e.Message != "Sorry" || e.RequestID != requestID || e.Usage.Input != 472 {
			t.Errorf("%s: got %v, %+v", kind, r, err)
		}
		if deltas != 2 {
			t.Errorf("%s: got %d deltas", kind, deltas)
		}
	}
}

func TestBrokenChunks(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`{"type":"content_block_delta"`, `hello`, `{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":[]}}`,
		`{"type":"content_block_delta","index":0,"delta":[]}`, `{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":{}}}`,
		`{"type":"content_block_start","index":5,"content_block":[]}`, `{"type":"message_delta","delta":[]}`, `{"type":"message_start","message":[]}`,
		`{"type":"message_start","message":{"id":"msg_another","content":[]}}`,
	} {
		stream := strings.Replace(wiretest.Fixture(t, "text.sse"), "event: content_block_stop", "event: x\ndata: "+data+"\n\nevent: content_block_stop", 1)
		if r, err := wiretest.Call(t, to(t, events(stream, 100), Options{}), hello()); r != nil || llm.KindOf(err) != llm.ErrNetwork {
			t.Errorf("%s: got %v, %v", data, r, err)
		}
	}
}

func TestStall(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(wiretest.Fixture(t, "text.sse"), "event: content_block_stop")
	for _, stream := range []string{"", head} {
		r, err := wiretest.Call(t, to(t, wiretest.Hang(stream), Options{Idle: wire.Silence(500 * time.Millisecond)}), hello())
		if r != nil || llm.KindOf(err) != llm.ErrTimeout {
			t.Errorf("after %d bytes: got %v, %v", len(stream), r, err)
		}
	}
}

func TestConnectionLost(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(wiretest.Fixture(t, "text.sse"), "event: content_block_stop")
	if r, err := wiretest.Call(t, to(t, wiretest.Break(head), Options{}), hello()); r != nil || llm.KindOf(err) != llm.ErrNetwork {
		t.Errorf("got %v, %v", r, err)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if _, err := New(Options{BaseURL: gone.URL}).Call(t.Context(), hello(), nil); llm.KindOf(err) != llm.ErrNetwork {
		t.Errorf("no server: got %v", err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(wiretest.Fixture(t, "text.sse"), "event: content_block_stop")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := to(t, wiretest.Hang(head), Options{})
	r, err := p.Call(ctx, hello(), func(llm.Delta) { cancel() })
	if r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", r, err)
	}
}

func TestKeysStaySecret(t *testing.T) {
	t.Parallel()
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, body("authentication_error", r.Header.Get("X-Api-Key")+" and "+r.Header.Get("Authorization")+" are invalid"))
	}
	_, err := wiretest.Call(t, to(t, echo, Options{Key: "top-secret-1", AuthToken: "top-secret-2"}), hello())
	if err == nil || strings.Contains(err.Error(), "top-secret") || !strings.Contains(err.Error(), "[redacted]") {
		t.Errorf("got %v", err)
	}
}

// TestPatience: a model may think for long before it speaks and between its
// blocks, but not in the middle of a word.
func TestPatience(t *testing.T) {
	t.Parallel()
	const before = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\n"
	const begun = before + "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	const within = begun + "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n"
	const between = within + "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
	p := func(c *http.Client) llm.Provider { return New(Options{HTTP: c}) }
	for stream, want := range map[string]time.Duration{"": wire.DefaultFirst, begun: wire.DefaultFirst, within: wire.DefaultThen, between: wire.DefaultFirst} {
		wiretest.Stalls(t, p, stream, want)
	}
}
