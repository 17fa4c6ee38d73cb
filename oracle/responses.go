// OpenAI's SDK, Responses.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

func readResponses(ctx context.Context, url string, stream bool) (*golden, error) {
	client := openaiClient(url)
	params := responses.ResponseNewParams{Model: "m-1", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("x")}}
	if !stream {
		r, err := client.Responses.New(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("calling: %w", err)
		}
		return responseGolden(r)
	}
	var pieces golden // put together from the deltas alone
	var last *golden
	byItem := map[string]int{}
	s := client.Responses.NewStreaming(ctx, params)
	for s.Next() {
		switch ev := s.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			pieces.Text += ev.Delta
		case responses.ResponseRefusalDeltaEvent:
			pieces.Text += ev.Delta
		case responses.ResponseReasoningSummaryTextDeltaEvent:
			pieces.Thinking += ev.Delta
		case responses.ResponseOutputItemAddedEvent:
			if ev.Item.Type == "function_call" {
				c := ev.Item.AsFunctionCall()
				byItem[c.ID] = len(pieces.Calls)
				pieces.Calls = append(pieces.Calls, call{ID: c.CallID, Name: c.Name})
			}
		case responses.ResponseFunctionCallArgumentsDeltaEvent:
			c := &pieces.Calls[byItem[ev.ItemID]]
			c.Input = append(c.Input, ev.Delta...)
		case responses.ResponseCompletedEvent:
			g, err := responseGolden(&ev.Response)
			if err != nil {
				return nil, err
			}
			last = g
		case responses.ResponseIncompleteEvent:
			g, err := responseGolden(&ev.Response)
			if err != nil {
				return nil, err
			}
			last = g
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("streaming: %w", err)
	}
	if last == nil {
		return nil, errors.New("the stream has no last event")
	}
	pieces.Model, pieces.Stop, pieces.Usage = last.Model, last.Stop, last.Usage
	if !reflect.DeepEqual(pieces, *last) {
		return nil, fmt.Errorf("the deltas give %+v, the last event %+v", pieces, *last)
	}
	return last, nil
}

func responseGolden(r *responses.Response) (*golden, error) {
	cached, written := r.Usage.InputTokensDetails.CachedTokens, r.Usage.InputTokensDetails.CacheWriteTokens
	g := &golden{
		Model: r.Model,
		Usage: usage{
			Input: r.Usage.InputTokens - cached - written, Output: r.Usage.OutputTokens,
			CacheRead: cached, CacheWrite: written, Reasoning: r.Usage.OutputTokensDetails.ReasoningTokens,
		},
	}
	g.Stop = "end"
	for _, item := range r.Output {
		switch it := item.AsAny().(type) {
		case responses.ResponseOutputMessage:
			for _, c := range it.Content {
				g.Text += c.Text + c.Refusal
				if c.Type == "refusal" {
					g.Stop = "refusal"
				}
			}
		case responses.ResponseReasoningItem:
			for _, s := range it.Summary {
				g.Thinking += s.Text
			}
		case responses.ResponseFunctionToolCall:
			var input json.RawMessage
			if it.Arguments != "" {
				input = json.RawMessage(it.Arguments)
			}
			g.Calls = append(g.Calls, call{it.CallID, it.Name, input})
			g.Stop = "tools"
		default:
			return nil, fmt.Errorf("an item of type %T", it)
		}
	}
	switch {
	case r.Status == "completed":
	case r.Status == "incomplete" && r.IncompleteDetails.Reason == "max_output_tokens":
		g.Stop = "length"
	case r.Status == "incomplete" && r.IncompleteDetails.Reason == "content_filter":
		g.Stop = "filter"
	default:
		return nil, fmt.Errorf("the status is %q", r.Status)
	}
	return g, nil
}
