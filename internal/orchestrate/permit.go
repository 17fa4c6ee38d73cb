// Permissions: the policy, what people have granted, and the approvals that
// are asked for.

package orchestrate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

// Approval is the detail of an inbox item that asks for an approval.
type Approval struct {
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input,omitempty"`
	Action tool.Action     `json:"action"`
	Dir    string          `json:"dir,omitempty"`
	Allows []string        `json:"allows,omitempty"` // what an answer for more than once would allow, in words
	Why    string          `json:"why"`              // what made it ask
	Agent  string          `json:"agent,omitempty"`  // who does it, if not the agent of the item: a tool runs for its parent
	Bounds [][]string      `json:"bounds,omitempty"` // of the agent that does it
}

// decide asks the policy. What people have granted is only read when the
// policy alone would ask.
func (p *Performer) decide(ctx context.Context, spec *agent.Spec, name string, action tool.Action) (permission.Decision, error) {
	return p.decideOn(ctx, spec, requestOf(spec, name, action))
}

func (p *Performer) decideOn(ctx context.Context, spec *agent.Spec, req permission.Request) (permission.Decision, error) {
	policy := p.policy(spec.Dir)
	d := policy.Decide(req, nil)
	if d.Effect != permission.Ask || p.store == nil {
		return d, nil
	}
	grants, err := Grants(ctx, p.store, spec.Chat)
	if err != nil {
		return d, err
	}
	if len(grants) == 0 {
		return d, nil
	}
	return policy.Decide(req, grants), nil
}

// reading tells a tool which files it may show of those that its input does
// not name. What cannot be decided may not be shown.
type reading struct {
	*Performer
	ctx      context.Context //nolint:containedctx // of one use of a tool
	spec     *agent.Spec
	approved bool // this use was asked for, and allowed

	once    sync.Once // most tools do not ask
	guarded func(string) bool
}

// limitReading lets a tool ask what it may show. The use counts as approved if
// env says so; what is returned can be told otherwise.
func (p *Performer) limitReading(ctx context.Context, spec *agent.Spec, env *tool.Env) *reading {
	r := &reading{Performer: p, ctx: ctx, spec: spec, approved: env.Approved}
	env.Guarded, env.MayRead = r.isGuarded, r.mayRead
	return r
}

func (r *reading) request(name string) permission.Request {
	req := requestOf(r.spec, "Read", tool.Action{Class: tool.Reads, Paths: []string{name}})
	req.Bounds = req.Bounds.Forbidding()
	return req
}

func (r *reading) isGuarded(name string) bool {
	r.once.Do(func() {
		policy := r.policy(r.spec.Dir)
		r.guarded = policy.Guarded(r.request(""))
	})
	return r.guarded(name)
}

func (r *reading) mayRead(name string) bool {
	policy, req := r.policy(r.spec.Dir), r.request(name)
	d := policy.Decide(req, nil)
	if d.Effect == permission.Ask && !r.approved {
		var err error
		if d, err = r.decideOn(r.ctx, r.spec, req); err != nil {
			return false
		}
	}
	return d.Effect == permission.Allow || r.approved && d.Effect == permission.Ask
}

func requestOf(spec *agent.Spec, name string, action tool.Action) permission.Request {
	req := permission.Request{Tool: name, Action: action, Agent: spec.ID, Chat: spec.Chat, Role: spec.Role, Depth: spec.Depth, Bounds: spec.Bounds}
	if spec.ToolRun() { // its parent does it
		req.Agent, req.Depth = spec.Parent, spec.Depth-1
	}
	return req
}

// Grants reads what people have allowed for more than once in a chat.
func Grants(ctx context.Context, from Reader, chat string) ([]permission.Grant, error) {
	items, err := from.Inbox(ctx, store.InboxQuery{Chat: chat, Granted: true})
	if err != nil {
		return nil, fmt.Errorf("reading what was allowed: %w", err)
	}
	var out []permission.Grant
	for _, item := range items {
		var a Approval
		if json.Unmarshal(item.Detail, &a) != nil {
			continue // it was not asked by this version: it grants nothing
		}
		out = append(out, a.request(item).Grants(permission.Scope(item.Scope), item.ID, item.By)...)
	}
	return out, nil
}

