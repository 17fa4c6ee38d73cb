// Results: the form they must have, and the command that must pass before
// they count.

package scenario_test

import (
	"strings"
	"testing"
)

// delegated is a script in which main gives one task with these options, and
// an agent answers with these turns.
func delegated(options, turns string) string {
	return `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: general, task: do it, ` + options + `}}]
      - text: "Got: {{last_result}}"
  - match: {task: do it}
    turns:
` + turns
}

const submitThings = "      - calls: [{tool: submit_result, input: {result: done}}]\n"

// TestOutputSchema: a result that has not the form asked for goes back once,
// with everything that is wrong with it.
func TestOutputSchema(t *testing.T) {
	t.Parallel()
	const (
		schema = `output_schema: {type: object, required: [count, names], properties: {count: {type: integer}, names: {type: array, items: {type: string}}}}`
		bad    = "      - calls: [{tool: submit_result, input: {count: many, names: [1]}}]\n"
		good   = "      - calls: [{tool: submit_result, input: {count: 2, names: [a, b]}}]\n"
		plain  = "      - text: There are two.\n"
	)
	for name, c := range map[string]struct {
		turns  string
		status string
		wants  []string
	}{
		"valid":         {good, "success", []string{`"success":{"result":{"count":2,"names":["a","b"]}}`}},
		"mended":        {bad + good, "success", []string{`"count":2`, "failure of submit_result", "count", "names", "result of submit_result"}},
		"invalid twice": {bad + bad, "partial", []string{`"error_kind":"invalid_result"`, "failure of submit_result", "failure of submit_result"}},
		"text first":    {plain + good, "success", []string{`"count":2`, "There are two.", "submit_result"}},
		"text only":     {plain + plain, "partial", []string{"There are two."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, setup{Script: delegated(schema, c.turns)})
			w.say("go")
			w.end()
			if got := w.task("k.1"); got.Status != c.status {
				t.Errorf("the task is %s: %s %s", got.Status, got.ErrorKind, got.Error)
			}
			w.wants(c.wants...)
		})
	}
}

// TestAcceptance: the command of the call runs before a result counts. A
// failure goes back once.
func TestAcceptance(t *testing.T) {
	t.Parallel()
	const mend = "      - calls: [{tool: Write, input: {file_path: done.txt, content: yes}}]\n"
	for name, c := range map[string]struct {
		turns  string
		status string
		wants  []string
	}{
		"passes":      {mend + submitThings, "success", []string{`"success":{"result":"done"`}},
		"fails once":  {submitThings + mend + submitThings, "success", []string{`"success":{"result":"done"`, "The acceptance check failed", "$ test -f done.txt"}},
		"fails twice": {submitThings + submitThings, "failed", []string{`"error_kind":"failed_acceptance"`, `"partial_result":"done"`, "The acceptance check failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killedEverywhere(t, always(setup{Shell: true, Script: delegated("acceptance: test -f done.txt", c.turns)}, func(w *world) {
				w.say("go")
				w.rest()
				if interrupted(w.transcript()) {
					return
				}
				if got := w.task("k.1"); got.Status != c.status {
					w.Errorf("the task is %s: %s %s", got.Status, got.ErrorKind, got.Error)
				}
				w.wants(c.wants...)
			}))
		})
	}
}

// TestAcceptanceNeedsPermission: the system runs no command for a model that
// the model may not run without asking.
func TestAcceptanceNeedsPermission(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Shell: true, Mode: "ask", Script: delegated("acceptance: touch mine.txt", submitThings)})
	w.say("go")
	w.end()
	w.wants("failure of delegate_to_agent: acceptance: touch mine.txt may not be run by the system", "would do. No task was started.")
	if len(w.tree()) != 1 || w.file("mine.txt") != "" {
		t.Error("a task was started")
	}

	w = begin(t, setup{Shell: true, Mode: "ask", Config: "permissions:\n  allow: ['Bash(touch mine.txt)']\n", Script: delegated("acceptance: touch mine.txt", submitThings)})
	w.say("go")
	w.end()
	if got := w.task("k.1"); got.Status != "success" {
		t.Errorf("a command that a rule allows: %s %s", got.Status, got.Error)
	}
}

// TestAllOrNothing: one bad task and none starts; everything that is wrong is
// told at once.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: spawn_agents, input: {tasks: [{task: fine}, {task: a, role: wizard}, {task: b, cwd: ../out}, {task: c, timeout: soon}, {task: d, model: nobody/knows}]}}]
      - calls: [{tool: delegate_to_agent, input: {role: general, task: x, isolation: worktree}}]
      - text: "none"
`})
	w.say("go")
	w.end()
	w.wants("failure of spawn_agents:", `Task 2: there is no role "wizard"`, `Task 3: cwd "../out" is outside`, `Task 4: timeout: "soon" is no duration`, "Task 5:", "No task was started", "failure of delegate_to_agent: isolation:")
	if len(w.tree()) != 1 {
		t.Error("a task was started")
	}
}

// TestThousandChildren: every result is delivered once, in order, within the
// bounds of the parent's context.
func TestThousandChildren(t *testing.T) {
	w := begin(t, setup{Record: true, Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: spawn_agents, input: {}, repeat: {key: tasks, count: 1000, template: {task: "part {{i}}"}}}]
      - text: all in
  - match: {task_re: 'part (\d+)'}
    turns:
      - calls: [{tool: submit_result, input: {result: "number {{task.1}}"}}]
`})
	w.say("go")
	w.end()
	last := -1
	text := w.results()
	for i := 1; i <= 1000; i++ {
		piece := `"success":{"result":"number ` + itoa(i) + `"}`
		at := strings.Index(text, piece)
		if at <= last || strings.Count(text, piece) != 1 {
			t.Fatalf("the result of part %d is at %d, after %d", i, at, last)
		}
		last = at
	}
	if len(text) > 450_000 {
		t.Errorf("the results have %d characters", len(text))
	}
}

// TestLongResult: what a parent's model is told of a long result is bounded;
// the rest it can read in pieces, and nobody else can.
func TestLongResult(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: general, task: long}}]
      - calls: [{tool: read_artifact, input: {id: k.1, offset: 29990}}]
      - calls: [{tool: delegate_to_agent, input: {role: general, task: thief}}]
      - text: done
  - match: {task: long}
    turns: [{text: "` + strings.Repeat("x", 30_000) + `END"}]
  - match: {task: thief}
    turns:
      - calls: [{tool: read_artifact, input: {id: k.1}}, {tool: read_artifact, input: {id: k}}, {tool: read_artifact, input: {id: k.2}}]
      - text: nothing
`})
	w.say("go")
	w.end()
	w.wants("x… [18003 more characters: read_artifact k.1]", "result of read_artifact: xxxxxxxxxxEND", "== main/general-2 (k.2)",
		`failure of read_artifact: there is no artifact "k.1"`, `failure of read_artifact: there is no artifact "k"`, `failure of read_artifact: there is no artifact "k.2"`)
}
