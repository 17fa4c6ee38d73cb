// Tests of requests: over loopback, and over a transport made of channels
// where time is what is tested.

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
)

// serve starts a server for the time of the test.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func flush(w http.ResponseWriter, s string) {
	_, _ = io.WriteString(w, s)
	_ = http.NewResponseController(w).Flush()
}

// drain reads all events and returns their data and how they ended.
func drain(r *Response) (string, error) {
	var all []string
	for {
		ev, err := r.Next()
		if err != nil {
			return strings.Join(all, ","), err
		}
		all = append(all, string(ev.Data))
	}
}

func TestPost(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Request-Id", "req_1")
		flush(w, fmt.Sprintf("data: %s %s %s %s\n\n", r.Method, r.Header.Get("Content-Type"), r.Header.Get("X-Api-Key"), body))
		flush(w, "data: [DONE]")
	})
	header := http.Header{"X-Api-Key": {"k"}}
	r, err := Post(t.Context(), NewClient(), url, header, []byte(`{"a":1}`), Idle{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := drain(r)
	if want := `POST application/json k {"a":1},[DONE]`; got != want || !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v", got, err)
	}
	if r.RequestID != "req_1" || len(header) != 1 {
		t.Errorf("request %q, header %v", r.RequestID, header)
	}
}

func TestPostWhole(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { flush(w, `{"a":1}`) })
	r, err := Post(t.Context(), NewClient(), url, nil, nil, Silence(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := r.All(); string(b) != `{"a":1}` || err != nil {
		t.Errorf("got %s, %v", b, err)
	}
}

func TestPostRefused(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Request-Id", "req_2")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusUnauthorized)
		flush(w, `{"error":{"message":"`+r.Header.Get("Authorization")+` and `+r.Header.Get("X-Api-Key")+` are wrong"}}`)
	})
	header := http.Header{"Authorization": {"Bearer very-secret-token"}, "X-Api-Key": {"geheim-42"}}
	_, err := Post(t.Context(), NewClient(), url, header, nil, Idle{})
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrAuth || e.Status != 401 || e.RequestID != "req_2" || e.RetryAfter != 7*time.Second {
		t.Fatalf("got %+v", err)
	}
	if want := "Bearer [redacted] and [redacted] are wrong"; e.Message != want {
		t.Errorf("got %q, want %q", e.Message, want)
	}
}

func TestPostWithoutServer(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	_, err := Post(t.Context(), NewClient(), srv.URL+"?key=topsecret", http.Header{"X-Goog-Api-Key": {"topsecret"}}, nil, Idle{})
	if llm.KindOf(err) != llm.ErrNetwork || strings.Contains(fmt.Sprintf("%v %#v", err, errors.Unwrap(err)), "topsecret") {
		t.Errorf("got %v", err)
	}
	_, err = Post(t.Context(), NewClient(), "http://bad host/", nil, nil, Idle{})
	if llm.KindOf(err) != llm.ErrBadRequest {
		t.Errorf("no address: got %v", err)
	}
}

// TestNoRedirects holds that keys go nowhere else.
func TestNoRedirects(t *testing.T) {
	t.Parallel()
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other+"/v1", http.StatusTemporaryRedirect)
	})
	_, err := Post(t.Context(), NewClient(), url, http.Header{"X-Api-Key": {"geheim-42"}}, nil, Idle{})
	if llm.KindOf(err) != llm.ErrBadRequest || !strings.Contains(err.Error(), other+"/v1") {
		t.Errorf("got %v", err)
	}
}

