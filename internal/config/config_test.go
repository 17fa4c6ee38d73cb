// Tests of what files mean, and of what is wrong with them.

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// world is a home folder with a project in it, and an environment.
type world struct {
	t       *testing.T
	home    string
	project string
	env     map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home := t.TempDir()
	w := &world{t: t, home: home, project: filepath.Join(home, "work", "thing"), env: map[string]string{"HOME": home}}
	w.write(filepath.Join(w.project, ".git", "HEAD"), "ref: refs/heads/main")
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) user(text string)    { w.write(w.userFile(), text) }
func (w *world) inside(text string)  { w.write(w.projectFile(), text) }
func (w *world) userFile() string    { return filepath.Join(w.home, ".config", "cadre", "config.yaml") }
func (w *world) projectFile() string { return filepath.Join(w.project, ".cadre", "config.yaml") }

func (w *world) load() (*Config, error) {
	return Load(Options{Dir: w.project, Env: func(name string) string { return w.env[name] }})
}

func (w *world) must() *Config {
	w.t.Helper()
	c, err := w.load()
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

const everything = `# all that can be said
model: team/big
tiers:
  fast: groq/qwen/qwen3-32b
  default: team/big
  smart: anthropic/claude-opus-4-8
fallback_wait: 45s
limits:
  anthropic: 16
  anthropic/claude-opus-4-8: {start: 2, max: 4}
providers:
  Team:
    kind: openai
    base_url: https://llm.example.com/v1/
    key: ${TEAM_KEY}
    headers:
      x-team: core-${USER_NAME:-nobody}
    query:
      api-version: 2024-10-21
    models:
      big:
        name: The big one
        window: 200k
        max_output: 32_000
        price: {input: 1.25, output: 10, cache_read: 0.125}
        images: true
        reasoning: no
        tools: true
      small:
  anthropic:
    key_env: MY_ANTHROPIC_KEY
  openai:
    disabled: true
`

func TestEverythingThatCanBeSaid(t *testing.T) {
	w := newWorld(t)
	w.env["TEAM_KEY"] = "secret-of-the-team"
	w.user(everything)
	c := w.must()
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %v", c.Warnings)
	}
	if c.Model != "team/big" || c.Tiers != (Tiers{Fast: "groq/qwen/qwen3-32b", Default: "team/big", Smart: "anthropic/claude-opus-4-8"}) {
		t.Errorf("model %q, tiers %+v", c.Model, c.Tiers)
	}
	if c.FallbackWait != 45*time.Second {
		t.Errorf("fallback wait %v", c.FallbackWait)
	}
	p, ok := c.Provider("team")
	if !ok || p.Kind != KindOpenAI || p.BaseURL != "https://llm.example.com/v1" || p.Key.Reveal() != "secret-of-the-team" {
		t.Errorf("provider %v, key %q", p, p.Key.Reveal())
	}
	if len(p.Headers) != 1 || p.Headers[0].Name != "X-Team" || p.Headers[0].Value.Reveal() != "core-nobody" {
		t.Errorf("headers %v", p.Headers)
	}
	if len(p.Query) != 1 || p.Query[0].Name != "api-version" || p.Query[0].Value.Reveal() != "2024-10-21" {
		t.Errorf("query %v", p.Query)
	}
	if len(p.Models) != 2 || p.Models[1].ID != "small" {
		t.Fatalf("models %+v", p.Models)
	}
	m := p.Models[0]
	if m.ID != "big" || m.Name != "The big one" || m.Window != 200_000 || m.MaxOutput != 32_000 || !*m.Images || *m.Reasoning || !*m.Tools {
		t.Errorf("model %+v", m)
	}
	if *m.Price.Input != 1_250_000 || *m.Price.Output != 10_000_000 || *m.Price.CacheRead != 125_000 || m.Price.CacheWrite != nil {
		t.Errorf("price %+v", m.Price)
	}
	if a, _ := c.Provider("anthropic"); a.KeyEnv != "MY_ANTHROPIC_KEY" {
		t.Errorf("anthropic %v", a)
	}
	if o, _ := c.Provider("openai"); !o.Disabled {
		t.Error("openai is not disabled")
	}
	for path, line := range map[string]int{"tiers.fast": 4, "model": 2, "providers.team.base_url": 14, "providers.team.models.big.price": 25} {
		if got, want := c.Where(path), fmt.Sprintf("%s:%d", w.userFile(), line); got != want {
			t.Errorf("Where(%s) = %s, want %s", path, got, want)
		}
	}
}

