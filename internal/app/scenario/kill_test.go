// Kills: a story is lived once to count the boundaries at which its process
// could die, and then again with a kill at each of them. With the race
// detector, which makes each life several times as long, at a sample.

package scenario_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// killedEverywhere lives a story undisturbed, and then killed at each of its
// boundaries. It ends with the same transcript each time, unless a write was
// under way: then its agent is told so, and all other rules still hold. What
// tell makes is what the story begins with and what the person does, from the
// first message to the last.
func killedEverywhere(t *testing.T, tell func() (setup, func(*world))) {
	t.Helper()
	killed(t, tell, func(want, got string) bool { return got == want || interrupted(got) })
}

// killed lives a story as killedEverywhere does; same tells whether a killed
// life ended as well as the undisturbed one.
func killed(t *testing.T, tell func() (setup, func(*world)), same func(want, got string) bool) {
	t.Helper()
	var points atomic.Int64
	s, live := tell()
	w := begin(t, s)
	w.kill = func(string) bool { points.Add(1); return false }
	live(w)
	w.end()
	want := w.transcript()
	n := int(points.Load())
	if t.Failed() {
		return
	}
	step := max(1, n/sampled)
	for k := 1; k <= n; k += step {
		t.Run(fmt.Sprintf("killed at %d of %d", k, n), func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int64
			s, live := tell()
			w := begin(t, s)
			w.kill = func(string) bool { return seen.Add(1) == int64(k) }
			live(w)
			w.end()
			got := w.transcript()
			if !same(want, got) {
				t.Errorf("it ends otherwise than undisturbed:\n%s", difference(want, got))
			}
		})
	}
}

// always is a story that needs nothing of its own.
func always(s setup, live func(*world)) func() (setup, func(*world)) {
	return func() (setup, func(*world)) { return s, live }
}

// interrupted tells that a write was under way when its process was killed, or
// was about to: what its agent had read is forgotten then, so that it has to
// read it again; and work that was applied before it was on record is applied
// again, to a folder that has it.
func interrupted(transcript string) bool {
	return slices.ContainsFunc([]string{"Interrupted: the process ended", "you have not read it", "had all of it already"}, func(s string) bool {
		return strings.Contains(transcript, s)
	})
}

// TestKilledCommand: an agent whose command dies with the process is told what
// that had printed; nothing is kept of commands whose result is on record.
func TestKilledCommand(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{
		Shell: true,
		Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: Bash, input: {command: "echo first; touch a.txt"}}]
      - calls: [{tool: Bash, input: {command: "echo migrated 1 of 2; touch b.txt; sleep 600; echo migrated 2 of 2"}}]
      - calls: [{tool: Bash, input: {command: "echo third; touch c.txt"}}]
      - text: I know what was done.
`,
	})
	kept := func() (names []string) {
		files, err := os.ReadDir(filepath.Join(w.root, "data", "printed"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			names = append(names, f.Name())
		}
		return names
	}
	w.say("go")
	w.printing("k-c2.0", "migrated 1 of 2")
	if got := fmt.Sprint(kept()); got != "[k-c2.0.txt]" {
		t.Errorf("kept are %s", got)
	}
	w.restart()
	w.end()
	w.wants("result of Bash: first", "failure of Bash: Interrupted: the process ended while this ran.", "It had printed:", "migrated 1 of 2", "result of Bash: third", "I know what was done.")
	if strings.Contains(w.transcript(), "migrated 1 of 2\n              migrated 2") {
		t.Error("the command went on")
	}
	if got := kept(); len(got) > 0 {
		t.Errorf("%v are kept, and every result is on record", got)
	}
}
