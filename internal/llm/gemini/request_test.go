// Tests of requests: their bytes, and that these stay the same.

package gemini

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

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
	warm := 0.5
	signed := toolCall("fc-1", "LS", `{"path": "."}`)
	signed.Signature, signed.Provider, signed.Model = "sig", "gemini", asked
	req := &llm.Request{
		Model: asked, System: "Be brief.", MaxOutput: 100, Temperature: &warm,
		Tools: []llm.Tool{
			{Name: "LS", Description: "Lists.", Schema: json.RawMessage(`{ "$schema": "x", "type": "object", "properties": {"path": {"type": "string"}} }`)},
			{Name: "Now", Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
		},
		Messages: []message.Message{
			said(message.User, text("look"), message.ImagePart{MediaType: "image/png", Data: []byte("png")}),
			said(
				message.Assistant,
				message.ThinkingPart{Text: "hm", Signature: "t1", Provider: "gemini", Model: asked},
				message.ThinkingPart{Text: "unsigned", Provider: "gemini", Model: asked},
				text("ok"), message.ThinkingPart{ID: "text", Signature: "t2", Provider: "gemini", Model: asked},
				signed, toolCall("gen_abc", "Now", ""),
			),
			result("fc-1", text("a\nb"), message.ImagePart{MediaType: "image/gif", Data: []byte("gif")}, message.ImagePart{MediaType: "image/gif", Data: []byte("gif")}),
			said(message.Tool, message.ToolResult{CallID: "gen_abc", Name: "Now", IsError: true, Parts: []message.Part{text("no clock")}}),
			said(message.User, text("a note")),
			said(message.User, text("and now?")),
		},
	}
	want := `{"systemInstruction":{"parts":[{"text":"Be brief."}]},` +
		`"tools":[{"functionDeclarations":[{"name":"LS","description":"Lists.","parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"}}}},{"name":"Now"}]}],` +
		`"contents":[{"role":"user","parts":[{"text":"look"},{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]},` +
		`{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"t1"},{"text":"ok","thoughtSignature":"t2"},` +
		`{"functionCall":{"id":"fc-1","name":"LS","args":{"path":"."}},"thoughtSignature":"sig"},{"functionCall":{"name":"Now","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"fc-1","name":"LS","response":{"output":"a\nb"},"parts":[{"inlineData":{"mimeType":"image/gif","data":"Z2lm"}},{"inlineData":{"mimeType":"image/gif","data":"Z2lm"}}]}},` +
		`{"functionResponse":{"name":"Now","response":{"error":"no clock"}}}]},` +
		`{"role":"user","parts":[{"text":"a note"},{"text":"and now?"}]}],` +
		`"generationConfig":{"maxOutputTokens":100,"temperature":0.5}}`
	if got := encoded(t, Options{}, req); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	user := `{"role":"user","parts":[{"text":"hi"}]}`
	foreign := toolCall("toolu_1", "LS", "{}")
	foreign.Signature, foreign.Provider, foreign.Model = "x", "anthropic", "m"
	for _, tt := range []struct {
		name, model string
		msgs        []message.Message
		want        string
	}{
		{"empty texts", asked, []message.Message{said(message.User, text(""), text("hi"), text(" "))}, user},
		{"nothing but empty texts", asked, []message.Message{said(message.User, text(""))}, `{"role":"user","parts":[{"text":"(empty message)"}]}`},
		{"an empty reply", asked, []message.Message{said(message.User, text("hi")), said(message.Assistant, text("")), said(message.User, text("hi"))}, user + "," + user},
		{"results alone", asked, []message.Message{result("a")}, `{"role":"user","parts":[{"functionResponse":{"id":"a","name":"LS","response":{"output":""}}}]}`},
		{"results come first", asked, []message.Message{said(message.User, text("hi")), result("a")}, `{"role":"user","parts":[{"functionResponse":{"id":"a","name":"LS","response":{"output":""}}}]},` + user},
		{"another model's calls", asked, []message.Message{said(message.Assistant, foreign, foreign)}, `{"role":"model","parts":[{"functionCall":{"id":"toolu_1","name":"LS","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"toolu_1","name":"LS","args":{}}}]}`},
		{"another model's calls, to an old one", "gemini-2.5-pro", []message.Message{said(message.Assistant, foreign)}, `{"role":"model","parts":[{"functionCall":{"id":"toolu_1","name":"LS","args":{}}}]}`},
		{"another model's thoughts", asked, []message.Message{said(message.Assistant, message.ThinkingPart{Text: "x", Signature: "s", Provider: "gemini", Model: "other"}, text("hi"), message.ThinkingPart{ID: "text", Signature: "s", Provider: "gemini", Model: "other"})}, `{"role":"model","parts":[{"text":"hi"}]}`},
		{"a signature of nothing", asked, []message.Message{said(message.Assistant, text("hi"), message.ThinkingPart{Signature: "s", Provider: "gemini", Model: asked})}, `{"role":"model","parts":[{"text":"hi"},{"text":"","thoughtSignature":"s"}]}`},
		{"images of results, to an old model", "models/gemini-2.5-pro", []message.Message{result("a", message.ImagePart{MediaType: "image/gif", Data: []byte("gif")}), said(message.User, text("hi"))}, `{"role":"user","parts":[{"functionResponse":{"id":"a","name":"LS","response":{"output":""}}}]},{"role":"user","parts":[{"inlineData":{"mimeType":"image/gif","data":"Z2lm"}},{"text":"hi"}]}`},
		{"none", asked, nil, ""},
	} {
		body := encoded(t, Options{}, &llm.Request{Model: tt.model, Messages: tt.msgs})
		if want := `{"contents":[` + tt.want + `],"generationConfig":{}}`; body != want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, body, want)
		}
	}
}

