// The inbox: answering what waits for the user, whoever asks and wherever the
// answer comes from.

package orchestrate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/store"
)

// The ways in which an answer is refused that callers tell apart.
var (
	// ErrAnswered: somebody else was first, or nobody waits any more.
	ErrAnswered = errors.New("it no longer waits for an answer")
	// ErrAnswer: the answer does not fit what is asked.
	ErrAnswer = errors.New("this is no answer to it")
	// ErrConflict: the work could not be applied; nothing was changed.
	ErrConflict = errors.New("the work conflicts with the folder")
)

// Answer is an answer to an inbox item. Which fields count depends on the kind
// of the item.
type Answer struct {
	By     string           // who answers
	Allow  *bool            // approval, budget
	Scope  permission.Scope // approval: how far it reaches; empty: once
	Reason string           // why it is denied
	Text   string           // question, elicitation; the latter may be a JSON object
	How    string           // worktree: accept, merge, keep, discard
	Refuse bool             // question, elicitation: declined
}

// Inbox answers items. It holds no state of its own.
type Inbox struct {
	Runtime engine.Runtime
	Store   Reader
	Trees   Worktrees
	Policy  func(ctx context.Context, chat string) permission.Policy // what agents of a chat may do
}

// Answer gives an answer to an item. The first answer wins; later ones are
// told so by an error that wraps ErrAnswered. What it returns is for people to
// read.
func (b *Inbox) Answer(ctx context.Context, id string, a Answer) (string, error) {
	item, err := b.Store.Item(ctx, id)
	if err != nil {
		return "", fmt.Errorf("reading inbox item %s: %w", id, err)
	}
	if item.Status == "closed" {
		return "", over(*item)
	}
	var ev agent.Event
	switch item.Kind {
	case "worktree":
		if a.How == "" {
			return "", fmt.Errorf("%w: say accept, merge, keep or discard", ErrAnswer)
		}
		return Settle(ctx, b.Runtime, b.Trees, b.Store, *item, a.How, a.By)
	case "approval", "budget":
		if a.Allow == nil {
			return "", fmt.Errorf("%w: allow or deny it", ErrAnswer)
		}
		scope, err := permission.ParseScope(string(cmp.Or(a.Scope, permission.Once)))
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrAnswer, err)
		}
		ev = agent.ApprovalAnswered{Item: id, Allow: *a.Allow, Scope: string(scope), By: a.By, Reason: a.Reason}
	default:
		if strings.TrimSpace(a.Text) == "" && !a.Refuse {
			return "", fmt.Errorf("%w: it needs a text, or to be declined", ErrAnswer)
		}
		ev = agent.QuestionAnswered{
			Item: id, Declined: a.Refuse, By: a.By, Answer: a.Text, Tokens: engine.Tokens(message.Of(message.User, message.KindUser, a.Text)),
		}
	}
	err = b.Runtime.Deliver(ctx, item.Agent, ev)
	if errors.Is(err, agent.ErrNotWaiting) || errors.Is(err, agent.ErrStale) {
		if now, err := b.Store.Item(ctx, id); err == nil {
			item = now
		}
		return "", over(*item)
	}
	if err != nil {
		return "", fmt.Errorf("answering %s: %w", item.Path, err)
	}
	said := fmt.Sprintf("%s goes on.", item.Path)
	if item.Kind == "budget" && !*a.Allow {
		said = fmt.Sprintf("%s ends with what it has.", item.Path)
	}
	if a.Allow != nil && *a.Allow && a.Scope != "" && a.Scope != permission.Once {
		n, err := b.spread(ctx, item.ChatID)
		if err != nil {
			return said, err
		}
		if n > 0 {
			said += fmt.Sprintf(" So do %d more that this allows.", n)
		}
	}
	return said, nil
}

// over tells how an item was closed.
func over(i store.Item) error {
	how := strings.ReplaceAll(i.How, "_", " ")
	if how == "" {
		how = "closed"
	}
	if i.By != "" {
		how += " by " + i.By
	}
	return fmt.Errorf("%w: %s", ErrAnswered, how)
}

// spread answers the approvals of a chat that a new grant covers.
func (b *Inbox) spread(ctx context.Context, chat string) (int, error) {
	grants, err := Grants(ctx, b.Store, chat)
	if err != nil {
		return 0, err
	}
	open, err := b.Store.Inbox(ctx, store.InboxQuery{Chat: chat})
	if err != nil {
		return 0, fmt.Errorf("reading the inbox: %w", err)
	}
	n := 0
	policy := b.Policy(ctx, chat)
	for _, item := range open {
		var a Approval
		if item.Kind != "approval" || json.Unmarshal(item.Detail, &a) != nil {
			continue
		}
		d := policy.Decide(a.request(item), grants)
		if d.Effect != permission.Allow {
			continue
		}
		err := b.Runtime.Deliver(ctx, item.Agent, agent.ApprovalAnswered{Item: item.ID, Allow: true, Scope: string(permission.Once), By: d.By})
		if err == nil {
			n++
		}
	}
	return n, nil
}

// Addressed finds out whether a message is for one agent alone: "@name text".
// It returns the agent and the text; ok is false for an ordinary message. An
// error says, for the user to read, why the agent cannot be told.
func Addressed(agents []store.Agent, text string) (to store.Agent, rest string, ok bool, err error) {
	text = strings.TrimSpace(text)
	name, rest := text, ""
	if k := strings.IndexFunc(text, unicode.IsSpace); k >= 0 {
		name, rest = text[:k], strings.TrimSpace(text[k:])
	}
	if !strings.HasPrefix(name, "@") || len(name) < 2 {
		return to, text, false, nil
	}
	to, err = Find(agents, strings.TrimSuffix(name, ":"))
	switch {
	case err != nil && rest == "":
		return to, text, false, nil // a word, not an address
	case err != nil:
		return to, text, true, err
	case rest == "":
		return to, text, true, fmt.Errorf("nothing was sent to %s: write what it is to know behind its name", to.Name)
	}
	if to.EndedAt > 0 {
		return to, text, true, fmt.Errorf("%s has ended (%s). Ask the orchestrator to continue it, or write without the @", to.Name, to.Status)
	}
	return to, rest, true, nil
}
