// Package enginetest holds what every engine must pass: a conformance suite
// and a crash suite, written against engine.Runtime and store.Store alone.
//
// World stands in for models and tools. What it answers depends on a seed and
// on who asks in which turn, so that a call made again after a crash gets the
// same answer, and it remembers what it did, as the real world would.
package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// World is a Performer whose behaviour follows from a seed.
type World struct {
	Seed uint64
	// Think decides a turn; nil: at random, by the seed.
	Think func(job *engine.Job, call agent.CallModel) Answer
	// Latency is the longest time that a model call or a tool takes; SlowTools
	// is how long each tool takes, if it is not 0.
	Latency   time.Duration
	SlowTools time.Duration
	// Quick tells that Reads are done before their reply is on record; where
	// turns are decided at random, so is this.
	Quick     bool
	SlowAhead time.Duration // how long that takes

	mu     sync.Mutex
	Writes map[string]int // how often each write began, by agent, turn and call
	Calls  map[string]int // how often each model turn was asked for
	Reads  map[string]int // how often each Read was run, not counting those done ahead
	Stops  int            // effects that ended because their context did
	read   map[string]int // how much of its own history each agent has been sent
}

// Answer is what the model says.
type Answer struct {
	Text   string
	Calls  []Call
	Stop   agent.Stop
	Fail   agent.Failure
	After  int64 // Retry-After in milliseconds
	Spent  agent.Amount
	Panics bool
}

// Call is a tool call that the model wishes.
type Call struct {
	Tool  string
	Input string
	Plan  *agent.Plan
	Key   string // by which it is known again
	Bad   string // refused, for this reason
}

// Tools that the World knows.
const (
	Read   = "Read"
	Write  = "Write"
	Spawn  = "spawn_agents"
	Ask    = "ask_user"
	Submit = "submit_result"
	GiveUp = "submit_error"
	Guard  = "Guarded" // asks for approval before it writes
	Crashy = "Crashy"  // panics
	Wonder = "Wonder"  // reads, and asks the user meanwhile
	Dare   = "Dare"    // begins to write, and then asks the user
)

var allTools = []string{Read, Write, Spawn, Ask, Submit, GiveUp, Guard, Crashy, Wonder, Dare}

// NewWorld makes a World.
func NewWorld(seed uint64) *World {
	return &World{Seed: seed, Latency: 300 * time.Millisecond, Writes: map[string]int{}, Calls: map[string]int{}, Reads: map[string]int{}, read: map[string]int{}}
}

var _ engine.Performer = (*World)(nil)

// Chat is a chat whose orchestrator may do everything.
func Chat() engine.NewChat {
	return engine.NewChat{
		User: store.User{ID: "u1", Name: "Ada"},
		Spec: agent.Spec{
			Role: "main", Name: "main", Path: "main", Prompt: "pmain", Choice: worldModel(), MaxDepth: 2,
			Tools: []string{Read, Write, Spawn, Ask, Guard, Crashy, Wonder, Dare}, Delegable: allTools, Delegates: []string{"worker"},
		},
		Prompt: "You are main.",
	}
}

func worldModel() agent.Choice {
	return agent.Choice{Models: []string{"world"}, Price: agent.Price{Known: true}}
}

// Plan asks for n workers.
func Plan(n int) *agent.Plan {
	p := &agent.Plan{}
	for i := range n {
		p.Tasks = append(p.Tasks, agent.Planned{
			Role: "worker", Priced: true, Task: message.Of(message.User, message.KindTask, fmt.Sprintf("part %d", i+1)),
			Spec: agent.Spec{
				Role: "worker", Prompt: "pworker", Choice: worldModel(), Tools: allTools,
				Delegable: allTools, Delegates: []string{"worker"},
				Limits: agent.Limits{Turns: 8, Active: 60_000},
			},
		})
	}
	return p
}

func (w *World) rand(parts ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, parts...)
	return rand.New(rand.NewPCG(w.Seed, h.Sum64()))
}

func (w *World) latency(r *rand.Rand) time.Duration {
	if w.Latency == 0 {
		return 0
	}
	return time.Duration(r.Int64N(int64(w.Latency)))
}

// wait lets fake time pass, or ends with ctx.
func (w *World) wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		w.mu.Lock()
		w.Stops++
		w.mu.Unlock()
		return ctx.Err()
	}
}

