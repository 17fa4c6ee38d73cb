// A conversation with the scripted model server, which refuses what OpenAI
// refuses: histories with gaps, and reasoning that was changed.

package openairesponses

import (
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/modelserver"
	"github.com/cadre-dev/cadre/internal/llm/scripted"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

const script = `
model: reader-1
defaults: {chunk: 5}
agents:
- match: {role: coder}
  turns:
  - thinking: "hm, ok"
    text: "Let's go"
    calls:
    - {tool: LS, id: call_a, input: {path: "."}}
    - {tool: Read, id: call_b}
    usage: {input: 10, output: 7, cache_read: 3, cache_write: 2, reasoning: 1}
  - text: "I saw {{result.1}} and {{result.2}}."
    fault: {status: 429, retry_after: 2s, times: 1}
  - text: "far too long a text to be whole"
    fault: {cut: true}
  after: last
- match: {}
  turns: [{text: "no", stop: refusal}]
`

func TestModelServer(t *testing.T) {
	t.Parallel()
	m, err := scripted.Parse("test.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(modelserver.New(m, modelserver.Options{Key: "sk-1"}))
	t.Cleanup(srv.Close)
	for _, whole := range []bool{false, true} {
		opts := Options{Name: testProvider, BaseURL: srv.URL + "/v1", Key: "sk-1", HTTP: srv.Client(), Whole: whole}
		converse(t, New(opts))
		opts.Key = "sk-2"
		if _, err := wiretest.Call(t, New(opts), wiretest.Ask("x")); llm.KindOf(err) != llm.ErrAuth {
			t.Errorf("a wrong key: got %v", err)
		}
	}
}

func converse(t *testing.T, p llm.Provider) {
	t.Helper()
	req := &llm.Request{
		Model: testModel, System: "Role: coder", MaxOutput: 100, Memo: &llm.Memo{},
		Tools:    []llm.Tool{{Name: "LS", Description: "lists"}, {Name: "Read"}},
		Messages: []message.Message{message.Of(message.User, message.KindTask, "look")},
	}
	r, err := wiretest.Call(t, p, req)
	if err != nil {
		t.Fatal(err)
	}
	calls := message.Message{Parts: r.Parts}.Calls()
	if r.Stop != llm.StopTools || len(calls) != 2 || r.Model != "reader-1" || message.Text(r.Parts) != "Let's go" ||
		r.Usage != (message.Usage{Input: 10, Output: 7, CacheRead: 3, CacheWrite: 2, Reasoning: 1}) {
		t.Errorf("got %+v", r)
	}
	if thought, ok := r.Parts[0].(message.ThinkingPart); !ok || thought.Encrypted == "" || thought.Text != "" {
		t.Errorf("the reasoning is %+v", r.Parts[0])
	}
	req.Messages = append(req.Messages, reply(r.Parts...))
	if _, err := wiretest.Call(t, p, req); llm.KindOf(err) != llm.ErrBadRequest {
		t.Errorf("calls without results: got %v", err)
	}
	for i, text := range []string{"one", "two"} {
		req.Messages = append(req.Messages, message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{
			message.ToolResult{CallID: calls[i].ID, Name: calls[i].Name, Parts: []message.Part{message.TextPart{Text: text}}},
		}})
	}
	_, err = wiretest.Call(t, p, req)
	if e := (*llm.Error)(nil); !errors.As(err, &e) || e.Kind != llm.ErrRateLimit || e.RetryAfter != 2*time.Second {
		t.Errorf("got %v, want a rate limit", err)
	}
	if r, err = wiretest.Call(t, p, req); err != nil || message.Text(r.Parts) != "I saw one and two." || r.Stop != llm.StopEnd {
		t.Errorf("got %+v, %v", r, err)
	}
	spoilt := *req
	spoilt.Memo = nil
	spoilt.Messages = append([]message.Message{}, req.Messages...)
	spoilt.Messages[1] = reply(append([]message.Part{thought("rs_1", "", "c3BvaWx0")}, req.Messages[1].Parts[1:]...)...)
	if _, err := wiretest.Call(t, p, &spoilt); llm.KindOf(err) != llm.ErrBadRequest {
		t.Errorf("reasoning that was changed: got %v", err)
	}
	req.Messages = append(req.Messages, reply(r.Parts...), message.Of(message.User, message.KindUser, "go on"))
	if _, err := wiretest.Call(t, p, req); llm.KindOf(err) != llm.ErrNetwork {
		t.Errorf("a cut stream: got %v", err)
	}
	req.System = ""
	if r, err = wiretest.Call(t, p, req); err != nil || r.Stop != llm.StopRefusal {
		t.Errorf("got %+v, %v", r, err)
	}
}
