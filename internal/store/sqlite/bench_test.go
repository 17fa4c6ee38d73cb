//go:build !windows

// This file measures commits, loads and the feed's reads.

package sqlite

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cadre-dev/cadre/internal/store"
)

// benchAgents opens a store with a chat and n sub-agents.
func benchAgents(b *testing.B, n int) (*Store, []string) {
	b.Helper()
	s := open(b, b.TempDir())
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	batch := &store.Batch{Entries: []*store.Entry{{
		Chat: "c1", Agent: "c1", Type: "Created",
		Docs: []store.Doc{store.NewChat{Chat: store.Chat{ID: "c1"}}, store.NewAgent{Agent: store.Agent{ID: "c1", ChatID: "c1"}}},
	}}}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("c1.%d", i+1)
		batch.Entries = append(batch.Entries, &store.Entry{
			Chat: "c1", Agent: ids[i], Type: "Created",
			Docs: []store.Doc{store.NewAgent{Agent: store.Agent{ID: ids[i], ChatID: "c1", Parent: "c1", Depth: 1}}},
		})
	}
	if err := s.Commit(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	return s, ids
}

var (
	benchBody  = []byte(`{"at":1763000000000,"turn":3,"try":1,"stop":"tools","calls":[{"id":"call_1","name":"read_file","class":"read"}],"spent":{"tokens":1200,"cost":340}}`)
	benchParts = []byte(`[{"type":"text","text":"The quick brown fox jumps over the lazy dog and reports that all is well."},{"type":"tool_call","id":"call_1","name":"read_file","input":{"path":"internal/agent/step.go"}}]`)
)

// benchEntry is a typical one: an event, the head, a message.
func benchEntry(agent string, pos int) *store.Entry {
	return &store.Entry{
		Chat: "c1", Agent: agent, At: int64(pos), Type: "ModelReplied", Version: 1, Body: benchBody,
		Docs: []store.Doc{
			store.NewMessage{Message: store.Message{Agent: agent, Pos: pos, Role: "assistant", Kind: "reply", Turn: pos, Parts: benchParts, CreatedAt: 1763000000000}},
			store.SetHead{ID: agent, Head: store.Head{Status: "acting", SubAgent: "active", Recorded: "running", Turns: pos, Busy: true, UpdatedAt: int64(pos)}},
		},
	}
}

// cpu is the processor time that this process has used, in microseconds. Unlike
// the time of day it does not depend on who else is at work.
func cpu(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}

// BenchmarkCommitParallel is 64 agents that each commit one small entry after
// the other.
func BenchmarkCommitParallel(b *testing.B) {
	const workers = 64
	s, agents := benchAgents(b, workers)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	before := cpu(b)
	b.ResetTimer()
	var wg sync.WaitGroup
	for _, agent := range agents {
		wg.Go(func() {
			for pos := 0; left.Add(-1) >= 0; pos++ {
				if err := s.Commit(b.Context(), &store.Batch{Entries: []*store.Entry{benchEntry(agent, pos)}}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	b.ReportMetric((cpu(b)-before)/float64(b.N)/3, "cpu-µs/row")
}

// BenchmarkCommitBatch is one batch of 256 entries, each an event, a head and
// a message: 768 rows.
func BenchmarkCommitBatch(b *testing.B) {
	const entries = 256
	s, agents := benchAgents(b, entries)
	b.ReportAllocs()
	pos := 0
	before := cpu(b)
	for b.Loop() {
		batch := &store.Batch{Entries: make([]*store.Entry, entries)}
		for i := range batch.Entries {
			batch.Entries[i] = benchEntry(agents[i], pos)
		}
		pos++
		if err := s.Commit(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpu(b)-before)/float64(b.N)/(3*entries), "cpu-µs/row")
}

// BenchmarkLoad is what recovery does for each agent.
func BenchmarkLoad(b *testing.B) {
	s, agents := benchAgents(b, 1)
	for pos := range 32 {
		e := benchEntry(agents[0], pos)
		if pos == 24 {
			e.Snapshot = make([]byte, 600)
		}
		if err := s.Commit(b.Context(), &store.Batch{Entries: []*store.Entry{e}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Load(b.Context(), agents[0]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChanges is a page of the feed.
func BenchmarkChanges(b *testing.B) {
	s, agents := benchAgents(b, 64)
	for pos := range 8 {
		batch := &store.Batch{}
		for _, a := range agents {
			batch.Entries = append(batch.Entries, benchEntry(a, pos))
		}
		if err := s.Commit(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		list, _, err := s.Changes(b.Context(), 100, 256, store.Filter{})
		if err != nil || len(list) != 256 {
			b.Fatal(len(list), err)
		}
	}
}
