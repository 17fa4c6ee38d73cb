// Package app wires the parts of Cadre together: store, feed, engine, roles,
// tools and models. Commands and end-to-end tests use it; nothing below
// imports it.
package app

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/llm/schedule"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/files"
)

// Options say how an App is made; the zero value of each field has a default.
type Options struct {
	Data string // the data folder; required
	Log  *slog.Logger

	// For tests.
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
}

// Open opens the data folder and starts the engine. Nothing unfinished is
// gone on with before Engine.Recover is called.
func Open(o Options) (*App, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	st, err := sqlite.Open(o.Data, sqlite.Options{})
	if err != nil {
		return nil, fmt.Errorf("opening the data folder %s: %w", o.Data, err)
	}
	performer, err := NewPerformer(o.Log, append(o.Tools, orchestrate.ArtifactTool(st))...)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	f := feed.New(st)
	e := engine.New(engine.Config{
		Store: st, Performer: performer, Feed: f,
		Now: o.Now, NewID: o.NewID, Log: o.Log, Crash: o.Crash,
	})
	return &App{Store: st, Feed: f, Engine: e, Performer: performer}, nil
}

// NewPerformer makes the performer with the built-in roles and tools.
func NewPerformer(log *slog.Logger, more ...tool.Tool) (*orchestrate.Performer, error) {
	builtin, err := role.Builtin()
	if err != nil {
		return nil, err
	}
	roles, err := role.NewRegistry(builtin...)
	if err != nil {
		return nil, err
	}
	all := append(files.Tools(), orchestrate.Tools()...)
	tools, err := tool.New(append(all, more...)...)
	if err != nil {
		return nil, err
	}
	return orchestrate.New(roles, tools, NewModels(), schedule.New(schedule.Config{Start: startingPlaces}), log), nil
}

// startingPlaces is how many calls of one model may be under way before
// anything is known of its limits: a refusal halves it, success lets it grow.
const startingPlaces = 256

// Close stops the engine and gives the data folder free. What was unfinished
// is gone on with by the next process that recovers it.
func (a *App) Close() error {
	a.Engine.Close()
	a.Feed.Close()
	return errors.Join(a.Store.Close())
}
