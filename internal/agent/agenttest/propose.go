// What random lives are made of: specs, replies, tool calls and nonsense.

package agenttest

import (
	"fmt"
	"slices"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
)

var (
	toolNames = []string{"Read", "Grep", "Write", "Bash", "spawn_agents", "submit_result", "ask_user", "submit_error", "Missing"}
	roleNames = []string{"general", "coder", "tester"} // all but the last may be delegated to
	failKinds = []agent.Failure{
		agent.FailOverloaded, agent.FailRateLimit, agent.FailServer, agent.FailNetwork, agent.FailTimeout, agent.FailOverflow,
		agent.FailQuota, agent.FailAuth, agent.FailPermission, agent.FailNotFound, agent.FailBadRequest, agent.FailFilter,
	}
)

func choice(d Dice) agent.Choice {
	return agent.Choice{
		Models: []string{"m1", "m2", "m3"}[d.Intn(3):], MaxOutput: int64(300 + d.Intn(400)), Window: int64(pick(d, 0, 0, 2000, 700)),
		Price: agent.Price{Known: true, Input: 1000, Output: 5000},
	}
}

// Birth makes the first event of a random agent.
func (w *Walker) Birth(depth int) agent.Event {
	d := w.Dice
	s := agent.Spec{
		ID: "chat", Chat: "chat", User: "ann", Role: "main", Name: "main", Path: "main", Depth: depth, MaxDepth: depth + 1 + d.Intn(2),
		Tools: mainTools, Delegable: toolNames[:len(toolNames)-d.Intn(5)], Delegates: roleNames[:2],
		Bounds: [][]string{{"Bash(make *)"}}, Passed: [][]string{{"Bash(go *)"}},
		Choice: choice(d),
		Limits: agent.Limits{
			Turns: pick(d, 0, 0, 40, 3, 1), Active: int64(pick(d, 0, 0, 3_000_000, 60_000)),
			Tokens: int64(pick(d, 0, 0, 200_000, 20_000, 3000)), Children: pick(d, 0, 5),
			Agents: pick(d, 0, 0, 12),
		},
		CancelGrace: int64(pick(d, 0, 5000)),
		BudgetWait:  int64(pick(d, 0, 40_000)),
	}
	prior := 0
	w.stuck = d.Intn(6) == 5
	if depth > 0 {
		s.ID, s.Parent, s.Number, s.Cause = "chat.1", "chat", 1, "u0"
		s.Tools = subTools
		s.Schema, s.Acceptance, s.Worktree = d.Intn(4) == 3, d.Intn(3) == 2, d.Intn(3) == 2
		if prior = pick(d, 0, 0, 3); prior > 0 {
			s.Adopts = "chat.9"
		}
		s.Confidence, s.SameLimit, s.AskTimeout = pick(d, 0, 60), pick(d, 0, 2), int64(pick(d, 0, 100_000))
	}
	if d.Intn(4) == 3 {
		s.Limits.Cost = int64(20 + d.Intn(2000))
	}
	if depth > 0 && d.Intn(8) == 7 {
		tool := toolNames[d.Intn(4)]
		s.Tool, s.Class, s.Tools, s.Delegates = tool, classes[tool], []string{tool}, nil
		s.Schema, s.Acceptance, s.Worktree, s.Adopts = false, false, false, ""
		return agent.Created{At: w.at(), Spec: s, Task: toolRun(tool)}
	}
	if missing := d.Intn(20); missing < len(s.Tools) {
		s.Tools = slices.Delete(slices.Clone(s.Tools), missing, missing+1)
	}
	return agent.Created{At: w.at(), Spec: s, Tokens: int64(d.Intn(200)), Prior: prior, Task: message.Of(message.User, message.KindTask, "task")}
}

func pick(d Dice, values ...int) int { return values[d.Intn(len(values))] }

