// Conformance about what the user is asked in mid-work and afterwards: tools
// that ask, budgets, worktrees, who waits, and agents that go on for others.

package enginetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

var givenTests = map[string]func(*bench){
	"a tool that asks is answered":            testToolAsks,
	"a tool that asks is declined":            testToolDeclined,
	"a tool that asks dies with the process":  testToolAsksAndDies,
	"a worktree is decided after the end":     testWorktree,
	"a settled agent reports what it found":   testSettledReport,
	"an extension reaches those above":        testExtension,
	"a denied extension ends the work":        testExtensionDenied,
	"an agent goes on where another ended":    testContinue,
	"the orchestrator is told who waits":      testWaiting,
	"a chat has a number of agents":           testAgents,
	"a message chooses the model":             testChoice,
	"the same call is not made a fourth time": testLoop,
	"a loop is known again after a restart":   testLoopRestarted,
}

// waitFor lets fake time pass until one item waits, and returns it.
func (b *bench) waitFor(kind string) store.Item {
	b.Helper()
	for range 1000 {
		for _, i := range b.inbox() {
			if i.Kind == kind && i.Status == "open" {
				return i
			}
		}
		<-time.After(100 * time.Millisecond)
	}
	b.Fatalf("nobody asks for %s: %+v", kind, b.inbox())
	return store.Item{}
}

func (b *bench) deliver(to string, ev agent.Event) {
	b.Helper()
	if err := b.rt.Deliver(b.ctx, to, ev); err != nil {
		b.Fatal(err)
	}
}

