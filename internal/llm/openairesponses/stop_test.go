package openairesponses

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
	"github.com/cadre-dev/cadre/internal/message"
)

// TestStopped: the vendor tells what was used at the end only.
func TestStopped(t *testing.T) {
	t.Parallel()
	wiretest.Stopped(t, func(v *wiretest.Vendor) llm.Provider { return vendor{v}.provider() }, events(text), message.Usage{})
}

// TestFailedUsage: a response that failed tells what it had used.
func TestFailedUsage(t *testing.T) {
	t.Parallel()
	v := serve(t, wiretest.Say(eventStream, events(
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"oops"},"usage":{"input_tokens":9,"output_tokens":2}}}`,
	)))
	if e := wiretest.Fault(t, v.provider()); e.Kind != llm.ErrServer || e.Usage != (message.Usage{Input: 9, Output: 2}) {
		t.Errorf("got %+v", e)
	}
}