// The example of the package's comment is one that can be used.
func TestExample(t *testing.T) {
	src, err := os.ReadFile("config.go")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(src)) {
		if strings.HasPrefix(line, "package ") {
			break
		}
		if rest, ok := strings.CutPrefix(line, "//\t"); ok {
			text.WriteString(rest)
		}
	}
	w := newWorld(t)
	w.user(text.String())
	c := w.must()
	if len(c.Warnings) > 0 || len(c.Providers) != 4 || c.Tiers.Smart != "opus@high" || c.Limit("anthropic", "claude-opus-4-8").Max != 8 {
		t.Errorf("got %v, warnings %v", c, c.Warnings)
	}
}

func TestThinkingAndLongPrices(t *testing.T) {
	w := newWorld(t)
	w.user(`
providers:
  anthropic:
    effort: High
    show_thinking: true
    models:
      m: {thinking_tokens: 8k, price: {long: {above: 200k, input: 2.5, output: 15, cache_read: 0.25}}}
      n: {effort: low, price: {long: none}}
`)
	c := w.must()
	p, _ := c.Provider("anthropic")
	if p.Thinking.Effort != "high" || p.Thinking.Tokens != 0 || p.Thinking.Show == nil || !*p.Thinking.Show {
		t.Errorf("the provider: %+v", p.Thinking)
	}
	m, n := p.Models[0], p.Models[1]
	if m.Thinking.Effort != "" || m.Thinking.Tokens != 8000 || m.Thinking.Show != nil || n.Thinking.Effort != "low" {
		t.Errorf("the models: %+v, %+v", m.Thinking, n.Thinking)
	}
	l := m.Price.Long
	if l == nil || l.Above != 200_000 || *l.Input != 2_500_000 || *l.Output != 15_000_000 || *l.CacheRead != 250_000 || l.CacheWrite != nil {
		t.Errorf("the price: %+v", l)
	}
	if n.Price.Long == nil || n.Price.Long.Above != 0 || !n.Price.Said() {
		t.Errorf("no price for long requests: %+v", n.Price)
	}
	if c.Where("providers.anthropic.effort") == "" || c.Where("providers.anthropic.models.m.thinking_tokens") == "" {
		t.Error("it is not known where this was said")
	}
}

