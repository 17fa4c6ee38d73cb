// Tests of what the environment and the configuration make of a provider.

package catalogue

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/config"
)

func TestEnvironment(t *testing.T) {
	tests := []struct {
		name   string
		env    env
		config string
		model  string
		kind   config.Kind
		base   string
		key    string
		header string
		query  string
	}{
		{"anthropic", keys("anthropic"), "", "anthropic/x", config.KindAnthropic, "https://api.anthropic.com", "key-of-anthropic", "", ""},
		{"anthropic's gateway", env{"ANTHROPIC_API_KEY": "abcdef", "ANTHROPIC_BASE_URL": "https://gw.example/"}, "", "anthropic/x", config.KindAnthropic, "https://gw.example", "abcdef", "", ""},
		{"keyless on this machine", env{"ANTHROPIC_BASE_URL": "http://localhost:9"}, "", "anthropic/x", config.KindAnthropic, "http://localhost:9", "", "", ""},
		{"openai speaks Responses", keys("openai"), "", "openai/x", config.KindOpenAIResponses, "https://api.openai.com/v1", "key-of-openai", "", ""},
		{"a gateway speaks Chat", env{"OPENAI_API_KEY": "abcdef", "OPENAI_BASE_URL": "https://gw.example/v1"}, "", "openai/x", config.KindOpenAI, "https://gw.example/v1", "abcdef", "", ""},
		{"unless it is said", env{"OPENAI_API_KEY": "abcdef", "OPENAI_BASE_URL": "https://gw.example/v1"}, "providers: {openai: {kind: openai-responses}}", "openai/x", config.KindOpenAIResponses, "https://gw.example/v1", "abcdef", "", ""},
		{"openai by Chat", keys("openai"), "providers: {openai: {kind: openai}}", "openai/x", config.KindOpenAI, "https://api.openai.com/v1", "key-of-openai", "", ""},
		{"google", env{"GOOGLE_API_KEY": "abcdef"}, "", "google/x", config.KindGemini, "https://generativelanguage.googleapis.com", "abcdef", "", ""},
		{"google's first variable", env{"GOOGLE_API_KEY": "abcdef", "GEMINI_API_KEY": "ghijkl"}, "", "gemini/x", config.KindGemini, "https://generativelanguage.googleapis.com", "ghijkl", "", ""},
		{"openrouter", keys("openrouter"), "", "openrouter/x", config.KindOpenAI, "https://openrouter.ai/api/v1", "key-of-openrouter", "", ""},
		{"deepseek", keys("deepseek"), "", "deepseek/x", config.KindOpenAI, "https://api.deepseek.com/v1", "key-of-deepseek", "", ""},
		{"groq", keys("groq"), "", "groq/x", config.KindOpenAI, "https://api.groq.com/openai/v1", "key-of-groq", "", ""},
		{"groq's gateway", env{"GROQ_API_KEY": "abcdef", "GROQ_BASE_URL": "https://gw.example/groq/v1"}, "", "groq/x", config.KindOpenAI, "https://gw.example/groq/v1", "abcdef", "", ""},
		{"groq's gateway, its host", env{"GROQ_API_KEY": "abcdef", "GROQ_BASE_URL": "https://gw.example/"}, "", "groq/x", config.KindOpenAI, "https://gw.example/openai/v1", "abcdef", "", ""},
		{"mistral", keys("mistral"), "", "mistral/x", config.KindOpenAI, "https://api.mistral.ai/v1", "key-of-mistral", "", ""},
		{"xai", keys("xai"), "", "xai/x", config.KindOpenAI, "https://api.x.ai/v1", "key-of-xai", "", ""},
		{"together", keys("together"), "", "together/x", config.KindOpenAI, "https://api.together.xyz/v1", "key-of-together", "", ""},
		{"azure", keys("azure"), "", "azure/x", config.KindOpenAI, "https://thing.openai.azure.com/openai/v1", "key-of-azure", "", ""},
		{"azure, preview", env{"AZURE_OPENAI_API_KEY": "abcdef", "AZURE_OPENAI_ENDPOINT": "https://a.openai.azure.com/", "OPENAI_API_VERSION": "preview"}, "", "azure/x", config.KindOpenAI, "https://a.openai.azure.com/openai/v1", "abcdef", "", "api-version=preview"},
		{"azure, dated", env{"AZURE_OPENAI_API_KEY": "abcdef", "AZURE_OPENAI_ENDPOINT": "https://a.openai.azure.com/openai/", "AZURE_OPENAI_API_VERSION": "2024-10-21"}, "", "azure/my model", config.KindOpenAI, "https://a.openai.azure.com/openai/deployments/my%20model", "abcdef", "", "api-version=2024-10-21"},
		{"azure, configured", env{"K": "abcdef"}, "providers: {azure: {base_url: 'https://a.openai.azure.com', key_env: K, query: {api-version: '2024-10-21'}}}", "azure/d", config.KindOpenAI, "https://a.openai.azure.com/openai/deployments/d", "abcdef", "", "api-version=2024-10-21"},
		{"azure under another name", env{"EU_API_KEY": "abcdef"}, "providers: {eu: {base_url: 'https://b.openai.azure.com'}}", "eu/d", config.KindOpenAI, "https://b.openai.azure.com/openai/v1", "abcdef", "", ""},
		{"ollama", nil, "", "ollama/x", config.KindOpenAI, "http://127.0.0.1:11434/v1", "", "", ""},
		{"ollama elsewhere", env{"OLLAMA_HOST": "box:99"}, "", "ollama/x", config.KindOpenAI, "http://box:99/v1", "", "", ""},
		{"lmstudio", nil, "", "lmstudio/x", config.KindOpenAI, "http://127.0.0.1:1234/v1", "", "", ""},
		{"llama.cpp", nil, "", "llamacpp/x", config.KindOpenAI, "http://127.0.0.1:8080/v1", "", "", ""},
		{"vllm", env{"VLLM_BASE_URL": "http://gpu:8000/v1", "VLLM_API_KEY": "abcdef"}, "", "vllm/x", config.KindOpenAI, "http://gpu:8000/v1", "abcdef", "", ""},
		{"the file over the environment", env{"ANTHROPIC_API_KEY": "from-env", "ANTHROPIC_BASE_URL": "https://env.example"}, "providers: {anthropic: {key: from-file, base_url: 'https://file.example'}}", "anthropic/x", config.KindAnthropic, "https://file.example", "from-file", "", ""},
		{"another variable", env{"ANTHROPIC_API_KEY": "usual", "MINE": "another"}, "providers: {anthropic: {key_env: MINE}}", "anthropic/x", config.KindAnthropic, "https://api.anthropic.com", "another", "", ""},
		{"gateway without key", nil, "providers: {anthropic: {base_url: 'https://gw.example'}}", "anthropic/x", config.KindAnthropic, "https://gw.example", "", "", ""},
		{"key in a header", nil, "providers: {openai: {headers: {x-gw: abcdef}}}", "openai/x", config.KindOpenAIResponses, "https://api.openai.com/v1", "", "X-Gw=abcdef", ""},
		{"alias in the file", env{"K": "abcdef"}, "providers: {gemini: {key_env: K}}", "google/x", config.KindGemini, "https://generativelanguage.googleapis.com", "abcdef", "", ""},
		{"own", env{"TEAM_API_KEY": "abcdef"}, "providers: {team: {base_url: 'https://t.example/v1', headers: {a: b}, query: {c: d}}}", "team/x", config.KindOpenAI, "https://t.example/v1", "abcdef", "A=b", "c=d"},
		{"own, Anthropic's format", nil, "providers: {team: {kind: anthropic, base_url: 'https://t.example'}}", "team/x", config.KindAnthropic, "https://t.example", "", "", ""},
		{"in the list, not built in", env{"VENICE_API_KEY": "abcdef"}, "providers: {venice: {}}", "venice/x", config.KindOpenAI, "https://api.venice.ai/api/v1", "abcdef", "", ""},
		{"a vendor under another name", env{"WORK_API_KEY": "abcdef", "ANTHROPIC_AUTH_TOKEN": "other"}, "providers: {work: {base_url: 'https://api.anthropic.com'}}", "work/sonnet", config.KindAnthropic, "https://api.anthropic.com", "abcdef", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := made(t, tt.env, tt.config)
			e := endpoint(t, c, tt.model)
			if e.Kind != tt.kind || e.BaseURL != tt.base || e.Key.Reveal() != tt.key || e.Bearer {
				t.Errorf("got %v, key %q, bearer %v", e, e.Key.Reveal(), e.Bearer)
			}
			if pairs(e.Header) != tt.header || pairs(e.Query) != tt.query {
				t.Errorf("header %q, query %q", pairs(e.Header), pairs(e.Query))
			}
			if e.HTTP != c.http() {
				t.Error("the client does not share the HTTP client")
			}
		})
	}
}

