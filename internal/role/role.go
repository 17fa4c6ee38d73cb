// Package role defines kinds of agent: their prompt, model, tools, limits and
// whom they may delegate to. It is a leaf package: roles are data.
package role

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Role is a kind of agent.
type Role struct {
	Name        string
	DisplayName string
	Description string // shown to those who may delegate to it
	Icon        string
	Prompt      string
	Model       string // empty: the parent's
	Tools       []string
	Delegates   []string // the roles it may delegate to; empty: none
	MaxTurns    int
	MaxDuration time.Duration
}

// The limits of a role that states none, and the depth of a tree.
const (
	DefaultTurns    = 20
	DefaultDuration = 5 * time.Minute
	DefaultDepth    = 2
)

// Registry holds the roles of a process. Names are unique without regard to
// case.
type Registry struct {
	roles []Role
}

// NewRegistry makes a registry of the given roles.
func NewRegistry(roles ...Role) (*Registry, error) {
	r := &Registry{}
	for _, role := range roles {
		if role.Name == "" {
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
		r.roles = append(r.roles, role)
	}
	for _, role := range r.roles {
		for _, d := range role.Delegates {
			if _, ok := r.Get(d); !ok {
				return nil, fmt.Errorf("role %q may delegate to %q, which does not exist", role.Name, d)
			}
		}
	}
	return r, nil
}

// Get finds a role by name, whatever its case.
func (r *Registry) Get(name string) (Role, bool) {
	i := slices.IndexFunc(r.roles, func(x Role) bool { return strings.EqualFold(x.Name, name) })
	if i < 0 {
		return Role{}, false
	}
	return r.roles[i], true
}

// All returns the roles in the order they were given.
func (r *Registry) All() []Role { return slices.Clone(r.roles) }

//go:embed prompts/*.md
var prompts embed.FS

// Builtin returns the roles that come with Cadre.
func Builtin() ([]Role, error) {
	reading := []string{"Read", "LS", "Glob", "Grep", "read_artifact"}
	roles := []Role{
		{
			Name: "main", DisplayName: "Main agent", Icon: "🤖",
			Description: "Talks to the user and delegates.",
			Tools:       append(slices.Clone(reading), "spawn_agents"),
			Delegates:   []string{"general"},
			MaxTurns:    50, MaxDuration: 10 * time.Minute,
		},
		{
			Name: "general", DisplayName: "General", Icon: "🧭",
			Description: "Does any self-contained piece of work and reports.",
			Tools:       append(slices.Clone(reading), "spawn_agents", "submit_result", "submit_error"),
			Delegates:   []string{"general"},
		},
	}
	for i := range roles {
		b, err := prompts.ReadFile("prompts/" + roles[i].Name + ".md")
		if err != nil {
			return nil, fmt.Errorf("reading the prompt of role %s: %w", roles[i].Name, err)
		}
		roles[i].Prompt = strings.TrimSpace(string(b))
	}
	return roles, nil
}