func TestIdleAndStream(t *testing.T) {
	w := newWorld(t)
	w.user(`providers: {a: {idle: 2m, stream: false}, b: {idle: {first: 10m}}, c: {idle: {then: 5s}, stream: true}, d: {}}`)
	c := w.must()
	for name, want := range map[string]Idle{"a": {2 * time.Minute, 2 * time.Minute}, "b": {First: 10 * time.Minute}, "c": {Then: 5 * time.Second}, "d": {}} {
		p, _ := c.Provider(name)
		if p.Idle != want || (p.Stream != nil) != (name == "a" || name == "c") || p.Stream != nil && *p.Stream == (name == "a") {
			t.Errorf("%s: %+v, stream %v", name, p.Idle, p.Stream)
		}
	}
	for _, text := range []string{"{idle: 7}", "{idle: {first: -1s}}", "{idle: [1s]}", "{stream: maybe}"} {
		w.user("providers: {a: " + text + "}")
		if _, err := w.load(); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func TestLimits(t *testing.T) {
	w := newWorld(t)
	w.user("limits:\n  anthropic: {start: 8, max: 16}\n  anthropic/Claude-X: {max: 4}\n  groq: 3\n")
	c := w.must()
	for _, tt := range []struct {
		provider, model string
		want            Limit
	}{
		{"anthropic", "claude-x", Limit{Start: 4, Max: 4}},
		{"Anthropic", "claude-y", Limit{Start: 8, Max: 16}},
		{"groq", "any", Limit{Max: 3}},
		{"openai", "any", Limit{}},
	} {
		if got := c.Limit(tt.provider, tt.model); got != tt.want {
			t.Errorf("Limit(%s, %s) = %+v, want %+v", tt.provider, tt.model, got, tt.want)
		}
	}
	if got := (*Config)(nil).Limit("a", "b"); got != (Limit{}) {
		t.Errorf("a configuration that is nil has a limit: %+v", got)
	}
}

func TestBrokenFilesNameFileAndLine(t *testing.T) {
	tests := []struct {
		name, text string
		line       int
		want       string // in the message
	}{
		{"no end of quote", "model: x\ntiers:\n  fast: \"abc\n", 3, "not valid YAML"},
		{"tab", "tiers:\n\tfast: x\n", 2, "indentation by spaces"},
		{"twice", "model: a\nmodel: b\n", 2, "already defined"},
		{"bracket", "trust: [a\nmodel: b\n", 2, "brackets"},
		{"reference in braces", "providers:\n  a: {key: ${X}}\n", 2, "quotes around ${"},
		{"list at the top", "- a\n", 1, "must be a mapping"},
		{"text instead of tiers", "model: a\ntiers: fast\n", 2, "tiers must be a mapping"},
		{"text instead of provider", "providers:\n  openai: sk-abcdefghijkl\n", 2, "providers.openai must be a mapping"},
		{"kind", "providers:\n  a:\n    kind: smoke\n", 3, "openai-responses"},
		{"address", "providers:\n  a:\n    base_url: example.com\n", 3, "https://"},
		{"address with query", "providers:\n  a:\n    base_url: https://x/?key=abc\n", 3, "under query"},
		{"address with password", "providers:\n  a:\n    base_url: https://user:pass@example.com\n", 3, "under headers"},
		{"both keys", "providers:\n  a:\n    key: abc\n    key_env: ABC\n", 4, "keep one"},
		{"key as name", "providers:\n  a:\n    key_env: sk-abc\n", 3, "belongs under key"},
		{"provider with slash", "providers:\n  a/b: {}\n", 2, "name"},
		{"window", "providers:\n  a:\n    models:\n      m:\n        window: big\n", 5, "such as 64 or 200k"},
		{"negative", "providers:\n  a:\n    models:\n      m:\n        max_output: -1\n", 5, "above 0"},
		{"price", "providers:\n  a:\n    models:\n      m:\n        price: {input: cheap}\n", 5, "dollars per million"},
		{"negative price", "providers:\n  a:\n    models:\n      m:\n        price: {input: -3}\n", 5, "dollars per million"},
		{"price of one number", "providers:\n  a:\n    models:\n      m:\n        price: 3\n", 5, "must be a mapping"},
		{"effort", "providers:\n  a:\n    effort: much\n", 3, "none, minimal, low"},
		{"thinking", "providers:\n  a:\n    models:\n      m:\n        thinking_tokens: few\n", 5, "such as 64 or 200k"},
		{"shown thinking", "providers:\n  a:\n    show_thinking: maybe\n", 3, "true or false"},
		{"long price of one number", "providers:\n  a:\n    models:\n      m:\n        price:\n          long: 3\n", 6, "must be none"},
		{"long price without a number", "providers:\n  a:\n    models:\n      m:\n        price:\n          long: {input: 1, output: 2}\n", 6, "above how many tokens"},
		{"long price without output", "providers:\n  a:\n    models:\n      m:\n        price:\n          long: {above: 200k, input: 1}\n", 6, "input and output"},
		{"ability", "providers:\n  a:\n    models:\n      m:\n        images: maybe\n", 5, "true or false"},
		{"duration", "fallback_wait: 20\n", 1, "20s"},
		{"mapping instead of text", "model:\n  a: b\n", 1, "single value"},
		{"limit", "limits:\n  a: none\n", 2, "above 0"},
		{"header", "providers:\n  a:\n    headers:\n      \"x y\": z\n", 4, "no spaces"},
		{"many lines", "providers:\n  a:\n    key: |\n      a\n      b\n", 3, "one line"},
		{"alias of nothing", "model: *x\n", 1, "nothing is named &x"},
		{"two documents", "model: a\n---\nmodel: b\n", 3, "second document"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.user(tt.text)
			_, err := w.load()
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("error is %v", err)
			}
			p := e.Problems[0]
			if p.File != w.userFile() || p.Line != tt.line || !strings.Contains(p.Text, tt.want) {
				t.Errorf("got %v\nwant line %d and %q", p, tt.line, tt.want)
			}
			if at := fmt.Sprintf("%s:%d: ", w.userFile(), tt.line); !strings.Contains(err.Error(), at) {
				t.Errorf("%q does not name %s", err, at)
			}
		})
	}
}

