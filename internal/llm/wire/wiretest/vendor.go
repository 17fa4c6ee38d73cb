// Package wiretest is what the tests of wire formats share: a vendor on the
// loopback interface, a call that checks what every reply must fulfil, and the
// comparison with what vendors' own SDKs read from the same bytes.
//
// It knows no wire format, and is imported by tests only.
package wiretest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// What tests call themselves.
const (
	Model    = "m-1"
	Provider = "vendor"
	Key      = "sk-test-0123456789"
)

// EventStream is the content type of a stream.
const EventStream = "text/event-stream; charset=utf-8"

// RequestID is what Say calls the request.
const RequestID = "req-1"

// Vendor is a server that keeps the last request.
type Vendor struct {
	*httptest.Server

	mu      sync.Mutex
	request *http.Request
	body    string
}

// Serve starts a vendor that answers every request by answer.
func Serve(t testing.TB, answer http.HandlerFunc) *Vendor {
	t.Helper()
	v := &Vendor{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		v.mu.Lock()
		v.request, v.body = r, string(b)
		v.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(v.Close)
	return v
}

// Last returns the last request and its body; nil if there was none.
func (v *Vendor) Last() (*http.Request, string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.request, v.body
}

// Say answers with body and leaves it at that.
func Say(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("X-Request-Id", RequestID)
		_, _ = io.WriteString(w, body)
	}
}

// Drip answers with body, byte by byte.
func Drip(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		Say(EventStream, "")(w, r)
		for i := range len(body) {
			_, _ = io.WriteString(w, body[i:i+1])
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// Hang answers with body and then with nothing more, until the caller leaves.
func Hang(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if body != "" {
			Say(EventStream, body)(w, r)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

// Break answers with body and breaks the connection.
func Break(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		Say(EventStream, body)(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Fixture is a body in testdata.
func Fixture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// ContentType is that of a fixture, which its name tells.
func ContentType(name string) string {
	if filepath.Ext(name) == ".json" {
		return "application/json"
	}
	return EventStream
}

// Ask is a request of one message.
func Ask(text string) *llm.Request {
	return &llm.Request{Model: Model, Messages: []message.Message{message.Of(message.User, message.KindUser, text)}}
}
