// Tests of finding and listing, and of the way down to the wire.

package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/offline"
	"github.com/cadre-dev/cadre/internal/message"
)

// Decoding the list takes longer than a command may that needs no model.
func TestListIsDecodedLate(t *testing.T) {
	c, _ := made(t, all, "model: offline\nproviders: {team: {base_url: 'https://t.example'}}")
	c.library = func() *library {
		t.Error("the list is decoded")
		return embedded()
	}
	for _, name := range []string{"", "offline", "scripted:nowhere.yaml"} {
		_, _, _ = c.Find(name)
	}
	c.Default()
	c.Tiers()
	c.Providers()
	_ = c.String()
}

func TestOfflineAndScripts(t *testing.T) {
	c, _ := made(t, nil, "")
	p, m, err := c.Find("")
	if err != nil || m.Ref() != "offline" || p != llm.Provider(offline.New()) {
		t.Errorf("nothing configured: %v, %v, %v", p, m, err)
	}
	if cost, known := m.Cost(message.Usage{Input: 5}); cost != 0 || !known {
		t.Errorf("offline costs %d, %v", cost, known)
	}
	file := filepath.Join(t.TempDir(), "demo.yaml")
	name := "scripted:" + file
	if _, _, err := c.Find(name); err == nil {
		t.Error("a script that does not exist")
	}
	write(t, file, "agents:\n- turns: [{text: hello}]\n")
	first, m, err := c.Find(name)
	if err != nil || m.Ref() != name || m.ID != name || m.Price != free() {
		t.Fatalf("script: %+v, %v", m, err)
	}
	if again, _, _ := c.Find(name); again != first {
		t.Error("a script is read twice")
	}
}

func TestFindIsStableAndShared(t *testing.T) {
	c, _ := made(t, keys("anthropic"), "")
	first, m, err := c.Find("sonnet")
	if err != nil {
		t.Fatal(err)
	}
	if again, _, _ := c.Find("sonnet"); again != first {
		t.Error("a second client for the same name")
	}
	other, _, err := c.Find("opus")
	if err != nil {
		t.Fatal(err)
	}
	if first.(*client).next != other.(*client).next {
		t.Error("two models of a provider do not share its client")
	}
	if m.ID != "claude-sonnet-5" {
		t.Errorf("got %s", m.ID)
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if _, _, err := c.Find([]string{"haiku", "fast", "smart", "offline", "anthropic/x", "nobody/x"}[i%6]); err != nil && i%6 != 5 {
				t.Error(err)
			}
			c.List("")
		})
	}
	wg.Wait()
}

func TestOutputIsCapped(t *testing.T) {
	c, _ := made(t, keys("anthropic"), "providers: {anthropic: {models: {small: {max_output: 100}}}}")
	p, _, err := c.Find("anthropic/small")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ asked, want int64 }{{1000, 100}, {50, 50}, {0, 0}} {
		req := &llm.Request{Model: "small", MaxOutput: tt.asked}
		if _, err := p.Call(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		calls := p.(*client).next.(*dialled).calls
		if got := calls[len(calls)-1].MaxOutput; got != tt.want || req.MaxOutput != tt.asked {
			t.Errorf("asked for %d, got %d; the request now has %d", tt.asked, got, req.MaxOutput)
		}
	}
}

func TestList(t *testing.T) {
	c, _ := made(t, keys("anthropic"), "providers: {own: {base_url: 'https://own.example', models: [m]}}")
	has := func(provider, ref string) bool {
		for _, m := range c.List(provider) {
			if m.Ref() == ref {
				return true
			}
		}
		return false
	}
	if !has("", "anthropic/claude-opus-4-8") || !has("", "own/m") || !has("", "offline") || has("", "openai/gpt-5") {
		t.Error("the list of what can be used is wrong")
	}
	if !has("openai", "openai/gpt-5") || !has("gemini", "google/gemini-2.5-pro") || !has("Mistral", "mistral/codestral-latest") || !has("offline", "offline") {
		t.Error("a provider's list lacks something")
	}
	if c.List("nobody") != nil {
		t.Error("a list of nobody")
	}
	seen := map[string]bool{}
	for _, p := range c.Providers() {
		for _, m := range c.List(p.Name) {
			if seen[strings.ToLower(m.Ref())] {
				t.Errorf("%s is listed twice", m.Ref())
			}
			seen[strings.ToLower(m.Ref())] = true
			if m.Provider != p.Name || m.ID == "" {
				t.Errorf("%s lists %+v", p.Name, m)
			}
		}
	}
	b, err := json.Marshal(c.List("own"))
	if want := `[{"provider":"own","id":"m","price":null,"images":false,"reasoning":false,"tools":true,"listed":false}]`; err != nil || string(b) != want {
		t.Errorf("as JSON: %s, %v", b, err)
	}
}

// wired makes a catalogue with the real clients.
func wired(t *testing.T, e env, text string) (*Catalogue, *network) {
	t.Helper()
	cfg, err := configured(t, e, text)
	if err != nil {
		t.Fatal(err)
	}
	n := &network{}
	return New(Options{Config: cfg, Env: e.get, HTTP: &http.Client{Transport: n}}), n
}

