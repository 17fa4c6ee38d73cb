// Answers for the tests, and what is asked.

package anthropic

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

const requestID = "req_test"

// events answers with a stream, size bytes at a time.
func events(stream string, size int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", wiretest.EventStream)
		w.Header().Set("Request-Id", requestID)
		for len(stream) > 0 {
			n := min(size, len(stream))
			if _, err := io.WriteString(w, stream[:n]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			stream = stream[n:]
		}
	}
}

// answers sends one body.
func answers(status int, header map[string]string, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Request-Id", requestID)
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hello is a request that says hello.
func hello() *llm.Request {
	return &llm.Request{Model: asked, MaxOutput: 100, Messages: []message.Message{
		message.Of(message.User, message.KindUser, "Hello"),
	}}
}

// to is a provider that calls a vendor answering so.
func to(t testing.TB, answer http.HandlerFunc, opts Options) llm.Provider {
	t.Helper()
	return at(wiretest.Serve(t, answer), opts)
}

// at is a provider that calls v.
func at(v *wiretest.Vendor, opts Options) llm.Provider {
	opts.BaseURL = v.URL
	if opts.Idle == (wire.Idle{}) {
		opts.Idle = wire.Silence(time.Minute)
	}
	return New(opts)
}

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
