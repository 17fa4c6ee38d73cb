// The table by which errors are recognised.

package wire

import "github.com/cadre-dev/cadre/internal/llm"

// rules are tried in order, before the status. The order matters: what an
// agent can do something about (compact) comes first, and an empty account
// before a rate limit, since both are 429 and only one passes.
var rules = []rule{
	{
		kind: llm.ErrOverflow,
		names: []string{
			"context_length_exceeded", "exceed_context_size_error", "model_max_prompt_tokens_exceeded",
			"model_context_window_exceeded", "string_above_max_length", "request_too_large", "tokens_limit_reached",
		},
		words: []string{
			"prompt is too long",                         // Anthropic, Fireworks, Vertex
			"input length and `max_tokens` exceed",       // Anthropic
			"extra usage is required for long context",   // Anthropic, as 429
			"maximum context length",                     // OpenAI, DeepSeek, vLLM, OpenRouter, Mistral, Ollama
			"exceeds the context window",                 // OpenAI Responses
			"exceed the context window",                  // Together
			"context window exceeds",                     // MiniMax
			"reduce the length of the messages",          // OpenAI, Groq, Cerebras
			"input token count … exceeds the maximum",    // Gemini
			"exceeds the maximum number of tokens",       // Gemini
			"too large for model with",                   // Mistral
			"maximum prompt length is",                   // xAI
			"tokens + `max_new_tokens` must be <=",       // Together, text-generation-inference
			"tokens + max_new_tokens must be <=",         // the same, older
			"exceeds the available context size",         // llama.cpp
			"exceeded max context length",                // Ollama
			"exceeds the context length",                 // Ollama, LM Studio
			"greater than the context length",            // LM Studio
			"when context the overflows",                 // LM Studio, in its words
			"loaded with context length of only",         // LM Studio
			"reached context length of",                  // LM Studio
			"context size has been exceeded",             // LM Studio
			"longer than the maximum model length",       // vLLM
			"is longer than the model's context length",  // SGLang
			"input is too long for requested model",      // Bedrock
			"number of tokens in the prompt cannot",      // Cohere
			"exceeded model token limit",                 // Moonshot
			"prompt token count of … exceeds the limit",  // GitHub Copilot
			"prompt exceeds max length",                  // Z.ai
			"range of input length should be",            // Alibaba
			"request too large for … tokens per min",     // OpenAI and Groq, as 429 and 413: waiting does not help
			"max_tokens must be at least 1, got -",       // vLLM, older
			"tokens in request more than max tokens",     // GitHub Models, Cerebras
			"request exceeds the maximum size",           // Anthropic, as 413
			"request payload size exceeds the limit",     // Gemini
			"total tokens of image and text exceed",      // ByteDance
			"input tokens exceed the configured limit",   // OpenAI
			"input length … exceeds … context length",    // Ollama
			"context length exceeded",                    // proxies
			"exceeds model context window",               // proxies
			"input token count is … only supports up to", // Vertex AI
			"must have less than … tokens. given:",       // text-generation-inference, as 422
			"exceeds maximum input length",               // SGLang
			"too many total text bytes",                  // Anthropic, Bedrock
		},
	},
	{
		kind: llm.ErrAuth,
		names: []string{
			"authentication_error", "invalid_api_key", "api_key_invalid", "unauthenticated", "invalid_authentication_error",
			"invalid_token", "unauthorized", "access_token_expired", "account_deactivated",
		},
		words: []string{"api key not valid", "incorrect api key", "invalid api key", "no auth credentials found", "api key expired"},
	},
	{
		kind: llm.ErrQuota,
		names: []string{
			"insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits",
			"exceeded_current_quota_error", "insufficient_balance", "credit_limit", "payment_required",
			"billing_disabled", "budget_exceeded", "arrearage", "usage_limit_reached",
		},
		words: []string{
			"credit balance is too low",               // Anthropic, as 400
			"reached your specified api usage limits", // Anthropic, as 400
			"usage limits … you will regain access",   // the same, for workspaces
			"insufficient balance",                    // DeepSeek, Moonshot
			"insufficient credits",                    // OpenRouter
			"requires more credits",                   // OpenRouter
			"key limit exceeded",                      // OpenRouter, as 403
			"free-models-per-day",                     // OpenRouter: passes at midnight
			"doesn't have any credits",                // xAI, as 403
			"used all available credits",              // xAI
			"monthly spending limit",                  // xAI
			"spending cap",                            // Gemini
			"prepayment credits are depleted",         // Gemini
			"perday",                                  // Gemini's quota ids: passes at midnight
			"to use this api … enable billing",        // Gemini, as 400
			"quota exceeded … limit: 0,",              // Gemini: the plan does not have the model
			"quota exceeded … limit: 0\n",             // the same, older
		},
	},
	{
		kind: llm.ErrFilter,
		names: []string{
			"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed",
			"datainspectionfailed", "invalid_prompt", "prohibited_content", "sensitive_words_detected",
		},
		words: []string{
			"output blocked by content filtering policy", // Anthropic, as 400
			"content exists risk",                        // DeepSeek, as 400
			"flagged as potentially violating",           // OpenAI
			"requires moderation",                        // OpenRouter, as 403
			"moderation [",                               // OpenRouter's reasons
			"violates usage guidelines",                  // xAI, as 403
			"safety_check_type_",                         // xAI
			"blocked by our content filter",              // Azure
			"azure openai's content management policy",   // Azure
		},
	},
	{
		kind:  llm.ErrPermission,
		names: []string{"permission_error", "permission_denied", "access_denied", "unsupported_country_region_territory", "forbidden", "service_disabled", "model_terms_required"},
		words: []string{"user location is not supported", "country, region, or territory not supported", "must be verified to"},
	},
	{
		kind:  llm.ErrNotFound,
		names: []string{"not_found_error", "not_found", "model_not_found", "model_not_available", "deploymentnotfound", "model_decommissioned", "resource_not_found_error", "unsupported_model"},
		words: []string{"does not exist or you do not have access", "model not exist", "is not a valid model id", "no endpoints found", "has been deprecated … please"},
	},
	{
		kind: llm.ErrOverloaded,
		names: []string{
			"overloaded_error", "engine_overloaded_error", "engine_overloaded", "server_overloaded", "server_is_overloaded", "slow_down",
			"capacity_exceeded", "unavailable", "service_unavailable",
		},
		words: []string{
			"is overloaded", "currently overloaded", "overloaded_error", "at capacity", "over capacity", "capacity exceeded",
			"experiencing high demand", "no capacity available", "high load", "loading model", "server busy", "service is too busy",
		},
	},
	{
		kind: llm.ErrRateLimit,
		names: []string{
			"rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "requests", "tokens", "too_many_requests", "rate_limit_reached_error",
			"ratelimitreached", "throttling", "throttlingexception", "throttling.ratequota", "throttling.allocationquota", "rate_limited",
		},
		words: []string{"rate limit reached", "rate limit exceeded", "rate_limit_exceeded", "too many requests"},
	},
	{
		kind:  llm.ErrServer,                                       // as 400: the model stumbled over a call of a tool, and may not do so again
		names: []string{"tool_use_failed", "json_validate_failed"}, // Groq
	},
	{
		kind:  llm.ErrQuota, // Gemini says the same of limits that pass, but under a name caught above
		words: []string{"check your plan and billing details"},
	},
	{
		kind:  llm.ErrTimeout,
		names: []string{"timeout_error", "timeout", "deadline_exceeded", "request_timeout", "gateway_timeout"},
		words: []string{"context deadline exceeded"}, // servers written in Go
	},
}

