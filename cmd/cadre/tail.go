// cadre tail: follows a chat that somebody else works on.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/client"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/view"
)

// tailOptions are the flags of cadre tail.
type tailOptions struct {
	json  bool
	since int64
	chat  string
}

func newTail(g *globals) *cobra.Command {
	o := &tailOptions{}
	cmd := &cobra.Command{
		Use:   "tail CHAT",
		Short: "Follow a chat as it goes on",
		Long: `Shows what happens in a chat from now on, until Ctrl-C: messages, agents that
start and end, what waits for you. With --json each committed change and each
piece of a reply is one line of JSON, as with cadre run --json.

It asks the process that owns the data folder; where there is none, it waits for
changes in the folder, and pieces of replies are not shown.`,
		Example:           "  cadre tail k3f9xw2m1a\n  cadre tail k3f9xw2m1a --json --since 0 | jq .type",
		Args:              exactly("CHAT"),
		ValidArgsFunction: g.completeChats,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			o.chat = args[0]
			if cmd.Flags().Changed("since") && o.since < 0 {
				return usage("--since is %d; it must be the number of a change, or 0", o.since)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			err := g.tail(ctx, cmd.OutOrStdout(), o)
			if ctx.Err() != nil {
				return nil // who follows has seen enough
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object a line")
	cmd.Flags().Int64Var(&o.since, "since", -1, "begin after this change; 0: with the first one (default: now)")
	g.server.add(cmd.Flags())
	return cmd
}

// tail follows the chat through whoever owns the folder, or else in the folder.
func (g *globals) tail(ctx context.Context, out io.Writer, o *tailOptions) error {
	dir, err := g.folder()
	if err != nil {
		return err
	}
	c, err := g.reach(ctx, dir)
	if err == nil {
		defer c.Close()
		h := &serverHost{c: c}
		h.outcomes(o.chat)
		return g.tailAt(ctx, out, o, h, h.LastSeq, func(since int64) <-chan happening { return h.watch(ctx, o.chat, since) })
	}
	if !errors.Is(err, store.ErrInUse) {
		return err
	}
	st, err := g.look()
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }() // it only reads
	return g.tailAt(ctx, out, o, st, st.LastSeq, func(since int64) <-chan happening { return poll(ctx, st, o.chat, since) })
}

// pollTime is how often a folder is looked at whose owner does not answer.
const pollTime = 250 * time.Millisecond

// poll finds the changes of a chat in a data folder.
func poll(ctx context.Context, st *sqlite.Store, chat string, since int64) <-chan happening {
	out := make(chan happening)
	go func() {
		tick := time.NewTicker(pollTime)
		defer tick.Stop()
		for {
			changes, upTo, err := st.Changes(ctx, since, 256, store.Filter{Chat: chat})
			for i := range changes {
				if !tell(ctx, out, happening{item: feedItem{Change: &changes[i]}}) {
					return
				}
			}
			if err != nil {
				tell(ctx, out, happening{err: err})
				return
			}
			since = max(since, upTo)
			if len(changes) > 0 {
				continue
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func (g *globals) tailAt(ctx context.Context, out io.Writer, o *tailOptions, from view.Source, newest func(context.Context) (int64, error), watch func(int64) <-chan happening) error {
	since, err := newest(ctx)
	if err != nil {
		return err
	}
	if _, err := g.findChat(ctx, from, o.chat); err != nil {
		return err
	}
	t := &tailed{out: out, chat: o.chat, tree: view.NewTree()}
	if o.json {
		t.json = view.NewJSON(out)
	}
	if o.since >= 0 {
		since = o.since
	} else if !o.json {
		if t.tree, err = view.Load(ctx, from, o.chat); err != nil {
			return err
		}
	}
	t.plain = view.NewPlain(out, t.tree)
	events := watch(since)
	for {
		select {
		case h := <-events:
			var gone *client.GoneError
			if errors.As(h.err, &gone) && gone.Snapshot != nil { // an older data folder was put in place
				if err := t.anew(ctx, from, gone); err != nil {
					return err
				}
				events = watch(gone.Seq)
				continue
			}
			if h.err != nil {
				return fmt.Errorf("following the changes: %w", h.err)
			}
			if err := t.show(h.item); err != nil || t.gone {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tailed shows a chat.
type tailed struct {
	out   io.Writer
	chat  string
	tree  *view.Tree
	plain *view.Plain
	json  *view.JSON
	busy  bool
	gone  bool // the chat was deleted
}

// anew begins with what is there now. Lines of JSON go on with a smaller number,
// which tells the same.
func (t *tailed) anew(ctx context.Context, from view.Source, gone *client.GoneError) (err error) {
	if t.json != nil {
		return nil
	}
	if t.tree, err = view.Load(ctx, from, t.chat); err != nil {
		return err
	}
	t.plain, t.busy = view.NewPlain(t.out, t.tree), false
	return t.line("The feed begins anew: " + gone.Why + ".")
}

func (t *tailed) show(item feedItem) error {
	if item.Delta != nil {
		if t.json == nil {
			return nil // what is said is shown when it is said
		}
		return t.json.Delta(*item.Delta, time.Now())
	}
	c := *item.Change
	for _, d := range c.Docs {
		t.gone = t.gone || d.Deleted && d.ID == t.chat
	}
	if t.json != nil {
		return t.json.Change(c)
	}
	t.tree.Change(c)
	if t.gone {
		return t.line("The chat was deleted.")
	}
	for _, d := range c.Docs {
		if err := t.document(d.Data); err != nil {
			return err
		}
	}
	t.plain.Update(t.tree, time.UnixMilli(c.At))
	for _, s := range t.tree.Said() {
		if err := t.line(view.Clean(t.tree.Root.Name) + ": " + view.Clean(s.Text)); err != nil {
			return err
		}
	}
	if rest := t.tree.AtRest(); rest && t.busy {
		t.busy = false
		return t.line("All is at rest.")
	} else if !rest {
		t.busy = true
	}
	return nil
}

// document tells of messages of the user and of what waits for them.
func (t *tailed) document(data any) error {
	switch d := data.(type) {
	case store.Message:
		if d.Kind != string(message.KindUser) || d.Pos < 0 {
			return nil
		}
		m, err := d.Decode()
		if err != nil {
			return err
		}
		to := ""
		if d.Agent != t.chat && t.tree.Agent(d.Agent) != nil {
			to = " to " + view.Clean(t.tree.Agent(d.Agent).Name)
		}
		return t.line("you" + to + ": " + view.Clean(m.Text()))
	case store.Item:
		if d.Status == "open" {
			return t.line(fmt.Sprintf("%s waits for you (%s): %s", view.ItemHead(d), d.ID, view.Cut(view.ItemLine(d), 200)))
		}
	}
	return nil
}

func (t *tailed) line(text string) error {
	_, err := fmt.Fprintln(t.out, text)
	return err
}
