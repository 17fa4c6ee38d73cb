// Package shell holds the tools that run commands: Bash, and BashOutput and
// KillBash for those in the background. Each agent has a folder it is in, a
// private temp folder, and commands of its own, which end with it.
//
// A command that only reads (see Classify) runs unasked, in a sandbox with a
// read-only view and no network. What any other command changed is found by
// comparing the working folder before and after.
package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/tool"
)

// Options say how commands run.
type Options struct {
	Sandbox  sandbox.Sandbox
	Hide     []string                    // files and folders that no command may read
	TempRoot string                      // where agents get their temp folders; empty: the system's
	Cache    string                      // caches of build tools, shared by all agents; empty: each agent has its own
	Env      func() []string             // the environment before it is scrubbed; nil: that of this process
	Extra    func(agent string) []string // further folders that an agent's commands may write; nil: none
	Limits   sandbox.Limits
}

// Shell runs commands for any number of agents.
type Shell struct {
	options Options

	mu     sync.Mutex
	agents map[string]*agentState
	closed bool
}

// agentState is what is kept of an agent between its commands.
type agentState struct {
	mu   sync.Mutex
	root string // the working folder that dir lies in
	dir  string // where it is
	temp string // made when first needed
	jobs []*job // in the order they were started
	last int    // number of the last job
	gone bool
}

// New makes a Shell. Close it in the end.
func New(o Options) *Shell {
	if o.Env == nil {
		o.Env = os.Environ
	}
	return &Shell{options: o, agents: map[string]*agentState{}}
}

// Tools returns the tools of this package.
func (s *Shell) Tools() []tool.Tool {
	return []tool.Tool{s.bashTool(), s.outputTool(), s.killTool()}
}

// Close ends all background commands and drops all temp folders. Whatever
// runs in the foreground ends with its context.
func (s *Shell) Close() {
	s.mu.Lock()
	s.closed = true
	agents := s.agents
	s.agents = map[string]*agentState{}
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, a := range agents {
		all.Go(a.end)
	}
	all.Wait()
}

// Forget ends the background commands of an agent, and drops its folder and
// its temp folder.
func (s *Shell) Forget(agent string) {
	s.mu.Lock()
	a := s.agents[agent]
	delete(s.agents, agent)
	s.mu.Unlock()
	if a != nil {
		a.end()
	}
}

func (a *agentState) end() {
	a.mu.Lock()
	a.gone = true
	jobs, temp := a.jobs, a.temp
	a.mu.Unlock()
	for _, j := range jobs {
		j.cancel()
	}
	for _, j := range jobs {
		<-j.done
	}
	if temp != "" {
		removeAll(temp)
	}
}

// removeAll also removes folders that were made read-only, as Go makes those
// of its module cache.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir) // what still resists is left to the system's clean-up
}

// agent returns what is kept of the agent that uses a tool.
func (s *Shell) agent(env tool.Env) (*agentState, error) {
	root, err := filepath.EvalSymlinks(env.Dir)
	if err != nil {
		return nil, fmt.Errorf("finding the working folder: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("cadre is shutting down: no command can be started")
	}
	a := s.agents[env.Agent]
	if a == nil {
		a = &agentState{}
		s.agents[env.Agent] = a
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.root != root { // new, or moved to another working folder
		a.root, a.dir = root, root
	}
	return a, nil
}

// tempFolder makes the private temp folder of the agent, once.
func (s *Shell) tempFolder(a *agentState) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.temp != "" || a.gone {
		return a.temp, nil
	}
	if s.options.TempRoot != "" {
		if err := os.MkdirAll(s.options.TempRoot, 0o700); err != nil {
			return "", fmt.Errorf("making the temp folder: %w", err)
		}
	}
	temp, err := os.MkdirTemp(s.options.TempRoot, "agent-")
	if err != nil {
		return "", fmt.Errorf("making the temp folder: %w", err)
	}
	a.temp = temp
	return temp, nil
}

// where returns the folder that the agent is in: asked, if it names one.
func (a *agentState) where(asked string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if asked == "" {
		if info, err := os.Stat(a.dir); err != nil || !info.IsDir() {
			a.dir = a.root // it was removed
		}
		return a.dir, nil
	}
	if !filepath.IsAbs(asked) {
		asked = filepath.Join(a.root, asked)
	}
	dir, err := filepath.EvalSymlinks(asked)
	if err != nil {
		return "", fmt.Errorf("the folder %s does not exist", asked)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", asked)
	}
	if !inside(a.root, dir) {
		return "", fmt.Errorf("%s is outside the working folder %s: use a folder inside it", asked, a.root)
	}
	return dir, nil
}

// moved notes where a command has left the agent, and says so if that is
// elsewhere than before.
func (a *agentState) moved(from, to string) string {
	if to == "" || to == from {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !inside(a.root, to) {
		return fmt.Sprintf("[the next command starts in %s again: %s is outside the working folder]", shownDir(a.root, a.dir), to)
	}
	if info, err := os.Stat(to); err != nil || !info.IsDir() {
		return ""
	}
	a.dir = to
	return fmt.Sprintf("[the next command starts in %s]", shownDir(a.root, to))
}

func inside(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

// shownDir names a folder relative to the working folder.
func shownDir(root, dir string) string {
	rel, err := filepath.Rel(root, dir)
	if err != nil || rel == "." {
		return "the working folder"
	}
	return filepath.ToSlash(rel)
}

// decode reads an input that the registry has validated.
func decode[T any](input json.RawMessage) (T, error) {
	var in T
	if err := json.Unmarshal(input, &in); err != nil {
		return in, fmt.Errorf("reading the input: %w", err)
	}
	return in, nil
}

// text trims a description.
func text(s string) string { return strings.TrimSpace(s) }
