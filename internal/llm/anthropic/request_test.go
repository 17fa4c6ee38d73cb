// Tests of requests: their bytes, and that these stay the same.

package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

const mark = `,"cache_control":{"type":"ephemeral"}`

func said(role message.Role, parts ...message.Part) message.Message {
	return message.Message{Role: role, Parts: parts}
}

func text(s string) message.TextPart { return message.TextPart{Text: s} }

func toolCall(id, name, input string) message.ToolCall {
	return message.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

func result(id string, parts ...message.Part) message.Message {
	return said(message.Tool, message.ToolResult{CallID: id, Name: "LS", Parts: parts})
}

// encoded gives the body that a provider makes of req.
func encoded(t testing.TB, opts Options, req *llm.Request) string {
	t.Helper()
	b, err := New(opts).(*provider).encode(req)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b) {
		t.Fatalf("not JSON: %s", b)
	}
	return string(b)
}

func TestRequest(t *testing.T) {
	t.Parallel()
	warm := 0.25
	req := &llm.Request{
		Model: "m", System: "Be <brief>.", MaxOutput: 100, Temperature: &warm,
		Tools: []llm.Tool{
			{Name: "LS", Description: "Lists.", Schema: json.RawMessage(`{ "type": "object", "properties": {"path": {"type": "string"}} }`)},
			{Name: "Now"},
			{Name: "Odd", Schema: json.RawMessage(`{"properties":{}}`)},
		},
		Messages: []message.Message{
			said(message.User, text("look"), message.ImagePart{MediaType: "image/png", Data: []byte("png")}),
			said(
				message.Assistant,
				message.ThinkingPart{Text: "hm", Signature: "sig", Provider: "anthropic", Model: "m"},
				message.ThinkingPart{Encrypted: "enc", Provider: "anthropic", Model: "m"},
				text("ok"), toolCall("t1", "LS", `{"path": "."}`), toolCall("t2", "Now", ""),
			),
			result("t1", text("a\nb"), message.ImagePart{MediaType: "image/gif", Data: []byte("gif")}),
			said(message.Tool, message.ToolResult{CallID: "t2", IsError: true, Parts: []message.Part{text("no clock")}}),
			said(message.User, text("a note")),
			said(message.User, text("and now?")),
		},
	}
	want := `{"model":"m","tools":[` +
		`{"name":"LS","description":"Lists.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}},` +
		`{"name":"Now","input_schema":{"type":"object"}},` +
		`{"name":"Odd","input_schema":{"type":"object","properties":{}}` + mark + `}],` +
		`"system":[{"type":"text","text":"Be <brief>."` + mark + `}],` +
		`"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}` + mark + `}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"redacted_thinking","data":"enc"},{"type":"text","text":"ok"},` +
		`{"type":"tool_use","id":"t1","name":"LS","input":{"path":"."}},{"type":"tool_use","id":"t2","name":"Now","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a\nb"},{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"Z2lm"}}]},` +
		`{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"no clock"}],"is_error":true},` +
		`{"type":"text","text":"a note"},{"type":"text","text":"and now?"` + mark + `}]}` +
		`],"max_tokens":100,"temperature":0.25,"stream":true}`
	if got := encoded(t, Options{}, req); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := encoded(t, Options{NoCache: true}, req); got != strings.ReplaceAll(want, mark, "") {
		t.Errorf("without marks: got\n%s", got)
	}
	if got := encoded(t, Options{CacheTTL: "1h"}, req); strings.Count(got, `"cache_control":{"type":"ephemeral","ttl":"1h"}`) != 4 {
		t.Errorf("for an hour: got\n%s", got)
	}
}

