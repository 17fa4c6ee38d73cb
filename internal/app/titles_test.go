// Chats get a name from the fast tier after their first exchange.

package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/llm/modelserver"
	"github.com/cadre-dev/cadre/internal/llm/scripted"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

const naming = `
name: naming
agents:
  - match: {}
    turns:
      - when: {user: "User: "}
        text: "\"Rain in **May**.\"\n"
      - text: It rains.
    after: last
`

func TestTitles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, map[string]string{"naming.yaml": naming})
	model, err := scripted.Load(filepath.Join(root, "naming.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(modelserver.New(model, modelserver.Options{}))
	t.Cleanup(server.Close)
	put(t, root, map[string]string{"home/cadre/config.yaml": fmt.Sprintf(
		"model: house/m\ntiers: {fast: house/small}\nproviders: {house: {kind: openai, base_url: '%s/v1', key: k, models: [m, small]}}\n", server.URL)})
	a := openAt(t, root, root)
	ctx, stop := context.WithCancel(t.Context())
	var named sync.WaitGroup
	named.Go(func() { a.NameChats(ctx, slog.New(slog.DiscardHandler)) })
	t.Cleanup(func() { stop(); named.Wait() })

	const asked = "What will the weather be like in the month of May?"
	chat := spoken(t, a, root, "", view.Title(asked), asked)
	deadline := time.Now().Add(time.Minute)
	for titleOf(t, a, chat) != "Rain in May" {
		if time.Now().After(deadline) {
			t.Fatalf("the title is %q", titleOf(t, a, chat))
		}
		runtime.Gosched()
	}
	if root, err := a.Store.Agent(t.Context(), chat); err != nil || root.Turns != 1 {
		t.Errorf("naming is no turn of the chat: %+v, %v", root, err)
	}

	for _, test := range []struct{ what, title, model string }{
		{"named by hand", "Mine", ""},
		{"of a simulation", view.Title("hello"), OfflineModel},
	} {
		chat := spoken(t, a, root, test.model, test.title, "hello")
		if err := a.name(t.Context(), chat); err != nil {
			t.Fatal(err)
		}
		if got := titleOf(t, a, chat); got != test.title {
			t.Errorf("the title of a chat %s is %q, want %q", test.what, got, test.title)
		}
	}
}

// spoken makes a chat in which one thing was said and answered.
func spoken(t *testing.T, a *App, dir, model, title, text string) string {
	t.Helper()
	c, err := a.Performer.NewChat(orchestrate.Root{Role: role.Main, Model: model, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c.User, c.Title = store.User{ID: "ann"}, title
	id, err := a.Engine.CreateChat(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ends, leave := a.Engine.Outcomes(id)
	defer leave()
	if err := a.Engine.Send(t.Context(), id, "msg-"+id, message.Of(message.User, message.KindUser, text), nil); err != nil {
		t.Fatal(err)
	}
	<-ends
	return id
}

func titleOf(t *testing.T, a *App, chat string) string {
	t.Helper()
	c, err := a.Store.Chat(t.Context(), chat)
	if err != nil {
		t.Fatal(err)
	}
	return c.Title
}
