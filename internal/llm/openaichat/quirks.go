// Where vendors differ.

package openaichat

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
	// Reasoning sends a model's reasoning back to it, in the field in which it
	// came. Structured reasoning, which may be signed, is among it.
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

// QuirksOf returns the quirks of a vendor by name, as far as they are known:
// openai, azure, openrouter, deepseek, groq, mistral, xai, together, moonshot,
// zai, ollama, lmstudio, llamacpp, vllm. For any other they are zero.
func QuirksOf(vendor string) Quirks {
	switch vendor {
	case "openai":
		return Quirks{MaxCompletionTokens: true, DeveloperRole: true, CacheKey: true}
	case "azure":
		return Quirks{MaxCompletionTokens: true, KeyHeader: "api-key"}
	case "openrouter":
		return Quirks{Reasoning: true}
	case "deepseek":
		return Quirks{Reasoning: true, ReasoningAlways: true, NoImages: true}
	case "groq":
		return Quirks{MaxCompletionTokens: true, ThinkTags: true}
	case "mistral":
		return Quirks{NoStreamOptions: true, Reasoning: true, ShortCallIDs: true, ReplyToTools: true}
	case "xai":
		return Quirks{MaxCompletionTokens: true, CacheHeader: "x-grok-conv-id"}
	case "moonshot", "zai":
		return Quirks{Reasoning: true}
	case "ollama", "llamacpp", "vllm":
		return Quirks{Reasoning: true, ThinkTags: true}
	case "lmstudio", "together":
		return Quirks{ThinkTags: true}
	}
	return Quirks{}
}
