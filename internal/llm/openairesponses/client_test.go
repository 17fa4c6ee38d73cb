// What the tests share.

package openairesponses

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

// events makes a stream of events without names, as their type is in them.
func events(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}

// completed ends a stream.
const completed = `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}}`

// text is a delta of text.
const text = `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a"}`

// thought is a piece of the reasoning item id.
func thought(id, text, encrypted string) message.ThinkingPart {
	return message.ThinkingPart{Text: text, Encrypted: encrypted, ID: id, Provider: testProvider, Model: testModel}
}

// phase is what follows a text that has one.
func phase(name string) message.ThinkingPart {
	return message.ThinkingPart{Signature: phasePrefix + name, Provider: testProvider, Model: testModel}
}

func toolCall(id, name, input string) message.ToolCall {
	return message.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

func reply(parts ...message.Part) message.Message {
	return message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: parts}
}