// CallModel implements engine.Performer.
func (w *World) CallModel(ctx context.Context, job *engine.Job, call agent.CallModel, onDelta func(string, int, string, string)) agent.Event {
	w.mu.Lock()
	w.Calls[fmt.Sprintf("%s/%d", job.Spec.ID, call.Turn)]++
	w.read[job.Spec.ID] = len(job.History)
	w.mu.Unlock()
	latency := w.latency(w.rand("model", job.Spec.ID, call.Turn, call.Try))
	info := agent.CallInfo{Model: call.Model, StartedAt: job.Now().UnixMilli()}
	failed := func(kind agent.Failure, text string, after int64) agent.Event {
		info.EndedAt = job.Now().UnixMilli()
		return agent.ModelFailed{Turn: call.Turn, Try: call.Try, Kind: kind, Message: text, RetryAfter: after, Priced: true, Info: info}
	}
	if err := w.wait(ctx, latency); err != nil {
		return failed(agent.FailNetwork, err.Error(), 0)
	}
	think := w.Think
	if think == nil {
		think = w.random
	}
	a := think(job, call)
	if a.Panics {
		panic("the model client has a bug")
	}
	if a.Fail != "" {
		return failed(a.Fail, "the world says no", a.After)
	}
	onDelta("text", 0, "", a.Text)
	info.EndedAt = job.Now().UnixMilli()
	if a.Spent == (agent.Amount{}) {
		a.Spent.Tokens = 100
	}
	ev := agent.ModelReplied{
		Turn: call.Turn, Try: call.Try, Stop: a.Stop, Text: a.Text != "",
		Spent: a.Spent, Priced: true, Tokens: int64(50 * len(job.History)), Info: info,
	}
	var parts []message.Part
	if a.Text != "" {
		parts = append(parts, message.TextPart{Text: a.Text})
	}
	for i, c := range a.Calls {
		id := fmt.Sprintf("call_%d", i) // the same in each turn, as some vendors do
		input := c.Input
		if input == "" {
			input = "{}"
		}
		parts = append(parts, message.ToolCall{ID: id, Name: c.Tool, Input: json.RawMessage(input)})
		ev.Calls = append(ev.Calls, agent.Proposal{
			ID: id, Name: c.Tool, Class: classOf(c.Tool), Plan: c.Plan, Refused: c.Bad != "", Why: c.Bad, Question: c.Input, Key: c.Key,
		})
	}
	ev.Body = message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: parts}
	if ev.Stop == "" {
		ev.Stop = agent.StopEnd
	}
	return ev
}

func classOf(tool string) agent.Class {
	switch tool {
	case Write, Guard, Dare:
		return agent.ClassWrite
	case Spawn:
		return agent.ClassDelegate
	case Ask:
		return agent.ClassAsk
	case Submit:
		return agent.ClassSubmit
	case GiveUp:
		return agent.ClassGiveUp
	}
	return agent.ClassRead
}

// Ahead implements engine.Performer.
func (w *World) Ahead(ctx context.Context, job *engine.Job, reply agent.ModelReplied) []agent.ToolFinished {
	var out []agent.ToolFinished
	calls := reply.Body.Calls()
	if w.wait(ctx, w.SlowAhead) != nil {
		return nil
	}
	for i, c := range reply.Calls {
		key := fmt.Sprintf("%s/%d.%d", job.Spec.ID, reply.Turn, i)
		if quick := w.Quick || w.Think == nil && w.rand("ahead", key).IntN(2) == 0; !quick || c.Name != Read || c.Refused {
			break
		}
		out = append(out, w.seen(key, reply.Turn, i, calls[i].Input))
	}
	return out
}

// seen is what a Read gives.
func (w *World) seen(key string, turn, call int, input json.RawMessage) agent.ToolFinished {
	isError, text := w.rand("read", key).IntN(10) == 0, "done "+key
	if string(input) == always {
		isError, text = false, "as always"
	}
	return agent.ToolFinished{Turn: turn, Call: call, IsError: isError, Tokens: 10, Same: text, Parts: []message.Part{message.TextPart{Text: text}}}
}

