// Tests of the model and its rows against golden files. After a change that is
// meant: go test ./internal/view -rewrite, and read the difference.

package view

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs.\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

// start is when the stories of these tests begin.
var start = time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC)

func at(seconds float64) int64 { return start.UnixMilli() + int64(seconds*1000) }

// story makes changes as a store tells them.
type story struct {
	*Tree
	seq  int64
	rows map[string]store.Agent
}

func newStory() *story {
	s := &story{Tree: NewTree(), rows: map[string]store.Agent{}}
	s.tell(0, "chat", store.Document{Collection: "orch-chats", ID: "chat", Data: store.Chat{ID: "chat", Title: "a title", Model: "offline"}})
	s.agent(0, "chat", "main", "idle")
	return s
}

func (s *story) tell(sec float64, agent string, docs ...store.Document) {
	s.seq++
	s.Change(store.Change{Seq: s.seq, At: at(sec), Chat: "chat", Agent: agent, Docs: docs})
}

// agent creates an agent or changes its status. Its name gives its path.
func (s *story) agent(sec float64, id, name, status string) {
	row, ok := s.rows[id]
	if !ok {
		parent, _, _ := cutLast(id)
		row = store.Agent{ID: id, ChatID: "chat", Parent: parent, Name: name, Role: "general", Model: "offline", CreatedAt: at(sec)}
		row.Path = name
		if p, ok := s.rows[parent]; ok {
			row.Path = p.Path + "/" + name
			row.Depth = p.Depth + 1
		}
	}
	if row.Status != status && status == string(agent.StatusThinking) {
		row.Turns++
	}
	row.Status, row.UpdatedAt = status, at(sec)
	s.put(sec, row)
}

func (s *story) put(sec float64, row store.Agent) {
	s.rows[row.ID] = row
	s.tell(sec, row.ID, store.Document{Collection: "sub-agents", ID: row.ID, Data: row})
}

func cutLast(id string) (string, string, bool) {
	i := strings.LastIndexByte(id, '.')
	if i < 0 {
		return "", id, false
	}
	return id[:i], id[i+1:], true
}

// child starts a sub-agent with a task.
func (s *story) child(sec float64, id, name, task string) {
	s.agent(sec, id, name, string(agent.StatusThinking))
	s.task(sec, store.Task{ID: id, SubAgentID: id, Instruction: task, Status: "running"})
}

func (s *story) task(sec float64, task store.Task) {
	task.UpdatedAt = at(sec)
	s.tell(sec, task.ID, store.Document{Collection: "tasks", ID: task.ID, Data: task})
}

// end ends a sub-agent.
func (s *story) end(sec float64, id string, reason agent.Reason, result, why string) {
	s.task(sec, store.Task{ID: id, SubAgentID: id, Instruction: s.Agent(id).Task.Instruction, Result: result, Error: why, Reason: string(reason)})
	row := s.rows[id]
	row.Status, row.UpdatedAt, row.EndedAt = string(reason), at(sec), at(sec)
	s.put(sec, row)
}

func (s *story) spend(id string, tokens, micros int64, unpriced bool) {
	row := s.rows[id]
	row.Tokens, row.Cost, row.Unpriced = tokens, micros, unpriced
	s.put(float64(row.UpdatedAt-at(0))/1000, row)
}

func (s *story) call(sec float64, id, tool, args, phase string) {
	c := store.ToolCall{ID: store.ToolCallID(id, 1, 0), Agent: id, Name: tool, Args: json.RawMessage(args), Phase: phase}
	s.tell(sec, id, store.Document{Collection: "tool-calls", ID: c.ID, Data: c})
}

func (s *story) say(sec float64, pos int, kind message.Kind, m message.Message) {
	row, err := store.EncodeMessage("chat", pos, m)
	if err != nil {
		panic(err)
	}
	row.Kind, row.CreatedAt = string(kind), at(sec)
	s.tell(sec, "chat", store.Document{Collection: "messages", ID: fmt.Sprint(pos), Data: row})
}

// show draws the story at a time.
func (s *story) show(sec float64, width, height int) string {
	now := time.UnixMilli(at(sec))
	lines := Style{}.Frame(s.Tree, width, height, now)
	for i, l := range lines {
		if w := Cells(l); w > width {
			panic(fmt.Sprintf("line %d is %d wide: %q", i, w, l))
		}
	}
	return fmt.Sprintf("--- after %vs, %d × %d\n%s\n", sec, width, height, strings.Join(lines, "\n"))
}

