// Whatever is sent, the server answers without falling over: no 5xx.

package api_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func FuzzRequests(f *testing.F) {
	for _, seed := range [][4]string{
		{"GET", "/v1/users/me/orch-chats?limit=2&cursor=%00", "Accept: */*", ""},
		{"GET", "/v1/users/me/orch-chats?cursor=MTIzLzQ", "If-None-Match: *", ""},
		{"POST", "/v1/users/me/orch-chats", "Content-Type: application/json", `{"title":"x","limits":{"turns":-1}}`},
		{"POST", "/v1/users/me/orch-chats", "Content-Type: text/plain", `{"dir":"../../../..\u0000"}`},
		{"POST", "/v1/users/me/orch-chats/CHAT/messages", "Idempotency-Key: a", `{"text":"@main x","attachments":[{"name":"a","data":"AA=="}]}`},
		{"POST", "/v1/users/me/orch-chats/CHAT/messages", "Content-Type: application/json+x;y", `{"text":`},
		{"PATCH", "/v1/users/me/orch-chats/CHAT", "X: y", `{"title":null,"archived":"no"}`},
		{"POST", "/v1/users/me/orch-chats/CHAT/fork", "X: y", `{"message":"CHAT-m0","text":"y"}`},
		{"POST", "/v1/users/me/orch-chats/CHAT/inbox/%2e%2e/answer", "X: y", `{"allow":1}`},
		{"GET", "/v1/users/me/changes?since=99999999999999999999", "Last-Event-ID: -1", ""},
		{"GET", "/v1/users/me/changes?since=0&collections=tasks,sub-agents/*/messages&agent=CHAT.1&deltas=maybe", "Last-Event-ID: 1", ""},
		{"GET", "/v1/users/me/orch-chats/CHAT/changes?since=0&until=2&format=ndjson", "Accept: */*", ""},
		{"PUT", "/v1/users/me/orch-chats/CHAT/read", "X: y", `{"seq":1e18}`},
		{"GET", "/v1/users/me/changes?since=1&collections=[", "Accept: application/x-ndjson", ""},
		{"GET", "/v1/users/me/orch-chats/CHAT/sub-agents/CHAT/messages?order=desc&cursor=LTEvLTE", "X: y", ""},
		{"GET", "/v1/users/me/orch-chats/CHAT/sub-agents?depth=1e9&sort=cost", "X: y", ""},
		{"GET", "/v1/users/me/orch-chats/CHAT/sub-agents/CHAT/tool-calls", "Accept-Encoding: gzip;q=0", ""},
		{"GET", "/v1/users/me/orch-chats/CHAT/sub-agents/CHAT/prompt", "Range: bytes=0-1", ""},
		{"DELETE", "/v1/users/me/orch-chats/no", "Origin: null", ""},
		{"PUT", "/v1/users/me/settings", "X: y", `{"a":[[[[]]]]}`},
		{"POST", "/v1/tokens", "X: y", `{"scope":"admin","user":"me","expiresInMs":1e300}`},
		{"GET", "/v1/stats?by=day&from=-1", "Accept: application/cbor", ""},
		{"GET", "/?code=a%00b", "Cookie: cadre=x", ""},
		{"GET", "//evil.example/..//?code=x", "User-Agent: \xff\xfe", ""},
		{"OPTIONS", "/v1/users/me", "X: y", ""},
		{"TRACE", "/v1/audit?limit=201", "X: y", ""},
		{"GET", "/v1/users/%2f%2e/orch-chats", "X: y", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	for _, seed := range everyOperation(f) {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	w := newFuzzWorld(f)
	f.Fuzz(func(t *testing.T, method, target, header, body string) {
		target, body = w.names.Replace(target), w.names.Replace(body)
		ctx := t.Context()
		if strings.Contains(target, "/changes") { // an open feed would not end
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
		}
		req, err := http.NewRequestWithContext(ctx, method, "http://localhost", strings.NewReader(body))
		if err != nil {
			return
		}
		path, query, _ := strings.Cut(target, "?")
		req.URL.Path, req.URL.RawQuery, req.RequestURI = path, query, target
		req.RemoteAddr = "127.0.0.1:1"
		key, value, _ := strings.Cut(header, ": ")
		req.Header.Set("Authorization", "Bearer "+w.token)
		if key != "Authorization" && key != "Host" {
			req.Header[http.CanonicalHeaderKey(key)] = []string{value}
		}
		rec := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(rec, req)
		if rec.Code >= 500 {
			t.Errorf("%s %q with %q and %q got %d: %s", method, target, header, body, rec.Code, rec.Body)
		}
		if method == http.MethodDelete && rec.Code < 300 {
			w.anew(t) // without a chat or a token there would be little left to find
		}
	})
}

// everyOperation is a request for each operation of the document, with
// something for each parameter and each field, so that none is left to chance.
func everyOperation(f *testing.F) (seeds [][4]string) {
	f.Helper()
	b, err := os.ReadFile("openapi.json")
	if err != nil {
		f.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters  []struct{ Name, In string }
			RequestBody *struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
				}
			}
		}
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Type any }
			}
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		f.Fatal(err)
	}
	fill := strings.NewReplacer("{user}", "me", "{name}", "nobody", "{chat}", "CHAT", "{agent}", "CHAT.1", "{task}", "CHAT.1", "{item}", "ITEM",
		"{token}", "x", "{provider}", "offline", "{artifact}", "CHAT-a1")
	values := map[string]any{"string": "x", "integer": 1, "number": 1, "boolean": true, "array": []any{map[string]any{}}, "object": map[string]any{}}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			op := doc.Paths[path][method]
			var query []string
			for _, p := range op.Parameters {
				if p.In == "query" {
					query = append(query, p.Name+"=1")
				}
			}
			body := ""
			if op.RequestBody != nil {
				fields := map[string]any{}
				for name, p := range doc.Components.Schemas[filepath.Base(op.RequestBody.Content["application/json"].Schema.Ref)].Properties {
					kind, _ := p.Type.(string)
					fields[name] = values[kind]
				}
				delete(fields, "$schema")
				text, err := json.Marshal(fields)
				if err != nil {
					f.Fatal(err)
				}
				body = string(text)
			}
			target, method := fill.Replace(path), strings.ToUpper(method)
			seeds = append(seeds, [4]string{method, target, "Content-Type: application/json", body})
			for _, q := range query { // one wrong value would hide what the others do
				seeds = append(seeds, [4]string{method, target + "?" + q, "Accept: */*", body})
			}
		}
	}
	return seeds
}

// fuzzWorld has a chat with a sub-agent that asks the user.
type fuzzWorld struct {
	*world
	names *strings.Replacer // CHAT and ITEM
}

// newFuzzWorld makes a world that lives as long as the fuzzing does.
func newFuzzWorld(f *testing.F) *fuzzWorld {
	f.Helper()
	w := &fuzzWorld{world: newWorld(f)}
	w.anew(f)
	return w
}

// anew makes what a request may have deleted.
func (w *fuzzWorld) anew(t testing.TB) {
	t.Helper()
	defer func(f testing.TB) { w.t = f }(w.t)
	w.t = t // what belongs to the whole must not be used within a request
	if w.call(w.token, http.MethodGet, chats, nil).status == http.StatusUnauthorized {
		var err error
		w.token, err = w.gate.LocalToken(t.Context(), filepath.Join(w.dir, "data"))
		w.ok(err)
	}
	chat, item := w.newChat("fuzz")
	w.names = strings.NewReplacer("CHAT", chat, "ITEM", item.ID)
}
