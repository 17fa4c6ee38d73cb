// The world of the tests: a real application with a scripted model behind a
// server, and a client that holds every request and answer against the OpenAPI
// document that the server itself hands out.

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/time/rate"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/metrics"
	"github.com/cadre-dev/cadre/internal/sandbox"
)

func TestMain(m *testing.M) {
	if code, ran := sandbox.Main(os.Args); ran {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// asks is an orchestrator that hands out a task; the sub-agent asks the user.
const asks = `
name: asks
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: researcher, task: "find out"}}]
      - text: "the end"
      - text: "and again"
    after: last
  - match: {role: researcher}
    turns:
      - calls: [{tool: LS, input: {path: .}}]
      - calls: [{tool: ask_user, input: {question: "which one?"}}]
      - calls: [{tool: submit_result, input: {summary: "found"}}]
  - match: {role: consult}
    turns: [{calls: [{tool: ask_user, input: {}}]}]
    after: last
`

// world is a data folder and what serves it at the moment.
type world struct {
	t      testing.TB
	dir    string
	script string

	app    *app.App
	gate   *access.Gate
	server *api.Server
	http   *httptest.Server
	token  string // the local one, of scope admin

	starting atomic.Bool       // it says that it is not ready
	change   func(*api.Config) // nil: nothing is different
	spec     *spec
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.script = filepath.Join(w.dir, "script.yaml")
	if err := os.WriteFile(w.script, []byte(asks), 0o600); err != nil {
		t.Fatal(err)
	}
	w.open()
	t.Cleanup(func() { w.close() })
	return w
}

// open starts everything on the data folder.
func (w *world) open() {
	w.t.Helper()
	w.slow(1e6, 1e6)
}

// slow starts everything with an allowance for each key.
func (w *world) slow(limit rate.Limit, burst int) {
	w.t.Helper()
	var err error
	counters := metrics.New()
	w.app, err = app.Open(app.Options{Data: filepath.Join(w.dir, "data"), Dir: w.dir, Env: func(string) string { return "" }, Watch: counters.Watch})
	w.ok(err)
	ctx := context.Background() // cleanups need the world, too
	w.gate = access.New(w.app.Store, nil)
	w.ok(w.gate.EnsureUser(ctx, access.LocalUser, "Anna"))
	w.token, err = w.gate.LocalToken(ctx, filepath.Join(w.dir, "data"))
	w.ok(err)
	cfg := api.Config{
		Store: w.app.Store, Feed: w.app.Feed, Engine: w.app.Engine, Inbox: w.app.Inbox, Gate: w.gate, NewChat: w.app.Performer.NewChat, Choose: w.app.Performer.Choose,
		Roles: w.app.Roles, Tool: w.app.Setup.Tool, Setup: w.app.Setup, Models: func() wire.Models { return wire.Models{} }, Dir: w.dir, Version: "test", Rate: limit, Burst: burst,
		Heartbeat: 50 * time.Millisecond, Collectors: counters.Collectors(), Ready: func() bool { return !w.starting.Load() },
	}
	if w.change != nil {
		w.change(&cfg)
	}
	w.server, err = api.New(cfg)
	w.ok(err)
	w.http = httptest.NewUnstartedServer(nil)
	w.http.Config = w.server.HTTP()
	w.http.Start()
	w.ok(w.app.Engine.Recover(ctx, ""))
	if w.spec == nil {
		w.spec = w.readSpec()
	}
}

func (w *world) close() {
	w.t.Helper()
	w.server.Close()
	w.http.CloseClientConnections()
	w.http.Close()
	w.ok(w.app.Close())
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// newToken makes a user, if need be, and a token of theirs.
func (w *world) newToken(user string, scope access.Scope, lifetime time.Duration) (id, secret string) {
	w.t.Helper()
	w.ok(w.gate.EnsureUser(w.t.Context(), user, user))
	k, secret, err := w.gate.NewToken(w.t.Context(), user, "", scope, lifetime)
	w.ok(err)
	return k.ID, secret
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
}

func (a answer) code() string {
	var p wire.Problem
	_ = json.Unmarshal(a.body, &p) // another body has no code
	return p.Code
}

// call makes a request with a token and holds it and its answer against the
// document. A body is JSON if it is no string.
func (w *world) call(token, method, path string, body any, header ...string) answer {
	w.t.Helper()
	a := w.raw(token, method, path, body, header...)
	w.spec.check(w.t, method, path, body, a)
	return a
}

// want is a call whose status must be as told.
func (w *world) want(status int, method, path string, body any, header ...string) answer {
	w.t.Helper()
	a := w.call(w.token, method, path, body, header...)
	if a.status != status {
		w.t.Fatalf("%s %s: got %d, want %d: %s", method, path, a.status, status, a.body)
	}
	return a
}

func (w *world) raw(token, method, path string, body any, header ...string) answer {
	w.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		enc, err := json.Marshal(b)
		w.ok(err)
		r = bytes.NewReader(enc)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.http.URL+path, r)
	w.ok(err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	w.ok(err)
	defer func() { _ = res.Body.Close() }() // it was read, or it is a stream that is left
	a := answer{status: res.StatusCode, header: res.Header}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") || strings.HasPrefix(res.Header.Get("Content-Type"), "application/x-ndjson") {
		return a
	}
	a.body, err = io.ReadAll(res.Body)
	w.ok(err)
	return a
}

// until asks again until the answer is as wanted.
func (w *world) until(path string, is func(answer) bool) answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		a := w.want(http.StatusOK, http.MethodGet, path, nil)
		if is(a) {
			return a
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("%s never became as wanted: %s", path, a.body)
		case <-tick.C:
		}
	}
}

