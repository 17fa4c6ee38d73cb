// Package engine runs agents in one process: it takes events in, lets
// agent.Step decide, commits what Step returned and only then performs it.
//
// One goroutine steps and commits; it is the only one that touches the state
// of an agent, so that nothing here needs a lock to keep a conversation
// consistent. What has arrived while a commit was under way is committed
// together with the next one. An agent that waits costs its state, a few
// hundred bytes, and no goroutine.
//
// The engine decides nothing about conversations: if a rule seems to be
// needed here, it belongs into Step.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// Config is what an engine is made of.
type Config struct {
	Store     store.Store
	Performer Performer
	Feed      Feed             // nil: nobody listens
	Now       func() time.Time // nil: time.Now
	NewID     func() string    // nil: random
	Log       *slog.Logger     // nil: discard

	// Printed is a folder for what running tools print, so that an agent can
	// be told when the process dies meanwhile; empty: nothing is kept.
	Printed string

	// Hold keeps outside effects from starting: what is delivered is
	// committed, and a process that recovers goes on with it.
	Hold bool

	// Crash lets tests end the engine at a named point as if the process had
	// been killed there: it returns true to do so.
	Crash func(point string) bool
}

// Feed is told what has been committed, and passes on what is being said. Its
// methods do not block.
type Feed interface {
	Notify([]*store.Entry) // these are committed
	Publish(feed.Delta)    // a piece of a reply, or of what a tool prints, has come
	Discard(call string)   // that call of a model or a tool is over; what it said is committed or void
}

// The errors of an engine that callers tell apart; see also package agent's.
var (
	ErrClosed  = errors.New("the engine is shutting down")
	ErrUnknown = errors.New("no such agent")
)

// Runtime is what an engine offers, whatever it runs on: the conformance and
// crash suites in enginetest speak to this interface alone.
type Runtime interface {
	// CreateChat makes a chat with its orchestrator; it returns when that is
	// durable.
	CreateChat(ctx context.Context, c NewChat) (string, error)
	// Deliver hands an event to an agent; it returns when the event is
	// committed (nil) or refused (Step's error).
	Deliver(ctx context.Context, agent string, ev agent.Event) error
	// Send delivers a user message; the same id twice is one message. One to
	// an orchestrator may choose the models that answer from it on.
	Send(ctx context.Context, to, id string, body message.Message, models *agent.Choice) error
	// Cancel asks an agent and everything below it to end.
	Cancel(ctx context.Context, agent, by string) error
	// Printed is what a tool call that runs has printed so far, as far as that
	// is kept: its beginning and its end.
	Printed(call string) string
	// Outcomes reports the ends of a chat's runs from now on.
	Outcomes(chat string) (<-chan agent.Outcome, func())
	// Recover goes on with what a dead process left unfinished.
	Recover(ctx context.Context, chat string) error
	// Close leaves nothing running.
	Close()
}

var _ Runtime = (*Engine)(nil)

// batchCap bounds how many events share a commit.
const batchCap = 256

// Engine implements Runtime in this process.
type Engine struct {
	cfg   Config
	box   *mailbox
	quit  chan struct{} // closed: the loop ends
	ended chan struct{} // closed: the loop has ended
	work  sync.WaitGroup
	base  context.Context // of all outside effects
	stop  context.CancelFunc

	// Owned by the loop.
	live    map[string]*live
	names   map[named]int
	counted map[string]bool // the chats whose names are known
	totals  map[string]int  // how many agents those have had
	prompts map[string]bool // known to the store
	timers  timers
	blanks  []*staged // for the next batch
	crashed bool

	mu      sync.Mutex // guards what follows, which callers read
	waiters map[string][]chan agent.Outcome
	answers map[answerKey]chan agent.TellTool
	prints  map[string]*printed // by the id of the tool call
	spool   spool
	paused  error
	once    sync.Once
}

// New makes an engine and starts its loop. Nothing is performed before
// Recover or the first event.
func New(cfg Config) *Engine {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = randomID
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Feed == nil {
		cfg.Feed = noFeed{}
	}
	base, stop := context.WithCancel(context.Background())
	e := &Engine{
		cfg: cfg, box: newMailbox(), quit: make(chan struct{}), ended: make(chan struct{}),
		base: base, stop: stop,
		live: map[string]*live{}, names: map[named]int{}, counted: map[string]bool{}, totals: map[string]int{}, prompts: map[string]bool{},
		waiters: map[string][]chan agent.Outcome{}, answers: map[answerKey]chan agent.TellTool{}, prints: map[string]*printed{},
		spool: spool{dir: cfg.Printed, log: cfg.Log},
	}
	go e.loop()
	return e
}

// live is an agent in memory. Only the loop touches it.
type live struct {
	state   agent.State
	fresh   int               // applied events since the last snapshot
	history []message.Message // nil: not loaded. Kept while the agent is at work
	queued  map[string]message.Message
	memo    *llm.Memo                        // lives as long as history does
	running map[effectKey]context.CancelFunc // outside effects under way, by key
	printed *printed                         // by the tool of a tool run
}

