// Small things that several commands share: arguments, completion, counting.

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

func counted(n int, noun string) string { return view.Count(n, noun) }

// exactly demands the named arguments.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage("%s is missing", strings.Join(names[len(args):], " "))
		case len(args) > len(names):
			return usage("%q is one argument too many", args[len(names)])
		}
		return nil
	}
}

// atMost allows up to n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return usage("%q is one argument too many", args[n])
		}
		return nil
	}
}

// completeChats completes the id of a chat, newest first.
func (g *globals) completeChats(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	st, err := g.look()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer func() { _ = st.Close() }() // it only reads
	chats, err := st.Chats(cmd.Context(), store.ChatQuery{Page: store.Page{Limit: 50}})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids := make([]string, len(chats))
	for i, c := range chats {
		ids[i] = c.ID + "\t" + view.FirstLine(view.Clean(c.Title))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
