// A host is where the agents of a session work: this process, which owns the
// data folder then, or a server.

package main

import (
	"context"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

type host interface {
	view.Source
	LastSeq(ctx context.Context) (int64, error)

	// create makes the chat that the flags describe.
	create(ctx context.Context, o *runOptions) (string, error)
	// unfinished tells whether something in a chat has not ended, and
	// lastUnfinished finds the chat with the newest activity of which that is
	// true, "" if there is none.
	unfinished(ctx context.Context, chat string) (bool, error)
	lastUnfinished(ctx context.Context) (string, error)
	// goOn takes up what a chat has left unfinished.
	goOn(ctx context.Context, chat string) error

	// outcomes reports the ends of a chat's runs from now on; it comes before
	// watch.
	outcomes(chat string) (<-chan agent.Outcome, func())
	// watch sends everything that happens to a chat after change since, until
	// the context ends.
	watch(ctx context.Context, chat string, since int64) <-chan happening
	// rest hands over the changes after since that are committed by now.
	rest(ctx context.Context, chat string, since int64, take func(store.Change) error) error

	// send sends a message and tells which agent has it: the orchestrator, or
	// the one that the text begins with. With a model, the orchestrator answers
	// with that from this message on. An *unsentError says why the message was
	// not taken.
	send(ctx context.Context, chat, id, text, model string) (agent string, err error)
	inbox(ctx context.Context, chat string) ([]store.Item, error)
	item(ctx context.Context, id string) (*store.Item, error)
	// answer fails with orchestrate's errors, and store.ErrNotFound.
	answer(ctx context.Context, item string, a orchestrate.Answer) (said string, err error)
	agent(ctx context.Context, id string) (*store.Agent, error)
	cancel(ctx context.Context, agent, by string) error

	state(ctx context.Context, chat string) (runState, error)
	// ending is how the last run ended, and what the chat has used.
	ending(ctx context.Context, chat string) (agent.Outcome, view.Done, error)
	// paused says why nothing can be stored at present.
	paused() error
	// left says what becomes of the work when the command ends before it.
	left() string
}

// runState is how a chat's orchestrator stands.
type runState struct {
	idle bool
	live int // children
	last agent.Outcome
}

// unsentError tells that a message is for an agent that cannot get it, or for a
// model that there is not.
type unsentError struct{ error }

// happening is one item of the feed, or why there are no more.
type happening struct {
	item feedItem
	err  error
}
