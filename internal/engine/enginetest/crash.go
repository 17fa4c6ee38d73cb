package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// Setup is what a suite gives an engine under test.
type Setup struct {
	Dir       string
	Performer engine.Performer
	Crash     func(point string) bool
	NewID     func() string
}

// Factory opens an engine on what Setup.Dir holds. The returned function ends
// it as a dead process would leave it, and gives the folder free.
type Factory func(t *testing.T, s Setup) (engine.Runtime, store.Store, func())

// Crash plays the life of a whole tree under a seed: parent, parallel
// children, grandchildren, retries, timeouts, cancels, user messages at random
// moments, with crashes at up to three points, one of them often in recovery
// itself. Afterwards nothing that was acknowledged may be missing, nothing may
// have happened twice, and the log must replay to the stored state.
func Crash(t *testing.T, open Factory, seed uint64) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 1))
		points := make([]int, 1+r.IntN(3))
		for i := range points {
			points[i] = r.IntN(60)
		}
		life := newLife(t, open, dir, seed, r)
		for _, at := range points {
			life.run(at)
			if t.Failed() {
				return
			}
		}
		life.run(-1)
		life.check()
	})
}

// CrashEverywhere crashes the same life at each of its boundaries in turn.
func CrashEverywhere(t *testing.T, open Factory, seed uint64) {
	t.Helper()
	one := func(t *testing.T, at int) (boundaries int) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			life := newLife(t, open, dir, seed, rand.New(rand.NewPCG(seed, 2)))
			life.run(at)
			boundaries = life.boundaries
			life.run(-1)
			life.check()
		})
		return boundaries
	}
	n := one(t, math.MaxInt) // crashes nowhere, and leaves the end to the next process
	t.Logf("seed %d: %d boundaries", seed, n)
	for at := range n {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			one(t, at)
		})
	}
}

// life is one tree from its birth to its end, over several processes.
type life struct {
	t     *testing.T
	open  Factory
	dir   string
	seed  uint64
	world *World
	r     *rand.Rand

	boundaries int // that the last run had

	chat  string
	mu    sync.Mutex
	acked map[string]bool   // user messages that the engine has acknowledged
	given map[string]string // and answers: how each item was closed by them
	sent  int
	wants int // messages the user still wants to send
}

func newLife(t *testing.T, open Factory, dir string, seed uint64, r *rand.Rand) *life {
	return &life{t: t, open: open, dir: dir, seed: seed, world: NewWorld(seed), r: r, acked: map[string]bool{}, given: map[string]string{}, wants: 1 + r.IntN(4)}
}

