// Package app wires the parts of Cadre together: configuration, store, feed,
// engine, roles, tools and models. Commands and end-to-end tests use it;
// nothing below imports it.
package app

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/llm/catalogue"
	"github.com/cadre-dev/cadre/internal/llm/record"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/files"
)

// Options say how an App is made; the zero value of each field has a default.
type Options struct {
	Data string // the data folder; required
	Dir  string // the folder whose project configuration counts
	Log  *slog.Logger

	Record string // file to which all model calls are written
	Replay string // file from which they are answered

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
	Performer *orchestrate.Performer
	Models    *catalogue.Catalogue

	player     *record.Player
	endTraffic func() error
}

// Warnings are what a person should know about the configuration and the
// recording that is played.
func (a *App) Warnings() []string {
	out := a.Models.Warnings()
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
	performer, err := newPerformer(o, st, &models{found, wrap, player, c.Tiers.Fast}, c)
	if err != nil {
		return nil, errors.Join(err, st.Close(), endTraffic())
	}
	f := feed.New(st)
	e := engine.New(engine.Config{
		Store: st, Performer: performer, Feed: f,
		Now: o.Now, NewID: o.NewID, Log: o.Log, Crash: o.Crash,
	})
	return &App{Store: st, Feed: f, Engine: e, Performer: performer, Models: found, player: player, endTraffic: endTraffic}, nil
}

// newPerformer makes the performer with the built-in roles and tools.
func newPerformer(o Options, st *sqlite.Store, m orchestrate.Models, c *config.Config) (*orchestrate.Performer, error) {
	builtin, err := role.Builtin()
	if err != nil {
		return nil, err
	}
	roles, err := role.NewRegistry(builtin...)
	if err != nil {
		return nil, err
	}
	all := append(files.Tools(), orchestrate.Tools()...)
	all = append(all, orchestrate.ArtifactTool(st))
	tools, err := tool.New(append(all, o.Tools...)...)
	if err != nil {
		return nil, err
	}
	return orchestrate.New(roles, tools, m, scheduler(c), o.Log), nil
}

// Close stops the engine and gives the data folder free. What was unfinished
// is gone on with by the next process that recovers it.
func (a *App) Close() error {
	a.Engine.Close()
	a.Feed.Close()
	return errors.Join(a.Store.Close(), a.endTraffic())
}
