// Tests of the format of OpenAI's Responses: requests in the published shapes,
// and the events they are answered with.

package modelserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
)

// shape lists the events of a stream: their names, with what they add.
func shape(t *testing.T, stream string) []string {
	t.Helper()
	var out []string
	for i, block := range strings.Split(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(block, "\ndata: ")
		var e struct {
			Type     string `json:"type"`
			Delta    string `json:"delta"`
			Sequence int    `json:"sequence_number"`
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil || !ok || name != "event: "+e.Type || e.Sequence != i {
			t.Fatalf("event %d is not in order (%v): %s", i, err, block)
		}
		out = append(out, strings.TrimSpace(strings.TrimPrefix(e.Type, "response.")+" "+e.Delta))
	}
	return out
}

func TestResponsesStream(t *testing.T) {
	t.Parallel()
	url := play(t, talkative, Options{})
	ask := func(more string) string {
		return `{"model":"m","stream":true,"store":false,"input":"x"` + more + `}`
	}
	_, body := post(t, url, responsesVendor, ask(`,"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"]`))
	text := []string{
		"output_item.added", "content_part.added", "output_text.delta Let's", "output_text.delta  go",
		"output_text.done", "content_part.done", "output_item.done",
		"output_item.added", `function_call_arguments.delta {"pat`, `function_call_arguments.delta h":".`, `function_call_arguments.delta "}`,
		"function_call_arguments.done", "output_item.done",
		"output_item.added", "function_call_arguments.delta {}", "function_call_arguments.done", "output_item.done",
		"completed",
	}
	want := append([]string{
		"created", "in_progress",
		"output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta hm, o", "reasoning_summary_text.delta k",
		"reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
	}, text...)
	if got := shape(t, body); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, piece := range []string{
		`{"type":"response.output_text.delta","item_id":"msg_000001_1","output_index":1,"content_index":0,"delta":"Let's","sequence_number":11}`,
		`"item":{"id":"rs_000001_0","type":"reasoning","summary":[{"type":"summary_text","text":"hm, ok"}],"encrypted_content":"` + sealed("hm, ok") + `"}`,
		`"item":{"id":"fc_000001_2","type":"function_call","status":"completed","arguments":"{\"path\":\".\"}","call_id":"toolu_1","name":"LS"}`,
		`"usage":{"input_tokens":15,"input_tokens_details":{"cached_tokens":3,"cache_write_tokens":2},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":22}`,
	} {
		if !strings.Contains(body, piece) {
			t.Errorf("%s\nis missing in\n%s", piece, body)
		}
	}
	// What was not asked for is not told.
	_, body = post(t, url, responsesVendor, ask(""))
	want = append([]string{"created", "in_progress", "output_item.added", "output_item.done"}, text...)
	if got := shape(t, body); !reflect.DeepEqual(got, want) {
		t.Errorf("without a summary: got  %q\nwant %q", got, want)
	}
	if strings.Contains(body, "hm, ok") || strings.Contains(body, "encrypted") {
		t.Errorf("thinking is told though nobody asked: %s", body)
	}
}

// TestResponsesEnds: how a reply ends, in one piece and in a stream.
func TestResponsesEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ turn, whole, last string }{
		{"{text: a}", `"status":"completed","error":null,"incomplete_details":null`, "completed"},
		{"{text: ''}", `"output":[]`, "completed"},
		{"{text: a, stop: length}", `"status":"incomplete","error":null,"incomplete_details":{"reason":"max_output_tokens"}`, "incomplete"},
		{"{text: a, stop: filter}", `"incomplete_details":{"reason":"content_filter"}`, "incomplete"},
		{"{text: no, stop: refusal}", `"content":[{"type":"refusal","refusal":"no"}]`, "completed"},
		{"{calls: [{tool: LS}]}", `"type":"function_call","status":"completed","arguments":"{}"`, "completed"},
	} {
		t.Run(tt.turn, func(t *testing.T) {
			t.Parallel()
			url := play(t, "agents:\n- turns: ["+tt.turn+"]\n", Options{})
			_, body := post(t, url, responsesVendor, responsesVendor.ask("", "x", false))
			if !strings.Contains(body, tt.whole) {
				t.Errorf("%s\nlacks %s", body, tt.whole)
			}
			_, stream := post(t, url, responsesVendor, responsesVendor.ask("", "x", true))
			got := shape(t, stream)
			if got[len(got)-1] != tt.last || !strings.Contains(stream, tt.whole) {
				t.Errorf("the stream ends with %s, want %s:\n%s", got[len(got)-1], tt.last, stream)
			}
		})
	}
}

