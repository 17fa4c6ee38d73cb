// What a state is to the world: small, encoded without loss and strictly, and
// told in words that fit.

package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/agent"
)

// parent is an orchestrator that has begun n children in one reply, in one
// group or in a group each.
func parent(t testing.TB, n int, oneGroup bool) agent.State {
	t.Helper()
	reply := agent.ModelReplied{At: 3, Turn: 1, Try: 1, Stop: agent.StopTools, Priced: true}
	task := agent.Planned{Role: "general", Priced: true}
	for i := range n {
		if i == 0 || !oneGroup {
			reply.Calls = append(reply.Calls, agent.Proposal{ID: fmt.Sprintf("call_%d", i), Name: "spawn_agents", Class: agent.ClassDelegate, Plan: &agent.Plan{}})
		}
		plan := reply.Calls[len(reply.Calls)-1].Plan
		plan.Tasks = append(plan.Tasks, task)
	}
	spec := agent.Spec{
		ID: "chat", Chat: "chat", Role: "main", MaxDepth: 1, Choice: agent.Choice{Models: []string{"m1"}}, Tools: []string{"spawn_agents"}, Delegates: []string{"general"},
	}
	return steps(t, agent.State{}, agent.Created{At: 1, Spec: spec}, agent.UserMessage{At: 2, ID: "u0"}, reply)
}

// steps takes events that must all be taken.
func steps(t testing.TB, s agent.State, events ...agent.Event) agent.State {
	t.Helper()
	for _, ev := range events {
		next, _, err := agent.Step(s, ev)
		if err != nil {
			t.Fatalf("%s: %v", agent.EventType(ev), err)
		}
		s = next
	}
	return s
}

func size(t testing.TB, s agent.State) int {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}

// TestSmall holds rule 10: with 1,000 children at work and 10,000 messages the
// state has the size of a page.
func TestSmall(t *testing.T) {
	s := parent(t, 1000, true)
	most := size(t, s)
	at := agent.At(10)
	for i := range 10_000 {
		at += 10
		s = steps(t, s, agent.UserMessage{At: at, ID: fmt.Sprintf("message-%d", i)})
		s = steps(t, s, agent.ModelReplied{At: at + 1, Turn: s.Turn, Try: 1, Text: true, Stop: agent.StopEnd, Priced: true})
		if i%10 == 0 && i < 9990 {
			s = steps(t, s, agent.ChildEnded{At: at + 2, Task: 1 + i/10, Reason: agent.ReasonCompleted})
		}
		if i%100 == 0 {
			most = max(most, size(t, s))
		}
	}
	if n := s.LiveChildren(); n != 1 {
		t.Errorf("%d children are left", n)
	}
	if most > 1024 {
		t.Errorf("the state grew to %d bytes", most)
	}
}

// TestGroupEach: a group for each of 1,000 children is the dearest way to have
// them; it costs ids and counters for each that has not ended, and nothing for
// those that have.
func TestGroupEach(t *testing.T) {
	s := parent(t, 1000, false)
	if n := size(t, s); n > 1000*200 {
		t.Errorf("the state has %d bytes", n)
	}
	for task := 1; task <= 1000; task++ {
		s = steps(t, s, agent.ChildEnded{At: 10, Task: task, Reason: agent.ReasonCompleted})
	}
	if n := size(t, s); n > 512 {
		t.Errorf("%d bytes are left", n)
	}
}

// TestStrict: what this version does not know is not read, in an event, a
// state or its phase.
func TestStrict(t *testing.T) {
	for _, c := range []struct{ typ, body string }{
		{"tick", `{"at":1,"colour":"red"}`},
		{"tock", `{"at":1}`},
		{"tick", `{"at":"noon"}`},
		{"migrated", `{"at":1,"spec":{"id":"a"},"state":{"phase":"idle","mood":"good"}}`},
		{"migrated", `{"at":1,"spec":{"id":"a"},"state":{"phase":"dreaming"}}`},
		{"migrated", `{"at":1,"spec":{"id":"a"},"state":{"phase":"thinking","in":{"try":1,"hard":true}}}`},
	} {
		if ev, err := agent.DecodeEvent(c.typ, []byte(c.body)); err == nil {
			t.Errorf("%s %s was read as %v", c.typ, c.body, ev)
		}
	}
}

// TestStamp: an event of any type can be given its time, and nothing else
// changes.
func TestStamp(t *testing.T) {
	for _, ev := range []agent.Event{
		agent.Created{},
		agent.UserMessage{ID: "u1"},
		agent.ModelQueued{Turn: 1},
		agent.ModelReplied{Try: 2},
		agent.ModelFailed{Try: 3},
		agent.Compacted{OK: true},
		agent.ToolStarted{Call: 1},
		agent.ToolFinished{Call: 2},
		agent.ApprovalNeeded{Grant: "h"},
		agent.ApprovalAnswered{Allow: true},
		agent.Consulted{Item: "i"},
		agent.QuestionAnswered{Item: "i"},
		agent.ChildEnded{Task: 1},
		agent.ToolAsked{Call: 3},
		agent.TaskAsks{Item: "i", For: true},
		agent.Extended{Amount: agent.Amount{Tokens: 5}},
		agent.WorkInspected{Empty: true},
		agent.WorkDecided{Item: "i"},
		agent.Charged{Priced: true},
		agent.AcceptanceDone{Passed: true},
		agent.Cancel{Force: true},
		agent.Tick{},
		agent.Recovered{},
		agent.Migrated{},
	} {
		typ := agent.EventType(ev)
		if typ == "" {
			t.Errorf("%T has no name", ev)
		}
		before, err := agent.EncodeEvent(ev)
		if err != nil {
			t.Fatal(err)
		}
		after, err := agent.EncodeEvent(agent.Stamp(ev, 77))
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(string(before), `"at":0`, `"at":77`, 1); string(after) != want {
			t.Errorf("%s: %s became %s", typ, before, after)
		}
		again, err := agent.DecodeEvent(typ, before)
		if err != nil {
			t.Errorf("%s: %v", typ, err)
			continue
		}
		if b, err := agent.EncodeEvent(again); err != nil || string(b) != string(before) {
			t.Errorf("%s: %s was read as %s", typ, before, b)
		}
	}
}

