package enginetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// check looks at what the processes have left behind.
func (l *life) check() {
	l.t.Helper()
	if l.t.Failed() {
		return
	}
	ctx := context.Background()
	_, st, kill := l.open(l.t, Setup{Dir: l.dir, Performer: l.world})
	defer kill()
	errorf := func(format string, args ...any) {
		l.t.Helper()
		l.t.Errorf("seed %d: "+format, append([]any{l.seed}, args...)...)
	}
	Audit(ctx, st, "chat", errorf)
	rows, err := st.History(ctx, "chat", 0)
	if err != nil {
		errorf("reading the history: %v", err)
		return
	}
	seen := map[string]int{}
	for _, m := range rows {
		seen[m.ID]++
	}
	for id := range l.acked {
		if seen[id] != 1 {
			errorf("message %s was acknowledged, but stands %d times in the history", id, seen[id])
		}
	}
	for key, n := range l.world.Writes {
		if n > 1 {
			errorf("the write %s ran %d times", key, n)
		}
	}
	for id, how := range l.given {
		if item, err := st.Item(ctx, id); err != nil || item.How != how {
			errorf("item %s was %s, on record is %+v (%v)", id, how, item, err)
		}
	}
	if tree, err := st.Tree(ctx, "chat"); err != nil || len(tree) > mostAgents {
		errorf("the chat has %d agents (%v)", len(tree), err)
	}
}

// Audit holds a chat at rest against the rules that every engine must keep.
func Audit(ctx context.Context, st store.Store, chat string, errorf func(string, ...any)) {
	_, problems, err := engine.Verify(ctx, st, chat)
	if err != nil {
		errorf("verifying: %v", err)
		return
	}
	for _, p := range problems {
		errorf("%s", p)
	}
	if damage, err := st.Check(ctx); err != nil || len(damage) > 0 {
		errorf("the database: %v %v", damage, err)
	}
	tree, err := st.Tree(ctx, chat)
	if err != nil {
		errorf("reading the tree: %v", err)
		return
	}
	told := map[string][]agent.Reason{} // what the parents were told of their children
	for _, a := range tree {
		reports(ctx, st, a.ID, told, errorf)
	}
	for _, a := range tree {
		auditState(ctx, st, a, errorf)
		auditHistory(ctx, st, a, errorf)
		auditTurns(ctx, st, a, errorf)
		auditCalls(ctx, st, a, errorf)
		if a.Depth > 0 {
			auditTask(ctx, st, a, told[a.ID], errorf)
		}
	}
	items, err := st.Inbox(ctx, store.InboxQuery{Chat: chat})
	if err != nil || len(items) > 0 {
		errorf("%d items still wait in the inbox (%v)", len(items), err)
	}
}

// auditState checks that an agent at rest holds nothing back.
func auditState(ctx context.Context, st store.Store, a store.Agent, errorf func(string, ...any)) {
	s, _, err := engine.Load(ctx, st, a.ID)
	if err != nil {
		errorf("%s: %v", a.ID, err)
		return
	}
	if len(s.Spec.Models) > 0 && a.Model != s.Spec.Models[0] {
		errorf("%s answers with %v and is said to with %s", a.ID, s.Spec.Models, a.Model)
	}
	if !s.Ended() && (s.Held != agent.Amount{}) {
		errorf("%s rests and still holds %+v for children", a.ID, s.Held)
	}
	if fx := s.Outstanding(); len(fx) > 0 {
		errorf("%s rests and %v is under way", a.ID, fx)
	}
	if len(s.Waiting) > 0 || s.Work != "" {
		errorf("%s rests and waits for the user: %v %s", a.ID, s.Waiting, s.Work)
	}
}

// auditCalls checks that each tool call and the message with its result name
// each other. What was taken over from another agent names that one's calls.
func auditCalls(ctx context.Context, st store.Store, a store.Agent, errorf func(string, ...any)) {
	calls, err := st.ToolCalls(ctx, a.ID)
	if err != nil {
		errorf("%s: reading the tool calls: %v", a.ID, err)
		return
	}
	places := map[string]int{}
	for _, c := range calls {
		places[c.ID] = c.Pos
	}
	messages, err := st.History(ctx, a.ID, 0)
	if err != nil {
		errorf("%s: reading the history: %v", a.ID, err)
		return
	}
	for _, m := range messages {
		if !strings.HasPrefix(m.Call, a.ID+"-c") {
			continue
		}
		if pos, ok := places[m.Call]; !ok || pos != m.Pos {
			errorf("%s: message %d says it is the result of %s, which stands at %d (%v)", a.ID, m.Pos, m.Call, pos, ok)
		}
		delete(places, m.Call)
	}
	for id, pos := range places {
		errorf("%s: no message is the result of %s at %d", a.ID, id, pos)
	}
}

