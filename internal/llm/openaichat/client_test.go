// What the tests share: a vendor on the loopback interface, and a caller that
// checks what every reply must fulfil.

package openaichat

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

const (
	testModel    = "m-1"
	testProvider = "vendor"
	eventStream  = "text/event-stream; charset=utf-8"
)

// vendor is a server that answers every request alike and keeps the last one.
type vendor struct {
	*httptest.Server
	request *http.Request
	body    string
}

func serve(t testing.TB, answer http.HandlerFunc) *vendor {
	t.Helper()
	v := &vendor{}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		v.request, v.body = r, string(b)
		answer(w, r)
	}))
	t.Cleanup(v.Close)
	return v
}

// say answers with body.
func say(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("X-Request-Id", "req-1")
		_, _ = io.WriteString(w, body)
	}
}

// provider makes a client of v.
func (v *vendor) provider(change ...func(*Options)) llm.Provider {
	opts := Options{Provider: testProvider, BaseURL: v.URL + "/v1/", Key: "sk-test-0123456789", HTTP: v.Client()}
	for _, f := range change {
		f(&opts)
	}
	return New(opts)
}

func ask(text string) *llm.Request {
	return &llm.Request{Model: testModel, Messages: []message.Message{message.Of(message.User, message.KindUser, text)}}
}

// call makes a call and checks that the deltas add up to the reply.
func call(t testing.TB, p llm.Provider, req *llm.Request) (*llm.Reply, error) {
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

func checkDeltas(t testing.TB, r *llm.Reply, deltas []llm.Delta) {
	t.Helper()
	texts := make([]string, len(r.Parts))
	names := make([]string, len(r.Parts))
	kinds := make([]llm.DeltaKind, len(r.Parts))
	for _, d := range deltas {
		if d.Part < 0 || d.Part >= len(r.Parts) {
			t.Fatalf("a delta of part %d, of %d parts", d.Part, len(r.Parts))
		}
		if d.Name != "" && texts[d.Part] != "" {
			t.Errorf("the name %s of part %d came after its first delta", d.Name, d.Part)
		}
		texts[d.Part] += d.Text
		names[d.Part] += d.Name
		kinds[d.Part] = d.Kind
	}
	for i, p := range r.Parts {
		switch p := p.(type) {
		case message.TextPart:
			if texts[i] != p.Text || kinds[i] != llm.DeltaText {
				t.Errorf("part %d is %+v, its deltas %s %q", i, p, kinds[i], texts[i])
			}
		case message.ThinkingPart:
			if texts[i] != p.Text || kinds[i] != llm.DeltaThinking && p.Text != "" {
				t.Errorf("part %d is %+v, its deltas %s %q", i, p, kinds[i], texts[i])
			}
		case message.ToolCall:
			if !json.Valid(p.Input) || p.Input[0] != '{' || p.ID == "" {
				t.Errorf("part %d has the id %q and the input %s", i, p.ID, p.Input)
			}
			if names[i] != p.Name || kinds[i] != llm.DeltaCall {
				t.Errorf("part %d is %+v, its deltas %s %q", i, p, kinds[i], names[i])
			}
			if texts[i] != string(p.Input) && strings.TrimSpace(texts[i]) != "" && !strings.HasPrefix(string(p.Input), `{"INVALID_JSON":`) {
				t.Errorf("part %d has the input %s, its deltas %s", i, p.Input, texts[i])
			}
		case message.ImagePart, message.ToolResult:
			t.Errorf("part %d is a %T", i, p)
		}
	}
}

// fixture is a body in testdata.
func fixture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// contentType of a fixture.
func contentType(name string) string {
	if filepath.Ext(name) == ".json" {
		return "application/json"
	}
	return eventStream
}
