// The tools by which an agent looks after those below it: list, check, stop,
// message, answer, settle.

package orchestrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

// Control makes the tools by which agents look after those below them. The
// engine is known only after the tools were made: Bind gives it.
type Control struct {
	store   Reader
	trees   Worktrees
	asking  Asking
	runtime engine.Runtime
}

// NewControl makes a Control.
func NewControl(from Reader, trees Worktrees, asking Asking) *Control {
	return &Control{store: from, trees: trees, asking: asking}
}

// Bind tells it what runs the agents. Before that, its tools fail.
func (c *Control) Bind(r engine.Runtime) { c.runtime = r }

const agentSchema = `{"type":"object","required":["agent"],"additionalProperties":false,"properties":{"agent":{"type":"string","description":"id or name"}}}`

// Tools returns the tools.
func (c *Control) Tools() []tool.Tool {
	make := func(name, schema string, run func(context.Context, tool.Env, controlInput) (string, error)) tool.Tool {
		return tool.Tool{
			Name: name, Description: text(name), Class: tool.Delegates, Repeatable: true, Polls: true, Schema: json.RawMessage(schema),
			Run: func(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
				var in controlInput
				if err := json.Unmarshal(input, &in); err != nil {
					return tool.Result{}, fmt.Errorf("reading the input: %w", err)
				}
				if c.runtime == nil {
					return tool.Result{}, errors.New("agents cannot be reached now")
				}
				out, err := run(ctx, env, in)
				if err != nil {
					return tool.Result{}, err
				}
				return tool.Text(out), nil
			},
		}
	}
	settle := make(SettleWork, `{"type":"object","required":["agent","how"],"additionalProperties":false,"properties":{"agent":{"type":"string","description":"id or name"},"how":{"enum":["accept","merge","keep","discard"]}}}`, c.settle)
	settle.Class, settle.Repeatable, settle.Polls, settle.Plan = tool.Writes, false, false, c.planSettle
	return []tool.Tool{
		make(ListAgents, `{"type":"object","additionalProperties":false,"properties":{}}`, c.list),
		make(CheckAgent, agentSchema, c.check),
		make(StopAgent, agentSchema, c.stop),
		make(MessageAgent, `{"type":"object","required":["agent","message"],"additionalProperties":false,"properties":{"agent":{"type":"string","description":"id or name"},"message":{"type":"string","minLength":1}}}`, c.message),
		make(ReplyToAgent, `{"type":"object","required":["agent","answer"],"additionalProperties":false,"properties":{"agent":{"type":"string","description":"id or name of the agent, or the item"},"answer":{"type":"string","minLength":1},"confidence":{"type":"number","minimum":0,"maximum":1}}}`, c.reply),
		settle,
	}
}

type controlInput struct {
	Agent      string   `json:"agent"`
	Message    string   `json:"message"`
	Answer     string   `json:"answer"`
	Confidence *float64 `json:"confidence"`
	How        string   `json:"how"`
}

const (
	mostListed  = 100   // agents in the list of them
	mostPrinted = 2_000 // characters of what a running tool has printed
)

func (c *Control) list(ctx context.Context, env tool.Env, _ controlInput) (string, error) {
	below, err := c.below(ctx, env)
	if err != nil {
		return "", err
	}
	if len(below) == 0 {
		return "You have started no agents.", nil
	}
	waits, err := c.waits(ctx, store.InboxQuery{Chat: env.Chat})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, a := range below {
		if i == mostListed {
			fmt.Fprintf(&b, "and %d more\n", len(below)-i)
			break
		}
		b.WriteString(line(a) + "\n" + waits[a.ID])
	}
	return b.String(), nil
}

// waits tells, by agent, what waits for the user, a line each.
func (c *Control) waits(ctx context.Context, q store.InboxQuery) (map[string]string, error) {
	items, err := c.store.Inbox(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("reading what waits for the user: %w", err)
	}
	out := map[string]string{}
	for _, i := range items {
		if i.Status == "open" { // about others the orchestrator's model is asked first
			out[i.Agent] += fmt.Sprintf("- waits for the user (%s, item %s): %s\n", i.Kind, i.ID, oneLine(questionText(i.Action), 300))
		}
	}
	return out, nil
}

