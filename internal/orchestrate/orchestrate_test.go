package orchestrate

import (
	"context"
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

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/schedule"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

// models is a catalogue of one model that answers with what it is told to.
type models struct {
	reply *llm.Reply
	err   error
	asked *llm.Request
}

func (m *models) Find(name string) (Model, error) {
	if name != "test/one" {
		return Model{}, fmt.Errorf("there is no model %q", name)
	}
	return Model{Provider: m, Ref: "test/one", Name: "one", Price: agent.Price{Known: true, Input: 1_000_000, Output: 2_000_000}}, nil
}

func (m *models) Tier(name, of string) (Model, error) {
	switch name {
	case "fast", "default", "smart":
		return m.Find(of)
	}
	return m.Find(name)
}

func (m *models) Call(_ context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	m.asked = req
	if onDelta != nil {
		onDelta(llm.Delta{Kind: llm.DeltaText, Text: "hel"})
	}
	return m.reply, m.err
}

func newPerformer(t *testing.T, m *models) *Performer {
	t.Helper()
	builtin, err := role.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	roles, err := role.NewRegistry(builtin...)
	if err != nil {
		t.Fatal(err)
	}
	ran := func(name string, class tool.Class) tool.Tool {
		return tool.Tool{
			Name: name, Description: name, Class: class, Quick: name == "Read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`),
			Run: func(_ context.Context, env tool.Env, in json.RawMessage) (tool.Result, error) {
				if strings.Contains(string(in), "missing") {
					return tool.Result{}, errors.New("no such file")
				}
				return tool.Text(name + " in " + env.Dir), nil
			},
		}
	}
	tools, err := tool.New(append(Tools(), ArtifactTool(shelf{}), ran("Read", tool.Reads), ran("LS", tool.Reads), ran("Glob", tool.Reads), ran("Grep", tool.Reads), ran("Write", tool.Writes))...)
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{
		Roles: roles, Tools: tools, Models: m, Places: schedule.New(schedule.Config{}), Log: slog.New(slog.DiscardHandler),
		Policy: func(dir string) permission.Policy { return permission.Policy{Preset: presetOf(dir)} },
	})
}

// presetOf is the preset of a folder of these tests.
func presetOf(dir string) permission.Preset {
	if preset, err := permission.ParsePreset(strings.TrimPrefix(dir, "/")); err == nil {
		return preset
	}
	return permission.Trusted
}

// shelf holds one artifact.
type shelf struct{}

func (shelf) Artifact(_ context.Context, id string) (*store.Artifact, error) {
	if id != "k-a1.0" {
		return nil, store.ErrNotFound
	}
	return &store.Artifact{ID: id, ChatID: "k", Data: []byte("äbcdef")}, nil
}

func (shelf) Task(context.Context, string) (*store.Task, error) { return nil, store.ErrNotFound }

func TestLargeResultsBecomeArtifacts(t *testing.T) {
	run := agent.RunTool{Turn: 3, Call: 1, Name: "Grep"}
	small := []message.Part{message.TextPart{Text: strings.Repeat("x", 50_000)}}
	if parts, a := bound("k.1", run, small); a != nil || len(message.Text(parts)) != 50_000 {
		t.Error("a result within the bounds was changed")
	}
	dense := []message.Part{message.TextPart{Text: strings.Repeat("ä", 45_000)}, message.ImagePart{MediaType: "image/png"}}
	if parts, a := bound("k.1", run, dense); a == nil || len(parts) != 2 {
		t.Error("many tokens in few characters are within the bounds, or an image beside them was lost")
	}
	text := "begin " + strings.Repeat("x", 60_000) + " end"
	parts, a := bound("k.1", run, []message.Part{message.TextPart{Text: text}})
	if a == nil || a.ID != "k.1-a3.1" || string(a.Data) != text {
		t.Fatalf("artifact %+v", a)
	}
	got := message.Text(parts)
	if len(got) > 6000 || !strings.HasPrefix(got, "begin ") || !strings.HasSuffix(got, " end") || !strings.Contains(got, "artifact k.1-a3.1") {
		t.Errorf("preview %.200s", got)
	}
}

