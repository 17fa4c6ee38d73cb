// MCP servers that connect late and change their lists, as chats see them.

package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/orchestrate"
)

// TestServerComesLate: an agent that is made after a server has connected, or
// has changed its list, has its tools; an orchestrator that was made before
// gets them when its history is shortened.
func TestServerComesLate(t *testing.T) {
	t.Parallel()
	var listen net.ListenConfig
	at, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := at.Addr().String()
	if err := at.Close(); err != nil { // nobody is there yet
		t.Fatal(err)
	}
	home := t.TempDir()
	file := filepath.Join(home, "cadre", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, `mcpServers: {late: {type: http, url: "http://%s/mcp"}}`, address), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	a, err := Open(Options{Data: t.TempDir(), Dir: dir, Env: func(key string) string {
		return map[string]string{"XDG_CONFIG_HOME": home, "PATH": os.Getenv("PATH")}[key]
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	before := newSpec(t, a, dir)
	if slices.Contains(before.Tools, "mcp__late__one") {
		t.Fatal("there is a tool of a server that is not there")
	}

	server := mcp.NewServer(&mcp.Implementation{Name: "late"}, nil)
	add := func(name string) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: "does " + name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
	}
	add("one")
	if at, err = listen.Listen(t.Context(), "tcp", address); err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil), ReadHeaderTimeout: time.Minute}
	go func() { _ = web.Serve(at) }() // it ends with Close
	t.Cleanup(func() { _ = web.Close() })

	await := func(name string) agent.Spec {
		for deadline := time.Now().Add(2 * time.Minute); ; {
			if spec := newSpec(t, a, dir); slices.Contains(spec.Tools, name) {
				return spec
			}
			if time.Now().After(deadline) {
				t.Fatalf("no agent has the tool %s", name)
			}
			select {
			case <-t.Context().Done():
				t.Fatal(t.Context().Err())
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	await("mcp__late__one")
	add("two")
	now := await("mcp__late__two")

	long := make([]message.Message, 40)
	for i := range long {
		long[i] = message.Of(message.User, message.KindUser, "Remember this.")
	}
	job := &engine.Job{Spec: before, History: long, Now: time.Now}
	job.Spec.Window, job.Spec.Chat = 100, newChat(t, a, dir, "main")
	shortened, ok := a.Performer.Compact(t.Context(), job, agent.Compact{Turn: 1}).(agent.Compacted)
	if !ok || !shortened.OK || shortened.Fit == nil || !slices.Equal(shortened.Fit.Tools, now.Tools) || !slices.Equal(shortened.Fit.Delegable, now.Delegable) {
		t.Errorf("with its history shortened, the orchestrator has %+v", shortened)
	}
}

// newSpec is how the orchestrator of a new chat would begin.
func newSpec(t *testing.T, a *App, dir string) agent.Spec {
	t.Helper()
	c, err := a.Performer.NewChat(orchestrate.Root{Role: "main", Model: "offline", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return c.Spec
}