func TestResponsesFaults(t *testing.T) {
	t.Parallel()
	for fault, code := range map[string]string{
		"{status: 429, after: 1, message: slow}": "rate_limit_exceeded",
		"{status: 529, after: 1, message: busy}": "server_is_overloaded",
		"{status: 500, after: 1, message: oops}": "server_error",
		"{kind: content_filter, after: 1}":       "invalid_prompt",
		"{status: 429, kind: quota, after: 1}":   "insufficient_quota",
		"{overflow: true, after: 1}":             "context_length_exceeded",
	} {
		url := play(t, "agents:\n- turns: [{text: abcd, chunk: 2, fault: "+fault+"}]\n", Options{})
		_, stream := post(t, url, responsesVendor, responsesVendor.ask("", "x", true))
		got := shape(t, stream)
		if want := fmt.Sprintf(`"status":"failed","error":{"code":%q`, code); got[len(got)-1] != "failed" || !strings.Contains(stream, want) {
			t.Errorf("%s: the stream does not end with %s:\n%s", fault, want, stream)
		}
	}
}

// TestResponsesDecode gives a request with every kind of item.
func TestResponsesDecode(t *testing.T) {
	t.Parallel()
	c, refused := responses{}.decode(nil, []byte(`{
	 "model":"m","max_output_tokens":50,"temperature":0.5,"instructions":"Role: coder",
	 "tools":[{"type":"function","name":"LS","description":"lists","parameters":{"type":"object"},"strict":false}],
	 "input":[
	  {"role":"developer","content":"more"},
	  {"type":"message","role":"user","content":[
	    {"type":"input_text","text":"task"},
	    {"type":"input_image","image_url":"data:image/png;base64,aGk="}]},
	  {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"`+sealed("hm")+`"},
	  {"type":"message","role":"assistant","content":[{"type":"output_text","text":"looking"}]},
	  {"type":"function_call","call_id":"t1","name":"LS","arguments":"{\"path\":\".\"}"},
	  {"type":"function_call","call_id":"t2","name":"LS","arguments":"{not json"},
	  {"type":"function_call_output","call_id":"t2","output":"two"},
	  {"type":"function_call_output","call_id":"t1","output":[{"type":"input_text","text":"one"}]},
	  {"role":"user","content":"again"}
	 ]}`))
	if refused != nil {
		t.Fatal(refused)
	}
	result := func(id, s string) message.Message {
		return resultMessage(message.ToolResult{CallID: id, Name: "LS", Parts: []message.Part{message.TextPart{Text: s}}})
	}
	want := []message.Message{
		{Role: message.User, Kind: message.KindUser, Parts: []message.Part{
			message.TextPart{Text: "task"}, message.ImagePart{MediaType: "image/png", Data: []byte("hi")},
		}},
		{Role: message.Assistant, Kind: message.KindReply, Parts: []message.Part{
			message.ThinkingPart{Text: "hm", ID: "rs_1", Encrypted: sealed("hm"), Provider: "openai"},
			message.TextPart{Text: "looking"},
			message.ToolCall{ID: "t1", Name: "LS", Input: json.RawMessage(`{"path":"."}`)},
			message.ToolCall{ID: "t2", Name: "LS", Input: json.RawMessage(`"{not json"`)},
		}},
		result("t2", "two"),
		result("t1", "one"),
		message.Of(message.User, message.KindUser, "again"),
	}
	if !reflect.DeepEqual(c.Messages, want) {
		t.Errorf("messages: got  %+v\nwant %+v", c.Messages, want)
	}
	if c.System != "Role: coder\n\nmore" || c.MaxOutput != 50 || *c.Temperature != 0.5 || c.streamed {
		t.Errorf("got %+v", c)
	}
	if len(c.Tools) != 1 || c.Tools[0].Name != "LS" || c.Tools[0].Description != "lists" || string(c.Tools[0].Schema) != `{"type":"object"}` {
		t.Errorf("tools: %+v", c.Tools)
	}
	if who := callerOf(&c.Request); who.Role != "coder" || who.Task != "task" || who.Turn != 2 {
		t.Errorf("caller: %+v", who)
	}
}

