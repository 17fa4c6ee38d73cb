// Tests of the diagnosis.

package catalogue

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/config"
)

// about returns the findings about a subject.
func about(findings []Finding, subject string) []Finding {
	var out []Finding
	for _, f := range findings {
		if f.Subject == subject {
			out = append(out, f)
		}
	}
	return out
}

func TestDoctor(t *testing.T) {
	refuse := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	type host map[string]http.HandlerFunc
	tests := []struct {
		name    string
		env     env
		config  string
		hosts   host
		deep    bool
		subject string
		ok      bool
		want    []string // in text and hint
	}{
		{"nothing configured", nil, "", nil, false, "configuration", true, []string{"none is needed"}},
		{"offline", nil, "", nil, true, "model", true, []string{"offline", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"}},
		{"nothing runs", nil, "", nil, false, "local servers", true, []string{"ollama, lmstudio, llamacpp, vllm"}},
		{"warning", nil, "modell: x\n", nil, false, "configuration", false, []string{"config.yaml:1", "did you mean model?"}},
		{"key", keys("anthropic"), "", nil, false, "provider anthropic", true, []string{"ANTHROPIC_API_KEY"}},
		{"key in a file", nil, "providers: {groq: {key: abcdef}}", nil, false, "provider groq", true, []string{"config.yaml:1"}},
		{"tier", keys("anthropic"), "", nil, false, "tier smart", true, []string{"anthropic/claude-opus-4-8", "ANTHROPIC_API_KEY"}},
		{"tier that is not there", nil, "tiers: {smart: openai/o3}", nil, false, "tier smart", false, []string{"OPENAI_API_KEY", "config.yaml:1"}},
		{"no price", keys("anthropic"), "tiers: {fast: anthropic/claude-haiku-9}", nil, false, "tier fast", true, []string{"price is not known", "providers.anthropic.models.claude-haiku-9"}},
		{"accepted", keys("anthropic"), "", host{"api.anthropic.com": answer("/v1/models", `{"data":[{"id":"a"},{"id":"b"}]}`)}, true, "provider anthropic", true, []string{"2 models"}},
		{"not accepted", keys("anthropic"), "", host{"api.anthropic.com": refuse(401, `{"error":{"message":"bad key-of-anthropic"}}`)}, true, "provider anthropic", false, []string{"401", "correct ANTHROPIC_API_KEY"}},
		{"not reached", keys("anthropic"), "", nil, true, "provider anthropic", false, []string{"connection refused", "HTTPS_PROXY", "api.anthropic.com"}},
		{"out of order", keys("groq"), "", host{"api.groq.com": refuse(500, "oops")}, true, "provider groq", false, []string{"500", "try again later"}},
		{"limited", keys("groq"), "", host{"api.groq.com": refuse(429, "slow down")}, true, "provider groq", false, []string{"the key is accepted"}},
		{"openrouter's list is public", keys("openrouter"), "", host{"openrouter.ai": answer("/api/v1/models", `{"data":[{"id":"a"}]}`)}, true, "provider openrouter", false, []string{"404"}},
		{"gateway without list", nil, "providers: {own: {base_url: 'https://own.example/v1'}}", host{"own.example": refuse(404, "")}, true, "provider own", true, []string{"it answers", "own.example"}},
		{"gateway that wants a key", nil, "providers: {own: {base_url: 'https://own.example/v1'}}", host{"own.example": refuse(401, "")}, true, "provider own", false, []string{"it wants a key", "key_env under providers.own"}},
		{"incomplete", nil, "providers: {own: {kind: openai}}", nil, false, "provider own", false, []string{"base_url under providers.own"}},
		{"disabled", keys("groq"), "providers: {groq: {disabled: true}}", nil, true, "provider groq", true, []string{"disabled"}},
		{"query for nothing", keys("anthropic"), "providers: {anthropic: {query: {a: b}}}", nil, false, "configuration", false, []string{"config.yaml:1", "query is not sent"}},
		{"limit for nobody", nil, "limits: {antropic: 4}", nil, false, "configuration", false, []string{"config.yaml:1", "antropic", "no provider"}},
		{"limit by another name", nil, "limits: {gemini/x: 4}", nil, false, "configuration", false, []string{"config.yaml:1", "called google"}},
		{"local", nil, "", host{"127.0.0.1:11434": answer("/api/tags", ollamaTags)}, false, "local server ollama", true, []string{"3 models", "ollama/llama3.2:latest"}},
		{"local, empty", nil, "", host{"127.0.0.1:11434": answer("/api/tags", `{"models":[]}`)}, false, "local server ollama", true, []string{"no model", "load one"}},
		{"local, configured, down", env{"OLLAMA_HOST": "box"}, "", nil, false, "local server ollama", false, []string{"http://box:11434/v1", "start it"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, n := made(t, tt.env, tt.config)
			for h, handler := range tt.hosts {
				n.serve(t, h, handler)
			}
			findings := c.Doctor(t.Context(), tt.deep)
			got := about(findings, tt.subject)
			if len(got) != 1 || got[0].OK != tt.ok {
				t.Fatalf("got %+v in %+v", got, findings)
			}
			for _, want := range tt.want {
				if !strings.Contains(got[0].Text+" "+got[0].Hint, want) {
					t.Errorf("%+v does not say %q", got[0], want)
				}
			}
			for _, f := range findings {
				if strings.Contains(f.Text+f.Hint, "key-of-") {
					t.Errorf("a key is shown: %+v", f)
				}
			}
		})
	}
}

func TestDoctorOfABrokenConfiguration(t *testing.T) {
	cfg, err := configured(t, nil, "fallback_wait: x\nlimits: {groq: y}\n")
	if err == nil {
		t.Fatal("no error")
	}
	c := New(Options{Config: cfg, ConfigErr: err, Env: env{}.get, HTTP: &http.Client{Transport: &network{}}})
	got := about(c.Doctor(t.Context(), false), "configuration")
	if len(got) != 2 || got[0].OK || !strings.Contains(got[0].Text, "config.yaml:1") || !strings.Contains(got[1].Text, "config.yaml:2") {
		t.Errorf("got %+v", got)
	}
	c = New(Options{Config: &config.Config{}, ConfigErr: errors.New("gone"), Env: env{}.get, HTTP: &http.Client{Transport: &network{}}})
	if got := about(c.Doctor(t.Context(), false), "configuration"); len(got) != 1 || got[0].OK || got[0].Text != "gone" {
		t.Errorf("got %+v", got)
	}
}

// Nothing is sent to a vendor unless that was asked for.
func TestDoctorAsksVendorsOnlyWhenDeep(t *testing.T) {
	c, n := made(t, all, "")
	c.Doctor(t.Context(), false)
	for _, host := range n.asked {
		if !strings.HasPrefix(host, "127.0.0.1:") {
			t.Errorf("%s was asked", host)
		}
	}
	n.asked = nil
	c.Doctor(t.Context(), true)
	if len(n.asked) < len(all) {
		t.Errorf("only %v were asked", n.asked)
	}
}