// NewChat describes a chat to be created.
type NewChat struct {
	User   store.User
	Title  string
	Spec   agent.Spec // of the orchestrator; the engine gives it its id
	Prompt string     // its system prompt; Spec.Prompt is its id
	Tokens int64      // estimate of prompt, tools and what it takes over
	Prior  int        // messages it takes over from the agent that Spec.Adopts names
}

// CreateChat makes a chat with its orchestrator and returns its id once it is
// durable.
func (e *Engine) CreateChat(ctx context.Context, c NewChat) (string, error) {
	id := e.cfg.NewID()
	c.Spec.ID, c.Spec.Chat, c.Spec.Parent, c.Spec.Depth = id, id, "", 0
	c.Spec.User = c.User.ID
	ev := agent.Created{Spec: c.Spec, Tokens: c.Tokens, Prior: c.Prior}
	if err := e.deliver(ctx, delivery{agent: id, ev: ev, chat: &c}); err != nil {
		return "", fmt.Errorf("creating the chat: %w", err)
	}
	return id, nil
}

// Deliver hands an event to an agent and returns once it is committed, or
// refused. A stale or refused event returns Step's error.
func (e *Engine) Deliver(ctx context.Context, id string, ev agent.Event) error {
	return e.deliver(ctx, delivery{agent: id, ev: ev})
}

// Send implements Runtime.
func (e *Engine) Send(ctx context.Context, to, id string, body message.Message, models *agent.Choice) error {
	if _, err := e.cfg.Store.UserMessage(ctx, id); err == nil {
		return nil
	}
	err := e.Deliver(ctx, to, agent.UserMessage{ID: id, Tokens: Tokens(body), Choice: models, Body: body})
	if errors.Is(err, store.ErrDuplicate) {
		return nil // sent twice at the same time
	}
	return err
}

// Cancel asks an agent and everything below it to end.
func (e *Engine) Cancel(ctx context.Context, id, by string) error {
	err := e.Deliver(ctx, id, agent.Cancel{Reason: agent.ReasonCancelled, By: by})
	if errors.Is(err, agent.ErrStale) {
		return nil // it had ended already
	}
	return err
}

func (e *Engine) deliver(ctx context.Context, d delivery) error {
	d.reply = make(chan error, 1)
	if !e.box.put(d) {
		return ErrClosed
	}
	select {
	case err := <-d.reply:
		return err
	case <-e.ended:
		select {
		case err := <-d.reply:
			return err
		default:
			return ErrClosed
		}
	case <-ctx.Done():
		return fmt.Errorf("waiting for the commit: %w", ctx.Err())
	}
}

// Outcomes reports each end of a run of the chat's orchestrator from now on,
// until the returned function is called.
func (e *Engine) Outcomes(chat string) (<-chan agent.Outcome, func()) {
	c := make(chan agent.Outcome, 16)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiters[chat] = append(e.waiters[chat], c)
	return c, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		for i, w := range e.waiters[chat] {
			if w == c {
				e.waiters[chat] = append(e.waiters[chat][:i:i], e.waiters[chat][i+1:]...)
				break
			}
		}
		if len(e.waiters[chat]) == 0 {
			delete(e.waiters, chat)
		}
	}
}

func (e *Engine) announce(chat string, o agent.Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.waiters[chat] {
		select {
		case w <- o:
		default: // it has 16 outcomes to read already
		}
	}
}

// Paused returns why the engine cannot commit at present, nil if it can.
func (e *Engine) Paused() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.paused
}

// Close stops taking events, lets the commit under way finish, ends outside
// effects without waiting for their outcomes to count, and returns when
// nothing is left running. What was unfinished is for Recover to go on with.
func (e *Engine) Close() {
	e.once.Do(func() {
		e.box.close()
		close(e.quit)
		<-e.ended
		e.stop()
		e.work.Wait()
	})
}

// loop is the one goroutine that steps and commits.
func (e *Engine) loop() {
	defer close(e.ended)
	defer e.stop()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(e.timers.wait(e.cfg.Now()))
		select {
		case <-e.quit:
			return
		case <-e.box.signal:
		case <-timer.C:
		}
		batch := e.box.take(batchCap)
		for _, id := range e.timers.due(e.cfg.Now().UnixMilli()) {
			batch = append(batch, delivery{agent: id, ev: agent.Tick{}})
		}
		if len(batch) == 0 {
			continue
		}
		batch, deletions := apart(batch)
		if len(batch) > 0 {
			e.commit(batch)
		}
		for _, d := range deletions {
			e.commit([]delivery{d})
		}
		if e.crashed {
			e.box.close()
			return
		}
	}
}

// crash tells whether a test wants the engine to die here.
func (e *Engine) crash(point string) bool {
	if e.cfg.Crash != nil && e.cfg.Crash(point) {
		e.crashed = true
	}
	return e.crashed
}

type noFeed struct{}

func (noFeed) Notify([]*store.Entry) {}
func (noFeed) Publish(feed.Delta)    {}
func (noFeed) Discard(string)        {}
