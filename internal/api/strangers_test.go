// Who has no business here gets nothing, on every route of the document: a new
// route is covered without a line here.

package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/store"
)

// filled names real things in a path, so that only the caller is wrong.
func filled(path, user, chat, sub, item string) string {
	return strings.NewReplacer("{user}", user, "{chat}", chat, "{agent}", sub, "{task}", sub, "{item}", item,
		"{artifact}", "secret", "{name}", "local", "{token}", "key-none").Replace(path)
}

func TestStrangersGetNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chat, item := w.newChat("My secret")
	sub := chat + ".1"
	w.ok(w.app.Store.Commit(t.Context(), &store.Batch{Entries: []*store.Entry{{
		Chat: chat, Agent: chat, At: 1, Type: "test", Version: 1, Verdict: store.Stale,
		Docs: []store.Doc{store.NewArtifact{Artifact: store.Artifact{ID: "secret", ChatID: chat, Agent: chat, Data: []byte("x")}}},
	}}}))
	_, other := w.newToken("eve", access.Admin, 0)
	_, expired := w.newToken("local", access.Admin, time.Nanosecond)
	revoked, revokedSecret := w.newToken("local", access.Admin, 0)
	w.ok(w.gate.Revoke(t.Context(), revoked))
	_, removed := w.newToken("gone", access.Admin, 0)
	w.ok(w.gate.RemoveUser(t.Context(), "gone"))
	tokens := map[access.Scope]string{}
	for _, s := range []access.Scope{access.Read, access.Write} {
		_, tokens[s] = w.newToken("local", s, 0)
	}
	for _, o := range w.spec.operations() {
		path := filled(o.path, "me", chat, sub, item.ID)
		try := func(who, token, path string, want ...int) {
			t.Helper()
			a := w.raw(token, o.method, path, map[string]any{})
			for _, s := range want {
				if a.status == s {
					return
				}
			}
			t.Errorf("%s: %s %s got %d, want %v: %s", who, o.method, path, a.status, want, a.body)
		}
		if o.scope == "" {
			if o.id != "login" && o.id != "healthz" && o.id != "readyz" {
				t.Errorf("%s is open to everybody", o.id)
			}
			continue
		}
		try("nobody", "", path, http.StatusUnauthorized)
		try("a wrong token", "cadre_wrong", path, http.StatusUnauthorized)
		try("an expired token", expired, path, http.StatusUnauthorized)
		try("a revoked token", revokedSecret, path, http.StatusUnauthorized)
		try("a removed user", removed, path, http.StatusUnauthorized)
		for have, token := range tokens {
			if !have.Allows(access.Scope(o.scope)) {
				try("a token of scope "+string(have), token, path, http.StatusForbidden)
			}
		}
		if strings.Contains(o.path, "{chat}") {
			try("another user", other, path, http.StatusNotFound)
		}
		if strings.Contains(o.path, "{user}") {
			try("another user under the owner's name", other, filled(o.path, "local", chat, sub, item.ID), http.StatusNotFound)
		}
	}
	// Another user's own lists and feeds hold nothing of it.
	for _, path := range []string{chats, "/v1/users/me/inbox?all=true", "/v1/stats?by=chat", "/v1/stats?chat=" + chat} {
		if a := w.call(other, http.MethodGet, path, nil); a.status != http.StatusOK || strings.Contains(string(a.body), chat) {
			t.Errorf("eve's %s: %d %s", path, a.status, a.body)
		}
	}
	var mine wire.Snapshot
	w.want(http.StatusOK, http.MethodGet, chats+"/"+chat, nil).into(t, &mine)
	if mine.Chat.State == "idle" {
		t.Error("a stranger stopped it")
	}
	// Things of one chat are not found through another one.
	var second wire.Snapshot
	w.want(http.StatusCreated, http.MethodPost, chats, wire.NewChat{}).into(t, &second)
	for _, o := range w.spec.operations() {
		if strings.Contains(o.path, "{chat}/") && strings.Contains(strings.SplitN(o.path, "{chat}", 2)[1], "{") {
			path := filled(o.path, "me", second.Chat.ID, sub, item.ID)
			if a := w.raw(w.token, o.method, path, map[string]any{"text": "x"}); a.status != http.StatusNotFound {
				t.Errorf("through another chat: %s %s got %d", o.method, path, a.status)
			}
		}
	}
}

// TestStreamsEndWithTheirKey: what is open when a key is revoked ends.
func TestStreamsEndWithTheirKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chat, _ := w.newChat("Watch")
	for _, path := range []string{chats + "/" + chat + "/changes", "/v1/users/me/changes"} {
		id, secret := w.newToken("local", access.Read, 0)
		f := w.follow(t, secret, path+"?since=0&deltas=false")
		f.next(t)
		w.ok(w.gate.Revoke(t.Context(), id))
		f.ends(t)
		_, short := w.newToken("local", access.Read, 300*time.Millisecond)
		f = w.follow(t, short, path+"?since=0&deltas=false")
		f.ends(t)
	}
	// eve's feed gets nothing of what anna does; her own chat comes first.
	_, eve := w.newToken("eve", access.Write, 0)
	f := w.follow(t, eve, "/v1/users/me/changes?since=0")
	w.newChat("More secrets")
	var own wire.Snapshot
	w.call(eve, http.MethodPost, chats, wire.NewChat{}).into(t, &own)
	if c := f.next(t); c.Chat != own.Chat.ID {
		t.Errorf("eve saw chat %s", c.Chat)
	}
	f.close()
}

