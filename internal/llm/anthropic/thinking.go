// Thinking: what the models of each generation take.
//
//	before 3.7           no thinking
//	3.7 up to 4.5        a budget of tokens
//	4.6                  adaptive thinking with an effort; a budget still works
//	from 4.7 on          adaptive thinking with an effort, nothing else; thinking
//	                     is told on request only; temperature is refused
//
// Models that are not called claude belong to servers that took the format
// over; they know the budget, which is the older way.

package anthropic

import (
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

// minBudget is the smallest budget that the API takes.
const minBudget = 1024

// appendThinking appends how much the model is to think, within limit tokens of
// output, and reports whether it takes a temperature besides.
func (p *provider) appendThinking(dst []byte, req *llm.Request, limit int64) (out []byte, sampled bool) {
	generation := generationOf(req.Model)
	asked := req.Effort != "" || req.ThinkingTokens > 0
	sampled = generation < 407
	shown := req.ShowThinking && generation >= 407
	switch {
	case generation < 307 || !asked && !shown:
		return dst, sampled
	case generation >= 407, generation == 406 && req.Effort != "":
		return appendAdaptive(dst, req, generation), sampled && req.Effort == llm.EffortNone
	}
	budget := req.ThinkingTokens
	if req.Effort != "" {
		budget = req.Effort.Tokens()
	}
	budget = min(budget, limit-limit/4) // thinking counts as output, and there is to be an answer
	if budget < minBudget || p.inForeignTurn(req) {
		return dst, sampled
	}
	dst = append(dst, `,"thinking":{"type":"enabled","budget_tokens":`...)
	dst = strconv.AppendInt(dst, budget, 10)
	return append(dst, '}'), false
}

// appendAdaptive appends adaptive thinking and the effort. To think not at all
// is not said: some models refuse it, and all think little at a low effort.
func appendAdaptive(dst []byte, req *llm.Request, generation int) []byte {
	effort := llm.EffortOf(req)
	if effort != llm.EffortNone {
		dst = append(dst, `,"thinking":{"type":"adaptive"`...)
		if req.ShowThinking && generation >= 407 {
			dst = append(dst, `,"display":"summarized"`...)
		}
		dst = append(dst, '}')
	}
	levels := []llm.Effort{llm.EffortLow, llm.EffortMedium, llm.EffortHigh, llm.EffortXHigh, llm.EffortMax}
	if generation < 407 {
		levels = []llm.Effort{llm.EffortLow, llm.EffortMedium, llm.EffortHigh, llm.EffortMax}
	}
	if effort == "" {
		return dst
	}
	dst = append(dst, `,"output_config":{"effort":`...)
	dst = wire.AppendString(dst, string(effort.Within(levels)))
	return append(dst, '}')
}

// generationOf reads the version off a name, as major*100+minor: 407 for
// claude-opus-4-7, 307 for claude-3-7-sonnet-20250219, 500 for claude-sonnet-5.
// Names of other makers count as 405: they know a budget. A name of Anthropic's
// without a version is that of something new.
func generationOf(model string) int {
	words := strings.FieldsFunc(strings.ToLower(model), func(r rune) bool { return strings.ContainsRune("-._/:@", r) })
	claude, version := false, -1
	for _, w := range words {
		claude = claude || w == "claude"
		n, err := strconv.Atoi(w)
		isNumber := err == nil && len(w) <= 2
		switch {
		case !claude:
		case version < 0 && isNumber:
			version = n * 100
		case version >= 0:
			if isNumber {
				version += n
			}
			return version // what follows is a date or a variant
		}
	}
	switch {
	case !claude:
		return 405
	case version < 0:
		return 999
	}
	return version
}

// inForeignTurn reports whether the model is to go on with a turn whose tool
// calls another model made. With a thinking budget the API wants such a turn
// to begin with thinking, and there is none to send.
func (p *provider) inForeignTurn(req *llm.Request) bool {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := &req.Messages[i]
		if m.Role != message.Assistant {
			continue
		}
		if len(m.Calls()) == 0 {
			return false
		}
		for _, part := range m.Parts {
			if t, ok := part.(message.ThinkingPart); ok && p.isOwn(&t, req.Model) {
				return false
			}
		}
		return true
	}
	return false
}
