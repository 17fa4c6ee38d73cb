package enginetest

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// Conform runs the conformance suite.
func Conform(t *testing.T, open Factory) {
	tests := map[string]func(*bench){
		"a message is answered":                   testAnswer,
		"children report in order, once":          testFanIn,
		"wait any ends the others":                testAny,
		"a message detaches delegations":          testDetach,
		"cancel ends the whole tree":              testCancel,
		"cancel stops what runs":                  testCancelRunning,
		"queued messages outlive a stop":          testQueueOutlivesStop,
		"a panic fails one call":                  testPanic,
		"an approval survives a restart":          testApproval,
		"a denied call is not run":                testDenied,
		"a question survives a restart":           testQuestion,
		"a started write is never repeated":       testStartedWrite,
		"a backoff survives a restart":            testBackoff,
		"finished turns are not made again":       testNoRepeat,
		"what is read ahead is told at once":      testAhead,
		"what was read ahead in vain is not told": testAheadInVain,
		"a reply does not wait for a slow disk":   testAheadSlow,
		"the same message twice is one":           testDuplicate,
		"unknown agents and closed engines":       testClosed,
		"limits end a run and say so":             testLimit,
		"a child can do only what its parent may": testCapabilities,
		"a thousand children":                     testThousand,
	}
	maps.Copy(tests, givenTests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				b := &bench{T: t, open: open, dir: dir, world: NewWorld(7), ctx: t.Context()}
				b.start()
				defer func() {
					if t.Failed() {
						b.kill()
					}
				}()
				test(b)
				b.kill()
				if !t.Failed() {
					b.audit()
				}
			})
		})
	}
}

func testAnswer(b *bench) {
	b.think(map[int][]Answer{0: {{Text: "hello"}}})
	b.say("hi")
	b.want(agent.ReasonCompleted)
	b.wantTranscript("chat", "user hi\nreply hello\n")
}

func testFanIn(b *bench) {
	b.world.Think = func(job *engine.Job, call agent.CallModel) Answer {
		switch {
		case job.Spec.Depth == 1:
			return submit("found by " + job.Spec.ID)
		case call.Turn == 1:
			return spawn(Plan(3))
		}
		return Answer{Text: "all in"}
	}
	b.say("go")
	b.want(agent.ReasonCompleted)
	b.wantTranscript("chat", "user go\nreply [spawn_agents]\n"+
		"result spawn_agents: chat.1 completed: found by chat.1\nchat.2 completed: found by chat.2\nchat.3 completed: found by chat.3\n"+
		"reply all in\n")
	for i, name := range []string{"worker", "worker-2", "worker-3"} {
		a, err := b.st.Agent(b.ctx, fmt.Sprintf("chat.%d", i+1))
		if err != nil || a.Name != name || a.Path != "main/"+name || a.Cause != "m1" {
			b.Errorf("agent %d: %+v %v", i+1, a, err)
		}
	}
}

func testAny(b *bench) {
	b.world.Think = func(job *engine.Job, call agent.CallModel) Answer {
		switch {
		case job.Spec.ID == "chat.2":
			return submit("first")
		case job.Spec.Depth == 1:
			return Answer{Fail: agent.FailRateLimit, After: 60_000}
		case call.Turn == 1:
			p := Plan(3)
			p.Wait = 1
			return spawn(p)
		}
		return Answer{Text: "enough"}
	}
	b.say("race")
	b.want(agent.ReasonCompleted)
	for id, want := range map[string]string{"chat.1": "superseded", "chat.2": "completed", "chat.3": "superseded"} {
		if got := b.status(id); got != want {
			b.Errorf("%s is %s, want %s", id, got, want)
		}
	}
}

func testDetach(b *bench) {
	release := make(chan struct{})
	b.world.Think = func(job *engine.Job, _ agent.CallModel) Answer {
		last := job.History[len(job.History)-1]
		switch {
		case job.Spec.Depth == 1:
			<-release
			return submit("late")
		case last.Kind == message.KindResults:
			return Answer{Text: "and now the result"}
		case strings.Contains(last.Text(), "how far"):
			return Answer{Text: "still running"}
		}
		return spawn(Plan(1))
	}
	b.say("work")
	synctest.Wait()
	<-time.After(time.Second)
	b.say("how far are they?")
	<-time.After(time.Second)
	if got := b.transcript("chat"); !strings.HasSuffix(got, "user how far are they?\nreply still running\n") {
		b.Errorf("while the task runs:\n%s", got)
	}
	close(release)
	b.want(agent.ReasonCompleted)
	b.wantTranscript("chat", "user work\nreply [spawn_agents]\n"+
		"result spawn_agents: running, task chat.1. The results will arrive as a message.\n"+
		"user how far are they?\nreply still running\nresults chat.1 completed: late\nreply and now the result\n")
}

