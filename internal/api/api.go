// Package api is the one door: it serves chats, agents, the inbox and the feed
// of changes over HTTP to the web app, the command line and whoever else has a
// key. It reads the store, hands what people write to the engine, and decides
// nothing about agents.
//
// Every route is closed unless its registration names the scope it needs, and
// what a path names (user, chat, agent) is checked against the caller before
// the route's own code runs: see authorize. What belongs to somebody else does
// not exist.
package api

//go:generate go run ../../cmd/cadre dev openapi openapi.json

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/store"
)

// Store is what the API reads, and where it keeps what belongs to people.
type Store interface {
	store.Store
	store.Access
	store.Lists
	Writable(ctx context.Context) error
}

// Engine is what the API asks of the engine.
type Engine interface {
	engine.Runtime
	SetChat(ctx context.Context, set store.SetChat) error
	DeleteChat(ctx context.Context, chat string, force bool) error
	MarkRead(ctx context.Context, mark store.ReadMark) error
	PutSettings(ctx context.Context, user string, body json.RawMessage) error
	Paused() error
}

// Config is what a server is made of.
type Config struct {
	Store   Store
	Feed    *feed.Feed
	Engine  Engine
	Inbox   *orchestrate.Inbox
	Gate    *access.Gate
	NewChat func(orchestrate.Root) (engine.NewChat, error)
	Choose  func(dir, models string) (agent.Choice, error) // for a chat that works there
	Roles   *role.Registry
	Models  func() wire.Models
	Tool    func(name string) (wire.Tool, bool) // describes a tool; nil: names are all that is told
	Setup   Setup                               // nil: nothing is told about the configuration
	Web     http.Handler                        // the page; nil: one that says that the API is there

	Dir     string // where chats work that name no folder
	Version string
	Hosts   []string // names under which the server is reached, beside localhost
	Open    bool     // it listens on other than loopback addresses: any IP address is a good Host
	Secure  bool     // it is reached by TLS: cookies say so
	Pprof   bool

	Rate      rate.Limit // requests a second for each key; 0: 100
	Burst     int        // 0: 400
	Streams   int        // feeds that may be open; 0: 4096
	Heartbeat time.Duration
	Now       func() time.Time
	Log       *slog.Logger

	Ready      func() bool            // whether everything unfinished is gone on with; nil: always
	Collectors []prometheus.Collector // metrics beside the server's own
}

// The limits that nothing configures.
const (
	maxHeader    = 64 << 10
	maxBody      = 1 << 20
	maxUpload    = 25 << 20
	readTime     = 60 * time.Second
	answerTime   = 60 * time.Second
	idleTime     = 2 * time.Minute
	pageBytes    = 4 << 20 // of bodies in a page
	defaultPage  = 50
	maxPage      = 200
	maxTree      = 5000 // agents in one answer
	maxSettings  = 64 << 10
	streamsLimit = 4096
)

// Server serves the API.
type Server struct {
	cfg     Config
	log     *slog.Logger
	mux     *http.ServeMux
	api     huma.API
	handler http.Handler
	limits  *limits
	metrics *metrics
	shared  *shared
	streams atomic.Int64
	turns   turns
	spec    []byte
	store   writable

	ctx  context.Context // ends the feeds
	stop context.CancelFunc
}

