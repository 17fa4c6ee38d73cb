// Tests of cadre show: tries that failed, results that were cleared and messages
// that a summary stands for are all told, to people and in JSON.

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/view"
)

// transcript is what cadre show AGENT --json tells of a conversation.
func (f *folder) transcript(args ...string) view.Transcript {
	f.t.Helper()
	var out view.Transcript
	text := f.run(0, append([]string{"show", "--json"}, args...)...).out
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		f.t.Fatalf("%v\n%s", err, text)
	}
	return out
}

func TestShowFailedTries(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.env = anthropicAt(f.serve("faults.yaml"))
	d := done(t, f.run(0, "run", "--json", "--model", "anthropic/claude-sonnet-4-5", "meet them all").out)
	f.run(0, "show", d.Chat, "--transcript").wants(t,
		"Model call failed (rate_limit): turn 1, try 1, anthropic/claude-sonnet-4-5", "HTTP 429", "too many requests", "The next try began 1", "Done after all.")
	f.run(0, "show", d.Chat+".1").wants(t, "Model call failed (overloaded): turn 1, try 1", "HTTP 529", "the model is busy", "the crowd is gone")
	f.run(0, "show", d.Chat+".2").wants(t, "Model call failed (network): turn 1, try 1", "the line holds")
	got := f.transcript(d.Chat, "--transcript")
	if len(got.ModelCalls) != 3 || got.ModelCalls[0].Status != "failed" || got.ModelCalls[0].ErrorKind != "rate_limit" ||
		got.ModelCalls[1].Status != "replied" || got.ModelCalls[1].Try != 2 || len(got.Compactions) != 0 || len(got.Messages) < 4 {
		t.Errorf("the transcript: %+v", got)
	}
	text := f.run(0, "show", d.Chat, "--transcript").out
	if failed, said := strings.Index(text, "Model call failed"), strings.Index(text, "Uses spawn_agents"); failed < 0 || failed > said {
		t.Errorf("the failed try does not come before what came of the next:\n%s", text)
	}
}

// TestShowWaiting: what an agent waits for, and until when, is told meanwhile.
func TestShowWaiting(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.house(f.start("dev", "model-server", f.write("script.yaml", "agents:\n- turns: [{text: later, fault: {status: 429, retry_after: 1h, times: 1}}]\n")).
		await("it listens", func(text string) bool { return strings.HasPrefix(text, "http://127.0.0.1:") })[0], "")
	p := f.start("run", "--json", "--model", "house/m", "say it")
	p.await("it waits", func(text string) bool { return strings.Contains(text, `"waitsUntil":`) })
	var chat struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(f.run(0, "show", "--json").out), &chat); err != nil {
		t.Fatal(err)
	}
	f.run(0, "show", chat.ID, "--json").wants(t, `"state":"retrying"`, `"waits_for":"rate_limit"`, `"waits_until":"2`)
	f.run(0, "show", chat.ID).wants(t, "retrying", "rate limit")
	p.signal(os.Interrupt)
	p.wait()
}

// TestShowCleared: results that no longer fit are cleared for the model, and
// shown as what they were.
func TestShowCleared(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("big.txt", strings.Repeat("a line of a large file\n", 100))
	script := "agents:\n- match: {role: main}\n  turns:\n"
	for i := range 14 {
		script += fmt.Sprintf("  - calls: [{tool: Read, input: {path: big.txt, limit: %d}}]\n", 100-i)
	}
	script += "  - text: All of it is read.\n"
	d := f.smallWindow(script, "13k", "read it")
	got := f.transcript(d.Chat, "--transcript")
	if len(got.Compactions) == 0 || got.Compactions[0].Failed || len(got.Compactions[0].Cleared) == 0 || got.Compactions[0].Tokens == 0 {
		t.Fatalf("nothing was cleared: %+v", got.Compactions)
	}
	seen := map[int]bool{}
	for _, c := range got.Compactions {
		for _, r := range c.Cleared {
			if r.Tool != "Read" || r.Characters < 2000 || seen[r.Pos] {
				t.Errorf("a cleared result: %+v", r)
			}
			seen[r.Pos] = true
		}
	}
	f.run(0, "show", d.Chat, "--transcript").wants(t, "History shortened: ", " old results cleared", "Read, ", "tokens are left", "a line of a large file")
	f.sound()
}