func testCancel(b *bench) {
	b.think(map[int][]Answer{
		0: {spawn(Plan(2))},
		1: {spawn(Plan(2))},
		2: {{Fail: agent.FailRateLimit, After: 3_600_000}},
	})
	b.say("deep")
	<-time.After(10 * time.Second)
	if got := b.status("chat.2.2"); got != "retrying" {
		b.Fatalf("chat.2.2 is %s", got)
	}
	if err := b.rt.Cancel(b.ctx, "chat.1", "user"); err != nil {
		b.Fatal(err)
	}
	for id, want := range map[string]string{"chat.1": "cancelled", "chat.1.1": "cancelled", "chat.2": "awaiting_children", "chat": "awaiting_children"} {
		if got := b.status(id); got != want {
			b.Errorf("after stopping chat.1, %s is %s, want %s", id, got, want)
		}
	}
	if err := b.rt.Cancel(b.ctx, "chat", "user"); err != nil {
		b.Fatal(err)
	}
	b.want(agent.ReasonCancelled)
	for id, want := range map[string]string{"chat.2": "cancelled", "chat.2.2": "cancelled", "chat": "idle"} {
		if got := b.status(id); got != want {
			b.Errorf("after stopping the chat, %s is %s, want %s", id, got, want)
		}
	}
}

func testCancelRunning(b *bench) {
	b.world.SlowTools = 50 * time.Second
	b.think(map[int][]Answer{
		0: {spawn(Plan(2))},
		1: {{Calls: []Call{{Tool: Read}, {Tool: Read}}}},
	})
	b.say("long")
	for tree, _ := b.st.Tree(b.ctx, "chat"); len(tree) < 3; tree, _ = b.st.Tree(b.ctx, "chat") {
		<-time.After(time.Millisecond)
	}
	for b.status("chat.1") != "acting" || b.status("chat.2") != "acting" {
		<-time.After(time.Millisecond)
	}
	if err := b.rt.Cancel(b.ctx, "chat.1", "user"); err != nil {
		b.Fatal(err)
	}
	synctest.Wait()
	if n := b.world.stops(); n != 2 {
		b.Errorf("%d of the 2 tools of chat.1 were stopped", n)
	}
	if err := b.rt.Cancel(b.ctx, "chat", "user"); err != nil {
		b.Fatal(err)
	}
	b.want(agent.ReasonCancelled)
	synctest.Wait()
	if n := b.world.stops(); n != 4 {
		b.Errorf("%d of 4 tools were stopped", n)
	}
}

func (w *World) stops() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Stops
}

func testQueueOutlivesStop(b *bench) {
	b.world.SlowTools = 50 * time.Second
	b.think(map[int][]Answer{0: {{Calls: []Call{{Tool: Read}}}, {Text: "both"}}})
	b.say("one")
	for b.status("chat") != "acting" {
		<-time.After(time.Millisecond)
	}
	<-time.After(time.Millisecond) // the tool prints
	b.say("two")                   // waits behind the tool
	if err := b.rt.Cancel(b.ctx, "chat", "user"); err != nil {
		b.Fatal(err)
	}
	b.want(agent.ReasonCancelled)
	b.restart()
	<-time.After(24 * time.Hour)
	if got := b.status("chat"); got != "idle" {
		b.Errorf("a message queued before a stop started a run: it is %s", got)
	}
	b.say("three")
	b.want(agent.ReasonCompleted)
	b.wantTranscript("chat", "user one\nreply [Read]\nresult Read: Cancelled before this had a result. It had printed:\n\nat work,  (error)\nuser two\nuser three\nreply both\n")
}

