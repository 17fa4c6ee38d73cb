// Tests of keys in replies.

package wire

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

func TestSieve(t *testing.T) {
	t.Parallel()
	const key = "sk-secret-0123456789"
	heard := map[int]string{}
	s := NewSieve([]string{key}, func(d llm.Delta) { heard[d.Part] += d.Name + d.Text })
	// Two calls whose pieces come in turn, and a text whose end looks like a key.
	for _, d := range []llm.Delta{
		{Kind: llm.DeltaText, Part: 0, Text: "ask"},
		{Kind: llm.DeltaText, Part: 0, Text: "-se"},
		{Kind: llm.DeltaCall, Part: 1, Name: "Bash "},
		{Kind: llm.DeltaCall, Part: 1, Text: `{"a":"sk-secret-`},
		{Kind: llm.DeltaCall, Part: 2, Text: `{"b":"sk`},
		{Kind: llm.DeltaCall, Part: 1, Text: `0123456789"}`},
		{Kind: llm.DeltaCall, Part: 2, Text: `-secret-0123456789"}`},
	} {
		s.Delta(d)
	}
	if heard[0] != "a" || heard[1] != `Bash {"a":"[redacted]"}` || heard[2] != `{"b":"[redacted]"}` {
		t.Errorf("heard %v", heard)
	}
	r := &llm.Reply{Model: "m " + key, Parts: []message.Part{
		message.TextPart{Text: "ask-se"},
		message.ToolCall{ID: "c", Name: "Bash", Input: json.RawMessage(`{"a":"` + key + `"}`), Signature: "s"},
		message.ToolCall{ID: "d", Name: "Bash", Input: json.RawMessage(`{}`), Signature: "s"},
		message.ThinkingPart{Text: "it is " + key, Signature: "s", Encrypted: "e"},
		message.ThinkingPart{Text: "hm", Signature: "s"},
		message.ThinkingPart{Text: "hm", Signature: `[{"text":"` + key + `"}]`},
	}}
	s.Reply(r)
	want := &llm.Reply{Model: "m [redacted]", Parts: []message.Part{
		message.TextPart{Text: "ask-se"},
		message.ToolCall{ID: "c", Name: "Bash", Input: json.RawMessage(`{"a":"[redacted]"}`)},
		message.ToolCall{ID: "d", Name: "Bash", Input: json.RawMessage(`{}`), Signature: "s"},
		message.ThinkingPart{Text: "it is [redacted]", Encrypted: "e"},
		message.ThinkingPart{Text: "hm", Signature: "s"},
		message.ThinkingPart{Text: "hm"},
	}}
	if !reflect.DeepEqual(r, want) || heard[0] != "ask-se" {
		t.Errorf("got %+v, heard %q", r, heard[0])
	}
}
