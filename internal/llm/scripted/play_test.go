// Tests of playing scripts: who answers, with which turn, with what content,
// in which pieces and at what pace.

package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

func parse(t *testing.T, src string) *Model {
	t.Helper()
	m, err := Parse("test.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Makers of histories.

func user(s string) message.Message { return message.Of(message.User, message.KindUser, s) }
func said(s string) message.Message { return message.Of(message.Assistant, message.KindReply, s) }

func result(texts ...string) message.Message {
	m := message.Message{Role: message.Tool, Kind: message.KindResult}
	for i, s := range texts {
		m.Parts = append(m.Parts, message.ToolResult{
			CallID: fmt.Sprint(i), Name: "LS", Parts: []message.Part{message.TextPart{Text: s}},
		})
	}
	return m
}

// ask plays one request and returns the reply's text, or the error's.
func ask(t *testing.T, m *Model, c llm.Caller, msgs ...message.Message) string {
	t.Helper()
	r, err := m.Call(t.Context(), &llm.Request{Caller: c, Messages: msgs}, nil)
	if err != nil {
		var e *llm.Error
		if !errors.As(err, &e) {
			t.Fatalf("error %v is no *llm.Error", err)
		}
		return "error: " + e.Error()
	}
	return message.Text(r.Parts)
}

func TestMatch(t *testing.T) {
	t.Parallel()
	m := parse(t, `
agents:
- {match: {agent: a-7}, turns: [{text: by id}]}
- {match: {role: Coder, depth: 2}, turns: [{text: deep coder}]}
- {match: {role: coder, name: Coder-2}, turns: [{text: second coder}]}
- {match: {role: coder}, turns: [{text: coder}]}
- {match: {task: "count files"}, turns: [{text: by task}]}
- {match: {task_re: 'part (\d+) of (\w+)'}, turns: [{text: "{{task.1}}/{{task.2}}/{{task.0}}"}]}
- {match: {depth: 0}, turns: [{text: top}]}
`)
	tests := []struct {
		caller llm.Caller
		want   string
	}{
		{llm.Caller{Agent: "a-7", Role: "coder"}, "by id"},
		{llm.Caller{Role: "coder", Depth: 2}, "deep coder"},
		{llm.Caller{Role: "coder", Name: "coder-2", Depth: 1}, "second coder"},
		{llm.Caller{Role: "CODER", Depth: 1}, "coder"},
		{llm.Caller{Task: "please count files", Depth: 1}, "by task"},
		{llm.Caller{Task: "do part 12 of book", Depth: 1}, "12/book/part 12 of book"},
		{llm.Caller{Role: "main"}, "top"},
		{
			llm.Caller{Agent: "a-9", Role: "tester", Name: "tester", Depth: 1, Task: "x"},
			`error: bad_request: script "test" has no block for agent a-9 (role "tester", name "tester", depth 1, task "x")`,
		},
	}
	for _, tt := range tests {
		if got := ask(t, m, tt.caller, user("go")); got != tt.want {
			t.Errorf("%+v is answered %q, want %q", tt.caller, got, tt.want)
		}
	}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	base := "agents:\n- turns: [{text: one}, {text: two}]\n"
	one := []message.Message{user("a"), said("one")}
	two := append(one, user("b"), said("two"))
	three := append(two, user("c"), said("three"))
	noTurn := `error: bad_request: script "test" has no turn 3 for agent x (role "", name "x", depth 0, task "")`
	tests := []struct {
		name, src string
		history   []message.Message
		want      string
	}{
		{"first", base, nil, "one"},
		{"second", base, one, "two"},
		{"plain text is played again", base, two, "two"},
		{"last", base + "  after: last\n", three, "two"},
		{"repeat: first again", base + "  after: repeat\n", two, "one"},
		{"repeat: second again", base + "  after: repeat\n", three, "two"},
		{"error", base + "  after: error\n", two, noTurn},
		{"calls are not played again", "agents:\n- turns: [{text: a}, {text: b, calls: [{tool: LS}]}]\n", two, noTurn},
		{"unless told so", "agents:\n- turns: [{text: a}, {text: b, calls: [{tool: LS}]}]\n  after: last\n", two, "b"},
		{"only conditions", "agents:\n- turns: [{when: {user: zzz}, text: a}]\n", two, noTurn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := ask(t, parse(t, tt.src), llm.Caller{Name: "x"}, tt.history...); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWhen(t *testing.T) {
	t.Parallel()
	m := parse(t, `
agents:
- turns:
  - text: one
  - when: {user: stop}
    text: stopping
  - when: {result: "no such file"}
    text: it is missing
  - when: {turn: 4, user: status}
    text: fourth
  - text: two
  - text: three
`)
	late := message.Of(message.User, message.KindResults, `{"sub_agent_results":[{"outcome":"no such file"}]}`)
	tests := []struct {
		name    string
		history []message.Message
		want    string
	}{
		{"numbered", []message.Message{user("go")}, "one"},
		{"condition before the number", []message.Message{user("please stop")}, "stopping"},
		{"a condition uses up no number of others", []message.Message{user("a"), said("stopping"), user("go")}, "two"},
		{"only what is new counts", []message.Message{user("please stop"), said("stopping"), result("x")}, "two"},
		{"any of the new user messages", []message.Message{user("stop"), user("or not")}, "stopping"},
		{"result", []message.Message{user("a"), said("one"), result("fine", "no such file")}, "it is missing"},
		{"old result", []message.Message{user("a"), said("one"), result("no such file"), said("two"), result("ok")}, "three"},
		{"results of detached tasks", []message.Message{user("a"), said("one"), late}, "it is missing"},
		{"a user who quotes a result", []message.Message{user("no such file")}, "one"},
		{"turn holds", []message.Message{said("1"), said("2"), said("3"), user("status")}, "fourth"},
		{"turn does not hold", []message.Message{said("1"), user("status")}, "two"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := ask(t, m, llm.Caller{}, tt.history...); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	m := parse(t, `
agents:
- match: {task_re: '(\w+)!'}
  turns:
  - text: "{{ agent }}|{{name}}|{{role}}|{{depth}}|{{task}}|{{task.1}}|{{turn}}|{{try}}|{{user}}"
  - text: "{{last_result}}|{{result.2}}|{{result.3}}|{{user}}|{not one}"
`)
	c := llm.Caller{Agent: "a1", Name: "coder-2", Role: "coder", Depth: 1, Task: "go now!", Try: 3}
	note := message.Of(message.User, message.KindNote, "a note")
	if got, want := ask(t, m, c, user("hello"), note), "a1|coder-2|coder|1|go now!|now|1|3|hello"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got, want := ask(t, m, c, user("hello"), said("x"), result("A"), result("B")), "A\n\nB|B||hello|{not one}"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestCalls compares whole inputs: their order, types, copies and ids.
func TestCalls(t *testing.T) {
	t.Parallel()
	m := parse(t, `
agents:
- turns:
  - calls:
    - tool: Read
      input: {path: "a <b>", offset: 3, deep: [1.5, true, null, {z: "{{user}}", a: -1}], n: "{{number turn}}"}
    - tool: LS
    - tool: spawn_agents
      id: "spawn-{{turn}}"
      input: {wait: all, tasks: [{task: first}], background: false}
      repeat: {key: tasks, count: 2, from: 7, template: {task: "part {{i}} for {{user}}", limit: "{{number i}}"}}
    - tool: Glob
      input: {pattern: "{{item}}/{{i}}"}
      repeat: {each: [x, y]}
    - tool: spawn_agents
      repeat: {key: tasks, each: [p, q], template: {task: "{{item}}"}}
`)
	r, err := m.Call(t.Context(), &llm.Request{Messages: []message.Message{user("me \"quoted\"")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range (message.Message{Parts: r.Parts}).Calls() {
		if !json.Valid(c.Input) {
			t.Errorf("input of %s is no JSON: %s", c.ID, c.Input)
		}
		got = append(got, c.ID+" "+c.Name+" "+string(c.Input))
	}
	want := []string{
		`call_1_1 Read {"path":"a <b>","offset":3,"deep":[1.5,true,null,{"z":"me \"quoted\"","a":-1}],"n":1}`,
		`call_1_2 LS {}`,
		`spawn-1 spawn_agents {"wait":"all","tasks":[{"task":"first"},{"task":"part 7 for me \"quoted\"","limit":7},{"task":"part 8 for me \"quoted\"","limit":8}],"background":false}`,
		`call_1_4 Glob {"pattern":"x/1"}`,
		`call_1_5 Glob {"pattern":"y/2"}`,
		`call_1_6 spawn_agents {"tasks":[{"task":"p"},{"task":"q"}]}`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.Stop != llm.StopTools {
		t.Errorf("stop is %q, want tools", r.Stop)
	}
}

func TestCallsThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, calls, want string }{
		{"not a number", `{tool: LS, input: {a: "{{number user}}"}}`, `{{number user}}: "me" is not a whole number`},
		{"ids that meet", `{tool: LS, id: "{{user}}"}, {tool: LS, id: me}`, `two calls have the id "me"`},
	}
	for _, tt := range tests {
		m := parse(t, "agents:\n- turns:\n  - calls: ["+tt.calls+"]\n")
		got := ask(t, m, llm.Caller{Agent: "a"}, user("me"))
		if !strings.Contains(got, tt.want) || !strings.Contains(got, "the turn at line 3 for agent a") {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	m := parse(t, `
agents:
- match: {role: a}
  turns: &steps
  - &hello {text: "hello {{name}}", stop: length}
- match: {role: b}
  turns: *steps
- turns: [{<<: *hello, stop: refusal}]
`)
	for role, stop := range map[string]llm.Stop{"a": llm.StopLength, "b": llm.StopLength, "c": llm.StopRefusal} {
		r, err := m.Call(t.Context(), &llm.Request{Caller: llm.Caller{Role: role, Name: role}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if message.Text(r.Parts) != "hello "+role || r.Stop != stop {
			t.Errorf("%s says %q and stops by %q, want hello and %q", role, message.Text(r.Parts), r.Stop, stop)
		}
	}
}

func TestReply(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, src string
		want      llm.Reply
	}{
		{"text", "{text: hi}", llm.Reply{
			Parts: []message.Part{message.TextPart{Text: "hi"}}, Stop: llm.StopEnd,
			Usage: message.Usage{Input: 20, Output: 1}, Model: "asked",
		}},
		{"thinking", "{thinking: 12345678, text: hi, stop: refusal}", llm.Reply{
			Parts: []message.Part{
				message.ThinkingPart{Text: "12345678", Provider: "scripted", Model: "asked"},
				message.TextPart{Text: "hi"},
			},
			Stop: llm.StopRefusal, Usage: message.Usage{Input: 20, Output: 2, Reasoning: 2}, Model: "asked",
		}},
		{"empty", "{text: ''}", llm.Reply{Stop: llm.StopEnd, Usage: message.Usage{Input: 20, Output: 1}, Model: "asked"}},
		{"usage", "{text: '', usage: {input: 5, output: 4, cache_read: 3, cache_write: 2, reasoning: 1}}", llm.Reply{
			Stop: llm.StopEnd, Model: "asked",
			Usage: message.Usage{Input: 5, Output: 4, CacheRead: 3, CacheWrite: 2, Reasoning: 1},
		}},
		{"calls cut by length", "{calls: [{tool: LS}], stop: length}", llm.Reply{
			Parts: []message.Part{message.ToolCall{ID: "call_1_1", Name: "LS", Input: json.RawMessage("{}")}},
			Stop:  llm.StopLength, Usage: message.Usage{Input: 20, Output: 1}, Model: "asked",
		}},
	}
	req := &llm.Request{
		Model: "asked", System: strings.Repeat("s", 40), Messages: []message.Message{user(strings.Repeat("u", 20))},
		Tools: []llm.Tool{{Name: "LS", Description: strings.Repeat("d", 8), Schema: json.RawMessage(`{"a":true}`)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, "agents:\n- turns:\n  - "+tt.src+"\n").Call(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", *got, tt.want)
			}
		})
	}
}

// TestDeltas: the pieces are in order, of the size asked for, whole runes,
// and a call is named on its first only.
func TestDeltas(t *testing.T) {
	t.Parallel()
	m := parse(t, `
defaults: {chunk: 3}
agents:
- turns:
  - {thinking: héé?, text: "äbcdefg", calls: [{tool: LS, input: {a: 1}}]}
  - {text: whole, chunk: 0}
`)
	var got []llm.Delta
	collect := func(d llm.Delta) { got = append(got, d) }
	if _, err := m.Call(t.Context(), &llm.Request{}, collect); err != nil {
		t.Fatal(err)
	}
	want := []llm.Delta{
		{Kind: llm.DeltaThinking, Part: 0, Text: "héé"},
		{Kind: llm.DeltaThinking, Part: 0, Text: "?"},
		{Kind: llm.DeltaText, Part: 1, Text: "äbc"},
		{Kind: llm.DeltaText, Part: 1, Text: "def"},
		{Kind: llm.DeltaText, Part: 1, Text: "g"},
		{Kind: llm.DeltaCall, Part: 2, Name: "LS", Text: `{"a`},
		{Kind: llm.DeltaCall, Part: 2, Text: `":1`},
		{Kind: llm.DeltaCall, Part: 2, Text: `}`},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	got = nil
	if _, err := m.Call(t.Context(), &llm.Request{Messages: []message.Message{said("x")}}, collect); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Text != "whole" {
		t.Errorf("chunk: 0 gives %+v, want one piece", got)
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	src := "defaults: {delay: 1s, chunk: 1, chunk_delay: 100ms}\nagents:\n- turns: [{text: abcd}, {text: ab, delay: 0s, chunk_delay: 2s}]\n"
	m := parse(t, src)
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		mark := func(llm.Delta) { at = append(at, time.Since(start)) }
		if _, err := m.Call(t.Context(), &llm.Request{}, mark); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{1000e6, 1100e6, 1200e6, 1300e6}
		if !reflect.DeepEqual(at, want) {
			t.Errorf("chunks came at %v, want %v", at, want)
		}
		at, start = nil, time.Now()
		if _, err := m.Call(t.Context(), &llm.Request{Messages: []message.Message{said("x")}}, mark); err != nil {
			t.Fatal(err)
		}
		if want := []time.Duration{0, 2e9}; !reflect.DeepEqual(at, want) {
			t.Errorf("the second turn's chunks came at %v, want %v", at, want)
		}
	})
}

// TestContext: delays end with the context, with its own error.
func TestContext(t *testing.T) {
	t.Parallel()
	for _, pace := range []string{"{delay: 1h}", "{chunk: 1, chunk_delay: 1h}"} {
		m := parse(t, "defaults: "+pace+"\nagents:\n- turns: [{text: abcd}]\n")
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			_, err := m.Call(ctx, &llm.Request{}, nil)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
				t.Errorf("%s: ended after %v with %v, want the context's end", pace, time.Since(start), err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := parse(t, "agents: [{turns: [{text: a}]}]").Call(ctx, &llm.Request{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a call with an ended context gives %v", err)
	}
}

// TestConcurrent has many agents play one model; run with -race.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	m := parse(t, "defaults: {chunk: 2}\nagents:\n- {match: {task_re: 'part (\\d+)'}, turns: [{calls: [{tool: LS}]}, {text: 'part {{task.1}} by {{agent}}'}]}\n")
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			c := llm.Caller{Agent: fmt.Sprint("a", i), Task: fmt.Sprint("part ", i)}
			var streamed strings.Builder
			r, err := m.Call(t.Context(), &llm.Request{Caller: c, Messages: []message.Message{user("x"), said("y")}},
				func(d llm.Delta) { streamed.WriteString(d.Text) })
			want := fmt.Sprintf("part %d by a%d", i, i)
			if err != nil || message.Text(r.Parts) != want || streamed.String() != want {
				t.Errorf("agent %d got %v, %v, want %q", i, r, err, want)
			}
		})
	}
	wg.Wait()
}