func testPanic(b *bench) {
	b.think(map[int][]Answer{0: {{Calls: []Call{{Tool: Crashy}, {Tool: Read}}}, {Panics: true}}})
	b.say("careful")
	b.want(agent.ReasonFailed) // the model client panics at each try
	want := "user careful\nreply [Crashy][Read]\nresult Crashy: internal error: it crashed; the log has the details (error)\nresult Read: done chat/1.1\n"
	b.wantTranscript("chat", want)
	b.think(map[int][]Answer{0: {{Text: "back"}}})
	b.say("again")
	b.want(agent.ReasonCompleted)
}

func testApproval(b *bench) {
	b.think(map[int][]Answer{0: {{Calls: []Call{{Tool: Guard}}}, {Text: "written"}}})
	b.say("write")
	<-time.After(time.Minute)
	b.restart()
	items := b.inbox()
	if len(items) != 1 || items[0].Kind != "approval" || items[0].Action != "write chat/1.0" || items[0].Path != "main" {
		b.Fatalf("inbox: %+v", items)
	}
	if b.world.Writes["chat/1.0"] != 0 {
		b.Error("it wrote before it was allowed")
	}
	allow := agent.ApprovalAnswered{Item: items[0].ID, Allow: true, Scope: "once", By: "u1"}
	if err := b.rt.Deliver(b.ctx, "chat", allow); err != nil {
		b.Fatal(err)
	}
	if err := b.rt.Deliver(b.ctx, "chat", allow); !errors.Is(err, agent.ErrNotWaiting) {
		b.Errorf("a second answer: %v", err)
	}
	b.want(agent.ReasonCompleted)
	if b.world.Writes["chat/1.0"] != 1 {
		b.Errorf("it wrote %d times", b.world.Writes["chat/1.0"])
	}
	item, err := b.st.Item(b.ctx, items[0].ID)
	if err != nil || item.How != "allowed" || item.By != "u1" {
		b.Errorf("the decision on record: %+v %v", item, err)
	}
}

func testDenied(b *bench) {
	b.think(map[int][]Answer{0: {{Calls: []Call{{Tool: Guard}}}, {Text: "as you wish"}}})
	b.say("write")
	<-time.After(time.Second)
	if err := b.rt.Deliver(b.ctx, "chat", agent.ApprovalAnswered{Item: b.inbox()[0].ID, Reason: "not there"}); err != nil {
		b.Fatal(err)
	}
	b.want(agent.ReasonCompleted)
	if len(b.world.Writes) > 0 {
		b.Errorf("a denied call was run: %v", b.world.Writes)
	}
	if got := b.transcript("chat"); !strings.Contains(got, "Guarded: Denied by the user: not there (error)") {
		b.Errorf("transcript:\n%s", got)
	}
}

func testQuestion(b *bench) {
	b.think(map[int][]Answer{
		0: {spawn(Plan(1)), {Text: "done"}},
		1: {{Calls: []Call{{Tool: Ask, Input: `{"question":"which year?"}`}}}, submit("2024 it is")},
	})
	b.say("date it")
	<-time.After(time.Minute)
	b.restart()
	if got := b.status("chat.1"); got != "awaiting_answer" {
		b.Errorf("it is %s", got)
	}
	task, err := b.st.Task(b.ctx, "chat.1")
	if err != nil || task.Status != "waiting" {
		b.Errorf("its task: %+v %v", task, err)
	}
	items := b.inbox()
	if len(items) != 1 || items[0].Kind != "question" || !strings.Contains(items[0].Action, "which year?") {
		b.Fatalf("inbox: %+v", items)
	}
	if err := b.rt.Deliver(b.ctx, "chat.1", agent.QuestionAnswered{Item: items[0].ID, Answer: "2024"}); err != nil {
		b.Fatal(err)
	}
	b.want(agent.ReasonCompleted)
	b.wantTranscript("chat.1", "task part 1\nreply [ask_user]\nresult ask_user: 2024\nreply [submit_result]\nresult submit_result: Recorded.\n")
}

func testStartedWrite(b *bench) {
	b.world.Latency = time.Minute
	b.think(map[int][]Answer{0: {{Calls: []Call{{Tool: Read}, {Tool: Write}}}, {Text: "hm"}}})
	b.say("write")
	for b.world.writes("chat/1.1") == 0 {
		<-time.After(100 * time.Millisecond)
	}
	b.restart() // while it runs
	b.want(agent.ReasonCompleted)
	if n := b.world.writes("chat/1.1"); n != 1 {
		b.Errorf("the write ran %d times", n)
	}
	if got := b.transcript("chat"); !strings.Contains(got, "Write: Interrupted: the process ended while this ran. Its effects are unknown") {
		b.Errorf("transcript:\n%s", got)
	}
}

