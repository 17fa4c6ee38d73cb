// Running tools: what an agent may do is decided here, at the moment it does
// it, and what it did is recorded.

package orchestrate

import (
	"bytes"
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
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

// aheadTime bounds how long a reply waits for what it asks to read: about as
// long as a commit takes.
const aheadTime = time.Millisecond

// RunTool implements engine.Performer.
func (p *Performer) RunTool(ctx context.Context, job *engine.Job, run agent.RunTool, input json.RawMessage, start func() bool) agent.Event {
	refused := func(text string) agent.Event {
		return p.finished(job, run, tool.Result{IsError: true, Parts: []message.Part{message.TextPart{Text: text}}}, nil)
	}
	t, ok := p.tools.Get(run.Name)
	if !ok || !slices.Contains(job.Spec.Tools, run.Name) {
		return refused(fmt.Sprintf("The tool %q is not available to you.", run.Name))
	}
	dir, err := p.workDir(ctx, job.Spec)
	if err != nil {
		return refused(err.Error())
	}
	env := p.env(job)
	env.Dir, env.Output, env.Ask = dir, job.Output, p.asker(job)
	env.Call = store.ToolCallID(job.Spec.ID, run.Turn, run.Call)
	env.Approved = true // what is planned may be shown to a person
	limits := p.limitReading(ctx, &job.Spec, &env)
	action, err := planned(ctx, t, env, input)
	if err != nil {
		return refused(err.Error())
	}
	d, err := p.decide(ctx, &job.Spec, run.Name, action)
	if err != nil {
		return refused(err.Error())
	}
	switch d.Effect {
	case permission.Deny:
		return p.finished(job, run, tool.Result{IsError: true, Parts: []message.Part{message.TextPart{
			Text: fmt.Sprintf("Not allowed (%s). Do it another way, or say that it is not permitted.", d.By),
		}}}, &d)
	case permission.Ask:
		hash := permission.Hash(run.Name, action)
		if run.Grant != hash {
			return p.approval(job, run, input, action, hash, d)
		}
		d = permission.Decision{Effect: permission.Allow, By: p.approvedBy(ctx, job.Spec, hash)}
	case permission.Allow:
	}
	// A command that may do anything reads what it needs, such as .env; only
	// what is denied is kept from it.
	env.Approved = !strings.HasPrefix(d.By, "preset ") || action.Class != tool.Reads
	limits.approved = env.Approved
	if run.Class != agent.ClassRead {
		if !start() {
			return nil // no longer wanted
		}
	} else if action.Class != tool.Reads && !t.Repeatable && t.Class != tool.Delegates {
		return refused("What this would do has changed since you asked for it. Ask again.")
	}
	res, err := t.Perform(ctx, env, input)
	if err != nil {
		var crash *tool.PanicError
		if errors.As(err, &crash) {
			p.log.Error("a tool panicked", "chat", job.Spec.Chat, "agent", job.Spec.ID, "path", job.Spec.Path, "err", crash)
		}
		res = tool.Result{IsError: true, Parts: []message.Part{message.TextPart{Text: err.Error()}}, Record: res.Record}
	}
	if action.Class == tool.Reads || action.Class == tool.Delegates {
		return p.finished(job, run, res, nil)
	}
	return p.finished(job, run, res, &d)
}

// Ahead implements engine.Performer.
func (p *Performer) Ahead(ctx context.Context, job *engine.Job, reply agent.ModelReplied) []agent.ToolFinished {
	var out []agent.ToolFinished
	began := job.Now()
	inputs := reply.Body.Calls()
	for i, c := range reply.Calls {
		t, ok := p.tools.Get(c.Name)
		if !ok || !t.Quick || c.Class != agent.ClassRead || c.Refused || job.Now().Sub(began) > aheadTime {
			break // what follows may depend on it
		}
		run := agent.RunTool{Turn: reply.Turn, Call: i, ID: c.ID, Name: c.Name, Class: c.Class}
		ev, ok := p.RunTool(ctx, job, run, inputs[i].Input, nil).(agent.ToolFinished)
		if !ok {
			break
		}
		out = append(out, ev)
	}
	return out
}

// planned is what a use of a tool would do.
func planned(ctx context.Context, t tool.Tool, env tool.Env, input json.RawMessage) (action tool.Action, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &tool.PanicError{Tool: t.Name, Value: r}
		}
	}()
	if t.Plan != nil {
		return t.Plan(ctx, env, input)
	}
	var shown bytes.Buffer
	if json.Indent(&shown, input, "", "  ") != nil {
		shown.Write(input)
	}
	return tool.Action{Class: t.Class, Shown: t.Name + " " + shown.String()}, nil
}

// finished makes the outcome of a tool call. What is worth recording is what
// the tool did and, where somebody had to decide, who did.
func (p *Performer) finished(job *engine.Job, run agent.RunTool, res tool.Result, d *permission.Decision) agent.Event {
	ev := agent.ToolFinished{Turn: run.Turn, Call: run.Call, IsError: res.IsError}
	if res.Whole != nil {
		ev.Parts, ev.Artifact = kept(job.Spec.ID, run, res)
	} else {
		ev.Parts, ev.Artifact = bound(job.Spec.ID, run, res.Parts)
	}
	ev.Tokens = engine.Tokens(message.Message{Parts: ev.Parts})
	ev.Same = hashOf(message.Text(res.Parts))
	if record := recordOf(res, d); record != nil {
		ev.Record, ev.Did = record, true
	}
	return ev
}

// Record is what is kept of a tool call beside its result.
type Record struct {
	tool.Record
	Tests    *Tests    `json:"tests,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
}

// Decision is who let a tool run, or kept it from running.
type Decision struct {
	Effect permission.Effect `json:"effect"`
	By     string            `json:"by"`
}

func recordOf(res tool.Result, d *permission.Decision) []byte {
	r := Record{Record: res.Record}
	if r.Command != "" {
		r.Tests = countTests(r.Command, message.Text(res.Parts))
	}
	if d != nil {
		r.Decision = &Decision{d.Effect, d.By}
	}
	if len(r.Files) == 0 && r.Command == "" && r.Decision == nil {
		return nil
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil // it consists of text and numbers
	}
	return b
}

// asker lets a tool ask the user in the middle of its run. The user has as long
// to answer as for an agent's question; then it counts as declined.
func (p *Performer) asker(job *engine.Job) func(context.Context, tool.Question) (tool.Answer, error) {
	if job.Ask == nil {
		return nil
	}
	return func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		action, err := json.Marshal(struct {
			Question string          `json:"question"`
			Schema   json.RawMessage `json:"schema,omitempty"`
			URL      string          `json:"url,omitempty"`
		}{q.Text, q.Schema, q.URL})
		if err != nil {
			return tool.Answer{}, fmt.Errorf("wording the question: %w", err)
		}
		asked := agent.ToolAsked{Action: string(action), Reason: q.From}
		if p.asking.Timeout > 0 {
			asked.Deadline = job.Now().Add(p.asking.Timeout).UnixMilli()
		}
		told, err := job.Ask(ctx, asked)
		if err != nil {
			return tool.Answer{}, err
		}
		out := tool.Answer{Declined: told.Declined, Text: told.Answer}
		if fields := []byte(told.Answer); json.Valid(fields) && strings.HasPrefix(strings.TrimSpace(told.Answer), "{") {
			out.Fields = fields
		}
		return out, nil
	}
}