func TestAllProblemsAreTold(t *testing.T) {
	w := newWorld(t)
	w.user("fallback_wait: x\nlimits:\n  a: y\n")
	w.inside("fallback_wait: z\nmodel: kept\n")
	c, err := w.load()
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Problems) != 3 {
		t.Fatalf("got %v", err)
	}
	if c.Model != "kept" {
		t.Error("what could be read is lost")
	}
}

func TestUnknownKeysAreWarnings(t *testing.T) {
	tests := []struct {
		name, text string
		line       int
		want       string
	}{
		{"top", "model: x\nmodell: y\n", 2, "did you mean model?"},
		{"dash for underscore", "fallback-wait: 3s\n", 1, "did you mean fallback_wait?"},
		{"tier", "tiers:\n  fats: x\n", 2, "did you mean fast?"},
		{"nothing near", "tiers:\n  enormous: x\n", 2, "here can be default, fast, smart"},
		{"provider", "providers:\n  a:\n    baseURL: x\n", 3, "did you mean base_url?"},
		{"model", "providers:\n  a:\n    models:\n      m:\n        context: 3\n", 5, "in providers.a.models.m"},
		{"perhaps a key", "providers:\n  a:\n    sk-proj-0123456789abcdefghijkl: x\n", 3, "means nothing here"},
		{"variable not set", "model: ${NOWHERE}\n", 1, "NOWHERE is not set"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.user(tt.text)
			c := w.must()
			if len(c.Warnings) != 1 {
				t.Fatalf("warnings: %v", c.Warnings)
			}
			got := c.Warnings[0]
			if got.File != w.userFile() || got.Line != tt.line || !strings.Contains(got.Text, tt.want) {
				t.Errorf("got %v\nwant line %d and %q", got, tt.line, tt.want)
			}
			if strings.Contains(got.Text, "0123456789") {
				t.Errorf("a key is shown: %v", got)
			}
		})
	}
}

func TestNothingWritten(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "comment": "# nothing\n", "keys without values": "model:\ntiers:\nproviders:\n  a:\n", "braces": "{}"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.user(text)
			if c := w.must(); c.Model != "" || len(c.Warnings) > 0 {
				t.Errorf("got %v, warnings %v", c, c.Warnings)
			}
		})
	}
	w := newWorld(t)
	if c := w.must(); len(c.Files) != 0 {
		t.Errorf("files %v", c.Files)
	}
}