// overflowWords are the wordings of servers that are not in the table. They
// count where nothing else was recognised, and no status says that the server
// was at fault.
var overflowWords = []string{
	"context … exceed", "exceed … context", "context … too long", "context … too large", "context … overflow",
	"too long … context", "too large … context", "too many tokens", "too many input tokens", "tokens … exceed",
	"exceed … tokens", "exceed … token limit", "token limit exceeded", "prompt too long", "prompt is too large", "input is too long", "input too long",
	"contextwindowexceeded", "contextlengthexceeded",
}

// outputWords are those of a request that asks for too long an answer, which a
// shorter history does not mend.
var outputWords = []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens", "output tokens", "completion tokens"}

// statusKinds are the statuses that say enough by themselves. All other 4xx
// are bad requests, all other 5xx errors of the server.
var statusKinds = map[int]llm.ErrorKind{
	401: llm.ErrAuth,
	402: llm.ErrQuota,
	403: llm.ErrPermission,
	404: llm.ErrNotFound,
	407: llm.ErrAuth,
	408: llm.ErrTimeout,
	409: llm.ErrServer, // a conflict passes: it is tried again
	410: llm.ErrNotFound,
	413: llm.ErrOverflow,
	425: llm.ErrServer,
	429: llm.ErrRateLimit,
	451: llm.ErrFilter,
	498: llm.ErrOverloaded, // Groq: no capacity in the flex tier
	499: llm.ErrServer,     // the vendor gave up on the request
	504: llm.ErrTimeout,
	524: llm.ErrTimeout, // Cloudflare
	529: llm.ErrOverloaded,
}

// genericNames are classes of error that say little; they count where there
// is no status, as inside a stream.
var genericNames = map[string]llm.ErrorKind{
	"invalid_request_error": llm.ErrBadRequest,
	"invalid_argument":      llm.ErrBadRequest,
	"failed_precondition":   llm.ErrBadRequest,
	"out_of_range":          llm.ErrBadRequest,
	"bad_request":           llm.ErrBadRequest,
	"badrequesterror":       llm.ErrBadRequest,
	"validation_error":      llm.ErrBadRequest,
	"api_error":             llm.ErrServer,
	"server_error":          llm.ErrServer,
	"internal_error":        llm.ErrServer,
	"internal":              llm.ErrServer,
	"unknown":               llm.ErrServer,
	"aborted":               llm.ErrServer,
}
