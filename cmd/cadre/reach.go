// How commands find a server: the one that --server names, the one that owns
// the data folder, or the door of a run that does.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/client"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// tokenVariable holds the token for --server.
const tokenVariable = "CADRE_TOKEN"

// serverFlags are those of commands that a server can do.
type serverFlags struct{ address, tokenFile string }

func (s *serverFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&s.address, "server", "", "the address of a server to ask (default: the one that owns the data folder, if one runs)")
	flags.StringVar(&s.tokenFile, "token-file", "", "with --server: a file with the token (default: $"+tokenVariable+")")
}

// options reads what --server needs.
func (s *serverFlags) options() (client.Options, error) {
	token := os.Getenv(tokenVariable)
	if s.tokenFile != "" {
		b, err := os.ReadFile(s.tokenFile)
		if err != nil {
			return client.Options{}, usage("--token-file: %w", err)
		}
		token = string(b)
	}
	if token = strings.TrimSpace(token); token == "" {
		return client.Options{}, usage("--server needs a token: set $%s, or name a file with --token-file; `cadre tokens create` makes one", tokenVariable)
	}
	return client.Options{Address: s.address, Token: token}, nil
}

// dial finds the server that --server names, or else the one that owns the data
// folder: client.ErrUnreachable if there is none.
func (g *globals) dial(ctx context.Context, dir string) (*client.Client, error) {
	if g.server.address != "" {
		o, err := g.server.options()
		if err != nil {
			return nil, err
		}
		return knock(ctx, o)
	}
	found, err := access.FindServer(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	token, err := access.ReadLocalToken(dir)
	if err != nil {
		return nil, err
	}
	return knock(ctx, client.Options{Address: found.Address, Token: token, Cert: found.Cert})
}

// reach finds whoever owns the data folder: a server, or a run, which has a
// door. store.ErrInUse tells that it cannot be reached.
func (g *globals) reach(ctx context.Context, dir string) (*client.Client, error) {
	c, err := g.dial(ctx, dir)
	if err == nil || g.server.address != "" || !errors.Is(err, client.ErrUnreachable) {
		return c, err
	}
	token, err := access.ReadLocalToken(dir)
	if err != nil {
		return nil, store.ErrInUse
	}
	c, err = knock(ctx, client.Options{Address: "http://localhost", Token: token, Socket: filepath.Join(dir, doorName)})
	if errors.Is(err, client.ErrUnreachable) {
		return nil, store.ErrInUse
	}
	return c, err
}

// knock makes a client once the server has answered.
func knock(ctx context.Context, o client.Options) (*client.Client, error) {
	c, err := client.New(o)
	if err != nil {
		return nil, usage("--server: %w", err)
	}
	if _, err := c.Me(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// read calls alone with the data folder open for reading, which works beside
// its owner; with --server it calls served instead.
func (g *globals) read(ctx context.Context, alone func(*sqlite.Store) error, served func(*client.Client) error) error {
	if g.server.address != "" {
		c, err := g.dial(ctx, "")
		if err != nil {
			return err
		}
		defer c.Close()
		return served(c)
	}
	st, err := g.look()
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }() // it only reads
	return alone(st)
}

// withHost opens the data folder for a change that is only stored, or, if
// somebody owns it, hands the change to them.
func (g *globals) withHost(ctx context.Context, do func(host) error) (err error) {
	dir, err := g.folder()
	if err != nil {
		return err
	}
	if g.server.address == "" {
		held, err := app.Open(app.Options{Data: dir, Hold: true})
		if err == nil {
			return errors.Join(do(&ownHost{Store: held.Store, app: held}), held.Close())
		}
		if !errors.Is(err, store.ErrInUse) {
			return g.notOpened(dir, err)
		}
	}
	c, err := g.reach(ctx, dir)
	if err != nil {
		return g.notOpened(dir, err)
	}
	defer c.Close()
	return do(&serverHost{c: c})
}
