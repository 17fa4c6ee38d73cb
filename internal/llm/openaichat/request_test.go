// Requests: their bytes, what stays the same of them from turn to turn, and
// what quirks change.

package openaichat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

func results(rs ...message.ToolResult) []message.Message {
	var msgs []message.Message
	for _, r := range rs {
		msgs = append(msgs, message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{r}})
	}
	return msgs
}

func result(id, name, text string) message.ToolResult {
	return message.ToolResult{CallID: id, Name: name, Parts: []message.Part{message.TextPart{Text: text}}}
}

func reply(parts ...message.Part) message.Message {
	return message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: parts}
}

var png = message.ImagePart{MediaType: "image/png", Data: []byte("hi")}

// history has every kind of message.
func history() []message.Message {
	msgs := []message.Message{
		message.Of(message.User, message.KindTask, "task <1>"),
		reply(
			message.ThinkingPart{Text: "hm", Signature: fieldContent, Provider: testProvider, Model: testModel},
			message.TextPart{Text: "I look."},
			toolCall("call_1", "Read", `{"path":"a \"b\""}`),
			toolCall("call_2", "LS", ""),
		),
	}
	shot := result("call_2", "LS", "two")
	shot.Parts = append(shot.Parts, png)
	failed := result("call_1", "Read", "no such file")
	failed.IsError = true
	msgs = append(msgs, results(failed, shot)...)
	return append(msgs,
		message.Of(message.User, message.KindNote, "note"),
		message.Message{Role: message.User, Kind: message.KindUser, Parts: []message.Part{message.TextPart{Text: "see"}, png}},
		reply(toolCall("call_3", "LS", "{}")),
	)
}

func tools() []llm.Tool {
	return []llm.Tool{
		{Name: "Read", Description: "reads\na file", Schema: json.RawMessage(`{ "type": "object", "properties": {"path": {"type": "string"}} }`)},
		{Name: "LS", Description: "lists"},
	}
}

// sent makes a call and returns the body that was sent.
func sent(t *testing.T, req *llm.Request, change ...func(*Options)) string {
	t.Helper()
	v := serve(t, wiretest.Say(eventStream, chunks(`"stop"`, `{"content":"a"}`)))
	if _, err := wiretest.Call(t, v.provider(change...), req); err != nil {
		t.Fatal(err)
	}
	_, body := v.Last()
	if !json.Valid([]byte(body)) {
		t.Errorf("not JSON: %s", body)
	}
	return body
}

func quirks(q Quirks) func(*Options) { return func(o *Options) { o.Quirks = q } }

// messagesOf cuts the messages out of a body.
func messagesOf(t *testing.T, body string) string {
	t.Helper()
	var b struct {
		Messages json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		t.Fatal(err)
	}
	return string(b.Messages)
}

