package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/enginetest"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// steady is a World whose model takes exactly 50 ms, so that the span of a
// tree with endless cores and free commits is 50 ms a turn.
type steady struct{ *enginetest.World }

func (s steady) CallModel(ctx context.Context, job *engine.Job, call agent.CallModel, onDelta func(string, int, string, string)) agent.Event {
	<-time.After(50 * time.Millisecond)
	return s.World.CallModel(ctx, job, call, onDelta)
}

// BenchmarkTree measures a parent with N children of three tool turns each,
// every event durable: the span of the tree and the CPU time it took.
func BenchmarkTree(b *testing.B) {
	for _, n := range []int{4, 64, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				tree(b, n)
			}
		})
	}
}

func tree(b *testing.B, n int) {
	ctx := b.Context()
	st, err := sqlite.Open(b.TempDir(), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer closed(b, st)
	world := enginetest.NewWorld(1)
	world.Latency = 0
	world.Think = func(job *engine.Job, call agent.CallModel) enginetest.Answer {
		switch {
		case job.Spec.Depth == 1 && call.Turn <= 3:
			return enginetest.Answer{Calls: []enginetest.Call{{Tool: enginetest.Read, Input: `{"path":"main.go"}`}}}
		case job.Spec.Depth == 1:
			in, _ := json.Marshal(map[string]string{"result": "the result of " + job.Spec.ID})
			return enginetest.Answer{Calls: []enginetest.Call{{Tool: enginetest.Submit, Input: string(in)}}}
		case call.Turn == 1:
			return enginetest.Answer{Calls: []enginetest.Call{{Tool: enginetest.Spawn, Plan: enginetest.Plan(n)}}}
		}
		return enginetest.Answer{Text: "done"}
	}
	e := engine.New(engine.Config{Store: st, Performer: steady{world}})
	defer e.Close()
	chat, err := e.CreateChat(ctx, enginetest.Chat())
	if err != nil {
		b.Fatal(err)
	}
	done, _ := e.Outcomes(chat)
	began, cpu := time.Now(), cpuTime(b)
	if err := e.Send(ctx, chat, "m1", message.Of(message.User, message.KindUser, "go"), nil); err != nil {
		b.Fatal(err)
	}
	if o := <-done; o.Reason != agent.ReasonCompleted {
		b.Fatal(o.Reason)
	}
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "span-ms")
	b.ReportMetric((cpuTime(b) - cpu).Seconds(), "cpu-s")
	b.ReportMetric(0, "ns/op")
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
