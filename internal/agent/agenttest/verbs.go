// The verbs of scripts: one handler an event.

package agenttest

import (
	"fmt"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
)

type verb func(*Scenario, *args) (agent.Event, error)

var verbs = map[string]verb{
	"created":    verbCreated,
	"user":       verbUser,
	"queued":     verbQueued,
	"replied":    verbReplied,
	"failed":     verbFailed,
	"compacted":  verbCompacted,
	"started":    verbStarted,
	"asks":       verbAsks,
	"tool":       verbTool,
	"approval":   verbApproval,
	"allow":      verbAllow,
	"deny":       verbDeny,
	"consulted":  verbConsulted,
	"answer":     verbAnswer,
	"decline":    verbDecline,
	"child":      verbChild,
	"extended":   verbExtended,
	"task-asks":  verbTaskAsks,
	"inspected":  verbInspected,
	"decided":    verbDecided,
	"charged":    verbCharged,
	"acceptance": verbAcceptance,
	"cancel":     verbCancel,
	"tick":       verbTick,
	"recovered":  verbRecovered,
	"migrated":   verbMigrated,
}

// What agents in scripts may use and delegate, unless the script says else.
var (
	mainTools     = []string{"Read", "Grep", "Write", "Bash", "spawn_agents", "ask_user"}
	subTools      = append(mainTools[:len(mainTools):len(mainTools)], "submit_result", "submit_error")
	delegable     = []string{"Read", "Write", "submit_result"}
	delegateRoles = []string{"general", "coder"}
)

// created [depth=N] [turns= active= tokens= cost= children= agents=]
// [price=IN/OUT] [models=] [out=] [window=] [tools= delegable= delegates=]
// [schema] [acceptance] [worktree] [confidence= same= ask-timeout=] [tool=]
// [budget-wait=] [grace=] [context=] [adopts=AGENT prior=N]
func verbCreated(sc *Scenario, a *args) (agent.Event, error) {
	s := agent.Spec{
		ID: "chat", Chat: "chat", User: "ann", Role: "main", Name: "main", Path: "main",
		Depth: int(a.num("depth")), MaxDepth: 2, Tools: mainTools,
		Delegable: a.list("delegable", delegable), Delegates: a.list("delegates", delegateRoles),
		Choice: agent.Choice{Models: a.list("models", []string{"m1"}), MaxOutput: a.num("out"), Window: a.num("window")},
		Limits: agent.Limits{
			Turns: int(a.num("turns")), Active: a.num("active"), Tokens: a.num("tokens"), Cost: a.num("cost"), Children: int(a.num("children")),
			Agents: int(a.num("agents")),
		},
		Schema: a.flag("schema"), Acceptance: a.flag("acceptance"), Worktree: a.flag("worktree"), Adopts: a.text("adopts", ""),
		BudgetWait: a.num("budget-wait"),
		Confidence: int(a.num("confidence")), SameLimit: int(a.num("same")), AskTimeout: a.num("ask-timeout"), CancelGrace: a.num("grace"),
	}
	if p := a.text("price", ""); p != "" {
		s.Price.Known = true
		if _, err := fmt.Sscanf(p, "%d/%d", &s.Price.Input, &s.Price.Output); err != nil {
			return nil, fmt.Errorf("bad price %q", p)
		}
	}
	if s.Depth > 0 {
		s.ID, s.Parent, s.Number, s.Cause = "chat.7", "chat", 7, "u1"
		s.Role, s.Name, s.Path, s.Tools = "coder", "coder", "main/coder", subTools
	}
	s.Tools = a.list("tools", s.Tools)
	task := message.Of(message.User, message.KindTask, "the task")
	if s.Tool = a.text("tool", ""); s.Tool != "" {
		s.Class, s.Tools, s.Delegates, task = classes[s.Tool], []string{s.Tool}, nil, toolRun(s.Tool)
	}
	return agent.Created{At: sc.at(), Spec: s, Tokens: a.num("context"), Prior: int(a.num("prior")), Task: task}, nil
}

// toolRun is what a task that runs a tool begins with.
func toolRun(name string) message.Message {
	return message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: []message.Part{message.ToolCall{ID: agent.ToolRunCall, Name: name}}}
}

// user ID [tokens=] [models= out= window= [priced]]
func verbUser(sc *Scenario, a *args) (agent.Event, error) {
	id := a.word()
	ev := agent.UserMessage{At: sc.at(), ID: id, Tokens: a.num("tokens"), Body: message.Of(message.User, message.KindUser, id)}
	if models := a.list("models", nil); models != nil {
		ev.Choice = &agent.Choice{Models: models, MaxOutput: a.num("out"), Window: a.num("window"), Price: agent.Price{Known: a.flag("priced")}}
	}
	return ev, nil
}

