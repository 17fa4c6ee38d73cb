// cadre chat: a conversation with the orchestrator in the terminal.

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newChat(g *globals) *cobra.Command {
	o := &runOptions{talk: true, typed: true}
	cmd := &cobra.Command{
		Use:   "chat [flags] [PROMPT...]",
		Short: "Talk with the orchestrator in the terminal",
		Long: `Starts a chat, or goes on with one, and stays: type a message and press Enter.
You can type at any time, also while agents work; @NAME TEXT goes straight to
that agent, /stop NAME stops it. What agents ask is shown and answered here.
Ctrl-C stops all the work under way, Ctrl-D or /quit leaves; what is unfinished
then is gone on with by cadre run --resume.`,
		Example: "  cadre chat\n  cadre chat --chat k3f9xw2m1a\n  cadre chat \"What is in this folder?\"",
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			if !isTerminal(cmd.InOrStdin()) {
				return usage("cadre chat needs a terminal; in a script, use cadre run")
			}
			if err := o.place(); err != nil {
				return err
			}
			o.prompt = strings.Join(args, " ")
			return g.run(cmd, o)
		}),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.chat, "chat", "", "go on with this chat")
	f.StringVar(&o.cwd, "cwd", "", "the folder the agents work in (default: the current one)")
	f.StringVar(&o.model, "model", "", "the model (see cadre run)")
	f.StringVar(&o.role, "role", defaultRole, "the role of the orchestrator")
	f.StringVar(&o.permissions, "permissions", "", "what agents may do without asking: read-only, ask, edits or trusted")
	must(cmd.MarkFlagDirname("cwd"))
	return cmd
}

// talk takes messages until the person leaves. The first one may have come
// with the command line.
func (s *session) talk(ctx context.Context, turn func(context.Context) error) error {
	if s.o.prompt != "" {
		if err := turn(ctx); err != nil {
			return err
		}
	}
	for {
		fmt.Fprint(s.cmd.ErrOrStderr(), "> ")
		select {
		case line, ok := <-s.lines:
			text := strings.TrimSpace(line)
			if !ok || text == "/quit" || text == "/exit" {
				return nil
			}
			if text == "" {
				continue
			}
			s.o.prompt = text
			if err := turn(ctx); err != nil {
				return err
			}
		case <-s.stops.signals:
			return nil
		}
	}
}
