// The world of the tests: a real application with a scripted model, and a
// collector on the loopback address that decodes what it is sent.

package tracing_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/store"
)

func TestMain(m *testing.M) {
	if code, ran := sandbox.Main(os.Args); ran {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for what must come.
const patience = time.Minute

// received is a span as the collector got it.
type received struct {
	*wire.Span
	service string
	values  map[string]string
}

func (r received) id() string     { return hex.EncodeToString(r.SpanId) }
func (r received) trace() string  { return hex.EncodeToString(r.TraceId) }
func (r received) parent() string { return hex.EncodeToString(r.ParentSpanId) }

// collector takes spans in.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	spans  []received
	bytes  []byte // everything that came
	header http.Header
	refuse bool
	tries  int
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries++
	c.header = r.Header
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	raw, err := io.ReadAll(body)
	var data wire.TracesData // the same bytes as an ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(raw, &data) != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "rubbish", http.StatusBadRequest)
		return
	}
	if c.refuse {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	c.bytes = append(c.bytes, raw...)
	for _, from := range data.ResourceSpans {
		for _, scope := range from.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, received{s, valuesOf(from.Resource.Attributes)["service.name"], valuesOf(s.Attributes)})
			}
		}
	}
}

func valuesOf(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		default:
			out[a.Key] = strings.TrimSpace(a.Value.String())
		}
	}
	return out
}

// all returns what has come so far.
func (c *collector) all() []received {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// named returns the one span of a name, or fails.
func named(t *testing.T, spans []received, name string) received {
	t.Helper()
	var found []received
	for _, s := range spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans are named %q, not one", len(found), name)
	}
	return found[0]
}

// tree draws spans: children below their parents, by name, errors behind them.
func tree(spans []received) string {
	var b strings.Builder
	ids := map[string]bool{}
	for _, s := range spans {
		ids[s.id()] = true
	}
	slices.SortStableFunc(spans, func(a, b received) int {
		if a.Name == b.Name {
			return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano))
		}
		return strings.Compare(a.Name, b.Name)
	})
	var draw func(parent string, depth int)
	draw = func(parent string, depth int) {
		for _, s := range spans {
			if s.parent() != parent && (parent != "" || ids[s.parent()]) {
				continue
			}
			b.WriteString(strings.Repeat("  ", depth) + s.Name)
			if s.parent() != "" && !ids[s.parent()] {
				b.WriteString(" (its parent is missing)")
			}
			if e := s.values["error.type"]; e != "" {
				b.WriteString(" !" + e)
			}
			b.WriteString("\n")
			draw(s.id(), depth+1)
		}
	}
	draw("", 0)
	return b.String()
}

// world is a data folder and the application that works on it.
type world struct {
	*testing.T
	dir  string
	app  *app.App
	chat string
	sent int
}

func newWorld(t *testing.T, script string) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir()}
	w.ok(os.WriteFile(filepath.Join(w.dir, "script.yaml"), []byte(script), 0o600))
	w.ok(os.WriteFile(filepath.Join(w.dir, "notes.txt"), []byte("a note\n"), 0o600))
	w.open()
	c, err := w.app.Performer.NewChat(orchestrate.Root{Role: "main", Model: "scripted:" + filepath.Join(w.dir, "script.yaml"), Dir: w.dir})
	w.ok(err)
	c.User = store.User{ID: "anna", Name: "Anna"}
	w.chat, err = w.app.Engine.CreateChat(t.Context(), c)
	w.ok(err)
	t.Cleanup(func() { w.close() })
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) open() {
	w.Helper()
	env := func(name string) string {
		if strings.HasPrefix(name, "OTEL_") {
			return os.Getenv(name)
		}
		return ""
	}
	var err error
	w.app, err = app.Open(app.Options{Data: filepath.Join(w.dir, "data"), Dir: w.dir, Env: env, Mode: "trusted", Version: "v9"})
	w.ok(err)
}

func (w *world) close() {
	w.Helper()
	if w.app != nil {
		w.ok(w.app.Close())
		w.app = nil
	}
}

// say sends a message and waits for the end of its run.
func (w *world) say(text string) {
	w.Helper()
	ends, forget := w.app.Engine.Outcomes(w.chat)
	defer forget()
	w.send(text)
	select {
	case <-ends:
	case <-time.After(patience):
		w.Fatal("the run never ended")
	}
}

func (w *world) send(text string) {
	w.Helper()
	w.sent++
	w.ok(w.app.Engine.Send(w.Context(), w.chat, "m"+string(rune('0'+w.sent)), message.Of(message.User, message.KindUser, text), nil))
}

// until waits for a condition.
func (w *world) until(what string, is func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.Fatalf("never: %s", what)
		}
	}
}
