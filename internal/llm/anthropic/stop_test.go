package anthropic

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

// TestStopped: what was read is told at the beginning, and paid for.
func TestStopped(t *testing.T) {
	t.Parallel()
	wiretest.Stopped(t, func(v *wiretest.Vendor) llm.Provider { return New(Options{BaseURL: v.URL}) },
		`event: message_start
data: {"type":"message_start","message":{"id":"m","model":"m","content":[],"usage":{"input_tokens":25,"cache_read_input_tokens":1000,"cache_creation_input_tokens":30,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}

`, message.Usage{Input: 25, CacheRead: 1000, CacheWrite: 30, Output: 1})
}
