// Stopping: one agent, a subtree, the chat, whatever they wait for.

package scenario_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/orchestrate"
)

const waiting = `
agents:
  - match: {role: consult}
    turns: [{calls: [{tool: ask_user, input: {}}]}]
  - match: {role: main}
    turns:
      - calls: [{tool: spawn_agents, input: {background: true, tasks: [{task: asks}, {task: wants}, {task: parent}, {task: runs}]}}]
      - text: They are at work.
      - text: "Got: {{last_result}}"
      - text: "Got: {{last_result}}"
  - match: {task: asks}
    turns:
      - text: I have found half of it.
        calls: [{tool: ask_user, input: {question: Which?}}]
      - text: not reached
  - match: {task: wants}
    turns:
      - calls: [{tool: Write, input: {file_path: wanted.txt, content: x}}]
      - text: not reached
  - match: {task: parent}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: general, task: child asks}}]
      - text: not reached
  - match: {task: runs}
    turns:
      - calls: [{tool: Bash, input: {command: "ls; sleep 600"}}]
      - text: not reached
`

// waitingAll is the story up to where everybody waits for something.
func waitingAll(w *world) {
	w.Helper()
	w.say("go")
	w.reads("They are at work.")
	w.until("all wait", func() bool {
		n := 0
		for _, i := range w.inbox() {
			if i.Kind == "question" || i.Kind == "approval" {
				n++
			}
		}
		return n == 3 // two questions and the write
	})
	w.awaits("k.4", "acting")
}

func (w *world) stopAgent(id string) {
	w.Helper()
	w.retry(func() error { return w.app.Engine.Cancel(w.Context(), id, "ann") })
}

// TestStopOneAgent: its item is withdrawn, a late answer is told so, what it
// had said is delivered, and the others go on waiting. A subtree ends with its
// head; then the whole chat.
func TestStopOneAgent(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, always(setup{Shell: true, Mode: "ask", Script: strings.ReplaceAll(waiting, "child asks", "asks again")}, func(w *world) {
		waitingAll(w)
		i := w.item("question", "k.1")
		w.stopAgent("k.1")
		w.ended("k.1")
		if got := w.task("k.1"); got.Status != "cancelled" || got.Reason != "cancelled" || !strings.Contains(got.Result, "half of it") {
			w.Errorf("the task is %s (%s) with %q", got.Status, got.Reason, got.Result)
		}
		if _, err := w.app.Inbox.Answer(w.Context(), i.ID, orchestrate.Answer{Text: "late"}); !errors.Is(err, orchestrate.ErrAnswered) || !strings.Contains(err.Error(), "withdrawn") {
			w.Errorf("a late answer: %v", err)
		}
		w.stopAgent("k.3")
		w.ended("k.3")
		w.ended("k.3.1")
		w.until("one is left", func() bool { return len(w.inbox()) == 1 })
		w.stopAgent("k")
		w.rest()
		if n := len(w.inbox()); n != 0 {
			w.Errorf("%d items still wait", n)
		}
		for _, id := range []string{"k.1", "k.2", "k.3", "k.3.1", "k.4"} {
			if got := w.task(id); got.Status != "cancelled" {
				w.Errorf("task %s is %s", id, got.Status)
			}
		}
		if w.file("wanted.txt") != "" {
			w.Error("what nobody allowed was written")
		}
	}))
}

// TestMessageToOneThatEnds: what an agent was told before it was stopped and
// has not read is told with its result and read by who goes on for it; what it
// is told after its end was decided is refused. It survives a kill at each step.
func TestMessageToOneThatEnds(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		g := &gates{}
		return setup{Tools: tools(g.tool()), Script: `
agents:
  - match: {role: main}
    turns:
      - when: {user: hurry}
        calls: [{tool: message_agent, input: {agent: general, message: hurry up}}]
      - when: {result: will read it}
        text: It is told.
      - when: {result: had not been read}
        text: It was too late.
      - when: {user: once more}
        calls: [{tool: continue_agent, input: {agent: general, task: and again}}]
      - when: {result: again done}
        text: Twice.
      - calls: [{tool: delegate_to_agent, input: {role: general, task: slow work, background: true}}]
      - text: It is at work.
  - match: {task: again}
    turns:
      - text: not reached
      - calls: [{tool: submit_result, input: {result: again done}}]
  - match: {}
    turns:
      - calls: [{tool: mcp__test__hold, input: {name: slow}}]
      - text: not reached
`}, func(w *world) {
				w.say("go")
				w.reads("It is at work.")
				w.awaits("k.1", "acting")
				w.say("hurry")
				w.reads("It is told.")
				w.stopAgent("k.1")
				w.reads("It was too late.")
				w.retry(func() error {
					err := w.app.Engine.Send(w.Context(), "k.1", "late", message.Of(message.User, message.KindUser, "late"), nil)
					if errors.Is(err, agent.ErrEnded) {
						return nil
					}
					return cmp.Or(err, errors.New("a message to an agent that has ended was taken"))
				})
				w.say("once more")
				w.reads("Twice.")
				w.rest()
				w.wants(`"error":"cancelled; 1 of the messages to it had not been read"`, "== main/general (k.1)", "You ended before you could read what follows.", "user: hurry up",
					"== main/general (k.2, continues k.1)", "user: hurry up", "task: and again")
			}
	})
}