// line tells the state of an agent in one line.
func line(a store.Agent) string {
	s := fmt.Sprintf("%s %s: %s", a.ID, a.Path, a.Status)
	if a.Why != "" {
		s += " (" + a.Why + ")"
	}
	s += fmt.Sprintf(", %d turns, %s, %d tokens", a.Turns, time.Duration(a.ActiveMS)*time.Millisecond, a.Tokens+a.ChildTokens)
	if a.Live > 0 {
		s += fmt.Sprintf(", %d of %d children running", a.Live, a.Children)
	}
	return s
}

// below lists the agents below the caller, as they were started.
func (c *Control) below(ctx context.Context, env tool.Env) ([]store.Agent, error) {
	tree, err := c.store.Tree(ctx, env.Chat)
	if err != nil {
		return nil, fmt.Errorf("reading the agents of the chat: %w", err)
	}
	return slices.DeleteFunc(tree, func(a store.Agent) bool { return !strings.HasPrefix(a.ID, env.Agent+".") }), nil
}

// Find finds an agent by its id, its path or its name, the newest of that
// name, among those given.
func Find(agents []store.Agent, name string) (store.Agent, error) {
	want := strings.TrimPrefix(strings.TrimSpace(name), "@")
	for _, a := range slices.Backward(agents) {
		if a.ID == want || a.Path == want || role.Key(a.Name) == role.Key(want) {
			return a, nil
		}
	}
	var names []string
	for _, a := range agents {
		names = append(names, fmt.Sprintf("%s (%s)", a.Name, a.ID))
	}
	if len(names) == 0 {
		return store.Agent{}, fmt.Errorf("there is no agent %q: none was started", name)
	}
	return store.Agent{}, fmt.Errorf("there is no agent %q; there are %s", name, cut(strings.Join(names, ", "), 600, ""))
}

func (c *Control) find(ctx context.Context, env tool.Env, name string) (store.Agent, error) {
	below, err := c.below(ctx, env)
	if err != nil {
		return store.Agent{}, err
	}
	return Find(below, name)
}

func (c *Control) check(ctx context.Context, env tool.Env, in controlInput) (string, error) {
	a, err := c.find(ctx, env, in.Agent)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(line(a) + "\n")
	calls, err := c.store.ToolCalls(ctx, a.ID)
	if err != nil {
		return "", fmt.Errorf("reading its tool calls: %w", err)
	}
	for _, t := range calls[max(0, len(calls)-5):] {
		fmt.Fprintf(&b, "- %s %s: %s\n", t.Name, oneLine(string(t.Args), 120), t.Phase)
		if out := strings.TrimSpace(c.runtime.Printed(t.ID)); out != "" {
			fmt.Fprintf(&b, "  It has printed so far:\n%s\n", ending(out, mostPrinted))
		}
	}
	waits, err := c.waits(ctx, store.InboxQuery{Agent: a.ID})
	if err != nil {
		return "", err
	}
	b.WriteString(waits[a.ID])
	if task, err := c.store.Task(ctx, a.ID); err == nil && task.Reason != "" {
		fmt.Fprintf(&b, "ended: %s. %s\n%s\n", task.Reason, task.Error, cut(task.Result, mostResult, a.ID))
	}
	return b.String(), nil
}

func (c *Control) stop(ctx context.Context, env tool.Env, in controlInput) (string, error) {
	a, err := c.find(ctx, env, in.Agent)
	if err != nil {
		return "", err
	}
	// One that is stopped may be so by this call, in a process that was killed
	// before it could say so.
	if a.EndedAt > 0 && a.Status != string(agent.ReasonCancelled) {
		return fmt.Sprintf("%s had ended already: %s.", a.Path, a.Status), nil
	}
	if err := c.runtime.Cancel(ctx, a.ID, env.Agent); err != nil {
		return "", fmt.Errorf("stopping %s: %w", a.Path, err)
	}
	return fmt.Sprintf("%s is stopped. What it has done so far is reported as its result.", a.Path), nil
}

