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
	for _, name := range []string{"", "fast", "sonnet", "anthropic/x", "offline", "openai/gpt-5"} {
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

// several answers for several paths; the others are not found.
func several(bodies map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Path
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			key += " " + string(body)
		}
		answer(r.URL.Path, bodies[key])(w, r)
	}
}

// With nothing configured a server that runs is used, and the same at every
// time of asking.
func TestLocalServerIsTheDefault(t *testing.T) {
	tags := func(ids ...string) string {
		return `{"models":[{"model":"` + strings.Join(ids, `"},{"model":"`) + `"}]}`
	}
	show := func(id string) string { return `/api/show {"model":"` + id + `"}` }
	can := func(what ...string) string { return `{"capabilities":["` + strings.Join(what, `","`) + `"]}` }
	vllm := answer("/v1/models", vllmModels)
	tests := []struct {
		name   string
		env    env
		config string
		ollama http.HandlerFunc
		vllm   http.HandlerFunc
		want   string
	}{
		{name: "nothing runs", want: "offline"},
		{name: "the first server", ollama: answer("/api/tags", tags("a", "b")), vllm: vllm, want: "ollama/a"},
		{name: "another server", vllm: vllm, want: "vllm/Qwen/Qwen3-8B"},
		{name: "no model", ollama: answer("/api/tags", `{"models":[]}`), want: "offline"},
		{name: "no model to talk to", ollama: answer("/api/tags", tags("nomic-embed-text", "big:cloud")), want: "offline"},
		{name: "one that can use tools", ollama: several(map[string]string{
			"/api/tags": tags("v", "a", "b"), show("v"): can("embedding"), show("a"): can("completion"), show("b"): can("completion", "tools"),
		}), want: "ollama/b"},
		{name: "one that is loaded", ollama: several(map[string]string{
			"/api/tags": tags("a", "b"), "/api/ps": `{"models":[{"model":"b","context_length":8192}]}`,
		}), want: "ollama/b"},
		{name: "the configured one", env: env{"VLLM_BASE_URL": "http://127.0.0.1:8000/v1"}, ollama: answer("/api/tags", tags("a")), vllm: vllm, want: "vllm/Qwen/Qwen3-8B"},
		{name: "turned off", env: env{"CADRE_LOCAL": "off"}, vllm: vllm, want: "offline"},
		{name: "disabled", config: "providers: {vllm: {disabled: true}}", vllm: vllm, want: "offline"},
		{name: "a key", env: keys("anthropic"), vllm: vllm, want: "anthropic/claude-sonnet-5"},
		{name: "a gateway whose models are not known", env: env{"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, vllm: vllm, want: "offline"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, n := made(t, tt.env, tt.config)
			if tt.ollama != nil {
				n.serve(t, "127.0.0.1:11434", tt.ollama)
			}
			if tt.vllm != nil {
				n.serve(t, "127.0.0.1:8000", tt.vllm)
			}
			_, m, err := c.Find("")
			if err != nil || m.Ref() != tt.want || c.Default() != tt.want {
				t.Errorf("got %s, %v, want %s", m.Ref(), err, tt.want)
			}
			before := len(n.asked)
			for _, tier := range []string{"fast", "default", "smart"} {
				if m, err := c.Resolve(tier); tt.want != "anthropic/claude-sonnet-5" && (err != nil || m.Ref() != tt.want) {
					t.Errorf("%s is %s, %v", tier, m.Ref(), err)
				}
			}
			if len(n.asked) != before {
				t.Errorf("servers were asked again: %v", n.asked)
			}
		})
	}
}

