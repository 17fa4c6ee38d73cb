// Package permission decides whether an agent may do what it is about to do:
// allow it, ask a person, or deny it. It is asked when a tool is about to run,
// with what that very use would do. It has no clock and no state: the same
// policy, request and grants always give the same decision.
//
// A policy is a preset and rules. The first of these that applies decides:
//
//  1. The preset read-only denies all that does not only read. Nothing
//     overrides it.
//  2. What the role of the agent does not do with a tool (Bounds) is denied,
//     and a deny rule that matches denies. Nothing overrides either.
//  3. A grant is what a person has answered to an approval. One that covers the
//     whole action allows it.
//  4. An ask rule that matches asks.
//  5. Allow rules and grants allow what they cover together.
//  6. What no sandbox confines asks, and only an answer to this exact action
//     counts, whatever the rules and the preset allow.
//  7. The preset: ask allows what only reads; edits also changes of files in
//     the working folder; trusted everything. Commands still run in the
//     sandbox, whatever is decided here.
//
// Delegating is allowed unless a rule says otherwise; its limits are elsewhere.
//
// Deny and ask rules match generously, allow rules and grants strictly. Where
// it cannot be told whether a deny rule matches, such as for $X -rf under
// Bash(rm *), a person is asked, and only an answer to this exact action
// counts.
//
//	                 deny, ask                       allow
//	command          one of its simple commands,     every simple command
//	                 also behind sudo, xargs, sh -c
//	a pattern        is a prefix; case is ignored    matches the whole command
//	redirections     are ignored, and so is NAME=x   are never covered, but 2>&1 and >/dev/null
//	path             one of them, or a folder above  every path, by its case
//	host             one of them                     every host
//
// A command pattern is words. A * inside a word stands for a part of it, at
// the end of the pattern for any further words: go test *, or go test:* as
// Claude Code has it. What a program does by itself, such as the recipe of a
// make target or an option that runs another program, no pattern can see: that
// is what the sandbox is for.
//
// A path pattern is relative to the working folder, with ** for any folders.
// One without a slash matches at any depth, ./name only at the top. Edit and
// Write are one permission, to change a file. A file that may not be read may
// not be written either, nor named in a command. Git keeps what it once held:
// where a rule that somebody wrote keeps agents from reading a path, commands
// of git that print contents (git log -p, git show, git diff, …) ask. The
// built-in rules do not reach that far: a secret that was committed can be read
// by git unless such a rule names it. Nor does any rule see a program that reads
// the folder .git by itself.
//
// Some rules are built in, whatever the preset: .git is not written; writing
// .cadre and .mcp.json and touching what looks like a secret (.env, *.pem, id_rsa, …) asks,
// unless an allow rule with a path or a grant covers it.
package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

// Effect is what a rule says, and what is decided.
type Effect string

// The effects, from the narrowest to the widest.
const (
	Deny  Effect = "deny"
	Ask   Effect = "ask"
	Allow Effect = "allow"
)

// Preset says what happens to what no rule speaks of.
type Preset string

// The presets, from the narrowest to the widest. An empty one counts as
// PresetAsk.
const (
	ReadOnly  Preset = "read-only"
	PresetAsk Preset = "ask"
	Edits     Preset = "edits"
	Trusted   Preset = "trusted"
)

// presets lists them from the narrowest to the widest.
func presets() []Preset { return []Preset{ReadOnly, PresetAsk, Edits, Trusted} }

// ParsePreset reads the name of a preset.
func ParsePreset(text string) (Preset, error) {
	p := Preset(strings.ToLower(strings.TrimSpace(text)))
	if !slices.Contains(presets(), p) {
		return "", fmt.Errorf("there is no preset %q: it is read-only, ask, edits or trusted", text)
	}
	return p, nil
}

func (p Preset) orAsk() Preset {
	if p == "" {
		return PresetAsk
	}
	return p
}

// rank orders presets by what they allow. One that is unknown allows nothing.
func (p Preset) rank() int { return slices.Index(presets(), p.orAsk()) }

// Request is one use of a tool by one agent.
type Request struct {
	Tool   string
	Action tool.Action
	Agent  string // its id, a path of numbers: k3.1.2
	Chat   string
	Role   string
	Depth  int    // 0 is the orchestrator
	Bounds Bounds // of its role and of those above it
}

// Policy is a preset with rules. It is not changed by its methods.
type Policy struct {
	Preset Preset `json:"preset,omitempty"`
	Rules  []Rule `json:"rules,omitempty"`
}

// Decision is what a policy says to a request.
type Decision struct {
	Effect Effect `json:"effect"`
	By     string `json:"by"`   // what decided, in words, for the record
	Rule   Rule   `json:"rule"` // the rule that decided; zero if none did
}

