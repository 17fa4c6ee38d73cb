// cadre ps: the agents of all chats that are at work or wait.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/client"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/view"
)

func newPS(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List the agents that are at work or wait",
		Long: `Lists the agents of all chats that have not ended and have something to do or
to wait for: where each is in its tree, what it does, for whom or what it waits,
since when, and what it has used itself. It works whether a process owns the
data folder or not; without one the agents stand still until cadre serve or
cadre run --resume goes on with them.`,
		Example: "  cadre ps\n  cadre ps --json | jq .waitsFor",
		Args:    cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			rows, err := g.running(cmd.Context(), time.Now())
			if errors.Is(err, errNoData) && !asJSON {
				return sayEmpty(cmd.OutOrStdout(), g)
			}
			if err != nil {
				return err
			}
			return listRunning(cmd, rows, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	g.server.add(cmd.Flags())
	return cmd
}

// atWork is one line of cadre ps.
type atWork struct {
	ID       string `json:"id"`
	Chat     string `json:"chat"`
	Path     string `json:"path"`
	Role     string `json:"role"`
	Model    string `json:"model"`
	State    string `json:"state"`
	WaitsFor string `json:"waitsFor,omitempty"`
	Item     string `json:"item,omitempty"` // of the inbox, that it waits for
	Elapsed  int64  `json:"elapsedMs"`
	Turns    int    `json:"turns"`
	Tokens   int64  `json:"tokens"`
	Cost     *int64 `json:"costMicros"` // null: not known
}

// running reads the agents and what each waits for.
func (g *globals) running(ctx context.Context, now time.Time) (rows []atWork, err error) {
	var agents []store.Agent
	var items []store.Item
	given := map[string]int64{} // when chats got the message they work on
	err = g.read(ctx, func(st *sqlite.Store) (err error) {
		if agents, err = allRunning(ctx, st); err != nil {
			return err
		}
		if items, err = st.Inbox(ctx, store.InboxQuery{User: access.LocalUser}); err != nil {
			return err
		}
		return eachChat(agents, given, func(chat string) ([]store.Message, error) {
			last, _, err := st.ListMessages(ctx, store.OfAgent{Agent: chat, Window: store.Window{Limit: 50, Desc: true}})
			return last, err
		})
	}, func(c *client.Client) (err error) {
		if agents, err = c.Running(ctx); err != nil {
			return err
		}
		if items, err = c.Inbox(ctx, "", false); err != nil {
			return err
		}
		return eachChat(agents, given, func(chat string) ([]store.Message, error) { return c.LastMessages(ctx, chat) })
	})
	for _, a := range agents {
		p := atWork{
			ID: a.ID, Chat: a.ChatID, Path: a.Path, Role: a.Role, Model: a.Model, State: a.Status, Turns: a.Turns, Tokens: a.Tokens,
			Elapsed: max(now.UnixMilli()-max(a.CreatedAt, given[a.ID]), 0),
		}
		if !a.Unpriced {
			p.Cost = &a.Cost
		}
		p.WaitsFor, p.Item = waitsFor(a, items, now)
		rows = append(rows, p)
	}
	return rows, err
}

// allRunning reads all pages.
func allRunning(ctx context.Context, st *sqlite.Store) (all []store.Agent, err error) {
	w := store.Window{Limit: 1000}
	for {
		page, next, err := st.ListAgents(ctx, store.AgentList{User: access.LocalUser, Window: w})
		all = append(all, page...)
		if err != nil || next == nil {
			return all, err
		}
		w.After = next
	}
}

// eachChat notes when the orchestrators among the agents were last told
// something.
func eachChat(agents []store.Agent, given map[string]int64, last func(chat string) ([]store.Message, error)) error {
	for _, a := range agents {
		if a.Depth > 0 {
			continue
		}
		messages, err := last(a.ID)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.Kind == string(message.KindUser) {
				given[a.ID] = max(given[a.ID], m.CreatedAt)
			}
		}
	}
	return nil
}

// waitsFor says for whom or what an agent waits, and which inbox item that is.
func waitsFor(a store.Agent, items []store.Item, now time.Time) (what, item string) {
	for _, i := range items {
		if i.Agent == a.ID && i.Status == "open" {
			return "you: " + i.Kind, i.ID
		}
	}
	switch {
	case a.Live > 0:
		return view.Count(a.Live, "sub-agent"), ""
	case a.Why == "":
		return "", ""
	}
	what = "model: " + strings.ReplaceAll(a.Why, "_", " ")
	if a.Until > now.UnixMilli() {
		what += ", " + view.Duration(time.UnixMilli(a.Until).Sub(now))
	}
	return what, ""
}

func listRunning(cmd *cobra.Command, rows []atWork, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		for _, p := range rows {
			if err := json.NewEncoder(out).Encode(p); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(out, "No agent is at work.")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tPATH\tROLE\tSTATE\tWAITS FOR\tELAPSED\tTOKENS\tCOST")
	for _, p := range rows {
		cost, waits := int64(0), strings.TrimSpace(p.WaitsFor+" "+p.Item)
		if p.Cost != nil {
			cost = *p.Cost
		}
		if waits == "" {
			waits = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.ID, view.Clean(p.Path), view.Clean(p.Role), view.Word(p.State), view.Clean(waits),
			view.Duration(time.Duration(p.Elapsed)*time.Millisecond), view.Tokens(p.Tokens), view.Money(cost, p.Cost != nil))
	}
	return w.Flush()
}
