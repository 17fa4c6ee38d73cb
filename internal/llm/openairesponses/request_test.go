// Requests: their bytes, and what stays the same of them from turn to turn.

package openairesponses

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

var png = message.ImagePart{MediaType: "image/png", Data: []byte("hi")}

func result(id, name string, parts ...message.Part) message.Message {
	return message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{message.ToolResult{CallID: id, Name: name, Parts: parts}}}
}

// history has every kind of message.
func history() []message.Message {
	failed := message.ToolResult{CallID: "call_1", Name: "Read", IsError: true, Parts: []message.Part{message.TextPart{Text: "no such file"}}}
	return []message.Message{
		message.Of(message.User, message.KindTask, "task <1>"),
		reply(
			thought("rs_1", "**A**", "enc-1"), thought("rs_1", "**B**", ""), message.TextPart{Text: "I look."}, phase("commentary"),
			toolCall("call_1", "Read", `{"path":"a \"b\""}`), toolCall("call_2", "LS", ""),
		),
		{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{failed}},
		result("call_2", "LS", message.TextPart{Text: "two"}, png),
		message.Of(message.User, message.KindNote, "note"),
		{Role: message.User, Kind: message.KindUser, Parts: []message.Part{message.TextPart{Text: "see"}, png}},
		reply(thought("rs_2", "", "enc-2"), toolCall("call_3", "LS", "{}")),
		result("call_3", "LS"),
	}
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
	v := serve(t, wiretest.Say(eventStream, events(text, completed)))
	if _, err := wiretest.Call(t, v.provider(change...), req); err != nil {
		t.Fatal(err)
	}
	_, body := v.Last()
	if !json.Valid([]byte(body)) {
		t.Errorf("not JSON: %s", body)
	}
	return body
}

func TestRequest(t *testing.T) {
	t.Parallel()
	temperature := 0.25
	req := &llm.Request{
		Caller: llm.Caller{Chat: "chat-1"}, Model: testModel, System: "Be \"good\".", Tools: tools(),
		Messages: history(), MaxOutput: 4096, Temperature: &temperature,
	}
	got := sent(t, req, func(o *Options) { o.Extra = json.RawMessage(`{ "reasoning": {"effort": "high"} }`) })
	want := `{"model":"m-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"prompt_cache_key":"chat-1",` +
		`"instructions":"Be \"good\".","parallel_tool_calls":true,` +
		`"tools":[{"type":"function","name":"Read","description":"reads\na file","parameters":{"type":"object","properties":{"path":{"type":"string"}}},"strict":false},` +
		`{"type":"function","name":"LS","description":"lists","parameters":{"type":"object","properties":{}},"strict":false}],` +
		`"input":[{"type":"message","role":"user","content":"task <1>"},` +
		`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"**A**"},{"type":"summary_text","text":"**B**"}],"encrypted_content":"enc-1"},` +
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}],"phase":"commentary"},` +
		`{"type":"function_call","call_id":"call_1","name":"Read","arguments":"{\"path\":\"a \\\"b\\\"\"}"},` +
		`{"type":"function_call","call_id":"call_2","name":"LS","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"call_1","output":"Error:\n\nno such file"},` +
		`{"type":"function_call_output","call_id":"call_2","output":[{"type":"input_text","text":"two"},{"type":"input_image","image_url":"data:image/png;base64,aGk="}]},` +
		`{"type":"message","role":"user","content":"note"},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,aGk="}]},` +
		`{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"enc-2"},` +
		`{"type":"function_call","call_id":"call_3","name":"LS","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"call_3","output":""}],` +
		`"max_output_tokens":4096,"reasoning":{"effort":"high"}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestLeastRequest: what is not asked for is not sent.
func TestLeastRequest(t *testing.T) {
	t.Parallel()
	req := wiretest.Ask("x")
	req.Model = "gpt-4o"
	got := sent(t, req)
	want := `{"model":"gpt-4o","stream":true,"store":false,"input":[{"type":"message","role":"user","content":"x"}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for model, want := range map[string]bool{"gpt-4.1-mini": true, "gpt-5-chat-latest": true, "gpt-5.4": false, "o4-mini": false, "gpt-oss-120b": false} {
		if plain(model) != want {
			t.Errorf("%s: got %v", model, !want)
		}
	}
}

// TestReasoningGoesBack: to its maker only, whole, and never as the last item.
func TestReasoningGoesBack(t *testing.T) {
	t.Parallel()
	open := thought("rs_1", "hm", "")
	open.Signature = contentSignature
	foreign := thought("rs_1", "hm", "enc")
	foreign.Provider = "else"
	otherModel := thought("rs_1", "hm", "enc")
	otherModel.Model = "m-2"
	said := message.TextPart{Text: "a"}
	const item = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}`
	tests := map[string]struct {
		parts []message.Part
		want  string
	}{
		"encrypted":            {[]message.Part{thought("rs_1", "hm", "enc"), said}, `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"enc"},` + item},
		"without an id":        {[]message.Part{thought("", "hm", "enc"), said}, `{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"enc"},` + item},
		"two items":            {[]message.Part{thought("rs_1", "", "e1"), thought("rs_2", "", "e2"), said}, `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e1"},{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"e2"},` + item},
		"of an open model":     {[]message.Part{open, said}, `{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},` + item},
		"a summary alone":      {[]message.Part{thought("rs_1", "hm", ""), said}, item},
		"another provider's":   {[]message.Part{foreign, said}, item},
		"another model's":      {[]message.Part{otherModel, said}, item},
		"nothing follows":      {[]message.Part{said, thought("rs_1", "hm", "enc")}, item},
		"two texts":            {[]message.Part{said, said}, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"a"}]}`},
		"two phases":           {[]message.Part{said, phase("commentary"), said, phase("final_answer")}, item[:len(item)-1] + `,"phase":"commentary"},` + item[:len(item)-1] + `,"phase":"final_answer"}`},
		"a phase of nothing":   {[]message.Part{phase("commentary")}, ""},
		"another's phase":      {[]message.Part{said, message.ThinkingPart{Signature: phasePrefix + "x", Provider: "else", Model: testModel}}, item},
		"an id that is long":   {[]message.Part{toolCall(strings.Repeat("x", 65), "f", "{}")}, `{"type":"function_call","call_id":"call_` + wire.HashID(strings.Repeat("x", 65), 59) + `","name":"f","arguments":"{}"}`},
		"an empty reply":       {nil, ""},
		"a text that is empty": {[]message.Part{message.TextPart{}}, ""},
	}
	for name, tt := range tests {
		req := &llm.Request{Model: testModel, Messages: []message.Message{reply(tt.parts...), message.Of(message.User, message.KindUser, "x")}}
		want := strings.TrimPrefix(tt.want+`,{"type":"message","role":"user","content":"x"}]`, ",")
		if got := sent(t, req); !strings.HasSuffix(got, `"input":[`+want+"}") {
			t.Errorf("%s: %s\ndoes not end in %s", name, got, want)
		}
	}
}

// TestWhatCameGoesBack sends the replies of all fixtures back.
func TestWhatCameGoesBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openai_parallel.sse", "openai_parallel.json"} {
		req := wiretest.Ask("x")
		r, err := wiretest.Call(t, serve(t, wiretest.Say(wiretest.ContentType(name), wiretest.Fixture(t, name))).provider(), req)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, reply(r.Parts...))
		want := `{"type":"reasoning","id":"rs_6888f6d0606c819aa8205ecee386963f","summary":[{"type":"summary_text","text":"**Checking the weather**\n\nTwo cities, two calls."},{"type":"summary_text","text":"**Planning**\n\nAsk both."}],"encrypted_content":"gAAAAABo_encrypted_1=="},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I'll check both."}],"phase":"commentary"},` +
			`{"type":"function_call","call_id":"call_A1","name":"get_weather","arguments":"{\"location\":\"Paris\"}"},{"type":"function_call","call_id":"call_A2","name":"now","arguments":"{}"},{"type":"function_call","call_id":"call_A3","name":"send","arguments":"{\"to\":\"Bogotá\"}"}]`
		if got := sent(t, req); !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
}

