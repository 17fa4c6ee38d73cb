// Tests of answers: documented streams, cut and dressed in every way.

package gemini

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

var replies = map[string]*llm.Reply{
	"text.sse": {
		Parts: []message.Part{message.TextPart{Text: `AI works by "learning".`}},
		Stop:  llm.StopEnd, Usage: message.Usage{Input: 6, CacheRead: 5, Output: 26, Reasoning: 20}, Model: "gemini-2.5-flash", RequestID: "rid-1",
	},
	"tools.sse": {
		Parts: []message.Part{
			message.ThinkingPart{Text: "**Planning**\n\nI will call twice.", Provider: "gemini", Model: asked},
			message.TextPart{Text: "Looking."},
			message.ToolCall{ID: "made up", Name: "get_current_temperature", Input: json.RawMessage(`{"location":"Paris, \u00cele"}`), Signature: "CikBcsjafKx+/A==", Provider: "gemini", Model: asked},
			message.ToolCall{ID: "fc-77", Name: "get_current_temperature", Input: json.RawMessage(`{"location":"London"}`)},
			message.ToolCall{ID: "made up", Name: "now", Input: json.RawMessage(`{}`)},
		},
		Stop: llm.StopTools, Usage: message.Usage{Input: 82, Output: 73, Reasoning: 40}, Model: asked, RequestID: "rid-2",
	},
	"signed.sse": {
		Parts: []message.Part{
			message.ThinkingPart{Text: "thinking", Signature: "AAA=", Provider: "gemini", Model: asked},
			message.TextPart{Text: "The answer is 7."},
			message.ThinkingPart{ID: "text", Signature: "BBB=", Provider: "gemini", Model: asked},
			message.ThinkingPart{Signature: "CCC=", Provider: "gemini", Model: asked},
		},
		Stop: llm.StopEnd, Usage: message.Usage{Input: 5, Output: 3}, Model: asked, RequestID: "rid-3",
	},
}