// reply makes an outcome of a model call: mostly tool calls, which keep a
// life going.
func (w *Walker) reply(f agent.CallModel) agent.Event {
	d := w.Dice
	hold := w.Trace.money.hold
	r := agent.ModelReplied{
		At: w.at(), Turn: f.Turn, Try: f.Try, Stop: agent.StopEnd, Priced: d.Intn(5) < 4, Tokens: int64(d.Intn(300)),
		Spent: agent.Amount{Tokens: int64(d.Intn(int(hold.Tokens) + 1)), Cost: int64(d.Intn(int(hold.Cost) + 1))},
		Body:  message.Of(message.Assistant, message.KindReply, "reply"), Agents: d.Intn(14),
	}
	kind := d.Intn(20)
	final := 1 // a sub-agent mostly ends by an answer in plain text
	if w.Trace.State.Spec.Orchestrator() || w.Trace.State.LiveChildren() > 0 {
		final = 4
	}
	switch {
	case kind < final:
		r.Text = true
	case kind < 15:
		r.Text = d.Intn(2) == 0
		r.Stop = agent.StopTools
		for i := range 1 + d.Intn(4) {
			r.Calls = append(r.Calls, w.proposal(i))
		}
	case kind < 18:
		return agent.ModelFailed{
			At: w.at(), Turn: f.Turn, Try: f.Try, Kind: failKinds[d.Intn(6+d.Intn(len(failKinds)-5))],
			RetryAfter: int64(pick(d, 0, 2000, 45_000)), GaveUp: d.Intn(12) == 11, Spent: agent.Amount{Tokens: int64(d.Intn(int(hold.Tokens) + 1))}, Priced: true,
		}
	case kind == 18:
		r.Text, r.Stop = true, agent.StopLength
	default:
		r.Stop = []agent.Stop{agent.StopEnd, agent.StopRefusal, agent.StopFilter, agent.StopLength}[d.Intn(4)]
		r.Spent.Tokens += int64(d.Intn(200)) // more than was held
	}
	return r
}

func (w *Walker) proposal(i int) agent.Proposal {
	d := w.Dice
	if w.stuck && d.Intn(8) < 7 {
		name := []string{"Read", "Write"}[i%2]
		return agent.Proposal{ID: fmt.Sprintf("c%d", i), Name: name, Class: classes[name], Key: name}
	}
	p := agent.Proposal{ID: fmt.Sprintf("c%d", i), Name: toolNames[d.Intn(len(toolNames))]}
	if d.Intn(5) == 4 {
		p.Name = "spawn_agents"
	}
	p.Class = classes[p.Name]
	p.Refused = p.Class == "" && d.Intn(4) < 3 || d.Intn(10) == 9
	p.Key = []string{"", "k0", "k0", "k1"}[d.Intn(4)]
	if p.Key != "" {
		p.Key = p.Name + p.Key
	}
	switch p.Class {
	case agent.ClassDelegate:
		p.Plan = w.plan()
	case agent.ClassAsk:
		p.Question = fmt.Sprintf("q%d", d.Intn(2))
	case agent.ClassRead, agent.ClassWrite, agent.ClassSubmit, agent.ClassGiveUp:
	}
	return p
}

func (w *Walker) plan() *agent.Plan {
	d := w.Dice
	plan := &agent.Plan{Valid: d.Intn(4) == 3, Background: d.Intn(4) == 3, Timeout: int64(pick(d, 0, 0, 50_000))}
	n := 1 + d.Intn(4)
	odd := d.Intn(8) == 7 // one of them is bad
	if odd && d.Intn(4) == 3 {
		return plan // without any task
	}
	for i := range n {
		t := agent.Planned{
			Role: roleNames[d.Intn(2)], Tokens: int64(pick(d, 0, 0, 3000, 700)), Cost: int64(pick(d, 0, 0, 400)),
			Priced: true, Size: int64(d.Intn(100)), Prior: pick(d, 0, 0, 0, 2),
		}
		if odd && i == n-1 {
			t.Role, t.Priced = roleNames[1+d.Intn(2)], d.Intn(2) == 0
		}
		t.Spec = agent.Spec{
			Tools: toolNames, Delegable: toolNames, Delegates: roleNames, Choice: agent.Choice{Models: []string{"m1"}, MaxOutput: 300, Price: agent.Price{Known: t.Priced, Input: 1000, Output: 5000}},
			Limits: agent.Limits{Turns: pick(d, 0, 4)},
			Bounds: [][]string{{"Bash(git *)"}}, Passed: [][]string{{"!Bash(git push *)"}},
			Adopts: "chat.9", Worktree: d.Intn(3) == 2, Confidence: pick(d, 0, 60), SameLimit: 2, AskTimeout: int64(pick(d, 0, 100_000)),
		}
		if d.Intn(6) == 5 {
			t.Tool = toolNames[d.Intn(len(toolNames))]
			t.Class, t.Task = classes[t.Tool], toolRun(t.Tool)
			t.Spec = agent.Spec{}
		}
		plan.Tasks = append(plan.Tasks, t)
	}
	plan.Wait = d.Intn(n + 1)
	if odd {
		plan.Wait = d.Intn(n+3) - 1
	}
	return plan
}