// New makes a server. Close ends its feeds.
func New(cfg Config) (*Server, error) {
	cfg.Rate, cfg.Burst = cmp.Or(cfg.Rate, 100), cmp.Or(cfg.Burst, 400)
	cfg.Streams, cfg.Heartbeat = cmp.Or(cfg.Streams, streamsLimit), cmp.Or(cfg.Heartbeat, 15*time.Second)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Web == nil {
		cfg.Web = http.HandlerFunc(plainPage)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{cfg: cfg, log: cfg.Log, mux: http.NewServeMux(), limits: newLimits(cfg.Rate, cfg.Burst, cfg.Now), shared: newShared(), turns: newTurns(max(1, runtime.GOMAXPROCS(0)/4)), ctx: ctx, stop: stop}
	var err error
	if s.metrics, err = newMetrics(s); err != nil {
		stop()
		return nil, err
	}
	s.api = humago.New(s.mux, describe())
	s.api.UseMiddleware(s.authorize)
	s.chatRoutes()
	s.messageRoutes()
	s.agentRoutes()
	s.inboxRoutes()
	s.feedRoutes()
	s.catalogueRoutes()
	s.setupRoutes()
	s.userRoutes()
	s.adminRoutes()
	s.operationRoutes()
	if s.spec, err = written(s.api); err != nil {
		stop()
		return nil, err
	}
	s.handler = s.guard()
	return s, nil
}

// Handler serves everything.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends the feeds, so that a graceful shutdown need not wait for them.
func (s *Server) Close() { s.stop() }

// HTTP returns a server with timeouts and limits set. Answers that take long,
// feeds, set deadlines of their own.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler: s.handler, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: readTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		BaseContext: func(net.Listener) context.Context { return context.Background() },
		ErrorLog:    slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// public is the scope of routes that need no key.
const public access.Scope = ""

// scopeKey is where a route's scope is kept. A route without one is closed.
const scopeKey = "scope"

// register adds a route that needs a scope.
func register[I, O any](s *Server, scope access.Scope, op huma.Operation, do func(context.Context, *I) (*O, error)) {
	if op.Metadata == nil {
		op.Metadata = map[string]any{}
	}
	op.Metadata[scopeKey] = scope
	if scope != public {
		op.Security = []map[string][]string{{"token": {}}, {"session": {}}}
		op.Extensions = map[string]any{"x-scope": string(scope)}
	}
	op.MaxBodyBytes = cmp.Or(op.MaxBodyBytes, maxBody)
	op.BodyReadTimeout = cmp.Or(op.BodyReadTimeout, 20*time.Second)
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})
	op.Responses["default"] = &huma.Response{
		Description: "A problem",
		Content: map[string]*huma.MediaType{
			problemType: {Schema: s.api.OpenAPI().Components.Schemas.Schema(typeOf[wire.Problem](), true, "")},
		},
	}
}

// body is an answer with a body and nothing else.
type body[T any] struct{ Body T }

// none is an answer without a body.
type none struct{}

// visit is what is known of a request once it was let in.
type visit struct {
	access.Identity
	address string
	chat    *store.Chat  // that the path names
	agent   *store.Agent // that the path names
}

type visitKey struct{}

// visitOf is never nil in a route that is not public.
func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// authorize lets a request reach its route, or not: the scope fits, the user in
// the path is the caller, the chat is theirs, the agent is in it.
func (s *Server) authorize(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	s.metrics.name(r, ctx.Operation().OperationID)
	need, known := ctx.Operation().Metadata[scopeKey].(access.Scope)
	if known && need == public {
		next(ctx)
		return
	}
	v, err := s.admit(r, need)
	if err == nil && !known {
		err = problem(http.StatusForbidden, "closed", "this route is open to nobody", "")
	}
	if err == nil {
		err = s.reach(r, v)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	next(huma.WithValue(ctx, visitKey{}, v))
}

// reach finds what the path names, as far as it is the caller's.
func (s *Server) reach(r *http.Request, v *visit) error {
	user, chat, agent := r.PathValue("user"), r.PathValue("chat"), r.PathValue("agent")
	if user != "" && user != "me" && user != v.User.ID {
		return notFound("user", user)
	}
	if chat == "" {
		return nil
	}
	c, err := s.cfg.Store.Chat(r.Context(), chat)
	if errors.Is(err, store.ErrNotFound) || err == nil && c.UserID != v.User.ID {
		return notFound("chat", chat)
	}
	if err != nil {
		return err
	}
	v.chat = c
	if agent == "" {
		return nil
	}
	a, err := s.cfg.Store.Agent(r.Context(), agent)
	if errors.Is(err, store.ErrNotFound) || err == nil && a.ChatID != chat {
		return notFound("agent", agent)
	}
	v.agent = a
	return err
}

// audit writes down what was done. What was done is done: a log that cannot be
// written is told of, and nothing else.
func (s *Server) audit(ctx context.Context, action, target, detail string) {
	a := store.Audit{At: s.cfg.Now().UnixMilli(), Action: action, Target: target, Detail: detail}
	if v := visitOf(ctx); v != nil {
		a.UserID, a.Key, a.Address = v.User.ID, v.Key.ID, v.address
	}
	s.auditAs(ctx, a)
}

func (s *Server) auditAs(ctx context.Context, a store.Audit) {
	if err := s.cfg.Store.Audit(context.WithoutCancel(ctx), a); err != nil {
		s.log.Error("the audit log could not be written", "action", a.Action, "target", a.Target, "err", err)
	}
}
