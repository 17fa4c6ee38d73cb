// Google's SDK, Gemini.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/genai"
)

func readGemini(ctx context.Context, url string, stream bool) (*golden, error) {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: "oracle", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	g := &golden{}
	reason := genai.FinishReason("")
	take := func(r *genai.GenerateContentResponse) error {
		if r.ModelVersion != "" {
			g.Model = r.ModelVersion
		}
		if u := r.UsageMetadata; u != nil {
			g.Usage = usage{
				Input:     int64(u.PromptTokenCount + u.ToolUsePromptTokenCount - u.CachedContentTokenCount),
				Output:    int64(u.CandidatesTokenCount + u.ThoughtsTokenCount),
				CacheRead: int64(u.CachedContentTokenCount), Reasoning: int64(u.ThoughtsTokenCount),
			}
		}
		for _, c := range r.Candidates {
			if c.FinishReason != "" {
				reason = c.FinishReason
			}
			if c.Content == nil {
				continue
			}
			for _, p := range c.Content.Parts {
				if err := g.takePart(p); err != nil {
					return err
				}
			}
		}
		return nil
	}
	contents := genai.Text("x")
	if stream {
		for r, err := range client.Models.GenerateContentStream(ctx, "m-1", contents, nil) {
			if err != nil {
				return nil, fmt.Errorf("streaming: %w", err)
			}
			if err := take(r); err != nil {
				return nil, err
			}
		}
	} else {
		r, err := client.Models.GenerateContent(ctx, "m-1", contents, nil)
		if err != nil {
			return nil, fmt.Errorf("calling: %w", err)
		}
		if err := take(r); err != nil {
			return nil, err
		}
	}
	g.Stop = geminiStop(reason, len(g.Calls) > 0)
	if g.Stop == "" {
		return nil, errors.New("there is no finish reason")
	}
	return g, nil
}

func (g *golden) takePart(p *genai.Part) error {
	switch {
	case p.FunctionCall != nil:
		input, err := json.Marshal(p.FunctionCall.Args)
		if err != nil {
			return fmt.Errorf("encoding the input of a call: %w", err)
		}
		if p.FunctionCall.Args == nil {
			input = nil
		}
		g.Calls = append(g.Calls, call{p.FunctionCall.ID, p.FunctionCall.Name, input})
	case p.Thought:
		g.Thinking += p.Text
	default:
		g.Text += p.Text
	}
	return nil
}

func geminiStop(reason genai.FinishReason, calls bool) string {
	switch reason {
	case "":
		return ""
	case genai.FinishReasonStop:
		if calls {
			return "tools"
		}
		return "end"
	case genai.FinishReasonMaxTokens:
		return "length"
	}
	return "filter"
}
