// Package role defines kinds of agent: their prompt, model, tools, limits and
// whom they may delegate to. It is a leaf package: roles are data. Package
// rolefile below it reads them from files.
package role

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// The limits of a role that states none, and the depth of a tree.
const (
	DefaultTurns    = 20
	DefaultDuration = 5 * time.Minute
	DefaultDepth    = 2
)

// Main is the role that talks to the user.
const Main = "main"

// Role is a kind of agent.
type Role struct {
	Name        string   // unique by Key
	DisplayName string   // for people; empty: Name
	Description string   // shown to those who may delegate to it
	Icon        string   // an emoji
	When        []string // when to delegate to it, a phrase each
	Prompt      string

	// Model is one, or several to fall back through, separated by commas: a
	// tier (fast, default, smart) or a name as people write it. Empty: the
	// parent's.
	Model       string
	Temperature *float64 // nil: the model's own
	Effort      string   // none, minimal, low, medium, high, xhigh, max; empty: the model's own

	// Tools are what it may use, by name or pattern (mcp__server__*). With
	// AllTools it may use whatever its parent may delegate. DeniedTools are
	// taken away from either. The tools of delegation follow from Delegates,
	// those that every agent has are not listed: see Uses.
	Tools       []string
	AllTools    bool
	DeniedTools []string
	ToolRules   []string // how Tools are used: Bash(git *) only so, !Bash(git push *) not so; package permission reads them as bounds

	// Delegates are the roles it may delegate to. AnyDelegate stands for all
	// that are there; a Registry writes them out into Delegates.
	Delegates   []string
	AnyDelegate bool

	MaxTurns    int
	MaxDuration time.Duration
	MaxTokens   int64 // 0: none of its own
	MaxCost     int64 // in millionths of a dollar; 0: none of its own
	MaxParallel int   // children at a time; 0: none of its own

	Context      Context
	Summary      string // how to sum up the result for the parent, in words
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	Acceptance   string // a command that must pass before a result counts; it runs under the policy like any other
	Background   bool   // a delegation does not wait for it
	Isolation    string // worktree, or empty

	Mode   Mode
	AsTool *AsTool // also offered as a tool of its own; nil: not

	Source   Source
	Warnings []Warning         // what its file says that is not taken over, or may be meant otherwise
	Origins  map[string]Origin // where each value was stated, by the key of the file format; one that is missing is a default
}

// Context says how much of the parent's conversation a sub-agent begins with.
type Context string

// The contexts. The zero value means ContextNone.
const (
	ContextNone      Context = "none"
	ContextSummary   Context = "summary"
	ContextSelective Context = "selective"
	ContextFull      Context = "full"
)

// Mode says who may start a role.
type Mode string

// The modes. The zero value means ModeAll.
const (
	ModeAll      Mode = "all"
	ModePrimary  Mode = "primary"  // by the user alone
	ModeSubagent Mode = "subagent" // by other agents alone
)

// AsTool is how a role looks when it is called as a tool of its own: the
// caller fills in Input instead of writing a task, and what differs from the
// role is stated here. It then delegates to nobody.
type AsTool struct {
	Name     string          // of the tool
	Input    json.RawMessage // its schema, an object
	Tools    []string        // nil: the role's
	MaxTurns int             // 0: the role's
	Prompt   string          // empty: the role's
}

// Called is the role as it is when it is called as a tool.
func (r Role) Called() Role {
	t := r.AsTool
	if t == nil {
		return r
	}
	r.InputSchema = t.Input
	if t.Tools != nil {
		r.Tools, r.AllTools = t.Tools, false
	}
	if t.MaxTurns > 0 {
		r.MaxTurns = t.MaxTurns
	}
	if t.Prompt != "" {
		r.Prompt = t.Prompt
	}
	r.Delegates, r.AnyDelegate = nil, false
	return r
}

