// The loopback model: a server that speaks Chat Completions, and what adk-go
// needs of the Gemini API, does what the script in the first message of a
// conversation says, and notes when each request came and was answered. It is
// as cheap as it can be, as it runs on the cores it is measured on.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/bench/chat"
)

func main() {
	wait := flag.Duration("wait", 50*time.Millisecond, "before the first byte of a reply")
	flag.Parse()
	if err := serve(*wait); err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		os.Exit(1)
	}
}

func serve(wait time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	m := &model{wait: wait}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	mux.HandleFunc("POST /v1beta/models/{call}", m.generate)
	mux.HandleFunc("POST /reset", m.reset)
	mux.HandleFunc("GET /log", m.log)
	mux.HandleFunc("GET /body", m.body)
	fmt.Fprintf(os.Stdout, "http://%s\n", l.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = server.Close() // nobody waits for what is cut off
	}()
	if err := server.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

type model struct {
	wait time.Duration

	mu     sync.Mutex
	keep   bool // bodies too
	calls  []*chat.Call
	bodies [][]byte
}

// reset forgets what came so far.
func (m *model) reset(_ http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls, m.bodies, m.keep = nil, nil, r.URL.Query().Get("keep") != ""
}

// log tells of all requests since the last reset.
func (m *model) log(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]chat.Call, len(m.calls))
	for i, c := range m.calls {
		out[i] = *c
	}
	_ = json.NewEncoder(w).Encode(out) // the driver notices
}

// body gives a request that was kept.
func (m *model) body(w http.ResponseWriter, r *http.Request) {
	i, err := strconv.Atoi(r.URL.Query().Get("i"))
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || i < 0 || i >= len(m.bodies) {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(m.bodies[i]) // the driver notices
}

// note begins the record of a request.
func (m *model) note(s chat.Script, turn int, body []byte, at time.Time) *chat.Call {
	c := &chat.Call{Kind: s.Kind, ID: s.ID, Turn: turn, Bytes: len(body), Came: at.UnixNano()}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, c)
	if m.keep {
		m.bodies = append(m.bodies, body)
	}
	return c
}

func (m *model) complete(w http.ResponseWriter, r *http.Request) {
	m.answer(w, r, `"role":"assistant"`, func(body []byte, reply said, s chat.Script) bool {
		if bytes.Contains(body, []byte(`"stream":true`)) { // in a text its quotes would be escaped
			return reply.stream(r.Context(), w, s)
		}
		reply.whole(w)
		return true
	})
}

// generate is the same in the Gemini API.
func (m *model) generate(w http.ResponseWriter, r *http.Request) {
	m.answer(w, r, `"role":"model"`, func(_ []byte, reply said, _ chat.Script) bool {
		reply.gemini(w, strings.HasSuffix(r.PathValue("call"), ":streamGenerateContent"))
		return true
	})
}

// answer sends what the script says; own marks the model's own messages in a
// request, and send returns false if the caller has gone.
func (m *model) answer(w http.ResponseWriter, r *http.Request, own string, send func([]byte, said, chat.Script) bool) {
	body := make([]byte, max(r.ContentLength, 0))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	came := time.Now()
	s, err := chat.ScriptOf(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	turn := bytes.Count(body, []byte(own))
	c := m.note(s, turn, body, came)
	wait := m.wait
	if s.Wait >= 0 {
		wait = s.Wait
	}
	if s.Kind == chat.Leaf && turn == 1 && s.Second > 0 {
		wait = s.Second
	}
	if !sleep(r.Context(), wait) || !send(body, answer(s, turn), s) {
		return
	}
	m.mu.Lock()
	c.Done = time.Now().UnixNano()
	m.mu.Unlock()
}

// sleep waits for a time; false: the caller has gone.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