// wild makes an event that is early, late, doubled or nonsense. Where it could
// be taken, it tells the truth about money: budgets rest on that.
func (w *Walker) wild() agent.Event {
	d, s, at := w.Dice, w.Trace.State, w.at()
	turn, try, call := s.Turn+1-d.Intn(3), d.Intn(5), d.Intn(6)-1
	item := fmt.Sprintf("%s-i%d", s.Spec.ID, d.Intn(s.Items+2))
	switch d.Intn(24) {
	case 0:
		return agent.Tick{At: at}
	case 1:
		return agent.ModelReplied{At: at, Turn: turn, Try: try, Text: true, Stop: agent.StopEnd, Priced: true}
	case 2:
		return agent.ModelFailed{At: at, Turn: turn, Try: try, Kind: failKinds[d.Intn(len(failKinds))], Priced: true}
	case 3:
		return agent.ModelQueued{At: at, Turn: turn, Try: try, Why: "queue"}
	case 4:
		return agent.Compacted{At: at, Turn: turn, OK: true, Tokens: 10, Priced: true}
	case 5:
		return agent.ToolStarted{At: at, Turn: turn, Call: call}
	case 6:
		return agent.ToolFinished{At: at, Turn: turn, Call: call}
	case 7:
		return agent.ApprovalNeeded{At: at, Turn: turn, Call: call, Grant: "wild"}
	case 8:
		return agent.ApprovalAnswered{At: at, Item: item, Allow: true}
	case 9:
		return agent.QuestionAnswered{At: at, Item: item}
	case 10:
		return agent.Consulted{At: at, Item: item, Answered: true, Confidence: 100}
	case 11:
		task := d.Intn(s.Tasks+3) - 1
		return agent.ChildEnded{At: at, Task: task, Reason: agent.ReasonCompleted, Held: w.held(task)}
	case 12:
		return agent.AcceptanceDone{At: at, Passed: true}
	case 13:
		return agent.Cancel{At: at, Reason: []agent.Reason{agent.ReasonCompleted, "", "nonsense", agent.ReasonMaxTurns}[d.Intn(4)]}
	case 14:
		return agent.Recovered{At: at}
	case 15:
		return agent.Created{At: at, Spec: s.Spec}
	case 16:
		return w.wildMigrated()
	case 17:
		if n := len(w.Trace.history.queue); n > 0 {
			return agent.UserMessage{At: at, ID: w.Trace.history.queue[d.Intn(n)]}
		}
	case 18:
		return agent.Tick{At: at - 100_000} // a clock that went back
	case 19:
		return agent.ToolAsked{At: at, Turn: turn, Call: call, Action: "which?"}
	case 20:
		return agent.WorkInspected{At: at, Empty: true}
	case 21:
		return agent.WorkDecided{At: at, Item: []string{item, s.Work, ""}[d.Intn(3)], How: "kept"}
	case 22:
		return agent.TaskAsks{At: at, Item: item, Over: d.Intn(2) == 1}
	}
	return w.again()
}

// again repeats an event of the past. A user message is left out: whether it
// was placed long ago is for the store to know.
func (w *Walker) again() agent.Event {
	past := w.Trace.Events[w.Dice.Intn(len(w.Trace.Events))].Event
	switch ev := any(past).(type) {
	case agent.UserMessage, agent.Migrated, agent.Cancel, agent.Extended:
		return agent.Tick{At: w.at()}
	case agent.ChildEnded:
		ev.Held = w.held(ev.Task)
		return ev
	}
	return past
}

func (w *Walker) wildMigrated() agent.Event {
	s := w.Trace.State
	m := agent.Migrated{At: w.at(), Spec: s.Spec, State: s}
	switch w.Dice.Intn(3) {
	case 0:
		m.Spec.ID = "another"
	case 1:
		m.State.Phase = nil
	default:
		if s.Ended() {
			m.State.Phase = agent.Idle{}
		} else {
			m.Spec = agent.Spec{}
		}
	}
	return m
}
