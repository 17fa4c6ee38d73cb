// The ids of spans and traces, which follow from what they stand for.

package tracing

import (
	"context"
	"crypto/sha256"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// traceOf is the trace of all work that a user message led to.
func traceOf(chat, cause string) (id trace.TraceID) {
	sum := sha256.Sum256([]byte("trace\x00" + chat + "\x00" + cause))
	copy(id[:], sum[:])
	return id
}

// spanOf is the span of a document with a unique id: an agent, a model call, a
// tool call.
func spanOf(id string) (s trace.SpanID) {
	sum := sha256.Sum256([]byte("span\x00" + id))
	copy(s[:], sum[:])
	return s
}

// rootOf is the span of an orchestrator's work on a user message.
func rootOf(chat, cause string) trace.SpanID { return spanOf(chat + "\x00" + cause) }

// identity is who a span is.
type identity struct {
	trace trace.TraceID
	span  trace.SpanID
}

type identityKey struct{}

func withIdentity(ctx context.Context, id identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// givenIDs hands the SDK the ids that the context carries.
type givenIDs struct{}

var _ sdk.IDGenerator = givenIDs{}

// NewIDs implements sdk.IDGenerator.
func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, _ := ctx.Value(identityKey{}).(identity)
	return id.trace, id.span
}

// NewSpanID implements sdk.IDGenerator.
func (givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	id, _ := ctx.Value(identityKey{}).(identity)
	return id.span
}

// gathering keeps the spans that the sampler wants until they are sent.
type gathering struct{ t *Tracer }

var _ sdk.SpanProcessor = gathering{}

// OnStart implements sdk.SpanProcessor.
func (gathering) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd implements sdk.SpanProcessor.
func (g gathering) OnEnd(s sdk.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		g.t.spans = append(g.t.spans, s)
	}
}

// Shutdown implements sdk.SpanProcessor.
func (gathering) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdk.SpanProcessor.
func (gathering) ForceFlush(context.Context) error { return nil }
