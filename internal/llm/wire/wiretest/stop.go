// Calls that are stopped while the reply is on its way.

package wiretest

import (
	"context"
	"errors"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// Stopped makes a call to a vendor that answers with the beginning of a stream
// and then with nothing more, stops it at the first delta, and checks that the
// error is the context's own and tells of usage what the vendor had told.
func Stopped(t *testing.T, provider func(*Vendor) llm.Provider, beginning string, want message.Usage) {
	t.Helper()
	v := Serve(t, Hang(beginning))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	_, err := provider(v).Call(ctx, Ask("x"), func(llm.Delta) { stop() })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the error of the context", err)
	}
	var got message.Usage
	if e, ok := errors.AsType[*llm.Error](err); ok {
		got = e.Usage
	}
	if got != want {
		t.Errorf("usage %+v, want %+v", got, want)
	}
}