// everyState is a tree with an agent in each state.
func everyState() *story {
	s := newStory()
	s.say(1, 0, message.KindUser, message.Of(message.User, message.KindUser, "do it"))
	s.agent(2, "chat", "main", "awaiting_children")
	s.spend("chat", 12_345, 61_200, false)
	for i, status := range []agent.Status{
		agent.StatusQueued, agent.StatusThinking, agent.StatusRetrying, agent.StatusCompacting, agent.StatusActing, agent.StatusApproval,
		agent.StatusAnswer, agent.StatusChildren, agent.StatusAccepting, agent.StatusCancelling,
	} {
		id := fmt.Sprintf("chat.%d", i+1)
		s.child(3, id, fmt.Sprintf("coder-%d", i+1), "task of "+string(status))
		s.agent(4, id, "", string(status))
	}
	for i, reason := range []agent.Reason{
		agent.ReasonCompleted, agent.ReasonPartial, agent.ReasonFailed, agent.ReasonCancelled, agent.ReasonTimeout,
		agent.ReasonMaxTurns, agent.ReasonBudget, agent.ReasonSuperseded, agent.ReasonInterrupted,
	} {
		id := fmt.Sprintf("chat.%d", i+20)
		s.child(3, id, fmt.Sprintf("coder-%d", i+20), "task of "+string(reason))
		result, why := "", "why it "+string(reason)
		if reason == agent.ReasonCompleted {
			result, why = "the result\nand more of it", ""
		}
		if reason == agent.ReasonPartial || reason == agent.ReasonMaxTurns {
			result = "what there is"
		}
		s.end(65, id, reason, result, why)
	}
	return s
}

func TestStates(t *testing.T) {
	s := everyState()
	row := s.rows["chat.3"]
	row.Until = at(12)
	s.put(4, row)
	s.tell(4, "chat.3", store.Document{Data: store.ModelCall{ID: "x", Agent: "chat.3", Status: "failed", ErrorKind: "rate_limit", Error: "too many requests"}})
	s.call(4, "chat.5", "Read", `{"path":"internal/agent/step.go"}`, "running")
	s.call(4, "chat.6", "Shell", `{"command":"rm -r build"}`, "approval")
	s.call(4, "chat.7", "ask_user", `{"question":"which database?"}`, "asked")
	s.child(5, "chat.8.1", "tester", "test it")
	s.child(5, "chat.8.2", "tester-2", "test it too")
	s.end(6, "chat.8.1", agent.ReasonFailed, "", "no tests")
	s.Delta(feed.Delta{Agent: "chat.2", Call: "c", Kind: "text", Text: "first line\nsecond \x1b[31mline"}, time.UnixMilli(at(5)))
	golden(t, "states.txt", s.show(8, 100, 40)+s.show(8, 60, 40)+s.show(70, 100, 40))
	now := time.UnixMilli(at(8))
	colours := Style{Colour: true}.Frame(s.Tree, 100, 40, now)
	golden(t, "states.ansi", strings.ReplaceAll(strings.Join(colours, "\n"), "\x1b", "<ESC>")+"\n")
	plain := Style{ASCII: true, Moving: true}.Frame(s.Tree, 100, 40, now)
	golden(t, "states.ascii", strings.Join(plain, "\n")+"\n")
	for _, l := range plain {
		if strings.IndexFunc(l, func(r rune) bool { return r > 126 }) >= 0 {
			t.Errorf("not ASCII: %q", l)
		}
	}
}

// fanOut is a parent with n children, of which each tenth has failed and the
// first ones are done.
func fanOut(n, done int) *story {
	s := newStory()
	s.agent(1, "chat", "main", "awaiting_children")
	for i := 1; i <= n; i++ {
		id := fmt.Sprintf("chat.%d", i)
		s.child(2, id, fmt.Sprintf("general-%d", i), fmt.Sprintf("part %d", i))
		s.spend(id, 1000, 2500, false)
		switch {
		case i > done:
		case i%10 == 0:
			s.end(5, id, agent.ReasonFailed, "", fmt.Sprintf("part %d is missing", i))
		default:
			s.end(5, id, agent.ReasonCompleted, "fine", "")
		}
	}
	return s
}

