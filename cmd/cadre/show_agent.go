// cadre show AGENT: what one agent was asked, said, did and found.

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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
	transcript, err := view.LoadTranscript(ctx, s.st, id)
	if err != nil {
		return err
	}
	asOf := time.UnixMilli(tree.Newest())
	a := tree.Agent(id)
	if s.json {
		return json.NewEncoder(s.out).Encode(struct {
			shownAgent
			*view.Transcript
		}{describe(tree, a, asOf), transcript})
	}
	text, err := s.agentText(tree, a, transcript, asOf)
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.out, text)
	return err
}

func (s *shower) agentText(t *view.Tree, a *view.Agent, transcript *view.Transcript, asOf time.Time) (string, error) {
	var b strings.Builder
	sum := a.Sum()
	model := ""
	if a.Model != "" { // a run of a tool has none
		model = " · " + view.Clean(a.Model)
	}
	fmt.Fprintf(&b, "%s\nagent %s · role %s%s · %s · %s · %s · %s tokens · %s\n", view.Clean(a.Path), a.ID, view.Clean(a.Role), model,
		view.Word(a.Status), view.Duration(t.Elapsed(a, asOf)), counted(a.Turns, "turn"), view.Tokens(sum.Tokens), view.Money(sum.Cost, !sum.Unpriced))
	said := "" // the newest reply
	incidents := transcript.Incidents()
	for _, row := range transcript.Messages {
		m, err := row.Decode()
		if err != nil {
			return "", fmt.Errorf("reading message %s: %w", row.ID, err)
		}
		for len(incidents) > 0 && incidents[0].At <= row.CreatedAt && m.Kind != message.KindResult {
			writeIncident(&b, incidents[0])
			incidents = incidents[1:]
		}
		writeMessage(&b, m)
		call := called(transcript, row.Call)
		if did := view.Did(call); did != "" {
			fmt.Fprintf(&b, "  (%s)\n", did)
		}
		if id := store.ArtifactID(call.Agent, call.Turn, call.Call); strings.Contains(call.Result+call.Error, id) {
			fmt.Fprintf(&b, "  (too large for the model; `%s` shows all of it)\n", s.g.command("show", id))
		}
		if m.Kind == message.KindReply {
			said = m.Text()
		}
	}
	for _, in := range incidents {
		writeIncident(&b, in)
	}
	if a.Task.Error != "" {
		section(&b, "It ended without success", a.Task.Error)
	}
	if r := a.Task.Result; r != "" && r != said {
		section(&b, "Result", a.Task.Result)
	}
	return b.String(), nil
}

// artifact writes out what a tool call left that was too large for its result.
func (s *shower) artifact(ctx context.Context, id string) error {
	a, err := s.st.Artifact(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return wrong(fmt.Errorf("there is no artifact %q", id), "the transcript of an agent (`cadre show AGENT`) names those that it has left")
	}
	if err != nil {
		return err
	}
	text := string(a.Data)
	if isTerminal(s.out) {
		text = view.Clean(text)
	}
	if s.json {
		return json.NewEncoder(s.out).Encode(struct {
			store.Artifact
			Text string `json:"text"`
		}{*a, text})
	}
	_, err = io.WriteString(s.out, text)
	return err
}

// called finds the tool call of an id.
func called(t *view.Transcript, id string) store.ToolCall {
	k := slices.IndexFunc(t.ToolCalls, func(c store.ToolCall) bool { return c.ID == id && id != "" })
	if k < 0 {
		return store.ToolCall{}
	}
	return t.ToolCalls[k]
}

// writeIncident tells what happened between two messages.
func writeIncident(b *strings.Builder, in view.Incident) {
	switch c := in.Call; {
	case c == nil:
		writeCompaction(b, in.Compaction)
	case c.Status == "lost":
		section(b, fmt.Sprintf("Model call lost: turn %d, try %d", c.Turn, c.Try), "The process ended before the reply was there."+next(in.Next))
	default:
		title := fmt.Sprintf("Model call failed (%s): turn %d, try %d, %s", cmp.Or(c.ErrorKind, "unknown"), c.Turn, c.Try, view.Clean(c.Model))
		section(b, title, cmp.Or(c.Error, "Nothing more is known.")+next(in.Next))
	}
}

func next(wait time.Duration) string {
	if wait <= 0 {
		return ""
	}
	return "\nThe next try began " + wait.Round(10*time.Millisecond).String() + " later."
}

// mostCleared is how many cleared results are named one by one.
const mostCleared = 8

func writeCompaction(b *strings.Builder, c *view.Compaction) {
	var text strings.Builder
	title := "History shortened: " + counted(len(c.Cleared), "old result") + " cleared"
	switch {
	case c.Failed:
		section(b, "History could not be shortened", "It no longer fitted the model.")
		return
	case c.Summary > 0:
		title = "History shortened: " + counted(c.Replaced, "message") + " summarised"
		fmt.Fprintf(&text, "The summary that follows stands for them. They are kept on record, and above.\n")
	default:
		fmt.Fprintf(&text, "The model is sent a stub in their place. They are kept on record, and above.\n")
	}
	for i, r := range c.Cleared {
		if i == mostCleared && len(c.Cleared) > mostCleared+1 {
			fmt.Fprintf(&text, "… and %d more\n", len(c.Cleared)-i)
			break
		}
		fmt.Fprintf(&text, "%s, %s\n", view.Clean(r.Tool), counted(r.Characters, "character"))
	}
	fmt.Fprintf(&text, "%s tokens are left.", view.Tokens(c.Tokens))
	section(b, title, text.String())
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
