package enginetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// bench is one engine under test, which can be restarted.
type bench struct {
	*testing.T
	open  Factory
	dir   string
	world *World
	ctx   context.Context //nolint:containedctx // of one test
	rt    engine.Runtime
	st    store.Store
	kill  func()
	chat  string
	sent  int
	done  <-chan agent.Outcome
}

func (b *bench) start() {
	rt, st, kill := b.open(b.T, Setup{Dir: b.dir, Performer: b.world, NewID: func() string { return "chat" }})
	b.rt, b.st, b.kill = rt, st, sync.OnceFunc(kill)
	b.done, _ = b.rt.Outcomes("chat")
}

// restart ends the process and lets another one recover.
func (b *bench) restart() {
	b.Helper()
	b.kill()
	synctest.Wait()
	b.start()
	if err := b.rt.Recover(b.ctx, ""); err != nil {
		b.Fatal(err)
	}
}

// audit opens what was left once more and holds it against the rules.
func (b *bench) audit() {
	b.start()
	defer b.kill()
	Audit(b.ctx, b.st, "chat", b.Errorf)
}

// think lets the model of an agent (by its depth) say the answers in turn; the
// last one is said again.
func (b *bench) think(byDepth map[int][]Answer) {
	b.world.Think = func(job *engine.Job, call agent.CallModel) Answer {
		answers := byDepth[job.Spec.Depth]
		return answers[min(call.Turn, len(answers))-1]
	}
}

func (b *bench) create() {
	b.Helper()
	id, err := b.rt.CreateChat(b.ctx, Chat())
	if err != nil {
		b.Fatal(err)
	}
	b.chat = id
}

func (b *bench) say(text string) {
	b.Helper()
	if b.chat == "" {
		b.create()
	}
	b.sent++
	if err := b.rt.Send(b.ctx, b.chat, fmt.Sprintf("m%d", b.sent), message.Of(message.User, message.KindUser, text), nil); err != nil {
		b.Fatal(err)
	}
}

// outcome waits for the end of a run.
func (b *bench) outcome() agent.Reason {
	b.Helper()
	select {
	case o := <-b.done:
		return o.Reason
	case <-time.After(time.Hour):
		b.Fatal("the run does not end")
		return ""
	}
}

func (b *bench) want(r agent.Reason) {
	b.Helper()
	if got := b.outcome(); got != r {
		b.Errorf("the run ended as %s, want %s", got, r)
	}
}

// transcript is the history of an agent, a line a message.
func (b *bench) transcript(id string) string {
	b.Helper()
	rows, err := b.st.History(b.ctx, id, 0)
	if err != nil {
		b.Fatal(err)
	}
	var out strings.Builder
	for _, row := range rows {
		m, err := row.Decode()
		if err != nil {
			b.Fatal(err)
		}
		text := m.Text()
		for _, c := range m.Calls() {
			text += "[" + c.Name + "]"
		}
		for _, p := range m.Parts {
			if r, ok := p.(message.ToolResult); ok {
				text += r.Name + ": " + message.Text(r.Parts)
				if r.IsError {
					text += " (error)"
				}
			}
		}
		fmt.Fprintf(&out, "%s %s\n", m.Kind, strings.TrimSpace(text))
	}
	return out.String()
}

func (b *bench) wantTranscript(id, want string) {
	b.Helper()
	if got := b.transcript(id); got != want {
		b.Errorf("transcript of %s:\n%swant:\n%s", id, got, want)
	}
}

func (b *bench) inbox() []store.Item {
	b.Helper()
	items, err := b.st.Inbox(b.ctx, store.InboxQuery{Chat: b.chat})
	if err != nil {
		b.Fatal(err)
	}
	return items
}

func (b *bench) status(id string) string {
	b.Helper()
	a, err := b.st.Agent(b.ctx, id)
	if err != nil {
		b.Fatal(err)
	}
	return a.Status
}

func submit(result string) Answer {
	return Answer{Calls: []Call{{Tool: Submit, Input: fmt.Sprintf(`{"result":%q}`, result)}}}
}

func spawn(p *agent.Plan) Answer { return Answer{Calls: []Call{{Tool: Spawn, Plan: p}}} }
