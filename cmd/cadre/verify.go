// cadre verify: replays the log and compares.

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/store"
)

// verified is what came of one chat.
type verified struct {
	Chat     string   `json:"chat"`
	Agents   int      `json:"agents"`
	Problems []string `json:"problems"`
}

func newVerify(g *globals) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "verify {CHAT | --all}",
		Short: "Replay the recorded events and compare with the stored state",
		Long: `Replays every recorded event of every agent of a chat and compares the result
with the stored state. Exits with 1 and names the agents if they differ.`,
		Example: "  cadre verify k3f9xw2m1a\n  cadre verify --all",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return usage("name a chat or say --all, not both")
			case !all && len(args) != 1:
				return usage("name the chat to verify, or say --all")
			}
			return nil
		},
		ValidArgsFunction: g.completeChats,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			st, err := g.look()
			if err != nil {
				return err
			}
			defer func() { _ = st.Close() }() // it only reads
			chats, err := g.chatsToVerify(cmd.Context(), st, args)
			if err != nil {
				return err
			}
			return verify(cmd, st, chats, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "all chats of the data folder")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each chat")
	return cmd
}

func (g *globals) chatsToVerify(ctx context.Context, st store.Store, args []string) ([]string, error) {
	if len(args) == 1 {
		c, err := g.findChat(ctx, st, args[0])
		if err != nil {
			return nil, err
		}
		return []string{c.ID}, nil
	}
	list, err := st.Chats(ctx, store.ChatQuery{Archived: true})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	return ids, nil
}

func verify(cmd *cobra.Command, st store.Store, chats []string, asJSON bool) error {
	out, wrong := cmd.OutOrStdout(), 0
	for _, id := range chats {
		agents, problems, err := verifyChat(cmd.Context(), st, id)
		if err != nil {
			return fmt.Errorf("verifying chat %s: %w", id, err)
		}
		wrong += len(problems)
		if asJSON {
			if err := json.NewEncoder(out).Encode(verified{id, agents, append([]string{}, problems...)}); err != nil {
				return err
			}
			continue
		}
		if len(problems) == 0 {
			fmt.Fprintf(out, "%s: the events of %s replay to the stored state\n", id, counted(agents, "agent"))
		}
		for _, p := range problems {
			fmt.Fprintf(out, "%s\n", p)
		}
	}
	if len(chats) == 0 && !asJSON {
		fmt.Fprintln(out, "there are no chats")
	}
	if wrong > 0 {
		return failed(fmt.Errorf("%s", counted(wrong, "problem")+" found"), "`cadre db check` tells whether the database itself is damaged")
	}
	return nil
}

// verifyChat verifies one chat. Log and state are read one after the other: a
// difference counts only if nothing was written in between, or if it stays.
func verifyChat(ctx context.Context, st store.Store, id string) (agents int, problems []string, err error) {
	const tries = 20
	for range tries {
		before, err := st.LastSeq(ctx)
		if err != nil {
			return 0, nil, err
		}
		if agents, problems, err = engine.Verify(ctx, st, id); err != nil || len(problems) == 0 {
			return agents, problems, err
		}
		after, err := st.LastSeq(ctx)
		if err != nil {
			return 0, nil, err
		}
		if before == after {
			break
		}
	}
	return agents, problems, nil
}
