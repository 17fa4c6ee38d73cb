// Delegation: what a parent waits for, what runs beside it, whom it can look
// after, continue and give what of its own conversation.

package scenario_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/store"
)

// TestWait: spawn_agents waits for what it was told to wait for; the others
// are stopped, and every task is on record.
func TestWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options string
		want    []string // the states of the three tasks
		result  string
	}{
		"all":         {`wait: all`, []string{"success", "failed", "success"}, `"slow done"`},
		"any":         {`wait: any`, []string{"cancelled", "failed", "cancelled"}, `"cannot"`},
		"first valid": {`wait: first_valid`, []string{"success", "failed", "cancelled"}, `"quick done"`},
		"two":         {`wait: 2`, []string{"success", "failed", "cancelled"}, `"quick done"`},
		"deadline":    {`deadline: 10s`, []string{"success", "failed", "failed"}, `"quick done"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &gates{}
			w := begin(t, setup{Tools: tools(g.tool()), Script: `
agents:
  - match: {role: main}
    turns:
      - calls:
          - tool: spawn_agents
            input: {` + c.options + `, tasks: [{task: quick}, {task: bad}, {task: slow}]}
      - text: "{{last_result}}"
  - match: {task: quick}
    turns:
      - calls: [{tool: mcp__test__hold, input: {name: quick}}]
      - calls: [{tool: submit_result, input: {result: quick done}}]
  - match: {task: bad}
    turns:
      - calls: [{tool: submit_error, input: {error: cannot}}]
  - match: {task: slow}
    turns:
      - calls: [{tool: mcp__test__hold, input: {name: slow}}]
      - calls: [{tool: submit_result, input: {result: slow done}}]
`})
			w.say("go")
			if name != "any" {
				w.until("bad has failed", func() bool { return len(w.tree()) == 4 && w.agent("k.2").EndedAt > 0 })
				g.let("quick")
			}
			if name == "all" {
				w.until("quick is done", func() bool { return w.agent("k.1").EndedAt > 0 })
				g.let("slow")
			}
			w.end()
			for i, want := range c.want {
				if got := w.task(fmt.Sprintf("k.%d", i+1)); got.Status != want {
					t.Errorf("task %d is %s (%s), want %s", i+1, got.Status, got.Reason, want)
				}
			}
			w.wants(`"agent_id":"k.1"`, `"agent_id":"k.2"`, `"agent_id":"k.3"`)
			w.wants("result of spawn_agents", c.result)
		})
	}
}

// TestDetached: a message of the user detaches what runs; the orchestrator
// tells how far it is, adds work and cancels work, and the late results of one
// call arrive together. It survives a kill at each step.
func TestDetached(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		g := &gates{}
		return setup{Tools: tools(g.tool()), Script: `
agents:
  - match: {role: main}
    turns:
      - calls:
          - {tool: spawn_agents, input: {tasks: [{task: part one}, {task: part two}]}}
          - {tool: delegate_to_agent, input: {role: general, task: part three}}
      - when: {user: how far}
        calls: [{tool: list_agents, input: {}}]
      - when: {result: "k.1 main/general:"}
        text: "So far: {{last_result}}"
      - when: {user: also}
        calls: [{tool: delegate_to_agent, input: {role: general, task: part four, background: true}}]
      - when: {result: "task k.4"}
        text: Part four is under way.
      - when: {user: stop}
        calls: [{tool: stop_agent, input: {agent: general-2}}]
      - when: {result: is stopped}
        text: Part two is stopped.
      - when: {result: part four done}
        text: "At last: {{last_result}}"
      - when: {result: part three done}
        text: "Late: {{last_result}}"
      - when: {result: sub_agent_results}
        text: "Some: {{last_result}}"
    after: last
  - match: {task_re: "part (one|two|three|four)"}
    turns:
      - calls: [{tool: mcp__test__hold, input: {name: "{{task.1}}"}}]
      - calls: [{tool: submit_result, input: {result: "{{task}} done"}}]
`}, func(w *world) {
				w.say("go")
				for _, id := range []string{"k.1", "k.2", "k.3"} {
					w.awaits(id, "acting")
				}
				w.say("how far are they?")
				w.reads("reply: So far:")
				w.say("also do part four")
				w.reads("Part four is under way")
				w.say("stop part two")
				w.reads("Part two is stopped")
				for _, part := range []struct{ name, reply string }{{"one", "reply: Some:"}, {"three", "reply: Late:"}, {"four", "reply: At last:"}} {
					g.let(part.name)
					w.reads(part.reply)
				}
				w.wants("call list_agents", "result of list_agents: k.1 main/general: acting", "k.3 main/general-3: acting", "reply: So far:",
					"running, task k.4", "Part four is under way", "main/general-2 is stopped", "Part two is stopped")
				text := w.transcript()
				for i := 1; i <= 4; i++ {
					if n := strings.Count(w.results(), fmt.Sprintf(`"agent_id":"k.%d"`, i)); n != 1 {
						w.Errorf("the result of task %d was delivered %d times\n%s", i, n, text)
					}
				}
			}
	})
}

// TestToolTask: the orchestrator runs a tool of its own in the background, as a
// task of type tool, and goes on; the result wakes it. It survives a kill at
// each step.
func TestToolTask(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		g := &gates{}
		return setup{Tools: tools(g.tool()), Script: `
agents:
  - match: {role: main}
    turns:
      - when: {user: how far}
        calls:
          - {tool: list_agents, input: {}}
          - {tool: message_agent, input: {agent: k.1, message: hurry}}
          - {tool: run_in_background, input: {tool: nothing, input: {}}}
          - {tool: run_in_background, input: {tool: spawn_agents, input: {tasks: [{task: x}]}}}
          - {tool: run_in_background, input: {tool: mcp__test__hold, input: {name: 7}}}
      - when: {result: "main/mcp__test__hold-1: acting"}
        text: It builds.
      - when: {user: again}
        calls: [{tool: continue_agent, input: {agent: k.1, task: once more}}]
      - when: {result: "run it again with"}
        text: It cannot be continued.
      - when: {result: sub_agent_results}
        text: "Built: {{last_result}}"
      - calls: [{tool: run_in_background, input: {tool: mcp__test__hold, input: {name: build}}}]
      - text: It is under way.
`}, func(w *world) {
				w.say("build it")
				w.reads("It is under way.")
				w.awaits("k.1", "acting")
				if got := w.task("k.1"); got.Type != "tool" || got.Name != "tool:mcp__test__hold" || got.Instruction != `{"name":"build"}` || got.Status != "running" || got.Cause != "m1" {
					w.Errorf("the task is %+v", got)
				}
				w.say("how far is it?")
				w.reads("It builds.")
				g.let("build")
				w.reads("reply: Built:")
				if got := w.task("k.1"); got.Status != "success" || got.Result != "build" {
					w.Errorf("the task is %+v", got)
				}
				w.say("again")
				w.reads("It cannot be continued.")
				w.wants("running, task k.1. The results will arrive as a message.", "is one run of a tool and reads no messages", `you have no tool "nothing"`,
					"spawn_agents cannot be run in the background", "name", `"outcome":{"success":{"result":"build"}}`)
			}
	})
}

// TestToolTaskAsks: what a tool does in the background is decided as if its
// parent did it: the user is asked, an answer for the agent holds for what the
// orchestrator does itself, and a denial is the result.
func TestToolTaskAsks(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, always(setup{Mode: "ask", Script: `
agents:
  - match: {role: main}
    turns:
      - calls:
          - {tool: run_in_background, input: {tool: Write, input: {file_path: one.txt, content: x}}}
          - {tool: run_in_background, input: {tool: Write, input: {file_path: two.txt, content: x}}}
      - text: They wait.
      - when: {user: yourself}
        calls: [{tool: Write, input: {file_path: one.txt, content: y}}]
      - when: {result: one.txt}
        text: Done.
    after: last
`}, func(w *world) {
		w.say("write")
		w.reads("They wait.")
		w.deny(w.item("approval", "k.2"), "not this one")
		w.ended("k.2")
		w.allow(w.item("approval", "k.1"), permission.Agent)
		w.ended("k.1")
		if got := w.task("k.2"); got.Status != "failed" || got.Error != "Denied by the user: not this one" || got.ErrorKind != "tool_error" {
			w.Errorf("task 2 is %+v", got)
		}
		if w.file("two.txt") != "" {
			w.Error("what was denied was written")
		}
		w.say("do it yourself")
		w.reads("reply: Done.")
		if all, err := w.app.Store.Inbox(w.Context(), store.InboxQuery{Chat: "k", Closed: true}); err != nil || len(all) != 2 {
			w.Errorf("asked were %v (%v)", all, err)
		}
	}))
}

// results are the messages by which results of tasks reached the orchestrator,
// those of tool calls and those that came late.
func (w *world) results() string {
	w.Helper()
	var b strings.Builder
	for line := range strings.SplitSeq(w.history("k"), "\n") {
		if strings.HasPrefix(line, "   result") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// TestRolesAsTools: a role is used like any other tool.
func TestRolesAsTools(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Files: map[string]string{"a.go": "package a // needle\n"}, Script: `
agents:
  - match: {role: main}
    turns:
      - calls:
          - {tool: CodeSearch, input: {query: where is the needle, scope: .}}
          - {tool: CodeReview, input: {target: a.go, focus: bugs}}
          - {tool: Planner, input: {task: remove the needle}}
      - text: "{{result.1}} {{result.2}} {{result.3}}"
  - match: {role: CodeSearch}
    turns:
      - calls: [{tool: Grep, input: {pattern: needle}}]
      - calls: [{tool: submit_result, input: {result: "{{last_result}}"}}]
  - match: {role: CodeReview}
    turns:
      - calls: [{tool: Write, input: {file_path: a.go, content: mine}}, {tool: LS, input: {path: .}}, {tool: Read, input: {path: a.go}}]
      - text: nothing wrong
  - match: {role: planner}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: coder, task: x}}]
      - calls: [{tool: submit_result, input: {result: 1. remove it}}]
