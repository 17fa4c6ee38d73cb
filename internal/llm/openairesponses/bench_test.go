// Benchmarks: an event of a stream, and a turn over histories of several
// lengths.

package openairesponses

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

const benchDelta = `{"type":"response.output_text.delta","content_index":0,"delta":" wonderful","item_id":"msg_065915db01d8635a016a3c125c524c81a39e48ac0ebbcb6b30","logprobs":[],"obfuscation":"xgdyp","output_index":1,"sequence_number":102}`

// BenchmarkChunk decodes single events.
func BenchmarkChunk(b *testing.B) {
	ev := wire.Event{Data: []byte(benchDelta)}
	bl := &builder{onDelta: func(llm.Delta) {}}
	b.SetBytes(int64(len(ev.Data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := bl.read(ev); err != nil {
			b.Fatal(err)
		}
		if bl.parts[0].text.Len() > 1<<16 {
			bl.parts[0].text.Reset()
		}
	}
}

// BenchmarkStream makes whole calls over HTTP, 1,000 events each, and tells
// the time per event.
func BenchmarkStream(b *testing.B) {
	const n = 1000
	body := strings.Repeat("event: response.output_text.delta\n"+events(benchDelta), n-1) + events(completed)
	p := serve(b, wiretest.Say(eventStream, body)).provider()
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
