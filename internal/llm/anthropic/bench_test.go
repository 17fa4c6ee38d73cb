// What a chunk and a request cost.

package anthropic

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

const chunk = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello there\"}}\n\n"

// BenchmarkChunk measures a chunk of a stream from the connection to the
// delta: HTTP, event, JSON. The server writes a hundred at a time; the time of
// its own goroutine is in the figure.
func BenchmarkChunk(b *testing.B) {
	head, tail, _ := strings.Cut(wiretest.Fixture(b, "text.sse"), "event: content_block_delta")
	_, tail, _ = strings.Cut(tail, "event: content_block_stop")
	const batch = 100
	batched := strings.Repeat(chunk, batch)
	p := to(b, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, head)
		for range b.N/batch + 1 {
			_, _ = io.WriteString(w, batched)
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, "event: content_block_stop"+tail)
	}, Options{})
	b.ReportAllocs()
	b.ResetTimer()
	n := 0
	if _, err := p.Call(b.Context(), hello(), func(llm.Delta) { n++ }); err != nil {
		b.Fatal(err)
	}
	if n < b.N {
		b.Fatalf("%d deltas of %d", n, b.N)
	}
}

// BenchmarkDecode measures the same without a connection.
func BenchmarkDecode(b *testing.B) {
	r := wire.NewReader(&loop{})
	bd := &builder{onDelta: func(llm.Delta) {}}
	bd.open(&block{kind: textBlock})
	b.ReportAllocs()
	for b.Loop() {
		ev, err := r.Next()
		if err != nil {
			b.Fatal(err)
		}
		e, err := parse(ev)
		if err != nil {
			b.Fatal(err)
		}
		if err := bd.take(&e); err != nil {
			b.Fatal(err)
		}
		bd.blocks[0].text = bd.blocks[0].text[:0]
	}
}

type loop struct{}

func (*loop) Read(p []byte) (int, error) { return copy(p, chunk), nil }

var sink []byte

// BenchmarkEncode measures one more turn of a conversation: with a memo only
// its two new messages are encoded. Copying a body of the size is all that may
// grow with the history, and is measured beside it.
func BenchmarkEncode(b *testing.B) {
	p := New(Options{}).(*provider)
	for _, n := range []int{10, 100, 1000} {
		msgs := conversation(n / 2)
		for _, how := range []string{"memo", "fresh"} {
			b.Run(fmt.Sprintf("%d/%s", n, how), func(b *testing.B) {
				memo := &llm.Memo{}
				size := 0
				turn := func(msgs []message.Message) {
					req := &llm.Request{Model: "m", System: "s", Messages: msgs}
					if how == "memo" {
						req.Memo = memo
					}
					body, err := p.encode(req)
					if err != nil {
						b.Fatal(err)
					}
					size = len(body)
				}
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					turn(msgs[:len(msgs)-2])
					b.StartTimer()
					turn(msgs)
				}
				b.ReportMetric(float64(size), "body-B")
			})
		}
		b.Run(fmt.Sprintf("%d/copy", n), func(b *testing.B) {
			body := []byte(encoded(b, Options{}, &llm.Request{Model: "m", System: "s", Messages: msgs}))
			b.ReportAllocs()
			for b.Loop() {
				sink = append(make([]byte, 0, len(body)), body...)
			}
		})
	}
}
