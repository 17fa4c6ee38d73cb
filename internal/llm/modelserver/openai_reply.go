// Replies, streams and errors in the format of OpenAI's Chat Completions API.

package modelserver

import (
	"encoding/json"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// created is the time every reply claims: a script has no clock.
const created = 1_700_000_000

type openaiReply struct {
	ID          string       `json:"id"`
	Object      string       `json:"object"`
	Created     int64        `json:"created"`
	Model       string       `json:"model"`
	Choices     []choice     `json:"choices"`
	Usage       *openaiUsage `json:"usage"`
	ServiceTier string       `json:"service_tier"`
}

type choice struct {
	Index        int         `json:"index"`
	Message      saidMessage `json:"message"`
	Logprobs     *struct{}   `json:"logprobs"`
	FinishReason string      `json:"finish_reason"`
}

type saidMessage struct {
	Role        string      `json:"role"`
	Content     *string     `json:"content"`
	Reasoning   string      `json:"reasoning_content,omitempty"`
	ToolCalls   []madeCall  `json:"tool_calls,omitempty"`
	Refusal     *string     `json:"refusal"`
	Annotations []*struct{} `json:"annotations"`
}

type madeCall struct {
	Index    *int     `json:"index,omitempty"` // in streams only
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type openaiUsage struct {
	Prompt        int64 `json:"prompt_tokens"`
	Completion    int64 `json:"completion_tokens"`
	Total         int64 `json:"total_tokens"`
	PromptDetails struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
		Audio      int64 `json:"audio_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
		Audio     int64 `json:"audio_tokens"`
		Accepted  int64 `json:"accepted_prediction_tokens"`
		Rejected  int64 `json:"rejected_prediction_tokens"`
	} `json:"completion_tokens_details"`
}

func openaiUsageOf(u message.Usage) *openaiUsage {
	out := &openaiUsage{Prompt: u.Prompt(), Completion: u.Output, Total: u.Total()}
	out.PromptDetails.Cached, out.PromptDetails.CacheWrite = u.CacheRead, u.CacheWrite
	out.CompletionDetails.Reasoning = u.Reasoning
	return out
}

// finishReason names why a reply ended. A refusal has no reason of its own:
// it is told by the field it stands in.
func finishReason(s llm.Stop) string {
	switch s {
	case llm.StopTools:
		return "tool_calls"
	case llm.StopLength:
		return "length"
	case llm.StopFilter:
		return "content_filter"
	case llm.StopEnd, llm.StopRefusal:
		return "stop"
	}
	return "stop"
}

func (openai) encode(_ *call, r *llm.Reply, id string) any {
	m := saidMessage{Role: "assistant", Annotations: []*struct{}{}}
	for _, p := range r.Parts {
		switch p := p.(type) {
		case message.TextPart:
			m.Content = &p.Text
		case message.ThinkingPart:
			m.Reasoning = p.Text
		case message.ToolCall:
			m.ToolCalls = append(m.ToolCalls, madeCall{
				ID: p.ID, Type: "function", Function: function{p.Name, string(p.Input)},
			})
		case message.ImagePart, message.ToolResult: // no model says these
		}
	}
	switch {
	case r.Stop == llm.StopRefusal:
		m.Content, m.Refusal = nil, m.Content
		if m.Refusal == nil {
			m.Refusal = new(string)
		}
	case m.Content == nil && len(m.ToolCalls) == 0:
		m.Content = new(string)
	}
	return openaiReply{
		ID: "chatcmpl-" + id, Object: "chat.completion", Created: created, Model: r.Model,
		Choices: []choice{{Message: m, FinishReason: finishReason(r.Stop)}},
		Usage:   openaiUsageOf(r.Usage), ServiceTier: "default",
	}
}

// openaiStream writes a reply as the vendor's chunks.
type openaiStream struct {
	out   *events
	call  *call
	reply *llm.Reply
	id    string
	calls int // tool calls begun
}

func (openai) stream(out *events, c *call, r *llm.Reply, id string) stream {
	return &openaiStream{out: out, call: c, reply: r, id: id}
}

type (
	chunk struct {
		ID          string          `json:"id"`
		Object      string          `json:"object"`
		Created     int64           `json:"created"`
		Model       string          `json:"model"`
		ServiceTier string          `json:"service_tier"`
		Choices     []chunkChoice   `json:"choices"`
		Usage       json.RawMessage `json:"usage,omitempty"`
	}
	chunkChoice struct {
		Index        int       `json:"index"`
		Delta        any       `json:"delta"`
		Logprobs     *struct{} `json:"logprobs"`
		FinishReason *string   `json:"finish_reason"`
	}
	firstDelta struct {
		Role    string  `json:"role"`
		Content *string `json:"content"`
		Refusal *string `json:"refusal"`
	}
	contentDelta struct {
		Content string `json:"content"`
	}
	refusalDelta struct {
		Refusal string `json:"refusal"`
	}
	reasoningDelta struct {
		Reasoning string `json:"reasoning_content"`
	}
	callsDelta struct {
		ToolCalls []madeCall `json:"tool_calls"`
	}
)

// send writes one chunk. Where usage is asked for, every chunk but the last
// says that it has none.
func (s *openaiStream) send(choices []chunkChoice, usage json.RawMessage) {
	if usage == nil && s.call.includeUsage {
		usage = json.RawMessage("null")
	}
	s.out.data(chunk{
		ID: "chatcmpl-" + s.id, Object: "chat.completion.chunk", Created: created,
		Model: s.reply.Model, ServiceTier: "default", Choices: choices, Usage: usage,
	})
}

func (s *openaiStream) sendDelta(delta any) { s.send([]chunkChoice{{Delta: delta}}, nil) }

func (s *openaiStream) start() {
	first := firstDelta{Role: "assistant"}
	if s.reply.Stop != llm.StopRefusal && !onlyCalls(s.reply.Parts) {
		first.Content = new(string)
	}
	s.sendDelta(first)
}

func onlyCalls(parts []message.Part) bool {
	for _, p := range parts {
		if _, ok := p.(message.ToolCall); !ok {
			return false
		}
	}
	return len(parts) > 0
}

func (s *openaiStream) delta(d llm.Delta) {
	switch d.Kind {
	case llm.DeltaText:
		if s.reply.Stop == llm.StopRefusal {
			s.sendDelta(refusalDelta{d.Text})
			return
		}
		s.sendDelta(contentDelta{d.Text})
	case llm.DeltaThinking:
		s.sendDelta(reasoningDelta{d.Text})
	case llm.DeltaCall:
		if d.Name != "" { // a call begins with its name alone
			s.calls++
			c, _ := s.reply.Parts[d.Part].(message.ToolCall)
			s.sendCall(madeCall{ID: c.ID, Type: "function", Function: function{Name: d.Name}})
		}
		s.sendCall(madeCall{Function: function{Arguments: d.Text}})
	}
}

func (s *openaiStream) sendCall(c madeCall) {
	index := s.calls - 1
	c.Index = &index
	s.sendDelta(callsDelta{[]madeCall{c}})
}

func (s *openaiStream) finish() {
	reason := finishReason(s.reply.Stop)
	s.send([]chunkChoice{{Delta: struct{}{}, FinishReason: &reason}}, nil)
	if s.call.includeUsage {
		s.send([]chunkChoice{}, marshal(openaiUsageOf(s.reply.Usage)))
	}
	s.out.raw("[DONE]")
}

func (s *openaiStream) fail(e *llm.Error) { s.out.data(openai{}.failure(e, "")) }

type openaiFailure struct {
	Error openaiError `json:"error"`
}

type openaiError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// failure gives the vendor's error: its code says more than its type.
func (openai) failure(e *llm.Error, _ string) any {
	out := openaiError{Message: e.Message, Type: "invalid_request_error"}
	code := ""
	switch e.Kind {
	case llm.ErrAuth:
		code = "invalid_api_key"
	case llm.ErrPermission:
		code = "unsupported_country_region_territory"
	case llm.ErrNotFound:
		code = "model_not_found"
	case llm.ErrRateLimit:
		out.Type, code = "requests", "rate_limit_exceeded"
	case llm.ErrQuota:
		out.Type, code = "insufficient_quota", "insufficient_quota"
	case llm.ErrOverflow:
		code = "context_length_exceeded"
		param := "messages"
		out.Param = &param
	case llm.ErrFilter:
		code = "content_policy_violation"
	case llm.ErrOverloaded, llm.ErrServer, llm.ErrTimeout, llm.ErrNetwork:
		out.Type = "server_error"
	case llm.ErrBadRequest:
	}
	if code != "" {
		out.Code = &code
	}
	return openaiFailure{out}
}

func (openai) models(names []string) any {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list"}
	for _, n := range names {
		list.Data = append(list.Data, model{n, "model", created, "scripted"})
	}
	return list
}