func TestTheWire(t *testing.T) {
	const key = "sk-test-0123456789abcdef"
	tests := []struct {
		name, env, config, model, host string
		path, query, header, value     string
	}{
		{"anthropic", "ANTHROPIC_API_KEY", "", "opus", "api.anthropic.com", "/v1/messages", "", "X-Api-Key", key},
		{"token", "ANTHROPIC_AUTH_TOKEN", "", "opus", "api.anthropic.com", "/v1/messages", "", "Authorization", "Bearer " + key},
		{"responses", "OPENAI_API_KEY", "", "gpt-5", "api.openai.com", "/v1/responses", "", "Authorization", "Bearer " + key},
		{"chat", "GROQ_API_KEY", "", "groq", "api.groq.com", "/openai/v1/chat/completions", "", "Authorization", "Bearer " + key},
		{"gemini", "GEMINI_API_KEY", "", "gemini-2.5-pro", "generativelanguage.googleapis.com", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", "alt=sse", "X-Goog-Api-Key", key},
		{"azure", "K", "providers: {azure: {base_url: 'https://a.openai.azure.com', key_env: K}}", "azure/d", "a.openai.azure.com", "/openai/v1/chat/completions", "", "Api-Key", key},
		{"azure responses", "K", "providers: {azure: {kind: openai-responses, base_url: 'https://a.openai.azure.com', key_env: K}}", "azure/d", "a.openai.azure.com", "/openai/v1/responses", "", "Api-Key", key},
		{"azure, dated", "K", "providers: {azure: {base_url: 'https://a.openai.azure.com', key_env: K, query: {api-version: '2024-10-21'}}}", "azure/d", "a.openai.azure.com", "/openai/deployments/d/chat/completions", "api-version=2024-10-21", "Api-Key", key},
		{"own header", "K", "providers: {own: {base_url: 'https://own.example/v1', headers: {X-Gateway: '${K}'}}}", "own/m", "own.example", "/v1/chat/completions", "", "X-Gateway", key},
		{"own query", "K", "providers: {own: {base_url: 'https://own.example/v1', query: {code: '${K}'}}}", "own/m", "own.example", "/v1/chat/completions", "code=" + key, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, n := wired(t, env{tt.env: key}, tt.config)
			var got *http.Request
			n.serve(t, tt.host, func(w http.ResponseWriter, r *http.Request) {
				got = r
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(w, `{"error":{"message":"what is `+key+`?"}}`)
			})
			p, m, err := c.Find(tt.model)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Call(t.Context(), &llm.Request{Model: m.ID, Messages: []message.Message{message.Of(message.User, message.KindUser, "hello")}}, nil)
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.ErrAuth {
				t.Errorf("error is %v", err)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), key) {
					t.Errorf("the key is shown: %v", e)
				}
			}
			if got == nil {
				t.Fatal("nothing arrived")
			}
			if got.URL.Path != tt.path || got.URL.RawQuery != tt.query || got.Header.Get(tt.header) != tt.value {
				t.Errorf("path %s, query %s, %s: %s", got.URL.Path, got.URL.RawQuery, tt.header, got.Header.Get(tt.header))
			}
		})
	}
}

// Nothing that the package hands out shows a key, whichever way it is printed.
func TestNothingShowsAKey(t *testing.T) {
	const key = "sk-test-0123456789abcdef"
	e := env{"ANTHROPIC_API_KEY": key, "OPENAI_API_KEY": key, "GEMINI_API_KEY": key, "K": key, "VLLM_BASE_URL": "http://user:" + key + "@127.0.0.1:7/v1?k=" + key}
	c, n := wired(t, e, `
providers:
  own: {base_url: 'https://own.example/v1', key: '${K}', headers: {X-T: '${K}'}, query: {c: '${K}'}, models: [m]}
`)
	for _, host := range []string{"api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com", "own.example"} {
		n.serve(t, host, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "no access with "+key)
		})
	}
	things := []any{c, c.List(""), c.Providers(), c.Tiers(), c.Doctor(t.Context(), true), c.Discover(t.Context())}
	for _, name := range []string{"opus", "gpt-5", "gemini-2.5-pro", "own/m", "ollama/x", "nobody/x", key, "own/" + key + "/x"} {
		p, m, err := c.Find(name)
		if !strings.Contains(name, key) { // what the user wrote is the user's
			things = append(things, p, m, err)
		}
	}
	for _, name := range []string{"anthropic", "own", "vllm"} {
		_, err := c.Fetch(t.Context(), name)
		things = append(things, err)
	}
	for _, p := range c.providers() {
		things = append(things, p, *p)
	}
	c.mu.RLock()
	for key := range c.clients {
		things = append(things, key)
	}
	c.mu.RUnlock()
	var log strings.Builder
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		for _, v := range things {
			slog.New(h).Info("thing", "v", v)
		}
	}
	shown := log.String()
	for _, v := range things {
		shown += fmt.Sprintf("%v %+v %#v %s %q", v, v, v, v, v)
		if b, err := json.Marshal(v); err == nil {
			shown += string(b)
		}
	}
	if at := strings.Index(shown, key); at >= 0 {
		t.Errorf("a key is shown: …%s…", shown[max(0, at-200):at+len(key)])
	}
}