func TestRequest(t *testing.T) {
	t.Parallel()
	temperature := 0.25
	req := &llm.Request{
		Caller: llm.Caller{Chat: "chat-1"}, Model: testModel, System: "Be \"good\".", Tools: tools(),
		Messages: history(), MaxOutput: 4096, Temperature: &temperature,
	}
	got := sent(t, req, func(o *Options) {
		o.Quirks = QuirksOf("openai")
		o.Extra = json.RawMessage(`{ "reasoning_effort": "high", "x": [1] }`)
	})
	want := `{"model":"m-1","stream":true,"stream_options":{"include_usage":true},"prompt_cache_key":"chat-1",` +
		`"tools":[{"type":"function","function":{"name":"Read","description":"reads\na file","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},` +
		`{"type":"function","function":{"name":"LS","description":"lists","parameters":{"type":"object","properties":{}}}}],` +
		`"messages":[{"role":"developer","content":"Be \"good\"."},` +
		`{"role":"user","content":"task <1>"},` +
		`{"role":"assistant","content":"I look.","reasoning_content":"hm","tool_calls":[` +
		`{"id":"call_1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a \\\"b\\\"\"}"}},` +
		`{"id":"call_2","type":"function","function":{"name":"LS","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"call_1","content":"Error: no such file"},` +
		`{"role":"tool","tool_call_id":"call_2","content":"two"},` +
		`{"role":"user","content":[{"type":"text","text":"Image from the result of LS:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]},` +
		`{"role":"user","content":"note"},` +
		`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_3","type":"function","function":{"name":"LS","arguments":"{}"}}]}],` +
		`"max_completion_tokens":4096,"temperature":0.25,"reasoning_effort":"high","x":[1]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestLeastRequest: what is not asked for is not sent.
func TestLeastRequest(t *testing.T) {
	t.Parallel()
	got := sent(t, wiretest.Ask("x"))
	want := `{"model":"m-1","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestQuirks: what each of them does to the messages.
func TestQuirks(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 50)
	calls := func(id string) []message.Message {
		return append([]message.Message{message.Of(message.User, message.KindUser, "a"), reply(toolCall(id, "f", "{}"))}, results(result(id, "f", "r"))...)
	}
	withImage := result("c", "f", "")
	withImage.Parts = []message.Part{png}
	tests := map[string]struct {
		quirks Quirks
		msgs   []message.Message
		want   []string
		not    []string
	}{
		"max_tokens":         {Quirks{}, calls("c"), []string{`"max_tokens":7`}, []string{"max_completion_tokens"}},
		"system":             {Quirks{}, calls("c"), []string{`{"role":"system","content":"S"}`}, nil},
		"no stream options":  {Quirks{NoStreamOptions: true}, calls("c"), []string{`"stream":true`}, []string{"stream_options"}},
		"no cache key":       {Quirks{}, calls("c"), nil, []string{"prompt_cache_key"}},
		"ids that are short": {Quirks{ShortCallIDs: true}, calls("abcDEF012"), []string{`"id":"abcDEF012"`, `"tool_call_id":"abcDEF012"`}, nil},
		"ids that are not":   {Quirks{ShortCallIDs: true}, calls("toolu_1"), []string{`"id":"` + wire.HashID("toolu_1", 9) + `"`, `"tool_call_id":"` + wire.HashID("toolu_1", 9) + `"`}, []string{"toolu"}},
		"ids too long":       {Quirks{}, calls(long), []string{`"id":"call_` + wire.HashID(long, 35) + `"`, `"tool_call_id":"call_` + wire.HashID(long, 35) + `"`}, []string{long}},
		"reply to tools": {
			Quirks{ReplyToTools: true},
			append(calls("c"), message.Of(message.User, message.KindUser, "b"), message.Of(message.User, message.KindUser, "d")),
			[]string{`"content":"r"},{"role":"assistant","content":"OK."},{"role":"user","content":"b"},{"role":"user","content":"d"}]`},
			nil,
		},
		"no reply to tools": {Quirks{ReplyToTools: true}, calls("c"), []string{`"content":"r"}]`}, []string{"OK."}},
		"merged users": {
			Quirks{MergeUsers: true},
			append(calls("c"), message.Of(message.User, message.KindUser, "b"), message.Of(message.User, message.KindNote, "d")),
			[]string{`"content":"r"},{"role":"user","content":"b\n\nd"}]`},
			nil,
		},
		"images of tools": {
			Quirks{ToolImages: true},
			append(calls("c")[:2], results(withImage)...),
			[]string{`{"role":"tool","tool_call_id":"c","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}]`},
			nil,
		},
		"images of tools that follow": {
			Quirks{},
			append(calls("c")[:2], results(withImage)...),
			[]string{`{"role":"tool","tool_call_id":"c","content":"The result is an image; it follows."},{"role":"user","content":[{"type":"text"`},
			nil,
		},
		"no images": {
			Quirks{NoImages: true},
			append(append(calls("c")[:2], results(withImage)...), message.Message{Role: message.User, Parts: []message.Part{png}}),
			[]string{`"tool_call_id":"c","content":"[An image was here, which this model cannot see.]"},{"role":"user","content":"[An image was here`},
			[]string{"base64"},
		},
		"reasoning always": {Quirks{ReasoningAlways: true}, calls("c"), []string{`"content":null,"reasoning_content":"","tool_calls"`}, nil},
		"empty reply":      {Quirks{}, append(calls("c"), reply()), []string{`{"role":"assistant","content":""}]`}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := &llm.Request{Model: testModel, System: "S", Messages: tt.msgs, MaxOutput: 7, Caller: llm.Caller{Chat: "c"}}
			got := sent(t, req, quirks(tt.quirks))
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s\nlacks %s", got, want)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(got, not) {
					t.Errorf("%s\nhas %s", got, not)
				}
			}
		})
	}
}