// call takes the model call that an outcome is of: of=TURN.TRY, or the one
// under way.
func (sc *Scenario) call(a *args) (turn, try int, err error) {
	s := sc.Trace.State
	if t, ok := s.Phase.(agent.Thinking); ok {
		turn, try = s.Turn, t.Try
	}
	if of := a.text("of", ""); of != "" {
		if _, err := fmt.Sscanf(of, "%d.%d", &turn, &try); err != nil {
			return 0, 0, fmt.Errorf("bad model call %q", of)
		}
	}
	return turn, try, nil
}

// queued [WHY] [until=+N]
func verbQueued(sc *Scenario, a *args) (agent.Event, error) {
	turn, try, err := sc.call(a)
	return agent.ModelQueued{At: sc.at(), Turn: turn, Try: try, Why: a.word(), Until: sc.when(a, "until")}, err
}

// failed KIND [after=MS] [gave-up] [spent= paid=]
func verbFailed(sc *Scenario, a *args) (agent.Event, error) {
	turn, try, err := sc.call(a)
	kind := agent.Failure(a.word())
	return agent.ModelFailed{
		At: sc.at(), Turn: turn, Try: try, Kind: kind, RetryAfter: a.num("after"), GaveUp: a.flag("gave-up"),
		Spent: a.spent(), Priced: !a.flag("unpriced"), Message: "told by the vendor",
	}, err
}

func (a *args) spent() agent.Amount { return agent.Amount{Tokens: a.num("spent"), Cost: a.num("paid")} }

// compacted ok|bad [summary] [keep= clear=] [tokens=] [spent= paid=] [tools= delegable=]
func verbCompacted(sc *Scenario, a *args) (agent.Event, error) {
	turn := sc.turn(a)
	return agent.Compacted{
		At: sc.at(), Turn: turn, Summary: a.flag("summary"), OK: a.word() == "ok", Tokens: a.num("tokens"), Spent: a.spent(), Priced: true,
		View: agent.View{Keep: int(a.num("keep")), Clear: int(a.num("clear"))}, Fit: a.fit(),
		Body: message.Of(message.User, message.KindNote, "so far"), Message: "the summary is too long",
	}, nil
}

func (a *args) fit() *agent.Toolset {
	tools := a.list("tools", nil)
	if tools == nil {
		return nil
	}
	return &agent.Toolset{Tools: tools, Delegable: a.list("delegable", nil)}
}

func (sc *Scenario) turn(a *args) int {
	if _, ok := a.opts["turn"]; ok {
		return int(a.num("turn"))
	}
	return sc.Trace.State.Turn
}

// started CALL [turn=]
func verbStarted(sc *Scenario, a *args) (agent.Event, error) {
	call, err := a.index()
	return agent.ToolStarted{At: sc.at(), Turn: sc.turn(a), Call: call}, err
}

// tool CALL ok|error [turn=] [tokens=] [same=HASH] [did]
func verbTool(sc *Scenario, a *args) (agent.Event, error) {
	call, err := a.index()
	ev := agent.ToolFinished{
		At: sc.at(), Turn: sc.turn(a), Call: call, IsError: a.word() == "error", Tokens: a.num("tokens"), Same: a.text("same", ""), Did: a.flag("did"),
		Parts: []message.Part{message.TextPart{Text: "output"}},
	}
	if ev.Did {
		ev.Record = []byte("{}")
	}
	return ev, err
}

// approval CALL shows HASH [by=+N]
func verbApproval(sc *Scenario, a *args) (agent.Event, error) {
	call, err := a.index()
	a.flag("shows")
	return agent.ApprovalNeeded{At: sc.at(), Turn: sc.turn(a), Call: call, Grant: a.word(), Deadline: sc.when(a, "by"), Action: "rm x", Reason: "policy"}, err
}

// item takes the short id of an inbox item.
func (sc *Scenario) item(a *args) string { return sc.Trace.State.Spec.ID + "-" + a.word() }

// allow ITEM
func verbAllow(sc *Scenario, a *args) (agent.Event, error) {
	return agent.ApprovalAnswered{At: sc.at(), Item: sc.item(a), Allow: true, Scope: "once", By: "ann"}, nil
}

// deny ITEM
func verbDeny(sc *Scenario, a *args) (agent.Event, error) {
	return agent.ApprovalAnswered{At: sc.at(), Item: sc.item(a), By: "ann", Reason: "too risky"}, nil
}

