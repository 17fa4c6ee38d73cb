// A tracer that is late reads messages that came after what it is told.

package tracing

import (
	"context"
	"slices"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/cadre-dev/cadre/internal/store"
)

// history is a store that has these messages of one orchestrator.
type history struct {
	Source
	messages []store.Message
}

func (s history) ListMessages(_ context.Context, q store.OfAgent) (out []store.Message, _ *store.Cursor, _ error) {
	for _, m := range slices.Backward(s.messages) {
		if int64(m.Pos) < q.After.Key {
			out = append(out, m)
		}
	}
	return out, nil, nil
}

// TestLate: the work that a change ends is that on a message of before it, and
// a chat that is only made has done none.
func TestLate(t *testing.T) {
	t.Parallel()
	message := func(pos int, kind string, at int64) store.Message {
		return store.Message{ID: store.MessageID("k", pos), Agent: "k", Pos: pos, Kind: kind, CreatedAt: at, Parts: []byte(`[]`)}
	}
	all := []store.Message{message(0, "user", 1), message(1, "reply", 5), message(2, "user", 5), message(3, "reply", 9)}
	tracer := &Tracer{cfg: Config{Store: history{messages: all}}, memory: newMemory()}
	tracer.tracer = sdk.NewTracerProvider(sdk.WithIDGenerator(givenIDs{}), sdk.WithSpanProcessor(gathering{tracer})).Tracer("")
	tell := func(kind string, at int64, status string, told ...store.Message) []trace.SpanID {
		t.Helper()
		tracer.spans = nil
		c := store.Change{Type: kind, At: at, Chat: "k", Agent: "k", Docs: []store.Document{{
			Data: store.Agent{ID: "k", ChatID: "k", CreatedAt: 1, Head: store.Head{Status: status, UpdatedAt: at}},
		}}}
		for _, m := range told {
			c.Docs = append(c.Docs, store.Document{Data: m})
		}
		if err := tracer.change(t.Context(), &c); err != nil {
			t.Fatal(err)
		}
		var out []trace.SpanID
		for _, s := range tracer.spans {
			out = append(out, s.SpanContext().SpanID())
		}
		return out
	}
	for i, step := range []struct {
		got  []trace.SpanID
		want []trace.SpanID
	}{
		{tell("created", 1, "idle"), nil},
		{tell("user_message", 1, "thinking", all[0]), nil},
		{tell("model_replied", 5, "idle", all[1]), []trace.SpanID{rootOf("k", all[0].ID)}},
		{tell("user_message", 5, "thinking", all[2]), nil},
		{tell("model_replied", 9, "idle", all[3]), []trace.SpanID{rootOf("k", all[2].ID)}},
	} {
		if !slices.Equal(step.got, step.want) {
			t.Errorf("change %d made the spans %v, want %v", i+1, step.got, step.want)
		}
	}
}