`})
	w.say("find it")
	w.end()
	w.wants("result of CodeSearch", "a.go", "result of CodeReview", "nothing wrong", "result of Planner", "1. remove it",
		"== main/CodeSearch", "query: where is the needle", "== main/CodeReview",
		`The tool "Write" is not available to you`, `The tool "LS" is not available to you`, "package a // needle",
		"== main/planner", "task: remove the needle", `The tool "delegate_to_agent" is not available to you`)
}

// TestContinue: a finished agent is given another task; it remembers the
// first and keeps its name. It survives a kill at each step.
func TestContinue(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, always(setup{Record: true, Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: researcher, task: find the colour of the sky}}]
      - text: It is blue.
      - calls: [{tool: continue_agent, input: {agent: researcher, task: and at night}}]
      - text: "Now: {{last_result}}"
      - calls: [{tool: continue_agent, input: {agent: nobody, task: x}}]
      - text: "{{last_result}}"
  - match: {role: researcher, task: night}
    turns:
      - calls: [{tool: submit_result, input: {result: too early}}]
      - calls: [{tool: submit_result, input: {result: too early as well}}]
      - calls: [{tool: submit_result, input: {result: black, details: "{{turn}}"}}]
  - match: {role: researcher}
    turns:
      - calls: [{tool: Read, input: {path: README.md}}]
      - calls: [{tool: submit_result, input: {result: blue}}]
`}, func(w *world) {
		w.say("what colour is the sky?")
		w.rest()
		w.say("and at night?")
		w.rest()
		w.say("and who is nobody?")
		w.rest()
		w.wants("Now:", `"black"`, `there is no agent "nobody"`, "== main/researcher (k.1) completed", "== main/researcher (k.2, continues k.1) completed", "find the colour of the sky", "call Read", "task: and at night", "black")
		if a, b := w.agent("k.1"), w.agent("k.2"); a.Name != b.Name || b.Continues != "k.1" || b.ContextTokens == 0 {
			w.Errorf("%s %s continues %q with %d tokens", a.Name, b.Name, b.Continues, b.ContextTokens)
		}
		var last traffic
		for _, r := range w.traffic() {
			if r.Agent == "k.2" {
				last = r
			}
		}
		if text := last.text(); !strings.Contains(text, "colour of the sky") || !strings.Contains(text, "A project.") || !strings.Contains(text, "and at night") {
			w.Errorf("the request of the continued agent holds:\n%s", text)
		}
	}))
}

