// cadre users: who may use the server.

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

func newUsers(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "users",
		Short: "Say who may use the server",
		Long: `Adds, lists and removes users. Each sees only chats of their own. A user comes
in with a token: see cadre tokens create --user NAME.`,
		Example: "  cadre users add berta\n  cadre tokens create --user berta --scope write",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return usage("say what to do: add, list or remove") },
	}
	cmd.AddCommand(newUsersAdd(g), newUsersList(g), newUsersRemove(g))
	return cmd
}

func newUsersAdd(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "add NAME", Short: "Add a user", Args: cobra.ExactArgs(1),
		Long: `Adds a user. The name in small letters is the id, which is never given twice,
not even after the user was removed.`,
		Example: "  cadre users add berta",
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			var u wire.User
			err := g.withKeys(ctx, func(st *sqlite.Store, gate *access.Gate) (err error) {
				if u, err = gate.AddUser(ctx, args[0]); err != nil {
					return err
				}
				return note(ctx, st, "user.add", u.ID, "")
			}, func(c *client.Client) (err error) {
				u, err = c.AddUser(ctx, args[0])
				return err
			})
			switch {
			case errors.Is(err, access.ErrName):
				return wrong(err, "")
			case errors.Is(err, store.ErrDuplicate):
				return failed(fmt.Errorf("there is, or was, a user %s", args[0]), "choose another name")
			case err != nil:
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "added %s\n", u.ID)
			return nil
		}),
	}
}

func newUsersList(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the users", Args: cobra.NoArgs,
		Long:    "Lists the users that were not removed.",
		Example: "  cadre users list",
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			var users []wire.User
			err := g.withKeys(ctx, func(st *sqlite.Store, _ *access.Gate) (err error) {
				users, err = st.Users(ctx)
				return err
			}, func(c *client.Client) (err error) {
				users, err = c.Users(ctx)
				return err
			})
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "USER\tNAME\tSINCE")
			for _, u := range users {
				fmt.Fprintf(w, "%s\t%s\t%s\n", u.ID, u.Name, day(u.CreatedAt))
			}
			return w.Flush()
		}),
	}
}

func newUsersRemove(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Shut a user out", Args: cobra.ExactArgs(1),
		Long:    "Shuts a user out: all their tokens and sessions end. What they own is kept.",
		Example: "  cadre users remove berta",
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if args[0] == access.LocalUser {
				return usage("%s is the owner of this machine's data folder and stays", access.LocalUser)
			}
			err := g.withKeys(ctx, func(st *sqlite.Store, gate *access.Gate) error {
				if err := gate.RemoveUser(ctx, args[0]); err != nil {
					return err
				}
				return note(ctx, st, "user.remove", args[0], "")
			}, func(c *client.Client) error { return c.RemoveUser(ctx, args[0]) })
			if errors.Is(err, store.ErrNotFound) {
				return wrong(fmt.Errorf("there is no user %q", args[0]), "`cadre users list` lists them")
			}
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", args[0])
			}
			return err
		}),
	}
}

// day is a time as a list shows it.
func day(at int64) string {
	if at == 0 {
		return "-"
	}
	return time.UnixMilli(at).Format("2006-01-02 15:04")
}
