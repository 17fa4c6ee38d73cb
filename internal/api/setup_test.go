// What is configured, as the API tells it; and what is unread.

package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
)

func TestSetup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var providers wire.Page[wire.Provider]
	w.want(http.StatusOK, http.MethodGet, "/v1/providers", nil).into(t, &providers)
	if len(providers.Items) == 0 {
		t.Fatal("no provider is known")
	}
	for _, p := range providers.Items {
		if p.Ready || p.Missing == "" {
			t.Errorf("%s has no key and does not run, but is told as %+v", p.Name, p)
		}
	}
	var found wire.Finding
	w.want(http.StatusOK, http.MethodPost, "/v1/providers/anthropic/test", nil).into(t, &found)
	if found.OK || !strings.Contains(found.Hint, "ANTHROPIC_API_KEY") {
		t.Errorf("the test of a provider without a key says %+v", found)
	}
	w.want(http.StatusNotFound, http.MethodPost, "/v1/providers/nobody/test", nil)

	var policy wire.Policy
	w.want(http.StatusOK, http.MethodGet, "/v1/policy", nil).into(t, &policy)
	if policy.Mode != "ask" || policy.MaxDepth == 0 || policy.ApprovalMS == 0 || policy.MaxAgents == 0 {
		t.Errorf("the policy is %+v", policy)
	}

	chat, _ := w.newChat("Find out")
	var prompt wire.Prompt
	w.want(http.StatusOK, http.MethodGet, chats+"/"+chat+"/sub-agents/"+chat+"/prompt", nil).into(t, &prompt)
	if len(prompt.Tools) == 0 || prompt.Tools[0].Description == "" || len(prompt.Tools[0].Schema) == 0 {
		t.Errorf("the tools are not described: %+v", prompt.Tools)
	}
}

// TestUnread: a reply is unread until its change was marked as read.
func TestUnread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chat, _ := w.newChat("Find out")
	row := func() wire.Chat {
		var s wire.Snapshot
		w.want(http.StatusOK, http.MethodGet, chats+"/"+chat, nil).into(t, &s)
		return s.Chat
	}
	before := row()
	if before.Replied == 0 || before.Read >= before.Replied {
		t.Fatalf("nothing is unread: replied %d, read %d", before.Replied, before.Read)
	}
	w.want(http.StatusNoContent, http.MethodPut, chats+"/"+chat+"/read", wire.ReadMark{Seq: before.Replied})
	if after := row(); after.Read != before.Replied || after.Replied != before.Replied {
		t.Errorf("read up to %d of %d, want %d", after.Read, after.Replied, before.Replied)
	}
	if a := w.want(http.StatusUnprocessableEntity, http.MethodPut, chats+"/"+chat+"/read", wire.ReadMark{Seq: 1 << 40}); a.code() != "seq" {
		t.Errorf("what does not exist yet was read: %s", a.body)
	}
}

// TestOwnThings: what a user has read and set reaches their other windows, and
// nobody else.
func TestOwnThings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chat, _ := w.newChat("Find out")
	_, stranger := w.newToken("bert", access.Admin, 0)
	since := w.newest()
	at := fmt.Sprintf("/v1/users/me/changes?deltas=false&since=%d", since)
	window, theirs := w.follow(t, w.token, at), w.follow(t, stranger, at)

	mark := chats + "/" + chat + "/read"
	w.want(http.StatusNoContent, http.MethodPut, mark, wire.ReadMark{Seq: 3})
	w.want(http.StatusNoContent, http.MethodPut, mark, wire.ReadMark{Seq: 2}) // changes nothing and is not told
	w.want(http.StatusNoContent, http.MethodPut, "/v1/users/me/settings", map[string]any{"theme": "dark"})
	if a := w.call(stranger, http.MethodPut, "/v1/users/me/settings", map[string]any{"theme": "light"}); a.status != http.StatusNoContent {
		t.Fatalf("a second user cannot keep settings: %s", a.body)
	}

	for _, want := range []string{
		`chat_read ` + chat + ` [{"collection":"read-marks","id":"` + chat + `","data":{"chatId":"` + chat + `","readSeq":3}}]`,
		`settings_changed  [{"collection":"settings","id":"local","data":{"theme":"dark"}}]`,
	} {
		c := window.next(t)
		docs, err := json.Marshal(c.Docs)
		w.ok(err)
		if got := fmt.Sprintf("%s %s %s", c.Type, c.Chat, docs); got != want {
			t.Errorf("the other window is told\n  %s, not\n  %s", got, want)
		}
	}
	if c := theirs.next(t); c.Type != "settings_changed" || len(c.Docs) != 1 || c.Docs[0].ID != "bert" {
		t.Errorf("a second user is told %+v", c)
	}
}
