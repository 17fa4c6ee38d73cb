// Tests of cadre models and cadre doctor.

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm/catalogue"
)

// listedModels is what cadre models --json tells.
type listedModels struct {
	Default string `json:"default"`
	Models  []struct {
		Provider string `json:"provider"`
		ID       string `json:"id"`
		Window   int64  `json:"window"`
		Price    *struct {
			Input  float64 `json:"input"`
			Output float64 `json:"output"`
		} `json:"price"`
		Tools bool `json:"tools"`
	} `json:"models"`
}

func (f *folder) models(args ...string) listedModels {
	f.t.Helper()
	var l listedModels
	out := f.run(0, append([]string{"models", "--json"}, args...)...).out
	if err := json.Unmarshal([]byte(out), &l); err != nil {
		f.t.Fatalf("%v\n%s", err, out)
	}
	return l
}

// diagnosis is what cadre doctor --json tells.
type diagnosis struct {
	OK       bool `json:"ok"`
	Findings []struct {
		Subject string `json:"subject"`
		OK      bool   `json:"ok"`
		Text    string `json:"text"`
		Hint    string `json:"hint"`
	} `json:"findings"`
}

func (f *folder) doctor(code int, args ...string) diagnosis {
	f.t.Helper()
	var d diagnosis
	out := f.run(code, append([]string{"doctor", "--json"}, args...)...).out
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		f.t.Fatalf("%v\n%s", err, out)
	}
	if d.OK != (code == 0) || len(d.Findings) < 5 {
		f.t.Errorf("exit code %d: %+v", code, d)
	}
	return d
}

// wrongs are the findings that are wrong, as subject and text.
func (d diagnosis) wrongs() string {
	var b strings.Builder
	for _, f := range d.Findings {
		if !f.OK {
			b.WriteString(f.Subject + ": " + f.Text + "\n")
		}
	}
	return b.String()
}

// local are the servers that may run on the machine of the tests.
var local = map[string]bool{"ollama": true, "lmstudio": true, "llamacpp": true, "vllm": true}

func TestModelsOffline(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	l := f.models()
	if l.Default != "offline" || len(l.Models) == 0 {
		t.Errorf("models: %+v", l)
	}
	offline := 0
	for _, m := range l.Models {
		switch {
		case m.ID == "offline" && m.Price != nil && m.Price.Input == 0:
			offline++
		case !local[m.Provider]:
			t.Errorf("nothing is configured, and there is %+v", m)
		}
	}
	if offline != 1 {
		t.Errorf("offline is listed %d times", offline)
	}
	f.run(0, "models").wants(t, "offline", "free", "if none is named: offline (no provider is configured)")
	f.run(exitUsage, "models", "--provider", "nobody").wants(t, `"nobody"`, "there are anthropic")
	f.run(exitUsage, "models", "--provider", "nobody", "--json").wants(t, `"nobody"`)
	f.run(exitUsage, "models", "--live").wants(t, "--provider")
	f.run(exitUsage, "models", "x")
	f.run(exitFailed, "models", "--provider", "anthropic", "--live").wants(t, "anthropic cannot be used yet", "set ANTHROPIC_API_KEY")
}

func TestModelsWithAKey(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	url := f.serve("provider.yaml")
	f.env = []string{"ANTHROPIC_API_KEY=" + testKey}
	l := f.models()
	found := map[string]bool{}
	for _, m := range l.Models {
		if local[m.Provider] {
			continue
		}
		found[m.Provider+"/"+m.ID] = true
		if m.Provider != "anthropic" && m.Provider != "offline" {
			t.Errorf("there is no key for %+v", m)
		}
		if m.Provider == "anthropic" && (m.Window < 100_000 || m.Price == nil || m.Price.Input <= 0 || m.Price.Output <= m.Price.Input || !m.Tools) {
			t.Errorf("a model: %+v", m)
		}
	}
	if !found[l.Default] || !strings.HasPrefix(l.Default, "anthropic/") || !found["anthropic/claude-sonnet-4-5-20250929"] {
		t.Errorf("the default is %s of %v", l.Default, found)
	}
	row := ""
	for text := range strings.Lines(f.run(0, "models").out) {
		if strings.HasPrefix(text, "anthropic/claude-sonnet-4-5-20250929 ") {
			row = strings.Join(strings.Fields(text), " ")
		}
	}
	if row != "anthropic/claude-sonnet-4-5-20250929 200k 3 15 0.3 - tools, images, reasoning" {
		t.Errorf("the row of Sonnet 4.5: %q", row)
	}
	// Another provider's list can be read without a key for it.
	for _, m := range f.models("--provider", "openai").Models {
		if m.Provider != "openai" {
			t.Errorf("a model: %+v", m)
		}
	}
	f.env = anthropicAt(url)
	if live := f.models("--provider", "anthropic", "--live").Models; len(live) != 1 || live[0].ID != "scripted" || live[0].Price != nil {
		t.Errorf("live: %+v", live)
	}
}

// TestModelsTellEfforts: what long requests cost, and which efforts there are.
func TestModelsTellEfforts(t *testing.T) {
	t.Parallel()
	newFolder(t).run(0, "models", "--provider", "google").wants(t, "LONG REQUESTS", "4/18 above 200k", "reasoning @low|medium|high\n")
}