func TestConnectionLost(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/later" {
			flush(w, "data: a\n\ndata: ha")
		}
		panic(http.ErrAbortHandler)
	})
	if _, err := Post(t.Context(), NewClient(), url, nil, nil, Idle{}); llm.KindOf(err) != llm.ErrNetwork {
		t.Errorf("before the answer: got %v", err)
	}
	r, err := Post(t.Context(), NewClient(), url+"/later", nil, nil, Idle{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := drain(r); got != "a" || llm.KindOf(err) != llm.ErrNetwork {
		t.Errorf("within it: got %q, %v", got, err)
	}
}

func TestStall(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/later":
			flush(w, "data: a\n\n")
		case "/error":
			w.WriteHeader(http.StatusInternalServerError)
			flush(w, "half")
		}
		<-r.Context().Done()
	})
	idle := Silence(time.Second)
	if _, err := Post(t.Context(), NewClient(), url, nil, nil, idle); llm.KindOf(err) != llm.ErrTimeout {
		t.Errorf("before the answer: got %v", err)
	}
	if _, err := Post(t.Context(), NewClient(), url+"/error", nil, nil, idle); llm.KindOf(err) != llm.ErrServer {
		t.Errorf("within an error the status counts: got %v", err)
	}
	r, err := Post(t.Context(), NewClient(), url+"/later", nil, nil, idle)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := drain(r); got != "a" || llm.KindOf(err) != llm.ErrTimeout {
		t.Errorf("within it: got %q, %v", got, err)
	}
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	got := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		if r.URL.Path == "/later" {
			flush(w, "data: a\n\n")
		} else {
			close(got)
		}
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-got
		cancel()
	}()
	if _, err := Post(ctx, NewClient(), url, nil, nil, Idle{}); err != context.Canceled { //nolint:errorlint // the context's own error, unwrapped
		t.Errorf("before the answer: got %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	r, err := Post(ctx, NewClient(), url+"/later", nil, nil, Idle{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := r.Next(); err != context.Canceled { //nolint:errorlint // the context's own error, unwrapped
		t.Errorf("within it: got %v", err)
	}
}

// pipe is a transport whose answers are sent by the test.
type pipe struct{ data chan string }

func (p pipe) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: pipeBody{p.data, r.Context()}}, nil
}

type pipeBody struct {
	data chan string
	ctx  context.Context
}

func (b pipeBody) Read(p []byte) (int, error) {
	select {
	case s, ok := <-b.data:
		if !ok {
			return 0, io.EOF
		}
		return copy(p, s), nil
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

func (pipeBody) Close() error { return nil }

func TestIdleCountsWaitingOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pipe{make(chan string)}
		start := time.Now()
		r, err := Post(t.Context(), &http.Client{Transport: p}, "http://model/", nil, nil, Idle{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		go func() {
			<-time.After(DefaultFirst - time.Second) // slow, but not silent
			p.data <- "data: a\n\n"
			p.data <- "data: b\n\n"
		}()
		if ev, err := r.Next(); string(ev.Data) != "a" {
			t.Fatalf("got %q, %v", ev.Data, err)
		}
		<-time.After(time.Hour) // it is us who take long
		if ev, err := r.Next(); string(ev.Data) != "b" {
			t.Fatalf("got %q, %v", ev.Data, err)
		}
		_, err = r.Next()
		if want := 2*DefaultFirst - time.Second + time.Hour; llm.KindOf(err) != llm.ErrTimeout || time.Since(start) != want {
			t.Errorf("got %v after %v, want a timeout after %v", err, time.Since(start), want)
		}
	})
}

// TestSignsOfLife: what is no delta keeps a stream alive, but not for ever.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pipe{make(chan string)}
		r, err := Post(t.Context(), &http.Client{Transport: p}, "http://model/", nil, nil, Idle{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		over := make(chan struct{})
		defer close(over)
		go func() {
			for range 60 {
				select {
				case <-time.After(time.Minute):
				case <-over:
					return
				}
				select {
				case p.data <- "data: ping\n\n":
				case <-over:
					return
				}
			}
		}()
		start := time.Now()
		for range 6 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		r.Listen(nil)(llm.Delta{})
		_, err = drain(r)
		if want := 6*time.Minute + DefaultWhole; llm.KindOf(err) != llm.ErrTimeout || time.Since(start) != want || !strings.Contains(err.Error(), "signs of life") {
			t.Errorf("got %v after %v, want a timeout after %v", err, time.Since(start), want)
		}
	})
}

func TestCloseDoesNotWaitLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := Post(t.Context(), &http.Client{Transport: pipe{make(chan string)}}, "http://model/", nil, nil, Idle{})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		r.Close()
		if took := time.Since(start); took > drainTime {
			t.Errorf("it took %v", took)
		}
	})
}

// TestConnectionsAreUsedAgain holds that a stream whose last event was read is
// no lost connection: with TLS each would cost a fan-out dearly.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	const streams, rounds = 50, 4
	var opened atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		flush(w, "data: a\n\n")
		flush(w, "data: last\n\n")
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	client := NewClient()
	for range rounds {
		var wg sync.WaitGroup
		for range streams {
			wg.Go(func() {
				r, err := Post(t.Context(), client, srv.URL, nil, nil, Idle{})
				if err != nil {
					t.Error(err)
					return
				}
				defer r.Close()
				for range 2 {
					if _, err := r.Next(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
	// The transport dials ahead, so that there may be a few more than streams;
	// without reuse there would be rounds times as many.
	if n := opened.Load(); n > 2*streams {
		t.Errorf("%d connections for %d streams at a time", n, streams)
	}
}

func TestErrorsOfAStream(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "req_3")
		flush(w, "data: {}\n\n")
	})
	r, err := Post(t.Context(), NewClient(), url, http.Header{"Api-Key": {"geheim-42"}}, nil, Idle{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, tt := range map[string]struct {
		err  error
		kind llm.ErrorKind
	}{
		"cut":    {r.Cut(), llm.ErrNetwork},
		"broken": {r.Broken(errors.New("geheim-42 is no JSON")), llm.ErrNetwork},
		"fail":   {r.Fail([]byte(`{"error":{"type":"overloaded_error","message":"geheim-42"}}`)), llm.ErrOverloaded},
	} {
		var e *llm.Error
		if !errors.As(tt.err, &e) || e.Kind != tt.kind || e.RequestID != "req_3" || strings.Contains(e.Error(), "geheim") {
			t.Errorf("%s: got %+v", name, tt.err)
		}
	}
}

func TestScrub(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"nothing to hide, none at all":                        "nothing to hide, none at all",
		"my own mysecret here":                                "my own [redacted] here",
		"Incorrect API key provided: sk-proj-****abcd.":       "Incorrect API key provided: [redacted]",
		"key AIzaSyA1234567890abcdefg is bad":                 "key [redacted] is bad",
		`header "Authorization: Bearer abc.def-1234567890"`:   `header "Authorization: Bearer [redacted]"`,
		"GET /v1beta/models?key=abcdefgh1234&alt=sse failed":  "GET /v1beta/models?key=[redacted]&alt=sse failed",
		"sk-ant-api03-abcdefghijkl":                           "[redacted]",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.abcdefgh1": "[redacted]",
		"risk-free, task-oriented and a desk-bound":           "risk-free, task-oriented and a desk-bound",
		"the key a1b2c3d4e5f6g7… and a1b2c3d4e5f6":            "the key [redacted]… and [redacted]",
		"a1b2c3d4e5f and a beta of interleaved things":        "a1b2c3d4e5f and a beta of interleaved things",
	} {
		if got := Scrub(in, "mysecret", "", "none", "a1b2c3d4e5f6g7h8i9", "a beta of interleaved-2025"); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// BenchmarkStream measures a chunk of a stream over loopback, without
// decoding its JSON.
func BenchmarkStream(b *testing.B) {
	chunk := []byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello there\"}}\n\n")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer srv.Close()
	r, err := Post(b.Context(), NewClient(), srv.URL, nil, nil, Idle{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}
