// Tests of local servers, and of asking any server for its models.

package catalogue

import (
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// answer is a handler that answers one path.
func answer(path, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, body)
	}
}

const (
	ollamaTags  = `{"models":[{"name":"llama3.2:latest","model":"llama3.2:latest","size":1},{"name":"qwen3:8b","model":"qwen3:8b"},{"name":"gpt-oss:120b-cloud","model":"gpt-oss:120b-cloud"}]}`
	lmModels    = `{"data":[{"id":"openai/gpt-oss-20b","object":"model","owned_by":"organization_owner"}],"object":"list"}`
	llamaModels = `{"models":[{"name":"gemma.gguf","model":"gemma.gguf"}],"object":"list","data":[{"id":"gemma.gguf","meta":{"n_ctx_train":131072}}]}`
	vllmModels  = `{"object":"list","data":[{"id":"Qwen/Qwen3-8B","owned_by":"vllm","max_model_len":40960}]}`
)

func TestDiscover(t *testing.T) {
	c, n := made(t, nil, "")
	n.serve(t, "127.0.0.1:11434", answer("/api/tags", ollamaTags))
	n.serve(t, "127.0.0.1:1234", answer("/v1/models", lmModels))
	n.serve(t, "127.0.0.1:8080", answer("/v1/models", llamaModels))
	n.serve(t, "127.0.0.1:8000", answer("/v1/models", vllmModels))
	got := map[string][]Model{}
	for _, l := range c.Discover(t.Context()) {
		if l.Err != nil {
			t.Errorf("%s: %v", l.Provider, l.Err)
		}
		got[l.Provider] = l.Models
	}
	if len(got["ollama"]) != 3 || got["ollama"][1].Ref() != "ollama/qwen3:8b" || got["ollama"][1].Price != free() || got["ollama"][2].Price.Known {
		t.Errorf("ollama: %+v", got["ollama"])
	}
	if len(got["lmstudio"]) != 1 || got["lmstudio"][0].Ref() != "lmstudio/openai/gpt-oss-20b" {
		t.Errorf("lmstudio: %+v", got["lmstudio"])
	}
	if len(got["llamacpp"]) != 1 || got["llamacpp"][0].Window != 131072 {
		t.Errorf("llamacpp: %+v", got["llamacpp"])
	}
	if len(got["vllm"]) != 1 || got["vllm"][0].Window != 40960 {
		t.Errorf("vllm: %+v", got["vllm"])
	}
	if len(c.List("ollama")) != 3 {
		t.Errorf("list: %+v", c.List("ollama"))
	}
	if len(c.List("")) != 7 { // six, and the offline model
		t.Errorf("list: %+v", c.List(""))
	}
}

func TestLocalModelsAreFoundByName(t *testing.T) {
	c, n := made(t, nil, "")
	n.serve(t, "127.0.0.1:11434", answer("/api/tags", ollamaTags))
	n.serve(t, "127.0.0.1:8000", answer("/v1/models", `{"data":[{"id":"qwen3:8b"}]}`))
	for name, want := range map[string]string{
		"llama3.2":        "ollama/llama3.2:latest",
		"LLAMA3.2:latest": "ollama/llama3.2:latest",
		"ollama/qwen3:8b": "ollama/qwen3:8b",
		"vllm/other":      "vllm/other",
	} {
		if m, err := c.Resolve(name); err != nil || m.Ref() != want {
			t.Errorf("%s: %s, %v", name, m.Ref(), err)
		}
	}
	_, err := c.Resolve("qwen3:8b")
	if err == nil || !strings.Contains(err.Error(), "ollama/qwen3:8b, vllm/qwen3:8b") {
		t.Errorf("two servers have it: %v", err)
	}
	_, err = c.Resolve("ollama")
	if err == nil || !strings.Contains(err.Error(), "ollama/llama3.2:latest") {
		t.Errorf("a server's name alone: %v", err)
	}
}

func TestLocalServersAreNotAskedWithoutNeed(t *testing.T) {
	c, n := made(t, keys("anthropic"), "")
	for _, name := range []string{"", "fast", "sonnet", "anthropic/x", "ollama/x", "offline", "openai/gpt-5"} {
		_, _, _ = c.Find(name)
	}
	c.List("")
	c.List("ollama")
	c.Providers()
	c.Tiers()
	if len(n.asked) > 0 {
		t.Errorf("asked: %v", n.asked)
	}
	_, _, _ = c.Find("no-such-model")
	if len(n.asked) != 4 {
		t.Errorf("asked for a name that nobody knows: %v", n.asked)
	}
}

