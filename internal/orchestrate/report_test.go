package orchestrate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

func TestCountTests(t *testing.T) {
	for _, c := range []struct {
		name, command, output string
		run, passed           int // -1: nothing is known
	}{
		{"go", "go test -v ./...", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    --- FAIL: TestB/x (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\n", 3, 1},
		{"go without -v", "go test ./...", "ok  \texample.com/a\t0.01s\n", -1, 0},
		{"go, failures only", "go test ./...", "--- FAIL: TestB (0.00s)\nFAIL\n", -1, 0},
		{"go as JSON", "go test -json", `{"Action":"pass","Package":"a","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"a"}`, 1, 1},
		{"pytest", "python -m pytest -q", "...F\n1 failed, 3 passed in 0.12s\n", 4, 3},
		{"pytest, framed", "pytest", "======= 5 passed, 1 skipped in 0.12s =======\n", 5, 5},
		{"unittest", "python3 -m unittest", "Ran 4 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n", 4, 2},
		{"cargo", "cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored;\ntest result: FAILED. 1 passed; 2 failed; 0 ignored;\n", 6, 4},
		{"jest", "npx jest", "Tests:       1 failed, 2 skipped, 7 passed, 10 total\n", 8, 7},
		{"vitest", "npm test", " Tests  2 failed | 5 passed (7)\n", 7, 5},
		{"vitest, none passed", "npx vitest run", " Tests  2 failed (2)\n", 2, 0},
		{"mocha", "mocha", "  4 passing (10ms)\n  1 failing\n", 5, 4},
		{"node", "node --test", "# pass 3\n# fail 1\n", 4, 3},
		{"rspec", "bundle exec rspec", "7 examples, 2 failures\n", 7, 5},
		{"not a runner", "echo", "5 passed", -1, 0},
		{"a runner that says nothing", "pytest", "command not found\n", -1, 0},
	} {
		got := countTests(c.command, c.output)
		switch {
		case got == nil && c.run >= 0:
			t.Errorf("%s: nothing was recognised, want %d of %d", c.name, c.passed, c.run)
		case got != nil && (got.Run != c.run || got.Passed != c.passed):
			t.Errorf("%s: %d of %d passed, want %d of %d", c.name, got.Passed, got.Run, c.passed, c.run)
		}
	}
}

func recordsOf(t *testing.T, all ...Record) []json.RawMessage {
	t.Helper()
	var out []json.RawMessage
	for _, r := range all {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func touched(files ...string) Record {
	var r Record
	for _, f := range files {
		op, name, _ := strings.Cut(f, " ")
		r.Files = append(r.Files, tool.File{Op: op, Path: name})
	}
	return r
}

func TestReport(t *testing.T) {
	p := newPerformer(t, &models{})
	ran := touched("created made-by-command.txt")
	ran.Command, ran.Tests = "go test -v", &Tests{3, 2}
	again := Record{Tests: &Tests{1, 1}}
	again.Command = "go test -v -run X"
	raw := p.Report(agent.State{Calls: 5}, recordsOf(t,
		touched("created new.go", "modified old.go", "created brief.go", "modified gone.go"),
		touched("modified new.go", "modified old.go", "deleted brief.go", "deleted gone.go"), ran, again),
		`{"summary":"s","files_modified":["old.go","./new.go","gone.go","never.go"],"files_created":["new.go","old.go"],"tests_run":4,"tests_passed":4}`)
	var r Report
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"modified", r.FilesModified, []string{"old.go"}},
		{"created", r.FilesCreated, []string{"new.go", "made-by-command.txt"}},
		{"deleted", r.FilesDeleted, []string{"gone.go"}},
		{"commands", r.Commands, []string{"go test -v", "go test -v -run X"}},
		{"unverified", r.Unverified, []string{"files_modified: never.go", "files_created: old.go", "tests_passed: 4"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	if r.TestsRun == nil || *r.TestsRun != 4 || *r.TestsPassed != 3 || r.ToolCalls != 5 {
		t.Errorf("tests %v of %v, %d calls", r.TestsPassed, r.TestsRun, r.ToolCalls)
	}
}

func TestReportOfNothing(t *testing.T) {
	p := newPerformer(t, &models{})
	raw := p.Report(agent.State{}, nil, `{"summary":"s","tests_run":0}`)
	if !strings.Contains(string(raw), `"tests_run":null`) || strings.Contains(string(raw), "unverified") {
		t.Errorf("a report of nothing: %s", raw)
	}
	if raw := p.Report(agent.State{}, nil, "plain text"); strings.Contains(string(raw), "unverified") {
		t.Errorf("plain text claims nothing: %s", raw)
	}
	long := make([]string, 300)
	for i := range long {
		long[i] = "created " + strings.Repeat("x", i+1)
	}
	var r Report
	if err := json.Unmarshal(p.Report(agent.State{}, recordsOf(t, touched(long...)), ""), &r); err != nil || len(r.FilesCreated) != 201 || r.FilesCreated[200] != "and 100 more" {
		t.Errorf("%d files are listed (%v)", len(r.FilesCreated), err)
	}
}

// TestResultsTellTheRecord: what a parent's model is told of the record fits
// into its share.
func TestResultsTellTheRecord(t *testing.T) {
	p := newPerformer(t, &models{})
	meta := p.Report(agent.State{}, recordsOf(t, touched("created a.go")), `{"files_modified":["b.go"]}`)
	tasks := []store.Task{{ID: "k.1", Name: "agent:coder", Instruction: "x", Reason: "completed", Result: `{"summary":"<done>"}`, Metadata: meta}}
	want := `{"success":{"result":{"summary":"<done>"}}},"record":{"files_created":["a.go"],"unverified":["files_modified: b.go"]}`
	if got := p.Results(tasks); !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestQuestionText(t *testing.T) {
	for input, want := range map[string]string{
		`{"question":"Which?"}`: "Which?",
		`{"question":"Which?","options":[{"label":"a"},{"label":"b"}]}`:                    "Which? (a / b)",
		`{"questions":[{"question":"One?"},{"question":"Two?"}]}`:                          "One?\nTwo?",
		`{"question":"Zero?","questions":[{"question":"One?","options":[{"label":"y"}]}]}`: "Zero?\nOne? (y)",
		`no JSON`: "no JSON",
	} {
		if got := questionText(input); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

// TestNeeded: what a schema cannot ask for is asked for all the same.
func TestNeeded(t *testing.T) {
	p := newPerformer(t, &models{})
	spec := agent.Spec{Tools: []string{SubmitResult, AskUser}}
	for _, c := range []struct {
		name, input string
		refused     bool
	}{
		{SubmitResult, `{}`, true},
		{SubmitResult, `{"details":"x"}`, true},
		{SubmitResult, `{"summary":"x"}`, false},
		{SubmitResult, `{"result":"x"}`, false},
		{AskUser, `{}`, true},
		{AskUser, `{"questions":[]}`, true},
		{AskUser, `{"question":"x","options":[{"label":"only one"}]}`, true},
		{AskUser, `{"question":"x"}`, false},
	} {
		if got := propose(t, p, spec, c.name, c.input); got.Refused != c.refused {
			t.Errorf("%s %s: refused %v, %s", c.name, c.input, got.Refused, got.Why)
		}
	}
}
