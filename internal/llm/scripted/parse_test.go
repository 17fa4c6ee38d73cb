// Tests of reading scripts: what is accepted, and that every complaint points
// at the line it is about.

package scripted

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// TestParseErrors gives each faulty script, the line of the fault, and a part
// of what is said about it. The caret must stand below that line.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	turns := func(lines string) string { return "agents:\n- turns:\n" + lines }
	tests := []struct {
		name, src string
		line      string // as shown in front of the source line
		want      string
	}{
		{"syntax", "agents:\n  - match: {role: main\n    turns: []\n", "3", "'}' must be specified"},
		{"indentation", "name: x\n  agents: []\n", "1", ""},
		{"unknown top key", "agent: []\n", "1", `unknown field "agent"`},
		{"unknown block key", "agents:\n- matches: {}\n  turns: [{text: a}]\n", "2", `unknown field "matches"`},
		{"unknown match key", "agents:\n- match: {rolle: x}\n  turns: [{text: a}]\n", "2", `unknown field "rolle"`},
		{"unknown turn key", turns("  - text: a\n    sotp: end\n"), "4", `unknown field "sotp"`},
		{"unknown call key", turns("  - calls:\n    - tool: LS\n      inputs: {}\n"), "5", `unknown field "inputs"`},
		{"unknown fault key", turns("  - fault: {state: 500}\n"), "3", `unknown field "state"`},
		{"unknown repeat key", turns("  - calls: [{tool: LS, repeat: {times: 2}}]\n"), "3", `unknown field "times"`},
		{"unknown usage key", turns("  - {text: a, usage: {in: 1}}\n"), "3", `unknown field "in"`},
		{"duplicate key", "name: a\nname: b\n", "2", `"name" already defined`},
		{"no agents", "name: x\n", "1", "needs agents"},
		{"two documents", "agents: [{turns: [{text: a}]}]\n---\nagents: []\n", "3", "one document"},
		{"no turns", "agents:\n- match: {role: a}\n", "2", "needs turns"},
		{"empty turn", turns("  - {}\n"), "3", "needs text"},
		{"missing turn", turns("  -\n"), "2", "missing behind its dash"},
		{"turn is text", turns("  - hello\n"), "3", ""},
		{"missing call", turns("  - calls:\n    -\n"), "3", "missing behind its dash"},
		{"call without tool", turns("  - calls: [{input: {}}]\n"), "3", "needs a tool"},
		{"input is text", turns("  - calls:\n    - tool: LS\n      input: hello\n"), "5", "mapping of names"},
		{"unreachable", "agents:\n- turns: [{text: a}]\n- match: {role: b}\n  turns: [{text: b}]\n", "3", "line 2 matches every agent"},
		{"bad regexp", "agents:\n- match: {task_re: 'a('}\n  turns: [{text: a}]\n", "2", "missing closing )"},
		{"bad after", "agents:\n- turns: [{text: a}]\n  after: never\n", "3", `"never" is not one of last, repeat, error`},
		{"bad stop", turns("  - {text: a, stop: now}\n"), "3", "not one of end, tools"},
		{"stop tools without calls", turns("  - {text: a, stop: tools}\n"), "3", "needs calls"},
		{"duration without unit", "defaults: {delay: 20}\n", "1", "not a duration"},
		{"negative duration", turns("  - text: a\n    delay: -1s\n"), "4", "not a duration"},
		{"negative count", "defaults: {chunk: -1}\n", "1", "not between"},
		{"count is text", "defaults: {chunk: many}\n", "1", "whole number"},
		{"unknown template", turns("  - text: 'hello {{who}}'\n"), "3", "unknown template {{who}}"},
		{"unknown template in input", turns("  - calls:\n    - tool: LS\n      input:\n        a: [{b: '{{x}}'}]\n"), "6", "unknown template {{x}}"},
		{"unquoted template", turns("  - calls:\n    - tool: LS\n      input: {a: {{i}}}\n"), "5", "quote"},
		{"unquoted template as text", turns("  - text: {{user}}\n"), "3", "quote"},
		{"bad result number", turns("  - text: '{{result.0}}'\n"), "3", "not a number that can stand there"},
		{"number in text", turns("  - calls: [{tool: LS, input: {a: 'x {{number turn}}'}}]\n"), "3", "whole value"},
		{"index outside repeat", turns("  - text: '{{i}}'\n"), "3", "only where repeat"},
		{"index in input beside key", turns("  - calls:\n    - tool: S\n      input: {a: '{{i}}'}\n      repeat: {key: t, count: 2, template: {}}\n"), "5", "only where repeat"},
		{"group without task_re", turns("  - text: '{{task.1}}'\n"), "3", "needs a task_re"},
		{"group too high", "agents:\n- match: {task_re: '(a)'}\n  turns:\n  - text: '{{task.2}}'\n", "4", "only 1 groups"},
		{"repeat without count", turns("  - calls: [{tool: S, repeat: {key: t, template: {}}}]\n"), "3", "either count or each"},
		{"repeat with both", turns("  - calls: [{tool: S, repeat: {count: 1, each: [a]}}]\n"), "3", "either count or each"},
		{"repeat without end", turns("  - calls: [{tool: S, repeat: {count: 1000000}}]\n"), "3", "at most 100000"},
		{"repeat from with each", turns("  - calls: [{tool: S, repeat: {from: 1, each: [a]}}]\n"), "3", "no from"},
		{"repeat without template", turns("  - calls: [{tool: S, repeat: {key: t, count: 1}}]\n"), "3", "needs a template"},
		{"repeat without key", turns("  - calls: [{tool: S, repeat: {count: 1, template: {a: b}}}]\n"), "3", "needs the key"},
		{"repeat into text", turns("  - calls:\n    - tool: S\n      input: {t: x}\n      repeat: {key: t, count: 1, template: {}}\n"), "5", "must be a list"},
		{"repeated id", turns("  - calls: [{tool: S, id: a, repeat: {count: 2}}]\n"), "3", "must contain {{i}}"},
		{"same id twice", turns("  - calls:\n    - {tool: S, id: a}\n    - {tool: S, id: a}\n"), "5", `two calls have the id "a"`},
		{"two faults", turns("  - fault: {status: 500, cut: true}\n"), "3", "exactly one"},
		{"no fault", turns("  - fault: {times: 1}\n"), "3", "exactly one"},
		{"status of success", turns("  - fault: {status: 200}\n"), "3", "no error"},
		{"unknown kind", turns("  - fault: {kind: tired}\n"), "3", "not one of auth"},
		{"idle without stall", turns("  - fault: {cut: true, idle: 1s}\n"), "3", "belongs to stall"},
		{"fault that passes into nothing", turns("  - fault: {status: 500, times: 1}\n"), "3", "say what is played then"},
		{"unknown alias", turns("  - *nobody\n"), "3", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("faulty.yaml", []byte(tt.src))
			if err == nil {
				t.Fatal("the script was accepted")
			}
			got := err.Error()
			if !strings.HasPrefix(got, "script faulty.yaml: ") || !strings.Contains(got, tt.want) {
				t.Errorf("error does not name the script and %q:\n%s", tt.want, got)
			}
			if line := markedLine(got); line != tt.line {
				t.Errorf("error marks line %q, want %q:\n%s", line, tt.line, got)
			}
			if !strings.Contains(got, "^") {
				t.Errorf("error has no caret:\n%s", got)
			}
		})
	}
}

