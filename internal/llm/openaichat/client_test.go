// What the tests share.

package openaichat

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

const (
	testModel    = wiretest.Model
	testProvider = wiretest.Provider
	eventStream  = wiretest.EventStream
)

// vendor is a server of this format.
type vendor struct{ *wiretest.Vendor }

func serve(t testing.TB, answer http.HandlerFunc) vendor {
	t.Helper()
	return vendor{wiretest.Serve(t, answer)}
}

// provider makes a client of v.
func (v vendor) provider(change ...func(*Options)) llm.Provider {
	opts := Options{Name: testProvider, BaseURL: v.URL + "/v1/", Key: wiretest.Key, HTTP: v.Client()}
	for _, f := range change {
		f(&opts)
	}
	return New(opts)
}

// chunks makes a stream of deltas that ends with a finish reason.
func chunks(finish string, deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"id":"c1","choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}` + "\n\n")
	}
	b.WriteString(`data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":` + finish + `}]}` + "\n\n")
	b.WriteString("data: [DONE]\n\n")
	return b.String()
}

func thought(text, signature string) message.ThinkingPart {
	return message.ThinkingPart{Text: text, Signature: signature, Provider: testProvider, Model: testModel}
}

func toolCall(id, name, input string) message.ToolCall {
	return message.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}
