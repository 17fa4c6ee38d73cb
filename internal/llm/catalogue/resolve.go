// From a name to a model.

package catalogue

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm"
)

// Resolve returns the model that a name stands for, without making a client.
// The error is a *NameError, or one that wraps it and says where the name was
// written.
func (c *Catalogue) Resolve(name string) (m Model, err error) {
	name, effort := splitEffort(strings.TrimSpace(name))
	tier := Tier(strings.ToLower(name))
	switch {
	case name == "":
		m, err = c.resolveChoice(c.defaultChoice())
	case tier.valid():
		m, err = c.resolveChoice(c.choose(tier))
	default:
		m, err = c.resolve(name)
	}
	if err != nil {
		return Model{}, err
	}
	return m.asked(effort)
}

// Default is the name of the model for a chat that names none: $CADRE_MODEL,
// the configured one, that of the tier default. It is a name for Find, not
// necessarily one that can be found.
func (c *Catalogue) Default() string { return c.defaultChoice().Model }

// resolveChoice resolves a configured or chosen name. An error says where the
// name was written.
func (c *Catalogue) resolveChoice(ch Choice) (Model, error) {
	var effort llm.Effort
	ch.Model, effort = splitEffort(ch.Model)
	if t := Tier(strings.ToLower(ch.Model)); t.valid() {
		inner := c.choose(t)
		if Tier(strings.ToLower(inner.Model)).valid() {
			return Model{}, &NameError{Name: ch.Model, Problem: "it stands for another tier, not for a model", Hint: "write a model as provider/model (" + inner.Reason + ")"}
		}
		ch = inner
		var further llm.Effort
		if ch.Model, further = splitEffort(ch.Model); effort == "" {
			effort = further
		}
	}
	m, err := c.resolve(ch.Model)
	if err == nil {
		m, err = m.asked(effort)
	}
	if err != nil && ch.said {
		return Model{}, fmt.Errorf("%s: %w", ch.Reason, err)
	}
	return m, err
}

// Known returns what is known of provider/model, whether it can be used or not;
// false for any other name.
func (c *Catalogue) Known(name string) (Model, bool) {
	name, effort := splitEffort(strings.TrimSpace(name))
	left, id, _ := strings.Cut(name, "/")
	p := c.provider(left)
	if p == nil || id == "" {
		return Model{}, false
	}
	models := c.models(p)
	m, at := best(id, models)
	if at == none || isVendorID(id, m, at) {
		var ok bool
		if m, ok = snapshot(id, models); !ok {
			m = unlisted(p, id)
		}
	}
	m, err := m.asked(effort)
	return m, err == nil
}

// resolve resolves a name that is no tier.
func (c *Catalogue) resolve(name string) (Model, error) {
	switch {
	case strings.EqualFold(name, offlineName):
		return offlineModel(), nil
	case strings.HasPrefix(name, scriptedPrefix):
		return scriptedModel(name), nil
	}
	if left, right, ok := strings.Cut(name, "/"); ok {
		if p := c.provider(left); p != nil {
			return c.named(name, p, strings.TrimSpace(right))
		}
		if hint := unsupported(strings.ToLower(left)); hint != "" {
			return Model{}, &NameError{Name: name, Problem: "its provider cannot be used", Hint: hint}
		}
	}
	if p := c.provider(name); p != nil {
		return c.ofProvider(name, p)
	}
	if slices.Contains(brands, strings.ToLower(name)) {
		return c.ofProvider(name, c.provider(maker(name)))
	}
	return c.bare(name)
}

// named resolves provider/model. If the provider cannot be used, another may
// have a model that it calls by the whole name, as OpenRouter does.
func (c *Catalogue) named(name string, p *provider, id string) (Model, error) {
	if id == "" {
		return c.ofProvider(name, p)
	}
	if !p.ready() {
		for _, other := range c.providers() {
			if !other.ready() || other == p {
				continue
			}
			if m, at := best(name, c.models(other)); at != none {
				return m, nil
			}
		}
		return Model{}, &NameError{Name: name, Problem: p.name + " cannot be used yet", Hint: p.missing}
	}
	models := c.models(p)
	m, at := best(id, models)
	if at != none && !isVendorID(id, m, at) {
		return m, nil
	}
	if at == variant {
		m.ID = id // another form of the same model, with the same price
		return m, nil
	}
	if m, ok := snapshot(id, models); ok {
		return m, nil
	}
	if near := misspelt(id, models); near != "" && !p.vendor.local {
		return Model{}, &NameError{
			Name: name, Problem: fmt.Sprintf("%s has no such model", p.name), Near: []string{p.name + "/" + near},
			Hint: fmt.Sprintf("if it is a new one, list it under providers.%s.models in the configuration", p.name),
		}
	}
	return unlisted(p, id), nil
}

