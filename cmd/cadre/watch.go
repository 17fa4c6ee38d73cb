// Watching a chat: what the feed tells, until the command has seen enough.

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

// show passes an item of the feed to the model and to the printer.
func (s *session) show(item feed.Item) error {
	if d := item.Delta; d != nil {
		now := time.Now()
		s.tree.Delta(*d, now)
		return s.out.delta(*d, now)
	}
	return s.change(*item.Change)
}

func (s *session) change(c store.Change) error {
	if c.Seq <= s.since {
		return nil
	}
	s.since = c.Seq
	for _, d := range c.Docs {
		if item, ok := d.Data.(store.Item); ok {
			s.noteItem(item)
			if item.How == "answered_for_user" {
				if err := s.out.note(fmt.Sprintf("%s: %s\n  The orchestrator answered for you: %s\n  Say otherwise if that is wrong.",
					view.ItemHead(item), view.ItemLine(item), view.Cut(view.FirstLine(view.Clean(item.Answer)), 200))); err != nil {
					return err
				}
			}
		}
	}
	s.tree.Change(c)
	return s.out.change(c)
}

// finish shows what was committed up to the end, and the end.
func (s *session) finish(ctx context.Context, o agent.Outcome) error {
	if err := s.host.rest(ctx, s.chat, s.since, s.change); err != nil {
		return err
	}
	s.tree.Finish(o)
	_, done, err := s.host.ending(ctx, s.chat)
	if err != nil {
		return err
	}
	if err := s.out.done(s.tree, done, o); err != nil {
		return err
	}
	if err := s.tellWork(ctx); err != nil {
		return err
	}
	return s.outcome(done, o)
}

// tellWork tells what agents have left in worktrees for the user to decide
// about: nothing of it is in the folder yet.
func (s *session) tellWork(ctx context.Context) error {
	items, err := s.host.inbox(ctx, s.chat)
	if err != nil {
		return fmt.Errorf("reading the inbox: %w", err)
	}
	for _, i := range items {
		if i.Kind == "worktree" && i.Status == "open" && !s.o.json {
			fmt.Fprintf(s.cmd.ErrOrStderr(), "%s: %s\n  decide: %s (or merge, keep, discard)\n", view.ItemHead(i), view.Cut(view.ItemLine(i), 100), s.g.command("inbox", "settle", i.ID, "accept"))
		}
	}
	return nil
}

// outcome is what the command ends with: why the run did not complete, what was
// kept, and how to go on.
func (s *session) outcome(d view.Done, o agent.Outcome) error {
	var err error
	look, more := s.g.command("show", s.chat), s.g.command("run", "--chat", s.chat, `"..."`)
	switch o.Reason {
	case agent.ReasonCompleted:
		return nil
	case agent.ReasonCancelled, agent.ReasonSuperseded:
		err = fmt.Errorf("cancelled; %s", s.kept(d))
	case agent.ReasonFailed, agent.ReasonInterrupted:
		err = fmt.Errorf("the run failed (%s): %s", d.ErrorKind, d.Error)
		if d.ErrorKind == "" {
			err = fmt.Errorf("the run %s", view.Word(string(o.Reason)))
		}
	case agent.ReasonPartial:
		err = errors.New("the answer is incomplete: the model's output limit cut it twice")
	case agent.ReasonTimeout:
		err = fmt.Errorf("stopped by the time limit; %s", s.kept(d))
	case agent.ReasonMaxTurns:
		err = fmt.Errorf("stopped by the turn limit; %s", s.kept(d))
	case agent.ReasonBudget:
		err = fmt.Errorf("stopped by the budget; %s", s.kept(d))
	}
	return stopped(o.Reason, err, fmt.Sprintf("look: %s\n  go on: %s", look, more))
}

// kept says what there is of a run that was stopped.
func (s *session) kept(d view.Done) string {
	var kept []string
	if d.Result != "" {
		kept = append(kept, "the text so far")
	}
	switch n := s.tree.Counts().Completed; n {
	case 0:
	case 1:
		kept = append(kept, "the result of 1 sub-agent that had finished")
	default:
		kept = append(kept, fmt.Sprintf("the results of %d sub-agents that had finished", n))
	}
	if len(kept) == 0 {
		return "the conversation so far is kept"
	}
	return "kept: " + strings.Join(kept, " and ")
}
