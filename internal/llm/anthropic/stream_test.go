// Tests of answers: documented streams, cut and dressed in every way.

package anthropic

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

const asked = "claude-opus-4-6"

var (
	thought = "I need to find the GCD of 1071 and 462 using the Euclidean algorithm.\n\n1071 = 2 × 462 + 147\n462 = 3 × 147 + 21\n147 = 7 × 21 + 0"
	replies = map[string]*llm.Reply{
		"text.sse": {
			Parts: []message.Part{message.TextPart{Text: "Hello!"}},
			Stop:  llm.StopEnd, Usage: message.Usage{Input: 25, Output: 15}, Model: asked, RequestID: requestID,
		},
		"tool.sse": {
			Parts: []message.Part{
				message.TextPart{Text: "Okay, let's check the weather for San Francisco, CA:"},
				message.ToolCall{ID: "toolu_01T1x1fJ34qAmk2tNTrN7Up6", Name: "get_weather", Input: json.RawMessage(`{"location": "San Francisco, CA"}`)},
			},
			Stop: llm.StopTools, Usage: message.Usage{Input: 472, Output: 89}, Model: asked, RequestID: requestID,
		},
		"thinking.sse": {
			Parts: []message.Part{
				message.ThinkingPart{Text: thought, Signature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds...", Provider: "anthropic", Model: asked},
				message.ThinkingPart{Encrypted: "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP", Provider: "anthropic", Model: asked},
				message.TextPart{Text: "The greatest common divisor of 1071 and 462 is **21**."},
			},
			Stop: llm.StopEnd, Model: asked, RequestID: requestID,
			Usage: message.Usage{Input: 25, Output: 210, CacheWrite: 1024, CacheRead: 2048, Reasoning: 180},
		},
		"parallel.sse": {
			Parts: []message.Part{
				message.ToolCall{ID: "toolu_A", Name: "get_weather", Input: json.RawMessage(`{"location":"Zürich \u0041"}`)},
				message.ToolCall{ID: "toolu_B", Name: "get_time", Input: json.RawMessage(`{}`)},
				message.ToolCall{ID: "toolu_C", Name: "get_all", Input: json.RawMessage(`{"eager":true}`)},
			},
			Stop: llm.StopTools, Usage: message.Usage{Input: 10, Output: 30}, Model: "claude-sonnet-4-5-20250929", RequestID: requestID,
		},
		"unknown.sse": {
			Parts: []message.Part{message.TextPart{Text: "Here's the weather"}},
			Stop:  llm.StopEnd, Usage: message.Usage{Input: 10682, Output: 510}, Model: asked, RequestID: requestID,
		},
	}
)

func TestStreams(t *testing.T) {
	t.Parallel()
	for name, want := range replies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream := wiretest.Fixture(t, name)
			noisy := ": keep-alive\n\n" + strings.ReplaceAll(stream, "\n\n", "\n: and on\nid: 7\n\n:\n\n")
			for how, answer := range map[string]http.HandlerFunc{
				"whole":            events(stream, len(stream)),
				"single bytes":     events(stream, 1),
				"pieces of 7":      events(stream, 7),
				"CRLF":             events(crlf(stream), 11),
				"CRLF, bytewise":   events(crlf(stream), 1),
				"CR":               events(strings.ReplaceAll(stream, "\n", "\r"), 5),
				"byte order mark":  events("\xef\xbb\xbf"+stream, 2),
				"comments":         events(noisy, 64),
				"no last newline":  events(strings.TrimRight(stream, "\n"), 100),
				"without names":    events(withoutLines(stream, "event:"), 100),
				"data in lines":    events(strings.ReplaceAll(stream, `, "`, ",\ndata: \""), 100),
				"lying about type": answers(200, nil, stream),
			} {
				got, err := wiretest.Call(t, to(t, answer, Options{}), hello())
				if how == "lying about type" {
					if llm.KindOf(err) != llm.ErrNetwork {
						t.Errorf("%s: got %v", how, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", how, err)
					continue
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s:\ngot  %+v\nwant %+v", how, got, want)
				}
			}
		})
	}
}

