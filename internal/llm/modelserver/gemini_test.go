// Tests of the format of Google's generateContent: requests in the published
// shapes, and the bytes they are answered with.

package modelserver

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
)

func TestGeminiStream(t *testing.T) {
	t.Parallel()
	url := play(t, talkative, Options{})
	const (
		head = `data: {"candidates":[{"content":{"parts":[`
		more = `],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":15,"candidatesTokenCount":0,"totalTokenCount":15,"cachedContentTokenCount":3},"modelVersion":"reader-1","responseId":"resp-000001"}` + "\n\n"
	)
	thoughts := head + `{"text":"hm, o","thought":true}` + more +
		head + `{"text":"k","thought":true}` + more
	rest := head + `{"text":"Let's"}` + more +
		head + `{"text":" go"}` + more +
		head + `{"functionCall":{"id":"toolu_1","name":"LS","args":{"path":"."}},"thoughtSignature":"` + callSignature("LS", json.RawMessage(`{"path":"."}`)) + `"}` + more +
		head + `{"functionCall":{"id":"toolu_2","name":"Read","args":{}}}` + more +
		head + `{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":15,"candidatesTokenCount":6,"totalTokenCount":22,"cachedContentTokenCount":3,"thoughtsTokenCount":1},"modelVersion":"reader-1","responseId":"resp-000001"}` + "\n\n"
	const contents = `"contents":[{"parts":[{"text":"x"}]}]`
	_, got := post(t, url, geminiVendor, `{`+contents+`,"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`)
	if want := thoughts + rest; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	_, got = post(t, url, geminiVendor, `{`+contents+`}`)
	if want := strings.ReplaceAll(rest, "000001", "000002"); got != want {
		t.Errorf("without thoughts, got:\n%s\nwant:\n%s", got, want)
	}
}

// TestGeminiWhole: in one piece, and as an array where a stream was asked for
// without events.
func TestGeminiWhole(t *testing.T) {
	t.Parallel()
	url := play(t, talkative, Options{})
	want := `{"candidates":[{"content":{"parts":[{"text":"Let's go"},` +
		`{"functionCall":{"id":"toolu_1","name":"LS","args":{"path":"."}},"thoughtSignature":"` + callSignature("LS", json.RawMessage(`{"path":"."}`)) + `"},` +
		`{"functionCall":{"id":"toolu_2","name":"Read","args":{}}}],"role":"model"},"finishReason":"STOP","index":0}],` +
		`"usageMetadata":{"promptTokenCount":15,"candidatesTokenCount":6,"totalTokenCount":22,"cachedContentTokenCount":3,"thoughtsTokenCount":1},"modelVersion":"reader-1","responseId":"resp-000001"}`
	if _, body := post(t, url, geminiVendor, geminiVendor.ask("", "x", false)); body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	array := geminiVendor
	array.path = "/v1beta/models/m:streamGenerateContent"
	if _, body := post(t, url, array, array.ask("", "x", true)); body != "["+strings.Replace(want, "000001", "000002", 1)+"]" {
		t.Errorf("got  %s\nwant [%s]", body, want)
	}
}

func TestGeminiEnds(t *testing.T) {
	t.Parallel()
	for stop, want := range map[string]string{"end": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY", "refusal": "STOP"} {
		url := play(t, "agents:\n- turns: [{text: a, stop: "+stop+"}]\n", Options{})
		for _, stream := range []bool{true, false} {
			if _, body := post(t, url, geminiVendor, geminiVendor.ask("", "x", stream)); strings.Count(body, `"finishReason":"`+want+`"`) != 1 {
				t.Errorf("stop %s, stream %v: %s", stop, stream, body)
			}
		}
	}
}

func TestGeminiFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"{status: 400, message: bad}":             `{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}`,
		"{status: 403, message: no}":              `{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}`,
		"{status: 404, message: no}":              `{"error":{"code":404,"message":"no","status":"NOT_FOUND"}}`,
		"{status: 429, message: slow}":            `{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}`,
		"{status: 500, message: oops}":            `{"error":{"code":500,"message":"oops","status":"INTERNAL"}}`,
		"{status: 504, message: late}":            `{"error":{"code":504,"message":"late","status":"DEADLINE_EXCEEDED"}}`,
		"{status: 503, message: busy}":            `{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`,
		"{status: 401, message: key}":             `{"error":{"code":401,"message":"key","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`,
		"{status: 429, retry_after: 7s}":          `"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]`,
		"{status: 429, kind: quota, message: no}": `"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]`,
	} {
		url := play(t, "agents:\n- turns: [{text: abc, fault: "+fault+"}]\n", Options{})
		for _, stream := range []bool{true, false} {
			if _, body := post(t, url, geminiVendor, geminiVendor.ask("", "x", stream)); !strings.Contains(body, want) {
				t.Errorf("%s: got  %s\nwant %s", fault, body, want)
			}
		}
	}
	url := play(t, "agents:\n- turns: [{text: abcd, chunk: 2, fault: {status: 503, after: 1, message: busy}}]\n", Options{})
	want := `data: {"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}` + "\n\n"
	if _, body := post(t, url, geminiVendor, geminiVendor.ask("", "x", true)); !strings.HasSuffix(body, want) || !strings.Contains(body, `"ab"`) {
		t.Errorf("a fault in the stream: %s", body)
	}
}

// TestGeminiDecode gives a request with every kind of part, in both spellings.
func TestGeminiDecode(t *testing.T) {
	t.Parallel()
	signed := callSignature("LS", json.RawMessage(`{"some_path":"."}`))
	c, refused := gemini{model: "gemini-3-pro", streamed: true, events: true}.decode(nil, []byte(`{
	 "system_instruction":{"parts":[{"text":"Role: coder"},{"text":"more"}]},
	 "tools":[{"function_declarations":[{"name":"LS","description":"lists","parameters":{"type":"OBJECT"}},
	   {"name":"Read","parametersJsonSchema":{"type":"object","properties":{"a_b":{"type":"string"}}}}]}],
	 "generation_config":{"max_output_tokens":50,"temperature":0.5},
	 "contents":[
	  {"role":"user","parts":[{"text":"task"},{"inline_data":{"mime_type":"image/png","data":"aGk="}}]},
	  {"role":"model","parts":[
	    {"text":"hm","thought":true},{"text":"looking"},
	    {"functionCall":{"name":"LS","args":{"some_path":"."}},"thoughtSignature":"`+signed+`"},
	    {"functionCall":{"name":"LS"}},
	    {"functionCall":{"id":"t3","name":"Read","args":{}}}]},
	  {"role":"user","parts":[
	    {"functionResponse":{"name":"LS","response":{"output":"one"}}},
	    {"functionResponse":{"name":"LS","response":{"error":"broken"}}},
	    {"functionResponse":{"id":"t3","name":"Read","response":{"lines_read":2},"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}}]},
	  {"role":"user","parts":[{"text":"again"}]}
	 ]}`))
	if refused != nil {
		t.Fatal(refused)
	}
	png := message.ImagePart{MediaType: "image/png", Data: []byte("hi")}
	result := func(id, name, s string, failed bool, more ...message.Part) message.Message {
		parts := append([]message.Part{message.TextPart{Text: s}}, more...)
		return resultMessage(message.ToolResult{CallID: id, Name: name, IsError: failed, Parts: parts})
	}
	want := []message.Message{
		{Role: message.User, Kind: message.KindUser, Parts: []message.Part{message.TextPart{Text: "task"}, png}},
		{Role: message.Assistant, Kind: message.KindReply, Parts: []message.Part{
			message.ThinkingPart{Text: "hm", Provider: "google"},
			message.TextPart{Text: "looking"},
			message.ToolCall{ID: "call-1-2", Name: "LS", Input: json.RawMessage(`{"some_path":"."}`)},
			message.ToolCall{ID: "call-1-3", Name: "LS", Input: json.RawMessage(`{}`)},
			message.ToolCall{ID: "t3", Name: "Read", Input: json.RawMessage(`{}`)},
		}},
		result("call-1-2", "LS", "one", false),
		result("call-1-3", "LS", "broken", true),
		result("t3", "Read", `{"lines_read":2}`, false, png),
		message.Of(message.User, message.KindUser, "again"),
	}
	if !reflect.DeepEqual(c.Messages, want) {
		t.Errorf("messages: got  %+v\nwant %+v", c.Messages, want)
	}
	if c.Model != "gemini-3-pro" || c.System != "Role: coder\n\nmore" || c.MaxOutput != 50 || *c.Temperature != 0.5 || !c.streamed {
		t.Errorf("got %+v", c)
	}
	if len(c.Tools) != 2 || string(c.Tools[0].Schema) != `{"type":"OBJECT"}` || !strings.Contains(string(c.Tools[1].Schema), "a_b") {
		t.Errorf("tools: %+v", c.Tools)
	}
}

