// Settling work: what becomes of what an agent left in its worktree.

package orchestrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

// settled is the word for each decision in the record.
var settled = map[string]string{"accept": "accepted", "merge": "merged", "keep": "kept", "discard": "discarded"}

// Settle does with the work behind an inbox item what was decided, and closes
// the item. If it fails, nothing is lost and the item stays.
func Settle(ctx context.Context, r engine.Runtime, trees Worktrees, from Reader, item store.Item, how, by string) (string, error) {
	word, ok := settled[how]
	if !ok {
		return "", fmt.Errorf("%w: %q is no decision; it can be accept, merge, keep or discard", ErrAnswer, how)
	}
	if trees == nil {
		return "", errors.New("worktrees are not available here")
	}
	defer trees.Alone()()
	if now, err := from.Item(ctx, item.ID); err == nil && now.Status == "closed" {
		return "", over(*now) // somebody else was first
	}
	spec, err := specOf(ctx, from, item.Agent)
	if err != nil {
		return "", err
	}
	said, err := trees.Settle(ctx, spec.ID, spec.Origin, how)
	if err != nil {
		return "", err
	}
	err = r.Deliver(ctx, item.Agent, agent.WorkDecided{Item: item.ID, How: word, By: by, Answer: said})
	if err != nil {
		return "", fmt.Errorf("recording the decision: %w", err)
	}
	return said, nil
}

func specOf(ctx context.Context, from Reader, id string) (agent.Spec, error) {
	var spec agent.Spec
	a, err := from.Agent(ctx, id)
	if err != nil {
		return spec, fmt.Errorf("reading agent %s: %w", id, err)
	}
	if err := json.Unmarshal(a.Spec, &spec); err != nil {
		return spec, fmt.Errorf("reading the spec of agent %s: %w", id, err)
	}
	return spec, nil
}

// work finds what an agent below the caller has left.
func (c *Control) work(ctx context.Context, env tool.Env, name string) (store.Item, error) {
	a, err := c.find(ctx, env, name)
	if err != nil {
		return store.Item{}, err
	}
	items, err := c.store.Inbox(ctx, store.InboxQuery{Agent: a.ID})
	if err != nil {
		return store.Item{}, fmt.Errorf("reading the inbox: %w", err)
	}
	k := slices.IndexFunc(items, func(i store.Item) bool { return i.Kind == "worktree" })
	if k < 0 {
		return store.Item{}, fmt.Errorf("%s has left nothing to decide about", a.Path)
	}
	return items[k], nil
}

func (c *Control) planSettle(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Action, error) {
	var in controlInput
	if err := json.Unmarshal(input, &in); err != nil {
		return tool.Action{}, fmt.Errorf("reading the input: %w", err)
	}
	item, err := c.work(ctx, env, in.Agent)
	if err != nil {
		return tool.Action{}, err
	}
	var work Work
	if err := json.Unmarshal(item.Detail, &work); err != nil {
		work.Stat = item.Reason
	}
	return tool.Action{
		Class: tool.Writes, Paths: work.Files,
		Shown: fmt.Sprintf("%s the work of %s (branch %s)\n%s\n%s", in.How, item.Path, work.Branch, work.Stat, item.Action),
	}, nil
}

func (c *Control) settle(ctx context.Context, env tool.Env, in controlInput) (string, error) {
	item, err := c.work(ctx, env, in.Agent)
	if err != nil {
		return "", err
	}
	return Settle(ctx, c.runtime, c.trees, c.store, item, in.How, env.Agent)
}
