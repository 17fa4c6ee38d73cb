// Tests of cadre run with models that answer over HTTP: conversations with
// tools and sub-agents, costs, faults of the line, tiers and names.

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testKey looks like no vendor's key, so that only who knows it can hide it.
const testKey = "quince-4711-hedgehog-0815-lantern"

// serve starts a server that plays a file of testdata and returns its address.
func (f *folder) serve(name string) string {
	f.t.Helper()
	p := f.start("dev", "model-server", strings.TrimPrefix(script(f.t, name), scriptedModel))
	return p.await("it listens", func(text string) bool { return strings.HasPrefix(text, "http://127.0.0.1:") })[0]
}

// write writes a file into the working folder and returns its path.
func (f *folder) write(name, text string) string {
	f.t.Helper()
	file := filepath.Join(f.work, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return file
}

// house makes the configuration name a provider of its own at url.
func (f *folder) house(url, more string) {
	f.t.Helper()
	file := f.write("house.yaml", "providers:\n  house: {kind: openai, base_url: '"+url+"/v1', key_env: HOUSE_KEY}\n"+more)
	f.env = []string{"CADRE_CONFIG=" + file, "HOUSE_KEY=" + testKey}
}

func anthropicAt(url string) []string {
	return []string{"ANTHROPIC_API_KEY=" + testKey, "ANTHROPIC_BASE_URL=" + url}
}

func openaiAt(url string) []string {
	return []string{"OPENAI_API_KEY=" + testKey, "OPENAI_BASE_URL=" + url + "/v1"}
}

func googleAt(url string) []string {
	return []string{"GEMINI_API_KEY=" + testKey, "GEMINI_BASE_URL=" + url}
}

// responsesAt has openai speak its newer format at url: for an address of
// one's own that must be said.
func (f *folder) responsesAt(url string) []string {
	file := f.write("responses.yaml", "providers:\n  openai: {kind: openai-responses, base_url: '"+url+"/v1'}\n")
	return []string{"CADRE_CONFIG=" + file, "OPENAI_API_KEY=" + testKey}
}

// shown is what cadre show CHAT --json tells.
type shown struct {
	Chat struct {
		Model string `json:"model"`
	} `json:"chat"`
	Outcome string   `json:"outcome"`
	CostUSD *float64 `json:"cost_usd"`
	Agents  []struct {
		Path    string   `json:"path"`
		Model   string   `json:"model"`
		State   string   `json:"state"`
		CostUSD *float64 `json:"cost_usd"`
		Tokens  int64    `json:"tokens"`
	} `json:"agents"`
}

func (f *folder) shown(chat string) shown {
	f.t.Helper()
	var s shown
	out := f.run(0, "show", chat, "--json").out
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		f.t.Fatalf("%v\n%s", err, out)
	}
	return s
}

// modelCall is a document of a call of a model.
type modelCall struct {
	Try       int    `json:"try"`
	Model     string `json:"model"`
	Status    string `json:"status"`
	ErrorKind string `json:"errorKind"`
	Error     string `json:"error"`
	Priced    bool   `json:"priced"`
	StartedAt int64  `json:"startedAt"`
	EndedAt   int64  `json:"endedAt"`
}

// modelCalls are those that an output tells of, in order.
func modelCalls(t *testing.T, out string) []modelCall {
	t.Helper()
	var calls []modelCall
	for _, l := range decodeAll(t, out) {
		for _, d := range l.Docs {
			if !strings.HasSuffix(d.Collection, "model-calls") {
				continue
			}
			var c modelCall
			if err := json.Unmarshal(d.Data, &c); err != nil {
				t.Fatal(err)
			}
			calls = append(calls, c)
		}
	}
	return calls
}

