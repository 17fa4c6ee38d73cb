// The providers that are known without being configured.

package catalogue

import (
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/config"
)

// vendor is what is built in about a provider.
type vendor struct {
	name    string
	aliases []string
	kind    config.Kind
	base    string   // its address; empty if everybody has their own
	keys    []string // the variables that may hold the key; the first that is set counts
	bearers []string // those that may hold a token for a gateway; they come before keys
	bases   []string // likewise for the address
	listed  string   // its id in the built-in list of models
	makes   []string // the first words of the models it makes itself
	local   bool     // a server of one's own: no key, no price
	probe   string   // where a local server lists its models
}

// vendors is ordered by preference: makers of models that work well as agents
// first, then those who pass them on, then local servers. The order decides
// what a tier means if nothing is configured (tiers.go).
var vendors = []vendor{
	{
		name: "anthropic", aliases: []string{"claude"}, kind: config.KindAnthropic, base: "https://api.anthropic.com",
		bearers: []string{"ANTHROPIC_AUTH_TOKEN"}, keys: []string{"ANTHROPIC_API_KEY"}, bases: []string{"ANTHROPIC_BASE_URL"},
		listed: "anthropic", makes: []string{"claude"},
	},
	{
		name: "openai", kind: config.KindOpenAIResponses, base: "https://api.openai.com/v1",
		keys: []string{"OPENAI_API_KEY"}, bases: []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"},
		listed: "openai", makes: []string{"gpt", "chatgpt", "codex", "o1", "o3", "o4"},
	},
	{
		name: "google", aliases: []string{"gemini", "googleai"}, kind: config.KindGemini, base: "https://generativelanguage.googleapis.com",
		keys:  []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"},
		bases: []string{"GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"}, listed: "gemini", makes: []string{"gemini", "gemma"},
	},
	{
		name: "openrouter", kind: config.KindOpenAI, base: "https://openrouter.ai/api/v1",
		keys: []string{"OPENROUTER_API_KEY"}, bases: []string{"OPENROUTER_BASE_URL"}, listed: "openrouter",
	},
	{
		name: "xai", aliases: []string{"x-ai", "grok"}, kind: config.KindOpenAI, base: "https://api.x.ai/v1",
		keys: []string{"XAI_API_KEY", "GROK_API_KEY"}, bases: []string{"XAI_BASE_URL"}, listed: "xai", makes: []string{"grok"},
	},
	{
		name: "deepseek", kind: config.KindOpenAI, base: "https://api.deepseek.com/v1",
		keys: []string{"DEEPSEEK_API_KEY"}, bases: []string{"DEEPSEEK_BASE_URL"}, listed: "deepseek", makes: []string{"deepseek"},
	},
	{
		name: "moonshot", aliases: []string{"moonshotai", "kimi"}, kind: config.KindOpenAI, base: "https://api.moonshot.ai/v1",
		keys: []string{"MOONSHOT_API_KEY"}, bases: []string{"MOONSHOT_BASE_URL"}, listed: "moonshot", makes: []string{"kimi", "moonshot"},
	},
	{
		name: "zai", aliases: []string{"z-ai", "z.ai"}, kind: config.KindOpenAI, base: "https://api.z.ai/api/paas/v4",
		keys: []string{"ZAI_API_KEY"}, bases: []string{"ZAI_BASE_URL"}, listed: "zai", makes: []string{"glm"},
	},
	{
		name: "mistral", aliases: []string{"mistralai"}, kind: config.KindOpenAI, base: "https://api.mistral.ai/v1",
		keys: []string{"MISTRAL_API_KEY"}, bases: []string{"MISTRAL_BASE_URL"}, listed: mistralListed,
		makes: []string{"mistral", "codestral", "devstral", "ministral", "magistral", "pixtral", "voxtral"},
	},
	{
		name: "groq", kind: config.KindOpenAI, base: "https://api.groq.com/openai/v1",
		keys: []string{"GROQ_API_KEY"}, bases: []string{"GROQ_BASE_URL"}, listed: "groq",
	},
	{
		name: "cerebras", kind: config.KindOpenAI, base: "https://api.cerebras.ai/v1",
		keys: []string{"CEREBRAS_API_KEY"}, bases: []string{"CEREBRAS_BASE_URL"}, listed: "cerebras",
	},
	{
		name: "fireworks", aliases: []string{"fireworks-ai", "fireworksai"}, kind: config.KindOpenAI, base: "https://api.fireworks.ai/inference/v1",
		keys: []string{"FIREWORKS_API_KEY"}, bases: []string{"FIREWORKS_BASE_URL"}, listed: "fireworks",
	},
	{
		name: "together", aliases: []string{"togetherai", "together-ai"}, kind: config.KindOpenAI, base: "https://api.together.xyz/v1",
		keys: []string{"TOGETHER_API_KEY", "TOGETHERAI_API_KEY"}, bases: []string{"TOGETHER_BASE_URL"},
	},
	{
		name: "azure", aliases: []string{"azure-openai"}, kind: config.KindOpenAI,
		keys:  []string{"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"},
		bases: []string{"AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_ENDPOINT", "AZURE_API_BASE"}, listed: "azure",
	},
	{
		name: "ollama", kind: config.KindOpenAI, base: "http://127.0.0.1:11434/v1", bases: []string{"OLLAMA_HOST"},
		keys: []string{"OLLAMA_API_KEY"}, local: true, probe: "/api/tags",
	},
	{
		name: "lmstudio", aliases: []string{"lm-studio"}, kind: config.KindOpenAI, base: "http://127.0.0.1:1234/v1",
		bases: []string{"LMSTUDIO_BASE_URL", "LM_STUDIO_BASE_URL"}, keys: []string{"LMSTUDIO_API_KEY", "LM_API_TOKEN"}, local: true,
	},
	{
		name: "llamacpp", aliases: []string{"llama.cpp", "llama-cpp", "llama-server"}, kind: config.KindOpenAI, base: "http://127.0.0.1:8080/v1",
		bases: []string{"LLAMACPP_BASE_URL"}, keys: []string{"LLAMACPP_API_KEY", "LLAMA_API_KEY"}, local: true,
	},
	{
		name: "vllm", kind: config.KindOpenAI, base: "http://127.0.0.1:8000/v1",
		bases: []string{"VLLM_BASE_URL"}, keys: []string{"VLLM_API_KEY"}, local: true,
	},
}

