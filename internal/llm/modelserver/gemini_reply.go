// Replies, streams and errors in the format of Google's generateContent API.

package modelserver

import (
	"encoding/json"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

type (
	geminiReply struct {
		Candidates   []geminiCandidate `json:"candidates"`
		Usage        *geminiUsage      `json:"usageMetadata,omitempty"`
		ModelVersion string            `json:"modelVersion"`
		ResponseID   string            `json:"responseId"`
	}
	geminiCandidate struct {
		Content      geminiSaid `json:"content"`
		FinishReason string     `json:"finishReason,omitempty"`
		Index        int        `json:"index"`
	}
	geminiSaid struct {
		Parts []any  `json:"parts,omitempty"`
		Role  string `json:"role"`
	}
	geminiUsage struct {
		Prompt     int64 `json:"promptTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Total      int64 `json:"totalTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount,omitempty"`
		Thoughts   int64 `json:"thoughtsTokenCount,omitempty"`
	}
	geminiText struct {
		Text      string `json:"text"`
		Thought   bool   `json:"thought,omitempty"`
		Signature string `json:"thoughtSignature,omitempty"`
	}
	geminiCall struct {
		Call struct {
			ID   string          `json:"id,omitempty"`
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"functionCall"`
		Signature string `json:"thoughtSignature,omitempty"`
	}
)

// geminiUsageOf counts as the vendor does: cached tokens among those of the
// prompt, thoughts apart from those of the answer.
func geminiUsageOf(u message.Usage) *geminiUsage {
	return &geminiUsage{
		Prompt: u.Prompt(), Candidates: max(u.Output-u.Reasoning, 0), Total: u.Total(),
		Cached: u.CacheRead, Thoughts: u.Reasoning,
	}
}

// finishReasonOf names why a reply ended. The vendor has no word for refusals
// of the model: they read as any other reply.
func finishReasonOf(s llm.Stop) string {
	switch s {
	case llm.StopLength:
		return "MAX_TOKENS"
	case llm.StopFilter:
		return "SAFETY"
	case llm.StopEnd, llm.StopTools, llm.StopRefusal:
	}
	return "STOP"
}

// callSignature stands in for the vendor's signature of a call: made from the
// call, so that one that comes back changed is noticed.
func callSignature(name string, args json.RawMessage) string {
	var canonical any
	if json.Unmarshal(args, &canonical) != nil || canonical == nil {
		canonical = map[string]any{}
	}
	return signature(name + string(marshal(canonical)))
}

// geminiPartOf is a part of a reply on the wire, nil for a thought that was not
// asked for. The first call of a reply is signed.
func geminiPartOf(c *call, parts []message.Part, i int) any {
	switch p := parts[i].(type) {
	case message.TextPart:
		return geminiText{Text: p.Text}
	case message.ThinkingPart:
		if c.thoughts {
			return geminiText{Text: p.Text, Thought: true}
		}
	case message.ToolCall:
		out := geminiCall{}
		out.Call.ID, out.Call.Name, out.Call.Args = p.ID, p.Name, p.Input
		if i == 0 || !isCall(parts[i-1]) {
			out.Signature = callSignature(p.Name, p.Input)
		}
		return out
	case message.ImagePart, message.ToolResult: // no model says these
	}
	return nil
}

func isCall(p message.Part) bool {
	_, ok := p.(message.ToolCall)
	return ok
}

func (d gemini) chunk(r *llm.Reply, id, finish string, parts ...any) geminiReply {
	out := geminiReply{ModelVersion: r.Model, ResponseID: "resp-" + id, Usage: geminiUsageOf(r.Usage)}
	if finish == "" { // so far; the real counts come at the end
		out.Usage = &geminiUsage{Prompt: r.Usage.Prompt(), Cached: r.Usage.CacheRead, Total: r.Usage.Prompt()}
	}
	out.Candidates = []geminiCandidate{{Content: geminiSaid{parts, "model"}, FinishReason: finish}}
	return out
}

func (d gemini) encode(c *call, r *llm.Reply, id string) any {
	var parts []any
	for i := range r.Parts {
		if p := geminiPartOf(c, r.Parts, i); p != nil {
			parts = append(parts, p)
		}
	}
	whole := d.chunk(r, id, finishReasonOf(r.Stop), parts...)
	if d.streamed { // without events: an array of chunks, of which one will do
		return []geminiReply{whole}
	}
	return whole
}

// geminiStream writes a reply as the vendor's chunks.
type geminiStream struct {
	gemini
	out   *events
	call  *call
	reply *llm.Reply
	id    string
}

func (d gemini) stream(out *events, c *call, r *llm.Reply, id string) stream {
	return &geminiStream{gemini: d, out: out, call: c, reply: r, id: id}
}

// start writes nothing: the first chunk has the first piece.
func (s *geminiStream) start() {}

// delta writes a piece. A call comes whole, with its first delta.
func (s *geminiStream) delta(d llm.Delta) {
	var part any
	switch d.Kind {
	case llm.DeltaText:
		part = geminiText{Text: d.Text}
	case llm.DeltaThinking:
		if !s.call.thoughts {
			return
		}
		part = geminiText{Text: d.Text, Thought: true}
	case llm.DeltaCall:
		if d.Name == "" {
			return
		}
		part = geminiPartOf(s.call, s.reply.Parts, d.Part)
	}
	s.out.data(s.chunk(s.reply, s.id, "", part))
}

func (s *geminiStream) finish() {
	s.out.data(s.chunk(s.reply, s.id, finishReasonOf(s.reply.Stop), geminiText{}))
}

func (s *geminiStream) fail(e *llm.Error) { s.out.data(s.failure(e, "")) }

type (
	geminiFailure struct {
		Error geminiError `json:"error"`
	}
	geminiError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Status  string `json:"status"`
		Details []any  `json:"details,omitempty"`
	}
	geminiDetail struct {
		Type       string `json:"@type"`
		Reason     string `json:"reason,omitempty"`
		Domain     string `json:"domain,omitempty"`
		RetryDelay string `json:"retryDelay,omitempty"`
	}
	geminiQuota struct {
		Type       string            `json:"@type"`
		Violations []geminiViolation `json:"violations"`
	}
	geminiViolation struct {
		ID string `json:"quotaId"`
	}
)