// TestHeaders: where key, address and further headers go.
func TestHeaders(t *testing.T) {
	t.Parallel()
	v := serve(t, wiretest.Say(eventStream, chunks(`"stop"`, `{"content":"a"}`)))
	req := wiretest.Ask("x")
	req.Caller.Chat = "chat-1"
	if _, err := wiretest.Call(t, v.provider(), req); err != nil {
		t.Fatal(err)
	}
	sent, _ := v.Last()
	if h := sent.Header; h.Get("Authorization") != "Bearer "+wiretest.Key || h.Get("Content-Type") != "application/json" || sent.URL.String() != "/v1/chat/completions" {
		t.Errorf("got %s %v", sent.URL, h)
	}
	p := v.provider(func(o *Options) {
		o.Quirks = QuirksOf("azure")
		o.Quirks.CacheHeader = "x-conv"
		o.Query = url.Values{"api-version": {"2024-10-21"}}
		o.Header = http.Header{"X-Title": {"Cadre"}}
	})
	if _, err := wiretest.Call(t, p, req); err != nil {
		t.Fatal(err)
	}
	sent, _ = v.Last()
	h := sent.Header
	for name, want := range map[string]string{"Authorization": "", "Api-Key": wiretest.Key, "X-Title": "Cadre", "X-Conv": "chat-1"} {
		if got := h.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	if got := sent.URL.String(); got != "/v1/chat/completions?api-version=2024-10-21" {
		t.Errorf("the address is %s", got)
	}
}

// TestReasoningGoesBack sends each vendor's reasoning back to it, and to no
// other vendor or model.
func TestReasoningGoesBack(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"deepseek_reasoning.sse": `,"reasoning_content":"9.8 is 9.80."`,
		"groq_reasoning.sse":     `,"reasoning":"We should add."`,
		"vllm_reasoning.sse":     `,"reasoning":"Hmm, yes."`,
		"mistral_thinking.sse":   `"content":[{"type":"thinking","thinking":[{"type":"text","text":"Three sisters, one brother."}]},{"type":"text","text":"John has one brother."}]`,
		"openrouter_details.sse": `,"reasoning_details":[` +
			`{"type":"reasoning.text","format":"anthropic-claude-v1","index":0,"signature":"EqoBCkgIARABGAIiQ==","text":"The user asks about the weather."},` +
			`{"type":"reasoning.encrypted","format":"openai-responses-v1","index":1,"data":"gAAAAABn","id":"rs_1"}]`,
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, wiretest.Say(wiretest.ContentType(name), wiretest.Fixture(t, name))).provider()
			req := wiretest.Ask("x")
			r, err := wiretest.Call(t, p, req)
			if err != nil {
				t.Fatal(err)
			}
			req.Messages = append(req.Messages, reply(r.Parts...))
			if got := sent(t, req, quirks(Quirks{Reasoning: true})); !strings.Contains(got, want) {
				t.Errorf("%s\nlacks %s", got, want)
			}
			// Only the field that strict servers refuse needs the quirk.
			if got, back := sent(t, req), !strings.HasPrefix(want, `,"reasoning":`); strings.Contains(got, want) != back {
				t.Errorf("without the quirk: %s", got)
			}
			other := *req
			other.Model = "m-2"
			for what, got := range map[string]string{
				"to another model":    sent(t, &other, quirks(Quirks{Reasoning: true})),
				"to another provider": sent(t, req, func(o *Options) { o.Name, o.Quirks.Reasoning = "else", true }),
			} {
				if strings.Contains(got, "reasoning") || strings.Contains(got, "thinking") {
					t.Errorf("%s: %s", what, got)
				}
			}
		})
	}
}

