package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// model answers each call with the next of its replies.
type model struct {
	replies []any // *llm.Reply or error
}

func (m *model) Call(_ context.Context, _ *llm.Request, _ func(llm.Delta)) (*llm.Reply, error) {
	r := m.replies[0]
	m.replies = m.replies[1:]
	if err, ok := r.(error); ok {
		return nil, err
	}
	return r.(*llm.Reply), nil
}

func ask(chat, dir, text string) *llm.Request {
	return &llm.Request{
		Caller: llm.Caller{Chat: chat, Agent: chat + ".1", Role: "general", Dir: dir, Turn: 1, Try: 1},
		Model:  "m1", System: "work in " + dir, MaxOutput: 10,
		Tools:    []llm.Tool{{Name: "Read"}},
		Messages: []message.Message{message.Of(message.User, message.KindTask, text)},
	}
}

func answer(text string) *llm.Reply {
	return &llm.Reply{
		Parts: []message.Part{message.TextPart{Text: text}, message.ToolCall{ID: "c", Name: "Read", Input: json.RawMessage(`{"path":"a"}`)}},
		Stop:  llm.StopTools, Usage: message.Usage{Input: 3, Output: 4}, Model: "m1-2", RequestID: "r",
	}
}

func TestRecordAndReplay(t *testing.T) {
	var file bytes.Buffer
	r := NewRecorder(&file)
	limit := &llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: 2 * time.Second, Message: "slow"}
	live := r.Provider(&model{replies: []any{limit, answer(`see /home/ada/"x" of k111.1`), answer("other")}})
	for i, text := range []string{"one k111.1", "one k111.1", "two"} {
		q := ask("k111", "/home/ada", text)
		q.Caller.Try = 1 + i%2
		_, _ = live.Call(t.Context(), q, nil)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	if s := file.String(); strings.Contains(s, "/home/ada") || strings.Contains(s, "k111") {
		t.Errorf("the recording names the run it came from: %s", s)
	}

	p, err := Read("rec.jsonl", &file)
	if err != nil {
		t.Fatal(err)
	}
	// Another run: another chat, another folder, another limit.
	retry := func(text string, try int) *llm.Request {
		q := ask("z9", "/tmp/w", text)
		q.MaxOutput, q.Caller.Try = 99, try
		return q
	}
	_, err = p.Call(t.Context(), retry("one z9.1", 1), nil)
	var e *llm.Error
	if !errors.As(err, &e) || !reflect.DeepEqual(e, limit) {
		t.Errorf("first answer: %v", err)
	}
	var heard []llm.Delta
	got, err := p.Call(t.Context(), retry("one z9.1", 2), func(d llm.Delta) { heard = append(heard, d) })
	if want := answer(`see /tmp/w/"x" of z9.1`); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("second answer: %+v %v, want %+v", got, err, want)
	}
	if len(heard) != 2 || heard[0].Text != `see /tmp/w/"x" of z9.1` || heard[1].Name != "Read" {
		t.Errorf("heard %+v", heard)
	}
	if again, err := p.Call(t.Context(), retry("one z9.1", 2), nil); err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("the same try again: %+v %v", again, err)
	}
	if _, err := p.Call(t.Context(), retry("one z9.1", 3), nil); llm.KindOf(err) != llm.ErrBadRequest || !strings.Contains(err.Error(), "it was asked 2 times and now once more") {
		t.Errorf("one try more: %v", err)
	}
}

