// Tests of OpenAI's format: requests in the published shapes, and the bytes
// they are answered with.

package modelserver

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
)

func TestOpenAIStream(t *testing.T) {
	t.Parallel()
	url := play(t, talkative, Options{})
	const (
		head  = `data: {"id":"chatcmpl-000001","object":"chat.completion.chunk","created":1700000000,"model":"reader-1","service_tier":"default","choices":[`
		delta = head + `{"index":0,"delta":`
		more  = `,"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"
	)
	want := delta + `{"role":"assistant","content":"","refusal":null}` + more +
		delta + `{"reasoning_content":"hm, o"}` + more +
		delta + `{"reasoning_content":"k"}` + more +
		delta + `{"content":"Let's"}` + more +
		delta + `{"content":" go"}` + more +
		delta + `{"tool_calls":[{"index":0,"id":"toolu_1","type":"function","function":{"name":"LS","arguments":""}}]}` + more +
		delta + `{"tool_calls":[{"index":0,"function":{"arguments":"{\"pat"}}]}` + more +
		delta + `{"tool_calls":[{"index":0,"function":{"arguments":"h\":\"."}}]}` + more +
		delta + `{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}` + more +
		delta + `{"tool_calls":[{"index":1,"id":"toolu_2","type":"function","function":{"name":"Read","arguments":""}}]}` + more +
		delta + `{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}` + more +
		delta + `{},"logprobs":null,"finish_reason":"tool_calls"}],"usage":null}` + "\n\n" +
		head + `],"usage":{"prompt_tokens":15,"completion_tokens":7,"total_tokens":22,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":2,"audio_tokens":0},` +
		`"completion_tokens_details":{"reasoning_tokens":1,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}` + "\n\n" +
		"data: [DONE]\n\n"
	body := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`
	resp, got := post(t, url, openaiVendor, body)
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if ct := resp.header.Get("Content-Type"); ct != "text/event-stream; charset=utf-8" {
		t.Errorf("the stream's type is %q", ct)
	}

	_, got = post(t, url, openaiVendor, openaiVendor.ask("", "x", true))
	want = strings.ReplaceAll(want, `,"usage":null`, "")
	want = strings.ReplaceAll(want, "chatcmpl-000001", "chatcmpl-000002")
	i := strings.Index(want, "data: {\"id\":\"chatcmpl-000002\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"reader-1\",\"service_tier\":\"default\",\"choices\":[],")
	if want = want[:i] + "data: [DONE]\n\n"; got != want {
		t.Errorf("without include_usage, got:\n%s\nwant:\n%s", got, want)
	}
}

func TestOpenAIWhole(t *testing.T) {
	t.Parallel()
	url := play(t, talkative, Options{})
	_, body := post(t, url, openaiVendor, openaiVendor.ask("", "x", false))
	want := `{"id":"chatcmpl-000001","object":"chat.completion","created":1700000000,"model":"reader-1","choices":[{"index":0,"message":` +
		`{"role":"assistant","content":"Let's go","reasoning_content":"hm, ok","tool_calls":[` +
		`{"id":"toolu_1","type":"function","function":{"name":"LS","arguments":"{\"path\":\".\"}"}},` +
		`{"id":"toolu_2","type":"function","function":{"name":"Read","arguments":"{}"}}],"refusal":null,"annotations":[]},` +
		`"logprobs":null,"finish_reason":"tool_calls"}],` +
		`"usage":{"prompt_tokens":15,"completion_tokens":7,"total_tokens":22,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":2,"audio_tokens":0},` +
		`"completion_tokens_details":{"reasoning_tokens":1,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},` +
		`"service_tier":"default"}`
	if body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

// TestOpenAIContent: where text, refusals and nothing go.
func TestOpenAIContent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		turn   string
		whole  []string
		stream []string
	}{
		{"{text: a}", []string{`"content":"a"`, `"refusal":null`, `"finish_reason":"stop"`}, []string{`{"content":"a"}`, `"finish_reason":"stop"`}},
		{"{text: ''}", []string{`"content":""`, `"finish_reason":"stop"`}, []string{`"content":"","refusal":null`}},
		{"{text: a, stop: length}", []string{`"finish_reason":"length"`}, []string{`"finish_reason":"length"`}},
		{"{text: a, stop: filter}", []string{`"finish_reason":"content_filter"`}, []string{`"finish_reason":"content_filter"`}},
		{
			"{text: no, stop: refusal}",
			[]string{`"content":null`, `"refusal":"no"`, `"finish_reason":"stop"`},
			[]string{`"content":null,"refusal":null`, `{"refusal":"no"}`, `"finish_reason":"stop"`},
		},
		{"{text: '', stop: refusal}", []string{`"content":null`, `"refusal":""`}, []string{`"content":null`}},
		{"{calls: [{tool: LS}]}", []string{`"content":null`, `"finish_reason":"tool_calls"`}, []string{`"content":null`}},
	}
	for _, tt := range tests {
		t.Run(tt.turn, func(t *testing.T) {
			t.Parallel()
			url := play(t, "agents:\n- turns: ["+tt.turn+"]\n", Options{})
			for stream, wants := range map[bool][]string{false: tt.whole, true: tt.stream} {
				_, body := post(t, url, openaiVendor, openaiVendor.ask("", "x", stream))
				for _, want := range wants {
					if !strings.Contains(body, want) {
						t.Errorf("stream %v: %s\nlacks %s", stream, body, want)
					}
				}
			}
		})
	}
}

// TestOpenAIDecode gives a request with every kind of message.
func TestOpenAIDecode(t *testing.T) {
	t.Parallel()
	c, refused := openai{}.decode(nil, []byte(`{
	 "model":"m","max_completion_tokens":50,"temperature":0.5,
	 "tools":[{"type":"function","function":{"name":"LS","description":"lists","parameters":{"type":"object"}}}],
	 "messages":[
	  {"role":"system","content":"Role: coder"},
	  {"role":"developer","content":[{"type":"text","text":"more"}]},
	  {"role":"user","content":[
	    {"type":"text","text":"task"},
	    {"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},
	    {"type":"image_url","image_url":{"url":"https://example.test/a.png"}}]},
	  {"role":"assistant","content":null,"tool_calls":[
	    {"id":"t1","type":"function","function":{"name":"LS","arguments":"{\"path\":\".\"}"}},
	    {"id":"t2","type":"function","function":{"name":"LS","arguments":"{not json"}}]},
	  {"role":"tool","tool_call_id":"t2","content":"two"},
	  {"role":"tool","tool_call_id":"t1","content":[{"type":"text","text":"one"}]},
	  {"role":"assistant","refusal":"no"},
	  {"role":"user","content":"again"}
	 ]}`))
	if refused != nil {
		t.Fatal(refused)
	}
	toolResult := func(id, s string) message.Message {
		return message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{
			message.ToolResult{CallID: id, Name: "LS", Parts: []message.Part{message.TextPart{Text: s}}},
		}}
	}
	want := []message.Message{
		{Role: message.User, Kind: message.KindUser, Parts: []message.Part{
			message.TextPart{Text: "task"}, message.ImagePart{MediaType: "image/png", Data: []byte("hi")}, message.ImagePart{},
		}},
		{Role: message.Assistant, Kind: message.KindReply, Parts: []message.Part{
			message.ToolCall{ID: "t1", Name: "LS", Input: json.RawMessage(`{"path":"."}`)},
			message.ToolCall{ID: "t2", Name: "LS", Input: json.RawMessage(`"{not json"`)},
		}},
		toolResult("t2", "two"),
		toolResult("t1", "one"),
		message.Of(message.Assistant, message.KindReply, "no"),
		message.Of(message.User, message.KindUser, "again"),
	}
	if !reflect.DeepEqual(c.Messages, want) {
		t.Errorf("messages: got  %+v\nwant %+v", c.Messages, want)
	}
	if c.System != "Role: coder\n\nmore" || c.MaxOutput != 50 || *c.Temperature != 0.5 || c.streamed || c.includeUsage {
		t.Errorf("got %+v", c)
	}
	if len(c.Tools) != 1 || c.Tools[0].Name != "LS" || c.Tools[0].Description != "lists" || string(c.Tools[0].Schema) != `{"type":"object"}` {
		t.Errorf("tools: %+v", c.Tools)
	}
	if who := callerOf(&c.Request); who.Role != "coder" || who.Task != "task" || who.Turn != 3 {
		t.Errorf("caller: %+v", who)
	}
}