// run starts a process, goes on with what is there, and lets it crash at the
// given boundary (-1: never). It tells whether it crashed.
func (l *life) run(at int) bool {
	l.t.Helper()
	n, crashed := 0, make(chan struct{})
	rt, st, kill := l.open(l.t, Setup{
		Dir: l.dir, Performer: l.world, NewID: func() string { return "chat" },
		Crash: func(string) bool {
			n++
			if n-1 == at {
				close(crashed)
				return true
			}
			return false
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var user sync.WaitGroup
	user.Go(func() { l.user(ctx, rt, st) })
	done := make(chan struct{})
	go func() { user.Wait(); close(done) }()
	var died bool
	select {
	case <-crashed:
		died = true
	case <-done:
		if at < 0 {
			l.settle(ctx, rt, st)
		}
	case <-time.After(24 * time.Hour): // of fake time
		l.t.Errorf("seed %d: stuck after %d boundaries", l.seed, n)
	}
	cancel()
	user.Wait()
	kill()
	synctest.Wait()
	l.boundaries = n
	return died
}

// user is a person who creates the chat, recovers it after a crash, sends
// messages at random moments, answers some of what is asked and sometimes
// stops something.
func (l *life) user(ctx context.Context, rt engine.Runtime, st store.Store) {
	if err := l.begin(ctx, rt, st); err != nil {
		return
	}
	for ctx.Err() == nil {
		l.mu.Lock()
		if l.sent >= l.wants {
			l.mu.Unlock()
			return
		}
		id := fmt.Sprintf("msg%d", l.sent+1)
		pause := time.Duration(l.r.IntN(1500)) * time.Millisecond
		stop := l.r.IntN(5) == 0
		victim := fmt.Sprintf("chat.%d", 1+l.r.IntN(3))
		if l.r.IntN(3) == 0 {
			victim = "chat"
		}
		l.mu.Unlock()
		var models *agent.Choice
		if l.sent%2 == 1 {
			models = &agent.Choice{Models: []string{"world-" + id, "world"}, Price: agent.Price{Known: true}}
		}
		if err := rt.Send(ctx, l.chat, id, message.Of(message.User, message.KindUser, "do "+id), models); err != nil {
			return // not acknowledged: sent again by the next process
		}
		l.mu.Lock()
		l.acked[id] = true
		l.sent++
		l.mu.Unlock()
		if !sleep(ctx, pause) {
			return
		}
		l.answer(ctx, rt, st, 3)
		if stop {
			if err := rt.Cancel(ctx, victim, "user"); err != nil && !errors.Is(err, engine.ErrUnknown) && ctx.Err() == nil && !errors.Is(err, engine.ErrClosed) {
				l.t.Errorf("seed %d: cancelling %s: %v", l.seed, victim, err)
			}
		}
	}
}

func (l *life) begin(ctx context.Context, rt engine.Runtime, st store.Store) error {
	if _, err := st.Chat(ctx, "chat"); err == nil {
		l.chat = "chat"
		return rt.Recover(ctx, "")
	}
	c := Chat()
	c.Spec.BudgetWait, c.Spec.Limits.Agents = 20_000, mostAgents
	id, err := rt.CreateChat(ctx, c)
	l.chat = id
	return err
}

const mostAgents = 24

// answer gives every n-th item that waits an answer.
func (l *life) answer(ctx context.Context, rt engine.Runtime, st store.Store, n int) {
	items, err := st.Inbox(ctx, store.InboxQuery{Chat: l.chat})
	if err != nil {
		return // the store is closed
	}
	for _, i := range items {
		l.mu.Lock()
		chosen, yes := l.r.IntN(n) == 0, l.r.IntN(4) > 0
		l.mu.Unlock()
		if !chosen || i.Status != "open" {
			continue
		}
		var ev agent.Event
		how := ""
		switch i.Kind {
		case "budget", "approval":
			how = map[bool]string{true: "allowed", false: "denied"}[yes]
			ev = agent.ApprovalAnswered{Item: i.ID, Allow: yes, Scope: "once", By: "u1"}
		case "worktree":
			how = map[bool]string{true: "merged", false: "discarded"}[yes]
			ev = agent.WorkDecided{Item: i.ID, How: how, By: "u1"}
		default:
			how = map[bool]string{true: "answered", false: "declined"}[yes]
			ev = agent.QuestionAnswered{Item: i.ID, Declined: !yes, By: "u1", Answer: "the first"}
		}
		err := rt.Deliver(ctx, i.Agent, ev)
		switch {
		case err == nil:
			l.mu.Lock()
			l.given[i.ID] = how
			l.mu.Unlock()
		case errors.Is(err, agent.ErrNotWaiting), errors.Is(err, engine.ErrClosed), ctx.Err() != nil:
		default:
			l.t.Errorf("seed %d: answering %s: %v", l.seed, i.ID, err)
		}
	}
}

// settle lets the tree come to rest and has the user say one last thing, so
// that whatever waits for a turn is taken in.
func (l *life) settle(ctx context.Context, rt engine.Runtime, st store.Store) {
	for i := range 3 {
		if !l.rest(ctx, st) {
			return
		}
		id := fmt.Sprintf("last%d", i)
		if err := rt.Send(ctx, l.chat, id, message.Of(message.User, message.KindUser, "finish"), nil); err != nil {
			l.t.Errorf("seed %d: last message: %v", l.seed, err)
			return
		}
		l.acked[id] = true
	}
	if l.rest(ctx, st) {
		l.answer(ctx, rt, st, 1) // what agents have left behind
	}
}

// rest waits, in fake time, until no agent is at work.
func (l *life) rest(ctx context.Context, st store.Store) bool {
	for range 500 {
		if !sleep(ctx, 20*time.Second) {
			return false
		}
		tree, err := st.Tree(ctx, l.chat)
		if err != nil {
			l.t.Errorf("reading the tree: %v", err)
			return false
		}
		busy := false
		for _, a := range tree {
			if a.Depth == 0 && a.Status != string(agent.StatusIdle) || a.Depth > 0 && a.EndedAt == 0 {
				busy = true
			}
		}
		if !busy {
			return true
		}
	}
	l.t.Errorf("seed %d: the tree does not come to rest", l.seed)
	return false
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
