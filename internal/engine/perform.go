package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// Performer carries out what agents ask of the outside world. Its methods run
// on goroutines of their own, return soon after ctx ends and may panic: that
// fails the call, not the process. The events they return are outcomes of the
// effects they were given.
type Performer interface {
	// CallModel makes a model call: a ModelReplied or a ModelFailed.
	CallModel(ctx context.Context, job *Job, call agent.CallModel, onDelta func(kind string, part int, name, text string)) agent.Event

	// Ahead uses the tools that a reply asks for first, as far as they only
	// read and take no longer than a commit: their outcomes, in the order of
	// the calls. Reading changes nothing, so that it need not wait for the
	// reply to be on record; both are then recorded in one commit.
	Ahead(ctx context.Context, job *Job, reply agent.ModelReplied) []agent.ToolFinished

	// RunTool runs a tool: a ToolFinished or an ApprovalNeeded. A tool that is
	// no pure read calls start first, and begins only if that returns true:
	// then it is on record that its effects may have happened. The input was
	// found valid when the call was proposed.
	RunTool(ctx context.Context, job *Job, run agent.RunTool, input json.RawMessage, start func() bool) agent.Event

	// Compact shortens the history: a Compacted.
	Compact(ctx context.Context, job *Job, c agent.Compact) agent.Event

	// Consult asks the orchestrator's model: a Consulted.
	Consult(ctx context.Context, job *Job, c agent.Consult) agent.Event

	// Accept runs the acceptance command: an AcceptanceDone.
	Accept(ctx context.Context, job *Job) agent.Event

	// Inspect looks at what an agent that ends leaves in its worktree: a
	// WorkInspected.
	Inspect(ctx context.Context, job *Job) agent.Event

	// Waiting words, for the orchestrator's model, who waits for the user and
	// what was answered on the user's behalf.
	Waiting(waiting, answered []store.Item) string

	// Ended tells that an agent has ended: what was kept for it can go. It
	// does not block.
	Ended(agent string)

	// Prompt returns the text of a system prompt that a planned child refers
	// to by its id.
	Prompt(id string) (string, bool)

	// Report sums up what an agent that ends did, from the records of its tool
	// calls, and compares its result with that.
	Report(st agent.State, records []json.RawMessage, result string) json.RawMessage

	// Results renders the results of tasks for the parent's model.
	Results(tasks []store.Task) string
}

// Job is the agent that an effect is performed for.
type Job struct {
	Spec    agent.Spec
	Turn    int
	View    agent.View        // the part of its history that its model is sent
	System  string            // its system prompt
	History []message.Message // only for CallModel and Compact
	Memo    *llm.Memo         // what the model's client keeps between turns
	Now     func() time.Time
	Tell    func(agent.Event) // delivers news about an effect that goes on

	// Output shows what a tool writes while it runs; Ask puts its question to
	// the user and waits. Only for RunTool.
	Output func(text string)
	Ask    func(ctx context.Context, q agent.ToolAsked) (agent.TellTool, error)
}

// effectKey names an outside effect among those of its agent that are under
// way.
type effectKey struct {
	kind    string
	turn, n int
	item    string
}