// markedLine finds the line number in "> 3 | source".
func markedLine(msg string) string {
	for line := range strings.Lines(msg) {
		if rest, ok := strings.CutPrefix(line, ">"); ok {
			number, _, _ := strings.Cut(rest, "|")
			return strings.TrimSpace(number)
		}
	}
	return ""
}

func TestParseEmpty(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"", "\n\n", "# only a remark\n"} {
		if _, err := Parse("empty.yaml", []byte(src)); err == nil || !strings.Contains(err.Error(), "empty") {
			t.Errorf("Parse(%q) = %v, want that it is empty", src, err)
		}
	}
}

// TestExampleOfTheDocs loads the script the package comment shows.
func TestExampleOfTheDocs(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "# A whole script\n//\n")
	var src strings.Builder
	for line := range strings.Lines(rest) {
		code, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			break
		}
		src.WriteString(code)
	}
	m, err := Parse("doc.go", []byte(src.String()))
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != "hundred readers" || m.ModelName() != "reader-1" || len(m.script.Agents) != 3 {
		t.Errorf("the example was read as %q, %q with %d blocks", m.Name(), m.ModelName(), len(m.script.Agents))
	}
	take, err := m.Take(&llm.Request{Caller: llm.Caller{Role: "main"}})
	if err != nil {
		t.Fatal(err)
	}
	calls := message.Message{Parts: take.Reply.Parts}.Calls()
	var in struct{ Tasks []struct{ Task, Role string } }
	if len(calls) != 1 || json.Unmarshal(calls[0].Input, &in) != nil || len(in.Tasks) != 100 || in.Tasks[99].Task != "read part 100" {
		t.Errorf("the first turn spawns %s", calls)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "demo.yaml")
	if err := os.WriteFile(path, []byte("agents: [{turns: [{text: hi}]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != "demo" {
		t.Errorf("a script without a name is called %q, want demo, after its file", m.Name())
	}
	if _, err := Load(path + ".missing"); err == nil || !strings.Contains(err.Error(), "loading a script") {
		t.Errorf("loading a missing file: %v", err)
	}
}