func TestDoors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for host, status := range map[string]int{
		"localhost:7777": 200, "127.0.0.1": 200, "[::1]:7": 200, "LOCALHOST": 200, "evil.example": 421, "127.0.0.1.evil.example": 421, "10.0.0.1": 421, "": 200,
	} {
		header := []string{"Host", host}
		if host == "" {
			header = nil
		}
		if a := w.raw(w.token, http.MethodGet, "/v1/users/me", nil, header...); a.status != status {
			t.Errorf("host %q got %d, want %d", host, a.status, status)
		}
	}
	for path, status := range map[string]int{"/": 200, "/docs": 200, "/openapi.json": 200, "/v1/nothing": 404, "/v1": 404, "/debug/pprof/": 404} {
		a := w.raw(w.token, http.MethodGet, path, nil)
		if a.status != status {
			t.Errorf("%s got %d, want %d", path, a.status, status)
		}
		if csp := a.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
			t.Errorf("%s has the policy %q", path, csp)
		}
		if strings.Contains(string(a.body), "src=\"http") || strings.Contains(string(a.body), "<script") {
			t.Errorf("%s loads something", path)
		}
	}
	chat, _ := w.newChat("x")
	for _, write := range []string{
		"POST /tasks", "PATCH /tasks/x", "DELETE /tasks/x", "POST /sub-agents", "PATCH /sub-agents/x", "POST /sub-agents/x/messages",
		"DELETE /messages/x", "PUT /messages", "PUT /inbox/x", "DELETE /inbox", "POST /tree", "PUT /artifacts/x", "POST /no/such/place", "PUT ",
	} {
		method, path, _ := strings.Cut(write, " ")
		if a := w.raw(w.token, method, chats+"/"+chat+path, map[string]any{}); a.status != http.StatusForbidden || a.code() != "read_only" {
			t.Errorf("%s got %d %s", write, a.status, a.body)
		}
	}
	if a := w.raw(w.token, http.MethodPost, "/healthz", nil); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") == "" {
		t.Errorf("writing the health got %d %v", a.status, a.header)
	}
	// A body over the limit; a list that has not changed.
	if a := w.raw(w.token, http.MethodPatch, chats+"/"+chat, `{"title":"`+strings.Repeat("x", 2<<20)+`"}`); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body got %d", a.status)
	}
	w.want(http.StatusNoContent, http.MethodPost, chats+"/"+chat+"/stop", nil)
	w.atRest(chat)
	list := w.want(http.StatusOK, http.MethodGet, chats, nil)
	if tag := list.header.Get("ETag"); !strings.HasPrefix(tag, `W/"`) {
		t.Errorf("the tag is %q", tag)
	}
	w.want(http.StatusNotModified, http.MethodGet, chats, nil, "If-None-Match", list.header.Get("ETag"))
	zipped := w.raw(w.token, http.MethodGet, "/v1/roles", nil, "Accept-Encoding", "gzip")
	if zipped.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("roles came as %v", zipped.header)
	}
}

// TestBrokenBodies: a body that is not what its head says is the client's fault.
func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for what, rest := range map[string]string{
		"cut off":     "Content-Length: 100\r\n\r\n{\"theme\"",
		"no chunks":   "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
		"half chunks": "Transfer-Encoding: chunked\r\n\r\n10\r\n{}",
	} {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", w.http.Listener.Addr().String())
		w.ok(err)
		_, err = fmt.Fprintf(c, "PUT /v1/users/me/settings HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s", w.token, rest)
		w.ok(err)
		w.ok(c.(*net.TCPConn).CloseWrite())
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		w.ok(err)
		body, err := io.ReadAll(res.Body)
		w.ok(err)
		w.ok(res.Body.Close())
		if a := (answer{res.StatusCode, res.Header, body}); a.status != http.StatusBadRequest || a.code() != "body" || !strings.Contains(string(body), `"status":400`) {
			t.Errorf("%s: %d %s", what, a.status, body)
		}
		w.ok(c.Close())
	}
}

// TestRate: who asks too often is told so; others are not.
func TestRate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.close()
	t.Cleanup(w.open) // the world closes itself once more
	w.slow(1, 5)
	defer w.close()
	var last answer
	for range 10 {
		last = w.raw(w.token, http.MethodGet, "/v1/users/me", nil)
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" {
		t.Errorf("the tenth request got %d, %v", last.status, last.header)
	}
	_, other := w.newToken("local", access.Read, 0)
	if a := w.raw(other, http.MethodGet, "/v1/users/me", nil); a.status != http.StatusOK {
		t.Errorf("another key got %d: %s", a.status, fmt.Sprint(string(a.body)))
	}
}