// perform starts an outside effect. It runs on the loop.
func (e *Engine) perform(l *live, f agent.Effect) {
	spec := l.state.Spec
	switch f := f.(type) {
	case agent.StopWork:
		for key, cancel := range l.running {
			cancel()
			delete(l.running, key)
		}
	case agent.Done:
		about(e.cfg.Log, spec).Info("run ended", "outcome", string(f.Outcome.Reason), "kind", string(f.Outcome.Kind))
		e.announce(spec.Chat, f.Outcome)
	case agent.CallModel:
		reply := store.MessageID(spec.ID, l.state.Pos) // nothing takes the place while the agent thinks
		e.start(l, effectKey{"model", f.Turn, f.Try, ""}, func(ctx context.Context, job *Job, d *delivery) {
			e.callModel(ctx, job, d, f, reply)
		}, func(text string) agent.Event {
			return agent.ModelFailed{Turn: f.Turn, Try: f.Try, Kind: agent.FailServer, Message: text}
		})
	case agent.RunTool:
		input := inputOf(l.history, f) // here: results of its neighbours are added to the history meanwhile
		kept := &printed{}
		if spec.ToolRun() {
			l.printed = kept
		}
		e.start(l, effectKey{"tool", f.Turn, f.Call, ""}, func(ctx context.Context, job *Job, d *delivery) {
			var done func(*delivery)
			job.Output, done = e.output(job.Spec, f, kept)
			defer done(d)
			d.ev = e.runTool(ctx, job, f, input)
		}, func(text string) agent.Event {
			return agent.ToolFinished{
				Turn: f.Turn, Call: f.Call, IsError: true,
				Parts: []message.Part{message.TextPart{Text: text}},
			}
		})
	case agent.Compact:
		e.start(l, effectKey{kind: "compact"}, func(ctx context.Context, job *Job, d *delivery) {
			if err := e.complete(ctx, job, d); err != nil {
				d.ev = agent.Compacted{Turn: f.Turn, Message: err.Error()}
				return
			}
			d.ev = e.cfg.Performer.Compact(ctx, job, f)
		}, func(text string) agent.Event {
			return agent.Compacted{Turn: f.Turn, Message: text}
		})
	case agent.Consult:
		e.start(l, effectKey{kind: "consult", item: f.Item}, func(ctx context.Context, job *Job, d *delivery) {
			d.ev = e.cfg.Performer.Consult(ctx, job, f)
		}, func(string) agent.Event {
			return agent.Consulted{Item: f.Item}
		})
	case agent.TellTool:
		e.tellTool(spec.ID, f)
	case agent.InspectWork:
		e.start(l, effectKey{kind: "inspect"}, func(ctx context.Context, job *Job, d *delivery) {
			d.ev = e.cfg.Performer.Inspect(ctx, job)
		}, func(text string) agent.Event {
			return agent.WorkInspected{Reason: text}
		})
	case agent.RunAcceptance:
		e.start(l, effectKey{kind: "acceptance"}, func(ctx context.Context, job *Job, d *delivery) {
			d.ev = e.cfg.Performer.Accept(ctx, job)
		}, func(text string) agent.Event {
			return agent.AcceptanceDone{Output: text}
		})
	case agent.AddMessage, agent.Enqueue, agent.Place, agent.AddResults, agent.RepeatResult, agent.Adopt, agent.AddWaiting,
		agent.SetCall, agent.OpenCall, agent.SetModel, agent.RecordModel, agent.OpenItem, agent.ShowItem, agent.CloseItem, agent.Conclude,
		agent.StartChild, agent.CancelChild, agent.TellRoot, agent.ExtendParent, agent.Report:
		panic(fmt.Sprintf("engine: %T belongs into the commit", f))
	}
}

