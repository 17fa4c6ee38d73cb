// A model, and what is known of it.

package catalogue

import (
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

const (
	offlineName    = "offline"
	scriptedName   = "scripted"
	scriptedPrefix = "scripted:"
)

// Model is what is known of a model of a provider.
type Model struct {
	Provider  string `json:"provider"`
	ID        string `json:"id"` // as the provider knows it
	Name      string `json:"name,omitempty"`
	Window    int64  `json:"window,omitempty"`     // tokens it can read, 0 if unknown
	MaxOutput int64  `json:"max_output,omitempty"` // tokens it can write, 0 if unknown
	Price     Price  `json:"price"`
	Images    bool   `json:"images"`
	Reasoning bool   `json:"reasoning"`
	Tools     bool   `json:"tools"`

	// Listed: its abilities are known, not assumed.
	Listed bool `json:"listed"`

	// Efforts are those it knows; none: not known, or it does not reason.
	Efforts []llm.Effort `json:"efforts,omitempty"`
	// What calls ask for if they do not say it themselves, see llm.Request.
	Effort         llm.Effort `json:"effort,omitempty"`
	ThinkingTokens int64      `json:"thinking_tokens,omitempty"`
	ShowThinking   bool       `json:"show_thinking,omitempty"`

	named    bool // its effort is a part of its name
	stops    bool // it can be told not to think, though that is none of its efforts
	showSaid bool // ShowThinking is configured
	loaded   bool // a local server has it in its memory
	guessed  bool // the window is the model's own; its server may give it less
}

// Ref is the name under which the model is found again, provider/model, with
// @effort behind it if it was asked for so. It names one model for good, where a
// tier or a short name may move on.
func (m Model) Ref() string {
	if m.named {
		return m.Lane() + "@" + string(m.Effort)
	}
	return m.Lane()
}

// Lane is provider/model: what a vendor's limits count for, however much the
// model is to think. The scheduler's lanes are named so.
func (m Model) Lane() string {
	if m.Provider == offlineName || m.Provider == scriptedName {
		return m.ID
	}
	return m.Provider + "/" + m.ID
}

// Caution says what is not known of the model that matters, and what to do; it
// is empty if all is known. A model that is in no list is used all the same: a
// vendor's newest is in none.
func (m Model) Caution() string {
	at := fmt.Sprintf("under providers.%s.models.%s", m.Provider, m.ID)
	switch {
	case m.Provider == offlineName || m.Provider == scriptedName:
	case !m.Price.Known && m.Window == 0:
		return "its price is not known, nor its window, so that cost limits are refused: write both " + at
	case !m.Price.Known:
		return "its price is not known, so that cost limits are refused: write it " + at
	case m.Window == 0:
		return "its window is not known, so that a long history is shortened only after it was refused: write it " + at
	}
	return ""
}

// Cost prices a call, see Price.Cost.
func (m Model) Cost(u message.Usage) (micros int64, known bool) { return m.Price.Cost(u) }

func offlineModel() Model {
	return Model{Provider: offlineName, ID: offlineName, Name: "Offline (fixed rules, no language model)", Price: free(), Tools: true, Listed: true}
}

func scriptedModel(name string) Model {
	return Model{Provider: scriptedName, ID: name, Name: "Scripted", Price: free(), Tools: true, Listed: true}
}

// unlisted is a model of which nothing but its id is known. That it can use
// tools is assumed: without them it would be of no use here.
func unlisted(p *provider, id string) Model {
	m := Model{Provider: p.name, ID: id, Tools: true}
	m.think(p.thinking)
	if p.vendor.local && !isRemote(id) {
		m.Price = free()
	}
	return m
}

// isRemote tells the models that Ollama passes on to its own cloud, which are
// paid for.
func isRemote(id string) bool {
	return strings.HasSuffix(id, "-cloud") || strings.HasSuffix(id, ":cloud")
}

// override returns m with what is configured about it.
func override(m Model, x config.Model) Model {
	if x.Name != "" {
		m.Name = x.Name
	}
	if x.Window > 0 {
		m.Window = x.Window
	}
	if x.MaxOutput > 0 {
		m.MaxOutput = x.MaxOutput
	}
	m.Price = m.Price.override(x.Price)
	m.Effort, m.ThinkingTokens, m.showSaid = "", 0, false // the provider's, which count less
	m.think(x.Thinking)
	for _, a := range []struct {
		to   *bool
		from *bool
	}{{&m.Images, x.Images}, {&m.Reasoning, x.Reasoning}, {&m.Tools, x.Tools}} {
		if a.from != nil {
			*a.to = *a.from
			m.Listed = true
		}
	}
	if !m.Reasoning {
		m.Efforts, m.stops = nil, false
	}
	return m
}

// models returns the models of p: those of the built-in list, those that are
// configured, and those that a local server was found to have.
func (c *Catalogue) models(p *provider) []Model {
	var out []Model
	at := map[string]int{}
	add := func(m Model) {
		m.Provider = p.name
		key := strings.ToLower(m.ID)
		if i, ok := at[key]; ok {
			out[i] = m
			return
		}
		at[key] = len(out)
		out = append(out, m)
	}
	if p.vendor.listed != "" {
		for _, m := range c.library().models(p.vendor.listed) {
			add(m)
		}
	}
	c.mu.RLock()
	local := c.local[p.name]
	c.mu.RUnlock()
	for _, m := range local {
		add(m)
	}
	for _, x := range p.declared {
		m := unlisted(p, x.ID)
		if i, ok := at[strings.ToLower(x.ID)]; ok {
			m = out[i]
		}
		add(override(m, x))
	}
	for i := range out {
		out[i].think(p.thinking)
	}
	return out
}
