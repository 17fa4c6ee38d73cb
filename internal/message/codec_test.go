package message

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestMessageRoundTrip(t *testing.T) {
	in := Message{Role: Assistant, Kind: KindReply, Parts: []Part{
		TextPart{Text: "hello <b>"},
		ThinkingPart{Text: "hm", Signature: "sig", Encrypted: "enc", ID: "r1", Provider: "p", Model: "m"},
		ImagePart{MediaType: "image/png", Data: []byte{0, 1, 255}},
		ToolCall{ID: "c1", Name: "Read", Input: json.RawMessage(`{"path":"a"}`), Signature: "s", Provider: "p", Model: "m"},
		ToolResult{CallID: "c1", Name: "Read", IsError: true, Parts: []Part{TextPart{Text: "no"}, ImagePart{MediaType: "image/gif", Data: []byte("x")}}},
	}}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out Message
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(in, out) {
		t.Errorf("got  %#v\nwant %#v", out, in)
	}
}

func TestEmptyInputBecomesObject(t *testing.T) {
	b, err := EncodeParts([]Part{ToolCall{ID: "c", Name: "LS"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"type":"tool_call","id":"c","name":"LS","input":{}}]`; string(b) != want {
		t.Errorf("got %s, want %s", b, want)
	}
}

func TestDecodeRefusesWhatItDoesNotKnow(t *testing.T) {
	for in, want := range map[string]string{
		`[{"type":"sound"}]`:         `unknown type "sound"`,
		`[{"type":"text","text":7}]`: "decoding a part",
		`{}`:                         "decoding parts",
		`[{"type":"tool_result","parts":[{"type":1}]}]`: "decoding a part",
	} {
		if _, err := DecodeParts([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", in, err, want)
		}
	}
}

func TestText(t *testing.T) {
	m := Message{Parts: []Part{TextPart{Text: "a"}, ThinkingPart{Text: "no"}, TextPart{}, TextPart{Text: "b"}}}
	if got := m.Text(); got != "a\n\nb" {
		t.Errorf("got %q", got)
	}
}