func (c *Control) message(ctx context.Context, env tool.Env, in controlInput) (string, error) {
	a, err := c.find(ctx, env, in.Agent)
	if err != nil {
		return "", err
	}
	if item, err := c.question(ctx, env, a.ID); err == nil && item.Status == "open" { // a message would count as the user's answer
		return "", fmt.Errorf("%s waits for the user's answer to %q: pass that on with %s", a.Path, oneLine(questionText(item.Action), 200), ReplyToAgent)
	}
	err = c.runtime.Send(ctx, a.ID, env.Call, message.Of(message.User, message.KindUser, in.Message), nil)
	if errors.Is(err, agent.ErrEnded) {
		return "", fmt.Errorf("%s has ended; give it another task with %s", a.Path, ContinueAgent)
	}
	if errors.Is(err, agent.ErrNoReader) {
		return "", fmt.Errorf("%s is one run of a tool and reads no messages", a.Path)
	}
	if errors.Is(err, agent.ErrEnding) {
		return "", fmt.Errorf("not delivered: %s is ending; give it another task with %s once its result is there", a.Path, ContinueAgent)
	}
	if err != nil {
		return "", fmt.Errorf("telling %s: %w", a.Path, err)
	}
	return fmt.Sprintf("%s will read it with its next turn.", a.Path), nil
}

func (c *Control) reply(ctx context.Context, env tool.Env, in controlInput) (string, error) {
	if in.Confidence != nil && *in.Confidence*100 < float64(c.asking.Confidence) {
		return "", fmt.Errorf("a confidence of %.2f is too low to answer for the user: ask the user what was meant", *in.Confidence)
	}
	item, err := c.question(ctx, env, in.Agent)
	if err != nil {
		return "", err
	}
	told := fmt.Sprintf("%s has the answer and goes on.", item.Path)
	if item.Status == "closed" {
		if item.How == "answered" && item.Answer == in.Answer {
			return told, nil // by this very call, in a process that died before it could say so
		}
		return "", fmt.Errorf("%s: %w", item.Path, over(item))
	}
	body := message.Of(message.User, message.KindUser, in.Answer)
	err = c.runtime.Deliver(ctx, item.Agent, agent.QuestionAnswered{Item: item.ID, By: item.UserID, Answer: in.Answer, Tokens: engine.Tokens(body)})
	if errors.Is(err, agent.ErrNotWaiting) || errors.Is(err, agent.ErrStale) {
		return "", fmt.Errorf("%s: %w", item.Path, ErrAnswered)
	}
	if err != nil {
		return "", fmt.Errorf("answering %s: %w", item.Path, err)
	}
	return told, nil
}

// question finds the question that is meant: by its item, or as the one that
// an agent below the caller has asked. If none waits, it is the last one.
func (c *Control) question(ctx context.Context, env tool.Env, name string) (store.Item, error) {
	if i, err := c.store.Item(ctx, name); err == nil && i.Kind == "question" && strings.HasPrefix(i.Agent, env.Agent+".") {
		return *i, nil
	}
	a, err := c.find(ctx, env, name)
	if err != nil {
		return store.Item{}, err
	}
	items, err := c.store.Inbox(ctx, store.InboxQuery{Agent: a.ID, Closed: true})
	if err != nil {
		return store.Item{}, fmt.Errorf("reading the inbox: %w", err)
	}
	items = slices.DeleteFunc(items, func(i store.Item) bool { return i.Kind != "question" })
	if len(items) == 0 {
		return store.Item{}, fmt.Errorf("%s has asked nothing; tell it something with %s", a.Path, MessageAgent)
	}
	if k := slices.IndexFunc(items, func(i store.Item) bool { return i.Status != "closed" }); k >= 0 {
		return items[k], nil
	}
	return items[len(items)-1], nil
}