func (gemini) failure(e *llm.Error, _ string) any {
	out := geminiError{Code: e.Status, Message: e.Message}
	switch e.Kind {
	case llm.ErrAuth: // which the vendor takes for a bad request
		out.Status = "INVALID_ARGUMENT"
		out.Details = append(out.Details, geminiDetail{
			Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: "API_KEY_INVALID", Domain: "googleapis.com",
		})
	case llm.ErrPermission:
		out.Status = "PERMISSION_DENIED"
	case llm.ErrNotFound:
		out.Status = "NOT_FOUND"
	case llm.ErrRateLimit:
		out.Status = "RESOURCE_EXHAUSTED"
		if e.RetryAfter > 0 {
			out.Details = append(out.Details, geminiDetail{Type: "type.googleapis.com/google.rpc.RetryInfo", RetryDelay: e.RetryAfter.String()})
		}
	case llm.ErrQuota:
		out.Status = "RESOURCE_EXHAUSTED"
		out.Details = append(out.Details, geminiQuota{
			"type.googleapis.com/google.rpc.QuotaFailure",
			[]geminiViolation{{"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}},
		})
	case llm.ErrOverloaded:
		out.Status = "UNAVAILABLE"
	case llm.ErrTimeout:
		out.Status = "DEADLINE_EXCEEDED"
	case llm.ErrOverflow, llm.ErrBadRequest, llm.ErrFilter:
		out.Status = "INVALID_ARGUMENT"
	case llm.ErrServer, llm.ErrNetwork:
		out.Status = "INTERNAL"
	}
	return geminiFailure{out}
}

func (gemini) models(names []string) any {
	type model struct {
		Name        string   `json:"name"`
		DisplayName string   `json:"displayName"`
		Methods     []string `json:"supportedGenerationMethods"`
	}
	list := struct {
		Models []model `json:"models"`
	}{}
	for _, n := range names {
		list.Models = append(list.Models, model{"models/" + n, n, []string{"generateContent", "countTokens"}})
	}
	return list
}
