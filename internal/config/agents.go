// What is said about agents: what they may do, how many there may be, when
// they ask, and the servers their tools come from.

package config

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Agents is everything said about agents. What is not said is zero.
type Agents struct {
	Permissions []Permissions // of the user's file, then of the project's
	Approve     time.Duration // how long an approval waits
	Questions   Questions
	Budget      Budget
	Most        int // agents in one chat
	Parallel    int // agents of one chat that think at the same time
	Depth       int // of the tree of a chat
	Web         Web
	Sandbox     Sandbox
	MCP         []MCP
}

// Permissions is what one file says about what agents may do. A project that
// is not trusted can only narrow it; package permission sees to that.
type Permissions struct {
	File             string
	Trusted          bool
	Mode             string
	Allow, Ask, Deny []string
}

// Questions is how questions of sub-agents are handled.
type Questions struct {
	Confidence *int // percent
	SameLimit  *int
	Timeout    time.Duration
}

// Budget is what a chat may use for each user message, and how long a person
// is given to extend it.
type Budget struct {
	Tokens int64
	Cost   int64 // millionths of a dollar
	Ask    time.Duration
}

// Web is what is said about the web tools.
type Web struct {
	Allow  []string // hosts, addresses and networks that may be reached though they are private
	Search Search
}

// Search is the service behind web_search.
type Search struct {
	Provider string // tavily, brave, searxng
	BaseURL  string
	Key      Secret
	KeyEnv   string
}

// Sandbox is what is said about the confinement of commands.
type Sandbox struct {
	Hide []string // further files and folders that commands must not read
	Off  bool     // run them as they are; a person is then asked for every one
}

// MCP is a description of servers in the usual shape, {"mcpServers": …}.
type MCP struct {
	File string
	Data json.RawMessage
}

// agentFields are the keys about agents at the top of a file.
func (r *reader) agentFields(known map[string]field) {
	a := &r.config.Agents
	known["permissions"] = field{set: r.permissions}
	known["questions"] = field{set: func(v value) {
		r.fields(v, map[string]field{
			"confidence": {set: func(v value) { r.percent(v, &a.Questions.Confidence) }},
			"same_limit": {set: func(v value) {
				if n, ok := r.count(v); ok {
					limit := int(n)
					a.Questions.SameLimit = &limit
				}
			}},
			"timeout": {set: r.durationInto(&a.Questions.Timeout)},
		})
	}}
	known["budget"] = field{guarded: true, set: func(v value) {
		r.fields(v, map[string]field{
			"tokens": {set: func(v value) {
				if n, ok := r.count(v); ok {
					a.Budget.Tokens = n
				}
			}},
			"cost": {set: func(v value) {
				if n, ok := r.dollars(v); ok {
					a.Budget.Cost = *n
				}
			}},
			"ask": {set: r.durationInto(&a.Budget.Ask)},
		})
	}}
	known["agents"] = field{guarded: true, set: func(v value) {
		into := func(to *int) field {
			return field{set: func(v value) {
				if n, ok := r.count(v); ok {
					*to = int(n)
				}
			}}
		}
		r.fields(v, map[string]field{"max": into(&a.Most), "parallel": into(&a.Parallel), "depth": into(&a.Depth)})
	}}
	known["web"] = field{guarded: true, set: r.web}
	known["sandbox"] = field{set: r.sandbox}
	known["mcpServers"] = field{guarded: true, set: r.servers}
}

func (r *reader) permissions(v value) {
	p := Permissions{File: r.file, Trusted: r.trusted}
	texts := func(to *[]string) field { return field{set: func(v value) { *to = r.texts(v) }} }
	r.fields(v, map[string]field{
		"mode":  {set: r.textInto(&p.Mode)},
		"allow": texts(&p.Allow), "ask": texts(&p.Ask), "deny": texts(&p.Deny),
		"timeout": {set: r.durationInto(&r.config.Agents.Approve)},
	})
	r.config.Agents.Permissions = append(r.config.Agents.Permissions, p)
	r.noted(v)
}

// percent reads a share, written as 0.7 or 70%.
func (r *reader) percent(v value, to **int) {
	s, ok := r.text(v)
	if !ok {
		return
	}
	factor := 100.0
	text, found := strings.CutSuffix(s, "%")
	if found {
		factor = 1
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if n := f * factor; err == nil && n >= 0 && n <= 100 {
		whole := int(n + 0.5)
		*to = &whole
		r.noted(v)
		return
	}
	r.fail(v.line, "%s must be a share such as 0.7 or 70%%", v.path)
}

func (r *reader) durationInto(to *time.Duration) func(value) {
	return func(v value) {
		if d, ok := r.duration(v); ok {
			*to = d
			r.noted(v)
		}
	}
}

func (r *reader) web(v value) {
	w := &r.config.Agents.Web
	r.fields(v, map[string]field{
		"allow": {set: func(v value) { w.Allow = r.texts(v) }},
		"search": {set: func(v value) {
			p := Provider{}
			r.fields(v, map[string]field{
				"provider": {set: r.textInto(&w.Search.Provider)},
				"base_url": {set: func(v value) { r.baseURL(v, &p) }},
				"key":      {set: func(v value) { r.key(v, &p) }},
				"key_env":  {set: func(v value) { r.keyEnv(v, &p) }},
			})
			w.Search.BaseURL, w.Search.Key, w.Search.KeyEnv = p.BaseURL, p.Key, p.KeyEnv
		}},
	})
	r.noted(v)
}

func (r *reader) sandbox(v value) {
	s := &r.config.Agents.Sandbox
	r.fields(v, map[string]field{
		"hide": {set: func(v value) { s.Hide = append(s.Hide, r.texts(v)...) }},
		"off": {guarded: true, set: func(v value) {
			if b, ok := r.flag(v); ok {
				s.Off = *b
			}
		}},
	})
	r.noted(v)
}

// servers takes the description of MCP servers as it is: what it means is for
// the client to say.
func (r *reader) servers(v value) {
	var servers map[string]any
	if err := yaml.NodeToValue(r.plain(v.node), &servers); err != nil {
		r.fail(v.line, "%s must be a mapping of names to servers", v.path)
		return
	}
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		r.fail(v.line, "%s cannot be read: %v", v.path, err)
		return
	}
	r.config.Agents.MCP = append(r.config.Agents.MCP, MCP{File: fmt.Sprintf("%s:%d", r.file, v.line), Data: data})
	r.noted(v)
}
