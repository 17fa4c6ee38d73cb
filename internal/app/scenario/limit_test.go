// Limits: depth, children, agents, budgets, loops, and what an agent may do
// because of whom it works for.

package scenario_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/agent"
)

func itoa(n int) string { return strconv.Itoa(n) }

// TestDepth: an agent at the greatest depth cannot delegate, whatever it says.
func TestDepth(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Script: `
agents:
  - match: {}
    turns:
      - calls: [{tool: spawn_agents, input: {tasks: [{task: "deeper than {{depth}}"}]}}]
      - text: "{{last_result}}"
`})
	w.say("go")
	w.end()
	if n := len(w.tree()); n != 3 {
		t.Errorf("there are %d agents", n)
	}
	w.wants("== main/general/general-2 (k.1.1)", `failure of spawn_agents: The tool "spawn_agents" is not available to you`)
}

// TestChildrenAndAgents: how many children an agent may have at once, and how
// many agents a chat.
func TestChildrenAndAgents(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Config: "agents:\n  max: 5\n", Role: "boss", Files: map[string]string{
		".cadre/agents/boss.md": "---\nname: boss\ndescription: a boss\nmax_parallel: 3\ntools: [\"*\"]\ncan_delegate: true\ndelegates: [general]\n---\nYou are the boss.\n",
	}, Script: `
agents:
  - match: {role: boss}
    turns:
      - calls: [{tool: spawn_agents, input: {}, repeat: {key: tasks, count: 4, template: {task: "part {{i}}"}}}]
      - calls: [{tool: spawn_agents, input: {}, repeat: {key: tasks, count: 3, template: {task: "piece {{i}}"}}}]
      - calls: [{tool: spawn_agents, input: {}, repeat: {key: tasks, count: 2, template: {task: "bit {{i}}"}}}]
      - text: "{{last_result}}"
  - match: {}
    turns: [{text: done}]
`})
	w.say("go")
	w.end()
	w.wants("failure of spawn_agents", "result of spawn_agents", "failure of spawn_agents")
	if n := len(w.tree()); n != 4 {
		t.Errorf("there are %d agents", n)
	}
}

const spending = `
agents:
  - match: {role: main}
    turns:
      - {text: one, usage: {input: 9000, output: 10}, calls: [{tool: LS, input: {path: .}}]}
      - {text: two, usage: {input: 9000, output: 10}, calls: [{tool: Read, input: {path: README.md}}]}
      - {text: three, usage: {input: 9000, output: 10}}
`

// TestBudget: near the end of its budget an agent asks once for more.
func TestBudget(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, config string, answer func(*world)) *world {
		t.Helper()
		w := begin(t, setup{Script: spending, Config: config, Limits: agent.Limits{Tokens: 20_000}})
		w.say("go")
		answer(w)
		w.end()
		return w
	}
	t.Run("denied", func(t *testing.T) {
		t.Parallel()
		w := run(t, "", func(w *world) { w.deny(w.item("budget", "k"), "enough") })
		w.wants("-- k-i1 budget of main", "denied by")
		if strings.Contains(w.history("k"), "reply: three") {
			t.Error("it went on")
		}
	})
	t.Run("allowed", func(t *testing.T) {
		t.Parallel()
		w := run(t, "", func(w *world) { w.allow(w.item("budget", "k"), "") })
		w.wants("reply: three", "-- k-i1 budget of main", "allowed by")
	})
	t.Run("expired", func(t *testing.T) {
		t.Parallel()
		w := run(t, "budget:\n  ask: 100ms\n", func(*world) {})
		w.wants("-- k-i1 budget of main", "expired")
		if i := w.closed("k-i1"); i.How != "expired" {
			t.Errorf("it was closed as %s", i.How)
		}
	})
}