// A server that accepts and says nothing must not hold up anybody for longer
// than a moment, and the others not at all.
func TestSilentServer(t *testing.T) {
	c, n := made(t, nil, "")
	c.probeTime = 20 * time.Millisecond
	release := make(chan struct{})
	n.serve(t, "127.0.0.1:8080", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	for _, l := range c.Discover(t.Context()) {
		if l.Err == nil {
			t.Errorf("%s answered: %+v", l.Provider, l)
		}
		if l.Provider == "llamacpp" && !strings.Contains(l.Err.Error(), "in time") {
			t.Errorf("got %v", l.Err)
		}
	}
}

func TestSomethingElseListensThere(t *testing.T) {
	for name, body := range map[string]string{"page": "<html>hello</html>", "object": `{"status":"ok"}`, "text": `"hello"`, "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			c, n := made(t, nil, "")
			n.serve(t, "127.0.0.1:8080", answer("/v1/models", body))
			for _, l := range c.Discover(t.Context()) {
				if l.Err == nil {
					t.Errorf("%s was taken for a model server", l.Provider)
				}
			}
		})
	}
}

func TestFetch(t *testing.T) {
	var seen []*http.Request
	record := func(path, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, r)
			answer(path, body)(w, r)
		}
	}
	tests := []struct {
		provider, host, path, body string
		header, value, query       string
		want                       []string
		window                     int64
	}{
		{"anthropic", "api.anthropic.com", "/v1/models", `{"data":[{"type":"model","id":"claude-opus-4-8","display_name":"Claude Opus 4.8"},{"id":"claude-next","display_name":"Next","max_input_tokens":7}]}`, "X-Api-Key", "key-of-anthropic", "limit=1000", []string{"claude-opus-4-8", "claude-next"}, 7},
		{"openai", "api.openai.com", "/v1/models", `{"data":[{"id":"gpt-5"},{"id":"gpt-next"}]}`, "Authorization", "Bearer key-of-openai", "", []string{"gpt-5", "gpt-next"}, 0},
		{"google", "generativelanguage.googleapis.com", "/v1beta/models", `{"models":[{"name":"models/embed","supportedGenerationMethods":["embedContent"]},{"name":"models/gemini-2.5-pro","supportedGenerationMethods":["generateContent"]},{"name":"models/gemini-next","displayName":"Next","inputTokenLimit":9,"outputTokenLimit":3,"supportedGenerationMethods":["generateContent"]}]}`, "X-Goog-Api-Key", "key-of-google", "pageSize=1000", []string{"gemini-2.5-pro", "gemini-next"}, 9},
		{"together", "api.together.xyz", "/v1/models", `[{"id":"a/b","context_length":11}]`, "Authorization", "Bearer key-of-together", "", []string{"a/b"}, 11},
		{"azure", "thing.openai.azure.com", "/openai/v1/models", `{"data":[{"id":"gpt-5"}]}`, "Api-Key", "key-of-azure", "", []string{"gpt-5"}, 400_000},
		{"mistral", "api.mistral.ai", "/v1/models", `{"data":[{"id":"m","max_context_length":5}]}`, "Authorization", "Bearer key-of-mistral", "", []string{"m"}, 5},
		{"groq", "api.groq.com", "/openai/v1/models", `{"data":[{"id":"m","context_window":6}]}`, "Authorization", "Bearer key-of-groq", "", []string{"m"}, 6},
	}
	for _, tt := range tests {
		t.Run(tt.provider, func(t *testing.T) {
			seen = nil
			c, n := made(t, keys(tt.provider), "")
			n.serve(t, tt.host, record(tt.path, tt.body))
			models, err := c.Fetch(t.Context(), tt.provider)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, m := range models {
				ids = append(ids, m.ID)
			}
			if !slices.Equal(ids, tt.want) {
				t.Errorf("got %v", ids)
			}
			if last := models[len(models)-1]; last.Window != tt.window {
				t.Errorf("window %d", last.Window)
			}
			if r := seen[0]; r.Header.Get(tt.header) != tt.value || r.URL.RawQuery != tt.query {
				t.Errorf("header %q, query %q", r.Header.Get(tt.header), r.URL.RawQuery)
			}
		})
	}
	c, _ := made(t, keys("anthropic"), "")
	if _, err := c.Fetch(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), "anthropic") {
		t.Errorf("an unknown provider: %v", err)
	}
	if _, err := c.Fetch(t.Context(), "openai"); err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
		t.Errorf("a provider without key: %v", err)
	}
}

func TestFetchCompletesWhatIsKnown(t *testing.T) {
	c, n := made(t, keys("anthropic"), "")
	n.serve(t, "api.anthropic.com", answer("/v1/models", `{"data":[{"id":"claude-opus-4-8"}]}`))
	models, err := c.Fetch(t.Context(), "anthropic")
	if err != nil || len(models) != 1 {
		t.Fatalf("got %+v, %v", models, err)
	}
	if want, _ := c.Resolve("opus"); !reflect.DeepEqual(models[0], want) {
		t.Errorf("got %+v, want %+v", models[0], want)
	}
}

// A redirection must not carry the key to another host.
func TestNoRedirections(t *testing.T) {
	c, n := made(t, keys("anthropic"), "")
	n.serve(t, "api.anthropic.com", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://evil.example/", http.StatusFound)
	})
	if _, err := c.Fetch(t.Context(), "anthropic"); err == nil {
		t.Error("no error")
	}
	if len(n.asked) > 0 {
		t.Errorf("it followed to %v", n.asked)
	}
}
