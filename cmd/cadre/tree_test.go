// Tests of trees through the binary: what observers see of nested agents, and a
// thousand agents in one call.

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// observed is a line of --events.
type observed struct {
	Type  string    `json:"type"`
	Path  string    `json:"path"`
	Role  string    `json:"role"`
	Depth int       `json:"depth"`
	Turns int       `json:"turns"`
	Used  int64     `json:"tokens"`
	State string    `json:"state"`
	Event *observed `json:"event"`
}

// TestEvents: observers see each agent start, get on and end, nested ones
// within those above them, and the last line tells what all of them used.
func TestEvents(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	r := f.run(0, "run", "--events", "--model", script(t, "nested.yaml"), "go")
	if d := done(t, withoutNumbers(r.out)); d.Outcome != "completed" || d.Agents != 3 || d.Result != "all done" {
		t.Errorf("done: %+v", d)
	}
	var got []string
	for line := range strings.Lines(r.out) {
		o := decodeTo[observed](t, line)
		if o.Type == "done" {
			continue
		}
		if o.Path != "main/coder" || o.Role != "coder" || o.Depth != 1 {
			t.Errorf("an event of %s stands at the top: %s", o.Path, line)
		}
		if e := o.Event; e != nil {
			if o.Type != "sub_agent_progress" || e.Path != "main/coder/tester" || e.Role != "tester" || e.Depth != 2 || e.Event != nil {
				t.Errorf("a nested event: %s", line)
			}
			o = *e
		}
		if o.Type == "sub_agent_end" && (o.Used == 0 || o.Turns != 2 || o.State != "completed") {
			t.Errorf("an end without usage: %s", line)
		}
		if o.Type != "sub_agent_progress" {
			got = append(got, o.Type+" "+o.Role)
		}
	}
	want := []string{"sub_agent_start coder", "sub_agent_start tester", "sub_agent_end tester", "sub_agent_end coder"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// withoutNumbers keeps the last line: events of one commit share its number.
func withoutNumbers(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}

// TestThousandChildren: each result of a thousand is delivered once, in the
// order of the tasks, and all together leave room in a usual context.
func TestThousandChildren(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	d := done(t, f.run(0, "run", "--json", "--model", script(t, "thousand.yaml"), "go").out)
	if d.Outcome != "completed" || d.Agents != 1001 {
		t.Errorf("done: %s, %d agents", d.Outcome, d.Agents)
	}
	var told struct {
		Results []struct {
			Agent   string `json:"agent_id"`
			Task    string `json:"task"`
			Outcome map[string]json.RawMessage
		} `json:"sub_agent_results"`
	}
	if err := json.Unmarshal([]byte(d.Result), &told); err != nil {
		t.Fatal(err)
	}
	if n := len(told.Results); n != 1000 || len(d.Result) > 330_000 {
		t.Fatalf("%d results in %d bytes", n, len(d.Result))
	}
	for i, r := range told.Results {
		n := i + 1
		kind := "success"
		if n%10 == 7 {
			kind = "failure"
		}
		said := string(r.Outcome[kind])
		if r.Agent != fmt.Sprintf("%s.%d", d.Chat, n) || r.Task != fmt.Sprintf("part %d of a thousand", n) || !strings.Contains(said, r.Task) || !strings.Contains(said, "read_artifact "+r.Agent) {
			t.Errorf("result %d is %+v", n, r)
		}
	}
	f.sound()
}
