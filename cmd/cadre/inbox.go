// cadre inbox: what waits for the user, of any agent at any depth, and the
// answers.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/client"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/view"
)

func newInbox(g *globals) *cobra.Command {
	var asJSON, all bool
	var chat string
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List what waits for you, and answer it",
		Long: `Lists the approvals, questions, spent budgets and worktrees that wait for you,
of all agents at any depth, the oldest first: who asks, what exactly, and what
happens if nobody answers.

An answer is stored and counts at once. If no process works on the chat, the
agents go on when one does: cadre run --resume.`,
		Example: `  cadre inbox
  cadre inbox show k3f9xw2m1a.1-i1
  cadre inbox allow k3f9xw2m1a.1-i1 --for chat
  cadre inbox deny k3f9xw2m1a.1-i1 --reason "not in this folder"
  cadre inbox answer k3f9xw2m1a.2-i1 "The year is 2024"
  cadre inbox settle k3f9xw2m1a.3-i1 accept`,
		Args: cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			return g.listInbox(cmd, store.InboxQuery{Chat: chat, Closed: all}, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.Flags().BoolVar(&all, "all", false, "also what was answered")
	cmd.Flags().StringVar(&chat, "chat", "", "only of this chat")
	g.server.add(cmd.PersistentFlags())
	cmd.AddCommand(newInboxShow(g), newInboxAllow(g), newInboxDeny(g), newInboxAnswer(g), newInboxSettle(g))
	return cmd
}

func (g *globals) listInbox(cmd *cobra.Command, q store.InboxQuery, asJSON bool) error {
	var items []store.Item
	err := g.read(cmd.Context(), func(st *sqlite.Store) (err error) {
		items, err = st.Inbox(cmd.Context(), q)
		return err
	}, func(c *client.Client) (err error) {
		items, err = c.Inbox(cmd.Context(), q.Chat, q.Closed)
		return err
	})
	if errors.Is(err, errNoData) && !asJSON {
		return sayEmpty(cmd.OutOrStdout(), g)
	}
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	now := time.Now()
	shown := 0
	for _, i := range items {
		if i.Status == "hidden" {
			continue // the orchestrator is being asked first
		}
		shown++
		if asJSON {
			if err := json.NewEncoder(out).Encode(i); err != nil {
				return err
			}
			continue
		}
		age := now.Sub(time.UnixMilli(i.CreatedAt)).Round(time.Second)
		state := age.String() + " ago"
		if i.Status == "closed" {
			state = strings.ReplaceAll(i.How, "_", " ")
			if i.By != "" {
				state += " by " + i.By
			}
		}
		fmt.Fprintf(out, "%s  %s (%s)\n    %s\n", i.ID, view.ItemHead(i), state, view.Cut(view.ItemLine(i), 100))
		if then := view.ItemDeadline(i, now); then != "" {
			fmt.Fprintf(out, "    %s\n", then)
		}
	}
	if shown == 0 && !asJSON {
		fmt.Fprintln(out, "Nothing waits for you.")
	}
	return nil
}

func newInboxShow(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ITEM", Short: "Show an item whole", Args: cobra.ExactArgs(1),
		Long:    "Shows who asks, why, the whole action, and what happens if nobody answers.",
		Example: "  cadre inbox show k3f9xw2m1a.1-i1\n  cadre inbox show k3f9xw2m1a.1-i1 --json",
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			var i store.Item
			err := g.read(cmd.Context(), func(st *sqlite.Store) error {
				found, err := st.Item(cmd.Context(), args[0])
				if err == nil {
					i = *found
				}
				return err
			}, func(c *client.Client) (err error) {
				i, err = c.Item(cmd.Context(), args[0])
				return err
			})
			if err != nil {
				return g.noItem(args[0], err)
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(i)
			}
			fmt.Fprint(cmd.OutOrStdout(), view.Card(i, 1<<30, time.Now()))
			if rules := allowed(i); rules != "" && i.Status != "closed" {
				fmt.Fprintf(cmd.OutOrStdout(), "  with --for, allowed from then on: %s\n", rules)
			}
			if i.Status == "closed" {
				fmt.Fprintf(cmd.OutOrStdout(), "  answered: %s %s %s\n", strings.ReplaceAll(i.How, "_", " "), view.Clean(i.By), view.Clean(i.Answer))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

func newInboxAllow(g *globals) *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use: "allow ITEM", Short: "Allow an action, or extend a budget", Args: cobra.ExactArgs(1),
		Long: `Allows exactly the action that is shown. With --for, similar actions of this
agent, its role, its subtree or the whole chat are allowed from then on, too;
cadre inbox show tells which. A spent budget gets as much again.`,
		Example: "  cadre inbox allow k3f9xw2m1a.1-i1\n  cadre inbox allow k3f9xw2m1a.1-i1 --for chat",
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			yes := true
			return g.answer(cmd, args[0], orchestrate.Answer{Allow: &yes, Scope: permission.Scope(scope)})
		}),
	}
	cmd.Flags().StringVar(&scope, "for", "once", "how far it reaches: once, agent, role, subtree or chat")
	return cmd
}

