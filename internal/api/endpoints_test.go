// Every endpoint is driven once over HTTP, in one story.

package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/store"
)

const chats = "/v1/users/me/orch-chats"

// newChat starts a chat of the script and waits until its sub-agent asks.
func (w *world) newChat(text string) (chat string, item wire.Item) {
	w.t.Helper()
	var snap wire.Snapshot
	w.want(http.StatusCreated, http.MethodPost, chats, wire.NewChat{Model: "scripted:" + w.script, Text: text}).into(w.t, &snap)
	chat = snap.Chat.ID
	var items wire.Page[wire.Item]
	w.until(chats+"/"+chat+"/inbox", func(a answer) bool {
		items = wire.Page[wire.Item]{}
		a.into(w.t, &items)
		return len(items.Items) == 1
	})
	return chat, items.Items[0]
}

// atRest waits until the chat's orchestrator has nothing to do.
func (w *world) atRest(chat string) {
	w.t.Helper()
	w.until(chats+"/"+chat, func(a answer) bool {
		var s wire.Snapshot
		a.into(w.t, &s)
		return s.Chat.State == "idle" && s.Chat.Live == 0
	})
}

func TestEveryEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chat, item := w.newChat("Find out which one")
	at := chats + "/" + chat
	get := func(path string, v any) {
		t.Helper()
		a := w.want(http.StatusOK, http.MethodGet, path, nil)
		if v != nil {
			a.into(t, v)
		}
	}

	var list wire.Page[wire.Chat]
	get(chats+"?search=which&sort=created&order=asc", &list)
	if len(list.Items) != 1 || list.Items[0].ID != chat || list.Items[0].Waiting != 1 {
		t.Fatalf("the list is %+v", list)
	}
	get(chats+"?search=no%25thing", &list)
	if len(list.Items) != 0 {
		t.Errorf("a search for nothing finds %+v", list)
	}
	var tree wire.Tree
	get(at+"/tree", &tree)
	if len(tree.Agents) != 2 || tree.Agents[0].ID != chat || tree.Agents[1].SubAgent != "waiting_for_user" {
		t.Fatalf("the tree is %+v", tree)
	}
	sub := tree.Agents[1].ID
	var agents wire.Page[wire.Agent]
	get(at+"/sub-agents?status=waiting_for_user&role=researcher&depth=1&sort=cost&order=desc", &agents)
	if len(agents.Items) != 1 || agents.Items[0].ID != sub {
		t.Errorf("the sub-agents are %+v", agents)
	}
	get(at+"/sub-agents?depth=2", &agents)
	if len(agents.Items) != 0 {
		t.Errorf("at depth 2 there is %+v", agents)
	}
	get(at+"/sub-agents/"+sub, nil)
	get(at+"/sub-agents/"+chat, nil)
	var tasks wire.Page[wire.Task]
	get(at+"/tasks?status=waiting&role=researcher&depth=1", &tasks)
	if len(tasks.Items) != 1 {
		t.Fatalf("the tasks are %+v", tasks)
	}
	get(at+"/tasks/"+tasks.Items[0].ID, nil)
	var calls wire.Page[wire.ToolCall]
	get(at+"/sub-agents/"+sub+"/tool-calls?status=success", &calls)
	if len(calls.Items) != 1 || calls.Items[0].Name != "LS" {
		t.Errorf("the tool calls are %+v", calls)
	}
	get(at+"/sub-agents/"+sub+"/model-calls", nil)
	get(at+"/sub-agents/"+sub+"/messages?order=desc&limit=1", nil)
	var log wire.Page[wire.LogEntry]
	get(at+"/sub-agents/"+sub+"/log", &log)
	told := map[string]bool{}
	for _, e := range log.Items {
		told[e.State] = true
	}
	if !told["thinking"] || !told["acting"] || !told["awaiting_answer"] {
		t.Errorf("the states in the log are %v", told)
	}
	var prompt wire.Prompt
	get(at+"/sub-agents/"+sub+"/prompt", &prompt)
	if !strings.Contains(prompt.Text, "researcher") || len(prompt.Tools) == 0 {
		t.Errorf("the prompt is %+v", prompt)
	}
	get(at+"/inbox/"+item.ID, nil)
	get("/v1/users/me/inbox?kind=question", nil)
	get("/v1/users/me/agents", &agents)
	if len(agents.Items) != 2 || agents.Items[0].ID != chat || agents.Items[1].ID != sub {
		t.Errorf("at work are %+v", agents)
	}
	var run wire.Run
	get(at+"/run", &run)
	if run.Idle || run.Live != 1 || run.Outcome != "" {
		t.Errorf("the run is %+v", run)
	}

	// An approval is no answer to a question; the first answer counts.
	yes := true
	if a := w.call(w.token, http.MethodPost, at+"/inbox/"+item.ID+"/answer", wire.Answer{Allow: &yes}); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a wrong answer got %d: %s", a.status, a.body)
	}
	w.want(http.StatusOK, http.MethodPost, at+"/inbox/"+item.ID+"/answer", wire.Answer{Text: "the first"})
	a := w.want(http.StatusConflict, http.MethodPost, at+"/inbox/"+item.ID+"/answer", wire.Answer{Text: "the second"})
	if a.code() != "answered" || !strings.Contains(string(a.body), "Anna") {
		t.Errorf("a second answer is told %s", a.body)
	}
	w.atRest(chat)
	get(at+"/inbox?all=true", nil)
	get(at+"/run", &run)
	if !run.Idle || run.Outcome != "completed" || run.Result != "the end" || run.Agents != 2 || run.Usage.Input == 0 {
		t.Errorf("the run ended as %+v", run)
	}
	get("/v1/users/me/agents", &agents)
	if len(agents.Items) != 0 {
		t.Errorf("at rest there are %+v", agents)
	}

	// Messages: the same key is one message, with the same answer.
	m := wire.NewMessage{Text: "And now?", Attachments: []wire.Attachment{
		{Name: "a.txt", Data: []byte("hello")}, {Name: "a.png", Data: append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 8)...)},
	}}
	first := w.want(http.StatusCreated, http.MethodPost, at+"/messages", m, "Idempotency-Key", "k1")
	again := w.want(http.StatusOK, http.MethodPost, at+"/messages", m, "Idempotency-Key", "k1")
	var one, two wire.Message
	first.into(t, &one)
	again.into(t, &two)
	if one.ID != two.ID {
		t.Errorf("the same key made %s and %s", one.ID, two.ID)
	}
	w.want(http.StatusUnprocessableEntity, http.MethodPost, at+"/messages", wire.NewMessage{Text: "Other"}, "Idempotency-Key", "k1")
	for text, code := range map[string]string{"@nobody do it": "addressee", "@researcher do it": "addressee", " ": "empty"} {
		if a := w.call(w.token, http.MethodPost, at+"/messages", wire.NewMessage{Text: text}); a.status != http.StatusUnprocessableEntity || a.code() != code {
			t.Errorf("%q got %d %s", text, a.status, a.body)
		}
	}
	w.want(http.StatusUnprocessableEntity, http.MethodPost, at+"/messages", wire.NewMessage{Text: "x", Attachments: []wire.Attachment{{Name: "z", Data: []byte{0, 1, 2}}}})
	w.atRest(chat)

	// A message may choose the model that answers from it on.
	for text, model := range map[string]string{"x": "nobody/nothing", "@researcher x": "offline", "@main x": "nobody/nothing"} {
		if a := w.call(w.token, http.MethodPost, at+"/messages", wire.NewMessage{Text: text, Model: model}); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%q with model %s got %d %s", text, model, a.status, a.body)
		}
	}
	w.want(http.StatusCreated, http.MethodPost, at+"/messages", wire.NewMessage{Text: "Without a script", Model: "offline,scripted:" + w.script})
	w.atRest(chat)
	var snap wire.Snapshot
	get(at, &snap)
	if snap.Chat.Model != "offline" || snap.Orchestrator.Model != "offline" {
		t.Errorf("the models are %s and %s", snap.Chat.Model, snap.Orchestrator.Model)
	}
	get(at+"/sub-agents/"+chat+"/prompt", &prompt)
	if prompt.Model != "offline, scripted:"+w.script {
		t.Errorf("the prompt is said to be for %s", prompt.Model)
	}
	var said wire.Page[wire.Message]
	get(at+"/messages", &said)

	// A fork takes over what was said before the message.
	var fork wire.Snapshot
	w.want(http.StatusCreated, http.MethodPost, at+"/fork", wire.Fork{Message: one.ID, Text: "Else"}).into(t, &fork)
	w.atRest(fork.Chat.ID)
	if st, _, err := engine.Load(t.Context(), w.app.Store, fork.Chat.ID); err != nil || !slices.Equal(st.Spec.Models, []string{"offline", "scripted:" + w.script}) {
		t.Errorf("the models of the fork are %v, %v", st.Spec.Models, err)
	}
	var forked wire.Page[wire.Message]
	get(chats+"/"+fork.Chat.ID+"/messages", &forked)
	pos := 0
	for i, x := range said.Items {
		if x.ID == one.ID {
			pos = i
		}
	}
	if pos == 0 || len(forked.Items) <= pos || !bytes.Equal(forked.Items[pos-1].Parts, said.Items[pos-1].Parts) || !strings.Contains(string(forked.Items[pos].Parts), "Else") {
		t.Errorf("the fork at %d is %+v", pos, forked.Items)
	}
	w.want(http.StatusNotFound, http.MethodPost, at+"/fork", wire.Fork{Message: "msg-none"})
	w.want(http.StatusUnprocessableEntity, http.MethodPost, at+"/fork", wire.Fork{Message: said.Items[1].ID})

	w.manage(chat, sub)
	w.want(http.StatusOK, http.MethodPost, "/v1/providers/anthropic/test", nil)
	w.administer()

	get("/healthz", nil)
	get("/readyz", nil)
	if a := w.want(http.StatusOK, http.MethodGet, "/metrics", nil); !strings.Contains(string(a.body), "cadre_model_calls_total") {
		t.Errorf("the metrics are %s", a.body)
	}
	for _, path := range []string{at + "/changes", "/v1/users/me/changes?format=ndjson&since=0&collections=inbox,tasks&deltas=false"} {
		get(path, nil)
	}
	for _, o := range w.spec.operations() {
		if !w.spec.seen[o.id] {
			t.Errorf("%s (%s %s) was not driven", o.id, o.method, o.path)
		}
	}
}

