// What passes between a running tool and the outside: its output as it comes,
// and the answers to its questions.

package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
)

// output publishes what a tool writes, as pieces of its call, and keeps it in
// kept, where it can be asked for until done is called. What is spooled goes
// when the outcome is on record, or when there is none.
func (e *Engine) output(spec agent.Spec, f agent.RunTool, kept *printed) (output func(string), done func(*delivery)) {
	id := store.ToolCallID(spec.ID, f.Turn, f.Call)
	e.mu.Lock()
	e.prints[id] = kept
	e.mu.Unlock()
	var mu sync.Mutex
	offset := 0
	file := spooled{spool: e.spool, call: id}
	output = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		kept.add(text)
		file.add(text, kept)
		e.cfg.Feed.Publish(feed.Delta{
			Chat: spec.Chat, Agent: spec.ID, Path: spec.Path, Call: id, Turn: f.Turn,
			Kind: feed.Output, Offset: offset, Name: f.Name, Text: text,
		})
		offset += len(text)
	}
	over := func() {
		e.cfg.Feed.Discard(id)
		if file.file != nil {
			e.spool.drop(id)
		}
	}
	return output, func(d *delivery) {
		mu.Lock()
		defer mu.Unlock()
		file.close()
		switch {
		case offset == 0 || e.base.Err() != nil: // nothing was printed, or recovery tells it
		case d.ev == nil:
			over()
		default:
			d.after = over
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.prints[id] == kept { // another run of it may have begun
			delete(e.prints, id)
		}
	}
}

// soFar is what the tools of an agent that run have printed. That of a tool run
// is known until its result is.
func (e *Engine) soFar(l *live) agent.SoFar {
	return soFar(l.state, func(_ agent.Call, call string) string {
		if l.state.Spec.ToolRun() {
			return l.printed.text()
		}
		e.mu.Lock()
		kept, runs := e.prints[call]
		e.mu.Unlock()
		if !runs { // a process before this one ran it, and nothing has gone on with it
			return e.spool.left(call)
		}
		return kept.text()
	})
}

// soFar collects what the calls of an agent without a result have printed.
func soFar(st agent.State, printed func(c agent.Call, call string) string) agent.SoFar {
	var out agent.SoFar
	acting, _ := st.Phase.(agent.Acting)
	for i, c := range acting.Calls {
		if c.Phase == agent.CallDone {
			continue
		}
		if text := printed(c, store.ToolCallID(st.Spec.ID, st.Turn, i)); text != "" {
			if out.Output == nil {
				out.Output = map[int]string{}
			}
			out.Output[i] = text
			out.Tokens += int64(len(text)) / 4
		}
	}
	return out
}

// Printed implements Runtime.
func (e *Engine) Printed(call string) string {
	e.mu.Lock()
	kept := e.prints[call]
	e.mu.Unlock()
	return kept.text()
}

// keptHalf bounds what is kept of what a tool has printed: so many bytes
// of its beginning, and up to twice as many of its end.
const keptHalf = 15_000

// printed is what a running tool has printed so far. For a tool run it is the
// partial result, should it be stopped: unlike its result it need not be waited
// for. A nil one has nothing.
type printed struct {
	mu         sync.Mutex
	head, tail []byte
	left       int // bytes left out between the two
}

func (p *printed) add(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(max(keptHalf-len(p.head), 0), len(text))
	p.head = append(p.head, text[:n]...)
	p.tail = append(p.tail, text[n:]...)
	if over := len(p.tail) - keptHalf; over > keptHalf {
		p.tail = append(p.tail[:0], p.tail[over:]...)
		p.left += over
	}
}

func (p *printed) text() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	middle := ""
	if p.left > 0 {
		middle = fmt.Sprintf("\n[… %d bytes left out here …]\n", p.left)
	}
	return strings.ToValidUTF8(string(p.head)+middle+string(p.tail), "\ufffd")
}

// ask puts a question of a running tool to the user. One at a time: a tool
// that asks again before it was answered is refused by the machine.
func (e *Engine) ask(id string, f agent.RunTool) func(context.Context, agent.ToolAsked) (agent.TellTool, error) {
	key := answerKey{id, f.Turn, f.Call}
	return func(ctx context.Context, q agent.ToolAsked) (agent.TellTool, error) {
		answer := make(chan agent.TellTool, 1)
		e.mu.Lock()
		e.answers[key] = answer
		e.mu.Unlock()
		defer func() {
			e.mu.Lock()
			delete(e.answers, key)
			e.mu.Unlock()
		}()
		q.Turn, q.Call = f.Turn, f.Call
		if err := e.Deliver(ctx, id, q); err != nil {
			return agent.TellTool{}, fmt.Errorf("asking the user: %w", err)
		}
		select {
		case a := <-answer:
			return a, nil
		case <-ctx.Done():
			return agent.TellTool{}, fmt.Errorf("asking the user: %w", ctx.Err())
		}
	}
}

// answerKey names the call whose tool waits for an answer.
type answerKey struct {
	agent      string
	turn, call int
}

// tellTool passes an answer on to the tool that waits for it.
func (e *Engine) tellTool(id string, f agent.TellTool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.answers[answerKey{id, f.Turn, f.Call}]; c != nil {
		select {
		case c <- f:
		default: // it was told already
		}
	}
}
