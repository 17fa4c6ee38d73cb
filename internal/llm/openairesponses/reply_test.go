// Replies: the published streams and bodies, and what other servers make of
// the format.

package openairesponses

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

// TestOracle compares with what OpenAI's own SDK reads from the same bytes.
func TestOracle(t *testing.T) {
	t.Parallel()
	wiretest.Oracle(t, func(v *wiretest.Vendor, whole bool) llm.Provider {
		return vendor{v}.provider(func(o *Options) { o.Whole = whole })
	})
}

// parallel is what openai_parallel has.
var parallel = llm.Reply{
	Parts: []message.Part{
		thought("rs_6888f6d0606c819aa8205ecee386963f", "**Checking the weather**\n\nTwo cities, two calls.", "gAAAAABo_encrypted_1=="),
		thought("rs_6888f6d0606c819aa8205ecee386963f", "**Planning**\n\nAsk both.", ""),
		message.TextPart{Text: "I'll check both."},
		phase("commentary"),
		toolCall("call_A1", "get_weather", `{"location":"Paris"}`), toolCall("call_A2", "now", `{}`), toolCall("call_A3", "send", `{"to":"Bogotá"}`),
	},
	Stop: llm.StopTools, Model: "gpt-5.4-2026-03-05", RequestID: wiretest.RequestID,
	Usage: message.Usage{Input: 100, Output: 120, CacheRead: 300, CacheWrite: 100, Reasoning: 64},
}

// TestReplies reads streams and the same replies in one piece.
func TestReplies(t *testing.T) {
	t.Parallel()
	tests := map[string]llm.Reply{
		"openai_parallel": parallel,
		"openai_hidden": {
			Parts: []message.Part{thought("rs_2", "", "gAAAAABo_encrypted_2=="), message.TextPart{Text: "It is 14 °C."}, phase("final_answer")},
			Stop:  llm.StopEnd, Usage: message.Usage{Input: 81, Output: 150, Reasoning: 128},
		},
		"openai_refusal": {
			Parts: []message.Part{message.TextPart{Text: "I'm sorry, I cannot assist with that request."}},
			Stop:  llm.StopRefusal, Usage: message.Usage{Input: 40, Output: 11},
		},
		"openai_length": {
			Parts: []message.Part{message.TextPart{Text: "Once upon a"}},
			Stop:  llm.StopLength, Usage: message.Usage{Input: 10, Output: 3},
		},
	}
	for name, want := range tests {
		want.Model, want.RequestID = parallel.Model, wiretest.RequestID
		for _, ext := range []string{".sse", ".json"} {
			t.Run(name+ext, func(t *testing.T) {
				t.Parallel()
				for _, whole := range []bool{ext == ".json", false} {
					v := serve(t, wiretest.Say(wiretest.ContentType(name+ext), wiretest.Fixture(t, name+ext)))
					got, err := wiretest.Call(t, v.provider(func(o *Options) { o.Whole = whole }), wiretest.Ask("x"))
					if err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(*got, want) {
						t.Errorf("got  %+v\nwant %+v", *got, want)
					}
					if _, body := v.Last(); strings.Contains(body, `"stream":true`) == whole {
						t.Errorf("Whole %v sent %s", whole, body)
					}
				}
			})
		}
	}
}

// TestFraming sends the same stream in every way in which it may arrive.
func TestFraming(t *testing.T) {
	t.Parallel()
	whole := wiretest.Fixture(t, "openai_parallel.sse")
	tests := map[string]string{
		"CRLF":             strings.ReplaceAll(whole, "\n", "\r\n"),
		"comments":         strings.ReplaceAll(whole, "\n\n", "\n\n: keep-alive\n\n"),
		"unknown events":   strings.ReplaceAll(whole, "\n\n", "\n\nevent: response.new_thing\ndata: {\"type\":\"response.new_thing\",\"delta\":[{}]}\n\n"),
		"no names":         strings.ReplaceAll(whole, "event: ", "id: "),
		"no types":         strings.ReplaceAll(whole, `"type":"response.`, `"typ":"response.`),
		"no final newline": strings.TrimRight(whole, "\n"),
		"DONE":             whole + "data: [DONE]\n\n",
		"more behind":      whole + "data: {\"type\":\"error\",\"message\":\"too late\"}\n\n",
		"unknown fields":   strings.ReplaceAll(whole, `"output_index":`, `"x":{"y":["z}\"]"]},"output_index":`),
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, serve(t, wiretest.Say(eventStream, body)), &parallel)
		})
	}
	t.Run("single bytes", func(t *testing.T) {
		t.Parallel()
		check(t, serve(t, wiretest.Drip(whole)), &parallel)
	})
	t.Run("no deltas", func(t *testing.T) {
		t.Parallel()
		check(t, serve(t, wiretest.Say(eventStream, without(whole, ".delta"))), &parallel)
	})
	t.Run("nothing but the end", func(t *testing.T) {
		t.Parallel()
		check(t, serve(t, wiretest.Say(eventStream, without(whole, ".delta", ".added", ".done"))), &parallel)
	})
	t.Run("nothing done", func(t *testing.T) {
		t.Parallel()
		calls := wiretest.Fixture(t, "openai_tools.sse")
		want, err := wiretest.Call(t, serve(t, wiretest.Say(eventStream, calls)).provider(), wiretest.Ask("x"))
		if err != nil {
			t.Fatal(err)
		}
		check(t, serve(t, wiretest.Say(eventStream, without(calls, ".done"))), want)
	})
}