func TestGeminiRefuses(t *testing.T) {
	t.Parallel()
	url := play(t, "agents: [{turns: [{text: a}]}]\n", Options{})
	contents := func(s string) string { return `{"contents":[` + s + `]}` }
	signed := callSignature("LS", nil)
	u := `{"role":"user","parts":[{"text":"x"}]}`
	call := `{"role":"model","parts":[{"functionCall":{"name":"LS","args":{}},"thoughtSignature":"` + signed + `"}]}`
	unsigned := `{"role":"model","parts":[{"functionCall":{"name":"LS","args":{}}}]}`
	out := `{"role":"user","parts":[{"functionResponse":{"name":"LS","response":{"output":"r"}}}]}`
	const pairs = "number of function response parts is equal"
	for _, tt := range []struct{ name, body, want string }{
		{"no JSON", `{`, "Invalid JSON payload"},
		{"no contents", contents(""), "contents is not specified"},
		{"no parts", contents(`{"role":"user","parts":[]}`), "contents[0].parts"},
		{"empty part", contents(`{"role":"user","parts":[{}]}`), "required oneof field 'data'"},
		{"unknown role", contents(`{"role":"assistant","parts":[{"text":"x"}]}`), "valid role"},
		{"both ways to limit thinking", `{"contents":[` + u + `],"generationConfig":{"thinkingConfig":{"thinkingBudget":0,"thinkingLevel":"low"}}}`, "only one of"},
		{"response without a name", contents(u + "," + call + `,{"role":"user","parts":[{"functionResponse":{"response":{}}}]}`), "Name cannot be empty"},
		{"no response", contents(u + "," + call + "," + u), pairs},
		{"no response at the end", contents(u + "," + call), pairs},
		{"response of nothing", contents(u + "," + out), pairs},
		{"call at the beginning", contents(call + "," + out), "immediately after a user turn"},
		{"changed signature", contents(u + "," + strings.Replace(call, `"args":{}`, `"args":{"a":1}`, 1) + "," + out), "Corrupted thought signature"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, body := post(t, url, geminiVendor, tt.body)
			if resp.status != 400 || !strings.Contains(body, `"status":"INVALID_ARGUMENT"`) || !strings.Contains(body, tt.want) {
				t.Errorf("status %d, %s\nwant 400 with %s", resp.status, body, tt.want)
			}
		})
	}
	third := geminiVendor
	third.path = "/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse"
	skipped := strings.Replace(unsigned, `"args":{}}`, `"args":{}},"thoughtSignature":"`+skipSignature+`"`, 1)
	for name, good := range map[string]bool{call: true, skipped: true, unsigned: false} {
		resp, body := post(t, url, third, contents(u+","+name+","+out))
		if good != (resp.status == 200) || !good && !strings.Contains(body, "missing a thought_signature") {
			t.Errorf("%s: status %d, %s", name, resp.status, body)
		}
	}
	if resp, body := post(t, url, geminiVendor, contents(u+","+unsigned+","+out)); resp.status != 200 {
		t.Errorf("an older model wants signatures: %s", body)
	}
}

func TestGeminiAddresses(t *testing.T) {
	t.Parallel()
	url := play(t, "model: reader-1\nagents: [{turns: [{text: a}]}]\n", Options{Key: "k"})
	if resp, body := get(t, url+"/v1beta/models?key=k", nil); resp.status != 200 ||
		body != `{"models":[{"name":"models/reader-1","displayName":"reader-1","supportedGenerationMethods":["generateContent","countTokens"]}]}` {
		t.Errorf("status %d, %s", resp.status, body)
	}
	if resp, _ := get(t, url+"/v1beta/models?key=x", nil); resp.status != 401 {
		t.Errorf("a wrong key in the address: status %d", resp.status)
	}
	keyed := vendor{path: "/v1beta/models/m:generateContent?key=k", header: http.Header{}}
	if resp, body := post(t, url, keyed, geminiVendor.ask("", "x", true)); resp.status != 200 {
		t.Errorf("a key in the address: status %d, %s", resp.status, body)
	}
	other := geminiVendor
	other.path = "/v1beta/models/m:embedContent"
	if resp, body := post(t, url, other, "{}"); resp.status != 404 || !strings.Contains(body, `"status":"NOT_FOUND"`) {
		t.Errorf("an unknown method: status %d, %s", resp.status, body)
	}
}
