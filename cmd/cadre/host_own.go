// The host of a run that owns the data folder: the engine of this process.

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/client"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

type feedItem = feed.Item

type ownHost struct {
	store.Store
	app  *app.App
	warn func([]string) // tells what a person should know before anything begins; only create does
}

var _ host = (*ownHost)(nil)

func (h *ownHost) create(ctx context.Context, o *runOptions) (string, error) {
	c, err := h.app.Performer.NewChat(orchestrate.Root{Role: o.role, Model: o.model, Dir: o.cwd, Limits: o.limits()})
	if err != nil {
		return "", wrong(err, "")
	}
	h.warn(h.app.Cautions(c.Spec.Models...))
	c.User = localUser()
	c.Title = o.title()
	chat, err := h.app.Engine.CreateChat(ctx, c)
	if errors.Is(err, agent.ErrNoPrice) {
		return "", noPrice(strings.Join(c.Spec.Models, ", "))
	}
	return chat, err
}

func noPrice(model string) error {
	return usage("--max-cost: the price of model %s is not known, so that its cost cannot be limited", model)
}

func (h *ownHost) unfinished(ctx context.Context, chat string) (bool, error) {
	return unfinished(ctx, h.Store, chat)
}

func (h *ownHost) lastUnfinished(ctx context.Context) (string, error) {
	return lastUnfinished(ctx, h.Store)
}

func (h *ownHost) goOn(ctx context.Context, chat string) error {
	return h.app.Engine.Recover(ctx, chat)
}

func (h *ownHost) outcomes(chat string) (<-chan agent.Outcome, func()) {
	return h.app.Engine.Outcomes(chat)
}

// watch: one who reads slowly is cut off by the feed; it goes on by number, so
// that nothing is missed.
func (h *ownHost) watch(ctx context.Context, chat string, since int64) <-chan happening {
	out := make(chan happening)
	go func() {
		for {
			sub := h.app.Feed.Subscribe(ctx, since, store.Filter{Chat: chat}, feed.Options{Deltas: true})
			err := forward(ctx, sub, out)
			sub.Close()
			var slow *feed.SlowError
			if errors.As(err, &slow) {
				since = slow.Last
				continue
			}
			tell(ctx, out, happening{err: err})
			return
		}
	}()
	return out
}

func forward(ctx context.Context, sub *feed.Subscription, out chan<- happening) error {
	for {
		item, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		if !tell(ctx, out, happening{item: item}) {
			return ctx.Err()
		}
	}
}

// tell sends, unless nobody listens any more.
func tell(ctx context.Context, out chan<- happening, h happening) bool {
	select {
	case out <- h:
		return true
	case <-ctx.Done():
		return false
	}
}

func (h *ownHost) rest(ctx context.Context, chat string, since int64, take func(store.Change) error) error {
	for {
		changes, _, err := h.Changes(ctx, since, 256, store.Filter{Chat: chat})
		if err != nil || len(changes) == 0 {
			return err
		}
		for _, c := range changes {
			if err := take(c); err != nil {
				return err
			}
			since = c.Seq
		}
	}
}

// choose finds the models that a message chooses.
func (h *ownHost) choose(ctx context.Context, chat, model string) (*agent.Choice, error) {
	row, err := h.Chat(ctx, chat)
	if err != nil {
		return nil, err
	}
	c, err := h.app.Performer.Choose(row.Dir, model)
	if err != nil {
		return nil, &unsentError{err}
	}
	h.warn(h.app.Cautions(c.Models...))
	return &c, nil
}

func (h *ownHost) send(ctx context.Context, chat, id, text, model string) (string, error) {
	agents, err := h.Tree(ctx, chat)
	if err != nil {
		return "", fmt.Errorf("reading the agents of the chat: %w", err)
	}
	to, body := chat, text
	a, rest, addressed, err := orchestrate.Addressed(agents, text)
	if err != nil {
		return "", &unsentError{err}
	}
	if addressed {
		to, body = a.ID, rest
	}
	var models *agent.Choice
	if model != "" {
		if models, err = h.choose(ctx, chat, model); err != nil {
			return "", err
		}
	}
	err = h.app.Engine.Send(ctx, to, id, message.Of(message.User, message.KindUser, body), models)
	if errors.Is(err, agent.ErrNoPrice) {
		return "", &unsentError{err}
	}
	if addressed && (errors.Is(err, agent.ErrEnded) || errors.Is(err, agent.ErrEnding) || errors.Is(err, agent.ErrNoReader)) {
		return "", &unsentError{fmt.Errorf("not sent to %s: %w", a.Path, err)}
	}
	return to, err
}

func (h *ownHost) inbox(ctx context.Context, chat string) ([]store.Item, error) {
	return h.Inbox(ctx, store.InboxQuery{Chat: chat})
}

func (h *ownHost) item(ctx context.Context, id string) (*store.Item, error) { return h.Item(ctx, id) }

func (h *ownHost) answer(ctx context.Context, item string, a orchestrate.Answer) (string, error) {
	said, err := h.app.Inbox.Answer(ctx, item, a)
	if err != nil {
		return said, err
	}
	i, err := h.Item(ctx, item)
	if err != nil {
		return said, err
	}
	return said, h.noted(ctx, "inbox.answer", item, i.Kind+" "+i.How+" "+i.Scope)
}

// noted writes the audit log as a server would.
func (h *ownHost) noted(ctx context.Context, action, target, detail string) error {
	if err := note(context.WithoutCancel(ctx), h.app.Store, action, target, detail); err != nil {
		return fmt.Errorf("it is done, but the audit log could not be written: %w", err)
	}
	return nil
}

func (h *ownHost) agent(ctx context.Context, id string) (*store.Agent, error) {
	return h.Agent(ctx, id)
}

func (h *ownHost) cancel(ctx context.Context, agent, by string) error {
	if err := h.app.Engine.Cancel(ctx, agent, by); err != nil {
		return err
	}
	action := "agent.stop"
	if client.ChatOf(agent) == agent {
		action = "chat.stop"
	}
	return h.noted(ctx, action, agent, "")
}

func (h *ownHost) state(ctx context.Context, chat string) (runState, error) {
	st, _, err := engine.Load(ctx, h.Store, chat)
	if err != nil {
		return runState{}, err
	}
	_, idle := st.Phase.(agent.Idle)
	return runState{idle: idle, live: st.LiveChildren(), last: st.Last}, nil
}

func (h *ownHost) ending(ctx context.Context, chat string) (agent.Outcome, view.Done, error) {
	now, err := h.state(ctx, chat)
	if err != nil {
		return now.last, view.Done{}, err
	}
	d, err := view.Summarise(ctx, h.Store, chat, now.last)
	return now.last, d, err
}

func (h *ownHost) paused() error { return h.app.Engine.Paused() }

func (h *ownHost) left() string { return "everything so far is stored" }
