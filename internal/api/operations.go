// Operations: health and profiles.

package api

import (
	"context"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
)

func unwrap(ctx huma.Context) (*http.Request, http.ResponseWriter) { return humago.Unwrap(ctx) }

func (s *Server) operationRoutes() {
	register(s, public, huma.Operation{OperationID: "healthz", Method: http.MethodGet, Path: "/healthz", Summary: "The process is there"}, func(context.Context, *struct{}) (*body[wire.Health], error) {
		return &body[wire.Health]{wire.Health{Status: "ok"}}, nil
	})
	register(s, public, huma.Operation{OperationID: "readyz", Method: http.MethodGet, Path: "/readyz", Summary: "It can store what it is given"}, s.ready)
	op := huma.Operation{OperationID: "metrics", Method: http.MethodGet, Path: "/metrics", Summary: "Metrics for Prometheus"}
	op.Responses = map[string]*huma.Response{"200": {Description: "Prometheus' text format", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	register(s, access.Admin, op, func(context.Context, *struct{}) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			r, w := unwrap(ctx)
			promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, r)
		}}, nil
	})
}

func (s *Server) ready(ctx context.Context, _ *struct{}) (*body[wire.Health], error) {
	if s.ctx.Err() != nil {
		return nil, problem(http.StatusServiceUnavailable, "shutting_down", "the server is shutting down", "")
	}
	if s.cfg.Engine.Paused() != nil {
		return nil, problem(http.StatusServiceUnavailable, "paused", "nothing can be stored at present", "the server's log says why; it goes on by itself")
	}
	if s.cfg.Ready != nil && !s.cfg.Ready() {
		return nil, problem(http.StatusServiceUnavailable, "starting", "the server is going on with what was unfinished", "ask again in a moment")
	}
	if err := s.store.ask(ctx, s.cfg.Store, s.cfg.Now()); err != nil {
		s.log.Warn("nothing can be stored", "err", err)
		return nil, problem(http.StatusServiceUnavailable, "unwritable", "nothing can be stored at present", "the server's log says why")
	}
	return &body[wire.Health]{wire.Health{Status: "ready"}}, nil
}

// writable remembers for a moment whether the store can write: anybody may ask,
// and the answer costs a write.
type writable struct {
	mu    sync.Mutex
	until time.Time
	err   error
}

const writableTime = 2 * time.Second

func (w *writable) ask(ctx context.Context, s Store, now time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Before(w.until) {
		return w.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writableTime)
	defer cancel()
	w.err, w.until = s.Writable(ctx), now.Add(writableTime)
	return w.err
}

// profile serves Go's profiles to administrators.
func (s *Server) profile(w http.ResponseWriter, r *http.Request) {
	if _, err := s.admit(r, access.Admin); err != nil {
		s.refuse(w, r, err)
		return
	}
	switch r.URL.Path {
	case "/debug/pprof/cmdline":
		pprof.Cmdline(w, r)
	case "/debug/pprof/profile":
		pprof.Profile(w, r)
	case "/debug/pprof/symbol":
		pprof.Symbol(w, r)
	case "/debug/pprof/trace":
		pprof.Trace(w, r)
	default:
		pprof.Index(w, r)
	}
}