// inBackground starts commands in the background and tells what they come to.
const inBackground = `
agents:
  - match: {role: main}
    turns:
      - when: {user: stop the}
        calls: [{tool: stop_agent, input: {agent: k.1}}]
      - when: {user: go}
        calls:
          - {tool: run_in_background, input: {tool: Bash, input: {command: "echo built 1; echo of 9; sleep 600"}}}
          - {tool: run_in_background, input: {tool: Bash, input: {command: "echo tested 1; sleep 600"}}}
      - when: {result: is stopped}
        text: I have stopped it.
      - when: {result: sub_agent_results}
        text: "Got: {{last_result}}"
      - text: They run.
    after: last
`

// stopPrinting stops an agent once a run of a tool has printed a text, which
// one that only reads does again after a kill.
func (w *world) stopPrinting(stop, run, text string) {
	w.Helper()
	w.retry(func() error {
		if !w.prints(run, text) {
			return engine.ErrClosed
		}
		return w.app.Engine.Cancel(w.Context(), stop, "ann")
	})
}

// prints waits until a tool run has printed a text, or has ended; it is false
// if the process died meanwhile.
func (w *world) prints(run, text string) bool {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	ctx, sub, end := w.watch(ctx, feed.Options{Deltas: true})
	defer end()
	shown := ""
	for w.agent(run).EndedAt == 0 && !strings.Contains(shown, text) {
		item, err := sub.Next(ctx)
		if err != nil {
			if !w.dying.Load() {
				w.Fatalf("%s printed %q, not %q: %v", run, shown, text, err)
			}
			return false
		}
		if d := item.Delta; d != nil && d.Agent == run && d.Offset == len(shown) {
			shown += d.Text
		}
	}
	return !w.dying.Load()
}

// TestStopToolTask: what a command in the background had printed when it was
// stopped, by itself or with the chat, is its partial result and reaches the
// orchestrator. It survives a kill at each step.
func TestStopToolTask(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, always(setup{Shell: true, Script: inBackground}, func(w *world) {
		w.say("go")
		w.reads("They run.")
		w.stopPrinting("k.1", "k.1", "of 9")
		w.reads("reply: Got:")
		if got := w.task("k.2"); got.Turn != 1 || got.Call != 1 { // though the turn is over at once
			w.Errorf("the task is said to be of call %d in turn %d", got.Call, got.Turn)
		}
		w.stopPrinting("k", "k.2", "tested 1")
		w.rest()
		for id, text := range map[string]string{"k.1": "built 1\nof 9\n", "k.2": "tested 1\n"} {
			if got := w.task(id); got.Status != "cancelled" || got.Reason != "cancelled" || got.Result != "Cancelled before this had a result. It had printed:\n\n"+text {
				w.Errorf("task %s is %s (%s) with %q", id, got.Status, got.Reason, got.Result)
			}
		}
		w.wants(`"error":"cancelled"`, `"partial_result":"Cancelled before this had a result. It had printed:\n\nbuilt 1\nof 9\n"`)
	}))
}

// TestStopToolTaskByOrchestrator: so does what stop_agent stops; of a command
// that may write it is said that its effects are unknown.
func TestStopToolTaskByOrchestrator(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Shell: true, Script: strings.Replace(inBackground, "echo of 9", "touch begun; seq 30000", 1)})
	w.say("go")
	w.reads("They run.")
	if !w.prints("k.1", "\n30000\n") {
		t.Fatal("the process died")
	}
	w.say("stop the first")
	w.reads("I have stopped it.")
	w.ended("k.1")
	got := w.task("k.1")
	for _, part := range []string{"Its effects are unknown. It had printed:\n\nbuilt 1\n1\n2\n", "bytes left out here", "\n29999\n30000\n"} {
		if got.Status != "cancelled" || len(got.Result) > 50_000 || !strings.Contains(got.Result, part) {
			t.Errorf("the task is %s with %d bytes that lack %q", got.Status, len(got.Result), part)
		}
	}
	w.reads(`partial_result":"Cancelled before`)
	w.stopAgent("k")
	w.end()
}

