// Calls whose outcome is checked against the contract of llm.Provider.

package wiretest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// Call makes a call and checks that there is either a reply, to which the
// deltas add up, or an error.
func Call(t testing.TB, p llm.Provider, req *llm.Request) (*llm.Reply, error) {
	t.Helper()
	var deltas []llm.Delta
	r, err := p.Call(t.Context(), req, func(d llm.Delta) { deltas = append(deltas, d) })
	if err != nil {
		if r != nil {
			t.Errorf("a reply came with the error %v", err)
		}
		return nil, err
	}
	checkDeltas(t, r, deltas)
	return r, nil
}

// Fault makes a call that has to fail as the contract says, without showing
// the key.
func Fault(t testing.TB, p llm.Provider) *llm.Error {
	t.Helper()
	_, err := Call(t, p, Ask("x"))
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *llm.Error", err)
	}
	if strings.Contains(err.Error(), strings.TrimPrefix(Key, "sk-test-")) {
		t.Errorf("the key is in the error: %v", err)
	}
	return e
}

// seen is what deltas told of a part.
type seen struct {
	kind       llm.DeltaKind
	name, text string
}

func checkDeltas(t testing.TB, r *llm.Reply, deltas []llm.Delta) {
	t.Helper()
	parts := make([]seen, len(r.Parts))
	for _, d := range deltas {
		if d.Part < 0 || d.Part >= len(r.Parts) {
			t.Fatalf("a delta of part %d, of %d parts", d.Part, len(r.Parts))
		}
		p := &parts[d.Part]
		if d.Name != "" && p.text != "" {
			t.Errorf("the name %s of part %d came after its first delta", d.Name, d.Part)
		}
		p.text += d.Text
		p.name += d.Name
		p.kind = d.Kind
	}
	ids := map[string]bool{}
	for i, p := range r.Parts {
		got := parts[i]
		switch p := p.(type) {
		case message.TextPart:
			if got != (seen{llm.DeltaText, "", p.Text}) {
				t.Errorf("part %d is %+v, its deltas %+v", i, p, got)
			}
		case message.ThinkingPart:
			if got.text != p.Text || p.Text != "" && got.kind != llm.DeltaThinking {
				t.Errorf("part %d is %+v, its deltas %+v", i, p, got)
			}
		case message.ToolCall:
			checkCall(t, p, got)
			if ids[p.ID] {
				t.Errorf("the id %s came twice", p.ID)
			}
			ids[p.ID] = true
		case message.ImagePart, message.ToolResult:
			t.Errorf("part %d is a %T", i, p)
		}
	}
}

func checkCall(t testing.TB, c message.ToolCall, got seen) {
	t.Helper()
	if c.ID == "" || !json.Valid(c.Input) || c.Input[0] != '{' {
		t.Errorf("a call has the id %q and the input %s", c.ID, c.Input)
	}
	if got.kind != llm.DeltaCall || got.name != c.Name {
		t.Errorf("the call is %+v, its deltas %+v", c, got)
	}
	text := strings.TrimSpace(got.text)
	if text != string(c.Input) && text != "" && !strings.HasPrefix(string(c.Input), `{"INVALID_JSON":`) {
		t.Errorf("the call has the input %s, its deltas %s", c.Input, text)
	}
}