func TestReplayFailsClearly(t *testing.T) {
	var file bytes.Buffer
	live := NewRecorder(&file).Provider(&model{replies: []any{answer("yes")}})
	if _, err := live.Call(t.Context(), ask("k1", "/w", "one"), nil); err != nil {
		t.Fatal(err)
	}
	p, err := Read("rec.jsonl", &file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Call(t.Context(), ask("k2", "/w", "something else"), nil)
	if llm.KindOf(err) != llm.ErrBadRequest || !strings.Contains(err.Error(), "rec.jsonl has no answer to this request of k2.1 (general), turn 1") {
		t.Errorf("got %v", err)
	}
}

func TestStoppedCallsAreNotRecorded(t *testing.T) {
	var file bytes.Buffer
	live := NewRecorder(&file).Provider(&model{replies: []any{context.Canceled}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = live.Call(ctx, ask("k1", "/w", "one"), nil)
	if file.Len() > 0 {
		t.Errorf("recorded: %s", file.String())
	}
}

func TestCutRecording(t *testing.T) {
	var file bytes.Buffer
	live := NewRecorder(&file).Provider(&model{replies: []any{answer("one"), answer("two")}})
	for _, text := range []string{"one", "two"} {
		if _, err := live.Call(t.Context(), ask("k1", "/w", text), nil); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Read("rec.jsonl", bytes.NewReader(file.Bytes()[:file.Len()-20]))
	if err != nil || !strings.Contains(p.Warning(), "number 2") || p.Model() != "m1" {
		t.Fatalf("%+v %v", p, err)
	}
	if _, err := p.Call(t.Context(), ask("k1", "/w", "one"), nil); err != nil {
		t.Errorf("what is whole: %v", err)
	}
}

func TestAnotherModel(t *testing.T) {
	var file bytes.Buffer
	live := NewRecorder(&file).Provider(&model{replies: []any{answer("one")}})
	if _, err := live.Call(t.Context(), ask("k1", "/w", "one"), nil); err != nil {
		t.Fatal(err)
	}
	p, err := Read("rec.jsonl", &file)
	if err != nil {
		t.Fatal(err)
	}
	req := ask("k1", "/w", "one")
	req.Model = "m2"
	if _, err := p.Call(t.Context(), req, nil); err == nil || !strings.Contains(err.Error(), "recorded with another model, m1") {
		t.Errorf("got %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"{}":                   "entry 1 is no recorded model call",
		`{"key":"a"} nonsense`: "entry 1",
		"nonsense":             "entry 1",
	} {
		if _, err := Read("rec.jsonl", strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", in, err)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestUnwritableRecordingIsTold(t *testing.T) {
	r := NewRecorder(full{})
	if _, err := r.Provider(&model{replies: []any{answer("yes")}}).Call(t.Context(), ask("k1", "/w", "one"), nil); err != nil {
		t.Errorf("the call failed: %v", err)
	}
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v", err)
	}
}

// settling is a provider that adds what is configured.
type settling struct {
	llm.Provider
	effort llm.Effort
}

func (s settling) Settle(req *llm.Request) { req.Effort = s.effort }

// TestWhatBelongsToARequest: a request that asks for another effort, another
// temperature or has other tools is another.
func TestWhatBelongsToARequest(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	live := NewRecorder(&file).Provider(settling{&model{replies: []any{answer("yes")}}, llm.EffortHigh})
	if _, err := live.Call(t.Context(), ask("k1", "/w", "one"), nil); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*llm.Request)
		found  bool
	}{
		"the same":            {func(*llm.Request) {}, true},
		"more may be said":    {func(r *llm.Request) { r.MaxOutput = 1 << 20 }, true},
		"no effort":           {func(r *llm.Request) { r.Effort = "" }, false},
		"another effort":      {func(r *llm.Request) { r.Effort = llm.EffortLow }, false},
		"tokens for thinking": {func(r *llm.Request) { r.ThinkingTokens = 100 }, false},
		"a temperature":       {func(r *llm.Request) { r.Temperature = new(0.5) }, false},
		"a description":       {func(r *llm.Request) { r.Tools[0].Description = "reads" }, false},
		"a schema":            {func(r *llm.Request) { r.Tools[0].Schema = json.RawMessage(`{"type":"object"}`) }, false},
	} {
		p, err := Read("rec.jsonl", bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		req := ask("k2", "/other", "one")
		req.Effort = llm.EffortHigh
		tt.change(req)
		if _, err := p.Call(t.Context(), req, nil); (err == nil) != tt.found {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnswersFindTheirAgents: two agents that ask the same get each their own
// answer, in whichever order they ask.
func TestAnswersFindTheirAgents(t *testing.T) {
	t.Parallel()
	by := func(chat, agent string) *llm.Request {
		q := ask(chat, "/w", "same")
		q.Caller.Agent = chat + agent
		return q
	}
	var file bytes.Buffer
	live := NewRecorder(&file).Provider(&model{replies: []any{answer("of 2"), answer("of 3")}})
	for _, agent := range []string{".2", ".3"} {
		if _, err := live.Call(t.Context(), by("k1", agent), nil); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Read("rec.jsonl", &file)
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{".3", ".2", ".3"} {
		r, err := p.Call(t.Context(), by("z9", agent), nil)
		if err != nil || message.Text(r.Parts) != "of "+agent[1:] {
			t.Errorf("%s got %+v, %v", agent, r, err)
		}
	}
	if _, err := p.Call(t.Context(), by("z9", ".4"), nil); err == nil {
		t.Error("a third agent got an answer")
	}
}
