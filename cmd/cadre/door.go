// The door of a run: the HTTP API on a socket in the data folder, by which
// another command on this machine answers what its agents ask, stops them, or
// watches.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/app"
)

const (
	doorName = "cadre.sock"
	doorTime = time.Second // for answers that are under way when a run ends
)

// openDoor serves until the returned function is called. Whoever may read the
// data folder's token may come in.
func openDoor(ctx context.Context, dir string, a *app.App, log *slog.Logger) (shut func(), err error) {
	name := filepath.Join(dir, doorName)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing the old socket: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", name)
	if err != nil {
		return nil, fmt.Errorf("listening in the data folder: %w", err)
	}
	if err := os.Chmod(name, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protecting the socket: %w", err), l.Close())
	}
	s, err := newServer(ctx, dir, a, api.Config{Log: log})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	server := s.HTTP()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // it ends by Shutdown
	}()
	return func() {
		s.Close()
		// Who has just stopped the last agent is still to be answered.
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), doorTime)
		defer cancel()
		if err := server.Shutdown(wait); err != nil {
			_ = server.Close() // the process is about to end
		}
		<-ended
	}, nil
}

// newServer makes the API of an open application, and the token of its owner.
func newServer(ctx context.Context, dir string, a *app.App, cfg api.Config) (*api.Server, error) {
	if cfg.Gate == nil {
		cfg.Gate = access.New(a.Store, nil)
	}
	if err := cfg.Gate.EnsureUser(ctx, access.LocalUser, localUser().Name); err != nil {
		return nil, err
	}
	if _, err := cfg.Gate.LocalToken(ctx, dir); err != nil {
		return nil, err
	}
	cfg.Store, cfg.Feed, cfg.Engine, cfg.Inbox, cfg.Roles = a.Store, a.Feed, a.Engine, a.Inbox, a.Roles
	cfg.NewChat, cfg.Choose = a.Performer.NewChat, a.Performer.Choose
	cfg.Models, cfg.Tool, cfg.Setup = func() wire.Models { return modelsOf(a.Models) }, a.Setup.Tool, a.Setup
	cfg.Version = thisVersion().Version
	return api.New(cfg)
}
