// Package metrics counts, for Prometheus, what an engine commits: model calls
// and what they used, tool calls, waits, and how long a commit takes. It stands
// between the engine and its store, so that it counts exactly what is
// committed since the process began and the engine knows nothing of it.
//
// It knows documents; it must not know agents' rules, nor HTTP.
package metrics

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cadre-dev/cadre/internal/store"
)

// maxValues bounds the values of a label that come from outside: names of
// models and tools. What comes after them is counted as other.
const maxValues = 200

// Counters are the counters of one process.
type Counters struct {
	calls, tokens, cost, retries, failures, waits, tools, toolEnds *prometheus.CounterVec

	commits, waited *prometheus.HistogramVec

	mu            sync.Mutex
	models, names known // guarded by mu
}

// New makes the counters, all zero.
func New() *Counters {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Counters{
		calls:    counter("cadre_model_calls_total", "Model calls that are over, by outcome: replied, failed, lost, stopped, side.", "model", "status"),
		tokens:   counter("cadre_model_tokens_total", "Tokens of model calls: input without what was cached, output, cache_read, cache_write.", "model", "kind"),
		cost:     counter("cadre_model_cost_dollars_total", "What model calls have cost, as far as prices are known.", "model"),
		retries:  counter("cadre_model_retries_total", "Model calls that were not the first try of their turn.", "model"),
		failures: counter("cadre_model_failures_total", "Model calls that gave no reply, by kind.", "kind"),
		waits:    counter("cadre_model_waits_total", "Model calls that had to wait for their place, by reason.", "reason"),
		tools:    counter("cadre_tool_calls_total", "Tool calls that models asked for.", "tool"),
		toolEnds: counter("cadre_tool_results_total", "Tool calls that have a result, by success.", "status"),
		commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cadre_commit_duration_seconds", Help: "How long it took to store a batch of events durably, by success.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .025, .05, .1, .25, 1, 5},
		}, []string{"status"}),
		waited: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cadre_model_wait_duration_seconds", Help: "How long model calls that are over had waited for their place before they started, those that did not wait included.",
			Buckets: []float64{.01, .05, .2, 1, 5, 20, 60, 300, 1800},
		}, []string{"model"}),
		models: known{}, names: known{},
	}
}

// Collectors are what a registry registers.
func (c *Counters) Collectors() []prometheus.Collector {
	return []prometheus.Collector{c.calls, c.tokens, c.cost, c.retries, c.failures, c.waits, c.tools, c.toolEnds, c.commits, c.waited}
}

// Watch returns the store with its commits counted.
func (c *Counters) Watch(s store.Store) store.Store { return &watched{Store: s, counters: c} }

type watched struct {
	store.Store
	counters *Counters
}

// Commit implements store.Store.
func (w *watched) Commit(ctx context.Context, b *store.Batch) error {
	begun := time.Now()
	err := w.Store.Commit(ctx, b)
	took := time.Since(begun).Seconds()
	if err != nil {
		w.counters.commits.WithLabelValues("failed").Observe(took)
		return err
	}
	w.counters.commits.WithLabelValues("stored").Observe(took)
	w.counters.mu.Lock()
	defer w.counters.mu.Unlock()
	for _, e := range b.Entries {
		w.counters.count(e)
	}
	return nil
}

// count counts what an entry tells.
func (c *Counters) count(e *store.Entry) {
	if e.Type == "model_queued" && e.Verdict == store.Applied {
		var queued struct {
			Why string `json:"why"`
		}
		if json.Unmarshal(e.Body, &queued) == nil && queued.Why != "" {
			c.waits.WithLabelValues(queued.Why).Inc()
		}
	}
	for _, d := range e.Docs {
		switch d := d.(type) {
		case store.NewModelCall:
			c.modelCall(d.ModelCall)
		case store.NewToolCall:
			c.tools.WithLabelValues(c.names.value(d.Name)).Inc()
			c.toolCall(d.EndedAt, d.Status)
		case store.SetToolCall:
			c.toolCall(d.EndedAt, d.Status)
		case store.PutUser, store.PutPrompt, store.NewChat, store.SetChat, store.SetModel, store.DeleteChat, store.NewAgent, store.SetHead, store.EndAgent,
			store.NewTask, store.SetTask, store.EndTask, store.NewMessage, store.PlaceMessage, store.AdoptMessages,
			store.NewItem, store.SetItem, store.NewArtifact, store.PutReadMark, store.PutSettings:
		}
	}
}

func (c *Counters) toolCall(ended int64, status string) {
	if ended != 0 {
		c.toolEnds.WithLabelValues(status).Inc()
	}
}

func (c *Counters) modelCall(m store.ModelCall) {
	name := m.Model
	if strings.HasPrefix(name, "scripted:") { // the rest is the name of a file
		name = "scripted"
	}
	model := c.models.value(name)
	c.calls.WithLabelValues(model, m.Status).Inc()
	if m.StartedAt > 0 && m.Status != "side" { // those that were lost or stopped tell nothing
		c.waited.WithLabelValues(model).Observe(float64(max(0, m.WaitedMS)) / 1000)
	}
	for kind, n := range map[string]int64{"input": m.Input, "output": m.Output, "cache_read": m.CacheRead, "cache_write": m.CacheWrite} {
		c.tokens.WithLabelValues(model, kind).Add(float64(max(0, n)))
	}
	if m.Priced {
		c.cost.WithLabelValues(model).Add(float64(max(0, m.Cost)) / 1e6)
	}
	if m.Try > 1 {
		c.retries.WithLabelValues(model).Inc()
	}
	if m.ErrorKind != "" {
		c.failures.WithLabelValues(m.ErrorKind).Inc()
	}
}

// known are the values that a label has had.
type known map[string]bool

// value is v, or other if there are too many already.
func (k known) value(v string) string {
	if k[v] {
		return v
	}
	if len(k) >= maxValues {
		return "other"
	}
	k[v] = true
	return v
}
