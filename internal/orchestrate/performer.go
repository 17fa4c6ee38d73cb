package orchestrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/schedule"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

// Models finds the provider of a model by its name, as in provider/model.
type Models interface {
	// Find returns a model. The error says what to do.
	Find(name string) (Model, error)
	// Tier returns the model that a tier (fast, default, smart) means for an
	// agent whose parent uses the given one; any other name it finds as Find
	// does. It sends nothing to a provider that nobody chose.
	Tier(name, of string) (Model, error)
}

// Model is a model and what is known of it.
type Model struct {
	Provider  llm.Provider
	Ref       string // names it for good, where a tier or a short name may move on
	Name      string // as the provider knows it
	Lane      string // calls of the same lane share its limits; empty: there are none
	Price     agent.Price
	Window    int64 // tokens it can read, 0 if unknown
	MaxOutput int64 // tokens it can write, 0 if unknown

	// Cost prices a call, cached tokens apart; nil: Price alone tells.
	Cost func(message.Usage) (micros int64, known bool)
}

// cost is what a call has cost, and whether that is known.
func (m Model) cost(u message.Usage) (int64, bool) {
	if m.Cost != nil {
		return m.Cost(u)
	}
	return (u.Prompt()*m.Price.Input + u.Output*m.Price.Output + 999_999) / 1_000_000, m.Price.Known
}

// spent is what a call has used. Where a server tells nothing about it, the
// tokens are estimated and the cost is not known.
func (m Model) spent(u message.Usage, read, said int) (agent.Amount, bool) {
	if u.Total() == 0 && read+said > 0 {
		return agent.Amount{Tokens: int64(read+said)/4 + 1}, m.free()
	}
	cost, known := m.cost(u)
	return agent.Amount{Tokens: u.Total(), Cost: cost}, known
}

// free tells whether the model costs nothing.
func (m Model) free() bool {
	cost, known := m.cost(message.Usage{Input: 1_000_000, Output: 1_000_000})
	return known && cost == 0
}

// Config is what a Performer is made of.
type Config struct {
	Roles  *role.Registry
	Tools  *tool.Registry
	Models Models
	Places *schedule.Scheduler
	Log    *slog.Logger

	Store    Reader                              // what is on record
	Policy   func(dir string) permission.Policy  // what agents that work there may do; nil: the default
	Ledger   *tool.Ledger                        // nil: nobody keeps one
	Trees    Worktrees                           // nil: there are none
	About    func(dir string) []role.Instruction // what a project wants its agents to know; nil: nothing
	Forget   func(agent string)                  // drops what is kept for an agent that has ended; nil: nothing is
	Asking   Asking
	Approve  time.Duration // how long an approval waits before it counts as denied, 0 = for ever
	Budget   time.Duration // how long the user is given to extend a spent budget, 0 = never asked
	Limits   agent.Limits  // of every chat: agents in all, and what a message may use
	Parallel int           // sub-agents of one chat that think at the same time, 0 = any number
	MaxDepth int           // of the tree, 0 = role.DefaultDepth
}

// Asking is how questions of sub-agents are handled.
type Asking struct {
	Confidence int           // percent from which the orchestrator's model may answer for the user, 0 = never
	SameLimit  int           // how often it may answer the same question
	Timeout    time.Duration // how long a question waits for the user, 0 = for ever
}

// Reader is what a Performer reads of the store.
type Reader interface {
	Artifacts
	Agent(ctx context.Context, id string) (*store.Agent, error)
	Children(ctx context.Context, agent string) ([]store.Agent, error)
	Tree(ctx context.Context, chat string) ([]store.Agent, error)
	Task(ctx context.Context, id string) (*store.Task, error)
	Results(ctx context.Context, parent string, first, size int) ([]store.Task, error)
	History(ctx context.Context, agent string, from int) ([]store.Message, error)
	ToolCall(ctx context.Context, agent string, turn, call int) (*store.ToolCall, error)
	ToolCalls(ctx context.Context, agent string) ([]store.ToolCall, error)
	Inbox(ctx context.Context, q store.InboxQuery) ([]store.Item, error)
	Item(ctx context.Context, id string) (*store.Item, error)
}