// A server that says nothing holds up a start for no longer than allowed.
func TestSilentServerDoesNotHoldUpTheStart(t *testing.T) {
	c, n := made(t, nil, "")
	c.startTime = 20 * time.Millisecond // the time for others is 10 s
	n.serve(t, "127.0.0.1:8080", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	start := time.Now()
	if got := c.Default(); got != "offline" || time.Since(start) > 5*time.Second {
		t.Errorf("%s after %v", got, time.Since(start))
	}
}

func TestNameOfAServer(t *testing.T) {
	c, n := made(t, nil, "")
	n.serve(t, "127.0.0.1:11434", answer("/api/tags", ollamaTags))
	n.serve(t, "127.0.0.1:8000", answer("/v1/models", vllmModels))
	n.serve(t, "127.0.0.1:1234", answer("/v1/models", `{"data":[]}`))
	if m, err := c.Resolve("vllm"); err != nil || m.Ref() != "vllm/Qwen/Qwen3-8B" || m.Window != 40960 {
		t.Errorf("the only model: %+v, %v", m, err)
	}
	for name, want := range map[string]string{
		"ollama":   "several models (near it: ollama/llama3.2:latest, ollama/qwen3:8b, ollama/gpt-oss:120b-cloud); write one of these",
		"lmstudio": "has no model; load one into it",
		"llamacpp": "no server answers at http://127.0.0.1:8080/v1",
	} {
		if _, err := c.Resolve(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What counts is the window that a server gives to a model.
func TestWindowsOfLocalModels(t *testing.T) {
	const trained = `"model_info":{"general.architecture":"llama","llama.context_length":131072,"llama.embedding_length":3072}`
	show := func(id, rest string) (string, string) {
		return `/api/show {"model":"` + id + `"}`, `{"capabilities":["completion","tools","thinking"],` + trained + rest + `}`
	}
	ollama := map[string]string{
		"/api/tags":                    `{"models":[{"model":"plain"},{"model":"set"},{"model":"loaded"},{"model":"vector"},{"model":"mute"}]}`,
		"/api/ps":                      `{"models":[{"model":"loaded","context_length":16384}]}`,
		`/api/show {"model":"vector"}`: `{"capabilities":["embedding"]}`,
	}
	for id, rest := range map[string]string{"plain": "", "set": `,"parameters":"stop \"x\"\nnum_ctx                        8192"`, "loaded": `,"parameters":"num_ctx 8192"`} {
		key, body := show(id, rest)
		ollama[key] = body
	}
	lmstudio := several(map[string]string{
		"/v1/models":     `{"data":[{"id":"a"},{"id":"b"},{"id":"v"},{"id":"new"}]}`,
		"/api/v0/models": `{"data":[{"id":"a","type":"llm","state":"not-loaded","max_context_length":32768},{"id":"b","type":"vlm","state":"loaded","max_context_length":32768,"loaded_context_length":4096},{"id":"v","type":"embeddings"}]}`,
	})
	llama := several(map[string]string{"/v1/models": llamaModels, "/props": `{"default_generation_settings":{"n_ctx":12288},"modalities":{"vision":true}}`})
	for _, tt := range []struct {
		env  env
		want map[string]int64
	}{
		{nil, map[string]int64{
			"ollama/plain": 131072, "ollama/set": 8192, "ollama/loaded": 16384, "ollama/mute": 0,
			"lmstudio/a": 32768, "lmstudio/b": 4096, "lmstudio/new": 0, "llamacpp/gemma.gguf": 12288,
		}},
		{env{"OLLAMA_CONTEXT_LENGTH": "32000"}, map[string]int64{"ollama/plain": 32000, "ollama/set": 8192, "ollama/loaded": 16384}},
	} {
		c, n := made(t, tt.env, "")
		n.serve(t, "127.0.0.1:11434", several(ollama))
		n.serve(t, "127.0.0.1:1234", lmstudio)
		n.serve(t, "127.0.0.1:8080", llama)
		for name, want := range tt.want {
			_, m, err := c.Find(name) // nobody has asked the server before
			if err != nil || m.Window != want {
				t.Errorf("%s: %d, %v, want %d", name, m.Window, err, want)
			}
		}
		c.Discover(t.Context())
		if m, _ := c.Resolve("ollama/plain"); !m.Listed || !m.Tools || !m.Reasoning || m.Images {
			t.Errorf("abilities: %+v", m)
		}
		if got := len(c.List("ollama")) + 10*len(c.List("lmstudio")); got != 34 {
			t.Errorf("models to talk to: %d", got)
		}
		if m, _ := c.Resolve("llamacpp"); !m.Images {
			t.Errorf("it sees: %+v", m)
		}
		hint := ""
		for _, f := range c.Doctor(t.Context(), false) {
			if f.Subject == "local server ollama" {
				hint = f.Hint
			}
		}
		if strings.Contains(hint, "OLLAMA_CONTEXT_LENGTH") != (tt.env == nil) {
			t.Errorf("the hint: %q", hint)
		}
	}
}
