package app

import (
	"fmt"
	"strings"
	"sync"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/offline"
	"github.com/cadre-dev/cadre/internal/llm/scripted"
	"github.com/cadre-dev/cadre/internal/orchestrate"
)

// DefaultModel answers when nothing else is configured.
const DefaultModel = "offline"

const scriptedPrefix = "scripted:"

// Models finds models by name: "offline", or "scripted:FILE".
type Models struct {
	mu      sync.Mutex
	offline llm.Provider
	scripts map[string]llm.Provider
}

// NewModels makes the catalogue of this version.
func NewModels() *Models {
	return &Models{offline: offline.New(), scripts: map[string]llm.Provider{}}
}

// Find implements orchestrate.Models. Both kinds of model cost nothing.
func (m *Models) Find(name string) (orchestrate.Model, error) {
	free := agent.Price{Known: true}
	if name == DefaultModel {
		return orchestrate.Model{Provider: m.offline, Name: name, Price: free}, nil
	}
	file, ok := strings.CutPrefix(name, scriptedPrefix)
	if !ok {
		return orchestrate.Model{}, fmt.Errorf("there is no model %q in this version; use %q, or %q to play a script", name, DefaultModel, scriptedPrefix+"FILE")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := m.scripts[file]; ok {
		return orchestrate.Model{Provider: p, Name: name, Price: free}, nil
	}
	p, err := scripted.Load(file)
	if err != nil {
		return orchestrate.Model{}, fmt.Errorf("reading the script of model %s: %w", name, err)
	}
	m.scripts[file] = p
	return orchestrate.Model{Provider: p, Name: name, Price: free}, nil
}
