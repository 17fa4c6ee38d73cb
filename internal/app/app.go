// Package app wires the parts of Cadre together: configuration, store, feed,
// engine, roles, tools and models. Commands and end-to-end tests use it;
// nothing below imports it.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/llm/catalogue"
	"github.com/cadre-dev/cadre/internal/llm/record"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/role/rolefile"
	"github.com/cadre-dev/cadre/internal/spelling"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tracing"
)

// Options say how an App is made; the zero value of each field has a default.
type Options struct {
	Data string // the data folder; required
	Dir  string // the folder whose project configuration counts
	Log  *slog.Logger
	Warn func(text string) // shows a person what is found out later than Open, such as that nothing confines commands; nil: it is logged only

	Version string                        // of this program, as traces tell it
	Watch   func(store.Store) store.Store // stands between the engine and the store; nil: nothing does

	Record string // file to which all model calls are written
	Replay string // file from which they are answered

	Mode string // the preset of permissions; empty: as configured
	Hold bool   // commit what is delivered, and leave what follows to a process that recovers

	// For tests.
	Env   func(string) string
	Now   func() time.Time
	NewID func() string
	Crash func(point string) bool
	Tools []tool.Tool // beside the built-in ones
}

// App is a running Cadre. It owns its data folder until Close.
type App struct {
	Store     *sqlite.Store
	Feed      *feed.Feed
	Engine    *engine.Engine
	Performer *Performers
	Models    *catalogue.Catalogue
	Roles     *role.Registry
	Inbox     *orchestrate.Inbox
	Setup     Setup

	common     *common
	traces     *tracing.Tracer // nil: nobody asked for them
	warnings   []string
	player     *record.Player
	endTraffic func() error
}

// Warnings are what a person should know about the configuration and the
// recording that is made or played.
func (a *App) Warnings() []string {
	out := append(a.Models.Warnings(), a.warnings...)
	if a.player != nil && a.player.Warning() != "" {
		out = append(out, "the recording: "+a.player.Warning())
	}
	return out
}

// startingPlaces is how many calls of one model may be under way before
// anything is known of its limits: a refusal halves it, success lets it grow.
const startingPlaces = 256

// newsOfWaits is how often a call that waits for its place looks whether there
// is news. Each piece of news is an event in the log: a thousand agents behind
// one rate limit must not fill it.
const newsOfWaits = 30 * time.Second

// Catalogue reads the configuration and makes the catalogue of models. A
// broken configuration is an error; the catalogue that comes with it is good
// for a diagnosis only.
func Catalogue(o Options) (*catalogue.Catalogue, *config.Config, error) {
	c, err := config.Load(config.Options{Dir: o.Dir, Env: o.Env})
	return catalogue.New(catalogue.Options{Config: c, ConfigErr: err, Env: o.Env}), c, err
}

// Open opens the data folder and starts the engine. Nothing unfinished is
// gone on with before Engine.Recover is called.
func Open(o Options) (_ *App, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Env == nil {
		o.Env = os.Getenv
	}
	found, c, err := Catalogue(o)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	wrap, player, endTraffic, err := traffic(o)
	if err != nil {
		return nil, err
	}
	st, err := sqlite.Open(o.Data, sqlite.Options{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the data folder %s: %w", o.Data, err), endTraffic())
	}
	a := &App{Store: st, Models: found, player: player, endTraffic: endTraffic, warnings: withinReach(o)}
	if err := a.wire(o, c, &models{found, wrap, player, c.Tiers}); err != nil {
		return nil, errors.Join(err, st.Close(), endTraffic())
	}
	return a, nil
}

// wire puts the parts together.
func (a *App) wire(o Options, c *config.Config, m *models) error {
	a.common = newCommon(o, c, a.Store, m)
	start, err := a.openFolder(o, c)
	if err != nil {
		return err
	}
	a.Roles = start.roles
	a.warnings = append(a.warnings, start.warnings...)
	a.Performer = newPerformers(a, o, start)
	a.Feed = feed.New(a.Store)
	a.trace(o)
	var st store.Store = a.Store
	if o.Watch != nil {
		st = o.Watch(st)
	}
	a.Engine = engine.New(engine.Config{
		Store: st, Performer: a.Performer, Feed: a.Feed,
		Now: o.Now, NewID: o.NewID, Log: o.Log, Hold: o.Hold, Crash: o.Crash, Printed: printedIn(o.Data),
	})
	a.Performer.Bind(a.Engine)
	a.common.control.Bind(a.Engine)
	a.Setup = Setup{models: a.Models, config: c, policy: start.policy, tools: start.tools.registry, depth: start.depth, warnings: a.Warnings}
	a.Inbox = &orchestrate.Inbox{Runtime: a.Engine, Store: a.Store, Trees: a.common.trees, Policy: a.Performer.policyOf}
	return nil
}

// trace tells a collector what agents do, if the environment names one. What is
// wrong with that is a warning: it keeps nobody from working.
func (a *App) trace(o Options) {
	wanted, err := tracing.Wanted(o.Env)
	if wanted && !o.Hold {
		a.traces, err = tracing.Start(context.Background(), tracing.Config{
			Store: a.Store, Feed: a.Feed, Dir: o.Data, Version: o.Version, Env: o.Env, Log: o.Log,
		})
	}
	if err != nil {
		a.warnings = append(a.warnings, err.Error())
	}
}

// tracesTime is how long the end waits for a collector.
const tracesTime = 3 * time.Second

// endTraces sends what has not been sent.
func (a *App) endTraces() error {
	if a.traces == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracesTime)
	defer cancel()
	return a.traces.Close(ctx)
}

// The defaults of what a configuration may say about agents.
const (
	approvalTime  = time.Hour
	budgetTime    = 30 * time.Minute
	questionTime  = 24 * time.Hour
	mostAgents    = 10_000
	confidence    = 70
	sameQuestions = 2
)

// askingOf is how questions of sub-agents are handled.
func askingOf(c *config.Config) orchestrate.Asking {
	q := c.Agents.Questions
	a := orchestrate.Asking{Confidence: confidence, SameLimit: sameQuestions, Timeout: cmp.Or(q.Timeout, questionTime)}
	if q.Confidence != nil {
		a.Confidence = *q.Confidence
	}
	if q.SameLimit != nil {
		a.SameLimit = *q.SameLimit
	}
	return a
}

// Roles reads the roles that count for work in a folder. The depth is what the
// configuration says of it, 0 if nothing.
func Roles(o Options, depth int) (*role.Registry, *rolefile.Set, error) {
	set, err := rolefile.Load(rolefile.Sources{Dir: o.Dir, Env: o.Env, Depth: depth, Distance: spelling.Distance, CheckRule: permission.CheckBound})
	if err != nil {
		return nil, nil, fmt.Errorf("reading the roles: %w", err)
	}
	roles, err := set.Registry()
	if err != nil {
		return nil, nil, fmt.Errorf("reading the roles: %w", err)
	}
	return roles, set, nil
}

// instructions finds what a project wants its agents to know.
func instructions(o Options) func(dir string) []role.Instruction {
	return func(dir string) []role.Instruction {
		found, _ := role.Instructions(dir, rolefile.ConfigFolder(o.Env)) // what is wrong with them, lint tells
		return found
	}
}

// Close stops the engine and gives the data folder free. What was unfinished
// is gone on with by the next process that recovers it.
func (a *App) Close() error {
	a.Engine.Close()
	traced := a.endTraces()
	a.Feed.Close()
	return errors.Join(traced, a.Performer.close(), a.Store.Close(), a.endTraffic())
}