func TestResponsesRefuses(t *testing.T) {
	t.Parallel()
	url := play(t, "agents: [{turns: [{text: a}]}]\n", Options{})
	input := func(s string) string { return `{"model":"m","input":[` + s + `]}` }
	const (
		u    = `{"role":"user","content":"x"}`
		call = `{"type":"function_call","call_id":"t1","name":"LS","arguments":"{}"}`
		out  = `{"type":"function_call_output","call_id":"t1","output":"r"}`
	)
	for _, tt := range []struct{ name, body, want string }{
		{"no JSON", `{`, "could not parse"},
		{"no model", `{"input":"x"}`, "Missing required parameter: 'model'"},
		{"no input", `{"model":"m"}`, "Missing required parameter: 'input'"},
		{"empty input", input(""), "empty array"},
		{"input is a number", `{"model":"m","input":7}`, "Invalid type for 'input'"},
		{"stored state", `{"model":"m","input":"x","previous_response_id":"resp_1"}`, "'resp_1' not found"},
		{"too little output", `{"model":"m","input":"x","max_output_tokens":5}`, "Expected a value >= 16"},
		{"unknown kind of tool", `{"model":"m","input":"x","tools":[{"type":"robot"}]}`, "'robot'"},
		{"unknown item", input(`{"type":"song"}`), "Invalid value: 'song'"},
		{"unknown role", input(`{"role":"bot","content":"x"}`), "Invalid value: 'bot'"},
		{"unknown part", input(`{"role":"user","content":[{"type":"text","text":"x"}]}`), "Invalid value: 'text'"},
		{"no content", input(`{"role":"user"}`), "Missing required parameter: 'input[0].content'"},
		{"broken image", input(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,%%"}]}`), "Invalid image data"},
		{"a reference", input(`{"type":"item_reference","id":"msg_1"}`), "'msg_1' not found"},
		{"no output", input(u + "," + call + "," + u), "No tool output found for function call t1."},
		{"output of nothing", input(u + "," + out), "No tool call found for function call output with call_id t1."},
		{"reasoning alone", input(u + `,{"type":"reasoning","id":"rs_1","summary":[]}`), "'rs_1' of type 'reasoning' was provided without its required following item"},
		{"reasoning before the user", input(`{"type":"reasoning","id":"rs_1","summary":[]},` + u), "without its required following item"},
		{"foreign reasoning", input(u + `,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},` + call + "," + out), "could not be verified"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, body := post(t, url, responsesVendor, tt.body)
			if resp.status != 400 || !strings.Contains(body, `"type":"invalid_request_error"`) || !strings.Contains(body, tt.want) {
				t.Errorf("status %d, %s\nwant 400 with %s", resp.status, body, tt.want)
			}
		})
	}
	if resp, body := post(t, url, responsesVendor, input(u+","+call+","+out)); resp.status != 200 {
		t.Errorf("a good history is refused: %s", body)
	}
}
