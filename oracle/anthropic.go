// Anthropic's SDK, Messages.

package main

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func readAnthropic(ctx context.Context, url string, stream bool) (*golden, error) {
	client := anthropic.NewClient(option.WithBaseURL(url), option.WithAPIKey("sk-oracle"), option.WithMaxRetries(0))
	params := anthropic.MessageNewParams{
		Model: "m-1", MaxTokens: 1000, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("x"))},
	}
	if !stream {
		m, err := client.Messages.New(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("calling: %w", err)
		}
		return anthropicGolden(m)
	}
	s := client.Messages.NewStreaming(ctx, params)
	var m anthropic.Message
	for s.Next() {
		if err := m.Accumulate(s.Current()); err != nil {
			return nil, fmt.Errorf("adding an event: %w", err)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("streaming: %w", err)
	}
	return anthropicGolden(&m)
}

func anthropicGolden(m *anthropic.Message) (*golden, error) {
	g := &golden{
		Model: string(m.Model),
		Usage: usage{
			Input: m.Usage.InputTokens, Output: m.Usage.OutputTokens, CacheRead: m.Usage.CacheReadInputTokens,
			CacheWrite: m.Usage.CacheCreationInputTokens, Reasoning: m.Usage.OutputTokensDetails.ThinkingTokens,
		},
	}
	for _, block := range m.Content {
		switch b := block.AsAny().(type) {
		case anthropic.TextBlock:
			g.Text += b.Text
		case anthropic.ThinkingBlock:
			g.Thinking += b.Thinking
		case anthropic.ToolUseBlock:
			g.Calls = append(g.Calls, call{b.ID, b.Name, b.Input})
		}
	}
	switch m.StopReason {
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence:
		g.Stop = "end"
	case anthropic.StopReasonToolUse:
		g.Stop = "tools"
	case anthropic.StopReasonMaxTokens:
		g.Stop = "length"
	case anthropic.StopReasonRefusal:
		g.Stop = "refusal"
	default:
		return nil, fmt.Errorf("the stop reason is %q", m.StopReason)
	}
	return g, nil
}
