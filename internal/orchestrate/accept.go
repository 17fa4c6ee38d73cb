// Acceptance: the command that must pass before a result counts.

package orchestrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

// mostAccepted is how much of the command's output an agent is shown, in
// characters.
const mostAccepted = 8_000

// AcceptSuffix marks the shell in which an agent's acceptance command runs.
const AcceptSuffix = "-accept"

// Accept implements engine.Performer. That the command may run was decided
// when the task was planned.
func (p *Performer) Accept(ctx context.Context, job *engine.Job) agent.Event {
	done := func(passed bool, output string) agent.Event {
		output = middle(output, mostAccepted)
		return agent.AcceptanceDone{Passed: passed, Output: output, Tokens: int64(len(output)) / 4}
	}
	dir, err := p.workDir(ctx, job.Spec)
	if err != nil {
		return done(false, err.Error())
	}
	input, err := json.Marshal(map[string]any{"command": job.Spec.Command, "timeout": 600_000})
	if err != nil {
		return done(false, err.Error())
	}
	env := p.env(job)
	env.Dir = dir
	env.Agent += AcceptSuffix // its shell is not the agent's
	if env.Approved, err = p.mayShowAsked(ctx, env, input); err != nil {
		return done(false, err.Error())
	}
	p.limitReading(ctx, &job.Spec, &env)
	res, err := p.tools.Run(ctx, bash, env, input)
	if err != nil {
		return done(false, fmt.Sprintf("the acceptance command could not be run: %v", err))
	}
	passed := !res.IsError && res.Record.Exit != nil && *res.Record.Exit == 0
	return done(passed, fmt.Sprintf("$ %s\n%s", job.Spec.Command, message.Text(res.Parts)))
}

// mayShowAsked tells whether an acceptance command may show what is only to be
// asked for. One that only reads needed nobody's leave, so it may not.
func (p *Performer) mayShowAsked(ctx context.Context, env tool.Env, input json.RawMessage) (bool, error) {
	t, ok := p.tools.Get(bash)
	if !ok {
		return false, errors.New("acceptance: commands cannot be run here")
	}
	action, err := planned(ctx, t, env, input)
	return action.Class != tool.Reads, err
}
