// How much models are to think: what they can be told, and what is configured.

package catalogue

import (
	"slices"
	"strings"

	"charm.land/catwalk/pkg/catwalk"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm"
)

// effortsOf reads the efforts that a model knows. The list has minimal for all
// that OpenAI made since GPT-5; from 5.1 on it is none instead, which those made
// for code and the pro models do not know.
func effortsOf(m catwalk.Model) []llm.Effort {
	words := split(lastPart(m.ID))
	since51 := len(words) > 2 && words[0] == "gpt" && words[1] == "5" && isVersion(words[2])
	var out []llm.Effort
	for _, l := range m.ReasoningLevels {
		e := llm.Effort(strings.ToLower(l))
		isLeast := e == llm.EffortMinimal || e == llm.EffortNone
		if e.Valid() && (!since51 || !isLeast) {
			out = append(out, e)
		}
	}
	if since51 && len(out) > 0 && !slices.Contains(words, "codex") && !slices.Contains(words, "pro") {
		out = append([]llm.Effort{llm.EffortNone}, out...)
	}
	return out
}

// switchable are the vendors whose models can be told not to think at all,
// whichever efforts they know: their formats have a switch for it.
var switchable = []string{"anthropic", "deepseek", "moonshot", "zai"}

// think notes what is configured, unless something is noted already.
func (m *Model) think(t config.Thinking) {
	if m.Effort == "" && m.ThinkingTokens == 0 {
		m.Effort, m.ThinkingTokens = llm.Effort(t.Effort), t.Tokens
	}
	if t.Show != nil && !m.showSaid {
		m.ShowThinking, m.showSaid = *t.Show, true
	}
}

// splitEffort takes a name such as opus@high apart. What follows another @ is a
// part of the name.
func splitEffort(name string) (string, llm.Effort) {
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		if e := llm.Effort(strings.ToLower(name[at+1:])); e.Valid() {
			return name[:at], e
		}
	}
	return name, ""
}

// asked is the model, told by its name how much to think.
func (m Model) asked(e llm.Effort) (Model, error) {
	if e == "" {
		return m, nil
	}
	if m.Listed && !m.Reasoning {
		return Model{}, &NameError{Name: m.Ref() + "@" + string(e), Problem: "it does not reason, so that it has no effort", Hint: "write it without @" + string(e)}
	}
	m.Effort, m.ThinkingTokens, m.named = e, 0, true
	return m, nil
}

// Settle completes a request with what the model is configured to do, and takes
// out what it would refuse.
func (m Model) Settle(req *llm.Request) {
	if m.MaxOutput > 0 && req.MaxOutput > m.MaxOutput {
		// Vendors refuse such a request instead of doing what they can.
		req.MaxOutput = m.MaxOutput
	}
	if req.Effort == "" && req.ThinkingTokens == 0 {
		req.Effort, req.ThinkingTokens = m.Effort, m.ThinkingTokens
	}
	req.ShowThinking = req.ShowThinking || m.ShowThinking
	if m.Listed && !m.Reasoning {
		req.Effort, req.ThinkingTokens, req.ShowThinking = "", 0, false
		return
	}
	if req.Effort != llm.EffortNone || !m.stops {
		req.Effort = req.Effort.Within(m.Efforts)
	}
}

// Settle implements record.Settler.
func (c *client) Settle(req *llm.Request) { c.model.Settle(req) }

// refusesTemperature tells whether the model takes no temperature. OpenAI's models do only
// while they do not reason. Its own format knows that; servers that speak the
// older one need not.
func (c *client) refusesTemperature(effort llm.Effort) bool {
	m := &c.model
	return m.Reasoning && maker(m.ID) == "openai" && c.chat && effort != llm.EffortNone
}
