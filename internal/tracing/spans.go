// From documents to spans.

package tracing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/cadre-dev/cadre/internal/store"
)

// span is one that has ended. Times are Unix milliseconds.
type span struct {
	identity
	parent     trace.SpanID // zero: the root of its trace
	name       string
	kind       trace.SpanKind
	start, end int64
	failure    string // a word for the error, empty: none
	attributes []attribute.KeyValue
}

// emit gathers a span, once.
func (t *Tracer) emit(s span) {
	if !t.first(s.span) {
		return
	}
	ctx := withIdentity(context.Background(), s.identity)
	if s.parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: s.trace, SpanID: s.parent, TraceFlags: t.flags(s.trace),
		}))
	}
	if s.start == 0 { // it is not known when it began: a call that a crash has lost
		s.start = s.end
	}
	_, x := t.tracer.Start(ctx, s.name, trace.WithTimestamp(time.UnixMilli(s.start)), trace.WithSpanKind(s.kind), trace.WithAttributes(s.attributes...))
	if s.failure != "" {
		x.SetAttributes(semconv.ErrorTypeKey.String(s.failure))
		x.SetStatus(codes.Error, s.failure)
	}
	x.End(trace.WithTimestamp(time.UnixMilli(max(s.start, s.end))))
}

// flags tells what the sampler thinks of a whole trace. The root ends last, so
// it is asked as if the root began; a span that never ends is never sent.
func (t *Tracer) flags(id trace.TraceID) trace.TraceFlags {
	_, root := t.tracer.Start(withIdentity(context.Background(), identity{id, trace.SpanID(id[8:])}), "invoke_agent")
	return root.SpanContext().TraceFlags()
}

// change makes the spans of what a change has ended.
func (t *Tracer) change(ctx context.Context, c *store.Change) error {
	t.reached(c)
	for _, d := range c.Docs {
		var err error
		switch doc := d.Data.(type) {
		case store.ModelCall:
			err = t.modelCall(ctx, c.Chat, doc)
		case store.ToolCall:
			// A document is read as it is now: the change that ended the call is
			// the one of that time.
			if doc.EndedAt != 0 && doc.EndedAt == c.At {
				err = t.toolCall(ctx, c.Chat, doc)
			}
		case store.Agent:
			t.remember(&doc)
			switch {
			case doc.Depth > 0 && doc.EndedAt != 0 && doc.EndedAt == c.At:
				err = t.subAgent(ctx, doc)
			case doc.Depth == 0 && doc.Status == "idle" && doc.Live == 0 && doc.UpdatedAt == c.At && c.Type != "created":
				err = t.atRest(ctx, doc)
			}
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) { // a chat may have been deleted meanwhile
			return fmt.Errorf("tracing %s %s: %w", d.Collection, d.ID, err)
		}
	}
	return nil
}

// place is where in a trace something of an agent belongs.
type place struct {
	agent  *store.Agent
	trace  trace.TraceID
	parent trace.SpanID
}

// place finds the place of what an agent did at a position of its history.
func (t *Tracer) place(ctx context.Context, chat, agent string, pos int, end int64) (place, error) {
	a, err := t.agent(ctx, agent)
	if err != nil {
		return place{}, err
	}
	if a.Depth > 0 {
		return place{a, traceOf(chat, a.Cause), spanOf(agent)}, nil
	}
	cause, err := t.causeAt(ctx, chat, pos)
	if err != nil {
		return place{}, err
	}
	t.works(a, cause, end)
	return place{a, traceOf(chat, cause.id), rootOf(chat, cause.id)}, nil
}

func (t *Tracer) modelCall(ctx context.Context, chat string, c store.ModelCall) error {
	p, err := t.place(ctx, chat, c.Agent, c.From, c.EndedAt)
	if err != nil {
		return err
	}
	provider, model := vendor(c.Model, p.agent.Model)
	s := span{
		identity: identity{p.trace, spanOf(c.ID)}, parent: p.parent, name: "chat " + model, kind: trace.SpanKindClient,
		start: c.StartedAt, end: c.EndedAt, failure: c.ErrorKind,
		attributes: append(about(p.agent),
			semconv.GenAIOperationNameChat, semconv.GenAIProviderNameKey.String(provider), semconv.GenAIRequestModel(model),
			semconv.GenAIUsageInputTokens(int(c.Prompt())), semconv.GenAIUsageOutputTokens(int(c.Output)),
			semconv.GenAIUsageCacheReadInputTokens(int(c.CacheRead)), semconv.GenAIUsageCacheCreationInputTokens(int(c.CacheWrite)),
			attribute.String("cadre.model_call.id", c.ID), attribute.String("cadre.model_call.status", c.Status)),
	}
	if c.Answered != "" {
		by, _, _ := strings.Cut(c.Answered, ":/") // of a script: not the name of its file
		s.attributes = append(s.attributes, semconv.GenAIResponseModel(by))
	}
	if c.WaitedMS > 0 {
		s.attributes = append(s.attributes, attribute.Float64("cadre.model_call.wait_seconds", float64(c.WaitedMS)/1000))
	}
	if c.Stop != "" {
		s.attributes = append(s.attributes, semconv.GenAIResponseFinishReasons(c.Stop))
	}
	if c.FirstAt > c.StartedAt && c.StartedAt > 0 {
		s.attributes = append(s.attributes, semconv.GenAIResponseTimeToFirstChunk(float64(c.FirstAt-c.StartedAt)/1000))
	}
	if c.Priced {
		s.attributes = append(s.attributes, attribute.Float64("cadre.cost_usd", float64(c.Cost)/1e6))
	}
	if s.failure == "" && (c.Status == "failed" || c.Status == "lost") {
		s.failure = c.Status
	}
	if t.content {
		said, err := t.reply(ctx, c)
		if err != nil {
			return err
		}
		s.attributes = append(s.attributes, said...)
	}
	t.emit(s)
	return nil
}

