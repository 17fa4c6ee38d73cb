// Plans: what a reply asks for is looked at before the machine sees it. A
// delegation is read into a plan, or refused with everything that is wrong
// with it.

package orchestrate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/tool"
)

// propose looks at a tool call before the machine does: what it is, whether
// its input is valid, and, for a delegation, what it asks for.
func (p *Performer) propose(ctx context.Context, job *engine.Job, call message.ToolCall) agent.Proposal {
	out := agent.Proposal{ID: call.ID, Name: call.Name, Class: agent.ClassRead}
	t, ok := p.tools.Get(call.Name)
	if !ok || !slices.Contains(job.Spec.Tools, call.Name) {
		return out // the machine refuses it
	}
	if err := p.validate(job.Spec, call); err != nil {
		out.Class = p.classOf(ctx, job, t, nil)
		out.Refused, out.Why = true, err.Error()
		return out
	}
	out.Class = p.classOf(ctx, job, t, call.Input)
	switch out.Class {
	case agent.ClassDelegate:
		plan, err := p.plan(ctx, job, call)
		if err != nil {
			out.Refused, out.Why = true, err.Error()+". No task was started."
			return out
		}
		out.Plan = plan
		if call.Name != RunBehind { // what a tool gives may be another the next time
			out.Key = keyOf(call)
		}
	case agent.ClassAsk:
		out.Question = hashOf(questionText(string(call.Input)))
	case agent.ClassRead, agent.ClassWrite:
		if !t.Polls && t.Class != tool.Delegates {
			out.Key = keyOf(call)
		}
	case agent.ClassSubmit, agent.ClassGiveUp:
	}
	return out
}

// validate checks the input of a call. A result has the form that its agent
// was asked for.
func (p *Performer) validate(spec agent.Spec, call message.ToolCall) error {
	if call.Name != SubmitResult || len(spec.Output) == 0 {
		if err := p.tools.Validate(call.Name, call.Input); err != nil {
			return err
		}
		return missing(call)
	}
	form, err := tool.NewForm(SubmitResult, spec.Output)
	if err != nil {
		return err
	}
	return form.Validate(call.Input)
}

// missing says what an input lacks that its schema cannot ask for.
func missing(call message.ToolCall) error {
	keys := needed[call.Name]
	if len(keys) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(call.Input, &fields); err != nil {
		return fmt.Errorf("the input cannot be read: %w", err)
	}
	for _, k := range keys {
		if len(fields[k]) > 0 {
			return nil
		}
	}
	return &tool.InputError{Tool: call.Name, Problems: []string{"input: missing " + strings.Join(keys, " or ")}}
}

// classOf sorts a call by how the machine treats it. Without input it is the
// class of the tool in general.
func (p *Performer) classOf(ctx context.Context, job *engine.Job, t tool.Tool, input json.RawMessage) agent.Class {
	switch t.Name {
	case SpawnAgents, DelegateTo, ContinueAgent, RunBehind:
		return agent.ClassDelegate
	case SubmitResult:
		return agent.ClassSubmit
	case SubmitError:
		return agent.ClassGiveUp
	case AskUser:
		return agent.ClassAsk
	}
	if _, ok := p.roles.ByTool(t.Name); ok {
		return agent.ClassDelegate
	}
	if t.Class == tool.Reads || t.Repeatable {
		return agent.ClassRead
	}
	if t.Class == tool.Executes && t.Plan != nil && input != nil {
		// A command that only reads runs beside others, and again after a crash.
		if action, err := planned(ctx, t, p.env(job), input); err == nil && action.Class == tool.Reads {
			return agent.ClassRead
		}
	}
	return agent.ClassWrite
}