// bothRead is what provider.yaml answers with, whichever model plays it.
func bothRead(t *testing.T, d line) {
	t.Helper()
	if d.Outcome != "completed" || d.Agents != 3 || d.Usage["input"] == 0 || d.Usage["output"] == 0 {
		t.Errorf("done: %+v", d)
	}
	for _, part := range []string{"Both are read.", `part 1 has: a.go\nb.go`, `part 2 has: a.go\nb.go`} {
		if !strings.Contains(d.Result, part) {
			t.Errorf("%q is missing in the answer: %s", part, d.Result)
		}
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model string
		at    func(f *folder, url string) []string
	}{
		{"anthropic/claude-sonnet-4-5", func(_ *folder, url string) []string { return anthropicAt(url) }},
		{"openai/gpt-4o", func(_ *folder, url string) []string { return openaiAt(url) }},
		{"openai/gpt-5", (*folder).responsesAt},
		{"google/gemini-2.5-pro", func(_ *folder, url string) []string { return googleAt(url) }},
	} {
		t.Run(c.model, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.env = c.at(f, f.serve("provider.yaml"))
			r := f.run(0, "run", "--json", "--model", c.model, "read both")
			d := done(t, r.out)
			bothRead(t, d)
			if d.CostUSD == nil || *d.CostUSD <= 0 {
				t.Errorf("the cost: %v", d.CostUSD)
			}
			calls := modelCalls(t, r.out)
			if len(calls) != 6 { // two of each agent
				t.Errorf("%d model calls: %+v", len(calls), calls)
			}
			for _, call := range calls {
				if call.Status != "replied" || !call.Priced || !strings.HasPrefix(call.Model, c.model) {
					t.Errorf("a model call: %+v", call)
				}
			}
			s := f.shown(d.Chat)
			if s.Outcome != "completed" || s.CostUSD == nil || *s.CostUSD != *d.CostUSD || len(s.Agents) != 3 || !strings.HasPrefix(s.Chat.Model, c.model) {
				t.Errorf("shown: %+v", s)
			}
			for _, a := range s.Agents {
				if a.CostUSD == nil || *a.CostUSD <= 0 || a.Tokens <= 0 {
					t.Errorf("agent: %+v", a)
				}
			}
			// What is said to people, and a limit that is not met.
			f.run(0, "run", "--model", c.model, "--max-cost", "5", "read both").wants(t, "Both are read.", "✓ completed", "3 agents", "$0.0", c.model)
			f.run(0, "show", d.Chat).wants(t, "general-2  completed", "$0.0")
			f.run(0, "show", d.Chat+".1").wants(t, "Uses Glob", "Uses Read", "part 1 has: a.go")
			f.sound()
		})
	}
}

// TestCostLimit: the cost of a real price ends a run that costs too much.
func TestCostLimit(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.env = anthropicAt(f.serve("loop.yaml"))
	r := f.run(exitLimit, "run", "--json", "--model", "anthropic/claude-sonnet-4-5", "--max-cost", "0.10", "go round")
	d := done(t, r.out)
	if d.Outcome != "budget" || d.CostUSD == nil || *d.CostUSD <= 0 || *d.CostUSD > 0.10 {
		t.Errorf("done: %+v, cost %v", d, d.CostUSD)
	}
	f.sound()
}

// TestUnknownPrice: what is not known is not shown as nothing.
func TestUnknownPrice(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	url := f.serve("provider.yaml")
	f.house(url, "")
	out := f.run(0, "run", "--json", "--model", "house/m", "read both").out
	d := done(t, out)
	bothRead(t, d)
	if d.CostUSD != nil || !strings.Contains(out, `"cost_usd":null`) {
		t.Errorf("the cost is %v", *d.CostUSD)
	}
	s := f.shown(d.Chat)
	if s.CostUSD != nil || len(s.Agents) != 3 {
		t.Errorf("shown: %+v", s)
	}
	for _, a := range s.Agents {
		if a.CostUSD != nil || a.Tokens <= 0 {
			t.Errorf("agent %s costs %v", a.Path, a.CostUSD)
		}
	}
	// It is told at the start, once.
	if r := f.run(0, "run", "--model", "house/m,house/m2", "read both"); strings.Count(r.errs, "warning: model house/m: its price is not known, nor its window") != 1 ||
		strings.Count(r.errs, "warning: model house/m2: ") != 1 {
		t.Errorf("no warning:\n%s", r.errs)
	}
	for _, r := range []result{
		f.run(0, "run", "--model", "house/m", "read both"),
		f.run(0, "show", d.Chat),
		f.run(0, "show", d.Chat+".1"),
		f.run(0, "models", "--provider", "house", "--live"),
	} {
		r.wants(t, "unknown")
		if strings.Contains(r.out+r.errs, "$0") || strings.Contains(r.out, "free") {
			t.Errorf("an amount of money in:\n%s\n%s", r.out, r.errs)
		}
	}
	f.run(exitUsage, "run", "--model", "house/m", "--max-cost", "1", "read both").wants(t, "--max-cost", "the price of model house/m is not known")
	// The message names the model also where the command line does not.
	f.house(url, "model: house/m\n")
	f.run(exitUsage, "run", "--max-cost", "1", "read both").wants(t, "--max-cost", "house/m is not known")
	f.run(0, "doctor").wants(t, "house/m (model at ", "its price is not known", "its key is in HOUSE_KEY")
	// With a price it is known.
	f.env = append(f.env, "CADRE_MODEL=house/m")
	f.write("house.yaml", "providers:\n  house:\n    kind: openai\n    base_url: '"+url+"/v1'\n    key_env: HOUSE_KEY\n    models: {m: {price: {input: 1, output: 2}}}\n")
	r := f.run(0, "run", "--json", "--max-cost", "1", "read both")
	if strings.Contains(r.errs, "price") {
		t.Errorf("a warning:\n%s", r.errs)
	}
	d = done(t, r.out)
	bothRead(t, d)
	if want := float64(d.Usage["input"]+2*d.Usage["output"]) / 1e6; d.CostUSD == nil || *d.CostUSD < want*0.99 || *d.CostUSD > want*1.01 {
		t.Errorf("cost %v, want about %v", d.CostUSD, want)
	}
	f.sound()
}

