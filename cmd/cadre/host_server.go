// The host of a run that a server does the work of. The server goes on whether
// the command stays or not; a connection that breaks off is made again.

package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/client"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

// absence is how long a server may be away, for a restart say.
const absence = 2 * time.Minute

type serverHost struct {
	c        *client.Client
	anywhere bool // the current folder means nothing there: the server has its own
	ends     chan agent.Outcome
	stands   atomic.Pointer[string] // why the server can store nothing; nil or empty: it can
}

var _ host = (*serverHost)(nil)

func (h *serverHost) Chat(ctx context.Context, id string) (*store.Chat, error) {
	s, err := h.c.Chat(ctx, id)
	return &s.Chat.Chat, err
}

func (h *serverHost) Tree(ctx context.Context, chat string) ([]store.Agent, error) {
	return h.c.Agents(ctx, chat)
}

func (h *serverHost) Tasks(ctx context.Context, chat string) ([]store.Task, error) {
	return h.c.Tasks(ctx, chat)
}

// Messages are the newest ones: a view of what goes on needs no more.
func (h *serverHost) Messages(ctx context.Context, agent string, _ store.Page) ([]store.Message, error) {
	return h.c.LastMessages(ctx, agent)
}

func (h *serverHost) ToolCalls(ctx context.Context, agent string) ([]store.ToolCall, error) {
	return h.c.ToolCalls(ctx, agent)
}

func (h *serverHost) ModelCalls(ctx context.Context, agent string) ([]store.ModelCall, error) {
	return h.c.ModelCalls(ctx, agent)
}

func (h *serverHost) LastSeq(ctx context.Context) (int64, error) {
	me, err := h.c.Me(ctx)
	return me.Seq, err
}

func (h *serverHost) create(ctx context.Context, o *runOptions) (string, error) {
	l := o.limits()
	in := wire.NewChat{
		Title: o.title(), Role: o.role, Model: o.model, Dir: o.cwd,
		Limits: wire.Limits{Turns: l.Turns, DurationMS: l.Active, CostMicros: l.Cost},
	}
	if h.anywhere {
		in.Dir = ""
	}
	s, err := h.c.CreateChat(ctx, in)
	var p *wire.Problem
	if errors.As(err, &p) {
		switch p.Code {
		case "no_price":
			return "", noPrice(o.model)
		case "chat": // its hint is for programs
			return "", wrong(p, "")
		case "dir", "invalid":
			return "", wrong(p, p.Hint)
		}
	}
	return s.Chat.ID, err
}

func (h *serverHost) unfinished(ctx context.Context, chat string) (bool, error) {
	r, err := h.c.Run(ctx, chat)
	return !r.Idle || r.Live > 0, err
}

func (h *serverHost) lastUnfinished(ctx context.Context) (string, error) {
	agents, err := h.c.Running(ctx)
	var newest store.Agent
	for _, a := range agents {
		if a.UpdatedAt > newest.UpdatedAt {
			newest = a
		}
	}
	return newest.ChatID, err
}

// goOn: a server goes on by itself.
func (h *serverHost) goOn(context.Context, string) error { return nil }

func (h *serverHost) outcomes(string) (<-chan agent.Outcome, func()) {
	h.ends = make(chan agent.Outcome, 16)
	return h.ends, func() {}
}

// watch also finds the ends of runs: when the orchestrator has worked and has
// nothing under way, the server is asked whether its run is over.
func (h *serverHost) watch(ctx context.Context, chat string, since int64) <-chan happening {
	out := make(chan happening)
	go func() {
		worked := false
		for item, err := range h.c.Follow(ctx, client.Feed{
			Chat: chat, Since: since, Deltas: true, Patience: absence, Paused: func(why string) { h.stands.Store(&why) },
		}) {
			if !tell(ctx, out, happening{item: item, err: err}) || err != nil {
				return
			}
			works, rests := progress(item, chat)
			if worked = worked || works; !worked || !rests {
				continue
			}
			// Without an outcome it only waits for tasks in the background.
			if now, err := h.state(ctx, chat); err == nil && now.idle && now.last.Reason != "" {
				worked = false
				select {
				case h.ends <- now.last:
				default: // it has been told often enough
				}
			}
		}
	}()
	return out
}