// testAhead: what can be read at once is recorded with the reply that asks for
// it, whatever follows; the rest is run when that is on record.
func testAhead(b *bench) {
	b.world.Quick, b.world.SlowTools = true, time.Minute
	b.think(map[int][]Answer{0: {{Calls: []Call{{Tool: Read}, {Tool: Read}, {Tool: Write}, {Tool: Read}}}, {Text: "read"}}})
	b.say("read")
	b.want(agent.ReasonCompleted)
	synctest.Wait()
	if want := map[string]int{"chat/1.3": 1}; !maps.Equal(b.world.Reads, want) {
		b.Errorf("after the commit were read %v, want %v", b.world.Reads, want)
	}
	calls, err := b.st.ToolCalls(b.ctx, "chat")
	if err != nil {
		b.Fatal(err)
	}
	for i, c := range calls {
		if ahead := c.EndedAt == c.CreatedAt; c.Status == "pending" || ahead != (i < 2) {
			b.Errorf("call %d is %s and took %d ms", i, c.Status, c.EndedAt-c.CreatedAt)
		}
	}
	if n := b.world.Calls["chat/2"]; n != 1 || len(calls) != 4 {
		b.Errorf("%d calls of tools, and the model was asked %d times after them", len(calls), n)
	}
}

// testAheadInVain: the machine alone decides whether a call is made. What was
// read for one that it refuses is forgotten.
func testAheadInVain(b *bench) {
	b.world.Quick = true
	testLimit(b)
	log, err := b.st.Log(b.ctx, "chat")
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range log {
		if e.Verdict != store.Applied {
			b.Errorf("%s came to nothing (%s)", e.Type, e.Verdict)
		}
	}
}

func testAheadSlow(b *bench) {
	b.world.Quick, b.world.SlowAhead, b.world.Latency = true, time.Minute, 0
	b.think(map[int][]Answer{0: {{Calls: []Call{{Tool: Read}}}, {Text: "read"}}})
	b.say("read")
	began := time.Now()
	b.want(agent.ReasonCompleted)
	if took := time.Since(began); took > time.Second || b.world.Reads["chat/1.0"] != 1 {
		b.Errorf("it took %s, and read %v", took, b.world.Reads)
	}
	<-time.After(2 * time.Minute) // what comes of it then is nobody's
	if got := b.transcript("chat"); strings.Count(got, "result Read") != 1 || strings.Count(got, "reply") != 2 {
		b.Errorf("transcript:\n%s", got)
	}
}

func (w *World) writes(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Writes[key]
}

func testBackoff(b *bench) {
	b.world.Think = func(_ *engine.Job, call agent.CallModel) Answer {
		if call.Try == 1 {
			return Answer{Fail: agent.FailRateLimit, After: 600_000}
		}
		return Answer{Text: "at last"}
	}
	b.say("hi")
	began := time.Now()
	<-time.After(time.Minute)
	b.restart()
	b.want(agent.ReasonCompleted)
	if waited := time.Since(began); waited < 10*time.Minute || waited > 13*time.Minute {
		b.Errorf("it waited %s, the vendor asked for 10 minutes", waited)
	}
}

func testNoRepeat(b *bench) {
	b.world.Latency = time.Minute
	b.think(map[int][]Answer{0: {{Calls: []Call{{Tool: Read}}}, {Calls: []Call{{Tool: Read}}}, {Text: "read"}}})
	b.say("read")
	for range 4 {
		<-time.After(40 * time.Second)
		b.restart()
	}
	b.want(agent.ReasonCompleted)
	calls, err := b.st.ModelCalls(b.ctx, "chat")
	if err != nil {
		b.Fatal(err)
	}
	replied, lost := 0, 0
	for _, c := range calls {
		switch c.Status {
		case "replied":
			replied++
		case "lost":
			lost++
		default:
			b.Errorf("a model call is %s", c.Status)
		}
	}
	asked := 0
	for _, n := range b.world.Calls {
		asked += n
	}
	if replied != 3 || asked != replied+lost {
		b.Errorf("%d calls were made; on record are %d replies and %d lost", asked, replied, lost)
	}
}

