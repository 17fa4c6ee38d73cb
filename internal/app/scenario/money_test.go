// Money: what a tree may spend, how it is shared out, and that no crash loses
// count of it.

package scenario_test

import (
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/store"
)

// costly is a model of which 1,000 tokens cost a cent.
const costly = "{max_output: 1000, price: {input: 10, output: 10}}"

// spends is a script in which main gives one task, limited to 50 cents, that
// takes three calls of 20 cents.
const spends = `
agents:
  - match: {role: main}
    turns:
      - {usage: {input: 4000, output: 0}, calls: [{tool: delegate_to_agent, input: {role: reviewer, task: look, limits: {cost: 0.5}}}]}
      - {usage: {input: 5000, output: 0}, text: "It says {{last_result}}"}
  - match: {role: reviewer}
    turns:
      - {usage: {input: 20000, output: 0}, text: so far, calls: [{tool: LS, input: {path: .}}]}
      - {usage: {input: 20000, output: 0}, text: so good, calls: [{tool: Read, input: {path: README.md}}]}
      - {usage: {input: 20000, output: 0}, text: all of it}
`

// spent checks that what an agent is charged is what its model calls cost, and
// that nothing is held any more: what was reserved has been returned.
func (w *world) spent() int64 {
	w.Helper()
	var all int64
	for _, a := range w.tree() {
		calls, err := w.app.Store.ModelCalls(w.Context(), a.ID)
		if err != nil {
			w.Fatal(err)
		}
		var sum int64
		for _, c := range calls {
			sum += c.Cost
		}
		if sum != a.Cost || a.Unpriced {
			w.Errorf("%s is charged %d, its calls cost %d", a.ID, a.Cost, sum)
		}
		all += sum
	}
	root := w.agent("k")
	if root.Cost+root.ChildCost != all {
		w.Errorf("the tree is charged %d and %d, its calls cost %d", root.Cost, root.ChildCost, all)
	}
	return all
}

// TestMoney: a child spends no more than what it was given; then the user is
// asked once, and either way the rest goes back. Its process is killed on the
// way.
func TestMoney(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(*world, store.Item)
		cents  int64 // what the undisturbed chat spends
		wants  []string
	}{
		"extended": {func(w *world, i store.Item) { w.allow(i, "") }, 69, []string{`"success":{"result":"all of it"}`, "== main/reviewer (k.1) completed"}},
		"refused":  {func(w *world, i store.Item) { w.deny(i, "enough") }, 49, []string{`"error_kind":"budget","partial_result":"so good"`, "== main/reviewer (k.1) budget"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killedEverywhere(t, func() (setup, func(*world)) {
				config := gateway(t, "openai", costly, spends, func([]byte) {})
				return setup{Model: "gateway/m", Config: config, Limits: agent.Limits{Cost: 1_000_000}}, func(w *world) {
					w.say("go")
					i := w.item("budget", "k.1")
					if a := w.agent("k.1"); a.MaxCost != 500_000 {
						w.Errorf("it was given %d", a.MaxCost)
					}
					c.answer(w, i)
					w.rest()
					// A call that was lost is not known to have cost something,
					// or it was made twice.
					if n := w.spent() / 10_000; n < c.cents-20 || n > c.cents+20 || w.kills == 0 && n != c.cents {
						w.Errorf("%d cents were spent", n)
					}
					w.wants(c.wants...)
					if n := strings.Count(w.transcript(), "budget of main/reviewer"); n != 1 {
						w.Errorf("the user was asked %d times", n)
					}
				}
			})
		})
	}
}