func TestTokenForAGateway(t *testing.T) {
	c, _ := made(t, env{"ANTHROPIC_AUTH_TOKEN": "token", "ANTHROPIC_API_KEY": "abcdef"}, "")
	if e := endpoint(t, c, "opus"); !e.Bearer || e.Key.Reveal() != "token" {
		t.Errorf("got %v, key %q, bearer %v", e, e.Key.Reveal(), e.Bearer)
	}
}

func TestDialects(t *testing.T) {
	c, _ := made(t, env{"GROQ_API_KEY": "abcdef", "WORK_API_KEY": "abcdef"}, `
providers:
  work: {base_url: 'https://api.deepseek.com'}
  team: {base_url: 'https://t.example', models: {blind: {images: false}, seeing: {images: true}, unknown: {}}}
`)
	if e := endpoint(t, c, "work/x"); e.Vendor != "deepseek" || e.Provider != "work" {
		t.Errorf("dialect of %s is %s", e.Provider, e.Vendor)
	}
	// A gateway to a vendor speaks its dialect; behind OpenAI's name may be anything.
	moved, _ := made(t, env{
		"DEEPSEEK_API_KEY": "abcdef", "DEEPSEEK_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "abcdef", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
	}, "")
	for name, want := range map[string]string{"deepseek/x": "deepseek", "openai/x": ""} {
		if e := endpoint(t, moved, name); e.Vendor != want {
			t.Errorf("dialect of %s at another address is %q", name, e.Vendor)
		}
	}
	for name, want := range map[string]bool{"team/blind": true, "team/seeing": false, "team/unknown": false, "groq/qwen/qwen3-32b": true} {
		if e := endpoint(t, c, name); e.NoImages != want {
			t.Errorf("%s: no images is %v", name, e.NoImages)
		}
	}
}