// Variables are those of the environment that configure a provider.
type Variables struct {
	Provider string
	Keys     []string // the first that is set counts
	Bases    []string // likewise for its address; none: it has but one
}

// Environment returns the variables of all providers that are built in.
func Environment() []Variables {
	out := make([]Variables, len(vendors))
	for i, v := range vendors {
		out[i] = Variables{v.name, slices.Concat(v.bearers, v.keys), v.bases}
	}
	return out
}

// providerName is the name under which a provider is known here.
func providerName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, v := range vendors {
		for _, a := range v.aliases {
			if name == a {
				return v.name
			}
		}
	}
	return name
}

// maker says which vendor makes a model, by its id: the one whose word the
// last part of the id begins with; empty if it is not known.
func maker(id string) string {
	words := split(lastPart(id))
	if len(words) == 0 {
		return ""
	}
	for _, v := range vendors {
		for _, m := range v.makes {
			if words[0] == m {
				return v.name
			}
		}
	}
	return ""
}

// unsupported are providers that people name, with what to do instead.
func unsupported(name string) string {
	switch name {
	case "bedrock", "amazon-bedrock", "aws":
		return "Amazon Bedrock signs its requests and is not spoken here; use a gateway that is compatible with OpenAI or Anthropic, and name its base_url under providers"
	case "vertex", "vertexai", "vertex-ai", "google-vertex":
		return "Vertex AI wants short-lived tokens and is not spoken here; use google with GEMINI_API_KEY, or a gateway under providers"
	case "copilot", "github-copilot":
		return "GitHub Copilot's sign-in is not spoken here; use the vendor of the model itself"
	}
	return ""
}