// TestPrefix: up to its new items a request has the bytes of the one before,
// with a memo or without.
func TestPrefix(t *testing.T) {
	t.Parallel()
	memo := &llm.Memo{}
	var before string
	msgs := history()
	for _, n := range []int{1, 6, 8} { // where the model is asked
		req := &llm.Request{
			Caller: llm.Caller{Chat: "chat-1", Turn: n}, Model: testModel, System: "S", Tools: tools(),
			Messages: slices.Clone(msgs[:n]), MaxOutput: int64(100 - n), Memo: memo,
		}
		got := sent(t, req)
		req.Memo = nil
		if fresh := sent(t, req); fresh != got {
			t.Errorf("with a memo  %s\nwithout one %s", got, fresh)
		}
		if !strings.HasPrefix(got, before) {
			t.Errorf("%s\ndoes not begin with %s", got, before)
		}
		before = got[:strings.LastIndex(got, `],"max_`)]
	}
}

// TestHeaders: where key, address and further headers go.
func TestHeaders(t *testing.T) {
	t.Parallel()
	v := serve(t, wiretest.Say(eventStream, events(text, completed)))
	p := v.provider(func(o *Options) {
		o.KeyHeader = "api-key"
		o.Query = url.Values{"api-version": {"preview"}}
		o.Header = http.Header{"x-title": {"Cadre"}}
	})
	for provider, want := range map[llm.Provider][4]string{
		v.provider(): {"/v1/responses", "Bearer " + wiretest.Key, "", ""},
		p:            {"/v1/responses?api-version=preview", "", wiretest.Key, "Cadre"},
	} {
		if _, err := wiretest.Call(t, provider, wiretest.Ask("x")); err != nil {
			t.Fatal(err)
		}
		r, _ := v.Last()
		if got := [4]string{r.URL.String(), r.Header.Get("Authorization"), r.Header.Get("Api-Key"), r.Header.Get("X-Title")}; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// TestExtraMustBeAnObject: options that would spoil the body are refused.
func TestExtraMustBeAnObject(t *testing.T) {
	t.Parallel()
	v := serve(t, wiretest.Say(eventStream, ""))
	for _, extra := range []string{`[1]`, `{`} {
		_, err := wiretest.Call(t, v.provider(func(o *Options) { o.Extra = json.RawMessage(extra) }), wiretest.Ask("x"))
		if r, _ := v.Last(); llm.KindOf(err) != llm.ErrBadRequest || r != nil {
			t.Errorf("%s: got %v", extra, err)
		}
	}
}
