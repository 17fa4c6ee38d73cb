// Replies, streams and errors in the format of Anthropic's Messages API.

package modelserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

type anthropicReply struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	Role         string         `json:"role"`
	Model        string         `json:"model"`
	Content      []any          `json:"content"`
	StopReason   *string        `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	Usage        anthropicUsage `json:"usage"`
}

type anthropicUsage struct {
	Input      int64 `json:"input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	Output     int64 `json:"output_tokens"`
	Details    struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

type anthropicText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type anthropicThinking struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type anthropicToolUse struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// signature stands in for the vendor's: made from the text, so that a block
// that comes back changed is noticed.
func signature(thinking string) string {
	sum := sha256.Sum256([]byte("scripted thinking: " + thinking))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func usageOf(u message.Usage) anthropicUsage {
	out := anthropicUsage{Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output}
	out.Details.Thinking = u.Reasoning
	return out
}

// stopReason names why a reply ended. The vendor has no word of its own for
// its filter: it counts as a refusal.
func stopReason(s llm.Stop) string {
	switch s {
	case llm.StopTools:
		return "tool_use"
	case llm.StopLength:
		return "max_tokens"
	case llm.StopRefusal, llm.StopFilter:
		return "refusal"
	case llm.StopEnd:
		return "end_turn"
	}
	return "end_turn"
}

func (anthropic) encode(_ *call, r *llm.Reply, id string) any {
	stop := stopReason(r.Stop)
	out := anthropicReply{
		ID: "msg_" + id, Type: "message", Role: "assistant", Model: r.Model,
		Content: []any{}, StopReason: &stop, Usage: usageOf(r.Usage),
	}
	for _, p := range r.Parts {
		switch p := p.(type) {
		case message.TextPart:
			out.Content = append(out.Content, anthropicText{"text", p.Text})
		case message.ThinkingPart:
			out.Content = append(out.Content, anthropicThinking{"thinking", p.Text, signature(p.Text)})
		case message.ToolCall:
			out.Content = append(out.Content, anthropicToolUse{"tool_use", p.ID, p.Name, p.Input})
		case message.ImagePart, message.ToolResult: // no model says these
		}
	}
	return out
}

// anthropicStream writes a reply as the vendor's events.
type anthropicStream struct {
	out   *events
	reply *llm.Reply
	id    string
	open  int // the block that is open, -1 for none
}

func (anthropic) stream(out *events, _ *call, r *llm.Reply, id string) stream {
	return &anthropicStream{out: out, reply: r, id: id, open: -1}
}

type (
	typed struct {
		Type string `json:"type"`
	}
	messageStart struct {
		Type    string         `json:"type"`
		Message anthropicReply `json:"message"`
	}
	blockStart struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Block any    `json:"content_block"`
	}
	blockDelta struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Delta any    `json:"delta"`
	}
	blockStop struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	thinkingDelta struct {
		Type     string `json:"type"`
		Thinking string `json:"thinking"`
	}
	signatureDelta struct {
		Type      string `json:"type"`
		Signature string `json:"signature"`
	}
	inputDelta struct {
		Type        string `json:"type"`
		PartialJSON string `json:"partial_json"`
	}
	messageDelta struct {
		Type  string         `json:"type"`
		Delta stopDelta      `json:"delta"`
		Usage anthropicUsage `json:"usage"`
	}
	stopDelta struct {
		StopReason   string  `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	}
)

func (s *anthropicStream) start() {
	usage := usageOf(s.reply.Usage)
	usage.Output, usage.Details.Thinking = 1, 0 // so far; the real counts come at the end
	s.out.named("message_start", messageStart{"message_start", anthropicReply{
		ID: "msg_" + s.id, Type: "message", Role: "assistant", Model: s.reply.Model,
		Content: []any{}, Usage: usage,
	}})
	s.out.named("ping", typed{"ping"})
}

func (s *anthropicStream) delta(d llm.Delta) {
	if s.open != d.Part {
		s.closeBlock()
		s.openBlock(d.Part)
	}
	var piece any
	switch d.Kind {
	case llm.DeltaText:
		piece = anthropicText{"text_delta", d.Text}
	case llm.DeltaThinking:
		piece = thinkingDelta{"thinking_delta", d.Text}
	case llm.DeltaCall:
		piece = inputDelta{"input_json_delta", d.Text}
	}
	s.out.named("content_block_delta", blockDelta{"content_block_delta", d.Part, piece})
}

func (s *anthropicStream) openBlock(part int) {
	var block any
	switch p := s.reply.Parts[part].(type) {
	case message.ThinkingPart:
		block = anthropicThinking{Type: "thinking"}
	case message.ToolCall:
		block = anthropicToolUse{"tool_use", p.ID, p.Name, json.RawMessage("{}")}
	case message.TextPart, message.ImagePart, message.ToolResult: // only text occurs
		block = anthropicText{Type: "text"}
	}
	s.open = part
	s.out.named("content_block_start", blockStart{"content_block_start", part, block})
}

func (s *anthropicStream) closeBlock() {
	if s.open < 0 {
		return
	}
	if p, ok := s.reply.Parts[s.open].(message.ThinkingPart); ok {
		s.out.named("content_block_delta", blockDelta{
			"content_block_delta", s.open, signatureDelta{"signature_delta", signature(p.Text)},
		})
	}
	s.out.named("content_block_stop", blockStop{"content_block_stop", s.open})
	s.open = -1
}

func (s *anthropicStream) finish() {
	s.closeBlock()
	s.out.named("message_delta", messageDelta{
		"message_delta", stopDelta{StopReason: stopReason(s.reply.Stop)}, usageOf(s.reply.Usage),
	})
	s.out.named("message_stop", typed{"message_stop"})
}

func (s *anthropicStream) fail(e *llm.Error) {
	s.out.named("error", anthropic{}.failure(e, "req_"+s.id))
}

type anthropicFailure struct {
	Type      string `json:"type"`
	Error     any    `json:"error"`
	RequestID string `json:"request_id"`
}

type anthropicError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

func (anthropic) failure(e *llm.Error, requestID string) any {
	return anthropicFailure{"error", anthropicError{anthropicErrorType(e), e.Message}, requestID}
}

func anthropicErrorType(e *llm.Error) string {
	if e.Status == http.StatusRequestEntityTooLarge {
		return "request_too_large"
	}
	switch e.Kind {
	case llm.ErrAuth:
		return "authentication_error"
	case llm.ErrPermission:
		return "permission_error"
	case llm.ErrNotFound:
		return "not_found_error"
	case llm.ErrRateLimit:
		return "rate_limit_error"
	case llm.ErrOverloaded:
		return "overloaded_error"
	case llm.ErrQuota:
		return "billing_error"
	case llm.ErrTimeout:
		return "timeout_error"
	case llm.ErrOverflow, llm.ErrBadRequest, llm.ErrFilter:
		return "invalid_request_error"
	case llm.ErrServer, llm.ErrNetwork:
		return "api_error"
	}
	return "api_error"
}

func (anthropic) models(names []string) any {
	type model struct {
		Type        string `json:"type"`
		ID          string `json:"id"`
		DisplayName string `json:"display_name"`
		CreatedAt   string `json:"created_at"`
	}
	list := struct {
		Data    []model `json:"data"`
		HasMore bool    `json:"has_more"`
		FirstID string  `json:"first_id"`
		LastID  string  `json:"last_id"`
	}{FirstID: names[0], LastID: names[len(names)-1]}
	for _, n := range names {
		list.Data = append(list.Data, model{"model", n, n, "2023-11-14T22:13:20Z"})
	}
	return list
}
