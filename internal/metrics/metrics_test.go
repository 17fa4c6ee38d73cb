package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/metrics"
	"github.com/cadre-dev/cadre/internal/store"
)

// stub is a store that takes everything, or nothing.
type stub struct {
	store.Store
	err error
}

func (s *stub) Commit(context.Context, *store.Batch) error { return s.err }

func commit(t *testing.T, s store.Store, typ, body string, docs ...store.Doc) {
	t.Helper()
	if err := s.Commit(t.Context(), &store.Batch{Entries: []*store.Entry{{Type: typ, Body: []byte(body), Docs: docs}}}); err != nil {
		t.Fatal(err)
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	c := metrics.New()
	under := &stub{}
	s := c.Watch(under)
	replied := store.ModelCall{
		Model: "openai/gpt", Status: "replied", Try: 1, Priced: true, Cost: 2_500_000, StartedAt: 9_000, WaitedMS: 1_500,
		Usage: message.Usage{Input: 10, Output: 5, CacheRead: 100, CacheWrite: 7},
	}
	commit(t, s, "model_replied", "", store.NewModelCall{ModelCall: replied})
	commit(t, s, "model_failed", "", store.NewModelCall{ModelCall: store.ModelCall{Model: "openai/gpt", Status: "failed", Try: 2, ErrorKind: "rate_limit", StartedAt: 9_000}})
	commit(t, s, "model_failed", "", store.NewModelCall{ModelCall: store.ModelCall{Model: "scripted:/home/anna/s.yaml", Status: "failed", Try: 1, ErrorKind: "server"}})
	commit(t, s, "model_queued", `{"why":"rate_limit"}`)
	commit(t, s, "model_queued", `{"turn":1}`) // the wait is over
	commit(t, s, "model_replied", "",
		store.NewToolCall{ToolCall: store.ToolCall{Name: "Read", Status: "pending"}},
		store.NewToolCall{ToolCall: store.ToolCall{Name: "Nonsense", Status: "failed", EndedAt: 1}})
	commit(t, s, "tool_started", "", store.SetToolCall{Status: "pending", StartedAt: 2})
	commit(t, s, "tool_finished", "", store.SetToolCall{Status: "success", EndedAt: 3})
	under.err = errors.New("full")
	if err := s.Commit(t.Context(), &store.Batch{Entries: []*store.Entry{{Docs: []store.Doc{store.NewModelCall{ModelCall: replied}}}}}); err == nil {
		t.Fatal("the error is lost")
	}
	want := `
# HELP cadre_model_calls_total Model calls that are over, by outcome: replied, failed, lost, stopped, side.
# TYPE cadre_model_calls_total counter
cadre_model_calls_total{model="openai/gpt",status="failed"} 1
cadre_model_calls_total{model="openai/gpt",status="replied"} 1
cadre_model_calls_total{model="scripted",status="failed"} 1
# HELP cadre_model_cost_dollars_total What model calls have cost, as far as prices are known.
# TYPE cadre_model_cost_dollars_total counter
cadre_model_cost_dollars_total{model="openai/gpt"} 2.5
# HELP cadre_model_failures_total Model calls that gave no reply, by kind.
# TYPE cadre_model_failures_total counter
cadre_model_failures_total{kind="rate_limit"} 1
cadre_model_failures_total{kind="server"} 1
# HELP cadre_model_retries_total Model calls that were not the first try of their turn.
# TYPE cadre_model_retries_total counter
cadre_model_retries_total{model="openai/gpt"} 1
# HELP cadre_model_wait_duration_seconds How long model calls that are over had waited for their place before they started, those that did not wait included.
# TYPE cadre_model_wait_duration_seconds histogram
cadre_model_wait_duration_seconds_bucket{model="openai/gpt",le="0.01"} 1
cadre_model_wait_duration_seconds_bucket{model="openai/gpt",le="0.05"} 1
cadre_model_wait_duration_seconds_bucket{model="openai/gpt",le="0.2"} 1
cadre_model_wait_duration_seconds_bucket{model="openai/gpt",le="1"} 1
cadre_model_wait_duration_seconds_bucket{model="openai/gpt",le="5"} 2
cadre_model_wait_duration_seconds_bucket{model="openai/gpt",le="20"} 2
cadre_model_wait_duration_seconds_bucket{model="openai/gpt",le="60"} 2
cadre_model_wait_duration_seconds_bucket{model="openai/gpt",le="300"} 2
cadre_model_wait_duration_seconds_bucket{model="openai/gpt",le="1800"} 2
cadre_model_wait_duration_seconds_bucket{model="openai/gpt",le="+Inf"} 2
cadre_model_wait_duration_seconds_sum{model="openai/gpt"} 1.5
cadre_model_wait_duration_seconds_count{model="openai/gpt"} 2
# HELP cadre_model_waits_total Model calls that had to wait for their place, by reason.
# TYPE cadre_model_waits_total counter
cadre_model_waits_total{reason="rate_limit"} 1
# HELP cadre_tool_calls_total Tool calls that models asked for.
# TYPE cadre_tool_calls_total counter
cadre_tool_calls_total{tool="Nonsense"} 1
cadre_tool_calls_total{tool="Read"} 1
# HELP cadre_tool_results_total Tool calls that have a result, by success.
# TYPE cadre_tool_results_total counter
cadre_tool_results_total{status="failed"} 1
cadre_tool_results_total{status="success"} 1
`
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c.Collectors()...)
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "cadre_model_calls_total", "cadre_model_cost_dollars_total", "cadre_model_failures_total",
		"cadre_model_retries_total", "cadre_model_wait_duration_seconds", "cadre_model_waits_total", "cadre_tool_calls_total", "cadre_tool_results_total"); err != nil {
		t.Error(err)
	}
	problems, err := testutil.GatherAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("against the conventions: %v %v", problems, err)
	}
	if n, err := testutil.GatherAndCount(r, "cadre_commit_duration_seconds"); err != nil || n != 2 {
		t.Errorf("%d kinds of commit, %v", n, err)
	}
}

// TestBounded: a model that invents names of tools does not fill the memory.
func TestBounded(t *testing.T) {
	t.Parallel()
	c := metrics.New()
	s := c.Watch(&stub{})
	for i := range 1000 {
		commit(t, s, "model_replied", "", store.NewToolCall{ToolCall: store.ToolCall{Name: fmt.Sprintf("tool%d", i)}})
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c.Collectors()...)
	if n, err := testutil.GatherAndCount(r, "cadre_tool_calls_total"); err != nil || n > 201 {
		t.Errorf("%d series, %v", n, err)
	}
}
