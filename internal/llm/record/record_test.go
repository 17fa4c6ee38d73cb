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
	for _, text := range []string{"one k111.1", "one k111.1", "two"} {
		_, _ = live.Call(t.Context(), ask("k111", "/home/ada", text), nil)
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
	req := func(text string) *llm.Request {
		q := ask("z9", "/tmp/w", text)
		q.MaxOutput = 99
		return q
	}
	_, err = p.Call(t.Context(), req("one z9.1"), nil)
	var e *llm.Error
	if !errors.As(err, &e) || !reflect.DeepEqual(e, limit) {
		t.Errorf("first answer: %v", err)
	}
	var heard []llm.Delta
	got, err := p.Call(t.Context(), req("one z9.1"), func(d llm.Delta) { heard = append(heard, d) })
	if want := answer(`see /tmp/w/"x" of z9.1`); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("second answer: %+v %v, want %+v", got, err, want)
	}
	if len(heard) != 2 || heard[0].Text != `see /tmp/w/"x" of z9.1` || heard[1].Name != "Read" {
		t.Errorf("heard %+v", heard)
	}
	if again, err := p.Call(t.Context(), req("one z9.1"), nil); err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("the last answer again: %+v %v", again, err)
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
