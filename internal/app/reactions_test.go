// The table of named reactions, held against a run in which all of them occur.

package app

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/store"
)

func TestMain(m *testing.M) {
	if code, ran := sandbox.Main(os.Args); ran {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

const allReactions = `
name: all reactions
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: researcher, task: "find out"}}]
      - text: "the end"
  - match: {role: researcher}
    turns:
      - calls: [{tool: Glob, input: {pattern: "*"}}]
      - calls: [{tool: ask_user, input: {question: "which one?"}}]
      - calls: [{tool: submit_result, input: {summary: "found"}}]
  - match: {role: consult}
    turns: [{calls: [{tool: ask_user, input: {}}]}]
`

// runReactions plays the script to its end and returns the app, still open.
func runReactions(t *testing.T) (*App, string) {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "script.yaml")
	if err := os.WriteFile(script, []byte(allReactions), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := Open(Options{Data: filepath.Join(dir, "data"), Dir: dir, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := a.Performer.NewChat(orchestrate.Root{Role: "main", Model: "scripted:" + script, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c.User = store.User{ID: "u"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	chat, err := a.Engine.CreateChat(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	done, forget := a.Engine.Outcomes(chat)
	defer forget()
	if err := a.Engine.Send(ctx, chat, "m1", message.Of(message.User, message.KindUser, "go"), nil); err != nil {
		t.Fatal(err)
	}
	for answered := false; ; {
		select {
		case o := <-done:
			if !o.Success() || !answered {
				t.Fatalf("ended as %s, answered: %v", o.Reason, answered)
			}
			return a, chat
		case <-time.After(20 * time.Millisecond):
			items, err := a.Store.Inbox(ctx, store.InboxQuery{Chat: chat})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range items {
				if i.Status == "open" {
					if _, err := a.Inbox.Answer(ctx, i.ID, orchestrate.Answer{By: "u", Text: "the first"}); err != nil {
						t.Fatal(err)
					}
					answered = true
				}
			}
		case <-ctx.Done():
			t.Fatal("it did not end")
		}
	}
}

func TestReactions(t *testing.T) {
	a, chat := runReactions(t)
	changes, _, err := a.Store.Changes(t.Context(), 0, 10_000, store.Filter{Chat: chat})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range agent.Reactions() {
		t.Run(r.Name, func(t *testing.T) {
			id := chat
			if r.Of == "sub-agent" {
				id = chat + ".1"
			}
			effects, err := effectsOf(t.Context(), a.Store, id, r.Event)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(effects, func(got []string) bool { return slices.Equal(got, r.Effects) }) {
				t.Errorf("%s of %s asks for %v, never for %v", r.Event, id, effects, r.Effects)
			}
			var seen [][]string
			for _, c := range changes {
				if c.Type != r.Event || c.Agent != id {
					continue
				}
				got := collections(c)
				if slices.Equal(got, r.Documents) {
					return
				}
				seen = append(seen, got)
			}
			t.Errorf("%s of %s changes %v, never %v", r.Event, id, seen, r.Documents)
		})
	}
}

// collections names what a change touched, ids left out.
func collections(c store.Change) []string {
	var out []string
	for _, d := range c.Docs {
		name := d.Collection
		if ok, err := path.Match("sub-agents/*/*", name); err == nil && ok {
			name = "sub-agents/*/" + path.Base(name)
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// effectsOf replays the log of an agent and returns the kinds of effect that
// each event of a type asked for.
func effectsOf(ctx context.Context, st store.Store, id, event string) ([][]string, error) {
	log, err := st.Log(ctx, id)
	if err != nil {
		return nil, err
	}
	var state agent.State
	var out [][]string
	for _, e := range log {
		if e.Verdict != store.Applied {
			continue
		}
		ev, err := agent.DecodeEvent(e.Type, e.Body)
		if err != nil {
			return nil, err
		}
		next, fx, err := agent.Step(state, ev)
		if err != nil {
			return nil, fmt.Errorf("replaying %s: %w", e.Type, err)
		}
		state = next
		if e.Type != event {
			continue
		}
		var names []string
		for _, f := range fx {
			names = append(names, reflect.TypeOf(f).Name())
		}
		slices.Sort(names)
		out = append(out, slices.Compact(names))
	}
	return out, nil
}

// TestReactionsAreDocumented: ARCHITECTURE.md has the same table.
func TestReactionsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range agent.Reactions() {
		row := fmt.Sprintf("| %s | %s (%s) | %s | %s | %s |", r.Name, r.Event, r.Of, r.When, strings.Join(r.Effects, ", "), strings.Join(r.Documents, ", "))
		if !strings.Contains(string(text), row) {
			t.Errorf("ARCHITECTURE.md lacks the row\n%s", row)
		}
	}
}