// manage drives what changes chats.
func (w *world) manage(chat, sub string) {
	t, at := w.t, chats+"/"+chat
	t.Helper()
	title, archived := "New name", true
	var row wire.Chat
	w.want(http.StatusOK, http.MethodPatch, at, wire.SetChat{Title: &title, Archived: &archived}).into(t, &row)
	if row.Title != title || !row.Archived {
		t.Errorf("the chat became %+v", row)
	}
	w.want(http.StatusUnprocessableEntity, http.MethodPatch, at, wire.SetChat{})
	w.want(http.StatusNoContent, http.MethodPut, at+"/read", wire.ReadMark{Seq: 5})
	w.want(http.StatusNoContent, http.MethodPut, at+"/read", wire.ReadMark{Seq: 3})
	var snap wire.Snapshot
	w.want(http.StatusOK, http.MethodGet, at, nil).into(t, &snap)
	if snap.Chat.Read != 5 {
		t.Errorf("the read mark is %d", snap.Chat.Read)
	}
	w.want(http.StatusNoContent, http.MethodPost, at+"/stop", nil)
	w.want(http.StatusNoContent, http.MethodPost, at+"/sub-agents/"+sub+"/stop", nil)
	w.want(http.StatusNoContent, http.MethodPost, at+"/tasks/"+sub+"/stop", nil)
	w.ok(w.app.Store.Commit(t.Context(), &store.Batch{Entries: []*store.Entry{{
		Chat: chat, Agent: chat, At: 1, Type: "test", Version: 1, Verdict: store.Stale,
		Docs: []store.Doc{store.NewArtifact{Artifact: store.Artifact{ID: "art", ChatID: chat, Agent: chat, Name: "a\"b.html", MediaType: "text/html", Size: 5, Data: []byte("<b>hi")}}},
	}}}))
	a := w.want(http.StatusOK, http.MethodGet, at+"/artifacts/art", nil)
	if string(a.body) != "<b>hi" || !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment") ||
		a.header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the artifact came as %v", a.header)
	}
	busy, _ := w.newChat("Busy")
	if a := w.want(http.StatusConflict, http.MethodDelete, chats+"/"+busy, nil); a.code() != "busy" {
		t.Errorf("a busy chat: %s", a.body)
	}
	before := w.lastSeq()
	w.want(http.StatusNoContent, http.MethodDelete, chats+"/"+busy+"?force=true", nil)
	w.want(http.StatusNotFound, http.MethodGet, chats+"/"+busy, nil)
	w.want(http.StatusNotFound, http.MethodGet, chats+"/"+busy+"/changes?since="+before, nil)
	w.beginAnew(chat, before)
	w.want(http.StatusForbidden, http.MethodPost, chats, nil, "Authorization", "Bearer "+second(w.newToken("local", "read", 0)))
	for _, dir := range []string{"/", "/nowhere"} {
		_, writer := w.newToken("local", "write", 0)
		if a := w.call(writer, http.MethodPost, chats, wire.NewChat{Dir: dir}); a.status != http.StatusForbidden {
			t.Errorf("a writer works in %s: %d", dir, a.status)
		}
	}
	w.want(http.StatusUnprocessableEntity, http.MethodPost, chats, wire.NewChat{Dir: "/nowhere"})
	w.want(http.StatusUnprocessableEntity, http.MethodPost, chats, wire.NewChat{Role: "nobody"})
}

