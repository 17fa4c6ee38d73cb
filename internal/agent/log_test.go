// Recorded lives in testdata/logs, which every later version of the machine
// must replay to the state they led to. Where it cannot, agent.Version has to
// grow, and a migration to be written.

package agent_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/agent/agenttest"
	"github.com/cadre-dev/cadre/internal/message"
)

const logs = "testdata/logs"

func TestLogs(t *testing.T) {
	if *rewrite {
		record(t)
	}
	paths, err := filepath.Glob(logs + "/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 20 {
		t.Errorf("only %d logs were found", len(paths))
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines, want, err := agenttest.ReadLog(b)
			if err != nil {
				t.Fatal(err)
			}
			s, err := agenttest.Replay(lines)
			if err != nil {
				t.Fatal(err)
			}
			if got := hash(t, s); got != want {
				t.Errorf("replayed to %s, recorded was %s", got, want)
			}
		})
	}
}

func hash(t *testing.T, s agent.State) string {
	t.Helper()
	h, err := s.Hash()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// seeded takes the decisions of a recorded life from a generator that gives
// the same numbers for ever.
type seeded struct{ *rand.Rand }

func (s seeded) Intn(n int) int { return s.IntN(n) }

func seed(n uint64) seeded { return seeded{rand.New(rand.NewPCG(n, 20))} }

// record writes the logs anew: of scripts that lead far, of random lives with
// all kinds of events, and of a tree.
func record(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"06_late_report_of_a_detached_group", "08_a_message_in_every_state", "12_share", "14_messages_around_a_stop",
		"15_overflow", "18_consultation_without_confidence", "20_recovered_while_acting", "21_migrated",
		"01_continued", "12_extension_of_a_child_outlives_a_run", "12_extension_while_results_come", "14_worktree_after_the_children",
		"14_worktree_settles", "18_told_of_questions_that_are_shown", "18_waiting_list", "19_a_write_in_between",
		"19_the_same_delegation_after_failure", "20_recovered_while_a_tool_asks",
	} {
		text, err := os.ReadFile("testdata/scripts/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		_, tr, err := agenttest.RunScript(string(text))
		if err != nil {
			t.Fatal(err)
		}
		save(t, "script_"+name, tr)
	}
	for n := range uint64(6) {
		tr := &agenttest.Trace{}
		w := &agenttest.Walker{Trace: tr, Dice: seed(n), Now: 1_000_000}
		depth := int(n % 2)
		for ev := w.Birth(depth); len(tr.Events) < 60; ev = w.Next() {
			if err := tr.Step(ev); err != nil {
				t.Fatal(err)
			}
		}
		save(t, fmt.Sprintf("walk_%d_depth_%d", n, depth), tr)
	}
	tree, err := agenttest.NewTree(seed(7))
	for i := 0; i < 60 && err == nil; i++ {
		err = tree.Step()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range tree.IDs()[:min(tree.Size(), 5)] {
		save(t, "tree_"+id, tree.Trace(id))
	}
	saveMigrated(t)
}

func save(t *testing.T, name string, tr *agenttest.Trace) {
	t.Helper()
	b, err := agenttest.WriteLog(tr)
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, b)
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(logs, name+".jsonl"), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// version0 is a log as an older version might have written it. Its events are
// unknown today: only their conversion is.
const version0 = `{"type":"born","version":0,"body":{"id":"chat","role":"main"}}
{"type":"said_by_user","version":0,"body":{"message":"u1","when":1000000}}
{"type":"spawned","version":0,"body":{"agents":["chat/1","chat/2"],"when":1000500}}
{"type":"agent_finished","version":0,"body":{"agent":"chat/1","when":1000900}}
`

// converted is what a migration makes of version0: u1 is placed, the reply
// delegates to two agents, of which one has ended.
func converted() agent.Migrated {
	return agent.Migrated{
		At: 1_002_000,
		Spec: agent.Spec{
			ID: "chat", Chat: "chat", Role: "main", Name: "main", Path: "main", MaxDepth: 2,
			Choice: agent.Choice{Models: []string{"m1"}}, Tools: []string{"Read", "spawn_agents"}, Delegates: []string{"general"},
		},
		State: agent.State{
			Phase: agent.Acting{Pos: 1, Calls: []agent.Call{{ID: "s", Name: "spawn_agents", Class: agent.ClassDelegate, Phase: agent.CallChildren}}},
			Turn:  1, Pos: 3, LastAt: 1_000_900, Tasks: 2, Cause: "u1",
			Groups: []agent.Group{{First: 1, Size: 2, Wait: 2, Done: 1, Good: 1, Ended: agent.Bits{1}, Live: 1}},
			Run:    agent.Meter{Turns: 1}, Life: agent.Meter{Turns: 1},
		},
	}
}

// afterMigration is how the life goes on.
func afterMigration() []agent.Event {
	return []agent.Event{
		converted(),
		agent.ChildEnded{At: 1_003_000, Task: 1, Reason: agent.ReasonCompleted}, // has ended long ago
		agent.ChildEnded{At: 1_004_000, Task: 2, Reason: agent.ReasonFailed},
		agent.ModelReplied{At: 1_005_000, Turn: 2, Try: 1, Stop: agent.StopEnd, Text: true, Priced: true},
		agent.UserMessage{At: 1_006_000, ID: "u2", Body: message.Of(message.User, message.KindUser, "go on")},
	}
}

func saveMigrated(t *testing.T) {
	t.Helper()
	tr := &agenttest.Trace{}
	for _, ev := range afterMigration() {
		s, _, err := agent.Step(tr.State, ev)
		verdict := ""
		if err != nil {
			verdict = "stale"
		}
		tr.State = s
		tr.Events = append(tr.Events, agenttest.Happened{Event: ev, Verdict: verdict})
	}
	b, err := agenttest.WriteLog(tr)
	if err != nil {
		t.Fatal(err)
	}
	write(t, "migrated_from_0", slices.Concat([]byte(version0), b))
}

// TestMigrated: replay begins at the last Migrated event, cannot read what is
// before it and does not need to; and it comes to the same state whatever the
// older version had left in memory.
func TestMigrated(t *testing.T) {
	b, err := os.ReadFile(logs + "/migrated_from_0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines, want, err := agenttest.ReadLog(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(b, []byte(version0)) || lines[0].Version != 0 {
		t.Fatal("the log does not begin with version 0")
	}
	if _, err := agent.DecodeEvent(lines[0].Type, lines[0].Body); err == nil {
		t.Error("an event of version 0 can be read")
	}
	if _, err := agenttest.Replay(lines[:4]); err == nil {
		t.Error("version 0 was replayed")
	}
	for name, before := range map[string]agent.State{
		"nothing":          {},
		"a clock ahead":    {Spec: agent.Spec{ID: "chat"}, Phase: agent.Idle{}, LastAt: 9_000_000},
		"another phase":    {Spec: agent.Spec{ID: "chat"}, Phase: agent.Thinking{Try: 1}, Turn: 40, Active: 7, LastAt: 8},
		"a longer history": {Spec: agent.Spec{ID: "chat"}, Phase: agent.Idle{}, Pos: 90, Queue: []string{"u9"}},
	} {
		s := before
		for _, ev := range afterMigration() {
			s, _, err = agent.Step(s, ev)
			if err != nil && agent.EventType(ev) != "child_ended" {
				t.Errorf("after %s: %s: %v", name, agent.EventType(ev), err)
			}
		}
		if got := hash(t, s); got != want {
			t.Errorf("after %s the life leads to another state", name)
		}
	}
	next, fx, err := agent.Step(agent.State{}, converted())
	if err != nil || len(fx) > 0 {
		t.Errorf("migrated with effects %v, error %v", fx, err)
	}
	got, err := json.Marshal(next)
	if err != nil {
		t.Fatal(err)
	}
	moved := converted().State
	moved.LastAt = 1_002_000
	if want, err := json.Marshal(moved); err != nil || string(got) != string(want) {
		t.Errorf("the state was not taken over:\n%s\n%s", want, got)
	}
}