// RunTool implements engine.Performer.
func (w *World) RunTool(ctx context.Context, job *engine.Job, run agent.RunTool, input json.RawMessage, start func() bool) agent.Event {
	key := fmt.Sprintf("%s/%d.%d", job.Spec.ID, run.Turn, run.Call)
	r := w.rand("tool", key)
	finished := func(isError bool, text string) agent.Event {
		ev := agent.ToolFinished{Turn: run.Turn, Call: run.Call, IsError: isError, Tokens: 10, Same: text, Parts: []message.Part{message.TextPart{Text: text}}}
		if run.Class == agent.ClassWrite {
			ev.Did, ev.Record = true, fmt.Appendf(nil, "wrote %s", key)
		}
		return ev
	}
	if run.Name == Crashy {
		panic("the tool has a bug")
	}
	if run.Name == Guard && run.Grant == "" {
		return agent.ApprovalNeeded{Turn: run.Turn, Call: run.Call, Grant: "hash of " + key, Action: "write " + key, Reason: "it writes"}
	}
	if run.Class == agent.ClassWrite {
		if !start() {
			return nil
		}
		w.mu.Lock()
		w.Writes[key]++
		w.mu.Unlock()
	}
	latency := w.latency(r)
	if w.SlowTools > 0 {
		latency = w.SlowTools
	}
	job.Output("at work, ")
	if err := w.wait(ctx, latency); err != nil {
		return finished(true, err.Error())
	}
	job.Output("nearly done")
	switch {
	case run.Name == Read:
		w.mu.Lock()
		w.Reads[key]++
		w.mu.Unlock()
		return w.seen(key, run.Turn, run.Call, input)
	case run.Name == Wonder || run.Name == Dare:
		told, err := job.Ask(ctx, agent.ToolAsked{Action: "which of them?", Deadline: job.Now().Add(time.Minute).UnixMilli()})
		if err != nil {
			return finished(true, err.Error())
		}
		return finished(told.Declined, "told "+told.Answer)
	case string(input) == always:
		return finished(false, "as always")
	}
	return finished(r.IntN(10) == 0, "done "+key)
}

// always is the input of a Read that gives the same each time.
const always = `{"path":"always"}`

// Compact implements engine.Performer.
func (w *World) Compact(_ context.Context, job *engine.Job, c agent.Compact) agent.Event {
	return agent.Compacted{Turn: c.Turn, OK: true, Tokens: 100}
}

// Consult implements engine.Performer.
func (w *World) Consult(_ context.Context, job *engine.Job, c agent.Consult) agent.Event {
	if w.Think == nil && w.rand("consult", c.Item).IntN(2) == 0 {
		return agent.Consulted{Item: c.Item, Answered: true, Confidence: 90, Answer: "surely"}
	}
	return agent.Consulted{Item: c.Item}
}

// Accept implements engine.Performer.
func (w *World) Accept(_ context.Context, job *engine.Job) agent.Event {
	return agent.AcceptanceDone{Passed: true}
}

// Ended implements engine.Performer.
func (w *World) Ended(string) {}

// Inspect implements engine.Performer: every second worktree has something in
// it.
func (w *World) Inspect(ctx context.Context, job *engine.Job) agent.Event {
	if err := w.wait(ctx, w.latency(w.rand("inspect", job.Spec.ID))); err != nil {
		return agent.WorkInspected{Reason: err.Error()}
	}
	return agent.WorkInspected{Empty: job.Spec.Number%2 == 0, Action: "the difference"}
}