// TestFaults: a rate limit, a busy model and a lost connection delay a run and
// are told, but do not end it.
func TestFaults(t *testing.T) {
	t.Parallel()
	for model, at := range map[string]func(string) []string{"anthropic/claude-sonnet-4-5": anthropicAt, "openai/gpt-4o": openaiAt} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.env = at(f.serve("faults.yaml"))
			r := f.run(0, "run", "--json", "--model", model, "meet them all")
			d := done(t, r.out)
			if d.Outcome != "completed" || d.Agents != 3 || d.CostUSD == nil || *d.CostUSD <= 0 {
				t.Errorf("done: %+v", d)
			}
			for _, part := range []string{"Done after all.", "the crowd is gone", "the line holds, and all of this has arrived"} {
				if strings.Count(d.Result, part) != 1 {
					t.Errorf("%q is not there once: %s", part, d.Result)
				}
			}
			failed := map[string]modelCall{}
			var again modelCall // the try after the rate limit
			for _, c := range modelCalls(t, r.out) {
				if !strings.HasPrefix(c.Model, model) {
					t.Errorf("the model of a call that %s is %s", c.Status, c.Model)
				}
				switch {
				case c.Status == "failed":
					failed[c.ErrorKind] = c
				case c.Status != "replied":
					t.Errorf("a model call: %+v", c)
				case again.Try == 0:
					again = c
				}
			}
			limit := failed["rate_limit"]
			if len(failed) != 3 || !strings.Contains(limit.Error, "429") || !strings.Contains(limit.Error, "too many requests") ||
				!strings.Contains(failed["overloaded"].Error, "529") || failed["network"].Error == "" {
				t.Errorf("failed: %+v", failed)
			}
			if wait := again.StartedAt - limit.EndedAt; again.Try != 2 || wait < 1000 {
				t.Errorf("try %d after %d ms; a second was asked for", again.Try, wait)
			}
			f.run(0, "show", d.Chat).wants(t, "general  ", "completed", "Done after all.")
			f.sound()
		})
	}
}

// TestPermanentFault: a key that is refused ends the run at once, with what to
// correct.
func TestPermanentFault(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.env = anthropicAt(f.serve("fails.yaml"))
	r := f.run(exitFailed, "run", "--json", "--model", "anthropic/claude-sonnet-4-5", "do it")
	d := done(t, r.out)
	if d.Outcome != "failed" || d.ErrorKind != "model_error" || !strings.Contains(d.Error, "the key is not valid") {
		t.Errorf("done: %+v", d)
	}
	f.run(0, "show", d.Chat).wants(t, "It failed (model_error)", "the key is not valid", "401")
	f.sound()
}

