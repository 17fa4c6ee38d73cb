// What servers offer, over each transport and protocol, and what they are not told.

package mcp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/tool"
)

// overHTTP serves a test server and configures it.
func overHTTP(t *testing.T, transport Transport, kind string) ServerConfig {
	t.Helper()
	server := testServer(kind)
	find := func(*http.Request) *sdk.Server { return server }
	var handler http.Handler = sdk.NewStreamableHTTPHandler(find, nil)
	if transport == SSE {
		handler = sdk.NewSSEHandler(find, nil)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame-open" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		endSessions(server)
	})
	return ServerConfig{Transport: transport, URL: web.URL, Headers: map[string]config.Secret{"Authorization": config.NewSecret("Bearer sesame-open")}}
}

// endSessions ends what clients that vanished have left in a server.
func endSessions(server *sdk.Server) {
	for session := range server.Sessions() {
		_ = session.Close()
	}
}

// every runs a test over each transport and protocol.
func every(t *testing.T, test func(t *testing.T, config ServerConfig)) {
	t.Helper()
	for name, config := range map[string]func(t *testing.T) ServerConfig{
		"stdio":     func(*testing.T) ServerConfig { return stdio("new") },
		"stdio old": func(*testing.T) ServerConfig { return stdio("old") },
		"http":      func(t *testing.T) ServerConfig { return overHTTP(t, HTTP, "new") },
		"http old":  func(t *testing.T) ServerConfig { return overHTTP(t, HTTP, "old") },
		"sse":       func(t *testing.T) ServerConfig { return overHTTP(t, SSE, "old") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, config(t))
		})
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, config ServerConfig) {
		c := started(t, config)
		if got := answer(t, c, tool.Env{}, "echo", in{"text": "hello"}); got != "hello" {
			t.Errorf("echo answered %q", got)
		}
		result, err := use(t.Context(), c, tool.Env{}, "mcp__s__fail", in{})
		if err != nil || !result.IsError {
			t.Errorf("fail answered %+v, %v", result, err)
		}
		has(t, answer(t, c, tool.Env{}, "structured", in{}), `"answer": 42`)
		_, err = use(t.Context(), c, tool.Env{}, "mcp__s__refuse", in{})
		if err == nil || !strings.Contains(err.Error(), "the MCP server s refused: ") || !strings.Contains(err.Error(), "not today") {
			t.Errorf("refuse answered %v", err)
		}
		if _, err := use(t.Context(), c, tool.Env{}, "mcp__s__echo", in{}); err == nil {
			t.Error("an input that violates the schema was sent")
		}
	})
}

func TestResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, config ServerConfig) {
		c := started(t, config)
		has(t, answer(t, c, tool.Env{}, "resources", in{"action": "list_resources"}),
			"test://motto (motto), text/plain: what we live by", "Template test://page/{n} (page)")
		has(t, answer(t, c, tool.Env{}, "resources", in{"action": "read_resource", "uri": "test://motto"}), "less is more")
		has(t, answer(t, c, tool.Env{}, "resources", in{"action": "read_resource", "uri": "test://page/1"}), "application/octet-stream, 3 bytes")
		has(t, answer(t, c, tool.Env{}, "resources", in{"action": "list_prompts"}), "greet(whom, tone?): a greeting")
		has(t, answer(t, c, tool.Env{}, "resources", in{"action": "get_prompt", "name": "greet", "arguments": in{"whom": "Ada"}}), "user:", "Greet Ada")
		for _, bad := range []in{{"action": "read_resource"}, {"action": "get_prompt"}, {"action": "read_resource", "uri": "test://nothing"}} {
			if _, err := use(t.Context(), c, tool.Env{}, "mcp__s__resources", bad); err == nil {
				t.Errorf("%v: no error", bad)
			}
		}
	})
}

func TestClassAndPlan(t *testing.T) {
	t.Parallel()
	trusted := func(c ServerConfig) ServerConfig { c.Trust = true; return c }
	remote := overHTTP(t, HTTP, "new")
	for name, test := range map[string]struct {
		config    ServerConfig
		echo, env tool.Class
		hosts     []string
	}{
		"stdio":         {stdio("new"), tool.Executes, tool.Executes, nil},
		"stdio trusted": {trusted(stdio("new")), tool.Reads, tool.Executes, nil},
		"http":          {remote, tool.Network, tool.Network, []string{"127.0.0.1"}},
		"http trusted":  {trusted(remote), tool.Reads, tool.Network, []string{"127.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := started(t, test.config)
			r, err := tool.New(c.Tools()...)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]tool.Class{"echo": test.echo, "env": test.env, "resources": test.echo} {
				tl, ok := r.Get("mcp__s__" + name)
				if !ok || tl.Class != want {
					t.Errorf("%s is %q, want %q", name, tl.Class, want)
				}
				action, err := tl.Plan(t.Context(), tool.Env{}, json.RawMessage(`{"text":"a"}`))
				if err != nil || action.Class != want || !slices.Equal(action.Hosts, test.hosts) {
					t.Errorf("%s plans %+v, %v", name, action, err)
				}
				has(t, action.Shown, "MCP server s: "+name, `"text": "a"`)
			}
		})
	}
}