// Report implements engine.Performer.
func (w *World) Report(st agent.State, records []json.RawMessage, _ string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"tool_call_count":%d,"records":%d}`, st.Calls, len(records)))
}

// Waiting implements engine.Performer.
func (w *World) Waiting(waiting, answered []store.Item) string {
	var b strings.Builder
	for _, i := range waiting {
		fmt.Fprintf(&b, "%s waits: %s. ", i.Agent, i.Action)
	}
	for _, i := range answered {
		fmt.Fprintf(&b, "%s was told: %s. ", i.Agent, i.Answer)
	}
	return b.String()
}

// Prompt implements engine.Performer.
func (w *World) Prompt(id string) (string, bool) { return "prompt " + id, strings.HasPrefix(id, "p") }

// Results implements engine.Performer: a line a task.
func (w *World) Results(tasks []store.Task) string {
	var b strings.Builder
	for _, t := range tasks {
		fmt.Fprintf(&b, "%s %s: %s%s\n", t.ID, t.Reason, t.Result, t.Error)
	}
	return b.String()
}

// random decides a turn by the seed.
func (w *World) random(job *engine.Job, call agent.CallModel) Answer {
	r := w.rand("think", job.Spec.ID, call.Turn, call.Try)
	if call.Try <= 3 && r.IntN(8) == 0 {
		kinds := []agent.Failure{agent.FailServer, agent.FailRateLimit, agent.FailNetwork, agent.FailOverloaded, agent.FailOverflow}
		return Answer{Fail: kinds[r.IntN(len(kinds))], After: r.Int64N(3000)}
	}
	if job.Spec.Depth == 0 {
		return w.randomMain(job, r)
	}
	return w.randomWorker(job, call, r)
}

func (w *World) randomMain(job *engine.Job, r *rand.Rand) Answer {
	last := job.History[len(job.History)-1]
	if last.Kind != message.KindUser || r.IntN(4) == 0 {
		return Answer{Text: "so it is"}
	}
	a := Answer{Calls: []Call{{Tool: Spawn, Plan: w.randomPlan(r, 4)}}}
	for range r.IntN(3) {
		a.Calls = append(a.Calls, Call{Tool: []string{Read, Write, Spawn}[r.IntN(3)], Plan: w.randomPlan(r, 2)})
	}
	return a
}

func (w *World) randomPlan(r *rand.Rand, most int) *agent.Plan {
	p := Plan(1 + r.IntN(most))
	switch r.IntN(5) {
	case 0:
		p.Wait = 1
	case 1:
		p.Wait, p.Valid = 1, true
	case 2:
		p.Background = true
	}
	if r.IntN(6) == 0 {
		p.Timeout = 2000
	}
	for i := range p.Tasks {
		if r.IntN(6) == 0 {
			p.Tasks[i].Spec.Limits.Active = 500
		}
		if r.IntN(6) == 0 {
			p.Tasks[i].Spec.Limits.Turns = 1
		}
		if r.IntN(3) == 0 {
			p.Tasks[i].Tokens = 100 + r.Int64N(2000) // may end for lack of budget
		}
		s := &p.Tasks[i].Spec
		s.AskTimeout, s.SameLimit, s.Confidence = 30_000, 2, 60*r.IntN(2)
		s.Worktree = r.IntN(4) == 0
		w.mu.Lock()
		if n := w.read["chat.1"]; n > 0 && r.IntN(4) == 0 { // go on for it
			s.Adopts, p.Tasks[i].Prior = "chat.1", n
		}
		w.mu.Unlock()
	}
	return p
}

func (w *World) randomWorker(job *engine.Job, call agent.CallModel, r *rand.Rand) Answer {
	if call.Turn > 1+r.IntN(3) {
		switch r.IntN(10) {
		case 0:
			return Answer{Calls: []Call{{Tool: GiveUp, Input: `{"error":"cannot"}`}}}
		case 1:
			return Answer{Text: "plain words"}
		case 2:
			return Answer{Text: "cut", Stop: agent.StopLength}
		case 3:
			return Answer{Text: "no", Stop: agent.StopRefusal}
		case 4:
			return Answer{Calls: []Call{{Tool: Submit, Input: `{"result":"mixed"}`}, {Tool: Read}}}
		}
		return Answer{Calls: []Call{{Tool: Submit, Input: fmt.Sprintf(`{"result":"result of %s"}`, job.Spec.ID)}}}
	}
	var a Answer
	for range 1 + r.IntN(3) {
		c := Call{Tool: []string{Read, Read, Write, Write, Spawn, Read, Write, Wonder, Dare, Ask}[r.IntN(10)]}
		switch c.Tool {
		case Spawn:
			c.Plan, c.Key = w.randomPlan(r, 2), []string{"", "", "spawn"}[r.IntN(3)]
		case Read:
			if r.IntN(2) == 0 {
				c.Input, c.Key = always, always
			}
		case Ask:
			c.Input = fmt.Sprintf(`{"question":"%d"}`, r.IntN(2))
		}
		a.Calls = append(a.Calls, c)
	}
	return a
}