// TestContinueRunning: an agent at work is told, not continued. It survives a
// kill at each step.
func TestContinueRunning(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		g := &gates{}
		return setup{Tools: tools(g.tool()), Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: general, task: work, background: true}}]
      - text: It is at work.
      - calls:
          - {tool: continue_agent, input: {agent: general, task: more}}
          - {tool: message_agent, input: {agent: general, message: actually do it twice}}
          - {tool: message_agent, input: {agent: stranger, message: hello}}
          - {tool: reply_to_agent, input: {agent: general, answer: "42"}}
          - {tool: settle_work, input: {agent: general, how: accept}}
      - text: told
      - calls: [{tool: message_agent, input: {agent: general, message: too late}}, {tool: stop_agent, input: {agent: general}}, {tool: check_agent, input: {agent: general}}]
      - text: It is over.
  - match: {task: work}
    turns:
      - calls: [{tool: mcp__test__hold, input: {name: work}}]
      - calls: [{tool: submit_result, input: {result: done}}]
        
  - match: {task: twice}
    turns:
      - text: unused
      - calls: [{tool: submit_result, input: {result: done twice}}]
`}, func(w *world) {
				w.say("go")
				w.reads("It is at work.")
				w.awaits("k.1", "acting")
				w.say("more")
				w.reads("reply: told")
				w.wants("is still at work", "tell it with message_agent", "main/general will read it with its next turn", `there is no agent "stranger"`, "has asked nothing", "has left nothing to decide about")
				g.let("work")
				w.reads("It is over.")
				w.rest()
				w.wants("user: actually do it twice", "done twice")
				w.wants("main/general has ended; give it another task with continue_agent", "had ended already", "ended: completed.")
			}
	})
}

// traffic is one request as it was recorded.
type traffic struct {
	Agent   string `json:"agent"`
	Role    string `json:"role"`
	Turn    int    `json:"turn"`
	Request struct {
		System   string            `json:"system"`
		Tools    []string          `json:"tools"`
		Messages []message.Message `json:"messages"`
	} `json:"request"`
}

func (r traffic) text() string {
	var b strings.Builder
	for _, m := range r.Request.Messages {
		b.WriteString(said(m))
	}
	return b.String()
}

// traffic is what the models were sent.
func (w *world) traffic() []traffic {
	w.Helper()
	f, err := os.Open(filepath.Join(w.root, "traffic.jsonl"))
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it only reads
	var out []traffic
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r traffic
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			w.Fatal(err)
		}
		r.Agent = strings.ReplaceAll(r.Agent, "{{cadre:chat}}", "k")
		out = append(out, r)
	}
	return out
}

// TestContextModes: what a child is given of its parent's conversation, and
// how many tokens that is on record.
func TestContextModes(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Record: true, Files: map[string]string{"a.txt": "the text of a\n", ".env": "KEY=secret\n"}, Script: `
agents:
  - match: {role: main}
    turns:
      - text: I split this.
        calls:
          - {tool: delegate_to_agent, input: {role: general, task: with none}}
          - {tool: delegate_to_agent, input: {role: general, task: with summary, context: summary}}
          - {tool: delegate_to_agent, input: {role: general, task: with selective, context: selective, context_files: [a.txt, gone.txt, .env], messages: [0, 99]}}
          - {tool: delegate_to_agent, input: {role: general, task: with full, context: full, success_criteria: it shines}}
      - text: done
  - match: {role: summary}
    turns: [{text: the user wants the moon}]
  - match: {}
    turns: [{text: seen}, {text: seen}]