// progress tells whether a change is about the orchestrator's own work, and
// whether its run may have ended with it: it has nothing under way, and it was
// not a child that ended, of which there may be a thousand. Documents are as
// they are when the change is read, so that the kind of the change counts.
func progress(item feedItem, chat string) (works, rests bool) {
	c := item.Change
	if c == nil || c.Agent != chat {
		return false, false
	}
	works = c.Type == "user_message" || strings.HasPrefix(c.Type, "model_")
	for _, d := range c.Docs {
		if a, ok := d.Data.(store.Agent); ok && a.ID == chat {
			works, rests = works || a.Busy, !a.Busy && c.Type != "child_ended"
		}
	}
	return works, rests
}

func (h *serverHost) rest(ctx context.Context, chat string, since int64, take func(store.Change) error) error {
	newest, err := h.LastSeq(ctx)
	if err != nil || newest <= since {
		return err
	}
	for item, err := range h.c.Follow(ctx, client.Feed{Chat: chat, Since: since, Until: newest, Patience: absence}) {
		if err != nil {
			return err
		}
		if err := take(*item.Change); err != nil {
			return err
		}
	}
	return nil
}

func (h *serverHost) send(ctx context.Context, chat, id, text, model string) (string, error) {
	m, err := h.c.Post(ctx, chat, wire.NewMessage{ID: id, Text: text, Model: model})
	var p *wire.Problem
	if errors.As(err, &p) && slices.Contains([]string{"addressee", "ended", "ending", "no_reader", "model", "no_price"}, p.Code) {
		return "", &unsentError{p}
	}
	return m.Agent, err
}

func (h *serverHost) inbox(ctx context.Context, chat string) ([]store.Item, error) {
	return h.c.Inbox(ctx, chat, false)
}

func (h *serverHost) item(ctx context.Context, id string) (*store.Item, error) {
	i, err := h.c.Item(ctx, id)
	return &i, err
}

func (h *serverHost) answer(ctx context.Context, item string, a orchestrate.Answer) (string, error) {
	return answerAt(ctx, h.c, item, a)
}

// answerAt answers at a server. Who answers is who holds the key.
func answerAt(ctx context.Context, c *client.Client, item string, a orchestrate.Answer) (string, error) {
	out, err := c.Answer(ctx, item, wire.Answer{
		Allow: a.Allow, Scope: string(a.Scope), Reason: a.Reason, Text: a.Text, Decline: a.Refuse, How: a.How,
	})
	var p *wire.Problem
	if errors.As(err, &p) {
		for code, is := range map[string]error{"answered": orchestrate.ErrAnswered, "answer": orchestrate.ErrAnswer, "conflict": orchestrate.ErrConflict} {
			if p.Code == code {
				return "", &sameError{p, is}
			}
		}
	}
	return out.Said, err
}

// sameError is a problem that is a known error, in the server's words.
type sameError struct {
	*wire.Problem
	is error
}

func (e *sameError) Unwrap() error { return e.is }

func (h *serverHost) agent(ctx context.Context, id string) (*store.Agent, error) {
	a, err := h.c.Agent(ctx, id)
	return &a, err
}

func (h *serverHost) cancel(ctx context.Context, agent, _ string) error { return h.c.Stop(ctx, agent) }

func (h *serverHost) state(ctx context.Context, chat string) (runState, error) {
	r, err := h.c.Run(ctx, chat)
	return runState{idle: r.Idle, live: r.Live, last: outcomeOf(r)}, err
}

func outcomeOf(r wire.Run) agent.Outcome {
	return agent.Outcome{Reason: agent.Reason(r.Outcome), Kind: agent.Kind(r.ErrorKind), Result: agent.Ref{From: r.ResultPos}}
}

func (h *serverHost) ending(ctx context.Context, chat string) (agent.Outcome, view.Done, error) {
	r, err := h.c.Run(ctx, chat)
	return outcomeOf(r), view.Done{
		Outcome: r.Outcome, ErrorKind: r.ErrorKind, Error: r.Error, Result: r.Result, Usage: message.Usage(r.Usage),
		Cost: r.Cost, Agents: r.Agents, Chat: chat,
	}, err
}

func (h *serverHost) paused() error {
	if why := h.stands.Load(); why != nil && *why != "" {
		return errors.New(*why)
	}
	return nil
}

func (h *serverHost) left() string { return "the server goes on with the work" }
