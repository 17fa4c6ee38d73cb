// cadre health: whether the server of the data folder is ready, for what
// watches over it and has no shell.

package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
)

// healthTime is how long a server may take to say that it is ready.
const healthTime = 5 * time.Second

func newHealth(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Tell whether the server of the data folder is ready",
		Long: `Asks the server of the data folder whether it is ready: it has gone on with
everything that was unfinished, and can store what it is given. Exits with 0 if
it is, with 1 and the reason if not.`,
		Example: "  cadre health",
		Args:    cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			dir, err := g.folder()
			if err != nil {
				return err
			}
			found, err := access.FindServer(dir)
			if err != nil {
				return failed(fmt.Errorf("no server runs for %s", dir), fmt.Sprintf("start one with `%s`", g.command("serve")))
			}
			if err := askReady(cmd.Context(), found.Address); err != nil {
				return failed(fmt.Errorf("the server at %s is not ready: %w", found.Address, err), "its log says more")
			}
			fmt.Fprintln(cmd.OutOrStdout(), "ready")
			return nil
		}),
	}
}

// askReady asks without a key, as anybody may: so it does not matter whether the
// certificate is made out for the address that the server wrote down.
func askReady(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/readyz", nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // it was read
	if res.StatusCode == http.StatusOK {
		return nil
	}
	var p wire.Problem
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&p); err != nil || p.Detail == "" {
		return errors.New(res.Status)
	}
	return errors.New(p.Detail)
}