func testDuplicate(b *bench) {
	b.think(map[int][]Answer{0: {{Text: "once"}}})
	b.say("hi")
	b.want(agent.ReasonCompleted)
	b.sent--
	b.say("hi")
	b.restart()
	b.sent--
	b.say("hi")
	<-time.After(time.Minute)
	b.wantTranscript("chat", "user hi\nreply once\n")
}

func testClosed(b *bench) {
	b.create()
	if err := b.rt.Cancel(b.ctx, "nobody", "user"); !errors.Is(err, engine.ErrUnknown) {
		b.Errorf("cancelling an unknown agent: %v", err)
	}
	b.rt.Close()
	if err := b.rt.Cancel(b.ctx, "chat", "user"); !errors.Is(err, engine.ErrClosed) {
		b.Errorf("cancelling on a closed engine: %v", err)
	}
	if _, err := b.rt.CreateChat(b.ctx, Chat()); !errors.Is(err, engine.ErrClosed) {
		b.Errorf("creating on a closed engine: %v", err)
	}
}

func testLimit(b *bench) {
	b.think(map[int][]Answer{0: {{Text: "reading on", Calls: []Call{{Tool: Read}}}}})
	c := Chat()
	c.Spec.Limits.Turns = 3
	id, err := b.rt.CreateChat(b.ctx, c)
	if err != nil {
		b.Fatal(err)
	}
	b.chat = id
	b.say("read it all")
	b.want(agent.ReasonMaxTurns)
	if got := b.transcript("chat"); strings.Count(got, "reply") != 4 || !strings.Contains(got, "Read: Not executed: the turn limit is reached. (error)") {
		b.Errorf("transcript:\n%s", got)
	}
	b.say("and again") // limits count per user message
	b.want(agent.ReasonMaxTurns)
	if got := b.transcript("chat"); strings.Count(got, "reply") != 8 {
		b.Errorf("transcript:\n%s", got)
	}
	c.Spec.Limits.Cost, c.Spec.Price.Known = 100, false
	if _, err := b.rt.CreateChat(b.ctx, c); !errors.Is(err, agent.ErrNoPrice) {
		b.Errorf("a cost limit without a price: %v", err)
	}
}

func testCapabilities(b *bench) {
	b.think(map[int][]Answer{
		0: {spawn(Plan(1)), {Text: "done"}},
		1: {{Calls: []Call{{Tool: Write}, {Tool: Spawn, Plan: Plan(1)}}}, submit("tried")},
		2: {{Calls: []Call{{Tool: Write}}}, submit("tried")},
	})
	c := Chat()
	c.Spec.Delegable = []string{Read, Spawn, Submit, GiveUp}
	id, err := b.rt.CreateChat(b.ctx, c)
	if err != nil {
		b.Fatal(err)
	}
	b.chat = id
	b.say("write")
	b.want(agent.ReasonCompleted)
	if len(b.world.Writes) > 0 {
		b.Errorf("a sub-agent wrote: %v", b.world.Writes)
	}
	for _, id := range []string{"chat.1", "chat.1.1"} {
		if got := b.transcript(id); !strings.Contains(got, `Write: The tool "Write" is not available to you. (error)`) {
			b.Errorf("transcript of %s:\n%s", id, got)
		}
	}
}

func testThousand(b *bench) {
	b.world.Think = func(job *engine.Job, call agent.CallModel) Answer {
		switch {
		case job.Spec.Depth == 1 && call.Turn == 1:
			return Answer{Calls: []Call{{Tool: Read}}}
		case job.Spec.Depth == 1:
			return submit("of " + job.Spec.ID)
		case call.Turn == 1:
			return spawn(Plan(1000))
		}
		return Answer{Text: "all thousand"}
	}
	b.say("go")
	<-time.After(200 * time.Millisecond)
	b.restart()
	b.want(agent.ReasonCompleted)
	got := b.transcript("chat")
	for i := 1; i <= 1000; i++ {
		if line := fmt.Sprintf("chat.%d completed: of chat.%d\n", i, i); strings.Count(got, line) != 1 {
			b.Fatalf("%q stands %d times in the parent's history", line, strings.Count(got, line))
		}
	}
}