// TestEndings holds rule 3: one table has a word for each reason in each of
// the vocabularies, a limit is never success, and what was kept at a limit is
// a partial result.
func TestEndings(t *testing.T) {
	reasons := []agent.Reason{
		agent.ReasonCompleted, agent.ReasonPartial, agent.ReasonFailed, agent.ReasonCancelled, agent.ReasonTimeout,
		agent.ReasonMaxTurns, agent.ReasonBudget, agent.ReasonSuperseded, agent.ReasonInterrupted,
	}
	badges := map[string]bool{}
	for _, r := range reasons {
		o := agent.Outcome{Reason: r}
		n := o.Names()
		good := r == agent.ReasonCompleted
		if o.Success() != good || (n.Task == "success") != good || (n.SubAgent == "completed") != good || (n.Status == "completed") != good || (n.Bailout == "") != good {
			t.Errorf("%s reads %+v", r, n)
		}
		if n.Badge == "" || badges[n.Badge] {
			t.Errorf("%s has the badge %q", r, n.Badge)
		}
		badges[n.Badge] = true
		limit := r == agent.ReasonTimeout || r == agent.ReasonMaxTurns || r == agent.ReasonBudget || r == agent.ReasonInterrupted
		o.Result = agent.Ref{From: 1, To: 1}
		if kept := o.Names().Task; limit && kept != "partial" || !limit && kept != n.Task {
			t.Errorf("%s with a result is a task %q", r, kept)
		}
	}
	if (agent.Outcome{Reason: agent.ReasonTimeout}).Names() == (agent.Outcome{Reason: agent.ReasonCancelled}).Names() {
		t.Error("a timeout cannot be told from a cancel")
	}
}

// TestStatus: a person is told the truth about what an agent is doing, and
// first what that person can do something about.
func TestStatus(t *testing.T) {
	calls := func(phases ...agent.CallPhase) agent.Phase {
		a := agent.Acting{}
		for _, p := range phases {
			a.Calls = append(a.Calls, agent.Call{Phase: p})
		}
		return a
	}
	for _, c := range []struct {
		state agent.State
		want  agent.Status
		task  string
	}{
		{agent.State{Phase: agent.Idle{}}, agent.StatusIdle, "running"},
		{agent.State{Phase: agent.Idle{}, Groups: []agent.Group{{Live: 1}}}, agent.StatusChildren, "running"},
		{agent.State{Phase: agent.Thinking{}}, agent.StatusThinking, "running"},
		{agent.State{Phase: agent.Thinking{Why: "rate_limit"}}, agent.StatusQueued, "running"},
		{agent.State{Phase: agent.Backoff{}}, agent.StatusRetrying, "running"},
		{agent.State{Phase: agent.Compacting{}}, agent.StatusCompacting, "running"},
		{agent.State{Phase: agent.Accepting{}}, agent.StatusAccepting, "running"},
		{agent.State{Phase: agent.Cancelling{}}, agent.StatusCancelling, "running"},
		{agent.State{Phase: agent.Extending{}}, agent.StatusBudget, "waiting"},
		{agent.State{Phase: agent.Settling{}}, agent.StatusSettling, "running"},
		{agent.State{Phase: calls(agent.CallRunning, agent.CallPaused)}, agent.StatusAnswer, "waiting"},
		{agent.State{Phase: calls(agent.CallPaused, agent.CallApproval)}, agent.StatusApproval, "waiting"},
		{agent.State{Phase: calls(agent.CallRunning, agent.CallQueued)}, agent.StatusActing, "running"},
		{agent.State{Phase: calls(agent.CallChildren, agent.CallDone)}, agent.StatusChildren, "running"},
		{agent.State{Phase: calls(agent.CallChildren, agent.CallStarted)}, agent.StatusActing, "running"},
		{agent.State{Phase: calls(agent.CallAsking, agent.CallChildren)}, agent.StatusActing, "running"},
		{agent.State{Phase: calls(agent.CallRunning, agent.CallAsked)}, agent.StatusAnswer, "waiting"},
		{agent.State{Phase: calls(agent.CallAsked, agent.CallApproval)}, agent.StatusApproval, "waiting"},
		{agent.State{Phase: agent.Completed{Outcome: agent.Outcome{Reason: agent.ReasonCompleted}}, Last: agent.Outcome{Reason: agent.ReasonCompleted}}, "completed", "success"},
		{agent.State{Phase: agent.Failed{Outcome: agent.Outcome{Reason: agent.ReasonBudget}}, Last: agent.Outcome{Reason: agent.ReasonBudget}}, "budget", "failed"},
	} {
		if got := c.state.Status(); got != c.want {
			t.Errorf("%T %v reads %q, not %q", c.state.Phase, c.state.Phase, got, c.want)
		}
		if got := c.state.Names().Task; got != c.task {
			t.Errorf("%T %v is a task %q, not %q", c.state.Phase, c.state.Phase, got, c.task)
		}
	}
}
