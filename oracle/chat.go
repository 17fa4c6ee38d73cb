// OpenAI's SDK, Chat Completions.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/respjson"
)

// chatSkips are fixtures of other vendors that OpenAI's SDK does not read as
// their makers mean them.
var chatSkips = map[string]string{
	"mistral_thinking.sse": "content is a list, which is not OpenAI's format",
	"xai_tools.sse":        "reasoning tokens are counted apart, which the SDK does not know",
}

func openaiClient(url string) openai.Client {
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("sk-oracle"), option.WithMaxRetries(0))
}

func readChat(ctx context.Context, url string, stream bool) (*golden, error) {
	client := openaiClient(url)
	params := openai.ChatCompletionNewParams{Model: "m-1", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("x")}}
	if !stream {
		c, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("calling: %w", err)
		}
		if len(c.Choices) == 0 {
			return nil, errors.New("there is no choice")
		}
		return chatGolden(c, reasoningOf(c.Choices[0].Message.JSON.ExtraFields))
	}
	s := client.Chat.Completions.NewStreaming(ctx, params)
	var acc openai.ChatCompletionAccumulator
	var tokens openai.CompletionUsage // the accumulator leaves out what was written to the cache
	var thinking string
	for s.Next() {
		chunk := s.Current()
		if !acc.AddChunk(chunk) {
			return nil, fmt.Errorf("the SDK does not add the chunk %s", chunk.RawJSON())
		}
		if chunk.JSON.Usage.Valid() {
			tokens = chunk.Usage
		}
		if len(chunk.Choices) > 0 {
			thinking += reasoningOf(chunk.Choices[0].Delta.JSON.ExtraFields)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("streaming: %w", err)
	}
	acc.Usage = tokens
	return chatGolden(&acc.ChatCompletion, thinking)
}

// reasoningOf reads the fields that OpenAI's own servers do not send.
func reasoningOf(extra map[string]respjson.Field) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var s string
		if f, ok := extra[name]; ok && json.Unmarshal([]byte(f.Raw()), &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

func chatGolden(c *openai.ChatCompletion, thinking string) (*golden, error) {
	if len(c.Choices) == 0 {
		return nil, errors.New("there is no choice")
	}
	choice := c.Choices[0]
	cached, written := c.Usage.PromptTokensDetails.CachedTokens, c.Usage.PromptTokensDetails.CacheWriteTokens
	g := &golden{
		Model: c.Model, Text: choice.Message.Content + choice.Message.Refusal, Thinking: thinking,
		Usage: usage{
			Input: c.Usage.PromptTokens - cached - written, Output: c.Usage.CompletionTokens,
			CacheRead: cached, CacheWrite: written, Reasoning: c.Usage.CompletionTokensDetails.ReasoningTokens,
		},
	}
	for _, t := range choice.Message.ToolCalls {
		g.Calls = append(g.Calls, call{t.ID, t.Function.Name, json.RawMessage(t.Function.Arguments)})
	}
	switch reason := choice.FinishReason; {
	case reason == "tool_calls":
		g.Stop = "tools"
	case reason == "stop" && choice.Message.Refusal != "":
		g.Stop = "refusal"
	case reason == "stop":
		g.Stop = "end"
	case reason == "length":
		g.Stop = "length"
	case reason == "content_filter":
		g.Stop = "filter"
	default:
		return nil, fmt.Errorf("the finish reason is %q", reason)
	}
	return g, nil
}
