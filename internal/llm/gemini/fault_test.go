// Tests of failures: each kind of error, over a real connection.

package gemini

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

func body(status, text string) string {
	return `{"error":{"message":"` + text + `","status":"` + status + `"}}`
}

func TestKindsOfErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		want   llm.ErrorKind
		wait   time.Duration
	}{
		{400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, llm.ErrAuth, 0},
		{401, body("UNAUTHENTICATED", "Request had invalid authentication credentials."), llm.ErrAuth, 0},
		{403, body("PERMISSION_DENIED", "no"), llm.ErrPermission, 0},
		{404, body("NOT_FOUND", "models/x is not found"), llm.ErrNotFound, 0},
		{429, `{"error":{"code":429,"message":"Resource exhausted.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}`, llm.ErrRateLimit, 17 * time.Second},
		{429, `[{"error":{"code":429,"message":"no","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]}]}}]`, llm.ErrQuota, 0},
		{503, body("UNAVAILABLE", "The model is overloaded. Please try again later."), llm.ErrOverloaded, 0},
		{400, body("INVALID_ARGUMENT", "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."), llm.ErrOverflow, 0},
		{400, body("INVALID_ARGUMENT", "Invalid value"), llm.ErrBadRequest, 0},
		{504, body("DEADLINE_EXCEEDED", "Deadline expired"), llm.ErrTimeout, 0},
		{500, body("INTERNAL", "An internal error has occurred."), llm.ErrServer, 0},
		{409, body("ABORTED", "conflict"), llm.ErrServer, 0},
	} {
		_, err := wiretest.Call(t, to(t, answers(tt.status, tt.body), Options{Key: "k"}), hello())
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != tt.want || e.Status != tt.status || e.RetryAfter != tt.wait {
			t.Errorf("%d %s: got %+v", tt.status, tt.body, err)
		}
	}
}

func TestErrorInStream(t *testing.T) {
	t.Parallel()
	head := strings.SplitAfter(wiretest.Fixture(t, "text.sse"), "\r\n\r\n")[0]
	for chunk, want := range map[string]llm.ErrorKind{
		`{"error":{"code":503,"message":"Sorry","status":"UNAVAILABLE"}}`:        llm.ErrOverloaded,
		`{"error":{"code":500,"message":"Sorry","status":"INTERNAL"}}`:           llm.ErrServer,
		`{"error":{"code":429,"message":"Sorry","status":"RESOURCE_EXHAUSTED"}}`: llm.ErrRateLimit,
		`{"error":{"message":"Sorry"}}`:                                          llm.ErrServer,
	} {
		deltas := 0
		r, err := to(t, events(head+"data: "+chunk+"\r\n\r\n", 100), Options{}).Call(t.Context(), hello(), func(llm.Delta) { deltas++ })
		var e *llm.Error
		if r != nil || !errors.As(err, &e) || e.Kind != want || e.Message != "Sorry" || e.Usage.Input != 11 || deltas != 1 {
			t.Errorf("%s: got %v, %+v", chunk, r, err)
		}
	}
}

func TestStall(t *testing.T) {
	t.Parallel()
	all := wiretest.Fixture(t, "text.sse")
	for _, stream := range []string{"", strings.SplitAfter(all, "\r\n\r\n")[0]} {
		r, err := wiretest.Call(t, to(t, wiretest.Hang(stream), Options{Idle: wire.Silence(500 * time.Millisecond)}), hello())
		if r != nil || llm.KindOf(err) != llm.ErrTimeout {
			t.Errorf("after %d bytes: got %v, %v", len(stream), r, err)
		}
	}
	// What has ended properly counts, however the connection ends.
	r, err := wiretest.Call(t, to(t, wiretest.Hang(all), Options{Idle: wire.Silence(500 * time.Millisecond)}), hello())
	if err != nil || r.Stop != llm.StopEnd {
		t.Errorf("after the end: got %v, %v", r, err)
	}
	if r, err := wiretest.Call(t, to(t, wiretest.Break(all), Options{}), hello()); err != nil || r.Stop != llm.StopEnd {
		t.Errorf("after the end, aborted: got %v, %v", r, err)
	}
}

func TestConnectionLost(t *testing.T) {
	t.Parallel()
	head := strings.SplitAfter(wiretest.Fixture(t, "text.sse"), "\r\n\r\n")[0]
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
	all := wiretest.Fixture(t, "text.sse")
	for _, stream := range []string{strings.SplitAfter(all, "\r\n\r\n")[0], all} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := to(t, wiretest.Hang(stream), Options{}).Call(ctx, hello(), func(llm.Delta) { cancel() })
		if r != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v", r, err)
		}
	}
}

func TestKeysStaySecret(t *testing.T) {
	t.Parallel()
	v := wiretest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, body("PERMISSION_DENIED", r.Header.Get("X-Goog-Api-Key")+" and "+r.Header.Get("Authorization")+" may not"))
	})
	_, err := wiretest.Call(t, at(v, Options{Key: "top-secret-1", AuthToken: "top-secret-2"}), hello())
	if err == nil || strings.Contains(err.Error(), "top-secret") || !strings.Contains(err.Error(), "[redacted]") {
		t.Errorf("got %v", err)
	}
	request, _ := v.Last()
	if u := request.URL.String(); u != "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse" {
		t.Errorf("asked %s", u)
	}
}

// TestPatience: a model may think for long before it speaks, but not in the
// middle of a word.
func TestPatience(t *testing.T) {
	t.Parallel()
	const begun = "data: {\"responseId\":\"r\"}\n\n"
	const within = begun + "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\n"
	p := func(c *http.Client) llm.Provider { return New(Options{HTTP: c}) }
	for stream, want := range map[string]time.Duration{"": wire.DefaultFirst, begun: wire.DefaultFirst, within: wire.DefaultThen} {
		wiretest.Stalls(t, p, stream, want)
	}
}
