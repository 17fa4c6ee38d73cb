// How cadre users and cadre tokens reach the keys of a data folder: by opening
// it, or, while a server owns it, by asking that server.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

const askTime = 30 * time.Second

// withKeys calls alone with the folder open, or served if a server owns it.
func (g *globals) withKeys(ctx context.Context, alone func(*sqlite.Store, *access.Gate) error, served func(dir string) error) error {
	dir, err := g.folder()
	if err != nil {
		return err
	}
	st, err := sqlite.Open(dir, sqlite.Options{})
	if errors.Is(err, store.ErrInUse) {
		err := served(dir)
		if errors.Is(err, errNoServer) {
			return g.notOpened(dir, store.ErrInUse)
		}
		return err
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
func note(ctx context.Context, st *sqlite.Store, action, target string) error {
	return st.Audit(ctx, store.Audit{At: time.Now().UnixMilli(), UserID: access.LocalUser, Action: action, Target: target, Address: "command line"})
}

// askServer makes one request of the API. The problem of one that fails is the
// error.
func askServer(ctx context.Context, address, token, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("wording the request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, address+path, body)
	if err != nil {
		return fmt.Errorf("asking the server: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking the server at %s: %w (%w)", address, errNoServer, err)
	}
	defer func() { _ = res.Body.Close() }() // it is read to its end below
	if res.StatusCode >= http.StatusBadRequest {
		var p wire.Problem
		if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&p); err != nil || p.Code == "" {
			return fmt.Errorf("the server at %s answers %s", address, res.Status)
		}
		return failed(&p, p.Hint)
	}
	if out == nil || res.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return fmt.Errorf("reading the server's answer: %w", err)
	}
	return nil
}
