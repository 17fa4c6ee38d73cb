package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/enginetest"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

func TestConformance(t *testing.T) { enginetest.Conform(t, openEmbedded) }

// flaky is a store whose disk is full while full is set.
type flaky struct {
	store.Store
	full atomic.Bool
}

func (f *flaky) Commit(ctx context.Context, b *store.Batch) error {
	if f.full.Load() {
		return fmt.Errorf("committing: %w: no space left", store.ErrUnavailable)
	}
	return f.Store.Commit(ctx, b)
}

func closed(t testing.TB, c io.Closer) {
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestDiskFull: nothing acknowledged is lost, callers are told, and the agents
// go on by themselves when there is room again.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		disk, err := sqlite.Open(dir, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, disk)
		st := &flaky{Store: disk}
		world := enginetest.NewWorld(1)
		world.Think = func(_ *engine.Job, call agent.CallModel) enginetest.Answer {
			if call.Turn < 4 {
				return enginetest.Answer{Calls: []enginetest.Call{{Tool: enginetest.Read}, {Tool: enginetest.Write}}}
			}
			return enginetest.Answer{Text: "through"}
		}
		e := engine.New(engine.Config{Store: st, Performer: world})
		defer e.Close()
		chat, err := e.CreateChat(ctx, enginetest.Chat())
		if err != nil {
			t.Fatal(err)
		}
		done, _ := e.Outcomes(chat)
		say := func(id string) error {
			return e.Send(ctx, chat, id, message.Of(message.User, message.KindUser, "go"), nil)
		}
		if err := say("m1"); err != nil {
			t.Fatal(err)
		}
		st.full.Store(true)
		<-time.After(time.Minute)
		if err := e.Paused(); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("paused: %v", err)
		}
		if err := say("m2"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a message that could not be stored: %v", err)
		}
		st.full.Store(false)
		if o := <-done; o.Reason != agent.ReasonCompleted {
			t.Errorf("ended as %s", o.Reason)
		}
		if err := e.Paused(); err != nil {
			t.Errorf("still paused: %v", err)
		}
		if err := say("m2"); err != nil {
			t.Error(err)
		}
		<-done
		for key, n := range world.Writes {
			if n != 1 {
				t.Errorf("write %s ran %d times", key, n)
			}
		}
		enginetest.Audit(ctx, st, chat, t.Errorf)
	})
}

// TestWordsOfFailure: the machine's kinds of failure and stop are those of
// the models.
func TestWordsOfFailure(t *testing.T) {
	for a, b := range map[agent.Failure]llm.ErrorKind{
		agent.FailAuth: llm.ErrAuth, agent.FailPermission: llm.ErrPermission, agent.FailNotFound: llm.ErrNotFound,
		agent.FailRateLimit: llm.ErrRateLimit, agent.FailOverloaded: llm.ErrOverloaded, agent.FailQuota: llm.ErrQuota,
		agent.FailOverflow: llm.ErrOverflow, agent.FailBadRequest: llm.ErrBadRequest, agent.FailFilter: llm.ErrFilter,
		agent.FailNetwork: llm.ErrNetwork, agent.FailTimeout: llm.ErrTimeout, agent.FailServer: llm.ErrServer,
	} {
		if string(a) != string(b) {
			t.Errorf("the machine says %q, the models say %q", a, b)
		}
	}
	for a, b := range map[agent.Stop]llm.Stop{
		agent.StopEnd: llm.StopEnd, agent.StopTools: llm.StopTools, agent.StopLength: llm.StopLength,
		agent.StopRefusal: llm.StopRefusal, agent.StopFilter: llm.StopFilter,
	} {
		if string(a) != string(b) {
			t.Errorf("the machine says %q, the models say %q", a, b)
		}
	}
}

// TestVerifyFindsTampering: a log that was changed does not replay to the
// stored state.
func TestVerifyFindsTampering(t *testing.T) {
	ctx := t.Context()
	st, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, st)
	e := engine.New(engine.Config{Store: st, Performer: enginetest.NewWorld(1)})
	defer e.Close()
	chat, err := e.CreateChat(ctx, enginetest.Chat())
	if err != nil {
		t.Fatal(err)
	}
	if _, problems, err := engine.Verify(ctx, st, chat); err != nil || len(problems) > 0 {
		t.Fatalf("sound: %v %v", problems, err)
	}
	tampered := &tampering{Store: st}
	_, problems, err := engine.Verify(ctx, tampered, chat)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0], "another state") {
		t.Errorf("tampered: %v %v", problems, err)
	}
}

type tampering struct{ store.Store }

func (s *tampering) Log(ctx context.Context, id string) ([]store.Event, error) {
	log, err := s.Store.Log(ctx, id)
	for i := range log {
		log[i].Body = []byte(strings.Replace(string(log[i].Body), `"max_depth":2`, `"max_depth":3`, 1))
	}
	return log, err
}
