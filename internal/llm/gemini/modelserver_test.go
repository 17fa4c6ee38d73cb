// A conversation with the scripted model server, which refuses what Google
// refuses: histories with gaps, and calls whose signature is lost or changed.

package gemini

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
defaults: {chunk: 5}
agents:
- match: {role: coder}
  turns:
  - thinking: "hm, ok"
    text: "Let's go"
    calls:
    - {tool: LS, id: call_a, input: {path: "."}}
    - {tool: Read, id: call_b}
    usage: {input: 10, output: 7, cache_read: 3, reasoning: 1}
  - text: "I saw {{result.1}} and {{result.2}}."
    fault: {status: 429, retry_after: 2s, times: 1}
  - text: "far too long a text to be whole"
    fault: {cut: true}
  after: last
- match: {}
  turns: [{text: "no", stop: filter}]
`

func TestModelServer(t *testing.T) {
	t.Parallel()
	m, err := scripted.Parse("test.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(modelserver.New(m, modelserver.Options{Key: "AIza-1"}))
	t.Cleanup(srv.Close)
	for _, whole := range []bool{false, true} {
		opts := Options{BaseURL: srv.URL, Key: "AIza-1", HTTP: srv.Client(), Whole: whole}
		converse(t, New(opts))
		opts.Key = "AIza-2"
		if _, err := wiretest.Call(t, New(opts), hello()); llm.KindOf(err) != llm.ErrAuth {
			t.Errorf("a wrong key: got %v", err)
		}
	}
}

func converse(t *testing.T, p llm.Provider) {
	t.Helper()
	req := &llm.Request{
		Model: asked, System: "Role: coder", MaxOutput: 100, Memo: &llm.Memo{}, ShowThinking: true,
		Tools:    []llm.Tool{{Name: "LS", Description: "lists"}, {Name: "Read"}},
		Messages: []message.Message{message.Of(message.User, message.KindTask, "look")},
	}
	r, err := wiretest.Call(t, p, req)
	if err != nil {
		t.Fatal(err)
	}
	calls := message.Message{Parts: r.Parts}.Calls()
	if r.Stop != llm.StopTools || len(calls) != 2 || r.Model != asked || message.Text(r.Parts) != "Let's go" ||
		r.Usage != (message.Usage{Input: 10, Output: 7, CacheRead: 3, Reasoning: 1}) {
		t.Errorf("got %+v", r)
	}
	if thought, ok := r.Parts[0].(message.ThinkingPart); !ok || thought.Text != "hm, ok" {
		t.Errorf("the thinking is %+v", r.Parts[0])
	}
	if calls[0].Signature == "" {
		t.Errorf("the first call is not signed: %+v", calls[0])
	}
	reply := message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: r.Parts}
	req.Messages = append(req.Messages, reply)
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
	req.Messages = append(req.Messages, message.Message{Role: message.Assistant, Parts: r.Parts}, message.Of(message.User, message.KindUser, "go on"))
	if _, err := wiretest.Call(t, p, req); llm.KindOf(err) != llm.ErrNetwork {
		t.Errorf("a cut stream: got %v", err)
	}
	// Calls of another model go without their signature, which the vendor takes.
	foreign := *req
	foreign.Model, foreign.System = "gemini-3-flash", ""
	if r, err = wiretest.Call(t, p, &foreign); err != nil || r.Stop != llm.StopFilter {
		t.Errorf("got %+v, %v", r, err)
	}
}
