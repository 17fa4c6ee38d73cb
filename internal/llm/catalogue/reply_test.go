// Tests of what comes back from servers, in all wire formats over HTTP.

package catalogue

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

// spoken is how a format writes an answer of text.
type spoken struct {
	stream func(pieces []string) string
	whole  func(text string) string
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// each writes an event for each piece, between two texts.
func each(before, event, after string) func([]string) string {
	return func(pieces []string) string {
		out := before
		for _, p := range pieces {
			out += fmt.Sprintf(event, quoted(p))
		}
		return out + after
	}
}

func sentence(format string) func(string) string {
	return func(text string) string { return fmt.Sprintf(format, quoted(text)) }
}

var formats = map[config.Kind]spoken{
	config.KindAnthropic: {
		each(`data: {"type":"message_start","message":{"content":[]}}`+"\n\n"+`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`+"\n\n",
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`+"\n\n",
			`data: {"type":"content_block_stop","index":0}`+"\n\n"+`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}`+"\n\n"+`data: {"type":"message_stop"}`+"\n\n"),
		sentence(`{"type":"message","content":[{"type":"text","text":%s}],"stop_reason":"end_turn"}`),
	},
	config.KindOpenAI: {
		each("", `data: {"choices":[{"index":0,"delta":{"content":%s}}]}`+"\n\n", `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n"),
		sentence(`{"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}]}`),
	},
	config.KindOpenAIResponses: {
		each("", `data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":%s}`+"\n\n", `data: {"type":"response.completed","response":{"status":"completed","output":[]}}`+"\n\n"),
		sentence(`{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":%s}]}]}`),
	},
	config.KindGemini: {
		each("", `data: {"candidates":[{"content":{"parts":[{"text":%s}]}}]}`+"\n\n", `data: {"candidates":[{"finishReason":"STOP"}]}`+"\n\n"),
		sentence(`{"candidates":[{"content":{"parts":[{"text":%s}]},"finishReason":"STOP"}]}`),
	},
}

// said calls the model of a provider of a kind, and returns the reply, and the
// deltas put together.
func said(t *testing.T, kind config.Kind, extra string, h http.HandlerFunc) (*llm.Reply, string, error) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	e := env{"HOUSE_KEY": houseKey}
	conf, err := configured(t, e, fmt.Sprintf("providers: {house: {kind: %s, base_url: '%s/v1', key_env: HOUSE_KEY%s}}", kind, srv.URL, extra))
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := New(Options{Config: conf, Env: e.get}).Find("house/m")
	if err != nil {
		t.Fatal(err)
	}
	heard := ""
	r, err := p.Call(t.Context(), &llm.Request{Model: "m", Messages: []message.Message{message.Of(message.User, message.KindUser, "x")}}, func(d llm.Delta) { heard += d.Text })
	return r, heard, err
}

const houseKey = "house/key+0123456789"

// TestKeysAreTakenOutOfReplies: a server that sends the key back, in whichever
// spelling and wherever its stream is cut, tells it to nobody.
func TestKeysAreTakenOutOfReplies(t *testing.T) {
	t.Parallel()
	for kind, format := range formats {
		for _, spelt := range []string{houseKey, "house%2Fkey%2B0123456789", base64.StdEncoding.EncodeToString([]byte(houseKey))} {
			text := "It is " + spelt + ", hou"
			for cut := range 3 {
				var pieces []string
				for rest := text; rest != ""; {
					n := min(len(rest), 1+cut*7)
					pieces = append(pieces, rest[:n])
					rest = rest[n:]
				}
				r, heard, err := said(t, kind, "", func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, format.stream(pieces))
				})
				if err != nil {
					t.Fatalf("%s: %v", kind, err)
				}
				// What fills the last bytes of base64 is no part of the key.
				want := strings.Replace(text, strings.TrimRight(spelt, "="), "[redacted]", 1)
				if got := message.Text(r.Parts); got != want || heard != want {
					t.Errorf("%s: got %q, heard %q, want %q", kind, got, heard, want)
				}
			}
			_, _, err := said(t, kind, "", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"error":{"message":"what is `+spelt+`?"}}`)
			})
			if err == nil || strings.Contains(err.Error(), strings.TrimRight(spelt, "=")) || !strings.Contains(err.Error(), "[redacted]") {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
}

// TestWithoutStreams: a gateway that cannot stream is not asked to.
func TestWithoutStreams(t *testing.T) {
	t.Parallel()
	for kind, format := range formats {
		r, heard, err := said(t, kind, ", stream: false", func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"stream":true`) || strings.Contains(r.URL.Path, "streamGenerate") {
				http.Error(w, "no streams here", http.StatusBadRequest)
				return
			}
			_, _ = io.WriteString(w, format.whole("hello")) // without a type of content
		})
		if err != nil || message.Text(r.Parts) != "hello" || heard != "hello" {
			t.Errorf("%s: %+v, %q, %v", kind, r, heard, err)
		}
	}
}

// TestSilenceIsConfigured: the provider's word counts over the default.
func TestSilenceIsConfigured(t *testing.T) {
	t.Parallel()
	c, _ := made(t, keys("anthropic"), "providers: {anthropic: {idle: {then: 7s}}, own: {base_url: 'http://own.example/v1', idle: 3s, stream: false}}")
	if e := endpoint(t, c, "opus"); e.Idle != (wire.Idle{Then: 7 * time.Second}) || e.Whole {
		t.Errorf("anthropic: %+v, whole %v", e.Idle, e.Whole)
	}
	if e := endpoint(t, c, "own/m"); e.Idle != wire.Silence(3*time.Second) || !e.Whole {
		t.Errorf("own: %+v, whole %v", e.Idle, e.Whole)
	}
}

// TestWordsThatAreNoKeys: what merely goes along with a request may be said.
func TestWordsThatAreNoKeys(t *testing.T) {
	t.Parallel()
	e := env{"LMSTUDIO_API_KEY": "lm-studio", "OTHER": "sk-0123456789abcdef"}
	c, _ := made(t, e, "providers: {own: {base_url: 'http://own.example/v1', headers: {X-Team: platform-engineering, X-Key: '${OTHER}'}}}")
	if got := c.provider("lmstudio").keys(); len(got) != 0 {
		t.Errorf("lmstudio: %v", got)
	}
	if got := c.provider("own").keys(); len(got) != 1 || got[0] != e["OTHER"] {
		t.Errorf("own: %v", got)
	}
}