// TestLoops: the same call with the same result three times is answered with
// what is known, and so is the same delegation.
func TestLoops(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: LS, input: {path: .}}]
      - calls: [{tool: LS, input: {path: .}}]
      - calls: [{tool: LS, input: {path: .}}]
      - calls: [{tool: LS, input: {path: .}}]
      - calls: [{tool: delegate_to_agent, input: {role: general, task: same}}]
      - calls: [{tool: delegate_to_agent, input: {role: general, task: same}}]
      - text: "{{last_result}}"
  - match: {task: same}
    turns: [{text: the answer}]
`})
	w.say("go")
	w.end()
	w.wants("result of LS", "result of LS", "result of LS", "failure of LS: Not run again", "README.md", "result of delegate_to_agent", "failure of delegate_to_agent: Not started again", "the answer")
	if n := len(w.tree()); n != 2 {
		t.Errorf("there are %d agents", n)
	}
}

// TestCapabilities: a role whose tools are wider than what its parent may
// delegate gets no more than that, at every depth; calling a tool that is
// hidden does nothing.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	role := func(name, tools, delegates string) string {
		return fmt.Sprintf("---\nname: %s\ndescription: d\ntools: [%s]\ndelegates: [%s]\n---\nYou are %s.\n", name, tools, delegates, name)
	}
	files := map[string]string{
		// reader may delegate to scribe, who could write; but reader's own
		// parent may only delegate to reader.
		".cadre/agents/boss.md":   role("boss", "Read, delegate_to_agent, spawn_agents", "reader"),
		".cadre/agents/reader.md": role("reader", "Read, delegate_to_agent, spawn_agents", "scribe"),
		".cadre/agents/scribe.md": role("scribe", "Read, Write, Bash, web_fetch, delegate_to_agent", "clerk"),
		".cadre/agents/clerk.md":  role("clerk", "Read, Write, Bash, web_fetch", ""),
	}
	try := `
      - calls:
          - {tool: Write, input: {file_path: "by-{{name}}.txt", content: x}}
          - {tool: Bash, input: {command: "touch by-{{name}}.txt"}}
          - {tool: web_fetch, input: {url: "http://example.com/"}}
          - {tool: settle_work, input: {agent: k.1, how: accept}}
          - {tool: reply_to_agent, input: {agent: k.1, answer: x}}
          - {tool: mcp__test__page, input: {}}
          - {tool: Planner, input: {task: x}}
          - {tool: no_such_tool, input: {}}`
	w := begin(t, setup{Role: "boss", Config: "agents: {depth: 3}\n", Files: files, Tools: tools(page("a page")), Script: `
agents:
  - match: {role: boss}
    turns:` + try + `
      - calls: [{tool: delegate_to_agent, input: {role: scribe, task: not allowed}}]
      - calls: [{tool: delegate_to_agent, input: {role: reader, task: one}}]
      - text: done
  - match: {role: reader}
    turns:` + try + `
      - calls: [{tool: delegate_to_agent, input: {role: scribe, task: two}}]
      - text: done
  - match: {role: scribe}
    turns:` + try + `
      - calls: [{tool: delegate_to_agent, input: {role: clerk, task: three}}]
      - text: done
  - match: {role: clerk}
    turns:` + try + `
      - calls: [{tool: Read, input: {path: README.md}}]
      - text: done
`})
	w.say("go")
	w.end()
	w.wants("== boss (k)", "failure of delegate_to_agent", "== boss/reader (k.1)", "== boss/reader/scribe (k.1.1)", "== boss/reader/scribe/clerk (k.1.1.1)", "result of Read: 1\tA project.")
	for _, name := range []string{"by-boss.txt", "by-reader.txt", "by-scribe.txt", "by-clerk.txt"} {
		if w.file(name) != "" {
			t.Errorf("%s was written", name)
		}
	}
	text := w.transcript()
	for _, tool := range []string{"Write", "Bash", "web_fetch", "mcp__test__page", "Planner", "no_such_tool"} {
		if n := strings.Count(text, fmt.Sprintf("The tool %q is not available to you", tool)); n < 4 {
			t.Errorf("%s was refused %d times of 4\n%s", tool, n, text)
		}
	}
}
