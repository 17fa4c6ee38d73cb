// Metrics, and the log line of each request.

package api

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what Prometheus is told. Counts of agents and model calls are
// read from the store when it asks.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	server   *Server

	living, calls, tokens, cost, streams, paused *prometheus.Desc

	mu     sync.Mutex
	row    int64 // model calls up to this row are counted
	totals map[[2]string]spent
}

// spent is what the calls of a model with one outcome have used.
type spent struct{ calls, input, output, micros float64 }

var _ prometheus.Collector = (*metrics)(nil)

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(), server: s, totals: map[[2]string]spent{},
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cadre_http_request_seconds", Help: "Duration of requests; feeds count until they end.",
			Buckets: []float64{.001, .005, .02, .1, .5, 2, 10, 60},
		}, []string{"operation", "status"}),
		living:  prometheus.NewDesc("cadre_agents", "Agents at work or waiting, by state.", []string{"state"}, nil),
		calls:   prometheus.NewDesc("cadre_model_calls_total", "Model calls that are over.", []string{"model", "status"}, nil),
		tokens:  prometheus.NewDesc("cadre_model_tokens_total", "Tokens of model calls.", []string{"model", "kind"}, nil),
		cost:    prometheus.NewDesc("cadre_model_cost_dollars_total", "What model calls have cost, as far as it is known.", []string{"model"}, nil),
		streams: prometheus.NewDesc("cadre_feed_subscribers", "Open feeds.", nil, nil),
		paused:  prometheus.NewDesc("cadre_engine_paused", "1 while nothing can be stored.", nil, nil),
	}
	m.registry.MustRegister(m.requests, m)
	return m
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.living, m.calls, m.tokens, m.cost, m.streams, m.paused} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(m.server.ctx, 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge(m.streams, float64(m.server.streams.Load()))
	paused := 0.0
	if m.server.cfg.Engine.Paused() != nil {
		paused = 1
	}
	gauge(m.paused, paused)
	living, err := m.server.cfg.Store.Living(ctx)
	if err != nil {
		m.server.log.Error("agents could not be counted", "err", err)
	}
	for state, n := range living {
		gauge(m.living, float64(n), state)
	}
	models := map[string]spent{}
	for key, t := range m.sum(ctx) {
		count(m.calls, t.calls, key[0], key[1])
		sum := models[key[0]]
		models[key[0]] = spent{0, sum.input + t.input, sum.output + t.output, sum.micros + t.micros}
	}
	for model, t := range models {
		count(m.tokens, t.input, model, "input")
		count(m.tokens, t.output, model, "output")
		count(m.cost, t.micros/1e6, model)
	}
}

// sum counts the model calls since the last time, so that asking stays cheap.
func (m *metrics) sum(ctx context.Context) map[[2]string]spent {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh, row, err := m.server.cfg.Store.Totals(ctx, m.row)
	if err != nil {
		m.server.log.Error("model calls could not be counted", "err", err)
	} else {
		m.row = row
	}
	for _, t := range fresh {
		key := [2]string{t.Model, t.Status}
		old := m.totals[key]
		m.totals[key] = spent{old.calls + float64(t.Calls), old.input + float64(t.Input), old.output + float64(t.Output), old.micros + float64(t.Cost)}
	}
	return maps.Clone(m.totals)
}

// watched is an answer that is timed and logged.
type watched struct {
	http.ResponseWriter
	m         *metrics
	r         *http.Request
	operation string
	begun     time.Time
	status    int
}

type watchedKey struct{}

// watch begins to time a request; the returned one has to be served.
func (m *metrics) watch(w http.ResponseWriter, r *http.Request) (*watched, *http.Request) {
	x := &watched{ResponseWriter: w, m: m, begun: time.Now(), operation: "other"}
	x.r = r.WithContext(context.WithValue(r.Context(), watchedKey{}, x))
	return x, x.r
}

// name tells which operation a request is about.
func (m *metrics) name(r *http.Request, operation string) {
	if x, ok := r.Context().Value(watchedKey{}).(*watched); ok {
		x.operation = operation
	}
}

func (x *watched) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *watched) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (x *watched) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *watched) done(log *slog.Logger) {
	took := time.Since(x.begun)
	x.m.requests.WithLabelValues(x.operation, strconv.Itoa(x.status)).Observe(took.Seconds())
	level := slog.LevelDebug
	if x.status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	log.Log(x.r.Context(), level, "request", "id", requestID(x.r.Context()), "method", x.r.Method, "operation", x.operation,
		"chat", x.r.PathValue("chat"), "agent", x.r.PathValue("agent"), "status", x.status, "ms", took.Milliseconds(), "from", address(x.r))
}