// Performer implements engine.Performer with roles, tools and models.
type Performer struct {
	roles   *role.Registry
	tools   *tool.Registry
	models  Models
	places  *schedule.Scheduler
	log     *slog.Logger
	store   Reader
	policy  func(dir string) permission.Policy
	ledger  *tool.Ledger
	trees   Worktrees
	about   func(dir string) []role.Instruction
	forget  func(agent string)
	asking  Asking
	approve time.Duration
	budget  time.Duration
	limits  agent.Limits
	depth   int
	gates   gates
	deliver func(ctx context.Context, agent string, ev agent.Event) error // nil before Bind

	mu      sync.Mutex
	prompts map[string]string // by id
	specs   map[string][]llm.Tool
	version int // of the tools that specs are of
}

var _ engine.Performer = (*Performer)(nil)

// New makes a Performer.
func New(c Config) *Performer {
	p := &Performer{
		roles: c.Roles, tools: c.Tools, models: c.Models, places: c.Places, log: c.Log, store: c.Store,
		policy: c.Policy, ledger: c.Ledger, trees: c.Trees, about: c.About, forget: c.Forget,
		asking: c.Asking, approve: c.Approve, budget: c.Budget, limits: c.Limits, depth: cmp.Or(c.MaxDepth, role.DefaultDepth), gates: gates{most: c.Parallel},
		prompts: map[string]string{}, specs: map[string][]llm.Tool{},
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.policy == nil {
		p.policy = func(string) permission.Policy { return permission.Policy{} }
	}
	if p.about == nil {
		p.about = func(string) []role.Instruction { return nil }
	}
	return p
}

// Bind tells it what runs the agents.
func (p *Performer) Bind(r engine.Runtime) { p.deliver = r.Deliver }

// Ended implements engine.Performer.
func (p *Performer) Ended(agent string) {
	if p.forget != nil {
		go p.forget(agent) // commands that still run take a moment to end
	}
}

// Root is what a chat is opened with.
type Root struct {
	Role   string
	Model  string // one, or several to fall back through, separated by commas
	Dir    string
	Limits agent.Limits // those not 0 override the role's
}

// NewChat prepares the orchestrator of a chat.
func (p *Performer) NewChat(root Root) (engine.NewChat, error) {
	r, ok := p.roles.Get(root.Role)
	if !ok {
		var names []string
		for _, x := range p.roles.All() {
			names = append(names, x.Name)
		}
		return engine.NewChat{}, fmt.Errorf("there is no role %q; there are %s", root.Role, strings.Join(names, ", "))
	}
	spec := p.spec(r, 0, p.depth)
	spec.Name, spec.Path, spec.Dir = r.Name, r.Name, root.Dir
	var err error
	if spec.Choice, err = p.Choose(root.Model); err != nil {
		return engine.NewChat{}, err
	}
	if l := root.Limits.Turns; l > 0 {
		spec.Limits.Turns = l
	}
	if l := root.Limits.Active; l > 0 {
		spec.Limits.Active = l
	}
	spec.Limits.Agents = p.limits.Agents
	spec.Limits.Tokens = cmp.Or(root.Limits.Tokens, lower(r.MaxTokens, p.limits.Tokens))
	spec.Limits.Cost = cmp.Or(root.Limits.Cost, lower(r.MaxCost, p.limits.Cost))
	spec.AskTimeout, spec.BudgetWait = p.asking.Timeout.Milliseconds(), p.budget.Milliseconds()
	prompt := p.promptText(r, "", spec)
	spec.Prompt = p.keep(prompt)
	return engine.NewChat{Spec: spec, Prompt: prompt, Tokens: int64(len(prompt))/4 + p.toolTokens(spec)}, nil
}

// Choose finds the models that an orchestrator is to go on with; they are
// named as in Root.
func (p *Performer) Choose(names string) (agent.Choice, error) {
	models, err := p.find(strings.Split(names, ","), agent.Spec{})
	if err != nil {
		return agent.Choice{}, err
	}
	return choice(models), nil
}

// choice is what the machine is told of a model and those to fall back to.
func choice(models []Model) agent.Choice {
	c := agent.Choice{Price: models[0].Price, Window: models[0].Window, MaxOutput: models[0].MaxOutput}
	for i, m := range models {
		c.Models = append(c.Models, m.Ref)
		if i > 0 {
			c.Others = append(c.Others, agent.Facts{Price: m.Price, Window: m.Window, MaxOutput: m.MaxOutput})
		}
	}
	return c
}

// specsOf describes an agent's tools to a model, in the fixed order of their
// names. A result has the form that its agent was asked for.
func (p *Performer) specsOf(spec agent.Spec) []llm.Tool {
	key := strings.Join(spec.Tools, ",") + string(spec.Output)
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.tools.Version(); v != p.version {
		p.specs, p.version = map[string][]llm.Tool{}, v
	}
	if s, ok := p.specs[key]; ok {
		return s
	}
	var out []llm.Tool
	for _, name := range spec.Tools {
		t, ok := p.tools.Get(name)
		if !ok {
			continue
		}
		if name == SubmitResult && len(spec.Output) > 0 {
			out = append(out, llm.Tool{Name: t.Name, Description: t.Description, Schema: spec.Output})
			continue
		}
		out = append(out, llm.Tool{Name: t.Name, Description: t.Description, Schema: slim(name, t.Schema)})
	}
	p.specs[key] = out
	return out
}

func (p *Performer) toolTokens(spec agent.Spec) int64 {
	n := 0
	for _, t := range p.specsOf(spec) {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return int64(n / 4)
}

// CallModel implements engine.Performer.
func (p *Performer) CallModel(ctx context.Context, job *engine.Job, call agent.CallModel, onDelta func(kind string, part int, name, text string)) agent.Event {
	info := agent.CallInfo{Model: call.Model, StartedAt: job.Now().UnixMilli()}
	asked := info.StartedAt
	begun := func() {
		info.StartedAt = job.Now().UnixMilli()
		info.Waited = info.StartedAt - asked
	}
	model, err := p.models.Find(call.Model)
	failed := func(err error) agent.Event {
		ev := agent.ModelFailed{Turn: call.Turn, Try: call.Try, Kind: agent.Failure(llm.KindOf(err)), Message: err.Error(), Priced: true, GaveUp: errors.Is(err, schedule.ErrGaveUp)}
		var e *llm.Error
		if errors.As(err, &e) {
			ev.RetryAfter = e.RetryAfter.Milliseconds()
			info.RequestID, info.Usage = e.RequestID, e.Usage
			if e.Usage.Total() > 0 { // what a failed try has used is charged
				ev.Spent, ev.Priced = model.spent(e.Usage, 0, 0)
			}
		}
		if info.EndedAt = job.Now().UnixMilli(); ev.GaveUp {
			info.Waited = info.EndedAt - asked
		}
		ev.Info = info
		return ev
	}
	if err != nil {
		return failed(&llm.Error{Kind: llm.ErrNotFound, Message: err.Error()})
	}
	if job.Spec.Worktree { // it is made before the first turn; without one there is no work
		if _, err := p.workDir(ctx, job.Spec); err != nil {
			return failed(&llm.Error{Kind: llm.ErrBadRequest, Message: err.Error()})
		}
	}
	asked = job.Now().UnixMilli()
	leave, err := p.gates.enter(ctx, job, call)
	if err != nil {
		return failed(&llm.Error{Kind: llm.ErrNetwork, Message: err.Error()})
	}
	defer leave()
	reply, err := p.placed(job, call, model, begun).Call(ctx, p.request(job, call, model.Name), func(d llm.Delta) {
		if info.FirstAt == 0 {
			info.FirstAt = job.Now().UnixMilli()
		}
		onDelta(string(d.Kind), d.Part, d.Name, d.Text)
	})
	if err != nil {
		ev := failed(err)
		p.chargeStopped(ctx, job, ev)
		return ev
	}
	return p.replied(ctx, job, call, reply, model, info)
}

// chargeStopped books what a call had used when it was stopped: its outcome
// comes too late for the agent, but the money is spent.
func (p *Performer) chargeStopped(ctx context.Context, job *engine.Job, ev agent.Event) {
	failed, ok := ev.(agent.ModelFailed)
	if !ok || ctx.Err() == nil || failed.Spent == (agent.Amount{}) {
		return
	}
	p.charge(context.WithoutCancel(ctx), job.Spec.Chat, agent.Charged{Spent: failed.Spent, Priced: failed.Priced, Info: failed.Info})
}

// placed is the model's provider behind the scheduler. A call that has to wait
// says so in the agent's state; begun is called when it really begins.
func (p *Performer) placed(job *engine.Job, call agent.CallModel, model Model, begun func()) llm.Provider {
	next := beginning{model.Provider, begun}
	if model.Lane == "" {
		return next
	}
	i := slices.Index(job.Spec.Models, call.Model)
	placed := schedule.Provider{
		Next: next, Scheduler: p.places, Lane: model.Lane, Fallback: i >= 0 && i < len(job.Spec.Models)-1,
	}
	if call.Try == 0 {
		return placed // a side call, whose wait is not the agent's
	}
	placed.OnWait = func(why string, until time.Time) {
		ev := agent.ModelQueued{Turn: call.Turn, Try: call.Try, Why: why}
		if !until.IsZero() {
			ev.Until = until.UnixMilli()
		}
		job.Tell(ev)
	}
	return placed
}

// beginning tells when a call begins, which is after its wait for a place.
type beginning struct {
	next  llm.Provider
	begun func()
}

func (b beginning) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	b.begun()
	return b.next.Call(ctx, req, onDelta)
}

func (p *Performer) request(job *engine.Job, call agent.CallModel, model string) *llm.Request {
	return &llm.Request{
		Caller: llm.Caller{
			Chat: job.Spec.Chat, Agent: job.Spec.ID, Name: job.Spec.Name, Role: job.Spec.Role, Depth: job.Spec.Depth,
			Task: taskOf(job.History), Dir: job.Spec.Dir, Turn: call.Turn, Try: call.Try,
		},
		Model: model, System: job.System, Tools: p.specsOf(job.Spec), Temperature: job.Spec.Temperature, Effort: llm.Effort(job.Spec.Effort), Messages: visible(job.History, job.View), Memo: job.Memo, MaxOutput: call.MaxOutput,
	}
}

// taskOf is what the agent works on: its task, or the last user message.
func taskOf(history []message.Message) string {
	for i := len(history) - 1; i >= 0; i-- {
		if k := history[i].Kind; k == message.KindTask || k == message.KindUser {
			return history[i].Text()
		}
	}
	return ""
}

func (p *Performer) replied(ctx context.Context, job *engine.Job, call agent.CallModel, reply *llm.Reply, model Model, info agent.CallInfo) agent.Event {
	body := message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: reply.Parts}
	read := 0
	if reply.Usage.Total() == 0 { // only then is it estimated, as that looks at the whole history
		read = p.sent(job)
	}
	spent, priced := model.spent(reply.Usage, read, body.Size())
	ev := agent.ModelReplied{
		Turn: call.Turn, Try: call.Try, Stop: agent.Stop(reply.Stop),
		Text:   strings.TrimSpace(body.Text()) != "",
		Spent:  spent,
		Priced: priced, Tokens: spent.Tokens, Body: body,
	}
	for _, c := range body.Calls() {
		ev.Calls = append(ev.Calls, p.propose(ctx, job, c))
	}
	info.EndedAt, info.Usage, info.RequestID, info.Answered = job.Now().UnixMilli(), reply.Usage, reply.RequestID, reply.Model
	ev.Info = info
	return ev
}

// sent is how many bytes a request of the agent has: prompt, tools and what it
// sees of its history.
func (p *Performer) sent(job *engine.Job) int {
	return len(job.System) + 4*int(p.toolTokens(job.Spec)) + sizeOf(visible(job.History, job.View))
}

func sizeOf(messages []message.Message) int {
	n := 0
	for _, m := range messages {
		n += m.Size()
	}
	return n
}