// keyOf identifies a call by its name and input, however that is spaced.
func keyOf(call message.ToolCall) string {
	var b bytes.Buffer
	if json.Compact(&b, call.Input) != nil {
		return ""
	}
	return hashOf(call.Name + " " + b.String())
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// planner reads one delegating call.
type planner struct {
	*Performer
	ctx     context.Context
	job     *engine.Job // of the parent
	dir     string      // where the parent works
	prompts map[string]prepared
	specs   map[string]agent.Spec // what each role gives, by its name
	gist    *string               // the parent's conversation in short, once it was made
}

// prepared is a prompt that several tasks of one call share.
type prepared struct {
	id     string
	tokens int64
}

// wish is one task as a call asks for it.
type wish struct {
	Role     string          `json:"role"`
	Task     string          `json:"task"`
	Cwd      string          `json:"cwd"`
	Model    string          `json:"model"`
	Timeout  string          `json:"timeout"`
	Files    []string        `json:"context_files"`
	Criteria string          `json:"success_criteria"`
	Context  role.Context    `json:"context"`
	Messages []int           `json:"messages"`
	Output   json.RawMessage `json:"output_schema"`
	Accept   string          `json:"acceptance"`
	Isolate  string          `json:"isolation"`
	Limits   struct {
		Turns    int     `json:"turns"`
		Duration string  `json:"duration"`
		Tokens   int64   `json:"tokens"`
		Cost     float64 `json:"cost"`
	} `json:"limits"`
}

// plan reads the input of a delegating call. One bad task and there is no
// plan; what is wrong with all of them is told at once.
func (p *Performer) plan(ctx context.Context, job *engine.Job, call message.ToolCall) (*agent.Plan, error) {
	dir, err := p.workDir(ctx, job.Spec)
	if err != nil {
		return nil, err
	}
	pl := &planner{Performer: p, ctx: ctx, job: job, dir: dir, prompts: map[string]prepared{}, specs: map[string]agent.Spec{}}
	switch call.Name {
	case SpawnAgents:
		return pl.spawn(call.Input)
	case DelegateTo:
		return pl.delegate(call.Input)
	case ContinueAgent:
		return pl.resume(call.Input)
	case RunBehind:
		return pl.toolRun(call.Input)
	}
	return pl.called(call)
}

func (pl *planner) spawn(input json.RawMessage) (*agent.Plan, error) {
	var in struct {
		Tasks      []wish          `json:"tasks"`
		Wait       json.RawMessage `json:"wait"`
		Deadline   string          `json:"deadline"`
		Background bool            `json:"background"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("the input cannot be read: %w", err)
	}
	plan := &agent.Plan{Background: in.Background}
	switch w := strings.Trim(string(in.Wait), `"`); w {
	case "", "all":
	case "any":
		plan.Wait = 1
	case "first_valid":
		plan.Wait, plan.Valid = 1, true
	default:
		if err := json.Unmarshal(in.Wait, &plan.Wait); err != nil {
			return nil, fmt.Errorf("wait is %s; it can be all, any, first_valid or a number", w)
		}
	}
	var err error
	if plan.Timeout, err = millis(in.Deadline); err != nil {
		return nil, fmt.Errorf("deadline: %w", err)
	}
	var wrong []string
	for i, w := range in.Tasks {
		planned, err := pl.task(w)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("Task %d: %v", i+1, err))
			continue
		}
		plan.Tasks = append(plan.Tasks, planned)
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(wrong, ". "))
	}
	return plan, nil
}

