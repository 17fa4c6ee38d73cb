// Worktrees: agents that work on a copy of the repository of their own.

package orchestrate

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
)

// Worktrees makes and settles the worktrees of agents. All of it can be done
// again after a crash.
type Worktrees interface {
	// Check tells why there can be no worktree of a folder.
	Check(ctx context.Context, dir string) error
	// Open makes the worktree of an agent, or finds it, and returns the folder
	// that stands for origin in it.
	Open(ctx context.Context, agent, origin string) (dir string, err error)
	// Inspect tells what the agent has changed there.
	Inspect(ctx context.Context, agent, origin string) (Work, error)
	// Alone waits until nobody else settles work, and keeps others from it
	// until the returned function is called.
	Alone() (release func())
	// Settle does with it what was decided: accept, merge, keep or discard.
	// What it returns is for people and models to read.
	Settle(ctx context.Context, agent, origin, how string) (string, error)
}

// Work is what an agent leaves in its worktree.
type Work struct {
	Branch string   `json:"branch"`
	Dir    string   `json:"dir"`
	Files  []string `json:"files"`
	Stat   string   `json:"stat"`
	Diff   string   `json:"-"`
}

// workDir is where an agent works.
func (p *Performer) workDir(ctx context.Context, spec agent.Spec) (string, error) {
	if !spec.Worktree {
		if !spec.Fixed {
			return spec.Dir, nil
		}
		if real, err := filepath.EvalSymlinks(spec.Dir); err != nil || real != spec.Dir {
			return "", fmt.Errorf("the working folder %s is gone, or a link has taken its place", spec.Dir)
		}
		return spec.Dir, nil
	}
	if p.trees == nil {
		return "", fmt.Errorf("worktrees are not available here")
	}
	dir, err := p.trees.Open(ctx, spec.ID, spec.Origin)
	if err != nil {
		return "", fmt.Errorf("making the worktree: %w", err)
	}
	return dir, nil
}

// Inspect implements engine.Performer.
func (p *Performer) Inspect(ctx context.Context, job *engine.Job) agent.Event {
	if p.trees == nil {
		return agent.WorkInspected{Reason: "worktrees are not available here"}
	}
	work, err := p.trees.Inspect(ctx, job.Spec.ID, job.Spec.Origin)
	if err != nil {
		return agent.WorkInspected{Reason: fmt.Sprintf("looking at the worktree: %v", err)}
	}
	if len(work.Files) == 0 {
		if _, err := p.trees.Settle(ctx, job.Spec.ID, job.Spec.Origin, "discard"); err != nil {
			p.log.Warn("an empty worktree could not be removed", "agent", job.Spec.ID, "err", err)
		}
		return agent.WorkInspected{Empty: true}
	}
	detail, err := json.Marshal(work)
	if err != nil {
		detail = nil // it consists of text
	}
	return agent.WorkInspected{
		Action: work.Diff, Detail: detail,
		Reason: fmt.Sprintf("%s on branch %s: accept, merge, keep or discard", work.Stat, work.Branch),
	}
}
