// How cadre users and cadre tokens reach the keys of a data folder: by opening
// it, or, while another process owns it, by asking that process.

package main

import (
	"context"
	"errors"
	"time"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/client"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// withKeys calls alone with the folder open, or served if somebody owns it.
func (g *globals) withKeys(ctx context.Context, alone func(*sqlite.Store, *access.Gate) error, served func(*client.Client) error) error {
	dir, err := g.folder()
	if err != nil {
		return err
	}
	st, err := sqlite.Open(dir, sqlite.Options{})
	if errors.Is(err, store.ErrInUse) {
		c, err := g.reach(ctx, dir)
		if err != nil {
			return g.notOpened(dir, err)
		}
		defer c.Close()
		return served(c)
	}
	if err != nil {
		return g.notOpened(dir, err)
	}
	gate := access.New(st, nil)
	err = gate.EnsureUser(ctx, access.LocalUser, localUser().Name)
	if err == nil {
		err = alone(st, gate)
	}
	return errors.Join(err, st.Close())
}

// note writes the audit log of what is done without a server.
func note(ctx context.Context, st *sqlite.Store, action, target, detail string) error {
	return st.Audit(ctx, store.Audit{At: time.Now().UnixMilli(), UserID: access.LocalUser, Action: action, Target: target, Detail: detail, Address: "command line"})
}
