// The list of models and prices that is built into the binary.

package catalogue

import (
	"slices"
	"strings"
	"sync"

	"charm.land/catwalk/pkg/catwalk"
	list "charm.land/catwalk/pkg/embedded"

	"github.com/cadre-dev/cadre/internal/config"
)

// embedded decodes the list, once in a process and only when it is needed:
// that takes longer than many a command may.
var embedded = sync.OnceValue(func() *library { return newLibrary(list.GetAll()) })

// library is the list, by the ids that it has for providers.
type library struct {
	byID map[string]listing
}

// listing is what the list has about a provider.
type listing struct {
	kind   config.Kind
	base   string
	models []Model // their provider is not set
}

func (l *library) models(id string) []Model { return l.byID[id].models }

func newLibrary(all []catwalk.Provider) *library {
	l := &library{byID: make(map[string]listing, len(all)+1)}
	for _, p := range all {
		x := listing{kind: kindOf(p.Type)}
		if !strings.HasPrefix(p.APIEndpoint, "$") { // a variable of another program
			x.base = p.APIEndpoint
		}
		for _, m := range p.Models {
			x.models = append(x.models, listed(string(p.ID), m))
		}
		l.byID[string(p.ID)] = x
	}
	correctCache(l.models("gemini"), l.models("openrouter"))
	l.byID[mistralListed] = listing{kind: config.KindOpenAI, models: mistralModels(l.models("openrouter"))}
	return l
}

// correctCache mends prices of Google's cache. The list has for some models the
// price of keeping a million tokens for an hour where that of reading them
// belongs, which is never more than half the price of the input. OpenRouter,
// which passes on the vendor's prices, has the right one; if it has not the same
// model, what is read from the cache counts as input: a budget may be too
// careful, never too careless.
func correctCache(google, router []Model) {
	for i := range google {
		p := &google[i].Price
		if !p.Known || 2*p.CacheRead <= p.Input {
			continue
		}
		p.CacheRead = p.Input
		for _, m := range router {
			same := m.ID == "google/"+google[i].ID && m.Price.Input == p.Input && m.Price.Output == p.Output
			if same && 2*m.Price.CacheRead <= p.Input {
				p.CacheRead = m.Price.CacheRead
			}
		}
		if p.Above > 0 {
			p.Long.CacheRead = scaled(p.CacheRead, p.Input, p.Long.Input)
		}
	}
}

func kindOf(t catwalk.Type) config.Kind {
	switch t {
	case catwalk.TypeAnthropic:
		return config.KindAnthropic
	case catwalk.TypeGoogle:
		return config.KindGemini
	case catwalk.TypeOpenAI, catwalk.TypeOpenAICompat, catwalk.TypeOpenRouter, catwalk.TypeVercel, catwalk.TypeAzure:
		return config.KindOpenAI
	case catwalk.TypeBedrock, catwalk.TypeVertexAI:
	}
	return ""
}

func listed(provider string, m catwalk.Model) Model {
	out := Model{
		ID: m.ID, Name: m.Name, Window: m.ContextWindow, MaxOutput: m.DefaultMaxTokens, Price: priceOf(m).long(m.ID),
		Images: m.SupportsImages, Reasoning: m.CanReason, Tools: true, Listed: true,
		Efforts: effortsOf(m), stops: slices.Contains(switchable, provider),
	}
	// Nothing is free because its price is listed as 0: that also stands for
	// subscriptions, and for prices that are missing. The name must say so.
	if m.CostPer1MIn == 0 && m.CostPer1MOut == 0 && provider == "openrouter" && strings.HasSuffix(m.ID, ":free") {
		out.Price = free()
	}
	return out
}

// mistralListed is the id of Mistral's own models, which the list has only by
// way of OpenRouter. That passes on the vendor's prices.
const mistralListed = "mistral (own)"

// mistralIDs are the ids that Mistral's own interface knows, by those that
// OpenRouter gives to the same models.
var mistralIDs = []struct{ id, at string }{
	{"mistral-large-latest", "mistralai/mistral-large-2512"},
	{"mistral-large-2512", "mistralai/mistral-large-2512"},
	{"mistral-medium-latest", "mistralai/mistral-medium-3-5"},
	{"mistral-medium-2508", "mistralai/mistral-medium-3.1"},
	{"mistral-small-latest", "mistralai/mistral-small-2603"},
	{"mistral-small-2603", "mistralai/mistral-small-2603"},
	{"devstral-latest", "mistralai/devstral-2512"},
	{"devstral-2512", "mistralai/devstral-2512"},
	{"codestral-latest", "mistralai/codestral-2508"},
	{"codestral-2508", "mistralai/codestral-2508"},
	{"ministral-14b-2512", "mistralai/ministral-14b-2512"},
	{"ministral-8b-2512", "mistralai/ministral-8b-2512"},
	{"ministral-3b-2512", "mistralai/ministral-3b-2512"},
}

func mistralModels(router []Model) []Model {
	var out []Model
	for _, x := range mistralIDs {
		for _, m := range router {
			if m.ID == x.at {
				m.ID = x.id
				m.Name = strings.TrimPrefix(m.Name, "Mistral: ")
				out = append(out, m)
			}
		}
	}
	return out
}