// Models are the names of Model one by one.
func (r Role) Models() []string {
	var out []string
	for name := range strings.SplitSeq(r.Model, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// Label is the name for people.
func (r Role) Label() string {
	if r.DisplayName != "" {
		return r.DisplayName
	}
	return r.Name
}

// Scope says how near to the work a role was defined. The nearer wins.
type Scope string

// The scopes, nearest first. A file of a project is written by whoever wrote
// the project: it is never trusted to widen what is permitted.
const (
	Project Scope = "project"
	User    Scope = "user"
	BuiltIn Scope = "built-in"
)

// Source is where a role comes from.
type Source struct {
	Scope  Scope
	File   string // empty if built in
	Line   int    // where it begins, if the file holds several
	Format string // whose file format it is: cadre, claude, opencode, …
}

func (s Source) String() string {
	if s.File == "" {
		return string(s.Scope)
	}
	return Origin{File: s.File, Line: s.Line}.String()
}

// Origin is where a value was stated.
type Origin struct {
	File string
	Line int
	Note string // such as "the file's name"; with no File it is the whole origin
}

func (o Origin) String() string {
	s := o.File
	if o.Line > 0 {
		s += fmt.Sprintf(":%d", o.Line)
	}
	switch {
	case s == "":
		return o.Note
	case o.Note != "":
		return s + " (" + o.Note + ")"
	}
	return s
}

// Origin tells where the value of a key was stated.
func (r Role) Origin(key string) Origin {
	if o, ok := r.Origins[key]; ok {
		return o
	}
	return Origin{Note: "default"}
}

// Warning is something to tell a person about a file.
type Warning struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"` // 0: the file as a whole
	Text string `json:"text"`
}

func (w Warning) String() string {
	if w.File == "" {
		return w.Text
	}
	return Origin{File: w.File, Line: w.Line}.String() + ": " + w.Text
}

// Key is what names are compared by: "Code Reviewer", "code-reviewer" and
// "code_reviewer" are one name.
func Key(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return unicode.IsSpace(r) || r == '-' || r == '_'
	}), "-")
}

// Registry holds the roles of a process. Names are unique by Key.
type Registry struct {
	roles  []Role
	byKey  map[string]int // where in roles
	byTool map[string]int
}

// NewRegistry makes a registry of the given roles. Limits that are not stated
// get their defaults, and roles that may delegate to any get those that there
// are: all but themselves and those that only the user may start.
func NewRegistry(roles ...Role) (*Registry, error) {
	r := &Registry{byKey: map[string]int{}, byTool: map[string]int{}}
	for _, role := range roles {
		if Key(role.Name) == "" {
			return nil, fmt.Errorf("a role has no name")
		}
		if _, ok := r.Get(role.Name); ok {
			return nil, fmt.Errorf("there are two roles named %q", role.Name)
		}
		if role.MaxTurns == 0 {
			role.MaxTurns = DefaultTurns
		}
		if role.MaxDuration == 0 {
			role.MaxDuration = DefaultDuration
		}
		r.byKey[Key(role.Name)] = len(r.roles)
		if role.AsTool != nil {
			if _, taken := r.byTool[role.AsTool.Name]; !taken {
				r.byTool[role.AsTool.Name] = len(r.roles)
			}
		}
		r.roles = append(r.roles, role)
	}
	for i, role := range r.roles {
		var names []string
		for _, d := range role.Delegates {
			to, ok := r.Get(d)
			if !ok {
				return nil, fmt.Errorf("role %q may delegate to %q, which does not exist", role.Name, d)
			}
			names = append(names, to.Name)
		}
		if role.AnyDelegate {
			names = r.others(role)
		}
		r.roles[i].Delegates = names
	}
	return r, nil
}

// others names the roles that r may delegate to if it may delegate to any.
func (r *Registry) others(of Role) []string {
	var out []string
	for _, x := range r.roles {
		if x.Name != of.Name && x.Mode != ModePrimary {
			out = append(out, x.Name)
		}
	}
	return out
}

// Get finds a role by name, in any case, with spaces, - or _ between words.
func (r *Registry) Get(name string) (Role, bool) {
	i, ok := r.byKey[Key(name)]
	if !ok {
		return Role{}, false
	}
	return r.roles[i], true
}

// ByTool finds the role that is offered as the tool of this name.
func (r *Registry) ByTool(name string) (Role, bool) {
	i, ok := r.byTool[name]
	if !ok {
		return Role{}, false
	}
	return r.roles[i], true
}

// All returns the roles in the order they were given.
func (r *Registry) All() []Role { return slices.Clone(r.roles) }
