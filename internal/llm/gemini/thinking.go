// Thinking: version 2.5 counts it in tokens, from version 3 on there are levels.
// Older models and those of other names do not think. A request that has both a
// budget and a level is refused.

package gemini

import (
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// appendThinking appends how much the model is to think, and whether it is to
// tell. start is where the settings begin.
func appendThinking(dst []byte, start int, req *llm.Request) []byte {
	name := strings.TrimPrefix(req.Model, "models/")
	budgets := strings.HasPrefix(name, "gemini-2.5")
	if !budgets && (!isNew(name) || !strings.HasPrefix(name, "gemini-")) {
		return dst
	}
	if req.Effort == "" && req.ThinkingTokens <= 0 && !req.ShowThinking {
		return dst
	}
	dst = append(comma(dst, start), `"thinkingConfig":{`...)
	inner := len(dst)
	if req.ShowThinking {
		dst = append(dst, `"includeThoughts":true`...)
	}
	effort := llm.EffortOf(req)
	switch {
	case effort == "":
	case budgets:
		dst = append(comma(dst, inner), `"thinkingBudget":`...)
		dst = strconv.AppendInt(dst, budget(name, req), 10)
	default:
		levels := []llm.Effort{llm.EffortMinimal, llm.EffortLow, llm.EffortMedium, llm.EffortHigh}
		dst = append(comma(dst, inner), `"thinkingLevel":`...)
		dst = wire.AppendString(dst, string(effort.Within(levels)))
	}
	return append(dst, '}')
}

// budget is within what the model takes: Pro cannot do without thinking, and
// goes further than the others.
func budget(name string, req *llm.Request) int64 {
	least, most := int64(0), int64(24576)
	if strings.HasPrefix(name, "gemini-2.5-pro") {
		least, most = 128, 32768
	}
	n := req.ThinkingTokens
	if req.Effort != "" {
		n = req.Effort.Tokens()
	}
	if n > 0 && strings.HasPrefix(name, "gemini-2.5-flash-lite") {
		least = 512
	}
	return min(max(n, least), most)
}