// request is what the approval was asked for.
func (a Approval) request(item store.Item) permission.Request {
	who := cmp.Or(a.Agent, item.Agent)
	return permission.Request{
		Tool: a.Tool, Action: a.Action, Agent: who, Chat: item.ChatID, Role: item.Role, Depth: strings.Count(who, "."), Bounds: a.Bounds,
	}
}

// approval asks a person for this exact action.
func (p *Performer) approval(job *engine.Job, run agent.RunTool, input json.RawMessage, action tool.Action, hash string, d permission.Decision) agent.Event {
	req := requestOf(&job.Spec, run.Name, action)
	a := Approval{Tool: run.Name, Input: input, Action: action, Dir: job.Spec.Dir, Why: d.By, Bounds: job.Spec.Bounds}
	if req.Agent != job.Spec.ID {
		a.Agent = req.Agent
	}
	for _, r := range req.Proposal() {
		a.Allows = append(a.Allows, r.String())
	}
	if len(input) > largeResult {
		a.Input = nil // the action shows it
	}
	detail, err := json.Marshal(a)
	if err != nil {
		detail = nil // it consists of text; without it the action is still shown
	}
	ev := agent.ApprovalNeeded{
		Turn: run.Turn, Call: run.Call, Grant: hash, Action: action.Shown, Reason: action.Reason, Detail: detail,
	}
	if p.approve > 0 {
		ev.Deadline = job.Now().Add(p.approve).UnixMilli()
	}
	return ev
}

// approvedBy says who has allowed this exact action, for the record.
func (p *Performer) approvedBy(ctx context.Context, spec agent.Spec, hash string) string {
	const unknown = "an approval of this exact action"
	if p.store == nil {
		return unknown
	}
	items, err := p.store.Inbox(ctx, store.InboxQuery{Chat: spec.Chat, Agent: spec.ID, Closed: true})
	if err != nil {
		return unknown
	}
	for _, i := range slices.Backward(items) {
		if i.Kind == "approval" && i.Grant == hash && i.By != "" {
			return fmt.Sprintf("%s by %s (%s)", unknown, i.By, i.ID)
		}
	}
	return unknown
}

// allowed tells whether an agent may use a tool in this way without asking
// anyone, and if not, why.
func (p *Performer) allowed(ctx context.Context, spec *agent.Spec, env tool.Env, name string, input json.RawMessage) (bool, string) {
	t, ok := p.tools.Get(name)
	if !ok {
		return false, "there is no tool " + name
	}
	action, err := planned(ctx, t, env, input)
	if err != nil {
		return false, err.Error()
	}
	d, err := p.decide(ctx, spec, name, action)
	if err != nil {
		return false, err.Error()
	}
	if d.Effect == permission.Allow {
		return true, ""
	}
	return false, fmt.Sprintf("it is not allowed without asking (%s)", d.By)
}

// entitled tells whether the agent that delegates may use a tool itself or have
// it used by others: what the system does on its behalf must not go beyond that.
func (pl *planner) entitled(tool string) bool {
	return slices.Contains(pl.job.Spec.Tools, tool) || slices.Contains(pl.job.Spec.Delegable, tool)
}

// mayAccept tells whether an acceptance command may be run by the system. One
// that a model or a project wrote must be allowed by the policy.
func (pl *planner) mayAccept(spec agent.Spec, trusted bool) error {
	input, err := json.Marshal(map[string]string{"command": spec.Command})
	if err != nil {
		return err
	}
	if _, ok := pl.tools.Get(bash); !ok {
		return fmt.Errorf("acceptance: commands cannot be run here")
	}
	if trusted {
		return nil
	}
	if !pl.entitled(bash) {
		return fmt.Errorf("acceptance: you may neither run commands nor have them run")
	}
	env := pl.env(pl.job)
	env.Dir = spec.Dir
	if ok, why := pl.allowed(pl.ctx, &pl.job.Spec, env, bash, input); !ok {
		return fmt.Errorf("acceptance: %s may not be run by the system: %s; a rule that allows Bash(%s) would do", strings.TrimSpace(spec.Command), why, strings.TrimSpace(spec.Command))
	}
	return nil
}

const bash = "Bash"