// beginAnew: where there is no way on from a number, the answer is what to begin
// anew with.
func (w *world) beginAnew(chat, before string) {
	t := w.t
	t.Helper()
	next, _ := w.newChat("After a deletion")
	for since, code := range map[string]string{before: "deleted", "999999999": "ahead"} {
		var p wire.Problem
		w.want(http.StatusGone, http.MethodGet, "/v1/users/me/changes?since="+since, nil).into(t, &p)
		if p.Code != code || p.Overview == nil || p.Snapshot != nil || p.Seq != p.Overview.Seq {
			t.Fatalf("since %s: %+v", since, p)
		}
		var chats, inbox bytes.Buffer // of what the lists show
		w.ok(json.NewEncoder(&chats).Encode(p.Overview.Chats))
		w.ok(json.NewEncoder(&inbox).Encode(p.Overview.Inbox))
		for path, got := range map[string]string{"/v1/users/me/orch-chats": chats.String(), "/v1/users/me/inbox": inbox.String()} {
			if want := string(w.want(http.StatusOK, http.MethodGet, path, nil).body); strings.TrimSpace(want) != strings.TrimSpace(got) {
				t.Errorf("since %s: begins with\n  %s, but %s is\n  %s", since, got, path, want)
			}
		}
		if !strings.Contains(chats.String(), next) || !strings.Contains(inbox.String(), next) {
			t.Errorf("since %s: what is there is not shown: %s %s", since, chats.String(), inbox.String())
		}
		f := w.follow(t, w.token, fmt.Sprintf("/v1/users/me/changes?since=%d", p.Seq))
		title := "Renamed since " + since
		w.want(http.StatusOK, http.MethodPatch, chatsPath(chat), wire.SetChat{Title: &title})
		if c := f.next(t); c.Type != "chat_renamed" || c.Prev != p.Seq {
			t.Errorf("after the overview comes %+v", c)
		}
		f.close()
	}
	var p wire.Problem
	w.want(http.StatusGone, http.MethodGet, chatsPath(chat)+"/changes?since=999999999", nil).into(t, &p)
	if p.Code != "ahead" || p.Snapshot == nil || p.Overview != nil || p.Snapshot.Chat.ID != chat || p.Seq != p.Snapshot.Seq || p.Seq != w.newest() {
		t.Errorf("the feed of a chat: %+v", p)
	}
}

