// Metrics, and the log line of each request.

package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are what Prometheus is told: requests, what the configuration adds,
// and what is read from the store when it asks.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	server   *Server

	living, streams, paused *prometheus.Desc
}

var _ prometheus.Collector = (*metrics)(nil)

func newMetrics(s *Server) (*metrics, error) {
	m := &metrics{
		registry: prometheus.NewRegistry(), server: s,
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cadre_http_request_duration_seconds", Help: "Duration of requests; feeds count until they end.",
			Buckets: []float64{.001, .005, .02, .1, .5, 2, 10, 60},
		}, []string{"operation", "status"}),
		living:  prometheus.NewDesc("cadre_agents", "Agents at work or waiting, by state.", []string{"state"}, nil),
		streams: prometheus.NewDesc("cadre_feed_subscribers", "Open feeds.", nil, nil),
		paused:  prometheus.NewDesc("cadre_engine_paused", "1 while nothing can be stored.", nil, nil),
	}
	for _, c := range append([]prometheus.Collector{
		m, m.requests, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}, s.cfg.Collectors...) {
		if err := m.registry.Register(c); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return m, nil
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.living, m.streams, m.paused} {
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
}

// watched is an answer that is timed and logged.
type watched struct {
	http.ResponseWriter
	m         *metrics
	r         *http.Request
	operation string
	begun     time.Time
	status    int
	cut       bool // the request's body broke off, or was no body
}

type watchedKey struct{}

// watch begins to time a request; the returned one has to be served.
func (m *metrics) watch(w http.ResponseWriter, r *http.Request) (*watched, *http.Request) {
	x := &watched{ResponseWriter: w, m: m, begun: time.Now(), operation: "other"}
	x.r = r.WithContext(context.WithValue(r.Context(), watchedKey{}, x))
	if r.Body != nil {
		x.r.Body = &sentBody{r.Body, x}
	}
	return x, x.r
}

// sentBody notes that the fault is the client's when a body cannot be read,
// which huma takes for the server's.
type sentBody struct {
	io.ReadCloser
	of *watched
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	var slow net.Error
	if err != nil && !errors.Is(err, io.EOF) && (!errors.As(err, &slow) || !slow.Timeout()) {
		b.of.cut = true
	}
	return n, err
}

// cutOff tells whether the body of a request could not be read.
func cutOff(ctx context.Context) bool {
	x, ok := ctx.Value(watchedKey{}).(*watched)
	return ok && x.cut
}

// name tells which operation a request is about.
func (m *metrics) name(r *http.Request, operation string) {
	if x, ok := r.Context().Value(watchedKey{}).(*watched); ok {
		x.operation = operation
	}
}

func (x *watched) WriteHeader(status int) {
	if x.cut && status == http.StatusInternalServerError {
		status = http.StatusBadRequest
	}
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
