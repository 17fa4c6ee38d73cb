// Replies, streams and errors in the format of OpenAI's Responses API.

package modelserver

import (
	"fmt"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

type response struct {
	ID          string           `json:"id"`
	Object      string           `json:"object"`
	CreatedAt   int64            `json:"created_at"`
	Status      string           `json:"status"`
	Error       *responseError   `json:"error"`
	Incomplete  *incompleteWhy   `json:"incomplete_details"`
	Model       string           `json:"model"`
	Output      []any            `json:"output"`
	Parallel    bool             `json:"parallel_tool_calls"`
	Store       bool             `json:"store"`
	ToolChoice  string           `json:"tool_choice"`
	Tools       []any            `json:"tools"`
	Usage       *responsesUsage  `json:"usage"`
	Metadata    struct{}         `json:"metadata"`
	ServiceTier string           `json:"service_tier"`
	Reasoning   responsesThought `json:"reasoning"`
}

type (
	responseError struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	incompleteWhy struct {
		Reason string `json:"reason"`
	}
	responsesThought struct {
		Effort  *string `json:"effort"`
		Summary *string `json:"summary"`
	}
	responsesUsage struct {
		Input        int64 `json:"input_tokens"`
		InputDetails struct {
			Cached  int64 `json:"cached_tokens"`
			Written int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		Output        int64 `json:"output_tokens"`
		OutputDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
		Total int64 `json:"total_tokens"`
	}
	reasoningItem struct {
		ID        string        `json:"id"`
		Type      string        `json:"type"`
		Summary   []summaryText `json:"summary"`
		Encrypted string        `json:"encrypted_content,omitempty"`
	}
	summaryText struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	messageItem struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Status  string `json:"status"`
		Role    string `json:"role"`
		Content []any  `json:"content"`
	}
	outputText struct {
		Type        string      `json:"type"`
		Annotations []*struct{} `json:"annotations"`
		Logprobs    []*struct{} `json:"logprobs"`
		Text        string      `json:"text"`
	}
	outputRefusal struct {
		Type    string `json:"type"`
		Refusal string `json:"refusal"`
	}
	callItem struct {
		ID        string `json:"id"`
		Type      string `json:"type"`
		Status    string `json:"status"`
		Arguments string `json:"arguments"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
	}
)

func responsesUsageOf(u message.Usage) *responsesUsage {
	out := &responsesUsage{Input: u.Prompt(), Output: u.Output, Total: u.Total()}
	out.InputDetails.Cached, out.InputDetails.Written = u.CacheRead, u.CacheWrite
	out.OutputDetails.Reasoning = u.Reasoning
	return out
}

// responsesWriter writes one reply: whole, or its items one by one.
type responsesWriter struct {
	call  *call
	reply *llm.Reply
	id    string
}

// begun is the response before anything is said.
func (w *responsesWriter) begun() response {
	return response{
		ID: "resp_" + w.id, Object: "response", CreatedAt: created, Status: "in_progress", Model: w.reply.Model,
		Output: []any{}, Parallel: true, ToolChoice: "auto", Tools: []any{}, ServiceTier: "default",
	}
}

// ended is the response with all that was said.
func (w *responsesWriter) ended() response {
	r := w.begun()
	r.Status = "completed"
	switch w.reply.Stop {
	case llm.StopLength:
		r.Status, r.Incomplete = "incomplete", &incompleteWhy{"max_output_tokens"}
	case llm.StopFilter:
		r.Status, r.Incomplete = "incomplete", &incompleteWhy{"content_filter"}
	case llm.StopEnd, llm.StopTools, llm.StopRefusal:
	}
	for i := range w.reply.Parts {
		r.Output = append(r.Output, w.item(i, r.Status))
	}
	r.Usage = responsesUsageOf(w.reply.Usage)
	return r
}

func (w *responsesWriter) itemID(part int) string {
	prefix := "msg"
	switch w.reply.Parts[part].(type) {
	case message.ThinkingPart:
		prefix = "rs"
	case message.ToolCall:
		prefix = "fc"
	case message.TextPart, message.ImagePart, message.ToolResult:
	}
	return fmt.Sprintf("%s_%s_%d", prefix, w.id, part)
}

// item is the part with that number as an output item. One in progress has no
// content yet.
func (w *responsesWriter) item(part int, status string) any {
	id := w.itemID(part)
	whole := status != "in_progress"
	switch p := w.reply.Parts[part].(type) {
	case message.ThinkingPart:
		it := reasoningItem{ID: id, Type: "reasoning", Summary: []summaryText{}}
		if whole && w.call.thoughts {
			it.Summary = append(it.Summary, summaryText{"summary_text", p.Text})
		}
		if whole && w.call.encrypted {
			it.Encrypted = sealed(p.Text)
		}
		return it
	case message.ToolCall:
		it := callItem{ID: id, Type: "function_call", Status: status, CallID: p.ID, Name: p.Name}
		if whole {
			it.Arguments = string(p.Input)
		}
		return it
	case message.TextPart:
		it := messageItem{ID: id, Type: "message", Status: status, Role: "assistant", Content: []any{}}
		if whole {
			it.Content = append(it.Content, w.content(p.Text))
		}
		return it
	case message.ImagePart, message.ToolResult: // no model says these
	}
	return nil
}

// content is a text, or a refusal, which stands in a part of its own kind.
func (w *responsesWriter) content(text string) any {
	if w.reply.Stop == llm.StopRefusal {
		return outputRefusal{"refusal", text}
	}
	return outputText{"output_text", []*struct{}{}, []*struct{}{}, text}
}

func (responses) encode(c *call, r *llm.Reply, id string) any {
	w := responsesWriter{c, r, id}
	return w.ended()
}

// responsesStream writes a reply as the vendor's events.
type responsesStream struct {
	responsesWriter
	out    *events
	number int // of the next event
	open   int // the item that is open, -1 for none
}

func (responses) stream(out *events, c *call, r *llm.Reply, id string) stream {
	return &responsesStream{responsesWriter: responsesWriter{c, r, id}, out: out, open: -1}
}

// responsesEvent holds the fields of every event; each uses some of them.
type responsesEvent struct {
	Type         string    `json:"type"`
	Response     *response `json:"response,omitempty"`
	ItemID       string    `json:"item_id,omitempty"`
	OutputIndex  *int      `json:"output_index,omitempty"`
	ContentIndex *int      `json:"content_index,omitempty"`
	SummaryIndex *int      `json:"summary_index,omitempty"`
	Item         any       `json:"item,omitempty"`
	Part         any       `json:"part,omitempty"`
	Delta        *string   `json:"delta,omitempty"`
	Text         *string   `json:"text,omitempty"`
	Refusal      *string   `json:"refusal,omitempty"`
	Arguments    *string   `json:"arguments,omitempty"`
	Sequence     int       `json:"sequence_number"`
}

func (s *responsesStream) send(kind string, e responsesEvent) {
	e.Type, e.Sequence = kind, s.number
	s.number++
	s.out.named(kind, e)
}

func (s *responsesStream) sendResponse(kind string, r response) {
	s.send(kind, responsesEvent{Response: &r})
}

func (s *responsesStream) start() {
	s.sendResponse("response.created", s.begun())
	s.sendResponse("response.in_progress", s.begun())
}

// event is an event of a piece of the open item.
func (s *responsesStream) event() responsesEvent {
	part, zero := s.open, 0
	e := responsesEvent{ItemID: s.itemID(part), OutputIndex: &part}
	switch s.reply.Parts[part].(type) {
	case message.ThinkingPart:
		e.SummaryIndex = &zero
	case message.TextPart:
		e.ContentIndex = &zero
	case message.ToolCall, message.ImagePart, message.ToolResult:
	}
	return e
}

func (s *responsesStream) delta(d llm.Delta) {
	if s.open != d.Part {
		s.closeItem()
		s.openItem(d.Part)
	}
	e := s.event()
	e.Delta = &d.Text
	switch d.Kind {
	case llm.DeltaText:
		s.send("response."+s.textKind()+".delta", e)
	case llm.DeltaThinking:
		if s.call.thoughts {
			s.send("response.reasoning_summary_text.delta", e)
		}
	case llm.DeltaCall:
		s.send("response.function_call_arguments.delta", e)
	}
}

func (s *responsesStream) textKind() string {
	if s.reply.Stop == llm.StopRefusal {
		return "refusal"
	}
	return "output_text"
}

func (s *responsesStream) openItem(part int) {
	s.open = part
	s.send("response.output_item.added", responsesEvent{OutputIndex: &part, Item: s.item(part, "in_progress")})
	e := s.event()
	switch s.reply.Parts[part].(type) {
	case message.TextPart:
		e.Part = s.content("")
		s.send("response.content_part.added", e)
	case message.ThinkingPart:
		if s.call.thoughts {
			e.Part = summaryText{Type: "summary_text"}
			s.send("response.reasoning_summary_part.added", e)
		}
	case message.ToolCall, message.ImagePart, message.ToolResult:
	}
}

func (s *responsesStream) closeItem() {
	if s.open < 0 {
		return
	}
	e := s.event()
	switch p := s.reply.Parts[s.open].(type) {
	case message.TextPart:
		done := e
		if s.textKind() == "refusal" {
			done.Refusal = &p.Text
		} else {
			done.Text = &p.Text
		}
		s.send("response."+s.textKind()+".done", done)
		e.Part = s.content(p.Text)
		s.send("response.content_part.done", e)
	case message.ThinkingPart:
		if s.call.thoughts {
			done := e
			done.Text = &p.Text
			s.send("response.reasoning_summary_text.done", done)
			e.Part = summaryText{"summary_text", p.Text}
			s.send("response.reasoning_summary_part.done", e)
		}
	case message.ToolCall:
		arguments := string(p.Input)
		e.Arguments = &arguments
		s.send("response.function_call_arguments.done", e)
	case message.ImagePart, message.ToolResult: // no model says these
	}
	part := s.open
	s.send("response.output_item.done", responsesEvent{OutputIndex: &part, Item: s.item(part, "completed")})
	s.open = -1
}

func (s *responsesStream) finish() {
	s.closeItem()
	r := s.ended()
	s.sendResponse("response."+r.Status, r)
}

// fail ends a stream with an error that the response carries.
func (s *responsesStream) fail(e *llm.Error) {
	r := s.begun()
	r.Status, r.Error = "failed", &responseError{responsesCode(e), e.Message}
	s.sendResponse("response.failed", r)
}

// responsesCode names an error inside a stream, where there is no status.
func responsesCode(e *llm.Error) string {
	switch e.Kind {
	case llm.ErrRateLimit:
		return "rate_limit_exceeded"
	case llm.ErrOverloaded:
		return "server_is_overloaded"
	case llm.ErrOverflow:
		return "context_length_exceeded"
	case llm.ErrQuota:
		return "insufficient_quota"
	case llm.ErrFilter:
		return "invalid_prompt"
	case llm.ErrAuth, llm.ErrPermission, llm.ErrNotFound, llm.ErrBadRequest, llm.ErrNetwork, llm.ErrTimeout, llm.ErrServer:
	}
	return "server_error"
}
