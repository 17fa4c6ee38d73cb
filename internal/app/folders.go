// Folders: a chat works in a folder, and that decides by which roles, rules and
// servers of tools: those of the user, and those of the project in it as far as
// the user trusts it. So what one project may do is no leave for another.

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/role"
)

// folder is what chats in one folder work with. It is read when the first of
// them is met, and counts until the process ends: what an agent writes there
// meanwhile gives it nothing.
type folder struct {
	*orchestrate.Performer
	config   *config.Config
	roles    *role.Registry
	depth    int
	tools    *tools
	policy   permission.Policy
	warnings []string
}

// openFolder reads what counts in the folder o.Dir.
func (a *App) openFolder(o Options, c *config.Config) (*folder, error) {
	roles, set, err := Roles(o, c.Agents.Depth)
	if err != nil {
		return nil, err
	}
	f := &folder{config: c, roles: roles, depth: set.MaxDepth}
	for _, w := range slices.Concat(set.Errors, set.Warnings) {
		f.warnings = append(f.warnings, w.String())
	}
	if f.tools, err = newTools(context.Background(), o, c, a.common, roles); err != nil {
		return nil, err
	}
	f.warnings = append(f.warnings, f.tools.warnings...)
	f.policy = f.tools.policy
	f.perform(o, a.common)
	return f, nil
}

// perform makes the performer of agents in the folder.
func (f *folder) perform(o Options, s *common) {
	c, policy := f.config, f.policy
	f.Performer = orchestrate.New(orchestrate.Config{
		Roles: f.roles, Tools: f.tools.registry, Models: s.models, Places: s.places, Log: o.Log, Store: s.store,
		Policy: func(string) permission.Policy { return policy }, Ledger: s.ledger, Trees: s.trees, About: instructions(o), Forget: f.tools.forget,
		Asking: askingOf(c), Approve: cmp.Or(c.Agents.Approve, approvalTime), Budget: cmp.Or(c.Agents.Budget.Ask, budgetTime),
		MaxDepth: f.depth, Parallel: c.Agents.Parallel, Limits: agent.Limits{Agents: cmp.Or(c.Agents.Most, mostAgents), Tokens: c.Agents.Budget.Tokens, Cost: c.Agents.Budget.Cost},
	})
}

// Performers performs for the agents of any chat by what counts in its folder.
type Performers struct {
	*folder // the one that the process was started in; it does what depends on no folder

	app     *App
	options Options
	runtime engine.Runtime

	narrow func() *folder // for agents whose own folder cannot be read

	mu      sync.Mutex
	folders map[string]*opening
	chats   map[string]*folder
	all     []*folder // that were opened
}

var _ engine.Performer = (*Performers)(nil)

// opening is a folder that is opened once, whoever asks.
type opening struct {
	folder func() (*folder, error)
}

func newPerformers(a *App, o Options, start *folder) *Performers {
	p := &Performers{folder: start, app: a, options: o, folders: map[string]*opening{}, chats: map[string]*folder{}, all: []*folder{start}}
	for _, dir := range []string{o.Dir, ""} {
		p.folders[filepath.Clean(dir)] = &opening{func() (*folder, error) { return start, nil }}
	}
	p.narrow = sync.OnceValue(func() *folder {
		f := *start
		f.policy = permission.Policy{Preset: permission.ReadOnly}
		f.perform(o, a.common)
		p.add(&f)
		return &f
	})
	return p
}

func (p *Performers) add(f *folder) {
	f.Bind(p.runtime)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, f)
}

// close ends what the folders have started.
func (p *Performers) close() error {
	p.mu.Lock()
	all := p.all
	p.mu.Unlock()
	var errs []error
	closed := map[*tools]bool{}
	for _, f := range all {
		if !closed[f.tools] {
			closed[f.tools] = true
			errs = append(errs, f.tools.close())
		}
	}
	return errors.Join(errs...)
}

// Bind tells it what runs the agents.
func (p *Performers) Bind(r engine.Runtime) {
	p.runtime = r
	p.folder.Bind(r)
}

// at returns what counts in a folder. A configuration that cannot be read is
// an error, and is read again the next time.
func (p *Performers) at(dir string) (*folder, error) {
	dir = filepath.Clean(dir)
	p.mu.Lock()
	o := p.folders[dir]
	if o == nil {
		o = &opening{sync.OnceValues(func() (*folder, error) { return p.read(dir) })}
		p.folders[dir] = o
	}
	p.mu.Unlock()
	f, err := o.folder()
	if err != nil {
		p.mu.Lock()
		if p.folders[dir] == o {
			delete(p.folders, dir)
		}
		p.mu.Unlock()
		return nil, fmt.Errorf("reading what counts in the folder %s: %w", dir, err)
	}
	return f, nil
}