// TestSignatureGoesBack: a call's signature goes back to its maker only.
func TestSignatureGoesBack(t *testing.T) {
	t.Parallel()
	c := toolCall("a", "f", "{}")
	c.Signature, c.Provider, c.Model = `{"google":{"thought_signature":"s"}}`, testProvider, testModel
	req := wiretest.Ask("x")
	req.Messages = append(req.Messages, reply(c))
	if got := sent(t, req); !strings.Contains(got, `"arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]`) {
		t.Error(got)
	}
	if got := sent(t, req, func(o *Options) { o.Name = "else" }); strings.Contains(got, "extra_content") {
		t.Error(got)
	}
}

// TestPrefix: up to its new messages a request has the bytes of the one
// before, with a memo or without.
func TestPrefix(t *testing.T) {
	t.Parallel()
	for _, vendor := range []string{"", "openai", "mistral", "deepseek", "openrouter"} {
		memo := &llm.Memo{}
		var before string
		msgs := history()
		for _, n := range []int{1, 6, 7} { // where the model is asked
			req := &llm.Request{
				Caller: llm.Caller{Chat: "chat-1", Turn: n}, Model: testModel, System: "S", Tools: tools(), Messages: msgs[:n],
				MaxOutput: int64(100 - n), Memo: memo,
			}
			got := sent(t, req, quirks(QuirksOf(vendor)))
			req.Memo = nil
			if fresh := sent(t, req, quirks(QuirksOf(vendor))); fresh != got {
				t.Errorf("%s: with a memo  %s\nwithout one %s", vendor, got, fresh)
			}
			if !strings.HasPrefix(got, before) {
				t.Errorf("%s: %s\ndoes not begin with %s", vendor, got, before)
			}
			end := strings.LastIndex(got, `],"max_`)
			before = got[:end]
		}
	}
}

// TestOtherOptionsOtherBytes: a memo used by two clients mixes nothing up.
func TestOtherOptionsOtherBytes(t *testing.T) {
	t.Parallel()
	memo := &llm.Memo{}
	for range 2 {
		for _, vendor := range []string{"openai", "mistral"} {
			req := &llm.Request{Model: testModel, System: "S", Messages: history(), Memo: memo}
			got := messagesOf(t, sent(t, req, quirks(QuirksOf(vendor))))
			if system := strings.HasPrefix(got, `[{"role":"system"`); system != (vendor == "mistral") {
				t.Errorf("%s: %s", vendor, got)
			}
		}
	}
}

// TestExtraMustBeAnObject: options that would spoil the body are refused.
func TestExtraMustBeAnObject(t *testing.T) {
	t.Parallel()
	v := serve(t, wiretest.Say(eventStream, ""))
	for _, extra := range []string{`[1]`, `{`, `"x"`} {
		_, err := wiretest.Call(t, v.provider(func(o *Options) { o.Extra = json.RawMessage(extra) }), wiretest.Ask("x"))
		if llm.KindOf(err) != llm.ErrBadRequest {
			t.Errorf("%s: got %v", extra, err)
		}
	}
	if sent, _ := v.Last(); sent != nil {
		t.Error("a request was sent")
	}
}

func TestHashID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range 1000 {
		id := wire.HashID(fmt.Sprint("call_", i), shortCallID)
		if seen[id] || !isShortCallID(id) {
			t.Errorf("the id %s", id)
		}
		seen[id] = true
	}
	if a, b := wire.HashID("x", 100), wire.HashID("x", 100); a != b || len(a) != 100 || bytes.Equal([]byte(a[:32]), []byte(a[32:64])) {
		t.Error(a, b)
	}
	if !reflect.DeepEqual(Quirks{ThinkTags: true}, QuirksOf("nobody")) {
		t.Error("an unknown vendor has quirks")
	}
}