func (t *Tracer) toolCall(ctx context.Context, chat string, c store.ToolCall) error {
	p, err := t.place(ctx, chat, c.Agent, c.Pos, c.EndedAt)
	if err != nil {
		return err
	}
	s := span{
		identity: identity{p.trace, spanOf(c.ID)}, parent: p.parent, name: "execute_tool " + c.Name, kind: trace.SpanKindInternal,
		start: c.StartedAt, end: c.EndedAt,
		attributes: append(about(p.agent),
			semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(c.Name), semconv.GenAIToolType("function"),
			semconv.GenAIToolCallID(c.CallID), attribute.String("cadre.tool_call.id", c.ID)),
	}
	if s.start == 0 {
		s.start = c.CreatedAt // it was answered without being run
	}
	if c.Status == "failed" {
		s.failure = "tool_error"
	}
	if t.content {
		s.attributes = append(s.attributes,
			semconv.GenAIToolCallArgumentsKey.String(cut(string(c.Args))), semconv.GenAIToolCallResultKey.String(cut(c.Result+c.Error)))
	}
	t.emit(s)
	return nil
}

// subAgent makes the span of a sub-agent that has ended, below the call that
// asked for it.
func (t *Tracer) subAgent(ctx context.Context, a store.Agent) error {
	task, err := t.cfg.Store.Task(ctx, a.ID)
	if err != nil {
		return err
	}
	s := span{
		identity: identity{traceOf(a.ChatID, a.Cause), spanOf(a.ID)}, parent: spanOf(store.ToolCallID(task.Agent, task.Turn, task.Call)),
		name: "invoke_agent " + a.Name, kind: trace.SpanKindInternal, start: a.CreatedAt, end: a.EndedAt,
		attributes: append(about(&a), invoked(&a)...),
	}
	s.attributes = append(s.attributes, attribute.String("cadre.outcome", task.Reason),
		attribute.Int("cadre.turns", a.Turns), attribute.Int64("cadre.tokens", a.Tokens))
	if !a.Unpriced {
		s.attributes = append(s.attributes, attribute.Float64("cadre.cost_usd", float64(a.Cost)/1e6))
	}
	switch task.Reason {
	case "completed", "cancelled", "superseded": // the latter two are what somebody wanted
	case "failed":
		s.failure = task.ErrorKind
	default:
		s.failure = task.Reason
	}
	if t.content {
		s.attributes = append(s.attributes, inputText(task.Instruction), outputText(task.Result+task.Error))
	}
	t.emit(s)
	return nil
}

// root makes the span of an orchestrator's work on a user message.
func (t *Tracer) root(a *store.Agent, c cause, end int64, failure string) {
	s := span{
		identity: identity{traceOf(a.ChatID, c.id), rootOf(a.ChatID, c.id)}, name: "invoke_agent " + a.Name, kind: trace.SpanKindInternal,
		start: c.at, end: end, failure: failure, attributes: append(about(a), invoked(a)...),
	}
	s.attributes = append(s.attributes, attribute.String("cadre.message.id", c.id))
	if t.content {
		s.attributes = append(s.attributes, inputText(c.text))
	}
	t.emit(s)
}

// about says which agent a span is about.
func about(a *store.Agent) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.GenAIConversationID(a.ChatID), semconv.GenAIAgentID(a.ID), semconv.GenAIAgentName(a.Name),
		attribute.String("cadre.agent.path", a.Path), attribute.String("cadre.agent.role", a.Role),
	}
}

func invoked(a *store.Agent) []attribute.KeyValue {
	provider, model := vendor(a.Model, "")
	return []attribute.KeyValue{
		semconv.GenAIOperationNameInvokeAgent, semconv.GenAIProviderNameKey.String(provider), semconv.GenAIRequestModel(model),
		attribute.Int("cadre.agent.depth", a.Depth),
	}
}

// vendor splits the name of a model into the words that the conventions have
// for its provider, and the model's own. A call beside the turns names the
// model alone: then its provider is that of the agent's model, if it is that.
func vendor(ref, agents string) (provider, model string) {
	if strings.HasPrefix(ref, "scripted:") {
		return "scripted", "scripted"
	}
	provider, model, ok := strings.Cut(ref, "/")
	if !ok {
		model = ref
		if provider, ok = strings.CutSuffix(agents, "/"+ref); !ok {
			return ref, ref
		}
	}
	switch provider {
	case "gemini", "google":
		provider = "gcp.gemini"
	case "vertexai", "vertex":
		provider = "gcp.vertex_ai"
	case "azure":
		provider = "azure.ai.openai"
	case "bedrock":
		provider = "aws.bedrock"
	case "mistral":
		provider = "mistral_ai"
	case "xai":
		provider = "x_ai"
	}
	return provider, model
}
