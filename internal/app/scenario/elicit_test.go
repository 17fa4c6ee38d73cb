// Tools that ask in the middle of their run, and messages that arrive while
// something else waits for the user.

package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/tool"
)

// form is a tool that asks the user for a name, as a tool server would.
func form() tool.Tool {
	return tool.Tool{
		Name: "mcp__test__form", Description: "a form", Class: tool.Reads, Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(ctx context.Context, env tool.Env, _ json.RawMessage) (tool.Result, error) {
			a, err := env.Ask(ctx, tool.Question{Text: "Your name?", From: "server test", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
			if err != nil {
				return tool.Result{}, err
			}
			if a.Declined {
				return tool.Text("declined"), nil
			}
			return tool.Text("fields " + string(a.Fields) + " text " + a.Text), nil
		},
	}
}

const filling = `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: general, task: fill it in}}]
      - text: "{{last_result}}"
  - match: {role: general}
    turns:
      - calls: [{tool: mcp__test__form, input: {}}]
      - text: "{{last_result}}"
`

// TestElicitation: a tool's question reaches the inbox, and its answer the
// tool. It ends with the process that ran the tool; one that only reads is run
// again, and asks again.
func TestElicitation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer orchestrate.Answer
		want   string
	}{
		"answered": {orchestrate.Answer{Text: `{"name":"Ann"}`}, `fields {"name":"Ann"}`},
		"in words": {orchestrate.Answer{Text: "42"}, "fields  text 42"},
		"declined": {orchestrate.Answer{Refuse: true}, "declined"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, setup{Script: filling, Tools: tools(form())})
			w.say("go")
			first := w.item("elicitation", "k.1")
			if !strings.Contains(first.Action, "Your name?") || first.Reason != "server test" {
				t.Errorf("the item shows %s for %s", first.Action, first.Reason)
			}
			w.answer(first, c.answer)
			w.end()
			w.wants("result of mcp__test__form: " + c.want)
		})
	}
	t.Run("expired", func(t *testing.T) {
		t.Parallel()
		w := begin(t, setup{Script: filling, Tools: tools(form()), Config: "questions:\n  timeout: 100ms\n"})
		w.say("go")
		w.end()
		w.wants("result of mcp__test__form: declined")
		if got := w.closed("k.1-i1"); got.How != "expired" || got.Default != "decline" || got.Deadline == 0 {
			t.Errorf("nobody answered, and it is %+v", got)
		}
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		w := begin(t, setup{Script: filling, Tools: tools(form())})
		w.say("go")
		first := w.item("elicitation", "k.1")
		w.restart()
		second := w.item("elicitation", "k.1")
		if got := w.closed(first.ID); got.How != "withdrawn" || second.ID == first.ID {
			t.Errorf("the question of a tool that is gone is %s (%s), now waits %s", got.Status, got.How, second.ID)
		}
		w.answer(second, orchestrate.Answer{Text: `{"name":"Ann"}`})
		w.end()
		w.wants(`result of mcp__test__form: fields {"name":"Ann"}`)
	})
}

// TestElicitationSurvivesKills: wherever the process is killed, the tool gets
// an answer in the end; how often it had to ask may differ.
func TestElicitationSurvivesKills(t *testing.T) {
	t.Parallel()
	const filled = `result of mcp__test__form: fields {"name":"Ann"}`
	killed(t, always(setup{Script: filling, Tools: tools(form())}, func(w *world) {
		w.say("go")
		w.until("it is filled in", func() bool {
			for _, i := range w.inbox() {
				_, err := w.app.Inbox.Answer(w.Context(), i.ID, orchestrate.Answer{By: "ann", Text: `{"name":"Ann"}`})
				if err != nil && !errors.Is(err, orchestrate.ErrAnswered) && !errors.Is(err, engine.ErrClosed) {
					w.Error(err)
				}
			}
			return strings.Contains(w.transcript(), filled)
		})
	}), func(_, got string) bool { return strings.Contains(got, filled) })
}

// TestMessageWhileApprovalWaits: neither is lost: the approval goes on
// waiting, and the message is read when it is answered.
func TestMessageWhileApprovalWaits(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, always(setup{Mode: "ask", Script: `
agents:
  - match: {role: main}
    turns:
      - when: {user: and be quick}
        text: I was quick.
      - calls: [{tool: Write, input: {file_path: new.txt, content: x}}]
      - text: written
`}, func(w *world) {
		w.say("write it")
		i := w.item("approval", "k")
		w.say("and be quick")
		if got := w.closed(i.ID); got.Status != "open" {
			w.Errorf("the approval is %s (%s)", got.Status, got.How)
		}
		w.allow(i, permission.Once)
		w.reads("I was quick.")
	}))
}

// TestLateWork: what is detached, continued and told survives kills.
func TestLateWork(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		g := &gates{}
		return setup{Tools: tools(g.tool()), Script: `
agents:
  - match: {role: main}
    turns:
      - when: {user: how far}
        calls: [{tool: message_agent, input: {agent: general, message: hurry up}}]
      - when: {result: will read it}
        text: It is told.
      - when: {user: once more}
        calls: [{tool: continue_agent, input: {agent: general, task: and again}}]
      - when: {result: again done}
        text: Twice.
      - when: {result: sub_agent_results}
        text: Once.
      - calls: [{tool: spawn_agents, input: {tasks: [{task: slow work}]}}]
      - text: not reached
  - match: {task: again}
    turns:
      - text: not reached
      - text: not reached
      - calls: [{tool: submit_result, input: {result: again done}}]
  - match: {}
    turns:
      - calls: [{tool: mcp__test__hold, input: {name: slow}}]
      - calls: [{tool: submit_result, input: {result: first done}}]
`}, func(w *world) {
				w.say("go")
				w.awaits("k.1", "acting")
				w.say("how far?")
				w.reads("It is told.")
				g.let("slow")
				w.reads("Once.")
				w.say("once more")
				w.reads("Twice.")
				w.rest()
				w.wants("running, task k.1", "result of message_agent", "results:", "reply: Once.", "result of continue_agent", "reply: Twice.", "== main/general (k.1)", "user: hurry up", "== main/general (k.2, continues k.1)", "user: hurry up", "task: and again")
			}
	})
}
