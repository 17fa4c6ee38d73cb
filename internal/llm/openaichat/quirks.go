// Where vendors differ.

package openaichat

import (
	"strconv"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// Quirks says how a server differs from what all of them understand. The zero
// value suits a server that nothing is known about.
type Quirks struct {
	// MaxCompletionTokens sends the output limit under this name, which OpenAI
	// asks for, instead of max_tokens, which all others know.
	MaxCompletionTokens bool
	// DeveloperRole sends the system prompt in the role of the developer.
	DeveloperRole bool
	// NoStreamOptions leaves stream_options out, for servers that refuse it;
	// with others it is what makes them tell the usage.
	NoStreamOptions bool
	// CacheKey sends prompt_cache_key, the same for all of a chat.
	CacheKey bool
	// CacheHeader names a header that serves the same end.
	CacheHeader string
	// KeyHeader names the header for the key, if it is not the usual one.
	KeyHeader string
	// Effort is how the vendor is told how much to reason.
	Effort EffortStyle
	// Reasoning sends a model's reasoning back to it even if it came in the
	// field reasoning, which strict servers send and refuse. Whatever came in
	// another field goes back in it always: who sends those takes them, and
	// some refuse a history without.
	Reasoning bool
	// ReasoningAlways sends an empty reasoning_content where there is none:
	// DeepSeek wants the field in every message once it is thinking.
	ReasoningAlways bool
	// ThinkTags takes <think>…</think> at the start of a text for reasoning.
	ThinkTags bool
	// ToolImages says that results of tools may contain images. Otherwise they
	// follow in a message of the user.
	ToolImages bool
	// NoImages replaces images by a line of text.
	NoImages bool
	// ShortCallIDs makes the ids of calls nine letters and digits, which is
	// all that Mistral takes; those of other vendors get a new one.
	ShortCallIDs bool
	// ReplyToTools puts a short reply of the assistant between results and a
	// message of the user, without which Mistral refuses the history.
	ReplyToTools bool
	// MergeUsers joins messages of the user that follow each other, for chat
	// templates that insist on turns.
	MergeUsers bool
}

// EffortStyle is a way to say how much a model is to reason.
type EffortStyle string

// The ways: reasoning_effort, which most know; OpenRouter's object, which also
// takes tokens; a switch that knows on and off only; and a switch for off
// beside reasoning_effort for the rest.
const (
	EffortField  EffortStyle = ""
	EffortObject EffortStyle = "object"
	EffortSwitch EffortStyle = "switch"
	EffortBoth   EffortStyle = "both"
)

// appendEffort appends how much the model is to reason, if that was said.
func (q Quirks) appendEffort(b []byte, req *llm.Request) []byte {
	effort := llm.EffortOf(req)
	isOff := effort == llm.EffortNone
	switch {
	case q.Effort == EffortObject && req.Effort == "" && req.ThinkingTokens > 0:
		b = strconv.AppendInt(append(b, `,"reasoning":{"max_tokens":`...), req.ThinkingTokens, 10)
		return append(b, '}')
	case effort == "":
		return b
	case q.Effort == EffortObject:
		b = wire.AppendString(append(b, `,"reasoning":{"effort":`...), string(effort))
		return append(b, '}')
	case isOff && (q.Effort == EffortSwitch || q.Effort == EffortBoth):
		return append(b, `,"thinking":{"type":"disabled"}`...)
	case q.Effort == EffortSwitch:
		return append(b, `,"thinking":{"type":"enabled"}`...)
	}
	return wire.AppendString(append(b, `,"reasoning_effort":`...), string(effort))
}

// QuirksOf returns the quirks of a vendor by name, as far as they are known:
// openai, azure, openrouter, deepseek, groq, mistral, xai, together, moonshot,
// zai, ollama, lmstudio, llamacpp, vllm. Any other is taken for a server that
// passes on what open models say.
func QuirksOf(vendor string) Quirks {
	switch vendor {
	case "openai":
		return Quirks{MaxCompletionTokens: true, DeveloperRole: true, CacheKey: true}
	case "azure":
		return Quirks{MaxCompletionTokens: true, KeyHeader: "api-key"}
	case "openrouter":
		return Quirks{Reasoning: true, Effort: EffortObject}
	case "deepseek":
		return Quirks{Reasoning: true, ReasoningAlways: true, NoImages: true, Effort: EffortBoth}
	case "groq":
		return Quirks{MaxCompletionTokens: true, ThinkTags: true}
	case "mistral":
		return Quirks{NoStreamOptions: true, Reasoning: true, ShortCallIDs: true, ReplyToTools: true}
	case "xai":
		return Quirks{MaxCompletionTokens: true, CacheHeader: "x-grok-conv-id"}
	case "moonshot", "zai":
		return Quirks{Reasoning: true, Effort: EffortSwitch}
	case "ollama", "llamacpp", "vllm":
		return Quirks{Reasoning: true, ThinkTags: true}
	}
	return Quirks{ThinkTags: true}
}
