package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/catalogue"
	"github.com/cadre-dev/cadre/internal/llm/schedule"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/files"
)

// pipes is a network in memory, so that HTTP runs in fake time.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	a, b := net.Pipe()
	p.conns <- b
	return a, nil
}

// strict is a vendor that refuses every second request and counts how many it
// has under way.
type strict struct {
	children int

	mu       sync.Mutex
	n        int
	inFlight int
	most     int
	refused  int
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.n++
	refuse := s.n%2 == 0
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	if refuse {
		s.refused++
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	var req struct {
		Messages []struct {
			Role string `json:"role"`
		} `json:"messages"`
		System json.RawMessage `json:"system"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if refuse {
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`)
		return
	}
	var content string
	switch turn, main := len(req.Messages)/2+1, len(req.System) > 0 && !isChild(req.System); {
	case main && turn == 1:
		tasks := make([]map[string]string, s.children)
		for i := range tasks {
			tasks[i] = map[string]string{"task": fmt.Sprintf("part %d", i+1)}
		}
		in, _ := json.Marshal(map[string]any{"tasks": tasks})
		content = fmt.Sprintf(`{"type":"tool_use","id":"t1","name":"spawn_agents","input":%s}`, in)
	case main:
		content = `{"type":"text","text":"all done"}`
	default:
		content = `{"type":"text","text":"part done"}`
	}
	stop := "end_turn"
	if content[9] == 't' && content[10] == 'o' {
		stop = "tool_use"
	}
	fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[%s],"stop_reason":%q,"usage":{"input_tokens":10,"output_tokens":5}}`, content, stop)
}

func isChild(system json.RawMessage) bool {
	var blocks []struct {
		Text string `json:"text"`
	}
	return json.Unmarshal(system, &blocks) == nil && len(blocks) > 0 && len(blocks[0].Text) > 14 && blocks[0].Text[:13] == "Role: general"
}

// TestThousandAgentsAndARateLimit: a thousand sub-agents against a vendor that
// refuses half of the requests all finish, none is refused a place, and no
// more requests are under way than allowed.
func TestThousandAgentsAndARateLimit(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const children, places = 1000, 40
		vendor := &strict{children: children}
		network := pipes{make(chan net.Conn)}
		server := &http.Server{Handler: vendor}
		go func() { _ = server.Serve(network) }() // ends with the network
		client := &http.Client{Transport: &http.Transport{DialContext: network.dial, MaxIdleConnsPerHost: 1024}}
		env := map[string]string{"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": "http://vendor", "HOME": dir}
		found := catalogue.New(catalogue.Options{Env: func(k string) string { return env[k] }, HTTP: client})
		e, st := newLimited(t, dir, found, placesFor(places))
		chat := runLimited(t, e.engine, e.performer)
		tree, err := st.Tree(t.Context(), chat)
		if err != nil || len(tree) != children+1 {
			t.Fatalf("%d agents, %v", len(tree), err)
		}
		for _, a := range tree[1:] {
			if a.Status != string(agent.ReasonCompleted) {
				t.Errorf("%s ended as %s: %s", a.ID, a.Status, a.Error)
			}
		}
		if n, err := st.LastSeq(t.Context()); err != nil || n > 60*children {
			t.Errorf("%d events for %d agents, %v", n, children, err)
		}
		if vendor.most > places || vendor.refused < children/2 {
			t.Errorf("%d requests were under way at once, %d allowed; %d of %d refused", vendor.most, places, vendor.refused, vendor.n)
		}
		e.engine.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		client.CloseIdleConnections()
		close(network.conns)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

type limited struct {
	engine    *engine.Engine
	performer *orchestrate.Performer
}

func newLimited(t *testing.T, dir string, found *catalogue.Catalogue, places *schedule.Scheduler) (limited, store.Store) {
	t.Helper()
	st, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	builtin, err := role.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	roles, err := role.NewRegistry(builtin...)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.New(append(files.Tools(), orchestrate.Tools()...)...)
	if err != nil {
		t.Fatal(err)
	}
	p := orchestrate.New(orchestrate.Config{Roles: roles, Tools: tools, Models: plainModels(found), Places: places, Log: discard()})
	return limited{engine.New(engine.Config{Store: st, Performer: p}), p}, st
}

func runLimited(t *testing.T, e *engine.Engine, p *orchestrate.Performer) string {
	t.Helper()
	c, err := p.NewChat(orchestrate.Root{Role: "main", Model: "anthropic/claude-sonnet-4-5", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c.User = store.User{ID: "u"}
	chat, err := e.CreateChat(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	done, _ := e.Outcomes(chat)
	if err := e.Send(t.Context(), chat, "m1", message.Of(message.User, message.KindUser, "go"), nil); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o.Reason != agent.ReasonCompleted {
		t.Fatalf("ended as %s", o.Reason)
	}
	return chat
}

func plainModels(c *catalogue.Catalogue) orchestrate.Models {
	return &models{catalogue: c, wrap: func(p llm.Provider) llm.Provider { return p }}
}

func placesFor(n int) *schedule.Scheduler {
	return schedule.New(schedule.Config{Start: n, Max: n, Refresh: newsOfWaits})
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