// without leaves out the events whose type ends in one of suffixes.
func without(stream string, suffixes ...string) string {
	var kept strings.Builder
	for event := range strings.SplitAfterSeq(stream, "\n\n") {
		name, _, _ := strings.Cut(event, "\n")
		keep := true
		for _, s := range suffixes {
			keep = keep && !strings.HasSuffix(name, s)
		}
		if keep {
			kept.WriteString(event)
		}
	}
	return kept.String()
}

func check(t *testing.T, v vendor, want *llm.Reply) {
	t.Helper()
	got, err := wiretest.Call(t, v.provider(), wiretest.Ask("x"))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestItems: pieces as other servers may send them.
func TestItems(t *testing.T) {
	t.Parallel()
	const added = `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":""}}`
	open := message.ThinkingPart{Text: "hm", Signature: contentSignature, ID: "rs_1", Provider: testProvider, Model: testModel}
	tests := map[string]struct {
		events []string
		want   []message.Part
		stop   llm.Stop
	}{
		"reasoning of open models": {
			[]string{
				`{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"h"}`,
				`{"type":"response.reasoning_text.done","output_index":0,"content_index":0,"text":"hm"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}}`,
			},
			[]message.Part{open},
			llm.StopEnd,
		},
		"no numbers": {
			[]string{
				`{"type":"response.output_text.delta","delta":"a"}`, `{"type":"response.output_text.delta","delta":"b"}`,
			},
			[]message.Part{message.TextPart{Text: "ab"}},
			llm.StopEnd,
		},
		"two texts": {
			[]string{text, `{"type":"response.output_text.delta","output_index":0,"content_index":1,"delta":"b"}`},
			[]message.Part{message.TextPart{Text: "a"}, message.TextPart{Text: "b"}},
			llm.StopEnd,
		},
		"arguments as an object": {
			[]string{`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":{"x":1}}}`},
			[]message.Part{toolCall("c", "f", `{"x":1}`)},
			llm.StopTools,
		},
		"no input": {[]string{added}, []message.Part{toolCall("c", "f", `{}`)}, llm.StopTools},
		"input that is no JSON": {
			[]string{added, `{"type":"response.function_call_arguments.done","output_index":0,"arguments":"oops"}`},
			[]message.Part{toolCall("c", "f", `{"INVALID_JSON":"oops"}`)},
			llm.StopTools,
		},
		"other items": {
			[]string{`{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call","id":"ws_1","status":"completed"}}`, text},
			[]message.Part{message.TextPart{Text: "a"}},
			llm.StopEnd,
		},
		"reasoning that is not there": {
			[]string{`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`},
			nil, llm.StopEnd,
		},
	}
	for name, tt := range tests {
		v := serve(t, wiretest.Say(eventStream, events(append(tt.events, completed)...)))
		r, err := wiretest.Call(t, v.provider(), wiretest.Ask("x"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(r.Parts, tt.want) || r.Stop != tt.stop {
			t.Errorf("%s: got %s %+v\nwant %s %+v", name, r.Stop, r.Parts, tt.stop, tt.want)
		}
	}
}

// TestMissingIDs: calls without ids, or with the same, get their own.
func TestMissingIDs(t *testing.T) {
	t.Parallel()
	const body = `{"id":"resp_1","status":"completed","output":[` +
		`{"type":"function_call","name":"f","arguments":"{}"},{"type":"function_call","call_id":"c","name":"g","arguments":"{}"},{"type":"function_call","call_id":"c","name":"h","arguments":"{}"}]}`
	r, err := wiretest.Call(t, serve(t, wiretest.Say("application/json", body)).provider(), wiretest.Ask("x"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Parts) != 3 || r.Parts[1].(message.ToolCall).ID != "c" {
		t.Errorf("got %+v", r.Parts)
	}
}

// TestCutCall: the call in which a reply was cut has no input to run on.
func TestCutCall(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{"": `{"INVALID_JSON":"\"\""}`, `{\"x\":`: `{"INVALID_JSON":"{\"x\":"}`} {
		body := `{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` +
			`{"type":"function_call","call_id":"a","name":"f","arguments":""},{"type":"function_call","call_id":"b","name":"f","arguments":"` + arguments + `","status":"incomplete"}]}`
		r, err := wiretest.Call(t, serve(t, wiretest.Say("application/json", body)).provider(), wiretest.Ask("x"))
		if err != nil {
			t.Fatal(err)
		}
		if wanted := []message.Part{toolCall("a", "f", "{}"), toolCall("b", "f", want)}; r.Stop != llm.StopLength || !reflect.DeepEqual(r.Parts, wanted) {
			t.Errorf("got %s %+v, want %+v", r.Stop, r.Parts, wanted)
		}
	}
}