// state is the stored state of an agent.
func (b *bench) state(id string) agent.State {
	b.Helper()
	s, _, err := engine.Load(b.ctx, b.st, id)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func (b *bench) closed(id, how string) {
	b.Helper()
	if item, err := b.st.Item(b.ctx, id); err != nil || item.Status != "closed" || item.How != how {
		b.Errorf("item %s should be %s: %+v %v", id, how, item, err)
	}
}

// testChoice: what is under way is answered by the model that began it, what
// comes after by the one that a message has chosen, also after a restart.
func testChoice(b *bench) {
	b.think(map[int][]Answer{0: {{Text: "one"}, {Text: "two"}, {Text: "three"}}})
	b.say("hi")
	b.sent++
	models := &agent.Choice{Models: []string{"other", "world"}, Price: agent.Price{Known: true}}
	if err := b.rt.Send(b.ctx, b.chat, "m2", message.Of(message.User, message.KindUser, "now you"), models); err != nil {
		b.Fatal(err)
	}
	b.restart()
	b.want(agent.ReasonCompleted)
	b.restart()
	b.say("and again")
	b.want(agent.ReasonCompleted)
	calls, err := b.st.ModelCalls(b.ctx, b.chat)
	if err != nil {
		b.Fatal(err)
	}
	var by []string
	for _, c := range calls {
		by = append(by, fmt.Sprintf("%d.%d %s", c.Turn, c.Try, c.Model))
	}
	if want := []string{"1.1 world", "1.2 world", "2.1 other", "3.1 other"}; !slices.Equal(by, want) {
		b.Errorf("the models were called so: %v, want %v", by, want)
	}
	chat, err := b.st.Chat(b.ctx, b.chat)
	if err != nil || chat.Model != "other" {
		b.Errorf("the chat is said to answer with %+v (%v)", chat, err)
	}
}

func (b *bench) createWith(change func(*agent.Spec)) {
	b.Helper()
	c := Chat()
	change(&c.Spec)
	id, err := b.rt.CreateChat(b.ctx, c)
	if err != nil {
		b.Fatal(err)
	}
	b.chat = id
}

func testToolAsks(b *bench) {
	b.think(map[int][]Answer{0: {{Calls: []Call{{Tool: Wonder}, {Tool: Dare}}}, {Text: "well"}}})
	b.say("look")
	item := b.waitFor("elicitation")
	if item.Action != "which of them?" || item.Turn != 1 || item.Call != 0 || item.Deadline == 0 || item.Default != "decline" {
		b.Errorf("the item: %+v", item)
	}
	if got := b.status("chat"); got != "awaiting_answer" {
		b.Errorf("it is %s", got)
	}
	answer := agent.QuestionAnswered{Item: item.ID, Answer: "this", By: "u1"}
	b.deliver("chat", answer)
	if err := b.rt.Deliver(b.ctx, "chat", answer); !errors.Is(err, agent.ErrNotWaiting) {
		b.Errorf("a second answer: %v", err)
	}
	b.deliver("chat", agent.QuestionAnswered{Item: b.waitFor("elicitation").ID, Answer: "that"})
	b.want(agent.ReasonCompleted)
	b.wantTranscript("chat", "user look\nreply [Wonder][Dare]\nresult Wonder: told this\nresult Dare: told that\nreply well\n")
	b.closed(item.ID, "answered")
	call, err := b.st.ToolCall(b.ctx, "chat", 1, 1)
	if err != nil || string(call.Record) != "wrote chat/1.1" || call.Phase != "done" {
		b.Errorf("the record of the call: %+v %v", call, err)
	}
}

func testToolDeclined(b *bench) {
	b.think(map[int][]Answer{0: {{Calls: []Call{{Tool: Wonder}}}, {Calls: []Call{{Tool: Wonder}}}, {Text: "well"}}})
	b.say("look")
	first := b.waitFor("elicitation")
	b.deliver("chat", agent.QuestionAnswered{Item: first.ID, Declined: true})
	second := b.waitFor("elicitation")
	b.want(agent.ReasonCompleted) // at the deadline
	b.wantTranscript("chat", "user look\nreply [Wonder]\nresult Wonder: told  (error)\nreply [Wonder]\nresult Wonder: told  (error)\nreply well\n")
	b.closed(first.ID, "declined")
	b.closed(second.ID, "expired")
}

func testToolAsksAndDies(b *bench) {
	b.think(map[int][]Answer{0: {{Calls: []Call{{Tool: Dare}}}, {Text: "well"}}})
	b.say("look")
	item := b.waitFor("elicitation")
	b.restart()
	if err := b.rt.Deliver(b.ctx, "chat", agent.QuestionAnswered{Item: item.ID, Answer: "late"}); !errors.Is(err, agent.ErrNotWaiting) {
		b.Errorf("an answer for a tool that is dead: %v", err)
	}
	b.want(agent.ReasonCompleted)
	b.closed(item.ID, "withdrawn")
	if got := b.transcript("chat"); !strings.Contains(got, "Dare: Interrupted: the process ended while this ran.") {
		b.Errorf("transcript:\n%s", got)
	}
	if n := b.world.writes("chat/1.0"); n != 1 {
		b.Errorf("it wrote %d times", n)
	}
}

// withWorktree is a plan for n workers in worktrees of their own.
func withWorktree(n int) *agent.Plan {
	p := Plan(n)
	for i := range p.Tasks {
		p.Tasks[i].Spec.Worktree = true
	}
	return p
}

func testWorktree(b *bench) {
	b.think(map[int][]Answer{0: {spawn(withWorktree(2)), {Text: "both"}}, 1: {submit("built")}})
	b.say("build")
	b.want(agent.ReasonCompleted)
	items := b.inbox() // that of chat.2 is empty
	if len(items) != 1 || items[0].Kind != "worktree" || items[0].Agent != "chat.1" || items[0].Action != "the difference" || items[0].Deadline != 0 {
		b.Fatalf("inbox: %+v", items)
	}
	before := b.state("chat.1")
	b.restart()
	<-time.After(24 * time.Hour)
	decide := agent.WorkDecided{Item: items[0].ID, How: "merged", By: "u1"}
	b.deliver("chat.1", decide)
	if err := b.rt.Deliver(b.ctx, "chat.1", decide); !errors.Is(err, agent.ErrNotWaiting) {
		b.Errorf("a second decision: %v", err)
	}
	b.restart()
	b.closed(items[0].ID, "merged")
	after := b.state("chat.1")
	if after.Phase != before.Phase || after.Last != before.Last || after.Work != "" || before.Work != items[0].ID {
		b.Errorf("the decision made %+v of %+v", after, before)
	}
	if task, err := b.st.Task(b.ctx, "chat.1"); err != nil || task.Status != "success" || task.Result != "built" {
		b.Errorf("its task: %+v %v", task, err)
	}
}

// testSettledReport: the outcome was decided in an earlier commit than the one
// that tells of it; what was found is told all the same.
func testSettledReport(b *bench) {
	b.world.Latency = 3 * time.Second // also to look at a worktree
	b.world.Think = func(job *engine.Job, call agent.CallModel) Answer {
		switch {
		case job.Spec.ID == "chat.1":
			return submit("found it")
		case job.Spec.ID == "chat.2" && call.Turn == 1:
			return Answer{Text: "so far this", Calls: []Call{{Tool: Spawn, Plan: withWorktree(1)}}}
		case job.Spec.ID == "chat.2.1":
			return Answer{Fail: agent.FailRateLimit, After: 3_600_000}
		case call.Turn == 1:
			p := withWorktree(2)
			p.Tasks[1].Spec.Worktree = false
			return spawn(p)
		}
		return Answer{Text: "done"}
	}
	b.say("go")
	<-time.After(time.Minute)
	b.restart()
	if err := b.rt.Cancel(b.ctx, "chat.2", "user"); err != nil {
		b.Fatal(err)
	}
	if got := b.status("chat.2"); got != "cancelling" { // its child settles
		b.Errorf("chat.2 is %s", got)
	}
	b.want(agent.ReasonCompleted)
	b.wantTranscript("chat", "user go\nreply [spawn_agents]\nresult spawn_agents: chat.1 completed: found it\nchat.2 cancelled: so far thiscancelled\nreply done\n")
	for id, want := range map[string][2]string{"chat.1": {"found it", ""}, "chat.2": {"so far this", "cancelled"}, "chat.2.1": {"", "cancelled"}} {
		a, err := b.st.Agent(b.ctx, id)
		if err != nil || a.Summary != want[0] || a.Error != want[1] || a.EndedAt == 0 {
			b.Errorf("%s ended with %q and %q, want %q (%v)", id, a.Summary, a.Error, want, err)
		}
	}
	for _, i := range b.inbox() {
		b.deliver(i.Agent, agent.WorkDecided{Item: i.ID, How: "kept"})
	}
}

// costly makes the grandchild spend its budget, of which it is given more.
func costly(b *bench) {
	reading := Answer{Calls: []Call{{Tool: Read}}, Spent: agent.Amount{Tokens: 700}}
	b.think(map[int][]Answer{
		0: {spawn(budgeted(8000)), {Text: "all"}},
		1: {spawn(budgeted(1000)), submit("good")},
		2: {reading, submit("great")},
	})
	b.createWith(func(s *agent.Spec) {
		s.Limits.Tokens, s.BudgetWait, s.MaxOutput = 100_000, 600_000, 500
	})
	b.say("go")
}

func budgeted(tokens int64) *agent.Plan {
	p := Plan(1)
	p.Tasks[0].Tokens, p.Tasks[0].Spec.MaxOutput = tokens, 500
	return p
}

func testExtension(b *bench) {
	costly(b)
	item := b.waitFor("budget")
	if item.Agent != "chat.1.1" || item.Action != "700 tokens" || item.Call != -1 || b.status("chat.1.1") != "awaiting_budget" {
		b.Fatalf("the item: %+v", item)
	}
	b.restart()
	held := b.state("chat").Held.Tokens
	b.deliver("chat.1.1", agent.ApprovalAnswered{Item: item.ID, Allow: true, By: "u1"})
	for id, want := range map[string]int64{"chat": held + 1000, "chat.1": 2000, "chat.1.1": 0} {
		if s := b.state(id); s.Run.Extra.Tokens != 1000 || s.Held.Tokens != want {
			b.Errorf("%s holds %d and has %d more, want %d and 1000", id, s.Held.Tokens, s.Run.Extra.Tokens, want)
		}
	}
	b.want(agent.ReasonCompleted)
	b.closed(item.ID, "allowed")
	if s := b.state("chat"); s.Held != (agent.Amount{}) || s.Life.Spent().Tokens != 1200 {
		b.Errorf("at the end %v is held and %v spent", s.Held, s.Life.Spent())
	}
}

func testExtensionDenied(b *bench) {
	costly(b)
	item := b.waitFor("budget")
	b.deliver("chat.1.1", agent.ApprovalAnswered{Item: item.ID, By: "u1"})
	b.want(agent.ReasonCompleted)
	if got := b.status("chat.1.1"); got != "budget" {
		b.Errorf("chat.1.1 is %s", got)
	}
	if s := b.state("chat"); s.Run.Extra != (agent.Amount{}) || s.Held != (agent.Amount{}) {
		b.Errorf("a denied extension left %+v", s)
	}
}

func testContinue(b *bench) {
	var seen []message.Message
	b.world.Think = func(job *engine.Job, call agent.CallModel) Answer {
		switch {
		case job.Spec.ID == "chat.2":
			seen = job.History
			return submit("second")
		case job.Spec.ID == "chat.1" && call.Turn == 1:
			return Answer{Text: "reading", Calls: []Call{{Tool: Read}}}
		case job.Spec.ID == "chat.1":
			return submit("first")
		case call.Turn == 1:
			return spawn(Plan(1))
		case call.Turn == 2:
			p := Plan(1)
			p.Tasks[0].Prior = 5
			p.Tasks[0].Spec.Adopts, p.Tasks[0].Spec.Continues, p.Tasks[0].Spec.Name = "chat.1", "chat.1", "worker"
			return spawn(p)
		}
		return Answer{Text: "both"}
	}
	b.say("go")
	b.want(agent.ReasonCompleted)
	first := "task part 1\nreply reading[Read]\nresult Read: done chat.1/1.0\nreply [submit_result]\nresult submit_result: Recorded.\n"
	b.wantTranscript("chat.1", first)
	b.wantTranscript("chat.2", first+"task part 1\nreply [submit_result]\nresult submit_result: Recorded.\n")
	if len(seen) != 6 || seen[1].Text() != "reading" || seen[5].Kind != message.KindTask {
		b.Errorf("the model of the second was sent %+v", seen)
	}
	if a, err := b.st.Agent(b.ctx, "chat.2"); err != nil || a.Name != "worker" || a.Continues != "chat.1" {
		b.Errorf("the second: %+v %v", a, err)
	}
}

func testWaiting(b *bench) {
	b.world.Think = func(job *engine.Job, call agent.CallModel) Answer {
		switch {
		case job.Spec.Depth == 1 && call.Turn == 1:
			return Answer{Calls: []Call{{Tool: Ask, Input: `"which of ` + job.Spec.ID + `"`}}}
		case job.Spec.Depth == 1:
			return submit("good")
		case call.Turn == 1:
			p := Plan(2)
			p.Background = true
			return spawn(p)
		}
		return Answer{Text: "well"}
	}
	b.say("go")
	<-time.After(time.Minute)
	b.restart()
	b.say("how is it?")
	<-time.After(time.Minute)
	got := b.transcript("chat")
	if !strings.Contains(got, "which of chat.1") || !strings.Contains(got, "which of chat.2") ||
		!strings.HasSuffix(got, ".\nuser how is it?\nreply well\n") || strings.Count(got, "note ") != 1 {
		b.Errorf("transcript:\n%s", got)
	}
	for _, i := range b.inbox() {
		if i.Agent == "chat.2" {
			b.deliver(i.Agent, agent.QuestionAnswered{Item: i.ID, Answer: "that"})
		}
	}
	b.say("and now?")
	<-time.After(time.Minute)
	_, got, _ = strings.Cut(b.transcript("chat"), "user how is it?")
	if !strings.Contains(got, "which of chat.1") || strings.Contains(got, "which of chat.2") {
		b.Errorf("transcript:\n%s", got)
	}
	b.deliver("chat.1", agent.QuestionAnswered{Item: b.inbox()[0].ID, Answer: "this"})
	b.want(agent.ReasonCompleted)
	b.say("good")
	b.want(agent.ReasonCompleted)
	if got := b.transcript("chat"); strings.Count(got, "note ") != 2 {
		b.Errorf("nobody waits any more:\n%s", got)
	}
}

func testAgents(b *bench) {
	b.think(map[int][]Answer{
		0: {{Calls: []Call{{Tool: Spawn, Plan: Plan(2)}, {Tool: Spawn, Plan: Plan(2)}}}, {Text: "all"}},
		1: {{Calls: []Call{{Tool: Spawn, Plan: Plan(1)}}}, submit("good")},
		2: {submit("good")},
	})
	b.createWith(func(s *agent.Spec) { s.Limits.Agents = 4 })
	b.say("go")
	b.want(agent.ReasonCompleted)
	b.restart()
	tree, err := b.st.Tree(b.ctx, "chat")
	if err != nil || len(tree) != 4 {
		b.Errorf("the chat has %d agents (%v)", len(tree), err)
	}
	if got := b.transcript("chat"); !strings.Contains(got, "This chat may have 4 agents in all, 3 were started and 2 more were asked for.") {
		b.Errorf("transcript:\n%s", got)
	}
	refused := 0
	for _, id := range []string{"chat.1", "chat.2"} {
		if strings.Contains(b.transcript(id), "This chat may have 4 agents in all, 4 were started and 1 more were asked for.") {
			refused++
		}
	}
	if refused != 1 {
		b.Errorf("%d of the two children were refused one of their own", refused)
	}
}

// testLoopRestarted: what a call gave is told again from the store, by a
// process that has never seen it.
func testLoopRestarted(b *bench) {
	again := Call{Tool: Write, Input: always, Key: always}
	b.world.SlowTools = 10 * time.Second
	b.think(map[int][]Answer{0: {{Calls: []Call{again, again, again, again, again}}, {Text: "I give up"}}})
	b.say("go")
	for b.world.writes("chat/1.2") == 0 {
		<-time.After(time.Second)
	}
	b.restart() // while the third runs
	b.want(agent.ReasonCompleted)
	got := b.transcript("chat")
	if strings.Count(got, "result Write: as always\n") != 3 || b.world.writes("chat/1.4") > 0 ||
		!strings.Contains(got, "result Write: Not run again: ") || !strings.HasSuffix(got, "\n\nas always (error)\nreply I give up\n") {
		b.Errorf("transcript:\n%s", got)
	}
}

func testLoop(b *bench) {
	again := Answer{Calls: []Call{{Tool: Read, Input: always, Key: always}}}
	b.think(map[int][]Answer{0: {again, again, again, again, {Text: "I give up"}}})
	b.say("go")
	b.want(agent.ReasonCompleted)
	synctest.Wait()
	got := b.transcript("chat")
	if strings.Count(got, "result Read: as always\n") != 3 ||
		!strings.Contains(got, "result Read: Not run again: this exact call was made 3 times and gave the same each time. Do something else. What it gave:\n\nas always (error)\nreply I give up\n") {
		b.Errorf("transcript:\n%s", got)
	}
}
