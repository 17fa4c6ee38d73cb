// cadre stop: ends an agent, a subtree or a whole chat, from another terminal.

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/store"
)

func newStop(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop CHAT | AGENT",
		Short: "Stop an agent and everything below it, or a whole chat",
		Long: `Stops the agent with this id (CHAT.2, CHAT.2.1) and all agents below it; with
the id of a chat, everything that works in it. What was done so far is kept: a
stopped sub-agent reports it to its parent as a partial result.`,
		Example:           "  cadre stop k3f9xw2m1a.2\n  cadre stop k3f9xw2m1a",
		Args:              exactly("ID"),
		ValidArgsFunction: g.completeChats,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			var said string
			err := g.withHost(cmd.Context(), func(h host) (err error) {
				row, err := h.agent(cmd.Context(), args[0])
				if err == nil {
					said, err = stopAgent(cmd.Context(), h, *row, localUser().Name)
				}
				return err
			})
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
	g.server.add(cmd.Flags())
	return cmd
}

// stopAgent ends an agent and everything below it.
func stopAgent(ctx context.Context, h host, a store.Agent, by string) (string, error) {
	if a.EndedAt > 0 {
		return fmt.Sprintf("%s had ended already: %s.", a.Path, a.Status), nil
	}
	if err := h.cancel(ctx, a.ID, by); err != nil {
		return "", fmt.Errorf("stopping %s: %w", a.Path, err)
	}
	return fmt.Sprintf("%s is stopped. What was done so far is kept.", a.Path), nil
}