func (p *Performers) read(dir string) (*folder, error) {
	o := p.options
	o.Dir = dir
	c, err := config.Load(config.Options{Dir: dir, Env: o.Env})
	if err != nil {
		return nil, err
	}
	f, err := p.app.openFolder(o, c)
	if err != nil {
		return nil, err
	}
	for _, w := range f.warnings {
		o.Log.Warn("a chat's folder", "folder", dir, "warning", w)
	}
	p.add(f)
	return f, nil
}

// of returns what counts for the agents of a chat. Where that cannot be read,
// they may read and nothing else.
func (p *Performers) of(ctx context.Context, chat string) *folder {
	return p.remembered(chat, func() (*folder, error) {
		c, err := p.app.Store.Chat(ctx, chat)
		if err != nil {
			return nil, err
		}
		return p.at(c.Dir)
	})
}

// serving returns what counts for the agent of a job. An orchestrator works in
// the folder of its chat, so that the chat need not be read for it.
func (p *Performers) serving(ctx context.Context, job *engine.Job) *folder {
	if job.Spec.Orchestrator() {
		return p.remembered(job.Spec.Chat, func() (*folder, error) { return p.at(job.Spec.Dir) })
	}
	return p.of(ctx, job.Spec.Chat)
}

// remembered returns what counts for a chat, finding it the first time.
func (p *Performers) remembered(chat string, find func() (*folder, error)) *folder {
	p.mu.Lock()
	f := p.chats[chat]
	p.mu.Unlock()
	if f != nil {
		return f
	}
	f, err := find()
	if err != nil {
		p.options.Log.Error("agents may only read, as their folder's configuration cannot be read", "chat", chat, "err", err)
		return p.narrow()
	}
	p.mu.Lock()
	p.chats[chat] = f
	p.mu.Unlock()
	return f
}

// policyOf is what the agents of a chat may do.
func (p *Performers) policyOf(ctx context.Context, chat string) permission.Policy {
	return p.of(ctx, chat).policy
}

// NewChat prepares the orchestrator of a chat.
func (p *Performers) NewChat(root orchestrate.Root) (engine.NewChat, error) {
	f, err := p.at(root.Dir)
	if err != nil {
		return engine.NewChat{}, err
	}
	return f.NewChat(root)
}

// Choose finds the models that the orchestrator of a chat that works in a
// folder is to go on with.
func (p *Performers) Choose(dir, names string) (agent.Choice, error) {
	f, err := p.at(dir)
	if err != nil {
		return agent.Choice{}, err
	}
	return f.Choose(names)
}

// CallModel implements engine.Performer.
func (p *Performers) CallModel(ctx context.Context, job *engine.Job, call agent.CallModel, onDelta func(kind string, part int, name, text string)) agent.Event {
	return p.serving(ctx, job).CallModel(ctx, job, call, onDelta)
}

// Ahead implements engine.Performer.
func (p *Performers) Ahead(ctx context.Context, job *engine.Job, reply agent.ModelReplied) []agent.ToolFinished {
	return p.serving(ctx, job).Ahead(ctx, job, reply)
}

// RunTool implements engine.Performer.
func (p *Performers) RunTool(ctx context.Context, job *engine.Job, run agent.RunTool, input json.RawMessage, start func() bool) agent.Event {
	return p.serving(ctx, job).RunTool(ctx, job, run, input, start)
}

// Compact implements engine.Performer.
func (p *Performers) Compact(ctx context.Context, job *engine.Job, c agent.Compact) agent.Event {
	return p.serving(ctx, job).Compact(ctx, job, c)
}

// Consult implements engine.Performer.
func (p *Performers) Consult(ctx context.Context, job *engine.Job, c agent.Consult) agent.Event {
	return p.serving(ctx, job).Consult(ctx, job, c)
}

// Accept implements engine.Performer.
func (p *Performers) Accept(ctx context.Context, job *engine.Job) agent.Event {
	return p.serving(ctx, job).Accept(ctx, job)
}

// Ended implements engine.Performer.
func (p *Performers) Ended(id string) {
	chat, _, _ := strings.Cut(id, ".")
	p.mu.Lock()
	f := p.chats[chat]
	p.mu.Unlock()
	if f != nil { // else nothing was kept for it
		f.Ended(id)
	}
}

// Prompt implements engine.Performer. A prompt is named by what it says, so
// that it does not matter who knows it.
func (p *Performers) Prompt(id string) (string, bool) {
	p.mu.Lock()
	all := p.all
	p.mu.Unlock()
	for _, f := range all {
		if text, ok := f.Prompt(id); ok {
			return text, true
		}
	}
	return "", false
}
