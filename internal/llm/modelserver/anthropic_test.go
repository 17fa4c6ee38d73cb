// Tests of Anthropic's format: requests in the published shapes, and the bytes
// they are answered with.

package modelserver

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
)

const talkative = `
model: reader-1
defaults: {chunk: 5}
agents:
- turns:
  - thinking: "hm, ok"
    text: "Let's go"
    calls:
    - {tool: LS, id: toolu_1, input: {path: "."}}
    - {tool: Read, id: toolu_2}
    usage: {input: 10, output: 7, cache_read: 3, cache_write: 2, reasoning: 1}
  - {text: ""}
`

func TestAnthropicStream(t *testing.T) {
	t.Parallel()
	url := play(t, talkative, Options{})
	resp, body := post(t, url, anthropicVendor, anthropicVendor.ask("", "x", true))
	if got := resp.header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("the stream's type is %q", got)
	}
	want := `event: message_start
data: {"type":"message_start","message":{"id":"msg_000001","type":"message","role":"assistant","model":"reader-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":1,"output_tokens_details":{"thinking_tokens":0}}}}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm, o"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"k"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"` + signature("hm, ok") + `"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Let's"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" go"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"LS","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"pat"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"h\":\"."}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_2","name":"Read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":7,"output_tokens_details":{"thinking_tokens":1}}}

event: message_stop
data: {"type":"message_stop"}

`
	if body != want {
		t.Errorf("got:\n%s\nwant:\n%s", body, want)
	}
}