func TestApprovalIsBoundToAllOfALongInput(t *testing.T) {
	t.Parallel()
	c := started(t, stdio("new"))
	echo := c.Tools()[slices.IndexFunc(c.Tools(), func(t tool.Tool) bool { return t.Name == "mcp__s__echo" })]
	plan := func(end string) tool.Action {
		a, err := echo.Plan(t.Context(), tool.Env{}, json.RawMessage(`{"text":"`+strings.Repeat("x", 2*maxShown)+end+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a, b := plan("a"), plan("b")
	if len(a.Shown) > 2*maxShown || a.Shown != b.Shown {
		t.Fatalf("the action is shown with %d bytes", len(a.Shown))
	}
	if a.Digest == b.Digest {
		t.Error("two inputs that differ after what is shown have the same digest")
	}
}

func TestIncludeAndExclude(t *testing.T) {
	t.Parallel()
	config := stdio("new")
	config.Include, config.Exclude = []string{"echo", "env", "fail"}, []string{"fail"}
	c := started(t, config)
	var names []string
	for _, tl := range c.Tools() {
		names = append(names, tl.Name)
	}
	if want := []string{"mcp__s__echo", "mcp__s__env", "mcp__s__resources"}; !slices.Equal(names, want) {
		t.Errorf("offered are %v, want %v", names, want)
	}
}

func TestEnvironment(t *testing.T) {
	config1 := stdio("new")
	config1.Env["GIVEN"] = config.NewSecret("given-value")
	t.Setenv("CADRE_OWN_KEY", "key-of-ours")
	c := started(t, config1)
	has(t, answer(t, c, tool.Env{}, "env", in{"name": "GIVEN"}), "given-value in "+c.options.Dir)
	hasNot(t, answer(t, c, tool.Env{}, "env", in{"name": "CADRE_OWN_KEY"}), "key-of-ours")
	if answer(t, c, tool.Env{}, "env", in{"name": "PATH"}) == " in "+c.options.Dir {
		t.Error("there is no PATH")
	}
}

func TestHeadersGoNowhereElse(t *testing.T) {
	t.Parallel()
	var stolen atomic.Value
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stolen.Store(r.Header.Get("Authorization") + r.Method)
	}))
	t.Cleanup(thief.Close)
	gate := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	t.Cleanup(gate.Close)
	for _, transport := range []Transport{HTTP, SSE} {
		c, _ := newTestClient(t, Options{Servers: map[string]ServerConfig{"s": {
			Transport: transport, URL: gate.URL, Headers: map[string]config.Secret{"Authorization": config.NewSecret("Bearer sesame-open")},
		}}})
		c.Start(t.Context())
		has(t, c.Status()[0].Error, "redirects to another server")
	}
	if got := stolen.Load(); got != nil {
		t.Errorf("the other server got %q", got)
	}

	// The older transport lets a server name another one for what it is sent.
	gate = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("event: endpoint\ndata: " + thief.URL + "\n\n"))
		w.(http.Flusher).Flush()
	}))
	t.Cleanup(gate.Close)
	c, _ := newTestClient(t, Options{Servers: map[string]ServerConfig{"s": {
		Transport: SSE, URL: gate.URL, Headers: map[string]config.Secret{"Authorization": config.NewSecret("Bearer sesame-open")},
	}}})
	c.Start(t.Context())
	eventually(t, "it was sent something", func() bool { return stolen.Load() != nil })
	if got := stolen.Load(); got != http.MethodPost {
		t.Errorf("the other server got %q", got)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	refused := overHTTP(t, HTTP, "new")
	refused.Headers = map[string]config.Secret{"Authorization": config.NewSecret("Bearer wrong-token-here")}
	refused.URL += "/path?key=query-secret"
	broken := stdio("broken")
	broken.Env["TOKEN"] = config.NewSecret("token-for-broken")
	parsed, _, err := ParseServers([]byte(`{"mcpServers":{"gone":{"url":"http://user:pass-word@127.0.0.1:1/${PART}","headers":{"X":"y"}}}}`), "file",
		func(string) string { return "secret-part" })
	if err != nil {
		t.Fatal(err)
	}
	c, log := newTestClient(t, Options{Servers: map[string]ServerConfig{"refused": refused, "broken": broken, "gone": parsed["gone"]}})
	c.Start(t.Context())
	eventually(t, "all failed", func() bool {
		return !slices.ContainsFunc(c.Status(), func(s ServerStatus) bool { return s.Error == "" })
	})
	status, err := json.Marshal(c.Status())
	if err != nil {
		t.Fatal(err)
	}
	all := string(status) + log.String()
	has(t, all, "cannot log in with [redacted]", "exit status 7", "401 Unauthorized", "connection refused")
	hasNot(t, all, "wrong-token-here", "query-secret", "token-for-broken", "pass-word", "secret-part")
}
