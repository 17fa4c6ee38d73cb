// Loading: a tree as it stands in a store, and what can be read of its end.

package view

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// Source is what a tree is read from: a store, or a server.
type Source interface {
	Chat(ctx context.Context, id string) (*store.Chat, error)
	Tree(ctx context.Context, chat string) ([]store.Agent, error)
	Tasks(ctx context.Context, chat string) ([]store.Task, error)
	Messages(ctx context.Context, agent string, page store.Page) ([]store.Message, error)
	ToolCalls(ctx context.Context, agent string) ([]store.ToolCall, error)
	ModelCalls(ctx context.Context, agent string) ([]store.ModelCall, error)
}

// Load reads the tree of a chat as it is now. Changes with higher numbers than
// the store's LastSeq before the call bring it up to date.
func Load(ctx context.Context, st Source, chat string) (*Tree, error) {
	t := NewTree()
	row, err := st.Chat(ctx, chat)
	if err != nil {
		return nil, fmt.Errorf("reading chat %s: %w", chat, err)
	}
	t.Chat = *row
	agents, err := st.Tree(ctx, chat)
	if err != nil {
		return nil, fmt.Errorf("reading the agents of chat %s: %w", chat, err)
	}
	for _, a := range agents {
		t.putAgent(a)
	}
	tasks, err := st.Tasks(ctx, chat)
	if err != nil {
		return nil, fmt.Errorf("reading the tasks of chat %s: %w", chat, err)
	}
	for _, task := range tasks {
		t.putTask(task)
	}
	for _, a := range t.agents {
		if a.Over() || !a.Working() {
			continue
		}
		if err := t.loadCalls(ctx, st, a); err != nil {
			return nil, err
		}
	}
	if t.Root == nil {
		return t, nil
	}
	messages, err := st.Messages(ctx, t.Root.ID, store.Page{})
	if err != nil {
		return nil, fmt.Errorf("reading the messages of chat %s: %w", chat, err)
	}
	for _, m := range messages {
		t.putMessage(m)
	}
	t.said = nil
	return t, nil
}

// loadCalls reads what an agent that works has under way.
func (t *Tree) loadCalls(ctx context.Context, st Source, a *Agent) error {
	calls, err := st.ToolCalls(ctx, a.ID)
	if err != nil {
		return fmt.Errorf("reading the tool calls of %s: %w", a.ID, err)
	}
	for _, c := range calls {
		t.putCall(c)
	}
	models, err := st.ModelCalls(ctx, a.ID)
	if err != nil {
		return fmt.Errorf("reading the model calls of %s: %w", a.ID, err)
	}
	for _, c := range models {
		t.putModelCall(c)
	}
	return nil
}

// Answer reads what an outcome of the orchestrator points at: the text of its
// replies, or what it submitted.
func Answer(ctx context.Context, st store.Store, chat string, ref agent.Ref) (string, error) {
	if ref.None() {
		return "", nil
	}
	rows, err := st.History(ctx, chat, ref.From)
	if err != nil {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	var b strings.Builder
	for _, row := range rows {
		if row.Pos > ref.To {
			break
		}
		m, err := row.Decode()
		if err != nil {
			return "", fmt.Errorf("reading the answer: %w", err)
		}
		if m.Role != message.Assistant {
			continue
		}
		if calls := m.Calls(); ref.Call > 0 && ref.Call <= len(calls) {
			return submitted(calls[ref.Call-1].Input), nil
		}
		b.WriteString(m.Text())
	}
	return b.String(), nil
}

// submitted takes the text out of the input of submit_result or submit_error;
// input of another form is kept whole.
func submitted(input json.RawMessage) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil || len(in) != 1 {
		return string(input)
	}
	for _, key := range []string{"result", "error"} {
		var text string
		if raw, ok := in[key]; ok && json.Unmarshal(raw, &text) == nil {
			return text
		}
	}
	return string(input)
}

// Summarise reads how the last run of a chat ended and what the whole chat has
// used.
func Summarise(ctx context.Context, st store.Store, chat string, o agent.Outcome) (Done, error) {
	d := Done{Outcome: string(o.Reason), ErrorKind: string(o.Kind), Chat: chat}
	var err error
	if d.Result, err = Answer(ctx, st, chat, o.Result); err != nil {
		return d, err
	}
	agents, err := st.Tree(ctx, chat)
	if err != nil {
		return d, fmt.Errorf("reading the agents of chat %s: %w", chat, err)
	}
	d.Agents = len(agents)
	cost, known := int64(0), true
	for _, a := range agents {
		calls, err := st.ModelCalls(ctx, a.ID)
		if err != nil {
			return d, fmt.Errorf("reading the model calls of %s: %w", a.ID, err)
		}
		for _, c := range calls {
			d.Usage = d.Usage.Add(c.Usage)
		}
		switch {
		case a.Depth > 0 || o.Reason != agent.ReasonFailed:
		case o.Kind == agent.KindSubAgent: // it gave up, and what it submitted is why
			d.Result, d.Error = "", d.Result
		default:
			d.Error = whyFailed(calls)
		}
		cost += a.Cost
		known = known && !a.Unpriced
	}
	if known {
		d.Cost = &cost
	}
	return d, nil
}

// whyFailed finds why an orchestrator's run failed: of itself the run records
// the kind only, and the newest model call has the rest.
func whyFailed(calls []store.ModelCall) string {
	calls = slices.DeleteFunc(slices.Clone(calls), func(c store.ModelCall) bool { return c.Status == "side" }) // not the agent's own
	if len(calls) == 0 {
		return ""
	}
	c := calls[len(calls)-1]
	switch {
	case c.Error != "":
		return c.Error
	case c.Stop == string(agent.StopRefusal):
		return "the model declined to answer"
	case c.Stop == string(agent.StopFilter):
		return "the vendor's content filter cut the model's answer"
	case c.ErrorKind == string(agent.FailEmpty):
		return "the model's answer was empty"
	}
	return cmp.Or(strings.ReplaceAll(c.ErrorKind, "_", " "), "the log has the details")
}