// OpenAI refuses a request for the reasoning of a model that has none.
func TestReasoningIsPassedOn(t *testing.T) {
	c, _ := made(t, keys("openai"), "providers: {openai: {models: {mine: {reasoning: false}}}}")
	for name, want := range map[string][2]bool{"gpt-5": {true, true}, "gpt-4.1": {true, false}, "openai/mine": {true, false}, "openai/gpt-9": {false, false}} {
		if e := endpoint(t, c, name); e.Known != want[0] || e.Reasons != want[1] {
			t.Errorf("%s: known %v, reasons %v", name, e.Known, e.Reasons)
		}
	}
}

func TestNotReady(t *testing.T) {
	for name, tt := range map[string]struct {
		env      env
		config   string
		provider string
	}{
		"no key":               {nil, "", "anthropic"},
		"empty key":            {env{"ANTHROPIC_API_KEY": " "}, "", "anthropic"},
		"gateway, no key":      {env{"OPENAI_BASE_URL": "https://gw.example"}, "", "openai"},
		"vendor's own, no key": {nil, "providers: {openai: {base_url: 'https://api.openai.com/v1'}}", "openai"},
		"no address":           {env{"OPENAI_API_KEY": "abcdef", "OPENAI_BASE_URL": "not an address"}, "", "openai"},
		"variable not set":     {env{"ANTHROPIC_API_KEY": "abcdef"}, "providers: {anthropic: {key_env: OTHER}}", "anthropic"},
		"disabled":             {keys("groq"), "providers: {groq: {disabled: true}}", "groq"},
		"disabled, own":        {nil, "providers: {a: {base_url: 'https://a.example', disabled: true}}", "a"},
		"no endpoint":          {env{"AZURE_OPENAI_API_KEY": "abcdef"}, "", "azure"},
		"vendor renamed":       {nil, "providers: {work: {base_url: 'https://api.anthropic.com'}}", "work"},
		"nothing said":         {nil, "providers: {a: {}}", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := made(t, tt.env, tt.config)
			for _, p := range c.Providers() {
				if p.Name == tt.provider && (p.Ready || p.Missing == "") {
					t.Errorf("got %+v", p)
				}
			}
		})
	}
}

func TestOllamaAddress(t *testing.T) {
	for host, want := range map[string]string{
		"":                         "http://127.0.0.1:11434/v1",
		"0.0.0.0":                  "http://127.0.0.1:11434/v1",
		":1234":                    "http://127.0.0.1:1234/v1",
		"0.0.0.0:1234":             "http://127.0.0.1:1234/v1",
		"box":                      "http://box:11434/v1",
		"box:99":                   "http://box:99/v1",
		"http://box":               "http://box:80/v1",
		"https://box":              "https://box:443/v1",
		"https://box:1/some/path/": "https://box:1/some/path/v1",
		"http://box:1/v1":          "http://box:1/v1",
		"[::1]":                    "http://[::1]:11434/v1",
		"[::1]:5":                  "http://[::1]:5/v1",
		"[::]":                     "http://127.0.0.1:11434/v1",
	} {
		if got := ollamaAddress(host); got != want {
			t.Errorf("%q is %s, want %s", host, got, want)
		}
	}
}

func TestModelsThatRefuseMaxTokens(t *testing.T) {
	for id, want := range map[string]bool{
		"gpt-5": true, "gpt-5.6-terra": true, "openai/o3-mini": true, "gpt-4o": false, "gpt-4.1": false, "gpt-oss-120b": false, "llama": false, "": false,
	} {
		if completes(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
}

func TestRegionsOfAVendor(t *testing.T) {
	v := vendorOf("openai")
	for address, want := range map[string]bool{
		"https://api.openai.com/v1": true, "https://eu.api.openai.com/v1": true, "https://evilapi.openai.com.example/v1": false, "http://127.0.0.1:1/v1": false,
	} {
		if v.at(address) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}