// spec is the OpenAPI document as a client reads it.
type spec struct {
	doc      any
	mux      *http.ServeMux // finds the path of a request
	compiler *jsonschema.Compiler

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema
	seen    map[string]bool // operations that were called with success
}

// operation is one of its routes.
type operation struct{ id, method, path, scope string }

func (w *world) readSpec() *spec {
	w.t.Helper()
	a := w.raw("", http.MethodGet, "/openapi.json", nil)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	w.ok(err)
	s := &spec{doc: doc, mux: http.NewServeMux(), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}, seen: map[string]bool{}}
	w.ok(s.compiler.AddResource("https://test/openapi.json", doc))
	for _, o := range s.operations() {
		s.mux.Handle(o.method+" "+o.path, http.NotFoundHandler())
	}
	return s
}

func (s *spec) at(keys ...string) any {
	v := s.doc
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

func (s *spec) operations() (all []operation) {
	paths, _ := s.at("paths").(map[string]any)
	for path, item := range paths {
		methods, _ := item.(map[string]any)
		for method, op := range methods {
			o, _ := op.(map[string]any)
			id, _ := o["operationId"].(string)
			scope, _ := o["x-scope"].(string)
			all = append(all, operation{id, strings.ToUpper(method), path, scope})
		}
	}
	return all
}

// check holds a request and its answer against the document.
func (s *spec) check(t testing.TB, method, target string, body any, a answer) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), method, "http://test"+target, nil)
	_, pattern := s.mux.Handler(req)
	_, path, _ := strings.Cut(pattern, " ")
	if path == "" {
		t.Errorf("%s %s is in no path of the document", method, u.Path)
		return
	}
	op := []string{"paths", path, strings.ToLower(method)}
	s.checkQuery(t, op, u.Query(), a.status)
	if a.status < 300 && body != nil {
		s.validate(t, append(op, "requestBody", "content", "application/json", "schema"), body)
	}
	status := fmt.Sprint(a.status)
	if s.at(append(op, "responses", status)...) == nil {
		status = "default"
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	content, _ := s.at(append(op, "responses", status, "content")...).(map[string]any)
	switch {
	case a.status == http.StatusNotModified || a.status == http.StatusNoContent:
	case strings.HasSuffix(path, "/artifacts/{artifact}") && a.status == http.StatusOK: // any kind
	case len(content) > 0 && content[kind] == nil:
		t.Errorf("%s %s: %d has an answer of kind %q, which is not in the document", method, path, a.status, kind)
	case strings.HasSuffix(kind, "json") && !strings.HasSuffix(kind, "ndjson"):
		var v any
		a.into(t, &v)
		s.validate(t, append(op, "responses", status, "content", kind, "schema"), v)
	}
	if a.status < 300 {
		id, _ := s.at(append(op, "operationId")...).(string)
		s.mu.Lock()
		s.seen[id] = true
		s.mu.Unlock()
	}
}

// checkQuery: what succeeds uses only parameters that are in the document.
func (s *spec) checkQuery(t testing.TB, op []string, q url.Values, status int) {
	t.Helper()
	known := map[string]bool{}
	params, _ := s.at(append(op, "parameters")...).([]any)
	for _, p := range params {
		m, _ := p.(map[string]any)
		if m["in"] == "query" {
			name, _ := m["name"].(string)
			known[name] = true
		}
	}
	for name := range q {
		if status < 300 && !known[name] {
			t.Errorf("%v succeeds with the unknown parameter %q", op, name)
		}
	}
}

func (s *spec) validate(t testing.TB, keys []string, v any) {
	t.Helper()
	for i, k := range keys {
		keys[i] = url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(k))
	}
	at := "https://test/openapi.json#/" + strings.Join(keys, "/")
	s.mu.Lock()
	schema := s.schemas[at]
	if schema == nil {
		var err error
		if schema, err = s.compiler.Compile(at); err != nil {
			s.mu.Unlock()
			t.Errorf("%s: %v", at, err)
			return
		}
		s.schemas[at] = schema
	}
	s.mu.Unlock()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(inst); err != nil {
		t.Errorf("%s\n%s", err, b)
	}
}