func chatsPath(chat string) string { return chats + "/" + chat }

func second(_, b string) string { return b }

func (w *world) lastSeq() string {
	w.t.Helper()
	var me wire.Me
	w.want(http.StatusOK, http.MethodGet, "/v1/users/me", nil).into(w.t, &me)
	b, err := json.Marshal(me.Seq)
	w.ok(err)
	return string(b)
}

// administer drives users, tokens, sessions and what else belongs to people.
func (w *world) administer() {
	t := w.t
	t.Helper()
	for _, path := range []string{"/v1/roles", "/v1/models", "/v1/providers", "/v1/policy", "/v1/stats?by=day", "/v1/stats?by=agent", "/v1/users", "/v1/tokens?kind=token", "/v1/audit?limit=2", "/v1/audit?action=inbox.answer"} {
		w.want(http.StatusOK, http.MethodGet, path, nil)
	}
	w.want(http.StatusOK, http.MethodGet, "/v1/policy", nil)
	var providers wire.Page[wire.Provider]
	w.want(http.StatusOK, http.MethodGet, "/v1/providers", nil).into(t, &providers)
	bare := slices.IndexFunc(providers.Items, func(p wire.Provider) bool { return !p.Ready }) // its test asks nobody
	w.want(http.StatusOK, http.MethodPost, "/v1/providers/"+providers.Items[max(bare, 0)].Name+"/test", nil)
	w.want(http.StatusNotFound, http.MethodPost, "/v1/providers/nobody/test", nil)
	w.want(http.StatusNoContent, http.MethodPut, "/v1/users/me/settings", map[string]any{"theme": "dark"})
	if a := w.want(http.StatusOK, http.MethodGet, "/v1/users/local/settings", nil); !strings.Contains(string(a.body), "dark") {
		t.Errorf("the settings are %s", a.body)
	}
	w.want(http.StatusCreated, http.MethodPost, "/v1/users", wire.NewUser{Name: "Berta"})
	w.want(http.StatusConflict, http.MethodPost, "/v1/users", wire.NewUser{Name: "berta"})
	w.want(http.StatusUnprocessableEntity, http.MethodPost, "/v1/users", wire.NewUser{Name: "me"})
	var tok wire.Token
	w.want(http.StatusCreated, http.MethodPost, "/v1/tokens", wire.NewToken{User: "berta", Scope: "write", ExpiresIn: 60_000}).into(t, &tok)
	w.want(http.StatusNotFound, http.MethodPost, "/v1/tokens", wire.NewToken{User: "nobody", Scope: "read"})

	login := w.want(http.StatusNoContent, http.MethodPost, "/v1/session", wire.Login{Token: tok.Secret})
	cookie, _, _ := strings.Cut(login.header.Get("Set-Cookie"), ";")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(login.header.Get("Set-Cookie"), part) {
			t.Errorf("the cookie is %s", login.header.Get("Set-Cookie"))
		}
	}
	own, err := url.Parse(w.http.URL)
	w.ok(err)
	for _, test := range []struct {
		status int
		header []string
	}{
		{http.StatusForbidden, []string{"Origin", "http://evil.example"}},
		{http.StatusForbidden, nil},
		{http.StatusForbidden, []string{"Sec-Fetch-Site", "cross-site"}},
		{http.StatusCreated, []string{"Origin", "http://" + own.Host}},
		{http.StatusCreated, []string{"Sec-Fetch-Site", "same-origin"}},
	} {
		if a := w.call("", http.MethodPost, "/v1/codes", nil, append(test.header, "Cookie", cookie)...); a.status != test.status {
			t.Errorf("a cookie with %v got %d, want %d", test.header, a.status, test.status)
		}
	}
	var code wire.Code
	w.want(http.StatusCreated, http.MethodPost, "/v1/codes", nil).into(t, &code)
	in := w.raw("", http.MethodGet, "/chat?x=1&code="+code.Code, nil)
	if in.status != http.StatusSeeOther || in.header.Get("Location") != "/chat?x=1" || in.header.Get("Set-Cookie") == "" {
		t.Errorf("the code led to %d %v", in.status, in.header)
	}
	if a := w.raw("", http.MethodGet, "/?code="+code.Code, nil); a.status != http.StatusUnauthorized {
		t.Errorf("the code worked twice: %d", a.status)
	}
	if a := w.call("", http.MethodDelete, "/v1/session", nil, "Cookie", cookie, "Sec-Fetch-Site", "same-origin"); a.status != http.StatusNoContent {
		t.Errorf("logging out got %d %s", a.status, a.body)
	}
	if a := w.call("", http.MethodGet, "/v1/users/me", nil, "Cookie", cookie); a.status != http.StatusUnauthorized {
		t.Errorf("a session that ended gets %d", a.status)
	}
	w.want(http.StatusNoContent, http.MethodDelete, "/v1/tokens/"+tok.Key.ID, nil)
	w.want(http.StatusNoContent, http.MethodDelete, "/v1/users/berta", nil)
	w.want(http.StatusUnprocessableEntity, http.MethodDelete, "/v1/users/local", nil)
}