// TestBackAndForth holds that what came goes back as it came.
func TestBackAndForth(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"signed.sse": `{"role":"model","parts":[{"text":"thinking","thought":true,"thoughtSignature":"AAA="},{"text":"The answer is 7.","thoughtSignature":"BBB="},{"text":"","thoughtSignature":"CCC="}]}`,
		"tools.sse":  `{"role":"model","parts":[{"text":"Looking."},{"functionCall":{"name":"get_current_temperature","args":{"location":"Paris, \u00cele"}},"thoughtSignature":"CikBcsjafKx+/A=="},{"functionCall":{"id":"fc-77","name":"get_current_temperature","args":{"location":"London"}}},{"functionCall":{"name":"now","args":{}}}]}`,
	} {
		stream := wiretest.Fixture(t, name)
		r, err := wiretest.Call(t, to(t, events(stream, len(stream)), Options{}), hello())
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(said(message.Assistant, r.Parts...)) // through the store
		if err != nil {
			t.Fatal(err)
		}
		var stored message.Message
		if err := json.Unmarshal(b, &stored); err != nil {
			t.Fatal(err)
		}
		body := encoded(t, Options{}, &llm.Request{Model: asked, Messages: []message.Message{stored}})
		if want := `{"contents":[` + want + `],"generationConfig":{}}`; body != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, body, want)
		}
	}
}

func TestThinkingSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model  string
		effort llm.Effort
		tokens int64
		show   bool
		want   string
	}{
		{asked, "", 0, false, ""},
		{asked, "", 0, true, `"thinkingConfig":{"includeThoughts":true}`},
		{asked, llm.EffortLow, 0, false, `"thinkingConfig":{"thinkingLevel":"low"}`},
		{asked, llm.EffortNone, 0, false, `"thinkingConfig":{"thinkingLevel":"minimal"}`},
		{asked, llm.EffortMax, 0, true, `"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"}`},
		{asked, "", 1000, false, `"thinkingConfig":{"thinkingLevel":"low"}`},
		{"models/gemini-2.5-flash", llm.EffortNone, 0, false, `"thinkingConfig":{"thinkingBudget":0}`},
		{"gemini-2.5-flash", llm.EffortMax, 0, false, `"thinkingConfig":{"thinkingBudget":24576}`},
		{"gemini-2.5-pro", llm.EffortNone, 0, false, `"thinkingConfig":{"thinkingBudget":128}`},
		{"gemini-2.5-pro", llm.EffortMax, 0, false, `"thinkingConfig":{"thinkingBudget":32768}`},
		{"gemini-2.5-pro", "", 1024, true, `"thinkingConfig":{"includeThoughts":true,"thinkingBudget":1024}`},
		{"gemini-2.5-pro", llm.EffortMedium, 1024, false, `"thinkingConfig":{"thinkingBudget":8192}`},
		{"gemini-2.5-flash-lite", "", 100, false, `"thinkingConfig":{"thinkingBudget":512}`},
		{"gemini-2.0-flash", llm.EffortHigh, 0, true, ""},
		{"gemma-3-27b", llm.EffortHigh, 0, true, ""},
	} {
		req := hello()
		req.Model, req.Effort, req.ThinkingTokens, req.ShowThinking = tt.model, tt.effort, tt.tokens, tt.show
		if got := encoded(t, Options{}, req); !strings.HasSuffix(got, `,"generationConfig":{`+tt.want+`}}`) {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                                       ``,
		`{}`:                                     ``,
		`{"type":"object"}`:                      ``,
		`{"properties":{"a":{"type":"string"}}}`: `{"type":"object","properties":{"a":{"type":"string"}}}`,
		`{"type":"object","properties":{"b":{},"a":{"type":["string","null"],"examples":[1]}},"required":["b"]}`:                                       `{"type":"object","properties":{"b":{},"a":{"type":["string","null"]}},"required":["b"]}`,
		`{"type":"object","additionalProperties":{"type":"string","$comment":"x"}}`:                                                                    `{"type":"object","additionalProperties":{"type":"string"}}`,
		`{"type":"object","properties":{"a":{"const":"x"},"b":{"const":true},"c":{"enum":["a",null,1,false]},"d":{"enum":[null]}}}`:                    `{"type":"object","properties":{"a":{"enum":["x"]},"b":{},"c":{"enum":["a",1]},"d":{}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer","exclusiveMinimum":0,"minimum":1},"uniqueItems":true}}}`:         `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer","minimum":1}}}}`,
		`{"type":"object","properties":{"a":{"oneOf":[{"type":"string","contentEncoding":"x"},{"type":"null"}]}}}`:                                     `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}]}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/definitions/A","description":"gone"}},"definitions":{"A":{"type":"string","if":{}}}}`:           `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`,
		`{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"x":true}}},"type":"object"}`:                                                 `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"x":true}}}}`,
		`{"type":"object","properties":{"a":{"description":"d","allOf":[{"$ref":"#/$defs/A"}]}},"$defs":{"A":{}}}`:                                     `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{}}}`,
		`{"type":"object","properties":{"a":{}},"required":["a"],"allOf":[{"type":"x","properties":{"b":{},"a":{"type":"string"}},"required":["b"]}]}`: `{"type":"object","properties":{"a":{},"b":{}},"required":["a","b"]}`,
		`{"type":"object","properties":{"properties":{"type":"object","properties":{"type":{"type":"string"}}}}}`:                                      `{"type":"object","properties":{"properties":{"type":"object","properties":{"type":{"type":"string"}}}}}`,
		` { "type" : "object" , "properties" : { "a" : { "default" : { "k" : [ 1 ] } } } } `:                                                           `{"type":"object","properties":{"a":{"default":{"k":[1]}}}}`,
	} {
		got, err := appendParameters(nil, json.RawMessage(in))
		if want != "" {
			want = `,"parametersJsonSchema":` + want
		}
		if err != nil || string(got) != want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", in, got, err, want)
		}
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	for name, req := range map[string]*llm.Request{
		"a schema that is none": {Tools: []llm.Tool{{Name: "x", Schema: json.RawMessage(`[]`)}}},
		"a schema that is cut":  {Tools: []llm.Tool{{Name: "x", Schema: json.RawMessage(`{"type":`)}}},
		"an input that is none": {Messages: []message.Message{said(message.Assistant, toolCall("a", "x", `{"a`))}},
	} {
		if _, err := New(Options{}).Call(t.Context(), req, nil); llm.KindOf(err) != llm.ErrBadRequest {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// conversation is a history of so many turns with tool calls.
func conversation(turns int) []message.Message {
	msgs := []message.Message{said(message.User, text("Please find out what is in there."))}
	for i := range turns {
		id := fmt.Sprintf("gen_%d", i)
		msgs = append(
			msgs,
			said(message.Assistant, text(strings.Repeat("Let me look. ", 20)), toolCall(id, "LS", `{"path":"`+strings.Repeat("x", i%50)+`"}`)),
			result(id, text(strings.Repeat("file \"a\"\n", 30))),
		)
	}
	return msgs
}

// TestPrefix holds that a request begins with the one before it, up to the new
// messages; with a memo, without, and over retries.
func TestPrefix(t *testing.T) {
	t.Parallel()
	p := New(Options{}).(*provider)
	all := conversation(30)
	memo := &llm.Memo{}
	before := ""
	for n := 1; n <= len(all); n += 2 {
		req := &llm.Request{Model: "m", System: "s", Messages: all[:n], MaxOutput: int64(1000 + n), Memo: memo}
		b, err := p.encode(req)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // a retry, and without a memo
			if again, err := p.encode(req); err != nil || string(again) != string(b) {
				t.Fatalf("%d messages, again: got\n%s\nwant\n%s", n, again, b)
			}
			req.Memo = nil
		}
		if !strings.HasPrefix(string(b), before) {
			t.Fatalf("%d messages: the request does not begin with the one before", n)
		}
		before, _, _ = strings.Cut(string(b), `],"generationConfig"`)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	const google = "https://generativelanguage.googleapis.com/v1beta/models/"
	for _, tt := range []struct{ base, model, want string }{
		{"", "gemini-2.5-pro", google + "gemini-2.5-pro:streamGenerateContent?alt=sse"},
		{"", "models/gemini-2.5-pro", google + "gemini-2.5-pro:streamGenerateContent?alt=sse"},
		{"https://x.test/", "g", "https://x.test/v1beta/models/g:streamGenerateContent?alt=sse"},
		{"https://x.test/v1", "g", "https://x.test/v1/models/g:streamGenerateContent?alt=sse"},
		{"https://eu.test/v1/projects/p/locations/l/publishers/google", "g", "https://eu.test/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent?alt=sse"},
		{"https://x.test", "a/b?c", "https://x.test/v1beta/models/a%2Fb%3Fc:streamGenerateContent?alt=sse"},
	} {
		if got := New(Options{BaseURL: tt.base}).(*provider).url(tt.model); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	v := wiretest.Serve(t, events(wiretest.Fixture(t, "text.sse"), 100))
	opts := Options{Key: "k", AuthToken: "t", Header: http.Header{"x-goog-user-project": {"p"}}}
	if _, err := wiretest.Call(t, at(v, opts), hello()); err != nil {
		t.Fatal(err)
	}
	request, _ := v.Last()
	for k, v := range map[string]string{"X-Goog-Api-Key": "k", "Authorization": "Bearer t", "X-Goog-User-Project": "p", "Content-Type": "application/json"} {
		if got := request.Header[k]; !reflect.DeepEqual(got, []string{v}) {
			t.Errorf("%s is %q", k, got)
		}
	}
}