func TestTiers(t *testing.T) {
	t.Parallel()
	tiers := []string{"fast", "default", "smart"}
	t.Run("nothing configured", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		for _, tier := range tiers {
			r := f.start("run", "--json", "--model", tier, "hello").wait()
			if r.code != 0 || done(t, r.out).Outcome != "completed" {
				t.Errorf("--model %s: exit code %d\n%s", tier, r.code, r.errs)
			}
		}
	})
	t.Run("a key", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.env = anthropicAt(f.serve("provider.yaml"))
		seen := map[string]bool{}
		for _, tier := range tiers {
			d := done(t, f.run(0, "run", "--json", "--model", tier, "read both").out)
			bothRead(t, d)
			model := f.shown(d.Chat).Chat.Model
			if d.CostUSD == nil || *d.CostUSD <= 0 || seen[model] || !strings.HasPrefix(model, "anthropic/claude-") {
				t.Errorf("%s is %s at a cost of %v", tier, model, d.CostUSD)
			}
			seen[model] = true
			f.run(0, "doctor").wants(t, "tier "+tier+": "+model+" (")
			f.run(0, "models").wants(t, tier+": "+model+" (")
		}
	})
	t.Run("configured", func(t *testing.T) {
		t.Parallel()
		f := newFolder(t)
		f.house(f.serve("provider.yaml"), "model: house/usual\ntiers: {fast: house/small, smart: house/large}\n")
		for args, want := range map[string]string{
			"--model fast": "house/small", "--model default": "house/usual", "--model smart": "house/large", "": "house/usual", "--model house/other": "house/other",
		} {
			d := done(t, f.run(0, append([]string{"run", "--json", "read both"}, strings.Fields(args)...)...).out)
			bothRead(t, d)
			if s := f.shown(d.Chat); s.Chat.Model != want || s.Agents[1].Model != want {
				t.Errorf("%q: %+v, want %s", args, s, want)
			}
		}
		f.env = append(f.env, "CADRE_MODEL=fast")
		d := done(t, f.run(0, "run", "--json", "read both").out)
		if got := f.shown(d.Chat).Chat.Model; got != "house/small" {
			t.Errorf("CADRE_MODEL=fast leads to %s", got)
		}
	})
}

// TestUnknownModels: an error tells what is near and what to do.
func TestUnknownModels(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	key := []string{"ANTHROPIC_API_KEY=" + testKey}
	for _, c := range []struct {
		env   []string
		model string
		says  []string
	}{
		{nil, "sonet", []string{"no such model", "near it: anthropic/claude-sonnet", "set ANTHROPIC_API_KEY", "offline"}},
		{nil, "claude-sonnet-4-5", []string{"anthropic/claude-sonnet-4-5", "set ANTHROPIC_API_KEY"}},
		{nil, "anthropic/claude-sonnet-4-5", []string{"anthropic cannot be used yet", "set ANTHROPIC_API_KEY"}},
		{nil, "openai/gpt-4o", []string{"set OPENAI_API_KEY"}},
		{nil, "anthropc/claude-sonnet-4-5", []string{`there is no provider "anthropc"`, "near it: anthropic/claude-sonnet-4-5"}},
		{nil, "nobody/x", []string{"no such model", "set ANTHROPIC_API_KEY"}},
		{nil, "bedrock/claude", []string{"Bedrock", "gateway"}},
		{key, "sonet", []string{"no such model", "near it: anthropic/claude-sonnet", "`cadre models`"}},
		{key, "anthropic/claude-sonet-4-5", []string{"anthropic has no such model", "near it: anthropic/claude-sonnet-4-5", "providers.anthropic.models"}},
		{key, "gpt-4o", []string{"openai/gpt-4o", "set OPENAI_API_KEY"}},
		{append([]string{"CADRE_MODEL=sonet"}, key...), "", []string{"CADRE_MODEL", "near it: anthropic/claude-sonnet"}},
	} {
		f.env = c.env
		args := []string{"run", "hello"}
		if c.model != "" {
			args = append(args, "--model", c.model)
		}
		r := f.run(exitUsage, args...)
		if r.out != "" || strings.Contains(r.errs, testKey) {
			t.Errorf("%v %s: printed %q, %q", c.env, c.model, r.out, r.errs)
		}
		r.wants(t, append(c.says, "cadre: ", "cannot be used")...)
	}
	f.env = nil
	f.run(0, "show").wants(t, "There are no chats")
}

// TestFallback: a list of models is fallen back through, and the answer comes
// from the first that works.
func TestFallback(t *testing.T) {
	f := newFolder(t)
	out := f.run(0, "run", "--json", "--model", script(t, "refusing.yaml")+", offline", "list the files").out
	last := decodeAll(t, out)
	end := last[len(last)-1]
	if end.Outcome != "completed" || !strings.Contains(end.Result, "a.go") {
		t.Errorf("%s: %s %s", end.Outcome, end.Error, end.Result)
	}
	if !strings.Contains(out, `"errorKind":"auth"`) {
		t.Error("the failed try of the first model is not on record")
	}
}
