// Background commands: they belong to the agent that started them, and end
// with it.

package shell

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed bash_output.md
var outputDescription string

//go:embed kill_bash.md
var killDescription string

const (
	outputSchema = `{"type":"object","properties":{"id":{"type":"string"},"wait":{"type":"number","minimum":0},"bash_id":{"type":"string","deprecated":true}},"additionalProperties":false}`
	killSchema   = `{"type":"object","properties":{"id":{"type":"string"},"shell_id":{"type":"string","deprecated":true},"bash_id":{"type":"string","deprecated":true}},"additionalProperties":false}`

	maxRunning = 8  // background commands of an agent at a time
	maxJobs    = 24 // that are remembered, with their output
	maxWait    = 10 * time.Minute
)

// job is a background command.
type job struct {
	*execution // nil until it has started; guarded by the agent's mu
	id         string
	cancel     context.CancelFunc
	done       chan struct{} // closed when it has ended; end is set before
	end        ending
	killed     bool // guarded by the agent's mu
	told       bool // guarded by the agent's mu: its record was handed over
}

func (j *job) running() bool {
	select {
	case <-j.done:
		return false
	default:
		return true
	}
}

// startJob starts a command that outlives the call.
func (s *Shell) startJob(env tool.Env, r request) (tool.Result, error) {
	env.Output = nil // the call is over before there is any
	ctx, cancel := context.WithCancel(context.Background())
	j := &job{cancel: cancel, done: make(chan struct{})}
	if err := r.agent.enlist(j); err != nil {
		cancel()
		return tool.Result{}, err
	}
	e, err := s.start(ctx, env, r, newOutput(nil))
	if err != nil {
		cancel()
		close(j.done)
		r.agent.strike(j)
		return tool.Result{}, err
	}
	r.agent.mu.Lock()
	j.execution = e
	r.agent.mu.Unlock()
	go func() {
		defer cancel()
		j.end = e.wait()
		close(j.done)
	}()
	res := tool.Text(fmt.Sprintf("Started in the background as %s. See what it prints with BashOutput, end it with KillBash; it ends with you at the latest.", j.id))
	res.Record.Command = r.Command
	return res, nil
}

// enlist gives the job a name and a place, if there is one.
func (a *agentState) enlist(j *job) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone {
		return errors.New("the agent has ended: no command can be started")
	}
	var running []string
	for _, other := range a.jobs {
		if other.running() {
			running = append(running, other.id)
		}
	}
	if len(running) >= maxRunning {
		return fmt.Errorf("%d background commands are running already, which is the most: end one with KillBash (%s)", len(running), strings.Join(running, ", "))
	}
	if over := len(a.jobs) + 1 - maxJobs; over > 0 {
		a.jobs = slices.DeleteFunc(a.jobs, func(j *job) bool {
			if over > 0 && !j.running() {
				over--
				return true
			}
			return false
		})
	}
	a.last++
	j.id = fmt.Sprintf("bash-%d", a.last)
	a.jobs = append(a.jobs, j)
	return nil
}

// strike takes a job that did not start off the list.
func (a *agentState) strike(j *job) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.jobs = slices.DeleteFunc(a.jobs, func(other *job) bool { return other == j })
}

// job finds a background command of the agent.
func (s *Shell) job(env tool.Env, id string) (*agentState, *job, error) {
	a, err := s.agent(env)
	if err != nil {
		return nil, nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var known []string
	for _, j := range a.jobs {
		if j.id == id && j.execution != nil {
			return a, j, nil
		}
		known = append(known, j.id)
	}
	if len(known) == 0 {
		return nil, nil, fmt.Errorf("there is no background command %q: you have none; they do not outlive a restart of cadre", id)
	}
	return nil, nil, fmt.Errorf("there is no background command %q: yours are %s", id, strings.Join(known, ", "))
}

func (s *Shell) outputTool() tool.Tool {
	return tool.Tool{
		Name: "BashOutput", Description: text(outputDescription), Schema: json.RawMessage(outputSchema), Class: tool.Reads, Polls: true,
		Run: func(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
			in, err := decode[struct {
				ID    string  `json:"id"`
				Other string  `json:"bash_id"` // as some models are used to
				Wait  float64 `json:"wait"`
			}](input)
			if err != nil {
				return tool.Result{}, err
			}
			a, j, err := s.job(env, cmp.Or(in.ID, in.Other))
			if err != nil {
				return tool.Result{}, err
			}
			if in.Wait > 0 && j.running() {
				timer := time.NewTimer(time.Duration(min(in.Wait, maxWait.Seconds()) * float64(time.Second)))
				defer timer.Stop()
				select {
				case <-j.done:
				case <-timer.C:
				case <-ctx.Done():
					return tool.Result{}, fmt.Errorf("waiting for %s: %w", j.id, ctx.Err())
				}
			}
			return a.look(j), nil
		},
	}
}

func (s *Shell) killTool() tool.Tool {
	return tool.Tool{
		Name: "KillBash", Description: text(killDescription), Schema: json.RawMessage(killSchema), Class: tool.Reads,
		Run: func(_ context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
			in, err := decode[struct {
				ID    string `json:"id"`
				Other string `json:"shell_id"` // as some models are used to
				Older string `json:"bash_id"`
			}](input)
			if err != nil {
				return tool.Result{}, err
			}
			a, j, err := s.job(env, cmp.Or(in.ID, in.Other, in.Older))
			if err != nil {
				return tool.Result{}, err
			}
			if j.running() {
				a.mu.Lock()
				j.killed = true
				a.mu.Unlock()
				j.cancel()
				<-j.done
			}
			return a.look(j), nil
		},
	}
}

// look tells what is new about a job. What it changed is recorded with the
// first look after its end.
func (a *agentState) look(j *job) tool.Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j.running() {
		shown, _ := j.out.news()
		return textResult(shown, []string{fmt.Sprintf("[%s still runs, for %s so far]", j.id, took(time.Since(j.started)))})
	}
	shown, whole := j.out.news()
	why := ""
	if j.killed {
		why = "killed"
	}
	notes := []string{status(j.end, why)}
	if !j.told {
		notes = append(notes, j.end.change.notes...)
	}
	r := textResult(shown, notes)
	r.IsError = j.end.code != 0 && !j.killed
	r.Record = tool.Record{Command: j.Command, Exit: &j.end.code}
	if !j.told {
		r.Record.Files = j.end.change.files
	}
	j.told = true
	if whole != nil {
		r.Whole = &tool.Whole{Name: j.id + ".txt", MediaType: "text/plain; charset=utf-8", Data: whole}
	}
	return r
}