// start runs do on a goroutine of its own, which fills in what is delivered;
// failed makes the event for a panic.
func (e *Engine) start(l *live, key effectKey, do func(context.Context, *Job, *delivery), failed func(string) agent.Event) {
	ctx, cancel := context.WithCancel(e.base)
	l.running[key] = cancel
	id := l.state.Spec.ID
	if l.memo == nil {
		l.memo = &llm.Memo{}
	}
	job := &Job{
		Spec: l.state.Spec, Turn: l.state.Turn, View: l.state.View, History: l.history, Memo: l.memo, Now: e.cfg.Now,
		Tell: func(ev agent.Event) { e.box.put(delivery{agent: id, ev: ev}) },
	}
	e.work.Go(func() {
		deepen(id)
		defer cancel()
		d := delivery{agent: id, key: key}
		defer func() {
			if r := recover(); r != nil {
				about(e.cfg.Log, job.Spec).Error("a panic was caught", "effect", key.kind, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
				d.ev = failed("internal error: it crashed; the log has the details")
			}
			if d.ev != nil {
				e.arrived(d)
			}
		}()
		do(ctx, job, &d)
	})
}

// arrived takes in the outcome of an effect. After a shutdown began, it may be
// that of the shutdown itself: recovery will find out.
func (e *Engine) arrived(d delivery) {
	if e.base.Err() == nil {
		e.box.put(d)
	}
}

// callModel completes the job by what may have to be read, and makes the call.
// What is said on the way belongs to the message that the reply will be.
func (e *Engine) callModel(ctx context.Context, job *Job, d *delivery, f agent.CallModel, reply string) {
	if err := e.complete(ctx, job, d); err != nil {
		d.ev = agent.ModelFailed{Turn: f.Turn, Try: f.Try, Kind: agent.FailServer, Message: err.Error()}
		return
	}
	offsets := map[int]int{}
	call := store.ModelCallID(job.Spec.ID, f.Turn, f.Try)
	d.ev = e.cfg.Performer.CallModel(ctx, job, f, func(kind string, part int, name, text string) {
		e.cfg.Feed.Publish(feed.Delta{
			Chat: job.Spec.Chat, Agent: job.Spec.ID, Path: job.Spec.Path, Call: call, Message: reply, Turn: f.Turn, Try: f.Try,
			Kind: kind, Part: part, Offset: offsets[part], Name: name, Text: text,
		})
		offsets[part] += len(text)
	})
	if ev, ok := d.ev.(agent.ModelReplied); ok && len(ev.Calls) > 0 {
		late := *d
		timer := time.AfterFunc(aheadWait, func() { e.arrived(late) })
		if d.ahead = e.ahead(ctx, job, ev); !timer.Stop() {
			d.ev = nil // it has been delivered
		}
	}
}

// aheadWait is how long a reply waits for what is read ahead. A disk that takes
// longer must not keep it from being recorded; the tool is then run after that.
const aheadWait = 250 * time.Millisecond

// ahead asks for what can be read at once. A panic there must not cost the
// reply: the tools are then run when it is on record.
func (e *Engine) ahead(ctx context.Context, job *Job, reply agent.ModelReplied) (out []agent.ToolFinished) {
	defer func() {
		if r := recover(); r != nil {
			about(e.cfg.Log, job.Spec).Error("a panic was caught", "effect", "ahead", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			out = nil
		}
	}()
	return e.cfg.Performer.Ahead(ctx, job, reply)
}

// complete reads what a job about the history needs and is not in memory. A
// history that had to be read is delivered with the outcome.
func (e *Engine) complete(ctx context.Context, job *Job, d *delivery) (err error) {
	if job.History == nil {
		if d.history, err = e.history(ctx, job.Spec.ID); err != nil {
			return err
		}
		job.History = d.history
	}
	job.System, err = e.prompt(ctx, job.Spec.Prompt)
	return err
}

func (e *Engine) prompt(ctx context.Context, id string) (string, error) {
	if text, ok := e.cfg.Performer.Prompt(id); ok || id == "" {
		return text, nil
	}
	text, err := e.cfg.Store.Prompt(ctx, id)
	if err != nil {
		return "", fmt.Errorf("reading the system prompt: %w", err)
	}
	return text, nil
}

func (e *Engine) history(ctx context.Context, id string) ([]message.Message, error) {
	rows, err := e.cfg.Store.History(ctx, id, 0)
	if err != nil {
		return nil, fmt.Errorf("reading the history of %s: %w", id, err)
	}
	out := make([]message.Message, len(rows))
	for i, r := range rows {
		if r.Pos != i {
			return nil, fmt.Errorf("reading the history of %s: position %d is missing", id, i)
		}
		if out[i], err = r.Decode(); err != nil {
			return nil, fmt.Errorf("reading the history of %s: %w", id, err)
		}
	}
	return out, nil
}

// runTool runs a tool, whose input it reads from the store if need be.
func (e *Engine) runTool(ctx context.Context, job *Job, f agent.RunTool, input json.RawMessage) agent.Event {
	if input == nil {
		row, err := e.cfg.Store.ToolCall(ctx, job.Spec.ID, f.Turn, f.Call)
		if err != nil {
			return agent.ToolFinished{
				Turn: f.Turn, Call: f.Call, IsError: true,
				Parts: []message.Part{message.TextPart{Text: fmt.Sprintf("reading the input of %s: %v", f.Name, err)}},
			}
		}
		input = row.Args
	}
	job.Ask = e.ask(job.Spec.ID, f)
	start := func() bool { return e.recordStart(ctx, job.Spec.ID, agent.ToolStarted{Turn: f.Turn, Call: f.Call}) }
	return e.cfg.Performer.RunTool(ctx, job, f, input, start)
}

// recordStart commits that a tool begins. It waits while nothing can be
// written, and returns false if the tool is no longer wanted.
func (e *Engine) recordStart(ctx context.Context, id string, ev agent.ToolStarted) bool {
	for {
		err := e.Deliver(ctx, id, ev)
		if !errors.Is(err, store.ErrUnavailable) {
			return err == nil
		}
		select {
		case <-time.After(retryCommit):
		case <-ctx.Done():
			return false
		}
	}
}

// inputOf is the input of a call of the newest reply, nil if the history is
// not in memory.
func inputOf(history []message.Message, f agent.RunTool) json.RawMessage {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Role != message.Assistant {
			continue
		}
		if calls := history[i].Calls(); f.Call < len(calls) && calls[f.Call].ID == f.ID {
			return calls[f.Call].Input
		}
		break
	}
	return nil
}

// deepen makes the stack of a new goroutine as large as its work will need, in
// one step while there is nothing on it to copy. The frame is used, or it would
// be compiled away.
//
//go:noinline
func deepen(id string) byte {
	var frame [10 << 10]byte
	copy(frame[:], id)
	return frame[len(id)%len(frame)]
}
