// Traces of real processes: killed again and again, the collector hears of
// everything that the record has, and of nothing else.

package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// heard is what a collector was told: spans by id, and documents by theirs.
type heard struct {
	mu      sync.Mutex
	parents map[string]string // by span
	docs    map[string]bool
	raw     bytes.Buffer
}

func (h *heard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var data wire.TracesData
	if err != nil || proto.Unmarshal(raw, &data) != nil {
		http.Error(w, "rubbish", http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.raw.Write(raw)
	for _, from := range data.ResourceSpans {
		for _, scope := range from.ScopeSpans {
			for _, s := range scope.Spans {
				h.parents[hex.EncodeToString(s.SpanId)] = hex.EncodeToString(s.ParentSpanId)
				values := map[string]string{}
				for _, a := range s.Attributes {
					values[a.Key] = a.Value.GetStringValue()
				}
				for _, key := range []string{"cadre.model_call.id", "cadre.tool_call.id", "cadre.message.id"} {
					h.docs[values[key]] = true
				}
				if values["gen_ai.operation.name"] == "invoke_agent" {
					h.docs[values["gen_ai.agent.id"]] = true
				}
			}
		}
	}
}

func TestTracesOfKilledRuns(t *testing.T) {
	t.Parallel()
	h := &heard{parents: map[string]string{}, docs: map[string]bool{}}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	f := newFolder(t)
	f.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL, "ANTHROPIC_API_KEY=sk-ant-hush"}
	chat := done(t, f.run(0, "run", "--json", "--model", script(t, "crash.yaml"), "go hush").out).Chat
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 5 {
		p := f.start("run", "--json", "--chat", chat, "go hush")
		killAtRandom(p, r)
		p.wait()
	}
	f.run(0, "run", "--json", "--chat", chat, "go at last")

	st, err := sqlite.OpenReadOnly(f.data)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }() // it only read
	tree, err := st.Tree(t.Context(), chat)
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	want := func(id string) {
		if !h.docs[id] {
			t.Errorf("the collector never heard of %s", id)
		}
	}
	for _, a := range tree {
		if a.Depth == 0 || a.EndedAt > 0 {
			want(a.ID)
		}
		calls, err := st.ModelCalls(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			want(c.ID)
		}
		tools, err := st.ToolCalls(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range tools {
			if c.EndedAt > 0 {
				want(c.ID)
			}
		}
	}
	roots := 0
	for span, parent := range h.parents {
		if parent == "" {
			roots++
		} else if _, ok := h.parents[parent]; !ok {
			t.Errorf("the parent %s of span %s never came", parent, span)
		}
	}
	if roots < 2 {
		t.Errorf("%d roots", roots)
	}
	if bytes.Contains(h.raw.Bytes(), []byte("hush")) {
		t.Error("a span carries what was said, or a key")
	}
}

// TestTracesOfAServer: what a server does is traced, too, and shutting down
// sends the rest.
func TestTracesOfAServer(t *testing.T) {
	t.Parallel()
	h := &heard{parents: map[string]string{}, docs: map[string]bool{}}
	collector := httptest.NewServer(h)
	t.Cleanup(collector.Close)
	f := newFolder(t)
	f.env = []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + collector.URL + "/v1/traces"}
	s := f.server()
	chat := done(t, f.run(0, "run", "--json", "--model", script(t, "crash.yaml"), "go").out).Chat
	if r := s.end(); r.code != 0 {
		t.Fatalf("exit code %d\n%s", r.code, r.errs)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range []string{chat, chat + ".1", chat + ".3.1", chat + "-t1.1", chat + "-c1.0"} {
		if !h.docs[id] {
			t.Errorf("the collector never heard of %s", id)
		}
	}
}