// TestStopLeavesNoProcess: a command that runs ends with its agent.
func TestStopLeavesNoProcess(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Shell: true, Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: general, task: runs}}]
      - text: "Got: {{last_result}}"
  - match: {task: runs}
    turns:
      - calls: [{tool: Bash, input: {command: "touch begun; sleep 54321 & sleep 54321; echo never"}}]
      - text: not reached
`})
	w.say("go")
	w.awaits("k.1", "acting")
	for len(processes(t, "54321")) == 0 {
		w.until("a step", func() bool { return true })
	}
	w.stopAgent("k.1")
	w.end()
	w.stop()
	if left := processes(t, "54321"); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// processes lists those whose command line holds a text.
func processes(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(b), text) {
			continue
		}
		out = append(out, fmt.Sprintf("%s %q", filepath.Base(filepath.Dir(f)), b))
	}
	return out
}

// TestCheckRunning: check_agent tells what a command has printed that still
// runs, in the background as well as at the hands of a sub-agent.
func TestCheckRunning(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Shell: true, Script: `
agents:
  - match: {role: main}
    turns:
      - when: {user: check}
        calls: [{tool: check_agent, input: {agent: k.1}}, {tool: check_agent, input: {agent: k.2}}]
      - when: {user: go}
        calls:
          - {tool: run_in_background, input: {tool: Bash, input: {command: "echo built 1; echo of 9; sleep 600"}}}
          - {tool: spawn_agents, input: {background: true, tasks: [{task: test it}]}}
      - text: They run.
    after: last
  - match: {role: general}
    turns: [{calls: [{tool: Bash, input: {command: "echo tested 1; sleep 600"}}]}]
`})
	w.say("go")
	w.reads("They run.")
	if !w.prints("k.1", "of 9") || !w.prints("k.2", "tested 1") {
		t.Fatal("the process died")
	}
	w.say("check both")
	w.reads("It has printed so far:\n      built 1\n      of 9\n")
	w.reads("It has printed so far:\n      tested 1\n")
	w.stopAgent("k")
	w.end()
}

// TestLongTask: a command that is a task of its own is not told to become one
// when it takes too long.
func TestLongTask(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Shell: true, Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: run_in_background, input: {tool: Bash, input: {command: "echo begun; sleep 600", timeout: 1}}}]
      - text: It runs.
    after: last
`})
	w.say("go")
	w.ended("k.1")
	if got := w.task("k.1"); !strings.Contains(got.Error, "begun\n[killed, as it took longer than 1s; give it a longer timeout, after ") {
		t.Errorf("the task failed with %q", got.Error)
	}
	w.rest()
	w.end()
}

// TestStopKeepsWhatWasPrinted: of a command that is stopped with its agent, by a
// person or by a limit, the record and the next turn have what it had printed.
func TestStopKeepsWhatWasPrinted(t *testing.T) {
	t.Parallel()
	const story = `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: Bash, input: {command: "echo tested 1 of 2; touch a.txt; sleep 600"}}]
      - text: I know how far it came.
`
	t.Run("by a person", func(t *testing.T) {
		t.Parallel()
		w := begin(t, setup{Shell: true, Script: story})
		w.say("go")
		w.printing("k-c1.0", "tested 1 of 2")
		w.stopAgent("k")
		w.rest()
		w.say("How far?")
		w.reads("I know how far it came.")
		w.end()
		w.wants("failure of Bash: Cancelled before this had a result. Its effects are unknown. It had printed:", "tested 1 of 2", "How far?")
	})
	t.Run("by a limit", func(t *testing.T) {
		t.Parallel()
		w := begin(t, setup{Shell: true, Script: story, Limits: agent.Limits{Active: 6_000}})
		w.say("go")
		w.rest()
		w.end()
		w.wants("failure of Bash: Ended: the time limit was reached before this had a result. Its effects are unknown. It had printed:", "tested 1 of 2")
	})
}

// printing waits until a call has printed a text.
func (w *world) printing(call, text string) {
	w.Helper()
	ctx, sub, end := w.watch(w.Context(), feed.Options{Deltas: true})
	defer end()
	for !strings.Contains(w.app.Engine.Printed(call), text) {
		if _, err := sub.Next(ctx); err != nil {
			w.Fatal(err)
		}
	}
}
