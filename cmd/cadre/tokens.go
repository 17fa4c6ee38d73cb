// cadre tokens: keys for programs.

package main

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/client"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

func newTokens(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tokens",
		Short: "Make, list and revoke tokens for the API",
		Long: `Tokens let programs use the API of cadre serve. Each belongs to a user and has a
scope: read looks, write also sends and answers, admin also manages users and
tokens. A token is shown once, when it is made; only a hash of it is kept.`,
		Example: "  cadre tokens create --scope read --expires 720h\n  cadre tokens revoke key-abc",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return usage("say what to do: create, list or revoke") },
	}
	cmd.AddCommand(newTokensCreate(g), newTokensList(g), newTokensRevoke(g))
	return cmd
}

func newTokensCreate(g *globals) *cobra.Command {
	var scope, user, name string
	var expires time.Duration
	cmd := &cobra.Command{
		Use: "create", Short: "Make a token", Args: cobra.NoArgs,
		Long: `Makes a token and prints it, once. While a server runs on the data folder it is
asked to; otherwise the folder is opened.`,
		Example: "  cadre tokens create --scope write --expires 24h --name ci",
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			s, err := access.ParseScope(scope)
			if err != nil {
				return usage("--scope: %w", err)
			}
			if expires < 0 {
				return usage("--expires is %s; it must be a time such as 24h", expires)
			}
			var tok wire.Token
			err = g.withKeys(ctx, func(st *sqlite.Store, gate *access.Gate) (err error) {
				if tok.Key, tok.Secret, err = gate.NewToken(ctx, user, name, s, expires); err != nil {
					return err
				}
				return note(ctx, st, "token.create", tok.Key.ID, "for "+user+", scope "+scope)
			}, func(c *client.Client) (err error) {
				tok, err = c.CreateToken(ctx, wire.NewToken{Name: name, Scope: scope, User: user, ExpiresIn: expires.Milliseconds()})
				return err
			})
			if errors.Is(err, store.ErrNotFound) {
				return wrong(fmt.Errorf("there is no user %q", user), "`cadre users add` adds one")
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "Token %s, shown only now:\n", tok.Key.ID)
			fmt.Fprintln(cmd.OutOrStdout(), tok.Secret)
			return nil
		}),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&scope, "scope", string(access.Read), "read, write or admin")
	f.DurationVar(&expires, "expires", 0, "how long it is good for, such as 24h (default: for ever)")
	f.StringVar(&user, "user", access.LocalUser, "whose it is")
	f.StringVar(&name, "name", "", "what it is for")
	return cmd
}

func newTokensList(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List tokens and sessions", Args: cobra.NoArgs,
		Long:    "Lists the tokens and the sessions of browsers, without their secrets.",
		Example: "  cadre tokens list",
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			var keys []wire.Key
			err := g.withKeys(ctx, func(st *sqlite.Store, _ *access.Gate) (err error) {
				keys, err = st.Keys(ctx, store.KeyQuery{})
				return err
			}, func(c *client.Client) (err error) {
				keys, err = c.Tokens(ctx)
				return err
			})
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "KEY\tKIND\tUSER\tSCOPE\tNAME\tEXPIRES\tLAST USED\tREVOKED")
			for _, k := range keys {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Kind, k.UserID, k.Scope, k.Name, day(k.ExpiresAt), day(k.UsedAt), day(k.RevokedAt))
			}
			return w.Flush()
		}),
	}
}

func newTokensRevoke(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "revoke KEY", Short: "End a token or session at once", Args: cobra.ExactArgs(1),
		Long:    "Ends a token or session. What is open with it, a feed say, is closed at once.",
		Example: "  cadre tokens revoke key-abc",
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			err := g.withKeys(ctx, func(st *sqlite.Store, gate *access.Gate) error {
				if err := gate.Revoke(ctx, args[0]); err != nil {
					return err
				}
				return note(ctx, st, "token.revoke", args[0], "")
			}, func(c *client.Client) error { return c.RevokeToken(ctx, args[0]) })
			if errors.Is(err, store.ErrNotFound) {
				return wrong(fmt.Errorf("there is no key %q", args[0]), "`cadre tokens list` lists them")
			}
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "revoked %s\n", args[0])
			}
			return err
		}),
	}
}
