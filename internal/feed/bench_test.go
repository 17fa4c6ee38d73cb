// This file measures what the feed costs those who write.

package feed

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/store"
)

// benchFeed is a feed with subscribers that take what they get.
func benchFeed(b *testing.B, subscribers int) (*source, *Feed) {
	b.Helper()
	s := &source{}
	f := New(s)
	seq := commit(s, f, "c1")
	var wg, joined sync.WaitGroup
	for range subscribers {
		joined.Add(1)
		wg.Go(func() {
			sub := f.Subscribe(b.Context(), 0, store.Filter{Chat: "c1"}, Options{Deltas: true, Buffer: 1 << 20})
			defer sub.Close()
			for {
				item, err := sub.Next(b.Context())
				if err != nil {
					return
				}
				if item.Change != nil && item.Change.Seq == seq {
					joined.Done()
				}
			}
		})
	}
	joined.Wait()
	b.Cleanup(func() {
		f.Close()
		wg.Wait()
	})
	return s, f
}

// BenchmarkPublish is what a piece of a reply costs the engine.
func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{0, 1, 1000} {
		b.Run(fmt.Sprintf("subscribers=%d", n), func(b *testing.B) {
			_, f := benchFeed(b, n)
			b.ReportAllocs()
			offset, turn, call := 0, 1, "c1-t1.1"
			for b.Loop() {
				d := said("c1", 0, offset, "token ")
				d.Turn, d.Call = turn, call
				f.Publish(d)
				if offset += len(d.Text); offset > 20_000 {
					f.Discard(d.Call)
					offset, turn = 0, turn+1
					call = store.ModelCallID("c1", turn, 1)
				}
			}
		})
	}
}

// BenchmarkNotify is what a commit costs the engine beside the commit itself.
func BenchmarkNotify(b *testing.B) {
	for _, n := range []int{0, 1, 1000} {
		b.Run(fmt.Sprintf("subscribers=%d", n), func(b *testing.B) {
			_, f := benchFeed(b, n)
			b.ReportAllocs()
			seq := int64(2)
			for b.Loop() {
				f.reached(seq)
				seq++
			}
		})
	}
}