// TestModelsOfALocalServer: with nothing else configured a server that runs is
// what is used.
func TestModelsOfALocalServer(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := map[string]string{
			"/api/tags": `{"models":[{"model":"qwen3:8b"}]}`,
			"/api/show": `{"parameters":"num_ctx 16384","model_info":{"qwen3.context_length":40960},"capabilities":["completion","tools","thinking"]}`,
		}[r.URL.Path]
		if body == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	f := newFolder(t)
	f.env = []string{"OLLAMA_HOST=" + srv.URL}
	f.run(0, "models").wants(t, "ollama/qwen3:8b", "16k", "free", "tools, reasoning\n", "if none is named: ollama/qwen3:8b (ollama runs on this machine", "smart: ollama/qwen3:8b")
	f.run(0, "doctor").wants(t, "model: ollama/qwen3:8b", "has 1 model")
}

func TestDoctorOffline(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.run(0, "doctor").wants(t, "there is no configuration file; none is needed", "model: offline (no provider is configured)",
		"set ANTHROPIC_API_KEY", f.data+" will be made")
	if d := f.doctor(0); d.wrongs() != "" {
		t.Errorf("wrong: %s", d.wrongs())
	}
	f.doctor(0, "--deep")
	f.run(0, "run", "hello")
	f.run(0, "doctor").wants(t, f.data+" is sound")
}

func TestDoctorWithAKey(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.env = anthropicAt(f.serve("provider.yaml"))
	f.run(0, "doctor").wants(t, "provider anthropic: its key is in ANTHROPIC_API_KEY", "tier smart: anthropic/claude-opus")
	f.run(0, "doctor", "--deep").wants(t, "it answers and has 1 model")
	f.doctor(0, "--deep")
	f.env = anthropicAt(refusing(t))
	f.run(0, "doctor") // it does not ask
	r := f.run(exitFailed, "doctor", "--deep")
	r.wants(t, "wrong  provider anthropic", "the key is not accepted: correct ANTHROPIC_API_KEY", "1 problem found")
	if d := f.doctor(exitFailed, "--deep"); !strings.HasPrefix(d.wrongs(), "provider anthropic: ") || strings.Count(d.wrongs(), "\n") != 1 {
		t.Errorf("wrong: %s", d.wrongs())
	}
	f.env = anthropicAt("http://127.0.0.1:1")
	f.run(exitFailed, "doctor", "--deep").wants(t, "wrong  provider anthropic", "http://127.0.0.1:1")
}

// TestBrokenConfiguration: whatever reads it names the file and the line.
func TestBrokenConfiguration(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for _, c := range []struct {
		text string
		line int
		says string
	}{
		{"model: offline\nproviders:\n  house: {kind: nonsense, base_url: 'http://127.0.0.1:1'}\n", 3, "providers.house.kind must be"},
		{"model: offline\ntiers: [fast\n", 2, ""},
		{"providers:\n  house:\n    base_url: 12 monkeys\n", 3, "base_url"},
	} {
		file := f.write("config.yaml", c.text)
		at := file + ":" + strconv.Itoa(c.line)
		f.env = []string{"CADRE_CONFIG=" + file}
		f.run(exitFailed, "doctor").wants(t, "wrong  configuration: "+at, c.says, "found")
		if d := f.doctor(exitFailed); !strings.Contains(d.wrongs(), at) {
			t.Errorf("%s is missing in %s", at, d.wrongs())
		}
		f.run(exitUsage, "models").wants(t, at, "`cadre doctor`")
		f.run(exitFailed, "run", "hello").wants(t, at)
	}
	missing := f.work + "/nowhere.yaml"
	f.env = []string{"CADRE_CONFIG=" + missing}
	f.run(exitFailed, "doctor").wants(t, missing, "CADRE_CONFIG")
}

// TestNoModels: why there are none, and what to do.
func TestNoModels(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.env = []string{"CADRE_LOCAL=off", "OLLAMA_HOST=http://127.0.0.1:1"}
	f.run(exitUsage, "models", "--provider", "nobody").wants(t, `there is no provider "nobody"`, "anthropic, openai")
	f.run(exitFailed, "models", "--provider", "ollama").wants(t, "no ollama answers at http://127.0.0.1:1/v1", "start it")
	f.run(exitUsage, "models", "--provider", "together").wants(t, "not in the built-in list", "set TOGETHER_API_KEY")
	f.env = append(f.env, "TOGETHER_API_KEY="+testKey)
	f.run(exitUsage, "models", "--provider", "together").wants(t, "not in the built-in list", "cadre models --provider together --live")
}

// TestVariablesAreTold: what configures a provider stands in the help and in
// the README.
func TestVariablesAreTold(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	help := newFolder(t).run(0, "models", "--help").out
	for _, v := range catalogue.Environment() {
		for _, name := range append([]string{v.Provider}, slices.Concat(v.Keys, v.Bases)...) {
			if !strings.Contains(help, name) || !strings.Contains(string(readme), name) {
				t.Errorf("%s: the help or the README lacks %s", v.Provider, name)
			}
		}
	}
	for _, name := range []string{"CADRE_LOCAL", "idle", "stream"} {
		if !strings.Contains(help, name) || !strings.Contains(string(readme), name) {
			t.Errorf("the help or the README lacks %s", name)
		}
	}
}
