// What requests with much input cost.
//
// The built-in list of prices has one price for a model. Some vendors charge
// more for a whole request once its input exceeds a number of tokens; this table
// adds that, as the vendors' price pages had it in November 2026. It holds
// factors, so that it follows the list when a price there changes. Resellers pass
// the vendors' prices on, and so it goes by the model, not by the provider.
//
// Not in it, because there is one price for all lengths: Claude from 4.6 on,
// Gemini's Flash models, the mini and nano models of OpenAI.

package catalogue

import (
	"slices"
	"strings"
)

// surcharge is what long requests to some models cost.
type surcharge struct {
	models        []string // beginnings of ids, with - for every separator
	above         int64
	input, output float64 // times the price of others; the cache goes with the input
}

var surcharges = []surcharge{
	{[]string{"gemini-2-5-pro", "gemini-3-pro", "gemini-3-1-pro"}, 200_000, 2, 1.5},
	{[]string{"gpt-5-4", "gpt-5-5", "gpt-5-6"}, 272_000, 2, 1.5},
	{[]string{"grok-4-20", "grok-4-3", "grok-4-5"}, 200_000, 2, 2},
	{[]string{"claude-sonnet-4", "claude-sonnet-4-5"}, 200_000, 2, 1.5}, // with the window of a million tokens, which was a beta
}

// small are words of models that cost the same at every length.
var small = []string{"mini", "nano", "lite", "flash"}

// long adds to the price of a model what long requests to it cost.
func (p Price) long(id string) Price {
	if !p.Known || p == free() {
		return p
	}
	words := split(lastPart(id))
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(small, w) }) {
		return p
	}
	for _, s := range surcharges {
		if slices.ContainsFunc(s.models, func(m string) bool { return begins(words, strings.Split(m, "-")) }) {
			times := func(n int64, factor float64) int64 { return int64(float64(n) * factor) }
			p.Above = s.above
			p.Long = Rates{
				Input: times(p.Input, s.input), Output: times(p.Output, s.output),
				CacheRead: times(p.CacheRead, s.input), CacheWrite: times(p.CacheWrite, s.input),
			}
		}
	}
	return p
}

// begins tells whether the words of an id begin with those of a model, and go on
// with no further number of a version.
func begins(words, model []string) bool {
	if len(words) < len(model) || !slices.Equal(words[:len(model)], model) {
		return false
	}
	return len(words) == len(model) || !isVersion(words[len(model)])
}

// isVersion tells a number of a version from a date and from a word.
func isVersion(word string) bool {
	return len(word) <= 2 && strings.Trim(word, "0123456789") == ""
}