func TestAnthropicWhole(t *testing.T) {
	t.Parallel()
	url := play(t, talkative, Options{})
	_, body := post(t, url, anthropicVendor, anthropicVendor.ask("", "x", false))
	want := `{"id":"msg_000001","type":"message","role":"assistant","model":"reader-1","content":[` +
		`{"type":"thinking","thinking":"hm, ok","signature":"` + signature("hm, ok") + `"},` +
		`{"type":"text","text":"Let's go"},` +
		`{"type":"tool_use","id":"toolu_1","name":"LS","input":{"path":"."}},` +
		`{"type":"tool_use","id":"toolu_2","name":"Read","input":{}}],` +
		`"stop_reason":"tool_use","stop_sequence":null,` +
		`"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":7,"output_tokens_details":{"thinking_tokens":1}}}`
	if body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

// TestAnthropicConversation answers the first turn's calls as a client does,
// the thinking block sent back unchanged, and gets the second turn: an empty
// reply.
func TestAnthropicConversation(t *testing.T) {
	t.Parallel()
	url := play(t, talkative, Options{})
	_, first := post(t, url, anthropicVendor, anthropicVendor.ask("", "x", false))
	var said struct{ Content json.RawMessage }
	if err := json.Unmarshal([]byte(first), &said); err != nil {
		t.Fatal(err)
	}
	body := `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"x"},
		{"role":"assistant","content":` + string(said.Content) + `},
		{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"toolu_2","content":"two"},
			{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"one"}]}]}]}`
	resp, got := post(t, url, anthropicVendor, body)
	if resp.status != 200 || strings.Contains(got, "content_block") || !strings.Contains(got, `"stop_reason":"end_turn"`) {
		t.Errorf("status %d, got %s", resp.status, got)
	}
	broken := strings.Replace(body, "hm, ok", "hm, no", 1)
	if resp, got := post(t, url, anthropicVendor, broken); resp.status != 400 || !strings.Contains(got, "messages.1.content.0: Invalid `signature`") {
		t.Errorf("a changed thinking block: status %d, %s", resp.status, got)
	}
}

func TestAnthropicStops(t *testing.T) {
	t.Parallel()
	for stop, want := range map[string]string{
		"end": "end_turn", "length": "max_tokens", "refusal": "refusal", "filter": "refusal",
	} {
		url := play(t, "agents:\n- turns: [{text: a, stop: "+stop+"}]\n", Options{})
		for _, stream := range []bool{true, false} {
			if _, body := post(t, url, anthropicVendor, anthropicVendor.ask("", "x", stream)); !strings.Contains(body, `"stop_reason":"`+want+`"`) {
				t.Errorf("stop %s, stream %v: %s", stop, stream, body)
			}
		}
	}
}

// TestAnthropicDecode gives a request with every kind of block.
func TestAnthropicDecode(t *testing.T) {
	t.Parallel()
	c, refused := anthropic{}.decode(anthropicVendor.header, []byte(`{
	 "model":"m","max_tokens":50,"temperature":0.5,"stream":true,
	 "system":[{"type":"text","text":"Role: coder","cache_control":{"type":"ephemeral"}},{"type":"text","text":"more"}],
	 "tools":[{"name":"LS","description":"lists","input_schema":{"type":"object"}}],
	 "messages":[
	  {"role":"user","content":[
	    {"type":"text","text":"task"},
	    {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},
	    {"type":"text","text":"note"}]},
	  {"role":"assistant","content":[
	    {"type":"redacted_thinking","data":"zzz"},
	    {"type":"text","text":"looking"},
	    {"type":"tool_use","id":"t1","name":"LS","input":{"path":"."}}]},
	  {"role":"user","content":[
	    {"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[
	      {"type":"text","text":"broken"},
	      {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]},
	    {"type":"text","text":"{\"sub_agent_results\":[]}"}]},
	  {"role":"system","content":"hurry"}
	 ]}`))
	if refused != nil {
		t.Fatal(refused)
	}
	png := message.ImagePart{MediaType: "image/png", Data: []byte("hi")}
	want := []message.Message{
		{Role: message.User, Kind: message.KindUser, Parts: []message.Part{message.TextPart{Text: "task"}, png}},
		message.Of(message.User, message.KindUser, "note"),
		{Role: message.Assistant, Kind: message.KindReply, Parts: []message.Part{
			message.ThinkingPart{Encrypted: "zzz", Provider: "anthropic"},
			message.TextPart{Text: "looking"},
			message.ToolCall{ID: "t1", Name: "LS", Input: json.RawMessage(`{"path":"."}`)},
		}},
		{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{
			message.ToolResult{CallID: "t1", Name: "LS", IsError: true, Parts: []message.Part{message.TextPart{Text: "broken"}, png}},
		}},
		message.Of(message.User, message.KindResults, `{"sub_agent_results":[]}`),
		message.Of(message.User, message.KindNote, "hurry"),
	}
	if !reflect.DeepEqual(c.Messages, want) {
		t.Errorf("messages: got  %+v\nwant %+v", c.Messages, want)
	}
	if c.System != "Role: coder\n\nmore" || c.Model != "m" || c.MaxOutput != 50 || *c.Temperature != 0.5 || !c.streamed {
		t.Errorf("got %+v", c)
	}
	if len(c.Tools) != 1 || c.Tools[0].Name != "LS" || c.Tools[0].Description != "lists" || string(c.Tools[0].Schema) != `{"type":"object"}` {
		t.Errorf("tools: %+v", c.Tools)
	}
	if who := callerOf(&c.Request); who.Role != "coder" || who.Task != "task" || who.Turn != 2 {
		t.Errorf("caller: %+v", who)
	}
}

func TestAnthropicRefuses(t *testing.T) {
	t.Parallel()
	url := play(t, "agents: [{turns: [{text: a}]}]\n", Options{})
	messages := func(s string) string { return `{"model":"m","max_tokens":1,"messages":[` + s + `]}` }
	const (
		u    = `{"role":"user","content":"x"}`
		call = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"LS","input":{}},{"type":"tool_use","id":"t2","name":"LS","input":{}}]}`
	)
	result := func(id string) string { return `{"type":"tool_result","tool_use_id":"` + id + `","content":"r"}` }
	tests := []struct{ name, body, want string }{
		{"no JSON", `{`, "not valid JSON"},
		{"no model", `{"max_tokens":1,"messages":[` + u + `]}`, "model: Field required"},
		{"no max_tokens", `{"model":"m","messages":[` + u + `]}`, "max_tokens: Field required"},
		{"max_tokens 0", `{"model":"m","max_tokens":0,"messages":[` + u + `]}`, "max_tokens: Input should be"},
		{"no messages", messages(""), "at least one message"},
		{"same tool twice", `{"model":"m","max_tokens":1,"tools":[{"name":"a"},{"name":"a"}],"messages":[` + u + `]}`, "Tool names must be unique"},
		{"unknown role", messages(`{"role":"bot","content":"x"}`), "messages.0.role: Input should be 'user', 'assistant' or 'system'"},
		{"begins with the assistant", messages(`{"role":"assistant","content":"x"},` + u), "first message"},
		{"empty text", messages(`{"role":"user","content":[{"type":"text","text":""}]}`), "non-empty"},
		{"empty message", messages(`{"role":"user","content":""},` + u), "messages.0: all messages must have non-empty content"},
		{"content is a number", messages(`{"role":"user","content":5}`), "messages.0.content: Input should be a valid list"},
		{"unknown block", messages(`{"role":"user","content":[{"type":"song"}]}`), "Input tag 'song'"},
		{"call by the user", messages(`{"role":"user","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}`), "`tool_use` blocks can not be in `user`"},
		{"result by the assistant", messages(u + `,{"role":"assistant","content":[` + result("t1") + `]}`), "`tool_result` blocks can not be in `assistant`"},
		{"input is a text", messages(u + `,{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":"x"}]}`), "messages.1.content.0.tool_use"},
		{"unsigned thinking", messages(u + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}`), "Invalid `signature`"},
		{"no result", messages(u + `,` + call + `,` + u), "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1, t2."},
		{"one result missing", messages(u + `,` + call + `,{"role":"user","content":[` + result("t1") + `]}`), "immediately after: t2."},
		{"result too late", messages(u + `,` + call + `,{"role":"user","content":[` + result("t1") + `,{"type":"text","text":"hm"},` + result("t2") + `]}`), "immediately after: t2."},
		{"result of nothing", messages(`{"role":"user","content":[` + result("t9") + `]}`), "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, body := post(t, url, anthropicVendor, tt.body)
			if resp.status != 400 || !strings.Contains(body, `"invalid_request_error"`) || !strings.Contains(body, tt.want) {
				t.Errorf("status %d, %s\nwant 400 with %s", resp.status, body, tt.want)
			}
		})
	}
	t.Run("results in two messages are one", func(t *testing.T) {
		t.Parallel()
		ok := messages(u + `,` + call + `,{"role":"user","content":[` + result("t1") + `]},{"role":"user","content":[` + result("t2") + `]}`)
		if resp, body := post(t, url, anthropicVendor, ok); resp.status != 200 {
			t.Errorf("status %d, %s", resp.status, body)
		}
	})
	t.Run("no version", func(t *testing.T) {
		t.Parallel()
		v := anthropicVendor
		v.header = http.Header{}
		if resp, body := post(t, url, v, v.ask("", "x", false)); resp.status != 400 || !strings.Contains(body, "anthropic-version") {
			t.Errorf("status %d, %s", resp.status, body)
		}
	})
}
