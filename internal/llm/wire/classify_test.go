// Tests of the sorting of errors, over bodies as vendors send them.

package wire

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
)

// errorBodies are published or reported bodies, by vendor.
var errorBodies = []struct {
	vendor string
	status int
	body   string
	want   llm.ErrorKind
}{
	// Context overflow.
	{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200251 tokens > 200000 maximum"},"request_id":"req_011CWdepJvA2D819tdYYq4h7"}`, llm.ErrOverflow},
	{"anthropic", 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again\"}}", llm.ErrOverflow},
	{"anthropic", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, llm.ErrOverflow},
	{"anthropic", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"Extra usage is required for long context requests."}}`, llm.ErrOverflow},
	{"anthropic on vertex", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Prompt is too long"}}`, llm.ErrOverflow},
	{"bedrock", 400, `{"message":"Input is too long for requested model."}`, llm.ErrOverflow},
	{"openai", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 150021 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, llm.ErrOverflow},
	{"openai responses", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, llm.ErrOverflow},
	{"openai responses, in a stream", 0, `{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}`, llm.ErrOverflow},
	{"openai, more than a minute's tokens", 429, `{"error":{"message":"Request too large for gpt-4o in organization org-abc on tokens per min (TPM): Limit 30000, Requested 40321. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, llm.ErrOverflow},
	{"gemini", 400, `{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}`, llm.ErrOverflow},
	{"gemini", 400, `{"error":{"code":400,"message":"Request payload size exceeds the limit: 20971520 bytes.","status":"INVALID_ARGUMENT"}}`, llm.ErrOverflow},
	{"deepseek", 400, `{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 70211 tokens (66115 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, llm.ErrOverflow},
	{"mistral", 400, `{"object":"error","message":"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","param":null,"code":"3051"}`, llm.ErrOverflow},
	{"groq", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, llm.ErrOverflow},
	{"groq", 413, "{\"error\":{\"message\":\"Request too large for model `llama-3.3-70b-versatile` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", llm.ErrOverflow},
	{"xai", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}`, llm.ErrOverflow},
	{"together", 422, "{\"id\":\"n1\",\"error\":{\"message\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`\",\"type\":\"invalid_request_error\",\"param\":\"max_tokens\",\"code\":null}}", llm.ErrOverflow},
	{"openrouter", 400, `{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 230000 tokens (229000 of text input, 1000 in the output). Please reduce the length of either one.","code":400,"metadata":{"provider_name":null}}}`, llm.ErrOverflow},
	{"openrouter, quoting its upstream", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`, llm.ErrOverflow},
	{"ollama", 400, `{"error":"prompt too long; exceeded max context length by 1223 tokens"}`, llm.ErrOverflow},
	{"ollama", 500, `{"error":"the input length exceeds the context length"}`, llm.ErrOverflow},
	{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5121,"n_ctx":4096}}`, llm.ErrOverflow},
	{"llama.cpp, newer", 400, `{"error":{"code":400,"message":"request (5121 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error"}}`, llm.ErrOverflow},
	{"vllm", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}`, llm.ErrOverflow},
	{"vllm, newer", 400, `{"error":{"message":"The decoder prompt (length 5021) is longer than the maximum model length of 4096. Make sure that max_model_len is no smaller than the number of text tokens.","type":"BadRequestError","param":null,"code":400}}`, llm.ErrOverflow},
	{"lm studio", 400, `{"error":"Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}`, llm.ErrOverflow},
	{"lm studio, newer", 400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input"}`, llm.ErrOverflow},
	{"copilot", 400, `{"error":{"message":"prompt token count of 135355 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, llm.ErrOverflow},
	{"moonshot", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072","type":"invalid_request_error"}}`, llm.ErrOverflow},
	{"cohere", 400, `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000."}`, llm.ErrOverflow},
	{"minimax", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"invalid params, context window exceeds limit (2013)"}}`, llm.ErrOverflow},
	{"a proxy without a body", 413, "", llm.ErrOverflow},
	{"nginx", 413, "<html><head><title>413 Request Entity Too Large</title></head></html>", llm.ErrOverflow},

	// Authentication and permission.
	{"anthropic", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, llm.ErrAuth},
	{"openai", 401, `{"error":{"message":"Incorrect API key provided: sk-proj-****abcd. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, llm.ErrAuth},
	{"gemini", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com","metadata":{"service":"generativelanguage.googleapis.com"}}]}}`, llm.ErrAuth},
	{"xai", 400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***yz. You can obtain an API key from https://console.x.ai."}`, llm.ErrAuth},
	{"openrouter", 401, `{"error":{"message":"No auth credentials found","code":401}}`, llm.ErrAuth},
	{"mistral", 401, `{"message":"Unauthorized","request_id":"0a1b"}`, llm.ErrAuth},
	{"fastapi", 401, `{"detail":"Unauthorized"}`, llm.ErrAuth},
	{"anthropic", 403, `{"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource."}}`, llm.ErrPermission},
	{"openai", 403, `{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}`, llm.ErrPermission},
	{"gemini", 403, `{"error":{"code":403,"message":"Permission denied: Consumer 'api_key' has been suspended.","status":"PERMISSION_DENIED"}}`, llm.ErrPermission},
	{"gemini", 400, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, llm.ErrPermission},
	{"gemini, a key that others know", 403, `{"error":{"code":403,"message":"Your API key was reported as leaked. Please use another API key.","status":"PERMISSION_DENIED"}}`, llm.ErrPermission},

	// Not found.
	{"anthropic", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-3-opus-20990101"}}`, llm.ErrNotFound},
	{"openai", 404, "{\"error\":{\"message\":\"The model `gpt-9` does not exist or you do not have access to it.\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"model_not_found\"}}", llm.ErrNotFound},
	{"gemini", 404, `{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}`, llm.ErrNotFound},
	{"openrouter", 400, `{"error":{"message":"foo/bar is not a valid model ID","code":400}}`, llm.ErrNotFound},
	{"ollama", 404, `{"error":"model 'llama9' not found, try pulling it first"}`, llm.ErrNotFound},
	{"deepseek", 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, llm.ErrNotFound},
	{"azure", 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, llm.ErrNotFound},
	{"a wrong path", 404, "404 page not found", llm.ErrNotFound},

	// Rate limits.
	{"anthropic", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 30,000 input tokens per minute (org: 1234, model: claude-sonnet-4-5)."}}`, llm.ErrRateLimit},
	{"openai", 429, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-abc on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, llm.ErrRateLimit},
	{"openai, in a stream", 0, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, llm.ErrRateLimit},
	{"openai responses, event", 0, `{"type":"error","code":"rate_limit_exceeded","message":"Slow down","param":null,"sequence_number":3}`, llm.ErrRateLimit},
	{"gemini, per minute", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_input_token_count, limit: 250000, model: gemini-2.5-pro\nPlease retry in 17.4s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_input_token_count","quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier","quotaDimensions":{"model":"gemini-2.5-pro"},"quotaValue":"250000"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}`, llm.ErrRateLimit},
	{"gemini", 429, `[{"error":{"code":429,"message":"Resource exhausted. Please try again later.","errors":[{"message":"Resource exhausted.","domain":"global","reason":"rateLimitExceeded"}],"status":"RESOURCE_EXHAUSTED"}}]`, llm.ErrRateLimit},
	{"mistral", 429, `{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","param":null,"code":"3505"}`, llm.ErrOverloaded},
	{"mistral", 429, `{"message":"Requests rate limit exceeded"}`, llm.ErrRateLimit},
	{"groq", 429, "{\"error\":{\"message\":\"Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_01` on tokens per minute (TPM): Limit 6000, Used 5500, Requested 1200. Please try again in 7.66s.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", llm.ErrRateLimit},
	{"bedrock", 429, `{"message":"Too many tokens, please wait before trying again."}`, llm.ErrRateLimit},
	{"openrouter", 429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"x/y:free is temporarily rate-limited upstream. Please retry shortly.","provider_name":"Chutes"}}}`, llm.ErrRateLimit},
	{"openrouter, in a stream", 0, `{"id":"gen-1","error":{"code":429,"message":"Rate limited"},"choices":[]}`, llm.ErrRateLimit},
	{"a proxy", 429, "Too Many Requests", llm.ErrRateLimit},

	// Overload.
	{"anthropic", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrOverloaded},
	{"anthropic, in a stream", 0, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrOverloaded},
	{"anthropic behind a proxy", 503, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrOverloaded},
	{"openai", 503, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error","param":null,"code":null}}`, llm.ErrOverloaded},
	{"openai", 503, `{"error":{"message":"Slow down","type":"server_error","code":"slow_down"}}`, llm.ErrOverloaded},
	{"gemini", 503, `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`, llm.ErrOverloaded},
	{"gemini, in a stream", 0, `{"error":{"code":503,"message":"This model is currently experiencing high demand.","status":"UNAVAILABLE"}}`, llm.ErrOverloaded},
	{"moonshot", 429, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}`, llm.ErrOverloaded},
	{"groq, flex", 498, `{"error":{"message":"Flex tier capacity exceeded","type":"capacity_exceeded"}}`, llm.ErrOverloaded},
	{"llama.cpp", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, llm.ErrOverloaded},

	// Quota.
	{"openai", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, llm.ErrQuota},
	{"openai", 400, `{"error":{"message":"Billing hard limit has been reached","type":"invalid_request_error","param":null,"code":"billing_hard_limit_reached"}}`, llm.ErrQuota},
	{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}`, llm.ErrQuota},
	{"anthropic", 402, `{"type":"error","error":{"type":"billing_error","message":"There is an issue with your billing."}}`, llm.ErrQuota},
	{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-01-01 at 00:00 UTC."}}`, llm.ErrQuota},
	{"deepseek", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, llm.ErrQuota},
	{"openrouter", 402, `{"error":{"message":"Insufficient credits. Add more using https://openrouter.ai/settings/credits","code":402}}`, llm.ErrQuota},
	{"openrouter", 429, `{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","code":429}}`, llm.ErrQuota},
	{"openrouter", 403, `{"error":{"message":"Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys","code":403}}`, llm.ErrQuota},
	{"xai", 403, `{"code":"The caller does not have permission to execute the specified operation","error":"Your newly created teams doesn't have any credits yet. You can purchase those on https://console.x.ai/team/1."}`, llm.ErrQuota},
	{"xai", 429, `{"code":"Some resource has been exhausted","error":"Your team 1 has either used all available credits or reached its monthly spending limit."}`, llm.ErrQuota},
	{"moonshot", 429, `{"error":{"message":"Your account is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}`, llm.ErrQuota},
	{"gemini, per day", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests","quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"20"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36s"}]}}`, llm.ErrQuota},
	{"gemini, not in the plan", 429, `{"error":{"code":429,"message":"You exceeded your current quota.\n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0, model: gemini-3-pro\nPlease retry in 40s.","status":"RESOURCE_EXHAUSTED"}}`, llm.ErrQuota},
	{"an openai-like vendor", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details."}}`, llm.ErrQuota},

	// Filters.
	{"azure", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":true,"severity":"high"}}}}}`, llm.ErrFilter},
	{"openai", 400, `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}`, llm.ErrFilter},
	{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, llm.ErrFilter},
	{"deepseek", 400, `{"error":{"message":"Content Exists Risk","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, llm.ErrFilter},
	{"alibaba", 400, `{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content.","type":"data_inspection_failed"}}`, llm.ErrFilter},
	{"openrouter", 403, `{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"...","provider_name":"OpenAI"}}}`, llm.ErrFilter},
	{"xai", 403, `{"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}`, llm.ErrFilter},

	// Bad requests.
	{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: text content blocks must be non-empty"}}`, llm.ErrBadRequest},
	{"anthropic, in a stream", 0, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`, llm.ErrBadRequest},
	{"openai", 400, `{"error":{"message":"Invalid value for 'temperature'.","type":"invalid_request_error","param":"temperature","code":"invalid_value"}}`, llm.ErrBadRequest},
	{"gemini", 400, `{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"foo\": Cannot find field.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"x"}]}]}}`, llm.ErrBadRequest},
	{"mistral", 422, `{"object":"error","message":{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required","input":{}}]},"type":"invalid_request_error","param":null,"code":null}`, llm.ErrBadRequest},
	{"fastapi", 422, `{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required"},{"loc":["body"],"msg":"Extra inputs are not permitted"}]}`, llm.ErrBadRequest},
	{"no body", 400, "", llm.ErrBadRequest},
	{"a redirect nobody follows", 304, "", llm.ErrBadRequest},

	// Timeouts.
	{"a proxy", 408, "", llm.ErrTimeout},
	{"nginx", 504, "<html><body>504 Gateway Time-out</body></html>", llm.ErrTimeout},
	{"cloudflare", 524, "error code: 524", llm.ErrTimeout},
	{"gemini", 504, `{"error":{"code":504,"message":"Deadline expired before operation could complete.","status":"DEADLINE_EXCEEDED"}}`, llm.ErrTimeout},
	{"anthropic, in a stream", 0, `{"type":"error","error":{"type":"timeout_error","message":"Request timed out"}}`, llm.ErrTimeout},

	// Wordings that are in no table.
	{"a proxy", 400, `{"error":{"message":"litellm.ContextWindowExceededError: the request is beyond the model"}}`, llm.ErrOverflow},
	{"another", 422, `{"detail":"Number of input tokens exceeds maximum length"}`, llm.ErrOverflow},
	{"another", 400, `{"error":{"message":"Input Tokens Exceeded: the context of 8192 is exceeded by 17"}}`, llm.ErrOverflow},
	{"another, in a stream", 0, `{"error":{"message":"context window exceeded"}}`, llm.ErrOverflow},
	{"another, at fault itself", 500, `{"error":{"message":"deadline of the request context exceeded"}}`, llm.ErrServer},
	{"a gateway written in Go", 0, `{"error":{"message":"Post \"http://up/v1\": context deadline exceeded"}}`, llm.ErrTimeout},
	{"not about the context", 400, `{"error":{"message":"tool_choice is not supported in this context"}}`, llm.ErrBadRequest},
	{"about the output", 400, `{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000."}}`, llm.ErrBadRequest},

	{"openrouter, about the output", 0, `{"error":{"code":400,"message":"Token limit reached"}}`, llm.ErrBadRequest},
	{"about the output", 400, `{"error":{"message":"max_completion_tokens exceeds the limit of this model"}}`, llm.ErrBadRequest},

	// The model's own stumbles.
	{"groq", 400, `{"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=x"}}`, llm.ErrServer},
	{"groq, in a stream", 0, `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"x","status_code":400}}`, llm.ErrServer},

	// Errors of the server.
	{"anthropic", 500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, llm.ErrServer},
	{"anthropic, in a stream", 0, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, llm.ErrServer},
	{"openai", 500, `{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}`, llm.ErrServer},
	{"openai, in a stream", 0, `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`, llm.ErrServer},
	{"gemini", 500, `{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`, llm.ErrServer},
	{"a server with the wrong class", 500, `{"error":{"message":"Jinja Exception","type":"invalid_request_error"}}`, llm.ErrServer},
	{"cloudflare", 502, "<html>Bad gateway</html>", llm.ErrServer},
	{"cloudflare", 520, "", llm.ErrServer},
	{"a plain 503", 503, "Service Unavailable", llm.ErrServer},
	{"a conflict", 409, `{"error":{"message":"conflict"}}`, llm.ErrServer},
	{"an error of no known shape, in a stream", 0, `{"error":{"message":"boom"}}`, llm.ErrServer},
	{"text in a stream", 0, `{"error":"boom"}`, llm.ErrServer},
	{"nothing in a stream", 0, "", llm.ErrServer},
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tt := range errorBodies {
		e := Classify(tt.status, http.Header{}, []byte(tt.body))
		if e.Kind != tt.want {
			t.Errorf("%s, %d, %s:\ngot  %s\nwant %s", tt.vendor, tt.status, tt.body, e.Kind, tt.want)
		}
		if e.Message == "" || strings.Contains(e.Message, "<html") {
			t.Errorf("%s, %d, %s: the message is %q", tt.vendor, tt.status, tt.body, e.Message)
		}
	}
}

func TestFault(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body string
		want Fault
	}{
		{`{"type":"error","error":{"type":"a","message":"m"},"request_id":"req_1"}`, Fault{Type: "a", Message: "m", RequestID: "req_1"}},
		{`{"error":{"code":503,"status":"UNAVAILABLE","message":"m"}}`, Fault{Status: 503, Code: "UNAVAILABLE", Message: "m"}},
		{`{"error":"m"}`, Fault{Message: "m"}},
		{`{"detail":[{"msg":"a"},{"msg":"b"}]}`, Fault{Message: "a; b"}},
		{`{"object":"error","message":{"detail":[{"loc":["body","tools",0],"msg":"Extra inputs"}]}}`, Fault{Message: "body.tools.0: Extra inputs"}},
		{`{"code":"c","error":"m"}`, Fault{Code: "c", Message: "m"}},
		{`{"error":{"message":"{\"error\":{\"code\":429,\"status\":\"S\",\"message\":\"inner\"}}","code":429,"status":"Too Many Requests"}}`, Fault{Status: 429, Code: "S", Message: "inner"}},
		{`{"error":{"message":null,"code":null,"type":null}}`, Fault{}},
		{`{"error":{"message":"m","innererror":"odd","metadata":7,"details":"odd"}}`, Fault{Message: "m"}},
		{`{"errors":[{"message":"m","code":1000}]}`, Fault{Message: "m", Code: "1000"}},
		{`[]`, Fault{Message: "[]"}},
		{`{"cut`, Fault{Message: `{"cut`}},
		{"<html>", Fault{}},
		{" ", Fault{}},
	} {
		if got := ParseFault([]byte(tt.body)); got != tt.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", tt.body, got, tt.want)
		}
	}
}

func TestClassifyKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	h := http.Header{"Request-Id": {"req_h"}}
	e := Classify(529, h, []byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_b"}`))
	if e.Status != 529 || e.RequestID != "req_h" || e.Message != "Overloaded" {
		t.Errorf("got %+v", e)
	}
	e = Classify(0, nil, []byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_b"}`))
	if e.Status != 0 || e.RequestID != "req_b" {
		t.Errorf("in a stream: got %+v", e)
	}
	e = Classify(500, nil, []byte(strings.Repeat("é", 5000)))
	if len(e.Message) > maxMessage+10 {
		t.Errorf("a long message has %d bytes", len(e.Message))
	}
	e = Classify(400, nil, []byte(`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"the news\"}}"}}}`))
	if !strings.Contains(e.Message, "the news") {
		t.Errorf("OpenRouter: got %q", e.Message)
	}
}