// reports collects the ends of children that an agent has taken in.
func reports(ctx context.Context, st store.Store, id string, told map[string][]agent.Reason, errorf func(string, ...any)) {
	log, err := st.Log(ctx, id)
	if err != nil {
		errorf("%s: reading the log: %v", id, err)
		return
	}
	for _, e := range log {
		if e.Type != "child_ended" || e.Verdict != store.Applied {
			continue
		}
		ev, err := agent.DecodeEvent(e.Type, e.Body)
		if err != nil {
			errorf("%s: %v", id, err)
			return
		}
		ended := ev.(agent.ChildEnded)
		child := fmt.Sprintf("%s.%d", id, ended.Task)
		told[child] = append(told[child], ended.Reason)
	}
}

// auditTurns checks that no turn was answered twice.
func auditTurns(ctx context.Context, st store.Store, a store.Agent, errorf func(string, ...any)) {
	calls, err := st.ModelCalls(ctx, a.ID)
	if err != nil {
		errorf("%s: reading model calls: %v", a.ID, err)
		return
	}
	replied := map[int]int{}
	tries := map[[2]int]int{}
	for _, c := range calls {
		if tries[[2]int{c.Turn, c.Try}]++; tries[[2]int{c.Turn, c.Try}] > 1 {
			errorf("%s: try %d of turn %d is on record twice", a.ID, c.Try, c.Turn)
		}
		if c.Status == "replied" {
			replied[c.Turn]++
		}
	}
	for turn, n := range replied {
		if n > 1 {
			errorf("%s: turn %d was answered %d times", a.ID, turn, n)
		}
	}
}

// auditTask checks that a sub-agent's end is on record and has reached its
// parent exactly once.
func auditTask(ctx context.Context, st store.Store, a store.Agent, told []agent.Reason, errorf func(string, ...any)) {
	task, err := st.Task(ctx, a.ID)
	if err != nil {
		errorf("%s: its task: %v", a.ID, err)
		return
	}
	if task.Reason == "" || task.Status == "running" || task.Status == "pending" || task.Status == "waiting" {
		errorf("%s has ended as %s, but its task is %q for the reason %q", a.ID, a.Status, task.Status, task.Reason)
	}
	if len(told) != 1 || string(told[0]) != task.Reason {
		errorf("%s ended for %q; its parent was told %v", a.ID, task.Reason, told)
	}
}

// auditHistory checks that positions are dense and every tool call is followed
// by exactly one result, in call order.
func auditHistory(ctx context.Context, st store.Store, a store.Agent, errorf func(string, ...any)) {
	rows, err := st.History(ctx, a.ID, 0)
	if err != nil {
		errorf("%s: reading the history: %v", a.ID, err)
		return
	}
	var open []message.ToolCall
	for i, row := range rows {
		if row.Pos != i {
			errorf("%s: position %d holds message %d", a.ID, i, row.Pos)
			return
		}
		m, err := row.Decode()
		if err != nil {
			errorf("%s: %v", a.ID, err)
			return
		}
		if m.Role == message.Tool {
			res, ok := m.Parts[0].(message.ToolResult)
			if !ok || len(open) == 0 || res.CallID != open[0].ID || res.Name != open[0].Name {
				errorf("%s: the result at %d answers no open call", a.ID, i)
				return
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			errorf("%s: message %d stands before the result of %s", a.ID, i, open[0].Name)
			return
		}
		open = m.Calls()
		if m.Role == message.Assistant && strings.TrimSpace(m.Text()) == "" && len(open) == 0 {
			errorf("%s: the reply at %d says nothing", a.ID, i)
		}
	}
	if len(open) > 0 {
		errorf("%s: the history ends with %d calls open", a.ID, len(open))
	}
}