func TestOpenAIRefuses(t *testing.T) {
	t.Parallel()
	url := play(t, "agents: [{turns: [{text: a}]}]\n", Options{})
	messages := func(s string) string { return `{"model":"m","messages":[` + s + `]}` }
	const (
		u    = `{"role":"user","content":"x"}`
		call = `{"role":"assistant","tool_calls":[{"id":"t1","type":"function","function":{"name":"LS","arguments":"{}"}},{"id":"t2","type":"function","function":{"name":"LS","arguments":"{}"}}]}`
	)
	result := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"r"}` }
	tests := []struct{ name, body, want string }{
		{"no JSON", `{`, "could not parse"},
		{"no model", `{"messages":[` + u + `]}`, "must provide a model"},
		{"no messages", messages(""), "empty array"},
		{"stream options without stream", `{"model":"m","stream_options":{"include_usage":true},"messages":[` + u + `]}`, "only allowed when 'stream' is enabled"},
		{"unknown role", messages(`{"role":"bot","content":"x"}`), "Invalid value: 'bot'"},
		{"user without content", messages(`{"role":"user","content":null}`), "expected a string, got null"},
		{"content is a number", messages(`{"role":"user","content":5}`), "messages[0].content"},
		{"unknown part", messages(`{"role":"user","content":[{"type":"song"}]}`), "Invalid value: 'song'"},
		{"broken image", messages(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%%"}}]}`), "Invalid image data"},
		{"image not in base64", messages(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png,x"}}]}`), "must be in base64"},
		{"unknown kind of tool", `{"model":"m","tools":[{"type":"robot"}],"messages":[` + u + `]}`, "Invalid value: 'robot'"},
		{"no results", messages(u + "," + call + "," + u), "did not have response messages: t1, t2"},
		{"one result missing", messages(u + "," + call + "," + result("t1")), "did not have response messages: t2"},
		{"result too late", messages(u + "," + call + "," + result("t1") + "," + u + "," + result("t2")), "did not have response messages: t2"},
		{"result of nothing", messages(u + "," + result("t9")), "must be a response to a preceding message"},
		{"result twice", messages(u + "," + call + "," + result("t1") + "," + result("t2") + "," + result("t1")), "must be a response to a preceding message"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, body := post(t, url, openaiVendor, tt.body)
			if resp.status != 400 || !strings.Contains(body, `"type":"invalid_request_error"`) || !strings.Contains(body, tt.want) {
				t.Errorf("status %d, %s\nwant 400 with %s", resp.status, body, tt.want)
			}
		})
	}
	if resp, body := post(t, url, openaiVendor, messages(u+","+call+","+result("t2")+","+result("t1"))); resp.status != 200 {
		t.Errorf("a good history is refused: %s", body)
	}
}