func (pl *planner) delegate(input json.RawMessage) (*agent.Plan, error) {
	var in struct {
		wish
		Background bool `json:"background"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("the input cannot be read: %w", err)
	}
	planned, err := pl.task(in.wish)
	if err != nil {
		return nil, err
	}
	r, _ := pl.roles.Get(planned.Role)
	return &agent.Plan{Background: in.Background || r.Background, Tasks: []agent.Planned{planned}}, nil
}

// called plans the use of a role as a tool: its input is the task.
func (pl *planner) called(call message.ToolCall) (*agent.Plan, error) {
	r, ok := pl.roles.ByTool(call.Name)
	if !ok {
		return nil, fmt.Errorf("there is no role behind %s", call.Name)
	}
	var fields map[string]any
	if err := json.Unmarshal(call.Input, &fields); err != nil {
		return nil, fmt.Errorf("the input cannot be read: %w", err)
	}
	var lines []string
	for _, key := range sortedKeys(fields) {
		lines = append(lines, fmt.Sprintf("%s: %v", key, fields[key]))
	}
	planned, err := pl.as(r.Called(), wish{Task: strings.Join(lines, "\n")})
	if err != nil {
		return nil, err
	}
	return &agent.Plan{Tasks: []agent.Planned{planned}}, nil
}

// task plans one task.
func (pl *planner) task(w wish) (agent.Planned, error) {
	parent := pl.job.Spec
	name := cmp.Or(w.Role, defaultRole(parent.Delegates))
	r, ok := pl.roles.Get(name)
	if !ok {
		return agent.Planned{}, fmt.Errorf("there is no role %q; you may delegate to %s", name, strings.Join(parent.Delegates, ", "))
	}
	return pl.as(r, w)
}

// defaultRole is the one for tasks that name none.
func defaultRole(delegates []string) string {
	if slices.Contains(delegates, "general") {
		return "general"
	}
	return first(delegates)
}

// as plans a task for a role.
func (pl *planner) as(r role.Role, w wish) (agent.Planned, error) {
	parent := pl.job.Spec
	dir, fixed := pl.dir, parent.Fixed
	if w.Cwd != "" {
		var err error
		if dir, err = below(pl.dir, w.Cwd); err != nil {
			return agent.Planned{}, err
		}
		fixed = true
	}
	found, err := pl.modelsOf(r, w.Model, parent)
	if err != nil {
		return agent.Planned{}, err
	}
	spec, ok := pl.specs[r.Name]
	if !ok {
		spec = pl.spec(r, parent.Depth+1, parent.MaxDepth)
		pl.specs[r.Name] = spec
	}
	spec.Dir, spec.Fixed = dir, fixed
	spec.Confidence, spec.SameLimit, spec.AskTimeout = parent.Confidence, parent.SameLimit, parent.AskTimeout
	if parent.Orchestrator() {
		spec.Confidence, spec.SameLimit, spec.AskTimeout = pl.asking.Confidence, pl.asking.SameLimit, pl.asking.Timeout.Milliseconds()
	}
	spec.Choice = choice(found)
	planned := agent.Planned{Role: r.Name, Priced: priced(found), Tokens: r.MaxTokens, Cost: r.MaxCost}
	if err := pl.limit(&spec, &planned, w); err != nil {
		return planned, err
	}
	if err := pl.demand(&spec, r, w); err != nil {
		return planned, err
	}
	prompt, err := pl.prompt(r, &spec)
	if err != nil {
		return planned, err
	}
	body, err := pl.brief(r, &spec, &planned, w)
	if err != nil {
		return planned, err
	}
	planned.Spec, planned.Task = spec, message.Of(message.User, message.KindTask, body)
	planned.Size = prompt + int64(len(body))/4 + pl.toolTokens(spec) + spec.ContextTokens
	planned.First = spec.FirstTurn(planned.Size)
	return planned, nil
}

// limit takes over the limits that a call states. It can only lower those of
// the role, but for time, which the role may have guessed too short.
func (pl *planner) limit(spec *agent.Spec, planned *agent.Planned, w wish) error {
	active, err := millis(cmp.Or(w.Timeout, w.Limits.Duration))
	if err != nil {
		return fmt.Errorf("timeout: %w", err)
	}
	if active > 0 {
		spec.Limits.Active = active
	}
	if n := w.Limits.Turns; n > 0 {
		spec.Limits.Turns = min(spec.Limits.Turns, n)
	}
	planned.Tokens = lower(planned.Tokens, w.Limits.Tokens)
	planned.Cost = lower(planned.Cost, int64(w.Limits.Cost*1e6))
	return nil
}

// lower is the lower of two limits, 0 meaning none.
func lower(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// demand takes over what a result has to be, and where the work is done.
func (pl *planner) demand(spec *agent.Spec, r role.Role, w wish) error {
	spec.Output = r.OutputSchema
	if len(w.Output) > 0 {
		spec.Output = w.Output
	}
	if len(spec.Output) > 0 {
		if _, err := tool.NewForm("output_schema", spec.Output); err != nil {
			return err
		}
		spec.Schema = true
	}
	if spec.Command = cmp.Or(w.Accept, r.Acceptance); spec.Command != "" {
		trusted := w.Accept == "" && r.Source.Scope != role.Project
		if err := pl.mayAccept(*spec, trusted); err != nil {
			return err
		}
		spec.Acceptance = true
	}
	if cmp.Or(w.Isolate, r.Isolation) == "worktree" {
		if pl.trees == nil {
			return fmt.Errorf("isolation: worktrees are not available here")
		}
		if err := pl.trees.Check(pl.ctx, spec.Dir); err != nil {
			return fmt.Errorf("isolation: %w", err)
		}
		spec.Worktree, spec.Origin = true, spec.Dir
	}
	return nil
}

// prompt makes the system prompt, once for tasks that share it, and returns
// its tokens.
func (pl *planner) prompt(r role.Role, spec *agent.Spec) (int64, error) {
	key := fmt.Sprint(r.Name, r.AsTool != nil && r.InputSchema != nil, spec.Dir, spec.Worktree, spec.Schema, spec.Limits.Turns, spec.Limits.Active)
	made, ok := pl.prompts[key]
	if !ok {
		text := pl.promptText(r, pl.job.Spec.Role, *spec)
		made = prepared{pl.keep(text), int64(len(text)) / 4}
		pl.prompts[key] = made
	}
	spec.Prompt = made.id
	return made.tokens, nil
}

// modelsOf finds the models of a role: those that the call names, those that
// the role names and that can be used here, or its parent's.
func (p *Performer) modelsOf(r role.Role, asked string, parent agent.Spec) ([]Model, error) {
	if asked != "" {
		return p.find(strings.Split(asked, ","), parent)
	}
	var usable []Model
	for _, name := range r.Models() {
		found, err := p.find([]string{name}, parent)
		if err != nil {
			p.log.Warn("a model of a role cannot be used; the next one is, or its parent's", "role", r.Name, "model", name, "err", err)
			continue
		}
		usable = append(usable, found...)
	}
	if len(usable) > 0 {
		return usable, nil
	}
	return p.find(parent.Models, parent)
}

// find finds several models. A tier is that of the parent's provider.
func (p *Performer) find(names []string, parent agent.Spec) ([]Model, error) {
	var out []Model
	for _, name := range names {
		name = strings.TrimSpace(name)
		m, err := p.models.Tier(name, first(parent.Models))
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// priced tells whether the price of each of the models is known.
func priced(models []Model) bool {
	return !slices.ContainsFunc(models, func(m Model) bool { return !m.Price.Known })
}
