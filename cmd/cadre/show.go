// cadre show: what there is, and what came of it.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

// shower shows things from a store that it only reads.
type shower struct {
	g     *globals
	st    store.Store
	out   io.Writer
	json  bool
	style view.Style
	width int
	now   time.Time
}

func newShow(g *globals) *cobra.Command {
	var asJSON, transcript bool
	limit := 20
	cmd := &cobra.Command{
		Use:   "show [CHAT | AGENT | ARTIFACT]",
		Short: "List the recent chats, or show the agents of one",
		Long: `Without an argument, lists the recent chats. With the id of a chat, shows its
agents: how each ended or what it does, turns, tokens, cost and time, the first
line of its result, and then the answer. With the id of an agent (CHAT.2,
CHAT.2.1), shows its task, what it said and did, model calls that failed, where
its history was shortened for the model, and its whole result. With --transcript
and the id of a chat, shows the same of its orchestrator. With the id of an
artifact, which a transcript names where a tool's result was too large for the
model, writes all of that result.

Nothing is changed, and it works while another process uses the data folder.`,
		Example: `  cadre show
  cadre show k3f9xw2m1a
  cadre show k3f9xw2m1a.2
  cadre show k3f9xw2m1a --transcript
  cadre show k3f9xw2m1a --json`,
		Args:              atMost(1),
		ValidArgsFunction: g.completeChats,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			st, err := g.look()
			if errors.Is(err, store.ErrNotFound) && len(args) == 0 && !asJSON {
				return sayEmpty(cmd.OutOrStdout(), g)
			}
			if err != nil {
				return err
			}
			defer func() { _ = st.Close() }() // it only reads
			s := newShower(g, cmd, st, asJSON)
			switch {
			case len(args) == 0:
				return s.chats(cmd.Context(), limit)
			case artifactID.MatchString(args[0]):
				return s.artifact(cmd.Context(), args[0])
			case strings.Contains(args[0], "."):
				return s.agent(cmd.Context(), args[0])
			case transcript:
				c, err := g.findChat(cmd.Context(), st, args[0])
				if err != nil {
					return err
				}
				return s.agent(cmd.Context(), c.ID)
			}
			return s.chat(cmd.Context(), args[0])
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object (for the list: one a line)")
	cmd.Flags().BoolVar(&transcript, "transcript", false, "of a chat: what its orchestrator said and did")
	cmd.Flags().IntVar(&limit, "limit", limit, "how many chats to list, 0 for all")
	return cmd
}

// artifactID is what the ids of artifacts look like, see store.ArtifactID.
var artifactID = regexp.MustCompile(`-a[0-9]+\.[0-9]+$`)

// pipeWidth is how wide lines are where there is no terminal that tells.
const pipeWidth = 120

func newShower(g *globals, cmd *cobra.Command, st store.Store, asJSON bool) *shower {
	s := &shower{g: g, st: st, out: cmd.OutOrStdout(), json: asJSON, now: time.Now(), width: pipeWidth}
	if isTerminal(s.out) && os.Getenv("TERM") != "dumb" {
		s.style = terminalStyle()
		s.style.Moving = false
		if w, _, err := term.GetSize(int(s.out.(*os.File).Fd())); err == nil {
			s.width = w
		}
	}
	return s
}

func sayEmpty(w io.Writer, g *globals) error {
	dir, err := g.folder()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "There are no chats in %s yet. Start one: cadre run \"...\"\n", dir)
	return err
}

// listed is a chat in a list.
type listed struct {
	store.Chat
	Outcome string `json:"outcome"`
	State   string `json:"state"`
}

func (s *shower) chats(ctx context.Context, limit int) error {
	if limit < 0 {
		return usage("--limit is %d; it must be 0 or more", limit)
	}
	chats, err := s.st.Chats(ctx, store.ChatQuery{Page: store.Page{Limit: limit}})
	if err != nil {
		return err
	}
	if len(chats) == 0 && !s.json {
		return sayEmpty(s.out, s.g)
	}
	for _, c := range chats {
		status, o, err := s.state(ctx, c.ID)
		if err != nil {
			return err
		}
		if s.json {
			if err := json.NewEncoder(s.out).Encode(listed{c, string(o.Reason), status}); err != nil {
				return err
			}
			continue
		}
		word := "unfinished"
		switch {
		case status == string(agent.StatusIdle) && o.Reason == "":
			word = "no run yet"
		case status == string(agent.StatusIdle):
			word = view.Word(string(o.Reason))
		}
		line := fmt.Sprintf("%s  %-12s  %-9s  %s", c.ID, word, age(s.now, c.UpdatedAt), view.FirstLine(view.Clean(c.Title)))
		if _, err := fmt.Fprintln(s.out, view.Cut(line, s.width)); err != nil {
			return err
		}
	}
	return nil
}

// state tells what a chat's orchestrator does and how its last run ended.
func (s *shower) state(ctx context.Context, chat string) (string, agent.Outcome, error) {
	st, _, err := engine.Load(ctx, s.st, chat)
	if err != nil {
		return "", agent.Outcome{}, err
	}
	return string(st.Status()), st.Last, nil
}

// age tells how long ago something was.
func age(now time.Time, ms int64) string {
	d := now.Sub(time.UnixMilli(ms))
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return fmt.Sprintf("%d d ago", d/(24*time.Hour))
}

