// cadre stop: ends an agent, a subtree or a whole chat, from another terminal.

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/store"
)

func newStop(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "stop CHAT | AGENT",
		Short: "Stop an agent and everything below it, or a whole chat",
		Long: `Stops the agent with this id (CHAT.2, CHAT.2.1) and all agents below it; with
the id of a chat, everything that works in it. What was done so far is kept: a
stopped sub-agent reports it to its parent as a partial result.`,
		Example:           "  cadre stop k3f9xw2m1a.2\n  cadre stop k3f9xw2m1a",
		Args:              exactly("ID"),
		ValidArgsFunction: g.completeChats,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			dir, err := g.folder()
			if err != nil {
				return err
			}
			by := localUser().Name
			said, err := g.withHeld(dir, func(held *app.App) (string, error) { return stopAgent(cmd.Context(), held, args[0], by) })
			if errors.Is(err, store.ErrInUse) {
				there, doorErr := atDoor(cmd.Context(), dir, doorRequest{Stop: args[0], By: by})
				if errors.Is(doorErr, errNoDoor) {
					return g.notOpened(dir, err)
				}
				said, err = there, doorErr
			}
			if errors.Is(err, store.ErrNotFound) || errors.Is(err, engine.ErrUnknown) {
				return wrong(fmt.Errorf("there is no chat and no agent %q", args[0]), fmt.Sprintf("`%s` lists the chats", g.command("show")))
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
			return err
		}),
	}
}

// stopAgent ends an agent and everything below it.
func stopAgent(ctx context.Context, a *app.App, id, by string) (string, error) {
	row, err := a.Store.Agent(ctx, id)
	if err != nil {
		return "", err
	}
	if row.EndedAt > 0 {
		return fmt.Sprintf("%s had ended already: %s.", row.Path, row.Status), nil
	}
	if err := a.Engine.Cancel(ctx, id, by); err != nil {
		return "", fmt.Errorf("stopping %s: %w", row.Path, err)
	}
	return fmt.Sprintf("%s is stopped. What was done so far is kept.", row.Path), nil
}
