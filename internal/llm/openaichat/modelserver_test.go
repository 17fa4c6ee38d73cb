// A conversation with the scripted model server: what this client sends must
// be what a vendor accepts, and what it reads what the script says.

package openaichat

import (
	"errors"
	"net/http/httptest"
	"reflect"
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
  - text: cut
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
		p := New(Options{
			Name: testProvider, BaseURL: srv.URL + "/v1", Key: "sk-1", HTTP: srv.Client(), Whole: whole,
			Quirks: QuirksOf("vllm"),
		})
		converse(t, p)
		if _, err := wiretest.Call(t, New(Options{BaseURL: srv.URL + "/v1", Key: "sk-2", HTTP: srv.Client()}), wiretest.Ask("x")); llm.KindOf(err) != llm.ErrAuth {
			t.Errorf("a wrong key: got %v", err)
		}
	}
}

func converse(t *testing.T, p llm.Provider) {
	t.Helper()
	req := &llm.Request{
		Model: testModel, System: "Role: coder", Tools: tools(), MaxOutput: 100, Memo: &llm.Memo{},
		Messages: []message.Message{message.Of(message.User, message.KindTask, "look")},
	}
	r, err := wiretest.Call(t, p, req)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Reply{
		Parts: []message.Part{thought("hm, ok", fieldContent), message.TextPart{Text: "Let's go"}, toolCall("call_a", "LS", `{"path":"."}`), toolCall("call_b", "Read", `{}`)},
		Stop:  llm.StopTools, Model: "reader-1", RequestID: r.RequestID,
		Usage: message.Usage{Input: 10, Output: 7, CacheRead: 3, CacheWrite: 2, Reasoning: 1},
	}
	if !reflect.DeepEqual(*r, want) {
		t.Errorf("got  %+v\nwant %+v", *r, want)
	}
	req.Messages = append(req.Messages, reply(r.Parts...))
	if _, err := wiretest.Call(t, p, req); llm.KindOf(err) != llm.ErrBadRequest {
		t.Errorf("calls without results: got %v", err)
	}
	req.Messages = append(req.Messages, results(result("call_a", "LS", "one"), result("call_b", "Read", "two"))...)
	_, err = wiretest.Call(t, p, req)
	if e := (*llm.Error)(nil); !errors.As(err, &e) || e.Kind != llm.ErrRateLimit || e.RetryAfter != 2*time.Second {
		t.Errorf("got %v, want a rate limit", err)
	}
	if r, err = wiretest.Call(t, p, req); err != nil || message.Text(r.Parts) != "I saw one and two." || r.Stop != llm.StopEnd {
		t.Errorf("got %+v, %v", r, err)
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