// TestShowArtifact: a result that is too large for the model is kept whole, for
// the model by its handle and for people by the same.
func TestShowArtifact(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("big.txt", strings.Repeat("a line of a large file\n", 3000)+"and the needle\n"+strings.Repeat("more of it\n", 500))
	script := f.write("script.yaml", "agents:\n- match: {role: main}\n  turns:\n  - calls: [{tool: Read, input: {path: big.txt, limit: 5000}}]\n"+
		"  - calls: [{tool: read_artifact, input: {id: '{{agent}}-a1.0', offset: 90000, limit: 300}}]\n  - text: 'It says: {{last_result}}'\n")
	d := done(t, f.run(0, "run", "--json", "--model", scriptedModel+script, "read it").out)
	if !strings.Contains(d.Result, "and the needle") || len(d.Result) > 1000 {
		t.Errorf("the answer: %s", d.Result)
	}
	id := d.Chat + "-a1.0"
	f.run(0, "show", d.Chat, "--transcript").wants(t, "too large for the model", "cadre show "+id)
	whole := f.run(0, "show", id).out
	if strings.Count(whole, "a line of a large file") != 3000 || strings.Count(whole, "more of it") != 500 {
		t.Errorf("the artifact has %d bytes", len(whole))
	}
	f.run(0, "show", id, "--json").wants(t, `"name":"Read"`, "and the needle")
	f.run(exitUsage, "show", d.Chat+"-a7.0").wants(t, "there is no artifact", d.Chat+"-a7.0")
}

// TestShowSummary: what a summary stands for is counted, and still shown.
func TestShowSummary(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	long := strings.Repeat("So much is to be said about it. ", 250)
	d := f.smallWindow(fmt.Sprintf("agents:\n- turns: [{text: %q}]\n  after: last\n", long), "9k", "begin")
	for range 5 {
		f.run(0, "run", "--chat", d.Chat, "go on")
	}
	got := f.transcript(d.Chat, "--transcript")
	if len(got.Compactions) == 0 {
		t.Fatal("nothing was summarised")
	}
	c := got.Compactions[0]
	if c.Failed || c.Summary == 0 || c.Before == 0 || c.Replaced != c.Before || len(c.Cleared) != 0 {
		t.Errorf("the summary: %+v", c)
	}
	if m := got.Messages[c.Summary]; m.Kind != "summary" || m.Pos != c.Summary {
		t.Errorf("at its place is %+v", m)
	}
	text := f.run(0, "show", d.Chat, "--transcript").out
	title := strings.Index(text, fmt.Sprintf("History shortened: %d messages summarised", c.Replaced))
	summary := strings.Index(text, "Summary of what came before")
	if title < 0 || summary < title || strings.Index(text, "begin") > title {
		t.Errorf("the summary is at %d, what tells of it at %d:\n%s", summary, title, text)
	}
	f.sound()
}

// smallWindow runs a prompt with a script over HTTP, as a model that can read
// little.
func (f *folder) smallWindow(script, window, prompt string) line {
	f.t.Helper()
	p := f.start("dev", "model-server", f.write("script.yaml", script))
	url := p.await("it listens", func(text string) bool { return strings.HasPrefix(text, "http://127.0.0.1:") })[0]
	file := f.write("house.yaml", "model: house/m\nproviders:\n  house: {kind: openai, base_url: '"+url+"/v1', models: {m: {window: "+window+"}}}\n")
	f.env = []string{"CADRE_CONFIG=" + file}
	return done(f.t, f.run(0, "run", "--json", prompt).out)
}
