// Trees of agents: the example uses of spawn_agents, and main, coder and
// tester with delegate_to_agent.

package scenario_test

import (
	"strings"
	"testing"
)

// TestExampleUses plays the five example uses of spawn_agents.
func TestExampleUses(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct{ user, tasks string }{
		"perspectives": {"Review the authentication module for potential issues", `
                - {task: "Review src/auth/ from a security perspective."}
                - {task: "Review src/auth/ from a maintainability perspective."}
                - {task: "Review src/auth/ from a performance perspective."}`},
		"exploration": {"I'm new to this project. Help me understand the architecture.", `
                - {task: "Explore the database layer.", role: researcher}
                - {task: "Explore the API layer.", role: researcher}
                - {task: "Explore the core business logic.", role: researcher}`},
		"deep-dive": {"How does error handling work in this codebase?", `
                - {task: "Thoroughly investigate error handling patterns in this codebase."}`},
		"comparison": {"Should we use approach A or B for the new feature?", `
                - {task: "Analyze approach A: a queue."}
                - {task: "Analyze approach B: a table."}`},
		"personas": {"Get feedback on this API design from different stakeholders", `
                - {task: "Review the API design as a frontend developer."}
                - {task: "Review the API design as a DevOps engineer."}
                - {task: "Review the API design as a new team member."}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, setup{Script: `
agents:
  - match: {role: main}
    turns:
      - text: I ask several.
        calls:
          - tool: spawn_agents
            input:
              tasks:` + s.tasks + `
      - text: "In short: {{last_result}}"
  - match: {task: "approach B"}
    turns:
      - calls: [{tool: submit_error, input: {error: "There is no table."}}]
  - match: {}
    turns:
      - calls: [{tool: Grep, input: {pattern: project}}]
      - calls: [{tool: submit_result, input: {result: "{{task}} Found: {{last_result}}"}}]
`})
			w.say(s.user)
			w.end()
			w.golden("example-" + name)
		})
	}
}

const treeScript = `
agents:
  - match: {role: main}
    turns:
      - text: I'll delegate the implementation to a coder.
        calls:
          - tool: delegate_to_agent
            input:
              role: coder
              task: Add a function Double to calc.go, with tests.
              context_files: [calc.go]
              success_criteria: the tests pass
      - text: "Done: {{last_result}}"
  - match: {role: coder}
    turns:
      - calls: [{tool: Read, input: {path: calc.go}}]
      - calls: [{tool: Edit, input: {file_path: calc.go, old_string: "package calc", new_string: "package calc\n\nfunc Double(n int) int { return 2 * n }"}}]
      - calls: [{tool: delegate_to_agent, input: {role: tester, task: Write and run tests of Double}}]
      - calls:
          - tool: submit_result
            input:
              summary: Double is there and tested.
              files_modified: [calc.go, other.go]
              tests_run: 7
              tests_passed: 7
  - match: {role: tester}
    turns:
      - calls: [{tool: Write, input: {file_path: check.sh, content: "echo 'test result: ok. 2 passed; 0 failed;'\n"}}]
      - calls: [{tool: Bash, input: {command: "sh check.sh # cargo test"}}]
      - calls: [{tool: submit_result, input: {summary: Two tests pass., tests_run: 2, tests_passed: 2}}]
`

// TestMainCoderTester plays the tree main → coder → tester. What a parent is
// told of files and tests is from the record; a claim that it does not bear
// out is marked.
func TestMainCoderTester(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Shell: true, Script: treeScript, Files: map[string]string{"calc.go": "package calc\n"}})
	w.say("Add Double, with tests")
	w.end()
	w.golden("main-coder-tester")
	w.wants(
		"== main (k)",
		`"unverified":["files_modified: other.go","tests_run: 7","tests_passed: 7"]`,
		"== main/coder (k.1) completed", "Done when: the tests pass", "Look at first: calc.go",
		`"tests_run":2,"tests_passed":2`,
		"== main/coder/tester (k.1.1) completed",
	)
}

// TestClaimsAboutChildren: what an agent reports of the work of those below it
// is held against their records, at any depth.
func TestClaimsAboutChildren(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ claim, want string }{
		"theirs":   {"{summary: s, files_created: [check.sh], tests_run: 2, tests_passed: 2}", `{"agent_id":"k.1","role":"general"`},
		"together": {"{summary: s, files_created: [mine.txt, check.sh], tests_run: 2}", `"record":{"files_created":["mine.txt"]}`},
		"too many": {"{summary: s, tests_run: 3, tests_passed: 2}", `"unverified":["tests_run: 3"]`},
		"none":     {"{summary: s, files_created: [no.txt]}", `"unverified":["files_created: no.txt"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, setup{Shell: true, Config: "agents: {depth: 3}\n", Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: general, task: one}}]
      - text: done
  - match: {task: one}
    turns:
      - calls: [{tool: Write, input: {file_path: mine.txt, content: x}}]
      - calls: [{tool: delegate_to_agent, input: {role: general, task: two}}]
      - calls: [{tool: submit_result, input: ` + c.claim + `}]
  - match: {task: two}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: general, task: three}}]
      - calls: [{tool: submit_result, input: {summary: s, tests_run: 2}}]
  - match: {task: three}
    turns:
      - calls: [{tool: Write, input: {file_path: check.sh, content: "echo 'test result: ok. 2 passed; 0 failed;'\n"}}]
      - calls: [{tool: Bash, input: {command: "sh check.sh # cargo test"}}]
      - calls: [{tool: submit_result, input: {summary: s, tests_run: 2}}]
`})
			w.say("go")
			w.end()
			w.wants(c.want)
			if n := strings.Count(w.history("k")+w.history("k.1"), "unverified"); n > 0 != strings.Contains(c.want, "unverified") {
				t.Errorf("%d are marked\n%s", n, w.transcript())
			}
		})
	}
}

// TestTreeSurvivesKills plays a tree that only reads, killed at its steps.
func TestTreeSurvivesKills(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, always(setup{Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: coder, task: look}}]
      - text: "It says {{last_result}}"
  - match: {role: coder}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: tester, task: look closer}}]
      - calls: [{tool: submit_result, input: {summary: looked}}]
  - match: {role: tester}
    turns:
      - calls: [{tool: Read, input: {path: README.md}}]
      - calls: [{tool: submit_result, input: {summary: "{{last_result}}"}}]
`}, func(w *world) { w.say("go") }))
}
