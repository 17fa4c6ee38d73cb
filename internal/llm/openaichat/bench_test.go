// Benchmarks: a chunk of a stream, and a turn over histories of several
// lengths.

package openaichat

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

// BenchmarkChunk decodes single chunks.
func BenchmarkChunk(b *testing.B) {
	const head = `{"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","object":"chat.completion.chunk","created":1694268190,"model":"gpt-5.4","service_tier":"default","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":`
	const rest = `,"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"RMPT8kI"}`
	for name, delta := range map[string]string{
		"text":      `{"content":" wonderful"}`,
		"arguments": `{"tool_calls":[{"index":0,"function":{"arguments":"\":\""}}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			text := []byte(head + delta + rest)
			bl := &builder{onDelta: func(llm.Delta) {}}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := bl.read(text); err != nil {
					b.Fatal(err)
				}
				if len(bl.parts) > 0 && bl.parts[0].text.Len() > 1<<16 {
					bl.parts[0].text.Reset()
				}
			}
		})
	}
}

// BenchmarkStream makes whole calls over HTTP, 1,000 chunks each, and tells
// the time per chunk.
func BenchmarkStream(b *testing.B) {
	const n = 1000
	body := chunks(`"stop"`, strings.Split(strings.Repeat(`{"content":" wonderful"}|`, n-1), "|")[:n-1]...)
	v := serve(b, wiretest.Say(eventStream, body))
	p := v.provider()
	req := wiretest.Ask("x")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Call(b.Context(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "µs/chunk")
}

// BenchmarkTurn encodes the request of one more turn.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, memo := range []bool{true, false} {
			b.Run(fmt.Sprintf("history=%d/memo=%v", n, memo), func(b *testing.B) {
				c := New(Options{HTTP: http.DefaultClient}).(*client)
				req := &llm.Request{Model: testModel, System: strings.Repeat("Be good. ", 500), Tools: tools(), MaxOutput: 100}
				for len(req.Messages) < n {
					req.Messages = append(req.Messages, message.Of(message.User, message.KindUser, strings.Repeat("question ", 50)), reply(message.TextPart{Text: strings.Repeat("answer ", 50)}))
				}
				if memo {
					req.Memo = &llm.Memo{}
				}
				before := req.Messages
				b.ReportAllocs()
				for b.Loop() {
					req.Messages = append(before[:n:n], message.Of(message.User, message.KindUser, "one more"))
					body, err := c.encode(req)
					if err != nil {
						b.Fatal(err)
					}
					b.SetBytes(int64(len(body)))
				}
			})
		}
	}
}
