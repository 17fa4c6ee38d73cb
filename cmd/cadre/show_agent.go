// cadre show AGENT: what one agent was asked, said, did and found.

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

// agent shows one agent. An orchestrator's id is that of its chat.
func (s *shower) agent(ctx context.Context, id string) error {
	row, err := s.st.Agent(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		chat, _, _ := strings.Cut(id, ".")
		return wrong(fmt.Errorf("there is no agent %q", id), fmt.Sprintf("`%s` shows the agents", s.g.command("show", chat)))
	}
	if err != nil {
		return err
	}
	tree, err := view.Load(ctx, s.st, row.ChatID)
	if err != nil {
		return err
	}
	messages, err := s.st.Messages(ctx, id, store.Page{})
	if err != nil {
		return err
	}
	asOf := time.UnixMilli(tree.Newest())
	a := tree.Agent(id)
	if s.json {
		return json.NewEncoder(s.out).Encode(struct {
			shownAgent
			Messages []store.Message `json:"messages"`
		}{describe(tree, a, asOf), messages})
	}
	text, err := s.agentText(tree, a, messages, asOf)
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.out, text)
	return err
}

func (s *shower) agentText(t *view.Tree, a *view.Agent, messages []store.Message, asOf time.Time) (string, error) {
	var b strings.Builder
	sum := a.Sum()
	fmt.Fprintf(&b, "%s\nagent %s · role %s · %s · %s · %s · %s · %s tokens · %s\n", view.Clean(a.Path), a.ID, view.Clean(a.Role), view.Clean(a.Model),
		view.Word(a.Status), view.Duration(t.Elapsed(a, asOf)), counted(a.Turns, "turn"), view.Tokens(sum.Tokens), view.Money(sum.Cost, !sum.Unpriced))
	said := "" // the newest reply
	for _, row := range messages {
		m, err := row.Decode()
		if err != nil {
			return "", fmt.Errorf("reading message %s: %w", row.ID, err)
		}
		writeMessage(&b, m)
		if m.Kind == message.KindReply {
			said = m.Text()
		}
	}
	if a.Task.Error != "" {
		section(&b, "It ended without success", a.Task.Error)
	}
	if r := a.Task.Result; r != "" && r != said {
		section(&b, "Result", a.Task.Result)
	}
	return b.String(), nil
}

func section(b *strings.Builder, title, text string) {
	fmt.Fprintf(b, "\n%s\n", title)
	for _, line := range strings.Split(strings.TrimRight(view.Clean(text), "\n"), "\n") {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// toolLines is how many lines of a tool's result are shown; the whole is in
// the JSON.
const toolLines = 6

func writeMessage(b *strings.Builder, m message.Message) {
	switch m.Kind {
	case message.KindTask:
		section(b, "Task", m.Text())
	case message.KindUser:
		section(b, "User", m.Text())
	case message.KindNote:
		section(b, "Note", m.Text())
	case message.KindSummary:
		section(b, "Summary of what came before", m.Text())
	case message.KindResults:
		section(b, "Results of sub-agents", shorten(m.Text()))
	case message.KindReply:
		if text := m.Text(); text != "" {
			section(b, "Says", text)
		}
		for _, c := range m.Calls() {
			fmt.Fprintf(b, "\nUses %s: %s\n", view.Clean(c.Name), view.Use(c.Name, c.Input))
		}
	case message.KindResult:
		for _, p := range m.Parts {
			if r, ok := p.(message.ToolResult); ok {
				title := "Result of " + view.Clean(r.Name)
				if r.IsError {
					title = "Error of " + view.Clean(r.Name)
				}
				section(b, title, shorten(cmp.Or(message.Text(r.Parts), "(no text)")))
			}
		}
	}
}

func shorten(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = view.Cut(line, 300)
	}
	if n := len(lines) - toolLines; n > 1 {
		lines = append(lines[:toolLines], fmt.Sprintf("… and %d more lines", n))
	}
	return strings.Join(lines, "\n")
}
