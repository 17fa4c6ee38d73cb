// What a chunk and a request cost.

package gemini

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

const chunk = `data: {"candidates": [{"content": {"parts": [{"text": " by learning patterns"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 11,"candidatesTokenCount": 4,"totalTokenCount": 15,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 11}]},"modelVersion": "gemini-2.5-flash","responseId": "rid-1"}` + "\r\n\r\n"

// BenchmarkChunk measures a chunk of a stream from the connection to the
// delta: HTTP, event, JSON. The server writes a hundred at a time; the time of
// its own goroutine is in the figure.
func BenchmarkChunk(b *testing.B) {
	const batch = 100
	batched := strings.Repeat(chunk, batch)
	end := wiretest.Fixture(b, "text.sse")
	p := to(b, func(w http.ResponseWriter, _ *http.Request) {
		for range b.N/batch + 1 {
			_, _ = io.WriteString(w, batched)
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, end)
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

// BenchmarkEncode measures one more turn of a conversation: with a memo only
// its two new messages are encoded.
func BenchmarkEncode(b *testing.B) {
	p := New(Options{}).(*provider)
	for _, n := range []int{10, 100, 1000} {
		msgs := conversation(n / 2)
		for _, how := range []string{"memo", "fresh"} {
			b.Run(fmt.Sprintf("%d/%s", n, how), func(b *testing.B) {
				memo := &llm.Memo{}
				size := 0
				turn := func(msgs []message.Message) {
					req := &llm.Request{Model: asked, System: "s", Messages: msgs}
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
	}
}
