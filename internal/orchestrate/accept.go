// Acceptance: the command that must pass before a result counts.

package orchestrate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
)

// mostAccepted is how much of the command's output an agent is shown, in
// characters.
const mostAccepted = 8_000

// AcceptSuffix marks the shell in which an agent's acceptance command runs.
const AcceptSuffix = "-accept"

// Accept implements engine.Performer. That the command may run was decided
// when the task was planned.
func (p *Performer) Accept(ctx context.Context, job engine.Job) agent.Event {
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
	res, err := p.tools.Run(ctx, bash, env, input)
	if err != nil {
		return done(false, fmt.Sprintf("the acceptance command could not be run: %v", err))
	}
	passed := !res.IsError && res.Record.Exit != nil && *res.Record.Exit == 0
	return done(passed, fmt.Sprintf("$ %s\n%s", job.Spec.Command, message.Text(res.Parts)))
}