func TestFolding(t *testing.T) {
	var b strings.Builder
	s := fanOut(100, 35)
	s.child(6, "chat.40.1", "helper", "help")
	s.child(6, "chat.40.2", "helper-2", "help")
	s.agent(6, "chat.40", "", "awaiting_children")
	s.agent(6, "chat.41", "", "awaiting_answer")
	for _, height := range []int{200, 40, 20, 12, 8, 4, 2, 1} {
		b.WriteString(s.show(7, 72, height))
	}
	for _, width := range []int{48, 30, 12, 3} {
		b.WriteString(s.show(7, width, 10))
	}
	golden(t, "folding.txt", b.String())
}

// TestNeverTooTall draws many trees on many terminals: a frame must never be
// taller or wider than the terminal, and failures show as long as they fit.
func TestNeverTooTall(t *testing.T) {
	now := time.UnixMilli(at(9))
	for _, n := range []int{0, 1, 2, 5, 30, 300} {
		for _, done := range []int{0, 1, n / 2, n} {
			s := fanOut(n, done)
			for _, height := range []int{1, 2, 3, 4, 6, 9, 16, 24, 50} {
				for _, width := range []int{1, 2, 5, 12, 30, 47, 63, 80, 120} {
					lines := Style{}.Frame(s.Tree, width, height, now)
					if len(lines) > height {
						t.Fatalf("%d agents, %d done: %d lines on a terminal of %d", n, done, len(lines), height)
					}
					for _, l := range lines {
						if Cells(l) > width {
							t.Fatalf("%d agents, %d done, %d × %d: too wide: %q", n, done, width, height, l)
						}
					}
				}
				rows := s.Rows(RowOptions{Now: now, Height: height})
				shown := 0
				for _, r := range rows {
					if r.state.bad && r.state.word != "" {
						shown++
					}
				}
				if failed := s.Counts().Failed; height >= failed+3 && shown < failed {
					t.Errorf("%d agents, %d done, height %d: %d of %d failures shown", n, done, height, shown, failed)
				}
			}
		}
	}
}

func TestAll(t *testing.T) {
	s := fanOut(12, 11)
	s.child(3, "chat.3.1", "helper", "help")
	s.end(4, "chat.3.1", agent.ReasonTimeout, "half of it", "the time limit was reached")
	s.Finish(agent.Outcome{Reason: agent.ReasonMaxTurns})
	now := time.UnixMilli(at(9))
	rows := s.Rows(RowOptions{Now: now, All: true})
	golden(t, "all.txt", strings.Join(Style{}.Lines(rows, 100, now), "\n")+"\n")
}

func TestStreaming(t *testing.T) {
	s := newStory()
	s.agent(1, "chat", "main", "thinking")
	now := time.UnixMilli(at(2))
	delta := func(part, offset int, kind, name, text string) {
		s.Delta(feed.Delta{Agent: "chat", Call: "chat-t1.1", Part: part, Offset: offset, Kind: kind, Name: name, Text: text}, now)
	}
	var b strings.Builder
	delta(0, 0, "thinking", "", "hm")
	b.WriteString(s.show(2, 60, 20))
	delta(1, 0, "text", "", "I'll split this into many parts, and then ")
	delta(1, 42, "text", "", "put them together again.")
	b.WriteString(s.show(2, 60, 20))
	delta(2, 0, "tool_call", "spawn_agents", `{"tasks":`)
	b.WriteString(s.show(2, 60, 20))
	s.tell(3, "chat", store.Document{Data: store.ModelCall{ID: "chat-t1.1", Agent: "chat", Status: "lost"}})
	if got := s.Streaming(); got != "" {
		t.Errorf("the text of a lost call is still shown: %q", got)
	}
	b.WriteString(s.show(3, 60, 20))
	golden(t, "streaming.txt", b.String())
	delta(0, 0, "text", "", strings.Repeat("x", 3*streamKept))
	if n := len(s.Streaming()); n > streamKept {
		t.Errorf("%d bytes of a reply are kept", n)
	}
}

