// cadre chat: a conversation with the orchestrator in the terminal.

package main

import (
	"context"
	"errors"
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
that agent, /stop NAME stops it, /model NAME chooses what answers from your
next message on. What agents ask is shown and answered here;
/say TEXT is for the orchestrator even while a question waits.
Ctrl-C stops all the work under way, Ctrl-D or /quit leaves; what is unfinished
then is gone on with by cadre run --resume.`,
		Example: "  cadre chat\n  cadre chat --chat k3f9xw2m1a\n  cadre chat \"What is in this folder?\"",
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			if err := o.asStarted(cmd, "cwd", "role"); err != nil {
				return err
			}
			if !isTerminal(cmd.InOrStdin()) {
				return usage("cadre chat needs a terminal; in a script, use cadre run")
			}
			o.placed = cmd.Flags().Changed("cwd")
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
	f.StringVar(&o.model, "model", "", "the model (see cadre run); of a chat that exists: from the next message on")
	f.StringVar(&o.role, "role", defaultRole, "the role of the orchestrator")
	f.StringVar(&o.permissions, "permissions", "", "what agents may do without asking: read-only, ask, edits or trusted")
	g.server.add(f)
	must(cmd.MarkFlagDirname("cwd"))
	return cmd
}

// talk takes messages until the person leaves. The first one may have come
// with the command line; what an earlier process left unfinished is gone on
// with first.
func (s *session) talk(ctx context.Context, turn func(context.Context) error) error {
	begun, err := s.host.unfinished(ctx, s.chat)
	if err != nil {
		return err
	}
	if s.o.prompt != "" || begun {
		if err := turn(ctx); err != nil {
			return left(err)
		}
	}
	for {
		fmt.Fprint(s.cmd.ErrOrStderr(), "> ")
		select {
		case line, ok := <-s.lines:
			text := strings.TrimSpace(line)
			if !ok || leaves(text) {
				return nil
			}
			if text == "" {
				continue
			}
			if _, ok := ordered(text, "/stop"); ok {
				fmt.Fprintln(s.cmd.ErrOrStderr(), "Nothing is at work.")
				continue
			}
			if name, ok := ordered(text, "/model"); ok {
				said, err := s.useModel(ctx, name)
				if err != nil {
					return err
				}
				fmt.Fprintln(s.cmd.ErrOrStderr(), said)
				continue
			}
			s.o.prompt = strings.TrimPrefix(text, "/say ")
			if err := turn(ctx); err != nil {
				return left(err)
			}
		case <-s.stops.signals:
			return nil
		}
	}
}

// errLeft tells that the person has left while agents were at work.
var errLeft = errors.New("left")

// left is the end of a conversation: to leave it is no failure.
func left(err error) error {
	if errors.Is(err, errLeft) {
		return nil
	}
	return err
}

// leaves tells whether a line ends the conversation.
func leaves(line string) bool {
	text := strings.TrimSpace(line)
	return text == "/quit" || text == "/exit"
}