// Decide says what happens to the request. Grants that are not for this agent
// are passed over.
func (p *Policy) Decide(req Request, grants []Grant) Decision {
	preset := p.Preset.orAsk()
	if preset.rank() <= ReadOnly.rank() && req.Action.Class != tool.Reads && req.Action.Class != tool.Delegates {
		return Decision{Effect: Deny, By: "preset " + string(preset)}
	}
	seen := look(req.Action)
	if by, out := req.Bounds.overstepped(req, seen); out {
		return Decision{Effect: Deny, By: by}
	}
	limit := p.restrict(req, seen)
	if limit.weight == denied {
		return Decision{Effect: Deny, By: limit.by, Rule: limit.rule}
	}
	permits := applicable(grants, req, limit.weight == nearlyDeny)
	if d, ok := allowedBy(permits, req, seen); ok {
		return d
	}
	if limit.weight < asked {
		for _, r := range p.Rules {
			if r.Effect == Allow && (limit.weight < protected || r.Path != "") {
				permits = append(permits, permit{rule: r, by: r.origin()})
			}
		}
		if d, ok := allowedBy(permits, req, seen); ok {
			return d
		}
	}
	if limit.weight > free {
		return Decision{Effect: Ask, By: limit.by, Rule: limit.rule}
	}
	return Decision{Effect: preset.answer(req.Action), By: "preset " + string(preset)}
}

// weight orders what restricts an action; the heaviest decides, and of equal
// ones the first.
type weight int

const (
	free       weight = iota
	perhaps           // a built-in rule may ask: any allow rule overrides it
	protected         // a built-in rule asks: an allow rule with a path overrides it
	asked             // a rule asks: a grant overrides it
	nearlyDeny        // a deny rule may match, or nothing confines it: a grant of this exact action overrides it
	denied            // a deny rule matches
)

// restriction is what the deny and ask rules say.
type restriction struct {
	weight weight
	by     string
	rule   Rule
}

func (p *Policy) restrict(req Request, seen sight) restriction {
	var result restriction
	weigh := func(r Rule) {
		w := r.weight(p.Preset, r.hits(req, seen))
		if w > result.weight {
			result = restriction{weight: w, by: r.origin(), rule: r}
		}
	}
	for _, r := range builtInRules() {
		weigh(r)
	}
	for _, r := range p.Rules {
		weigh(r)
	}
	for _, r := range req.Bounds.rules(req) {
		weigh(r)
	}
	if result.weight == nearlyDeny {
		result.by += ", which may apply"
	}
	if req.Action.Unconfined && result.weight < nearlyDeny {
		result = restriction{weight: nearlyDeny, by: "no sandbox confines commands here"}
	}
	return result
}

// weight is how much a rule that hits so restricts.
func (r Rule) weight(p Preset, hit certainty) weight {
	switch {
	case hit == no, r.Effect == Allow, hit == maybe && r.Source == builtIn && p == Trusted:
		return free
	case r.Effect == Deny && hit == yes:
		return denied
	case r.Effect == Deny:
		return nearlyDeny
	case r.Source != builtIn:
		return asked
	case hit == maybe:
		return perhaps
	}
	return protected
}

// answer is what the preset says to what no rule speaks of.
func (p Preset) answer(a tool.Action) Effect {
	switch {
	case a.Class == tool.Reads || a.Class == tool.Delegates || p == Trusted:
		return Allow
	case p == Edits && a.Class == tool.Writes && len(a.Paths) > 0 && !slices.ContainsFunc(a.Paths, leaves):
		return Allow
	}
	return Ask
}

// Narrow returns a policy for a child that allows nothing that p does not:
// under the narrower of both presets, with the deny and ask rules added. Allow
// rules are passed over.
func (p *Policy) Narrow(preset Preset, rules ...Rule) Policy {
	child := Policy{Preset: p.Preset.orAsk(), Rules: slices.Clone(p.Rules)}
	if preset != "" && preset.rank() < child.Preset.rank() {
		child.Preset = preset
	}
	for _, r := range rules {
		if r.Effect != Allow {
			child.Rules = append(child.Rules, r)
		}
	}
	return child
}

// Merge puts the policy of a project over that of the user. A project that is
// not trusted can only narrow; the notes say what was left out because of that.
func Merge(user, project Policy, trusted bool) (merged Policy, notes []string) {
	if trusted {
		merged = Policy{Preset: user.Preset, Rules: slices.Concat(user.Rules, project.Rules)}
		if project.Preset != "" {
			merged.Preset = project.Preset
		}
		return merged, nil
	}
	merged = user.Narrow(project.Preset, project.Rules...)
	if merged.Preset != project.Preset.orAsk() && project.Preset != "" {
		notes = append(notes, fmt.Sprintf("the preset %s of the project was left out: it is wider than %s, and the project is not trusted",
			project.Preset, merged.Preset))
	}
	for _, r := range project.Rules {
		if r.Effect == Allow {
			notes = append(notes, r.origin()+" was left out: the project is not trusted, so it can only narrow")
		}
	}
	return merged, notes
}
