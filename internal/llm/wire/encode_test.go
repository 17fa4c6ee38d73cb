// Tests of what is encoded once: that it is, and that it is never wrong.

package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// plain is a format that writes the texts of a group as one string and counts
// what it encodes.
type plain struct {
	Format
	heads, messages int
}

func newPlain() *plain {
	p := &plain{}
	p.Format = Format{
		Name: "plain",
		Head: func(dst []byte, req *llm.Request) ([]byte, error) {
			p.heads++
			if req.System == "bad" {
				return dst, errors.New("a bad prompt")
			}
			return fmt.Appendf(dst, "%s/%d", req.System, len(req.Tools)), nil
		},
		Group: func(dst []byte, _ string, group []message.Message) ([]byte, int, error) {
			p.messages += len(group)
			var all []string
			for _, m := range group {
				if text := m.Text(); text == "bad" {
					return dst, 0, errors.New("a bad message")
				} else if text != "" {
					all = append(all, text)
				}
			}
			if len(all) == 0 {
				return dst, 0, nil
			}
			dst = AppendString(dst, strings.Join(all, "+"))
			return dst, len(dst) - 1, nil
		},
	}
	return p
}

func (p *plain) body(t *testing.T, req *llm.Request) string {
	t.Helper()
	b, err := p.Encode(req, func(e Encoded) []byte {
		if n := len(e.Groups); n > 0 && (e.Groups[n-1].End != len(e.History) || e.Groups[n-1].Messages != len(req.Messages)) {
			t.Errorf("the last of %v does not end %q", e.Groups, e.History)
		}
		return fmt.Appendf(nil, "%s[%s]", e.Head, e.History)
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func user(s string) message.Message  { return message.Of(message.User, message.KindUser, s) }
func reply(s string) message.Message { return message.Of(message.Assistant, message.KindReply, s) }

func TestEncodeOnce(t *testing.T) {
	t.Parallel()
	p := newPlain()
	req := &llm.Request{Model: "m", System: "s", Memo: &llm.Memo{}}
	for _, step := range []struct {
		name    string
		msgs    []message.Message
		want    string
		encoded int // messages
	}{
		{"first", []message.Message{user("a"), user("b")}, `s/0["a+b"]`, 2},
		{"again", []message.Message{user("a"), user("b")}, `s/0["a+b"]`, 0},
		{"a reply and a question", []message.Message{user("a"), user("b"), reply("c"), user("d")}, `s/0["a+b","c","d"]`, 2},
		{"the last group goes on", []message.Message{user("a"), user("b"), reply("c"), user("d"), user("e")}, `s/0["a+b","c","d+e"]`, 2},
		{"a reply that is left out", []message.Message{user("a"), user("b"), reply("c"), user("d"), user("e"), reply(""), user("f")}, `s/0["a+b","c","d+e","f"]`, 2},
		{"shorter, within a group", []message.Message{user("a"), user("b"), reply("c"), user("d")}, `s/0["a+b","c","d"]`, 1},
		{"a change in the middle", []message.Message{user("a"), user("b"), reply("C"), user("d")}, `s/0["a+b","C","d"]`, 2},
		{"compacted", []message.Message{user("summary"), user("d")}, `s/0["summary+d"]`, 2},
		{"empty", nil, `s/0[]`, 0},
		{"begins with a reply", []message.Message{reply(""), reply("x")}, `s/0["x"]`, 2},
	} {
		p.messages = 0
		req.Messages = step.msgs
		if got := p.body(t, req); got != step.want {
			t.Errorf("%s: got %s, want %s", step.name, got, step.want)
		}
		if p.messages != step.encoded {
			t.Errorf("%s: encoded %d messages, want %d", step.name, p.messages, step.encoded)
		}
		if fresh := newPlain().body(t, &llm.Request{Model: "m", System: "s", Messages: step.msgs}); fresh != step.want {
			t.Errorf("%s, without a memo: got %s, want %s", step.name, fresh, step.want)
		}
	}
}

func TestEncodeHeadOnce(t *testing.T) {
	t.Parallel()
	p := newPlain()
	tool := llm.Tool{Name: "a", Schema: json.RawMessage(`{}`)}
	req := &llm.Request{Model: "m", System: "s", Memo: &llm.Memo{}, Messages: []message.Message{user("x")}}
	for _, step := range []struct {
		change func()
		heads  int
		want   string
	}{
		{func() {}, 1, `s/0["x"]`},
		{func() {}, 1, `s/0["x"]`},
		{func() { req.Tools = []llm.Tool{tool} }, 2, `s/1["x"]`},
		{func() { req.Tools = []llm.Tool{{Name: "a", Schema: json.RawMessage(`{}`)}} }, 2, `s/1["x"]`},
		{func() { req.Tools = []llm.Tool{{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}} }, 3, `s/1["x"]`},
		{func() { req.System = "t" }, 4, `t/1["x"]`},
		{func() { req.Model = "other" }, 5, `t/1["x"]`},
		{func() { req.Memo = &llm.Memo{} }, 5, `t/1["x"]`}, // another agent of the same role
		{func() { req.Model, req.System = "m", "s" }, 5, `s/1["x"]`},
	} {
		step.change()
		if got := p.body(t, req); got != step.want || p.heads != step.heads {
			t.Errorf("got %s and %d heads, want %s and %d", got, p.heads, step.want, step.heads)
		}
	}
}

// TestHeadsAreBounded holds that a format remembers some heads, not all.
func TestHeadsAreBounded(t *testing.T) {
	t.Parallel()
	p := newPlain()
	for i := range 2 * maxHeads {
		p.body(t, &llm.Request{Model: "m", System: fmt.Sprint(i)})
	}
	if n := len(p.Format.heads.recent); n != maxHeads {
		t.Errorf("%d heads are remembered, want %d", n, maxHeads)
	}
}

// TestEncodeHeadOfChangedTools holds that a caller may reuse its list.
func TestEncodeHeadOfChangedTools(t *testing.T) {
	t.Parallel()
	p := newPlain()
	tools := []llm.Tool{{Name: "a"}}
	req := &llm.Request{Model: "m", Tools: tools, Memo: &llm.Memo{}}
	p.body(t, req)
	tools[0].Name = "b"
	p.body(t, req)
	if p.heads != 2 {
		t.Errorf("%d heads", p.heads)
	}
}

func TestEncodeFails(t *testing.T) {
	t.Parallel()
	p := newPlain()
	memo := &llm.Memo{}
	none := func(Encoded) []byte { t.Error("built a body"); return nil }
	for _, req := range []*llm.Request{
		{System: "bad", Memo: memo},
		{Messages: []message.Message{user("a"), reply("bad")}, Memo: memo},
	} {
		if _, err := p.Encode(req, none); llm.KindOf(err) != llm.ErrBadRequest {
			t.Errorf("got %v", err)
		}
	}
	if got := p.body(t, &llm.Request{Messages: []message.Message{user("a"), reply("b")}, Memo: memo}); got != `/0["a","b"]` {
		t.Errorf("afterwards: got %s", got)
	}
}

func TestMemoOfTwoAtOnce(t *testing.T) {
	t.Parallel()
	memo := &llm.Memo{}
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		wg.Go(func() {
			for range 100 {
				p := newPlain()
				if got := p.body(t, &llm.Request{Messages: []message.Message{user(name), reply("x")}, Memo: memo}); got != `/0["`+name+`","x"]` {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	wg.Wait()
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	call := func(id, name, in string) message.Message {
		return message.Message{Role: message.Assistant, Parts: []message.Part{message.ToolCall{ID: id, Name: name, Input: json.RawMessage(in)}}}
	}
	result := func(id string, failed bool, parts ...message.Part) message.Message {
		return message.Message{Role: message.Tool, Parts: []message.Part{message.ToolResult{CallID: id, IsError: failed, Parts: parts}}}
	}
	all := []message.Message{
		{},
		user(""), user("a"), user("b"), user("ab"), user("aXb"), user("aXXb"), reply("a"),
		user("pruned: see the file"), user("a tool's whole output, very long"),
		{Role: message.User, Parts: []message.Part{message.TextPart{Text: "a"}, message.TextPart{}}},
		{Role: message.User, Parts: []message.Part{message.TextPart{}, message.TextPart{Text: "a"}}},
		{Role: message.User, Parts: []message.Part{message.ImagePart{Data: []byte("a")}}},
		{Role: message.Assistant, Parts: []message.Part{message.ThinkingPart{Text: "a"}}},
		{Role: message.Assistant, Parts: []message.Part{message.ThinkingPart{Signature: "a"}}},
		{Role: message.Assistant, Parts: []message.Part{message.ThinkingPart{Encrypted: "a"}}},
		call("a", "b", "{}"), call("b", "a", "{}"), call("a", "b", "{1}"),
		result("a", false), result("a", true), result("b", false), result("a", false, message.TextPart{Text: "x"}),
	}
	seen := map[uint64]int{}
	for i := range all {
		h := fingerprint(&all[i])
		if k, ok := seen[h]; ok {
			t.Errorf("%v and %v look alike", all[k], all[i])
		}
		seen[h] = i
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "a\"b\\c/d", "\x00\x1f\x7f\b\f\n\r\t", "<b>&amp;</b>", "äöü€😀\u2028", "bad \xff\xfe utf8", "cut \xe2\x82"} {
		var back string
		b := AppendString([]byte("x"), s)[1:]
		if err := json.Unmarshal(b, &back); err != nil || back != strings.ToValidUTF8(s, "\uFFFD") && len(s) < 6 {
			t.Errorf("%q became %s: %q, %v", s, b, back, err)
		}
		var want string
		std, err := json.Marshal(s)
		if err == nil {
			err = json.Unmarshal(std, &want)
		}
		if err != nil || back != want {
			t.Errorf("%q: got %q, encoding/json has %q, %v", s, back, want, err)
		}
	}
	if b, err := AppendRaw([]byte("x"), json.RawMessage(" { \"b\" : 1,\n \"a\" : [ 1, 2 ] } ")); string(b) != `x{"b":1,"a":[1,2]}` || err != nil {
		t.Errorf("got %s, %v", b, err)
	}
	if b, err := AppendRaw(nil, nil); string(b) != `{}` || err != nil {
		t.Errorf("got %s, %v", b, err)
	}
	if b, err := AppendRaw([]byte("x"), json.RawMessage(`{"a`)); string(b) != "x" || err == nil {
		t.Errorf("got %s, %v", b, err)
	}
	if b := AppendBase64(nil, []byte{0xfb, 0xff}); string(b) != `"+/8="` {
		t.Errorf("got %s", b)
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": `{}`, " ": `{}`, "null": `{}`, `{}`: `{}`, ` {"a": 1} `: `{"a": 1}`,
		`{"a": "cu`: `{"INVALID_JSON":"{\"a\": \"cu"}`, `[1]`: `{"INVALID_JSON":"[1]"}`, `"x"`: `{"INVALID_JSON":"\"x\""}`,
	} {
		if got := Input([]byte(in)); string(got) != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}