// snapshot returns a model that is not listed, but is a dated version of one
// that is, with what is known of that: vendors price by model, not by snapshot.
func snapshot(id string, models []Model) (Model, bool) {
	s := shapeOf(id)
	if s.date == "" {
		return Model{}, false
	}
	for _, m := range models {
		if shapeOf(m.ID).joined == s.joined {
			m.ID = id
			return m, true
		}
	}
	return Model{}, false
}

// ofProvider resolves the name of a provider or a brand: its model for the tier
// default. If the provider cannot be used, somebody else may have that model.
func (c *Catalogue) ofProvider(name string, p *provider) (Model, error) {
	if !p.ready() {
		if prefers, ok := preferences[p.name]; ok {
			if m, err := c.among(prefers.def, c.usable()); err == nil && m.ID != "" {
				return m, nil
			}
		}
		return Model{}, &NameError{Name: name, Problem: p.name + " cannot be used yet", Hint: p.missing}
	}
	if id := c.pick(p, TierDefault); id != "" {
		return c.named(p.name+"/"+id, p, id)
	}
	if p.vendor.local {
		return c.ofServer(name, p)
	}
	return Model{}, &NameError{Name: name, Problem: "it names a provider, not a model", Hint: fmt.Sprintf("write it as %s/MODEL", p.name)}
}

// ofServer resolves the name of a local server: its model, if it has but one.
func (c *Catalogue) ofServer(name string, p *provider) (Model, error) {
	answered := c.probeOne(context.Background(), p, c.probeTime).Err == nil
	has := slices.DeleteFunc(c.models(p), func(m Model) bool { return embeds(m.ID) })
	if len(has) == 1 {
		return has[0], nil
	}
	e := &NameError{Name: name, Problem: "it names a server, not a model", Hint: fmt.Sprintf("write it as %s/MODEL", p.name)}
	switch {
	case !answered:
		e.Hint += "; no server answers at " + config.SafeURL(p.base) + ", so that there is no telling which it has"
	case len(has) == 0:
		e.Problem, e.Hint = "the server at "+config.SafeURL(p.base)+" has no model", "load one into it"
	default:
		e.Problem, e.Hint = "it names a server that has several models", "write one of these"
	}
	for _, m := range has {
		e.Near = append(e.Near, m.Ref())
	}
	return Model{}, e
}

// bare resolves a name without a provider.
func (c *Catalogue) bare(name string) (Model, error) {
	m, err := c.among(name, c.usable())
	if err != nil || m.ID != "" {
		return m, err
	}
	// Nothing is configured that has it. A server on this machine may.
	c.Discover(context.Background())
	m, err = c.among(name, c.locals())
	if err != nil || m.ID != "" {
		return m, err
	}
	return Model{}, c.unknown(name)
}

func (c *Catalogue) usable() []*provider {
	var out []*provider
	for _, p := range c.providers() {
		if p.ready() {
			out = append(out, p)
		}
	}
	return out
}

// among looks for a name at several providers. What is configured under that
// very name comes first, then the maker of the model, then whoever calls it
// most nearly so. If several remain, the name is ambiguous.
func (c *Catalogue) among(name string, providers []*provider) (Model, error) {
	var declared, own, rest []Model
	nearest := none
	for _, p := range providers {
		for _, x := range p.declared {
			if strings.EqualFold(x.ID, name) {
				declared = append(declared, c.declaredModel(p, x.ID))
			}
		}
		models := c.models(p)
		m, at := best(name, models)
		if at != none && maker(name) == p.name && isVendorID(name, m, at) {
			if at == family {
				m = unlisted(p, name)
			}
			m.ID = name
		}
		if at == none && maker(name) == p.name {
			if dated, ok := snapshot(name, models); ok {
				m, at = dated, exact
			}
		}
		switch {
		case at == none:
		case maker(m.ID) == p.name:
			own = append(own, m)
		case at < nearest:
			nearest, rest = at, []Model{m}
		case at == nearest:
			rest = append(rest, m)
		}
	}
	for _, models := range [][]Model{declared, own, rest} {
		switch len(models) {
		case 0:
			continue
		case 1:
			return models[0], nil
		}
		e := &NameError{Name: name, Problem: "several providers have it", Hint: "write one of these"}
		for _, m := range models {
			e.Near = append(e.Near, m.Ref())
		}
		return Model{}, e
	}
	return Model{}, nil
}

// declaredModel is the configured model of that id.
func (c *Catalogue) declaredModel(p *provider, id string) Model {
	for _, m := range c.models(p) {
		if strings.EqualFold(m.ID, id) {
			return m
		}
	}
	return unlisted(p, id)
}
