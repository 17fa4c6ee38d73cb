package orchestrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/tool"
)

// propose looks at a tool call before the machine does: what it is, whether
// its input is valid, and, for a delegation, what it asks for.
func (p *Performer) propose(spec agent.Spec, call message.ToolCall) agent.Proposal {
	out := agent.Proposal{ID: call.ID, Name: call.Name, Class: agent.ClassRead}
	t, ok := p.tools.Get(call.Name)
	if !ok || !slices.Contains(spec.Tools, call.Name) {
		return out // the machine refuses it
	}
	switch {
	case call.Name == SpawnAgents:
		out.Class = agent.ClassDelegate
	case call.Name == SubmitResult:
		out.Class = agent.ClassSubmit
	case call.Name == SubmitError:
		out.Class = agent.ClassGiveUp
	case t.Class != tool.Reads:
		out.Class = agent.ClassWrite
	}
	if err := p.tools.Validate(call.Name, call.Input); err != nil {
		out.Refused, out.Why = true, err.Error()
		return out
	}
	if out.Class == agent.ClassDelegate {
		plan, err := p.plan(spec, call.Input)
		if err != nil {
			out.Refused, out.Why = true, err.Error()+". No task was started."
			return out
		}
		out.Plan = plan
	}
	return out
}

type spawnInput struct {
	Tasks []struct {
		Task    string `json:"task"`
		Role    string `json:"role"`
		Cwd     string `json:"cwd"`
		Model   string `json:"model"`
		Timeout string `json:"timeout"`
	} `json:"tasks"`
	Wait       json.RawMessage `json:"wait"`
	Deadline   string          `json:"deadline"`
	Background bool            `json:"background"`
}

// plan reads the input of spawn_agents. One bad task and there is no plan;
// what is wrong with all of them is told at once.
func (p *Performer) plan(parent agent.Spec, input json.RawMessage) (*agent.Plan, error) {
	var in spawnInput
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
	for i, t := range in.Tasks {
		planned, err := p.planTask(parent, t.Task, t.Role, t.Cwd, t.Model, t.Timeout)
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

func (p *Performer) planTask(parent agent.Spec, task, roleName, cwd, model, timeout string) (agent.Planned, error) {
	if roleName == "" {
		roleName = first(parent.Delegates)
	}
	r, ok := p.roles.Get(roleName)
	if !ok {
		return agent.Planned{}, fmt.Errorf("there is no role %q; you may delegate to %s", roleName, strings.Join(parent.Delegates, ", "))
	}
	dir, err := below(parent.Dir, cwd)
	if err != nil {
		return agent.Planned{}, err
	}
	active, err := millis(timeout)
	if err != nil {
		return agent.Planned{}, fmt.Errorf("timeout: %w", err)
	}
	names := parent.Models
	if model = cmp.Or(model, r.Model); model != "" {
		names = strings.Split(model, ",")
	}
	found, err := p.find(names)
	if err != nil {
		return agent.Planned{}, err
	}
	spec := p.spec(r, parent.Depth+1, parent.MaxDepth)
	spec.Dir = dir
	use(&spec, found)
	if active > 0 {
		spec.Limits.Active = active
	}
	prompt := promptText(r, p.roles, parent.Role, spec)
	spec.Prompt = p.keep(prompt)
	body := message.Of(message.User, message.KindTask, task)
	return agent.Planned{
		Role: r.Name, Priced: priced(found), Spec: spec, Task: body,
		Size: int64(len(prompt)+len(task))/4 + p.toolTokens(spec.Tools),
	}, nil
}

// priced tells whether the price of each of the models is known.
func priced(models []Model) bool {
	return !slices.ContainsFunc(models, func(m Model) bool { return !m.Price.Known })
}

// spec is what a role gives an agent at a depth.
func (p *Performer) spec(r role.Role, depth, maxDepth int) agent.Spec {
	spec := agent.Spec{
		Role: r.Name, Depth: depth, MaxDepth: maxDepth, Context: "none",
		Limits: agent.Limits{Turns: r.MaxTurns, Active: r.MaxDuration.Milliseconds()},
	}
	for _, name := range p.tools.Names() {
		if !slices.Contains(r.Tools, name) || name == SpawnAgents && (depth >= maxDepth || len(r.Delegates) == 0) {
			continue
		}
		spec.Tools = append(spec.Tools, name)
	}
	if !slices.Contains(spec.Tools, SpawnAgents) {
		return spec
	}
	spec.Delegates = r.Delegates
	for _, name := range p.tools.Names() {
		for _, d := range r.Delegates {
			if to, ok := p.roles.Get(d); ok && slices.Contains(to.Tools, name) {
				spec.Delegable = append(spec.Delegable, name)
				break
			}
		}
	}
	return spec
}

// below resolves a child's working folder, which lies in its parent's.
func below(dir, cwd string) (string, error) {
	if cwd == "" {
		return dir, nil
	}
	to := cwd
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	rel, err := filepath.Rel(dir, filepath.Clean(to))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("cwd %q is outside your working folder %s", cwd, dir)
	}
	return filepath.Clean(to), nil
}

func millis(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no duration such as 90s or 5m", s)
	}
	return d.Milliseconds(), nil
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}
