// Whatever is sent, the server answers without falling over: no 5xx.

package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/api/wire"
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
	w := newFuzzWorld(f)
	chat := w.chat
	f.Fuzz(func(t *testing.T, method, target, header, body string) {
		target, body = strings.ReplaceAll(target, "CHAT", chat), strings.ReplaceAll(body, "CHAT", chat)
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
	})
}

type fuzzWorld struct {
	*world
	chat string
}

// newFuzzWorld makes a world that lives as long as the fuzzing does.
func newFuzzWorld(f *testing.F) fuzzWorld {
	f.Helper()
	w := newWorld(f)
	var snap wire.Snapshot
	w.want(http.StatusCreated, http.MethodPost, chats, wire.NewChat{Title: "fuzz"}).into(f, &snap)
	return fuzzWorld{w, snap.Chat.ID}
}
