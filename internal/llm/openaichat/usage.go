// Tokens, as the many vendors count them.

package openaichat

import (
	"github.com/cadre-dev/cadre/internal/llm/wire"
	"github.com/cadre-dev/cadre/internal/message"
)

// usageOf reads a usage object. What a vendor does not count is 0.
func usageOf(text []byte) (message.Usage, error) {
	var prompt, completion, total, cached, written, reasoning int64
	u := wire.Object(text)
	for u.Next() {
		switch string(u.Key) {
		case "prompt_tokens":
			prompt = wire.Int(u.Value)
		case "completion_tokens":
			completion = wire.Int(u.Value)
		case "total_tokens":
			total = wire.Int(u.Value)
		case "cached_tokens", "prompt_cache_hit_tokens": // Moonshot; DeepSeek
			cached = max(cached, wire.Int(u.Value))
		case "prompt_tokens_details":
			d := wire.Object(u.Value)
			for d.Next() {
				switch string(d.Key) {
				case "cached_tokens":
					cached = max(cached, wire.Int(d.Value))
				case "cache_write_tokens":
					written = wire.Int(d.Value)
				}
			}
		case "completion_tokens_details":
			d := wire.Object(u.Value)
			for d.Next() {
				if string(d.Key) == "reasoning_tokens" {
					reasoning = wire.Int(d.Value)
				}
			}
		}
	}
	if cached+written <= prompt { // as documented; a few vendors count them apart
		prompt -= cached + written
	}
	if reasoning > 0 && total == prompt+cached+written+completion+reasoning {
		completion += reasoning // xAI counts reasoning apart
	}
	return message.Usage{Input: prompt, Output: completion, CacheRead: cached, CacheWrite: written, Reasoning: reasoning}, u.Err()
}