`})
	w.say("give me the moon")
	w.end()
	first := map[string]string{}
	for _, r := range w.traffic() {
		if strings.HasPrefix(r.Agent, "k.") && first[r.Agent] == "" {
			first[r.Agent] = r.text()
		}
	}
	for i, c := range []struct {
		mode    string
		has     []string
		without []string
	}{
		{"none", []string{"with none"}, []string{"moon"}},
		{"summary", []string{"with summary", "the user wants the moon"}, []string{"give me"}},
		{"selective", []string{"with selective", "give me the moon", "the text of a", "gone.txt could not be given", ".env could not be given"}, []string{"secret"}},
		{"full", []string{"give me the moon", "with full", "Done when: it shines"}, nil},
	} {
		id := fmt.Sprintf("k.%d", i+1)
		a := w.agent(id)
		if a.ContextMode != c.mode || (a.ContextTokens > 0) != (c.mode != "none") {
			t.Errorf("%s: on record are mode %s, %d tokens", c.mode, a.ContextMode, a.ContextTokens)
		}
		for _, s := range c.has {
			if !strings.Contains(first[id], s) {
				t.Errorf("%s: the first request lacks %q:\n%s", c.mode, s, first[id])
			}
		}
		for _, s := range c.without {
			if strings.Contains(first[id], s) {
				t.Errorf("%s: the first request holds %q:\n%s", c.mode, s, first[id])
			}
		}
	}
}

// TestSiblingsShareThePrefix: the children of one spawn have the same prompt
// and tools, byte for byte.
func TestSiblingsShareThePrefix(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Record: true, Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: spawn_agents, input: {tasks: [{task: a}, {task: quite another task}, {task: c, role: general}]}}]
      - text: done
  - match: {}
    turns: [{text: seen}]
`})
	w.say("go")
	w.end()
	var prefix []string
	for _, r := range w.traffic() {
		if strings.HasPrefix(r.Agent, "k.") {
			prefix = append(prefix, r.Request.System+strings.Join(r.Request.Tools, "\n"))
		}
	}
	if len(prefix) != 3 || prefix[0] != prefix[1] || prefix[1] != prefix[2] || prefix[0] == "" {
		t.Errorf("%d requests of children, not all with the same prefix", len(prefix))
	}
}