// TestMessages tells what becomes of single messages.
func TestMessages(t *testing.T) {
	t.Parallel()
	user := `{"role":"user","content":[{"type":"text","text":"hi"}]}`
	odd := "toolu_" + wire.HashID("functions.LS:0", 24)
	own := message.ThinkingPart{Text: "hm", Signature: "s", Provider: "anthropic", Model: "m"}
	foreign, other, cut, omitted := own, own, own, own
	foreign.Provider, other.Model, cut.Signature, omitted.Text = "elsewhere", "m2", "", ""
	for _, tt := range []struct {
		name string
		msgs []message.Message
		want string
	}{
		{"empty texts are not sent", []message.Message{said(message.User, text(""), text("hi"), text(" \n"))}, user},
		{"nor whole messages of them", []message.Message{said(message.User, text("hi")), said(message.User, text(""))}, user},
		{"unless nothing is left", []message.Message{said(message.User, text("hi")), said(message.Assistant, text("x")), said(message.User, text(" "))}, user + `,{"role":"assistant","content":[{"type":"text","text":"x"}]},{"role":"user","content":[{"type":"text","text":"(empty message)"}]}`},
		{"an empty reply is left out", []message.Message{said(message.User, text("hi")), said(message.Assistant, text("")), said(message.User, text("hi"))}, user + "," + user},
		{"thinking of another provider", []message.Message{said(message.Assistant, foreign, text("x"))}, `{"role":"assistant","content":[{"type":"text","text":"x"}]}`},
		{"thinking of another model", []message.Message{said(message.Assistant, other, text("x"))}, `{"role":"assistant","content":[{"type":"text","text":"x"}]}`},
		{"thinking without its signature", []message.Message{said(message.Assistant, cut, text("x"))}, `{"role":"assistant","content":[{"type":"text","text":"x"}]}`},
		{"thinking that is not shown", []message.Message{said(message.Assistant, omitted, text("x"))}, `{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"text","text":"x"}]}`},
		{"a reply of foreign thinking", []message.Message{said(message.User, text("hi")), said(message.Assistant, foreign)}, user},
		{"results come first", []message.Message{said(message.User, text("hi")), result("a", text("1")), result("b")}, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"1"}]},{"type":"tool_result","tool_use_id":"b"},{"type":"text","text":"hi"}]}`},
		{"an error without words", []message.Message{said(message.Tool, message.ToolResult{CallID: "a", IsError: true, Parts: []message.Part{text("")}})}, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"The tool failed and said nothing."}],"is_error":true}]}`},
		{"another vendor's ids", []message.Message{said(message.Assistant, toolCall("functions.LS:0", "LS", `{}`)), result("functions.LS:0")}, `{"role":"assistant","content":[{"type":"tool_use","id":"` + odd + `","name":"LS","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + odd + `"}]}`},
		{"images of no bytes, or by the model", []message.Message{said(message.User, message.ImagePart{}, text("hi")), said(message.Assistant, message.ImagePart{Data: []byte("x")})}, user},
		{"none", nil, ""},
	} {
		body := encoded(t, Options{NoCache: true, Whole: true}, &llm.Request{Model: "m", Messages: tt.msgs})
		want := `{"model":"m","messages":[` + tt.want + `],"max_tokens":8192}`
		if body != want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, body, want)
		}
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	for name, req := range map[string]*llm.Request{
		"a schema that is none": {Tools: []llm.Tool{{Name: "x", Schema: json.RawMessage(`[]`)}}},
		"a schema that is cut":  {Tools: []llm.Tool{{Name: "x", Schema: json.RawMessage(`{"type":`)}}},
		"a schema with a fault": {Tools: []llm.Tool{{Name: "x", Schema: json.RawMessage(`{"a":tru}`)}}},
		"an input that is none": {Messages: []message.Message{said(message.Assistant, toolCall("a", "x", `{"a`))}},
	} {
		if _, err := New(Options{}).Call(t.Context(), req, nil); llm.KindOf(err) != llm.ErrBadRequest {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestThinkingSettings(t *testing.T) {
	t.Parallel()
	warm := 1.0
	base := llm.Request{Model: "m", MaxOutput: 4000, Temperature: &warm, Messages: []message.Message{said(message.User, text("hi"))}}
	foreign := base
	foreign.Messages = []message.Message{said(message.User, text("hi")), said(message.Assistant, toolCall("a", "x", "{}")), result("a")}
	own := base
	own.Messages = []message.Message{said(message.User, text("hi")), said(message.Assistant, message.ThinkingPart{Signature: "s", Provider: "anthropic", Model: "m"}, toolCall("a", "x", "{}")), result("a")}
	answered := base
	answered.Messages = []message.Message{said(message.User, text("hi")), said(message.Assistant, text("x")), said(message.User, text("hi"))}
	small := base
	small.MaxOutput = 1000
	for _, tt := range []struct {
		name string
		opts Options
		req  llm.Request
		want string
	}{
		{"none", Options{}, base, `,"max_tokens":4000,"temperature":1,"stream":true}`},
		{"budget", Options{ThinkingBudget: 2000}, base, `,"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":2000},"stream":true}`},
		{"budget over the limit", Options{ThinkingBudget: 9000}, base, `,"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":3999},"stream":true}`},
		{"no room to think", Options{ThinkingBudget: 9000}, small, `,"max_tokens":1000,"temperature":1,"stream":true}`},
		{"in a turn that another model began", Options{ThinkingBudget: 2000}, foreign, `,"max_tokens":4000,"temperature":1,"stream":true}`},
		{"in a turn of its own", Options{ThinkingBudget: 2000}, own, `,"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":2000},"stream":true}`},
		{"after an answer", Options{ThinkingBudget: 2000}, answered, `,"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":2000},"stream":true}`},
		{"adaptive", Options{Adaptive: true, Effort: "high"}, foreign, `,"max_tokens":4000,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"stream":true}`},
	} {
		if got := encoded(t, tt.opts, &tt.req); !strings.HasSuffix(got, "]"+tt.want) {
			t.Errorf("%s: got %s", tt.name, got)
		}
	}
}

// conversation is a history of so many turns with tool calls, of about 300
// bytes a message.
func conversation(turns int) []message.Message {
	msgs := []message.Message{said(message.User, text("Please find out what is in there."))}
	for i := range turns {
		id := fmt.Sprintf("toolu_%d", i)
		msgs = append(
			msgs,
			said(message.Assistant, text(strings.Repeat("Let me look. ", 20)), toolCall(id, "LS", `{"path":"`+strings.Repeat("x", i%50)+`"}`)),
			result(id, text(strings.Repeat("file \"a\"\n", 30))),
		)
	}
	return msgs
}

// TestPrefix holds that a request begins with the one before it, up to the new
// messages, cache marks aside; with a memo, without, and over retries.
func TestPrefix(t *testing.T) {
	t.Parallel()
	tools := []llm.Tool{{Name: "LS", Schema: json.RawMessage(`{"type":"object"}`)}}
	p := New(Options{}).(*provider)
	all := conversation(30)
	memo := &llm.Memo{}
	before := ""
	for n := 1; n <= len(all); n += 2 {
		req := &llm.Request{Model: "m", System: "s", Tools: tools, Messages: all[:n], MaxOutput: int64(1000 + n), Memo: memo}
		b, err := p.encode(req)
		if err != nil {
			t.Fatal(err)
		}
		got := string(b)
		for range 2 { // a retry, and without a memo
			if again, err := p.encode(req); err != nil || string(again) != got {
				t.Fatalf("%d messages, again: got\n%s\nwant\n%s", n, again, got)
			}
			req.Memo = nil
		}
		if !json.Valid(b) || strings.Count(got, mark) != min(4, 2+(n+1)/2) {
			t.Fatalf("%d messages: %d marks in %s", n, strings.Count(got, mark), got)
		}
		plain := strings.ReplaceAll(got, mark, "")
		if !strings.HasPrefix(plain, before) {
			t.Fatalf("%d messages: the request does not begin with the one before", n)
		}
		before, _, _ = strings.Cut(plain, `],"max_tokens"`)
	}
}

// TestMarksMeet holds that each request has a mark where the one before it had
// its last: what the vendor kept then is found now.
func TestMarksMeet(t *testing.T) {
	t.Parallel()
	all := conversation(5)
	last := ""
	for n := 1; n <= len(all); n += 2 {
		got := encoded(t, Options{}, &llm.Request{Model: "m", System: "s", Messages: all[:n]})
		pieces := strings.Split(got, mark)
		ends := make([]string, len(pieces)-1) // what each mark covers, without marks
		for i := range ends {
			ends[i] = strings.Join(pieces[:i+1], "")
		}
		if last != "" && !slices.Contains(ends, last) {
			t.Errorf("%d messages: no mark where the last one was", n)
		}
		last = ends[len(ends)-1]
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	stream := wiretest.Fixture(t, "text.sse")
	for _, tt := range []struct {
		name string
		opts Options
		want http.Header
	}{
		{"key", Options{Key: "k"}, http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}, "Authorization": nil, "Anthropic-Beta": nil}},
		{"token", Options{AuthToken: "t"}, http.Header{"X-Api-Key": nil, "Authorization": {"Bearer t"}}},
		{"version and beta", Options{Version: "2030-01-01", Beta: []string{"a", "b"}}, http.Header{"Anthropic-Version": {"2030-01-01"}, "Anthropic-Beta": {"a,b"}}},
		{"own", Options{Key: "k", Header: http.Header{"x-api-key": {"other"}, "X-Team": {"1"}}}, http.Header{"X-Api-Key": {"other"}, "X-Team": {"1"}}},
	} {
		v := wiretest.Serve(t, events(stream, len(stream)))
		if _, err := wiretest.Call(t, at(v, tt.opts), hello()); err != nil {
			t.Fatal(err)
		}
		request, _ := v.Last()
		for k, v := range tt.want {
			if got := request.Header[k]; !reflect.DeepEqual(got, v) {
				t.Errorf("%s: %s is %q, want %q", tt.name, k, got, v)
			}
		}
		if request.URL.Path != "/v1/messages" {
			t.Errorf("asked %s", request.URL.Path)
		}
	}
	for base, want := range map[string]string{
		"":                         "https://api.anthropic.com/v1/messages",
		"https://x.test":           "https://x.test/v1/messages",
		"https://x.test/":          "https://x.test/v1/messages",
		"https://x.test/v1":        "https://x.test/v1/messages",
		"https://x.test/proxy/v1/": "https://x.test/proxy/v1/messages",
	} {
		if got := New(Options{BaseURL: base}).(*provider).url; got != want {
			t.Errorf("%q: got %s", base, got)
		}
	}
}
