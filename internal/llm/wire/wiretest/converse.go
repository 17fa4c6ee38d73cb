// A conversation with the scripted model server: what a client sends must be
// what the vendor accepts, and what it reads what the script says. The server
// refuses what vendors refuse: histories with gaps, and reasoning or signatures
// that were changed.

package wiretest

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/modelserver"
	"github.com/cadre-dev/cadre/internal/llm/scripted"
	"github.com/cadre-dev/cadre/internal/message"
)

// Thought is what the model thinks in the first reply of a Conversation.
const Thought = "hm, ok"

// Conversation is what differs between wire formats when they hold it.
type Conversation struct {
	// Client makes a client of the server at url.
	Client func(url, key string, whole bool) llm.Provider
	// Model is asked for; another one answers.
	Model string
	// Declined is how the format says that the model would not: a refusal, or
	// a filter.
	Declined llm.Stop
	// NoCacheWrite: the format does not tell tokens that were written to the
	// cache from others.
	NoCacheWrite bool
	// Thinks checks what the first reply has beyond text and calls.
	Thinks func(t *testing.T, r *llm.Reply)
	// Spoil changes the reasoning of a reply so that the vendor would notice;
	// nil if the format has none of that kind.
	Spoil func(parts []message.Part)
}

const script = `
model: reader-1
defaults: {chunk: 5}
agents:
- match: {role: coder}
  turns:
  - thinking: "` + Thought + `"
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
  turns: [{text: "no", stop: `

// Run holds the conversation, in streams and in whole replies.
func (c Conversation) Run(t *testing.T) {
	t.Helper()
	for name, whole := range map[string]bool{"stream": false, "whole": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := scripted.Parse("test.yaml", []byte(script+string(c.Declined)+"}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(modelserver.New(m, modelserver.Options{Key: Key}))
			t.Cleanup(srv.Close)
			if _, err := Call(t, c.Client(srv.URL, "another", whole), Ask("x")); llm.KindOf(err) != llm.ErrAuth {
				t.Errorf("a wrong key: got %v", err)
			}
			p := c.Client(srv.URL, Key, whole)
			c.end(t, p, c.begin(t, p))
		})
	}
}

// begin makes the first call and returns the request that answers its calls.
func (c Conversation) begin(t *testing.T, p llm.Provider) *llm.Request {
	t.Helper()
	req := &llm.Request{
		Model: c.Model, System: "Role: coder", MaxOutput: 1000, Memo: &llm.Memo{}, ShowThinking: true,
		Tools:    []llm.Tool{{Name: "LS", Description: "lists", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "Read"}},
		Messages: []message.Message{message.Of(message.User, message.KindTask, "look")},
	}
	r, err := Call(t, p, req)
	if err != nil {
		t.Fatal(err)
	}
	used := message.Usage{Input: 10, Output: 7, CacheRead: 3, CacheWrite: 2, Reasoning: 1}
	if c.NoCacheWrite {
		used.Input, used.CacheWrite = used.Input+used.CacheWrite, 0
	}
	calls := message.Message{Parts: r.Parts}.Calls()
	if r.Stop != llm.StopTools || len(calls) != 2 || r.Model != "reader-1" || message.Text(r.Parts) != "Let's go" || r.Usage != used {
		t.Fatalf("got %+v", r)
	}
	c.Thinks(t, r)
	req.Messages = append(req.Messages, replied(r))
	gap := *req
	gap.Messages = append(slices.Clone(req.Messages), message.Of(message.User, message.KindUser, "and?"))
	if _, err := Call(t, p, &gap); llm.KindOf(err) != llm.ErrBadRequest {
		t.Errorf("calls without results: got %v", err)
	}
	for i, text := range []string{"one", "two"} {
		req.Messages = append(req.Messages, message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{
			message.ToolResult{CallID: calls[i].ID, Name: calls[i].Name, Parts: []message.Part{message.TextPart{Text: text}}},
		}})
	}
	return req
}

// end goes on with it through a rate limit, and up to a cut and a refusal.
func (c Conversation) end(t *testing.T, p llm.Provider, req *llm.Request) {
	t.Helper()
	_, err := Call(t, p, req)
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.ErrRateLimit || e.RetryAfter != 2*time.Second {
		t.Errorf("got %v, want a rate limit", err)
	}
	r, err := Call(t, p, req)
	if err != nil || message.Text(r.Parts) != "I saw one and two." || r.Stop != llm.StopEnd {
		t.Fatalf("got %+v, %v", r, err)
	}
	if c.Spoil != nil {
		spoilt := *req
		spoilt.Memo, spoilt.Messages = nil, slices.Clone(req.Messages)
		spoilt.Messages[1].Parts = slices.Clone(req.Messages[1].Parts)
		c.Spoil(spoilt.Messages[1].Parts)
		if _, err := Call(t, p, &spoilt); llm.KindOf(err) != llm.ErrBadRequest {
			t.Errorf("reasoning that was changed: got %v", err)
		}
	}
	req.Messages = append(req.Messages, replied(r), message.Of(message.User, message.KindUser, "go on"))
	if _, err := Call(t, p, req); llm.KindOf(err) != llm.ErrNetwork {
		t.Errorf("a reply that was cut: got %v", err)
	}
	// What only its maker understands is not sent to another model.
	other := *req
	other.Model, other.System = c.Model+"-mini", ""
	if r, err = Call(t, p, &other); err != nil || r.Stop != c.Declined {
		t.Errorf("got %+v, %v", r, err)
	}
}

func replied(r *llm.Reply) message.Message {
	return message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: r.Parts}
}