func newInboxDeny(g *globals) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "deny ITEM", Short: "Deny an action; the agent is told", Args: cobra.ExactArgs(1),
		Long:    "Denies the action. The agent is told, with the reason if there is one, and goes\non without it. A spent budget stays spent: the agent ends with what it has.",
		Example: "  cadre inbox deny k3f9xw2m1a.1-i1 --reason \"not in this folder\"",
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			no := false
			return g.answer(cmd, args[0], orchestrate.Answer{Allow: &no, Reason: reason})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the agent to read")
	return cmd
}

func newInboxAnswer(g *globals) *cobra.Command {
	var decline bool
	cmd := &cobra.Command{
		Use: "answer ITEM [TEXT...]", Short: "Answer a question", Args: cobra.MinimumNArgs(1),
		Long: `Answers the question of an agent or of a tool server: in your own words, by
the number of a choice (several, where that is possible, with commas), with a
semicolon between the answers to several questions, or, where a tool server
asks for several values, as JSON.`,
		Example: "  cadre inbox answer k3f9xw2m1a.2-i1 \"The year is 2024\"\n  cadre inbox answer k3f9xw2m1a.2-i1 2\n  cadre inbox answer k3f9xw2m1a.2-i1 --decline",
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args[1:], " ")
			if text == "" && !decline {
				return usage("there is no answer: write it after the item, or say --decline")
			}
			if decline {
				return g.answer(cmd, args[0], orchestrate.Answer{Refuse: true})
			}
			return g.answer(cmd, args[0], orchestrate.Answer{Text: text})
		}),
	}
	cmd.Flags().BoolVar(&decline, "decline", false, "say that you will not answer")
	return cmd
}

func newInboxSettle(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "settle ITEM accept|merge|keep|discard", Short: "Decide what becomes of the work in a worktree", Args: cobra.ExactArgs(2),
		Long: `accept applies the work to the folder it was made from; if it conflicts,
nothing is changed. merge applies it and marks conflicts in the files. keep
leaves it as a branch. discard removes it; the patch is kept in the data
folder.`,
		Example: "  cadre inbox settle k3f9xw2m1a.3-i1 accept",
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			return g.answer(cmd, args[0], orchestrate.Answer{How: args[1]})
		}),
	}
}

// answer stores an answer. What follows from it is done by a process that
// works on the chat.
func (g *globals) answer(cmd *cobra.Command, id string, a orchestrate.Answer) error {
	a.By = localUser().Name
	var said string
	err := g.withHost(cmd.Context(), func(h host) (err error) {
		if a.Text != "" {
			if a.Text, err = read(cmd.Context(), h, id, a.Text); err != nil {
				return err
			}
		}
		said, err = h.answer(cmd.Context(), id, a)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return g.noItem(id, err)
	case errors.Is(err, orchestrate.ErrAnswer):
		return wrong(err, "")
	case err != nil:
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
	return err
}

// read reads a text as an answer to what an item asks, as a session does.
func read(ctx context.Context, h host, id, text string) (string, error) {
	i, err := h.item(ctx, id)
	if err != nil || i.Kind != "question" && i.Kind != "elicitation" {
		return text, err // what does not fit is said by who takes the answer
	}
	a, _, err := readAnswer(*i, text)
	if err != nil {
		return "", fmt.Errorf("%w: %w", orchestrate.ErrAnswer, err)
	}
	return a.Text, nil
}

func (g *globals) noItem(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) && !errors.Is(err, errNoData) {
		return wrong(fmt.Errorf("there is no inbox item %q", id), fmt.Sprintf("`%s` lists what waits", g.command("inbox")))
	}
	return err
}