// TestMoneyIsShared: children of one spawn get equal shares of what their
// parent has left, and what they do not use is there for the next ones.
func TestMoneyIsShared(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Model: "gateway/m", Limits: agent.Limits{Cost: 1_000_000}, Config: gateway(t, "openai", costly, `
agents:
  - match: {role: main}
    turns:
      - {usage: {input: 1000, output: 0}, calls: [{tool: spawn_agents, input: {tasks: [{task: a}, {task: b}, {task: c}, {task: d}]}}]}
      - {usage: {input: 1000, output: 0}, calls: [{tool: delegate_to_agent, input: {role: general, task: e}}]}
      - {usage: {input: 1000, output: 0}, calls: [{tool: spawn_agents, input: {}, repeat: {key: tasks, count: 100, template: {task: "f {{i}}"}}}]}
      - {usage: {input: 1000, output: 0}, calls: [{tool: delegate_to_agent, input: {role: general, task: g, limits: {cost: 0.001}}}]}
      - text: "{{last_result}}"
  - match: {}
    turns: [{usage: {input: 1000, output: 0}, text: done}]
`, func([]byte) {})})
	w.say("go")
	w.end()
	if n := len(w.tree()); n != 6 {
		t.Errorf("there are %d agents", n)
	}
	w.wants("failure of spawn_agents: The budget does not suffice for 100 tasks", "failure of delegate_to_agent: The budget does not suffice", "would get $0.0010")
	share, next := w.agent("k.1").MaxCost, w.agent("k.5").MaxCost
	if share < 200_000 || share > 247_500 || w.agent("k.4").MaxCost != share {
		t.Errorf("each of four was given %d of 990,000", share)
	}
	if next < 850_000 || next > 940_000 {
		t.Errorf("the next was given %d of 940,000", next)
	}
	if n := w.spent(); n < 80_000 {
		t.Errorf("%d was spent", n)
	}
}

// TestNoPrice: a limit in money on a model without a price is refused before
// anything is spent.
func TestNoPrice(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Model: "gateway/m", Config: gateway(t, "openai", "{}", `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: general, task: a, limits: {cost: 1}}}]
      - text: "{{last_result}}"
`, func([]byte) {})})
	w.say("go")
	w.end()
	w.wants("failure of delegate_to_agent", "no known price", "No task was started")
}

// TestSummaryContext: a role whose tasks begin with a summary has one made for
// all tasks of a call, at the parent's cost, wherever the process is killed.
func TestSummaryContext(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		config := gateway(t, "openai", costly, `
agents:
  - match: {task: "[user] give me"}
    turns: [{usage: {input: 3000, output: 0}, text: the user wants the moon}]
  - match: {role: main}
    turns:
      - {usage: {input: 1000, output: 0}, text: I split this., calls: [{tool: spawn_agents, input: {tasks: [{task: a, role: aide}, {task: b, role: aide}, {task: c, role: aide}]}}]}
      - {usage: {input: 1000, output: 0}, text: done}
  - match: {role: aide}
    turns: [{usage: {input: 1000, output: 0}, text: seen}]
`, func([]byte) {})
		s := setup{Model: "gateway/m", Config: config, Limits: agent.Limits{Cost: 1_000_000}, Files: map[string]string{
			".cadre/agents/aide.md": "---\nname: aide\ndescription: helps\ncontext: summary\ntools: [Read]\n---\nYou help.\n",
		}}
		return s, func(w *world) {
			w.say("give me the moon")
			w.rest()
			for _, id := range []string{"k.1", "k.2", "k.3"} {
				if a := w.agent(id); a.ContextMode != "summary" || a.ContextTokens == 0 || !strings.Contains(w.history(id), "the user wants the moon") {
					w.Errorf("%s: mode %s, %d tokens\n%s", id, a.ContextMode, a.ContextTokens, w.history(id))
				}
			}
			if n := w.spent(); w.kills == 0 && n != 80_000 || n < 40_000 {
				w.Errorf("%d was spent", n)
			}
		}
	})
}

// TestContinuedLimits: an agent that goes on is limited as its role is.
func TestContinuedLimits(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Model: "gateway/m", Files: map[string]string{
		".cadre/agents/aide.md": "---\nname: aide\ndescription: helps\nmax_cost: 0.25\nmax_tokens: 50k\ntools: [Read]\n---\nYou help.\n",
	}, Config: gateway(t, "openai", costly, `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: aide, task: a}}]
      - calls: [{tool: continue_agent, input: {agent: aide, task: b}}]
      - text: done
  - match: {}
    turns: [{text: one}, {text: two}]
`, func([]byte) {})})
	w.say("go")
	w.end()
	for _, id := range []string{"k.1", "k.2"} {
		if a := w.agent(id); a.MaxCost != 250_000 || a.MaxTokens != 50_000 || a.Name != "aide" {
			t.Errorf("%s, %s: %d and %d tokens", id, a.Name, a.MaxCost, a.MaxTokens)
		}
	}
}