// compare checks a reply, of which made up ids are told by their beginning.
func compare(t *testing.T, how string, got, want *llm.Reply) {
	t.Helper()
	for i, p := range got.Parts {
		if c, ok := p.(message.ToolCall); ok && strings.HasPrefix(c.ID, generated) {
			c.ID = "made up"
			got.Parts[i] = c
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\ngot  %+v\nwant %+v", how, got, want)
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	for name, want := range replies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream := wiretest.Fixture(t, name) // the vendor ends its lines in CRLF
			lf := strings.ReplaceAll(stream, "\r\n", "\n")
			array := "[" + strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(lf, "data: ", ""), "\n\n", ",\n"), ",\n") + "]"
			for how, answer := range map[string]http.HandlerFunc{
				"whole":           events(stream, len(stream)),
				"single bytes":    events(stream, 1),
				"pieces of 7":     events(stream, 7),
				"LF":              events(lf, 11),
				"LF, bytewise":    events(lf, 1),
				"byte order mark": events("\xef\xbb\xbf"+stream, 50),
				"comments":        events(": hi\n\n"+strings.ReplaceAll(lf, "\n\n", "\n: and on\nid: 7\n\n"), 64),
				"no last newline": events(strings.TrimRight(stream, "\r\n"), 100),
				"unknown chunks":  events(strings.ReplaceAll(lf, "\n\n", "\n\nevent: new\ndata: {\"news\":[1,{\"a\":\"]\"}]}\n\ndata:\n\n"), 64),
				"an array":        answers(200, array),
			} {
				got, err := wiretest.Call(t, to(t, answer, Options{}), hello())
				if err != nil {
					t.Errorf("%s: %v", how, err)
					continue
				}
				compare(t, how, got, want)
			}
		})
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	body := `{"candidates":[{"content":{"parts":[{"text":"1+1 equals 2.","thoughtSignature":"EjQK"}],"role":"model"},"finishReason":"STOP","index":0}],` +
		`"usageMetadata":{"promptTokenCount":15,"candidatesTokenCount":6,"totalTokenCount":21},"modelVersion":"gemini-3.1-flash-lite","responseId":"Il0t"}`
	v := wiretest.Serve(t, answers(200, body))
	got, err := wiretest.Call(t, at(v, Options{Name: "mine", Whole: true}), hello())
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "whole", got, &llm.Reply{
		Parts: []message.Part{message.TextPart{Text: "1+1 equals 2."}, message.ThinkingPart{ID: "text", Signature: "EjQK", Provider: "mine", Model: asked}},
		Stop:  llm.StopEnd, Usage: message.Usage{Input: 15, Output: 6}, Model: "gemini-3.1-flash-lite", RequestID: "Il0t",
	})
	request, _ := v.Last()
	if got := request.URL.String(); got != "/v1beta/models/gemini-3-pro-preview:generateContent" {
		t.Errorf("asked %s", got)
	}
	for in, kind := range map[string]llm.ErrorKind{
		body[:len(body)-9]: llm.ErrNetwork, ``: llm.ErrNetwork, `{}`: llm.ErrNetwork, `[]`: llm.ErrNetwork, `[{}`: llm.ErrNetwork,
		`{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`:                                llm.ErrOverloaded,
		`{"error":null,"candidates":7}`:                                                                       llm.ErrNetwork,
		`{"candidates":[{"finishReason":7}]}`:                                                                 llm.ErrNetwork,
		`{"candidates":[{"content":{"parts":[{"text":7}]}}]}`:                                                 llm.ErrNetwork,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"args":{}}}]},"finishReason":"STOP"}]}`:         llm.ErrNetwork,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a","id":7}}]},"finishReason":"STOP"}]}`: llm.ErrNetwork,
		`{"candidates":[{"content":{"parts":[{"functionCall":[]}]},"finishReason":"STOP"}]}`:                  llm.ErrNetwork,
		`{"candidates":[{"content":{"parts":{}}}]}`:                                                           llm.ErrNetwork,
		`{"usageMetadata":[]}`: llm.ErrNetwork, `{"promptFeedback":[]}`: llm.ErrNetwork,
	} {
		if r, err := wiretest.Call(t, to(t, answers(200, in), Options{Whole: true}), hello()); r != nil || llm.KindOf(err) != kind {
			t.Errorf("%s: got %v, %v", in, r, err)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	said := wiretest.Fixture(t, "text.sse")
	calling := wiretest.Fixture(t, "tools.sse")
	none := "data: {\"candidates\":[{\"finishReason\":\"STOP\",\"finishMessage\":\"because\"}],\"usageMetadata\":{\"promptTokenCount\":3}}\n\n"
	for _, tt := range []struct {
		reason string
		stop   llm.Stop      // of a reply with text, or
		kind   llm.ErrorKind // how it fails
		calls  int           // left of three
		empty  llm.ErrorKind // how a reply of nothing fails
	}{
		{"STOP", llm.StopEnd, "", 3, ""},
		{"MAX_TOKENS", llm.StopLength, "", 3, ""},
		{"SAFETY", llm.StopFilter, "", 0, ""},
		{"RECITATION", llm.StopFilter, "", 0, ""},
		{"LANGUAGE", llm.StopFilter, "", 0, ""},
		{"BLOCKLIST", llm.StopFilter, "", 0, ""},
		{"PROHIBITED_CONTENT", llm.StopFilter, "", 0, ""},
		{"SPII", llm.StopFilter, "", 0, ""},
		{"IMAGE_SAFETY", llm.StopFilter, "", 0, ""},
		{"OTHER", llm.StopLength, "", 3, llm.ErrServer},
		{"SOMETHING_NEW", llm.StopLength, "", 3, llm.ErrServer},
		{"MALFORMED_FUNCTION_CALL", "", llm.ErrServer, 0, llm.ErrServer},
		{"UNEXPECTED_TOOL_CALL", "", llm.ErrServer, 0, llm.ErrServer},
		{"TOO_MANY_TOOL_CALLS", "", llm.ErrServer, 0, llm.ErrServer},
		{"MISSING_THOUGHT_SIGNATURE", "", llm.ErrBadRequest, 0, llm.ErrBadRequest},
	} {
		with := func(stream string) (*llm.Reply, error) {
			stream = strings.Replace(stream, `"STOP"`, `"`+tt.reason+`"`, 1)
			return to(t, events(stream, len(stream)), Options{}).Call(t.Context(), hello(), nil)
		}
		r, err := with(said)
		if tt.kind != "" {
			if r != nil || llm.KindOf(err) != tt.kind {
				t.Errorf("%s: got %+v, %v", tt.reason, r, err)
			}
		} else if err != nil || r.Stop != tt.stop || len(r.Parts) != 1 {
			t.Errorf("%s: got %+v, %v", tt.reason, r, err)
		}
		r, err = with(calling)
		if tt.kind == "" && (err != nil || len(message.Message{Parts: r.Parts}.Calls()) != tt.calls || (r.Stop == llm.StopTools) != (tt.reason == "STOP")) {
			t.Errorf("%s, with calls: got %+v, %v", tt.reason, r, err)
		}
		r, err = with(none)
		var e *llm.Error
		if tt.empty == "" && (err != nil || r.Stop != tt.stop || len(r.Parts) != 0) {
			t.Errorf("%s, empty: got %+v, %v", tt.reason, r, err)
		} else if tt.empty != "" && (!errors.As(err, &e) || e.Kind != tt.empty || !strings.Contains(e.Message, "because") || e.Usage.Input != 3) {
			t.Errorf("%s, empty: got %+v, %v", tt.reason, r, err)
		}
	}
}

// TestBlocked is a prompt that the vendor refuses to read.
func TestBlocked(t *testing.T) {
	t.Parallel()
	chunk := `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9},"responseId":"rid"}`
	for _, answer := range []http.HandlerFunc{events("data: "+chunk+"\n\n", 10), answers(200, chunk)} {
		r, err := wiretest.Call(t, to(t, answer, Options{}), hello())
		var e *llm.Error
		if r != nil || !errors.As(err, &e) || e.Kind != llm.ErrFilter || e.Message != "the prompt was blocked (PROHIBITED_CONTENT)" || e.Usage.Input != 9 || e.RequestID != "rid" {
			t.Errorf("got %+v, %+v", r, err)
		}
	}
}

// TestCutStreams holds that no stream that lacks its end is a reply.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	stream := wiretest.Fixture(t, "tools.sse")
	end := strings.Index(stream, `"finishReason"`)
	for at := 0; at <= end; at += 1 + end/60 {
		r, err := wiretest.Call(t, to(t, events(stream[:at], len(stream)), Options{}), hello())
		if r != nil || llm.KindOf(err) != llm.ErrNetwork {
			t.Errorf("cut at %d: got %v, %v", at, r, err)
		}
	}
}
