// The Bash tool: what a command would do, and running it.

package shell

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed bash.md
var bashDescription string

const bashSchema = `{"type":"object","properties":{"command":{"type":"string","minLength":1},"description":{"type":"string"},"timeout":{"type":"number","minimum":1},"run_in_background":{"type":"boolean"},"network":{"type":"boolean"},"cwd":{"type":"string"}},"required":["command"],"additionalProperties":false}`

// How long a command may take: while an agent waits for it, and as a task of
// its own.
const (
	defaultTimeout = 2 * time.Minute
	maxTimeout     = 10 * time.Minute
	taskTimeout    = time.Hour
	maxTaskTimeout = 12 * time.Hour
)

type bashInput struct {
	Command     string  `json:"command"`
	Description string  `json:"description"`
	Timeout     float64 `json:"timeout"`
	Background  bool    `json:"run_in_background"`
	Network     bool    `json:"network"`
	Cwd         string  `json:"cwd"`
}

// timeout reads milliseconds. Nobody means fewer than a thousand of them, but
// some models mean seconds.
func (in bashInput) timeout(task bool) time.Duration {
	usual, most := defaultTimeout, maxTimeout
	if task {
		usual, most = taskTimeout, maxTaskTimeout
	}
	if in.Timeout == 0 {
		return usual
	}
	unit := time.Millisecond
	if in.Timeout < 1000 {
		unit = time.Second
	}
	return time.Duration(min(in.Timeout*float64(unit), float64(most)))
}

func (s *Shell) bashTool() tool.Tool {
	return tool.Tool{
		Name:        "Bash",
		Description: text(bashDescription),
		Schema:      json.RawMessage(bashSchema),
		Class:       tool.Executes,
		Plan:        s.planBash,
		Run:         s.runBash,
	}
}

// request is an input with what follows from it.
type request struct {
	bashInput
	agent   *agentState
	dir     string
	verdict Verdict
	reads   bool // it only reads, and can be kept to that
}

func (s *Shell) request(env tool.Env, input json.RawMessage) (request, error) {
	in, err := decode[bashInput](input)
	if err != nil {
		return request{}, err
	}
	if len(in.Command) > maxLine {
		return request{}, fmt.Errorf("the command is %d bytes long, at most %d are allowed: write a file and run that", len(in.Command), maxLine)
	}
	if env.Task {
		in.Background = false // it is there already, and would end with what started it
	}
	a, err := s.agent(env)
	if err != nil {
		return request{}, err
	}
	dir, err := a.where(in.Cwd)
	if err != nil {
		return request{}, err
	}
	r := request{bashInput: in, agent: a, dir: dir, verdict: Classify(in.Command)}
	r.reads = r.verdict.Reads && s.options.Sandbox.Confines() && !in.Network
	return r, nil
}

// planBash says what the command would do. If it cannot be confined, it is
// never said to read only.
func (s *Shell) planBash(_ context.Context, env tool.Env, input json.RawMessage) (tool.Action, error) {
	r, err := s.request(env, input)
	if err != nil {
		return tool.Action{}, err
	}
	a := tool.Action{Class: tool.Executes, Command: r.Command, Commands: r.verdict.Commands, Shown: r.Command, Reason: r.Description}
	if r.reads {
		a.Class = tool.Reads
	}
	if r.dir != r.agent.root {
		a.Shown += "\n[in " + shownDir(r.agent.root, r.dir) + "]"
	}
	if r.Network {
		a.Hosts = []string{"*"}
		a.Shown += "\n[with network]"
	}
	if r.Background {
		a.Shown += "\n[in the background]"
	}
	switch {
	case !s.options.Sandbox.Confines():
		a.Unconfined = true
		a.Shown += "\n[not confined: it can read, write and reach whatever you can]"
	case !r.reads && s.options.Sandbox.Name() == sandbox.Landlock:
		// It cannot hide files in a folder that may be written.
		withheld, err := withheldFrom(env, r.agent.root)
		if err != nil {
			return tool.Action{}, err
		}
		if len(withheld) > 0 {
			a.Unconfined = true
			a.Shown += "\n[it can read what may not be read, such as " + shownDir(r.agent.root, withheld[0]) + "]"
		}
	}
	return a, nil
}

func (s *Shell) runBash(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
	r, err := s.request(env, input)
	if err != nil {
		return tool.Result{}, err
	}
	if r.Background {
		return s.startJob(env, r)
	}
	most := r.timeout(env.Task)
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	out := newOutput(env.Output)
	e, err := s.start(limited, env, r, out)
	if err != nil {
		out.finish()
		return tool.Result{}, err
	}
	end := e.wait()
	out.finish()
	why := ""
	switch {
	case ctx.Err() != nil:
		why = "cancelled"
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		why = fmt.Sprintf("killed, as it took longer than %s; give it a longer timeout", most)
		if !env.Task {
			why += " or run it in the background"
		}
	}
	return e.result(end, why), nil
}