func TestReadArtifact(t *testing.T) {
	p := newPerformer(t, &models{})
	read := func(chat, input string) string {
		res, err := p.tools.Run(t.Context(), ReadArtifact, tool.Env{Chat: chat}, json.RawMessage(input))
		if err != nil {
			return err.Error()
		}
		return message.Text(res.Parts)
	}
	for input, want := range map[string]string{
		`{"id":"k-a1.0"}`:                      "äbcdef",
		`{"id":"k-a1.0","offset":1,"limit":2}`: "bc\n\n[characters 1 to 2 of 6; go on with offset 3]",
		`{"id":"k-a1.0","offset":9}`:           "[the artifact has 6 characters; there is nothing at 9]",
		`{"id":"gone"}`:                        `there is no artifact "gone" in this chat`,
	} {
		if got := read("k", input); got != want {
			t.Errorf("%s: got %q, want %q", input, got, want)
		}
	}
	if got := read("another", `{"id":"k-a1.0"}`); got != `there is no artifact "k-a1.0" in this chat` {
		t.Errorf("an artifact of another chat: %q", got)
	}
}

func newRoot(t *testing.T, p *Performer) engine.NewChat {
	t.Helper()
	c, err := p.NewChat(Root{Role: "main", Model: "test/one", Dir: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewChat(t *testing.T) {
	p := newPerformer(t, &models{})
	c := newRoot(t, p)
	if want := []string{"Glob", "Grep", "LS", "Read", "Write", "ask_user", "continue_agent", "delegate_to_agent", "read_artifact", "run_in_background", "spawn_agents"}; !slices.Equal(c.Spec.Tools, want) {
		t.Errorf("tools %v, want %v", c.Spec.Tools, want)
	}
	if !slices.Contains(c.Spec.Delegable, "submit_result") || slices.Contains(c.Spec.Tools, "submit_result") {
		t.Errorf("tools %v, delegable %v", c.Spec.Tools, c.Spec.Delegable)
	}
	if text, ok := p.Prompt(c.Spec.Prompt); !ok || text != c.Prompt || !strings.HasPrefix(text, "Role: main\n") || !strings.Contains(text, "Working folder: /w") {
		t.Errorf("prompt %q", text)
	}
	if c.Spec.Limits.Turns != 50 || c.Spec.Limits.Active != 600_000 {
		t.Errorf("limits %+v", c.Spec.Limits)
	}
	if _, err := p.NewChat(Root{Role: "boss", Model: "test/one"}); err == nil || !strings.Contains(err.Error(), "there are main, general") {
		t.Errorf("unknown role: %v", err)
	}
	if _, err := p.NewChat(Root{Role: "main", Model: "nope"}); err == nil {
		t.Error("an unknown model was accepted")
	}
}

func propose(t *testing.T, p *Performer, spec agent.Spec, name, input string) agent.Proposal {
	t.Helper()
	return p.propose(t.Context(), &engine.Job{Spec: spec}, message.ToolCall{ID: "c", Name: name, Input: json.RawMessage(input)})
}

func TestPlan(t *testing.T) {
	p := newPerformer(t, &models{})
	spec := newRoot(t, p).Spec
	spec.ID, spec.Dir = "chat", t.TempDir()
	if err := os.Mkdir(filepath.Join(spec.Dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	got := propose(t, p, spec, "spawn_agents", `{"tasks":[{"task":"a"},{"task":"b","role":"GENERAL","cwd":"sub","timeout":"90s"}],"wait":"first_valid","deadline":"10m"}`)
	if got.Refused || got.Class != agent.ClassDelegate || got.Plan.Wait != 1 || !got.Plan.Valid || got.Plan.Timeout != 600_000 {
		t.Fatalf("%+v", got)
	}
	a, b := got.Plan.Tasks[0], got.Plan.Tasks[1]
	if a.Role != "general" || b.Role != "general" || a.Task.Text() != "a" || a.Task.Kind != message.KindTask {
		t.Errorf("%+v\n%+v", a, b)
	}
	if b.Spec.Dir != filepath.Join(spec.Dir, "sub") || !b.Spec.Fixed || a.Spec.Fixed || b.Spec.Limits.Active != 90_000 || a.Spec.Limits.Active != 300_000 || a.Spec.Limits.Turns != 20 {
		t.Errorf("%+v\n%+v", a.Spec, b.Spec)
	}
	if a.Spec.Models[0] != "test/one" || !a.Priced || a.Size == 0 {
		t.Errorf("%+v", a)
	}
	if !slices.Contains(a.Spec.Tools, "submit_result") || !slices.Contains(a.Spec.Tools, "spawn_agents") {
		t.Errorf("tools of a child: %v", a.Spec.Tools)
	}
	child := a.Spec
	child.Dir = "/w"
	deeper := propose(t, p, child, "spawn_agents", `{"tasks":[{"task":"c"}]}`)
	if slices.Contains(deeper.Plan.Tasks[0].Spec.Tools, "spawn_agents") {
		t.Error("an agent at the greatest depth is offered spawn_agents")
	}
}

func TestSiblingsShareTheirPrompt(t *testing.T) {
	p := newPerformer(t, &models{})
	got := propose(t, p, newRoot(t, p).Spec, "spawn_agents", `{"tasks":[{"task":"a"},{"task":"quite another"}]}`)
	if a, b := got.Plan.Tasks[0].Spec.Prompt, got.Plan.Tasks[1].Spec.Prompt; a != b || a == "" {
		t.Errorf("prompts %q and %q", a, b)
	}
}

func TestRefusedProposals(t *testing.T) {
	p := newPerformer(t, &models{})
	spec := newRoot(t, p).Spec
	spec.Dir = t.TempDir()
	for _, c := range []struct{ name, input, want string }{
		{"spawn_agents", `{"tasks":[]}`, "tasks"},
		{"spawn_agents", `{}`, "tasks"},
		{"spawn_agents", `{"tasks":[{"task":"a","role":"wizard"},{"task":"b","cwd":"../out"}]}`, `Task 1: there is no role "wizard"; you may delegate to general, researcher, planner, coder, tester, reviewer, debugger, CodeSearch, CodeReview. Task 2: cwd "../out" is outside`},
		{"spawn_agents", `{"tasks":[{"task":"a","timeout":"soon"}]}`, `"soon" is no duration`},
		{"spawn_agents", `{"tasks":[{"task":"a","model":"gone"}]}`, `there is no model "gone"`},
		{"spawn_agents", `{"tasks":[{"task":"a"}],"wait":"some"}`, "wait"},
		{"spawn_agents", `not json`, ""},
		{"Read", `{"path":7}`, "path"},
	} {
		got := propose(t, p, spec, c.name, c.input)
		if !got.Refused || !strings.Contains(got.Why, c.want) {
			t.Errorf("%s %s: refused %v, %q", c.name, c.input, got.Refused, got.Why)
		}
	}
	if got := propose(t, p, spec, "submit_result", `{}`); got.Plan != nil || got.Refused || got.Class != agent.ClassRead {
		t.Errorf("a tool that it has not is left to the machine to refuse: %+v", got)
	}
}

func TestClasses(t *testing.T) {
	p := newPerformer(t, &models{})
	spec := agent.Spec{Tools: []string{"Read", "Write", "submit_result", "submit_error"}}
	for name, want := range map[string]agent.Class{"Read": agent.ClassRead, "Write": agent.ClassWrite, "submit_result": agent.ClassSubmit, "submit_error": agent.ClassGiveUp} {
		if got := propose(t, p, spec, name, `{"result":"r","error":"e"}`); got.Class != want {
			t.Errorf("%s is %s, want %s", name, got.Class, want)
		}
	}
}

func TestCallModel(t *testing.T) {
	m := &models{reply: &llm.Reply{
		Parts: []message.Part{message.TextPart{Text: "hello"}, message.ToolCall{ID: "c1", Name: "Read", Input: json.RawMessage(`{}`)}},
		Stop:  llm.StopTools, Usage: message.Usage{Input: 10, Output: 5, CacheRead: 3}, RequestID: "r1", Model: "one-2026",
	}}
	p := newPerformer(t, m)
	job := &engine.Job{
		Spec: newRoot(t, p).Spec, System: "be kind", Now: time.Now,
		History: []message.Message{message.Of(message.User, message.KindUser, "hi")},
	}
	var deltas []string
	ev, ok := p.CallModel(t.Context(), job, agent.CallModel{Turn: 2, Try: 3, Model: "test/one", MaxOutput: 99}, func(kind string, _ int, _, text string) {
		deltas = append(deltas, kind+":"+text)
	}).(agent.ModelReplied)
	if !ok || ev.Turn != 2 || ev.Try != 3 || !ev.Text || len(ev.Calls) != 1 || ev.Calls[0].Name != "Read" || ev.Stop != agent.StopTools {
		t.Fatalf("%+v", ev)
	}
	if ev.Spent != (agent.Amount{Tokens: 18, Cost: 23}) || !ev.Priced || ev.Info.RequestID != "r1" || ev.Info.FirstAt == 0 {
		t.Errorf("spent %+v, info %+v", ev.Spent, ev.Info)
	}
	if ev.Info.Model != "test/one" || ev.Info.Answered != "one-2026" {
		t.Errorf("the record names %s, answered by %s", ev.Info.Model, ev.Info.Answered)
	}
	if !slices.Equal(deltas, []string{"text:hel"}) {
		t.Errorf("deltas %v", deltas)
	}
	if m.asked.System != "be kind" || m.asked.Model != "one" || m.asked.MaxOutput != 99 || m.asked.Caller.Task != "hi" || len(m.asked.Tools) != 11 || m.asked.Tools[0].Name != "Glob" {
		t.Errorf("request of %+v to %s with %d tools and the prompt %q", m.asked.Caller, m.asked.Model, len(m.asked.Tools), m.asked.System)
	}
}

func TestCallModelFails(t *testing.T) {
	m := &models{err: &llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 7 * time.Second, Message: "slow down", Usage: message.Usage{Input: 4}}}
	p := newPerformer(t, m)
	job := &engine.Job{Now: time.Now}
	ignore := func(string, int, string, string) {}
	ev, ok := p.CallModel(t.Context(), job, agent.CallModel{Turn: 1, Try: 1, Model: "test/one"}, ignore).(agent.ModelFailed)
	if !ok || ev.Kind != agent.FailRateLimit || ev.RetryAfter != 7000 || ev.Spent != (agent.Amount{Tokens: 4, Cost: 4}) || !strings.Contains(ev.Message, "slow down") {
		t.Errorf("%+v", ev)
	}
	ev, ok = p.CallModel(t.Context(), job, agent.CallModel{Turn: 1, Try: 1, Model: "gone"}, ignore).(agent.ModelFailed)
	if !ok || ev.Kind != agent.FailNotFound {
		t.Errorf("%+v", ev)
	}
}

func TestRunTool(t *testing.T) {
	p := newPerformer(t, &models{})
	never := func() bool { t.Error("it asked to start"); return true }
	spec := agent.Spec{Dir: "/w", Tools: []string{"Read", "Write"}}
	run := func(dir, name, input string, class agent.Class, grant string, start func() bool) agent.Event {
		job := &engine.Job{Spec: spec, Now: time.Now}
		job.Spec.Dir = dir
		return p.RunTool(t.Context(), job, agent.RunTool{Turn: 1, Call: 0, Name: name, Class: class, Grant: grant}, json.RawMessage(input), start)
	}
	for _, c := range []struct {
		dir, name, input string
		class            agent.Class
		isError          bool
		want             string
	}{
		{"/w", "Read", `{"path":"a"}`, agent.ClassRead, false, "Read in /w"},
		{"/w", "Read", `{"path":"missing"}`, agent.ClassRead, true, "no such file"},
		{"/w", "Grep", `{}`, agent.ClassRead, true, `The tool "Grep" is not available to you.`},
		{"/read-only", "Write", `{}`, agent.ClassWrite, true, "Not allowed (preset read-only)."},
		{"/w", "Write", `{}`, agent.ClassRead, true, "What this would do has changed"},
	} {
		got, ok := run(c.dir, c.name, c.input, c.class, "", never).(agent.ToolFinished)
		if !ok || got.IsError != c.isError || !strings.HasPrefix(message.Text(got.Parts), c.want) || got.Tokens == 0 {
			t.Errorf("%s %s in %s: %v %q", c.name, c.input, c.dir, got.IsError, message.Text(got.Parts))
		}
	}
	if ev := run("/w", "Write", `{}`, agent.ClassWrite, "", func() bool { return false }); ev != nil {
		t.Errorf("a write that may not start gave %T", ev)
	}
	started := false
	start := func() bool { started = true; return true }
	if ev := run("/w", "Write", `{}`, agent.ClassWrite, "", start); ev == nil || !started {
		t.Errorf("a write gave %T, started %v", ev, started)
	}
	asks, ok := run("/ask", "Write", `{"path":"a"}`, agent.ClassWrite, "", never).(agent.ApprovalNeeded)
	if !ok || asks.Grant == "" || !strings.Contains(asks.Action, `"path": "a"`) {
		t.Fatalf("a write that asks: %+v", asks)
	}
	if _, ok := run("/ask", "Write", `{"path":"b"}`, agent.ClassWrite, asks.Grant, never).(agent.ApprovalNeeded); !ok {
		t.Error("an approval counted for another action")
	}
	done, ok := run("/ask", "Write", `{"path":"a"}`, agent.ClassWrite, asks.Grant, start).(agent.ToolFinished)
	if !ok || done.IsError || !strings.Contains(string(done.Record), `"effect":"allow"`) {
		t.Errorf("an approved write: error %v, record %s", done.IsError, done.Record)
	}
}

// TestAhead: what a reply asks to read is read until something else comes that
// the rest may depend on, that takes longer, or that somebody is asked about.
func TestAhead(t *testing.T) {
	p := newPerformer(t, &models{})
	read, slow := message.ToolCall{Name: "Read", Input: json.RawMessage(`{"path":"a"}`)}, message.ToolCall{Name: "Grep", Input: json.RawMessage(`{}`)}
	missing, write := message.ToolCall{Name: "Read", Input: json.RawMessage(`{"path":"missing"}`)}, message.ToolCall{Name: "Write", Input: json.RawMessage(`{}`)}
	bad := message.ToolCall{Name: "Read", Input: json.RawMessage(`{"path":1}`)}
	for name, c := range map[string]struct {
		dir   string
		calls []message.ToolCall
		want  []string
		clock time.Duration // passes whenever somebody looks at it
	}{
		"all":               {"/w", []message.ToolCall{read, missing, read}, []string{"Read in /w", "no such file", "Read in /w"}, 0},
		"up to a write":     {"/w", []message.ToolCall{read, write, read}, []string{"Read in /w"}, 0},
		"up to a search":    {"/w", []message.ToolCall{read, slow, read}, []string{"Read in /w"}, 0},
		"up to a bad input": {"/w", []message.ToolCall{bad, read}, nil, 0},
		"while it is quick": {"/w", []message.ToolCall{read, read, read}, []string{"Read in /w"}, aheadTime},
		"nothing to read":   {"/w", []message.ToolCall{write}, nil, 0},
	} {
		now := time.Now()
		job := &engine.Job{Spec: agent.Spec{Dir: c.dir, Tools: []string{"Read", "Grep", "Write"}}, Now: func() time.Time { now = now.Add(c.clock); return now }}
		reply := agent.ModelReplied{Turn: 3, Body: message.Message{Role: message.Assistant}}
		for _, call := range c.calls {
			reply.Body.Parts = append(reply.Body.Parts, call)
			reply.Calls = append(reply.Calls, p.propose(t.Context(), job, call))
		}
		var got []string
		for i, ev := range p.Ahead(t.Context(), job, reply) {
			if ev.Turn != 3 || ev.Call != i {
				t.Errorf("%s: result %d is of call %d.%d", name, i, ev.Turn, ev.Call)
			}
			got = append(got, message.Text(ev.Parts))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestResults(t *testing.T) {
	p := newPerformer(t, &models{})
	got := p.Results([]store.Task{
		{ID: "k.1", Name: "agent:general", Instruction: "look", Reason: "completed", Result: "found <it>"},
		{ID: "k.2", Name: "agent:general", Instruction: "seek", Reason: "failed", ErrorKind: "sub_agent_error", Error: "too large"},
		{ID: "k.3", Name: "agent:general", Instruction: "hide", Reason: "timeout", Result: "half"},
	})
	want := `{"sub_agent_results":[` +
		`{"agent_id":"k.1","role":"general","task":"look","outcome":{"success":{"result":"found <it>"}}},` +
		`{"agent_id":"k.2","role":"general","task":"seek","outcome":{"failure":{"error":"too large","error_kind":"sub_agent_error"}}},` +
		`{"agent_id":"k.3","role":"general","task":"hide","outcome":{"failure":{"error":"timeout","error_kind":"timeout","partial_result":"half"}}}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestResultsAreBounded(t *testing.T) {
	p := newPerformer(t, &models{})
	for _, n := range []int{1, 100, 1000} {
		tasks := make([]store.Task, n)
		for i := range tasks {
			tasks[i] = store.Task{ID: fmt.Sprintf("k.%d", i+1), Name: "agent:general", Instruction: strings.Repeat("task ", 100), Reason: "completed", Result: strings.Repeat("ä", 50_000)}
		}
		got := p.Results(tasks)
		if len([]rune(got)) > 72_000+260*n {
			t.Errorf("%d results have %d characters", n, len([]rune(got)))
		}
		if !strings.Contains(got, "more characters: read_artifact k.1]") {
			t.Errorf("%d results: the cut is not told: %.300s", n, got)
		}
		var back aggregated
		if err := json.Unmarshal([]byte(got), &back); err != nil || len(back.Results) != n {
			t.Errorf("%d results: %v", n, err)
		}
	}
}

// TestFirstRequestIsSmall: what a sub-agent's first request holds beyond its
// task, in bytes of prompt and tools.
func TestFirstRequestIsSmall(t *testing.T) {
	p := newPerformer(t, &models{})
	plan := propose(t, p, newRoot(t, p).Spec, "spawn_agents", `{"tasks":[{"task":"a"}]}`).Plan
	spec := plan.Tasks[0].Spec
	prompt, _ := p.Prompt(spec.Prompt)
	size := len(prompt)
	for _, s := range p.specsOf(spec) {
		size += len(s.Name) + len(s.Description) + len(s.Schema)
	}
	if size > 8192 {
		t.Errorf("prompt and tools have %d bytes, want at most 8192", size)
	}
}

// TestSettleSays: what is no decision is told to who decided, and is no failure
// of ours.
func TestSettleSays(t *testing.T) {
	t.Parallel()
	if _, err := Settle(t.Context(), nil, nil, nil, store.Item{}, "apply", "ann"); !errors.Is(err, ErrAnswer) || !strings.Contains(err.Error(), "accept, merge, keep or discard") {
		t.Error(err)
	}
}