func TestSaid(t *testing.T) {
	s := newStory()
	reply := func(text string, call bool) message.Message {
		m := message.Of(message.Assistant, message.KindReply, text)
		if call {
			m.Parts = append(m.Parts, message.ToolCall{ID: "1", Name: "LS"})
		}
		return m
	}
	s.say(1, 1, message.KindReply, reply("first", true))
	s.say(1, 1, message.KindReply, reply("first", true))
	s.say(2, 3, message.KindReply, reply("answer", false))
	got := fmt.Sprint(s.Said())
	if want := "[{1 first true} {3 answer false}]"; got != want {
		t.Errorf("said %s, want %s", got, want)
	}
	if s.Said() != nil {
		t.Error("said twice")
	}
}

func TestPaused(t *testing.T) {
	s := fanOut(2, 0)
	s.Paused = errors.New("committing: cannot be written (sqlite: disk is full): the disk is full: free some space")
	golden(t, "paused.txt", s.show(9, 60, 10))
}

func TestAtRest(t *testing.T) {
	s := newStory()
	if !s.AtRest() {
		t.Error("a new chat works")
	}
	s.agent(1, "chat", "main", "awaiting_children")
	s.child(1, "chat.1", "a", "x")
	if s.AtRest() {
		t.Error("at rest with a child")
	}
	s.agent(2, "chat", "main", "idle")
	if s.AtRest() {
		t.Error("at rest with a child that has not ended")
	}
	s.end(3, "chat.1", agent.ReasonCancelled, "", "")
	if !s.AtRest() {
		t.Error("not at rest though all is over")
	}
}

func TestPlain(t *testing.T) {
	var b strings.Builder
	s := newStory()
	p := NewPlain(&b, s.Tree)
	update := func() { p.Update(s.Tree, time.UnixMilli(at(9))) }
	update()
	s.child(1, "chat.1", "coder", "write the code\nof it")
	s.child(1, "chat.2", "tester", "test it")
	update()
	update()
	for i := 1; i <= 7; i++ {
		s.child(2, fmt.Sprintf("chat.1.%d", i), fmt.Sprintf("general-%d", i), "help")
	}
	s.Paused = errors.New("the disk\nis full")
	update()
	s.Paused = nil
	for i := 1; i <= 6; i++ {
		s.end(3, fmt.Sprintf("chat.1.%d", i), agent.ReasonCompleted, "ok", "")
	}
	s.end(3, "chat.1.7", agent.ReasonFailed, "", "it\x1b]0;title\x07 broke")
	update()
	s.end(4, "chat.2", agent.ReasonMaxTurns, "three of four tests", "the turn limit was reached")
	s.end(64, "chat.1", agent.ReasonCompleted, "done", "")
	update()
	golden(t, "plain.txt", b.String())
}

// TestPrinting: a running tool is shown with the last line it has printed, a
// long command shortened, and nothing of what is over.
func TestPrinting(t *testing.T) {
	s := newStory()
	s.agent(2, "chat", "main", string(agent.StatusActing))
	s.call(3, "chat", "Bash", `{"command":"for i in 1 2 3 4 5 6 7 8; do make test-$i; done && make release"}`, "started")
	id := s.Root.calls[0].ID
	prints := func(offset int, text string) {
		s.Delta(feed.Delta{Agent: "chat", Call: id, Kind: feed.Output, Name: "Bash", Offset: offset, Text: text}, time.UnixMilli(at(5)))
	}
	now := time.UnixMilli(at(8))
	if got := s.Root.doing(now); !strings.HasSuffix(got, "make release") {
		t.Errorf("before it prints: %q", got)
	}
	prints(0, "ok  pkg/a\nok  pkg")
	prints(17, "/b \x1b[31m1.2s\n\n")
	if got := s.Root.doing(now); !strings.HasSuffix(got, "… · ok pkg/b [31m1.2s") || !strings.HasPrefix(got, "running for i in 1 2 3 4") {
		t.Errorf("while it prints: %q", got)
	}
	prints(25, strings.Repeat("x", 1<<20))
	if n := len(s.Root.printed[id]); n != printedKept {
		t.Errorf("%d bytes are kept", n)
	}
	s.call(9, "chat", "Bash", `{}`, "done")
	if got := s.Root.acting() + s.Root.printed[id]; got != "" {
		t.Errorf("when it is over: %q", got)
	}
}