// consulted ITEM answers|asks [confidence=PERCENT] [tokens=]
func verbConsulted(sc *Scenario, a *args) (agent.Event, error) {
	item := sc.item(a)
	return agent.Consulted{At: sc.at(), Item: item, Answered: a.word() == "answers", Confidence: int(a.num("confidence")), Tokens: a.num("tokens"), Answer: "blue"}, nil
}

// answer ITEM
func verbAnswer(sc *Scenario, a *args) (agent.Event, error) {
	return agent.QuestionAnswered{At: sc.at(), Item: sc.item(a), By: "ann", Answer: "green", Tokens: a.num("tokens")}, nil
}

// asks CALL [by=+N]
func verbAsks(sc *Scenario, a *args) (agent.Event, error) {
	call, err := a.index()
	return agent.ToolAsked{At: sc.at(), Turn: sc.turn(a), Call: call, Deadline: sc.when(a, "by"), Action: "which account?"}, err
}

// decline ITEM
func verbDecline(sc *Scenario, a *args) (agent.Event, error) {
	return agent.QuestionAnswered{At: sc.at(), Item: sc.item(a), By: "ann", Declined: true}, nil
}

// child TASK REASON [spent= paid=] [tokens=]
func verbChild(sc *Scenario, a *args) (agent.Event, error) {
	task, err := a.index()
	return agent.ChildEnded{
		At: sc.at(), Task: task, Reason: agent.Reason(a.word()), Spent: a.spent(),
		Held: sc.Trace.family.budget[task].Add(sc.lent[task]), Tokens: a.num("tokens"), Unpriced: a.flag("unpriced"),
	}, err
}

// extended TASK [spent= paid=]: the child was given that much more.
func verbExtended(sc *Scenario, a *args) (agent.Event, error) {
	task, err := a.index()
	more := a.spent()
	if sc.lent == nil {
		sc.lent = map[int]agent.Amount{}
	}
	sc.lent[task] = sc.lent[task].Add(more)
	return agent.Extended{At: sc.at(), Amount: more}, err
}

// task-asks ITEM [over] [for]
func verbTaskAsks(sc *Scenario, a *args) (agent.Event, error) {
	return agent.TaskAsks{At: sc.at(), Over: a.flag("over"), For: a.flag("for"), Item: a.word()}, nil
}

// inspected empty|changed
func verbInspected(sc *Scenario, a *args) (agent.Event, error) {
	return agent.WorkInspected{At: sc.at(), Empty: a.word() == "empty", Action: "2 files changed"}, nil
}

// decided ITEM HOW
func verbDecided(sc *Scenario, a *args) (agent.Event, error) {
	return agent.WorkDecided{At: sc.at(), Item: sc.item(a), How: a.word(), By: "ann"}, nil
}

// charged [spent= paid=]
func verbCharged(sc *Scenario, a *args) (agent.Event, error) {
	return agent.Charged{At: sc.at(), Spent: a.spent(), Priced: true}, nil
}

// acceptance passed|failed
func verbAcceptance(sc *Scenario, a *args) (agent.Event, error) {
	return agent.AcceptanceDone{At: sc.at(), Passed: a.word() == "passed", Output: "2 tests"}, nil
}

// cancel [printed=TEXT] [REASON] [force]
func verbCancel(sc *Scenario, a *args) (agent.Event, error) {
	force, printed := a.flag("force"), a.text("printed", "")
	reason := agent.Reason(a.word())
	if reason == "" {
		reason = agent.ReasonCancelled
	}
	return agent.Cancel{At: sc.at(), Reason: reason, Force: force, Printed: printed != "" && sc.Trace.State.Spec.ToolRun(), By: "ann", SoFar: printedBy(printed)}, nil
}

func printedBy(text string) agent.SoFar {
	if text == "" {
		return agent.SoFar{}
	}
	return agent.SoFar{Tokens: int64(len(text)) / 4, Output: map[int]string{0: text}}
}

func verbTick(sc *Scenario, _ *args) (agent.Event, error) { return agent.Tick{At: sc.at()}, nil }

func verbRecovered(sc *Scenario, _ *args) (agent.Event, error) {
	return agent.Recovered{At: sc.at()}, nil
}

// migrated [idle]: to the state as it is, or to one that is idle.
func verbMigrated(sc *Scenario, a *args) (agent.Event, error) {
	s := sc.Trace.State
	if a.flag("idle") {
		s.Phase = agent.Idle{}
	}
	return agent.Migrated{At: sc.at(), Spec: s.Spec, State: s}, nil
}
