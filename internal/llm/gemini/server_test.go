// A server for the tests: it plays bytes and keeps what it was asked.

package gemini

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// server answers all requests in the same way.
type server struct {
	*httptest.Server

	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func serve(t testing.TB, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.bodies = append(s.bodies, string(body))
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// events answers with a stream, size bytes at a time.
func events(stream string, size int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
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
func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func load(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const asked = "gemini-3-pro-preview"

// hello is a request that says hello.
func hello() *llm.Request {
	return &llm.Request{Model: asked, Messages: []message.Message{message.Of(message.User, message.KindUser, "Hello")}}
}

// call makes one call and gathers its deltas.
func call(ctx context.Context, p llm.Provider, req *llm.Request) (*llm.Reply, []llm.Delta, error) {
	var deltas []llm.Delta
	r, err := p.Call(ctx, req, func(d llm.Delta) { deltas = append(deltas, d) })
	return r, deltas, err
}

func to(s *server, opts Options) llm.Provider {
	opts.BaseURL = s.URL
	if opts.Idle == 0 {
		opts.Idle = time.Minute
	}
	return New(opts)
}
