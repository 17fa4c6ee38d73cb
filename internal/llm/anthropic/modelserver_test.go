// A conversation with the scripted model server, which refuses what Anthropic
// refuses: histories with gaps, and thinking that was changed.

package anthropic

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/modelserver"
	"github.com/cadre-dev/cadre/internal/llm/scripted"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

const script = `
model: scripted-1
defaults: {chunk: 3}
agents:
- turns:
  - thinking: "First I look around."
    text: "Let me look."
    calls:
    - {tool: LS, id: toolu_1, input: {path: "."}}
    - {tool: Read, id: toolu_2}
    usage: {input: 10, output: 7, cache_read: 3, cache_write: 2, reasoning: 1}
  - thinking: "Now I know."
    text: "There is one file."
  - fault: {status: 529}
  - text: "never"
`

func TestModelServer(t *testing.T) {
	t.Parallel()
	model, err := scripted.Parse("script.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(modelserver.New(model, modelserver.Options{Key: "k"}))
	t.Cleanup(srv.Close)
	for _, whole := range []bool{false, true} {
		p := New(Options{BaseURL: srv.URL, Key: "k", Whole: whole})
		req := &llm.Request{
			Model: "scripted-1", System: "Role: main", MaxOutput: 1000, Memo: &llm.Memo{},
			Tools:    []llm.Tool{{Name: "LS", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "Read"}},
			Messages: []message.Message{message.Of(message.User, message.KindUser, "What is here?")},
		}
		r, err := wiretest.Call(t, p, req)
		if err != nil {
			t.Fatal(err)
		}
		calls := message.Message{Parts: r.Parts}.Calls()
		if r.Stop != llm.StopTools || len(calls) != 2 || r.Usage != (message.Usage{Input: 10, Output: 7, CacheRead: 3, CacheWrite: 2, Reasoning: 1}) {
			t.Errorf("got %+v", r)
		}
		req.Messages = append(
			req.Messages, message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: r.Parts},
			result(calls[0].ID, text("main.go")), result(calls[1].ID), message.Of(message.User, message.KindNote, "Be quick."),
		)
		if r, err = wiretest.Call(t, p, req); err != nil {
			t.Fatal(err)
		}
		if r.Stop != llm.StopEnd || message.Text(r.Parts) != "There is one file." {
			t.Errorf("got %+v", r)
		}
		req.Messages = append(req.Messages, message.Message{Role: message.Assistant, Parts: r.Parts}, message.Of(message.User, message.KindUser, "And now?"))
		if _, err = wiretest.Call(t, p, req); llm.KindOf(err) != llm.ErrOverloaded {
			t.Errorf("got %v", err)
		}
		if _, err = wiretest.Call(t, New(Options{BaseURL: srv.URL, Key: "wrong"}), req); llm.KindOf(err) != llm.ErrAuth {
			t.Errorf("with a wrong key: got %v", err)
		}
	}
}