func (s *shower) chat(ctx context.Context, id string) error {
	c, err := s.g.findChat(ctx, s.st, id)
	if err != nil {
		return err
	}
	tree, err := view.Load(ctx, s.st, c.ID)
	if err != nil {
		return err
	}
	status, o, err := s.state(ctx, c.ID)
	if err != nil {
		return err
	}
	over := status == string(agent.StatusIdle)
	if !over {
		o = agent.Outcome{}
	}
	d, err := view.Summarise(ctx, s.st, c.ID, o)
	if err != nil {
		return err
	}
	if over && o.Reason != "" {
		tree.Finish(o)
	}
	// Whether a process works on it cannot be known here: the time of agents
	// that have not ended counts up to the last thing that happened.
	asOf := time.UnixMilli(tree.Newest())
	if s.json {
		return json.NewEncoder(s.out).Encode(s.chatJSON(tree, d, status, asOf))
	}
	_, err = io.WriteString(s.out, s.chatText(tree, d, over, asOf))
	return err
}

func (s *shower) chatText(t *view.Tree, d view.Done, over bool, asOf time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", view.FirstLine(view.Clean(t.Chat.Title)))
	fmt.Fprintf(&b, "chat %s · %s · %s · started %s\n\n", t.Chat.ID, view.Clean(t.Chat.Model), view.Clean(t.Chat.Dir), age(s.now, t.Chat.CreatedAt))
	rows := t.Rows(view.RowOptions{Now: asOf, All: true})
	b.WriteString(strings.Join(s.style.Lines(rows, s.width, asOf), "\n") + "\n")
	if d.Error != "" {
		fmt.Fprintf(&b, "\nIt failed (%s): %s\n", d.ErrorKind, view.Clean(d.Error))
	}
	if d.Result != "" {
		fmt.Fprintf(&b, "\n%s\n", view.Prose(view.Clean(strings.TrimRight(d.Result, "\n")), s.width))
	}
	if !over {
		fmt.Fprintf(&b, "\nNot finished; last progress %s. If no process works on it, go on: %s\n",
			age(s.now, asOf.UnixMilli()), s.g.command("run", "--resume", "--chat", t.Chat.ID))
	}
	if d.Agents > 1 {
		fmt.Fprintf(&b, "\n%s shows what a sub-agent said and did.\n", s.g.command("show", t.Root.Children[0].ID))
	}
	return b.String()
}

type shownChat struct {
	Chat      store.Chat   `json:"chat"`
	State     string       `json:"state"`
	Outcome   string       `json:"outcome,omitempty"`
	ErrorKind string       `json:"error_kind,omitempty"`
	Error     string       `json:"error,omitempty"`
	Result    string       `json:"result"`
	Usage     any          `json:"usage"`
	CostUSD   *float64     `json:"cost_usd"`
	Agents    []shownAgent `json:"agents"`
}

type shownAgent struct {
	ID        string   `json:"id"`
	Parent    string   `json:"parent,omitempty"`
	Path      string   `json:"path"`
	Role      string   `json:"role"`
	Model     string   `json:"model"`
	State     string   `json:"state"`
	Ended     bool     `json:"ended"`
	WaitsFor  string   `json:"waits_for,omitempty"`   // at the model: a place, or a retry after a failure
	Until     string   `json:"waits_until,omitempty"` // if that is known
	ErrorKind string   `json:"error_kind,omitempty"`
	Error     string   `json:"error,omitempty"`
	Task      string   `json:"task,omitempty"`
	Result    string   `json:"result,omitempty"`
	Turns     int      `json:"turns"`
	Tokens    int64    `json:"tokens"` // its own
	CostUSD   *float64 `json:"cost_usd"`
	ElapsedMS int64    `json:"elapsed_ms"`
	ActiveMS  int64    `json:"active_ms"`
	CreatedAt string   `json:"created_at"`
}

func (s *shower) chatJSON(t *view.Tree, d view.Done, status string, asOf time.Time) shownChat {
	out := shownChat{
		Chat: t.Chat, State: status, Outcome: d.Outcome, ErrorKind: d.ErrorKind, Error: d.Error,
		Result: d.Result, Usage: d.Usage, CostUSD: view.USD(d.Cost),
	}
	var add func(a *view.Agent)
	add = func(a *view.Agent) {
		out.Agents = append(out.Agents, describe(t, a, asOf))
		for _, c := range a.Children {
			add(c)
		}
	}
	if t.Root != nil {
		add(t.Root)
	}
	return out
}

func describe(t *view.Tree, a *view.Agent, asOf time.Time) shownAgent {
	out := shownAgent{
		ID: a.ID, Parent: a.Agent.Parent, Path: a.Path, Role: a.Role, Model: a.Model, State: a.Status, Ended: a.Over(),
		ErrorKind: a.Task.ErrorKind, Error: a.Task.Error, Task: a.Task.Instruction, Result: a.Task.Result,
		Turns: a.Turns, Tokens: a.Tokens, ElapsedMS: t.Elapsed(a, asOf).Milliseconds(), ActiveMS: a.ActiveMS,
		CreatedAt: view.Time(a.CreatedAt), WaitsFor: a.Why,
	}
	if a.Until > 0 {
		out.Until = view.Time(a.Until)
	}
	if !a.Unpriced {
		out.CostUSD = view.USD(&a.Cost)
	}
	return out
}
