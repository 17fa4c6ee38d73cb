// The Go client against a real server: every request that it makes and every
// answer it gets is held against the document.

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/client"
	"github.com/cadre-dev/cadre/internal/store"
)

// checked is a client whose traffic is held against the document.
func (w *world) checked() *client.Client {
	w.t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/changes") {
			w.server.Handler().ServeHTTP(out, r)
			return
		}
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			w.t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
		r.Header.Del("Accept-Encoding")
		kept := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(kept, r)
		var body any
		if len(sent) > 0 {
			if err := json.Unmarshal(sent, &body); err != nil {
				w.t.Error(err)
			}
		}
		w.spec.check(w.t, r.Method, r.URL.RequestURI(), body, answer{status: kept.Code, header: kept.Header(), body: kept.Body.Bytes()})
		for name, values := range kept.Header() {
			out.Header()[name] = values
		}
		out.WriteHeader(kept.Code)
		_, _ = out.Write(kept.Body.Bytes()) // who has gone needs no answer
	}))
	w.t.Cleanup(front.Close)
	c, err := client.New(client.Options{Address: front.URL, Token: w.token})
	w.ok(err)
	w.t.Cleanup(c.Close)
	return c
}

func TestClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checked()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	snap, err := c.CreateChat(ctx, wire.NewChat{Model: "scripted:" + w.script})
	w.ok(err)
	chat := snap.Chat.ID
	if _, err := c.Post(ctx, chat, wire.NewMessage{ID: "msg-12345678", Text: "Find out"}); err != nil {
		t.Fatal(err)
	}
	if m, err := c.Post(ctx, chat, wire.NewMessage{ID: "msg-12345678", Text: "Find out"}); err != nil || m.ID != "msg-12345678" {
		t.Errorf("the same message again: %+v %v", m, err)
	}
	var kinds []string
	var item store.Item
	var last int64
	for x, err := range c.Follow(ctx, client.Feed{Chat: chat, Since: 0, Deltas: true}) {
		w.ok(err)
		if x.Change == nil {
			continue
		}
		last = x.Change.Seq
		for _, d := range x.Change.Docs {
			switch v := d.Data.(type) {
			case store.Chat, store.Agent, store.Task, store.Message, store.ToolCall, store.ModelCall:
				kinds = append(kinds, d.Collection)
			case store.Item:
				item = v
			default:
				t.Errorf("%s came as %T", d.Collection, v)
			}
		}
		if item.Status == "open" {
			break
		}
	}
	for _, want := range []string{"orch-chats", "orchestrator", "sub-agents", "tasks", "messages", "sub-agents/" + chat + ".1/tool-calls", "model-calls"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("the feed has no %s: %q", want, kinds)
		}
	}
	sub := chat + ".1"
	agents, err := c.Agents(ctx, chat)
	w.ok(err)
	running, err := c.Running(ctx)
	w.ok(err)
	if len(agents) != 2 || len(running) != 2 {
		t.Errorf("the agents are %+v, running %+v", agents, running)
	}
	a, err := c.Agent(ctx, sub)
	w.ok(err)
	tasks, err := c.Tasks(ctx, chat)
	w.ok(err)
	tools, err := c.ToolCalls(ctx, sub)
	w.ok(err)
	models, err := c.ModelCalls(ctx, sub)
	w.ok(err)
	said, err := c.LastMessages(ctx, chat)
	w.ok(err)
	if a.ID != sub || len(tasks) != 1 || len(tools) != 2 || len(models) != 2 || len(said) == 0 || said[0].ID != "msg-12345678" {
		t.Errorf("%+v %+v %+v %+v %+v", a, tasks, tools, models, said)
	}
	for _, of := range []string{"", chat} {
		items, err := c.Inbox(ctx, of, true)
		w.ok(err)
		if len(items) != 1 || items[0].ID != item.ID {
			t.Errorf("the inbox of %q is %+v", of, items)
		}
	}
	found, err := c.Item(ctx, item.ID)
	w.ok(err)
	if found.Agent != sub {
		t.Errorf("the item is %+v", found)
	}
	var p *wire.Problem
	yes := true
	if _, err := c.Answer(ctx, item.ID, wire.Answer{Allow: &yes}); !errors.As(err, &p) || p.Code != "answer" {
		t.Errorf("a wrong answer: %v", err)
	}
	_, err = c.Answer(ctx, item.ID, wire.Answer{Text: "this one"})
	w.ok(err)
	w.atRest(chat)
	run, err := c.Run(ctx, chat)
	w.ok(err)
	if run.Outcome != "completed" {
		t.Errorf("the run is %+v", run)
	}
	w.ok(c.Stop(ctx, chat))
	w.ok(c.Stop(ctx, sub))
	me, err := c.Me(ctx)
	w.ok(err)
	for x, err := range c.Follow(ctx, client.Feed{Since: last, Until: me.Seq}) {
		w.ok(err)
		if x.Change.Seq <= last {
			t.Errorf("change %d comes after %d", x.Change.Seq, last)
		}
		last = x.Change.Seq
	}
	if last != w.newest() {
		t.Errorf("the feed ends with %d, the newest is %d", last, w.newest())
	}

	// People and keys.
	u, err := c.AddUser(ctx, "Berta")
	w.ok(err)
	if _, err := c.AddUser(ctx, "berta"); !errors.Is(err, store.ErrDuplicate) {
		t.Errorf("a user twice: %v", err)
	}
	users, err := c.Users(ctx)
	w.ok(err)
	tok, err := c.CreateToken(ctx, wire.NewToken{User: u.ID, Scope: "read"})
	w.ok(err)
	keys, err := c.Tokens(ctx)
	w.ok(err)
	if len(users) < 2 || !slices.ContainsFunc(keys, func(k wire.Key) bool { return k.ID == tok.Key.ID }) {
		t.Errorf("%+v %+v", users, keys)
	}
	w.ok(c.RevokeToken(ctx, tok.Key.ID))
	w.ok(c.RemoveUser(ctx, u.ID))
	for what, err := range map[string]error{
		"a chat": second2(c.Chat(ctx, "none")), "an agent": second2(c.Agent(ctx, "none.1")), "an item": second2(c.Item(ctx, "none-i1")),
		"a user": c.RemoveUser(ctx, "nobody"), "a stop": c.Stop(ctx, "none"),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s that is not there: %v", what, err)
		}
	}
}

func second2[T any](_ T, err error) error { return err }

// TestUntil: a feed with an end ends, and an end that is not there is refused.
func TestUntil(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chat, _ := w.newChat("Until")
	for _, path := range []string{chats + "/" + chat + "/changes", "/v1/users/me/changes"} {
		f := w.follow(t, w.token, path+"?since=2&until=4")
		var seqs []int64
		for {
			c, ok := f.change(t)
			if !ok {
				break
			}
			seqs = append(seqs, c.Seq)
		}
		if !slices.Equal(seqs, []int64{3, 4}) {
			t.Errorf("%s has %v", path, seqs)
		}
		if a := w.want(http.StatusUnprocessableEntity, http.MethodGet, path+"?until=99999", nil); a.code() != "until" {
			t.Errorf("an end that is not there: %s", a.body)
		}
	}
}