func withoutLines(s, prefix string) string {
	var kept []string
	for line := range strings.SplitSeq(s, "\n") {
		if !strings.HasPrefix(line, prefix) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// TestWhole reads the documented answer in one piece.
func TestWhole(t *testing.T) {
	t.Parallel()
	body := `{
  "id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message", "role": "assistant", "model": "claude-opus-4-6",
  "content": [
    {"type": "thinking", "thinking": "hm", "signature": "sig"},
    {"type": "text", "text": "Hello! \"quoted\""},
    {"type": "server_tool_use", "id": 7, "name": "web_search", "input": {}},
    {"type": "tool_use", "id": "toolu_1", "name": "LS", "input": {"path": "."}}
  ],
  "stop_reason": "tool_use", "stop_sequence": null,
  "usage": {"input_tokens": 12, "output_tokens": 6, "cache_read_input_tokens": 3}
}`
	want := &llm.Reply{
		Parts: []message.Part{
			message.ThinkingPart{Text: "hm", Signature: "sig", Provider: "mine", Model: asked},
			message.TextPart{Text: `Hello! "quoted"`},
			message.ToolCall{ID: "toolu_1", Name: "LS", Input: json.RawMessage(`{"path": "."}`)},
		},
		Stop: llm.StopTools, Usage: message.Usage{Input: 12, Output: 6, CacheRead: 3}, Model: asked, RequestID: requestID,
	}
	for _, opts := range []Options{{Name: "mine", Whole: true}, {Name: "mine"}} {
		v := wiretest.Serve(t, answers(200, nil, body))
		got, err := wiretest.Call(t, at(v, opts), hello())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if _, sent := v.Last(); strings.Contains(sent, `"stream":true`) == opts.Whole {
			t.Errorf("asked for %s", sent)
		}
	}
	for in, kind := range map[string]llm.ErrorKind{
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`: llm.ErrOverloaded,
		body[:len(body)-30]:                      llm.ErrNetwork,
		`{}`:                                     llm.ErrNetwork,
		`{"content":7}`:                          llm.ErrNetwork,
		`{"content":[{"type":"text","text":7}]}`: llm.ErrNetwork,
		`{"content":[],"usage":7}`:               llm.ErrNetwork,
		``:                                       llm.ErrNetwork,
	} {
		if r, err := wiretest.Call(t, to(t, answers(200, nil, in), Options{Whole: true}), hello()); llm.KindOf(err) != kind || r != nil {
			t.Errorf("%s: got %v, %v", in, r, err)
		}
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	textOnly, withCalls := wiretest.Fixture(t, "text.sse"), wiretest.Fixture(t, "parallel.sse")
	for _, tt := range []struct {
		reason string
		stop   llm.Stop // of a reply with text
		calls  int      // left of three
		tools  llm.Stop // of a reply with calls
	}{
		{`"end_turn"`, llm.StopEnd, 3, llm.StopTools},
		{`"tool_use"`, llm.StopEnd, 3, llm.StopTools},
		{`"stop_sequence"`, llm.StopEnd, 3, llm.StopTools},
		{`"max_tokens"`, llm.StopLength, 2, llm.StopLength},
		{`"model_context_window_exceeded"`, llm.StopLength, 2, llm.StopLength},
		{`"pause_turn"`, llm.StopLength, 3, llm.StopLength},
		{`"refusal"`, llm.StopRefusal, 0, llm.StopRefusal},
		{`"content_filtered"`, llm.StopFilter, 3, llm.StopTools},
		{`"something_new"`, llm.StopLength, 3, llm.StopTools},
		{`null`, llm.StopEnd, 3, llm.StopTools},
	} {
		stream := strings.ReplaceAll(textOnly, `"end_turn"`, tt.reason)
		r, err := wiretest.Call(t, to(t, events(stream, len(stream)), Options{}), hello())
		if err != nil || r.Stop != tt.stop {
			t.Errorf("%s, text: got %+v, %v", tt.reason, r, err)
		}
		stream = strings.ReplaceAll(withCalls, `"tool_use","stop_sequence"`, tt.reason+`,"stop_sequence"`)
		r, err = to(t, events(stream, len(stream)), Options{}).Call(t.Context(), hello(), nil)
		if err != nil || r.Stop != tt.tools || len(message.Message{Parts: r.Parts}.Calls()) != tt.calls {
			t.Errorf("%s, calls: got %+v, %v", tt.reason, r, err)
		}
	}
}

// TestCutStreams holds that no stream that lacks its end is a reply.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tool.sse", "thinking.sse"} {
		stream := wiretest.Fixture(t, name)
		whole := strings.LastIndex(stream, "event: message_stop")
		p := map[int]llm.Provider{}
		for at := 0; at <= whole; at += 1 + len(stream)/80 {
			p[at] = to(t, events(stream[:at], len(stream)), Options{})
		}
		p[whole] = to(t, events(stream[:whole], len(stream)), Options{})
		for at, p := range p {
			r, err := wiretest.Call(t, p, hello())
			var e *llm.Error
			if r != nil || !errors.As(err, &e) || e.Kind != llm.ErrNetwork || e.RequestID != requestID {
				t.Errorf("%s cut at %d: got %v, %v", name, at, r, err)
			}
			if at == whole && e.Usage.Output == 0 {
				t.Errorf("%s: what was used is not told: %+v", name, e.Usage)
			}
		}
	}
}

func TestNoDeltasWanted(t *testing.T) {
	t.Parallel()
	stream := wiretest.Fixture(t, "tool.sse")
	r, err := to(t, events(stream, len(stream)), Options{}).Call(t.Context(), hello(), nil)
	if err != nil || !reflect.DeepEqual(r, replies["tool.sse"]) {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestBrokenInput holds that input which is no JSON reaches the tool as an
// object that it will refuse.
func TestBrokenInput(t *testing.T) {
	t.Parallel()
	stream := strings.ReplaceAll(wiretest.Fixture(t, "tool.sse"), ` CA\"}`, ` CA`)
	r, err := wiretest.Call(t, to(t, events(stream, 50), Options{}), hello())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(message.Message{Parts: r.Parts}.Calls()[0].Input); got != `{"INVALID_JSON":"{\"location\": \"San Francisco, CA"}` {
		t.Errorf("got %s", got)
	}
}