func TestJSONAnchorsAndLineEnds(t *testing.T) {
	w := newWorld(t)
	w.user("\ufeff{\"model\": \"a/b\",\r\n \"limits\": {\"a\": 3}}\r\n")
	if c := w.must(); c.Model != "a/b" || c.Limits["a"].Max != 3 {
		t.Errorf("JSON: %v %v", c, c.Limits)
	}
	w.user("providers:\n  a: &a\n    kind: openai\n    base_url: https://a.example\n  b:\n    <<: *a\n    base_url: https://b.example\n")
	b, _ := w.must().Provider("b")
	if b.Kind != KindOpenAI || b.BaseURL != "https://b.example" {
		t.Errorf("merged: %v", b)
	}
	w.user("providers:\n  a:\n    models: [one, two]\n")
	a, _ := w.must().Provider("a")
	if ids := []string{a.Models[0].ID, a.Models[1].ID}; !slices.Equal(ids, []string{"one", "two"}) {
		t.Errorf("models: %v", ids)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	const secret = "sk-very-secret-0123456789"
	w := newWorld(t)
	w.env["K"] = secret
	w.user("providers:\n  a:\n    kind: openai\n    base_url: https://example.com/v1\n    key: ${K}\n    headers: {X-Token: \"" + secret + "\"}\n    query: {code: \"" + secret + "\"}\n")
	c := w.must()
	p := c.Providers[0]
	type hidden struct{ s Secret } // fmt calls no methods on fields that are not exported
	encoded, err := json.Marshal(struct {
		Key   Secret
		Pairs []Pair
	}{p.Key, p.Headers})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logger.Info("text", "config", c, "provider", p, "key", p.Key, "hidden", hidden{p.Key})
	logger = slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("json", "config", c, "provider", p, "key", p.Key, "pairs", p.Headers)
	shown := []string{log.String(), string(encoded)}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{p.Key, p, &p, c, p.Headers, hidden{p.Key}, &hidden{p.Key}, []Provider{p}} {
			shown = append(shown, fmt.Sprintf(format, v))
		}
	}
	for _, s := range shown {
		if strings.Contains(s, "very-secret") || strings.Contains(s, fmt.Sprintf("%x", "very-secret")) {
			t.Errorf("a secret is shown: %s", s)
		}
	}
	if p.Key.Reveal() != secret {
		t.Error("the key is lost")
	}
}

func TestErrorsShowNoSecret(t *testing.T) {
	const secret = "sk-very-secret-0123456789"
	for _, text := range []string{
		"providers:\n  a:\n    key: \"" + secret + "\n",
		"providers:\n  a:\n    key_env: " + secret + "\n",
		"providers:\n  a:\n    key: [" + secret + "]\n",
		"providers:\n  a: " + secret + "\n",
		"providers:\n  a:\n    key: " + secret + ": x\n",
		"providers:\n  a:\n   key: x\n    b: " + secret + "\n",
		"providers:\n  a:\n    base_url: " + secret + "\n",
	} {
		w := newWorld(t)
		w.user(text)
		_, err := w.load()
		if err == nil {
			t.Errorf("no error for %q", text)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("a secret is shown: %v", err)
		}
	}
}

func TestExpand(t *testing.T) {
	env := func(name string) string { return map[string]string{"A": "1", "B_2": "two"}[name] }
	for _, tt := range []struct {
		text, want string
		missing    []string
	}{
		{"plain $A", "plain $A", nil},
		{"${A}", "1", nil},
		{"x${A}y${B_2}z", "x1ytwoz", nil},
		{"${C}", "", []string{"C"}},
		{"${C:-else}", "else", nil},
		{"${A:-else}", "1", nil},
		{"${C:-}", "", nil},
		{"$${A}", "${A}", nil},
		{"${A", "${A", nil},
		{"${not a name}${A}", "${not a name}1", nil},
		{"${}", "${}", nil},
	} {
		got, missing := expand(tt.text, env)
		if got != tt.want || !slices.Equal(missing, tt.missing) {
			t.Errorf("expand(%q) = %q, %v; want %q, %v", tt.text, got, missing, tt.want, tt.missing)
		}
	}
}
