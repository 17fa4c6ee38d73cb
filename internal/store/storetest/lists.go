// This file tests lists: filters, orders, and that pages put together are the
// whole, however they are cut.

package storetest

import (
	"fmt"
	"slices"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

func turned(list []string, desc bool) []string {
	if !desc {
		return list
	}
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}

// setHead changes what an agent does.
func (s *suite) setHead(chat, agent, status string, change func(*store.Head)) {
	s.Helper()
	h := store.Head{Status: status, SubAgent: "active", Recorded: "running", UpdatedAt: s.at()}
	if change != nil {
		change(&h)
	}
	s.commit(s.entry(chat, agent, "ModelReplied", store.SetHead{ID: agent, Head: h}))
}

func testListChats(s *suite, l Served) {
	for n, id := range []string{"c1", "c2", "c3", "c4", "c5"} {
		c, _ := s.startChat(id)
		title := fmt.Sprintf("Title %d 100%%", n)
		s.commit(s.entry(id, "", "ChatChanged", store.SetChat{ID: id, Title: &title}))
		s.setHead(id, id, []string{"idle", "thinking"}[n%2], func(h *store.Head) {
			h.Tokens, h.ChildTokens, h.Cost, h.ChildCost, h.Turns, h.Live = 10, 5, 100, 50, n, n
		})
		if n == 2 {
			s.commit(s.entry(id, id, "ApprovalNeeded", store.NewItem{Item: store.Item{ID: "i1", ChatID: id, UserID: c.UserID, Agent: id, Kind: "approval", Status: "open"}}))
		}
	}
	s.startChatOf("user-bert", "b1")
	archived, yes := true, true
	s.commit(s.entry("c4", "", "ChatChanged", store.SetChat{ID: "c4", Archived: &archived}))
	s.commit(s.putReadMark("c3", 9))
	id := func(c store.ChatRow) string { return c.ID }
	no := false
	for what, test := range map[string]struct {
		q    store.ChatList
		want []string
	}{
		"all":           {store.ChatList{Sort: store.ByCreation}, []string{"c1", "c2", "c3", "c4", "c5"}},
		"not archived":  {store.ChatList{Archived: &no, Sort: store.ByCreation}, []string{"c1", "c2", "c3", "c5"}},
		"archived":      {store.ChatList{Archived: &yes}, []string{"c4"}},
		"by status":     {store.ChatList{Status: "thinking", Sort: store.ByCreation}, []string{"c2", "c4"}},
		"by title":      {store.ChatList{Search: "title 2"}, []string{"c3"}},
		"with wildcard": {store.ChatList{Search: "100%", Sort: store.ByCreation}, []string{"c1", "c2", "c3", "c4", "c5"}},
		"wildcards":     {store.ChatList{Search: "t%2"}, nil},
		"one":           {store.ChatList{ID: "c5"}, []string{"c5"}},
		"another's":     {store.ChatList{ID: "b1"}, nil},
	} {
		test.q.User = user
		pages(s, what, test.want, id, func(w store.Window) ([]store.ChatRow, *store.Cursor, error) {
			test.q.Window = w
			return l.ListChats(s.ctx(), test.q)
		})
	}
	rows, _, err := l.ListChats(s.ctx(), store.ChatList{User: user, ID: "c3", Window: store.Window{Limit: 1}})
	s.ok(err)
	c, err := l.Chat(s.ctx(), "c3")
	s.ok(err)
	s.equal(rows, []store.ChatRow{{Chat: *c, State: "idle", Recorded: "running", Live: 2, Turns: 2, Tokens: 15, Cost: 150, Waiting: 1, Read: 9}}, "a row")
}

func testListAgents(s *suite, l Served) {
	c, _ := s.startChat("c1")
	other, _ := s.startChat("c2")
	s.startAgent(other, "c2", "c2.1")
	var all []string
	for n, id := range []string{"c1.1", "c1.2", "c1.1.1", "c1.3", "c1.1.2"} {
		a := s.newAgent(c, parentOf(id), id)
		a.Role = []string{"coder", "tester"}[n%2]
		s.commit(s.entry("c1", id, "Created", store.NewAgent{Agent: a}))
		s.setHead("c1", id, []string{"thinking", "acting"}[n%2], func(h *store.Head) {
			h.Cost, h.Tokens = int64(100-n), int64(n%2) // some have used the same
		})
		all = append(all, id)
	}
	one := 1
	id := func(a store.Agent) string { return a.ID }
	for what, test := range map[string]struct {
		q    store.AgentList
		want []string
	}{
		"all":       {store.AgentList{}, append([]string{"c1"}, all...)},
		"below":     {store.AgentList{Below: true}, all},
		"by status": {store.AgentList{Status: "acting"}, []string{"c1.2", "c1.3"}},
		"by how":    {store.AgentList{Status: "active", Below: true}, all},
		"by role":   {store.AgentList{Role: "tester"}, []string{"c1.2", "c1.3"}},
		"by depth":  {store.AgentList{Depth: &one}, []string{"c1.1", "c1.2", "c1.3"}},
		"by parent": {store.AgentList{Parent: "c1.1"}, []string{"c1.1.1", "c1.1.2"}},
		"by both":   {store.AgentList{Parent: "c1", Role: "coder"}, []string{"c1.1"}},
		"dearest":   {store.AgentList{Below: true, Sort: store.ByCost}, turned(all, true)},
		"most used": {store.AgentList{Below: true, Sort: store.ByTokens}, []string{"c1.1", "c1.1.1", "c1.1.2", "c1.2", "c1.3"}},
		"newest":    {store.AgentList{Below: true, Sort: store.ByUpdate}, all},
	} {
		test.q.Chat = "c1"
		pages(s, what, test.want, id, func(w store.Window) ([]store.Agent, *store.Cursor, error) {
			test.q.Window = w
			return l.ListAgents(s.ctx(), test.q)
		})
	}
}

func parentOf(id string) string { return id[:len(id)-2] }

func testListRunning(s *suite, l Served) {
	for _, id := range []string{"c1", "c2", "c3"} {
		c, _ := s.startChat(id)
		s.startAgent(c, id, id+".1")
		s.startAgent(c, id, id+".2")
	}
	b, _ := s.startChatOf("user-bert", "b1")
	s.startAgent(b, "b1", "b1.1")
	s.setHead("c1", "c1", "awaiting_children", func(h *store.Head) { h.Live = 1 })
	s.setHead("c1", "c1.1", "thinking", nil)
	s.commit(s.entry("c1", "c1.2", "ModelReplied", store.EndAgent{ID: "c1.2", EndedAt: s.at()}))
	s.setHead("c2", "c2", "idle", nil) // all is at rest here
	s.setHead("c3", "c3", "idle", func(h *store.Head) { h.Live = 1 })
	s.setHead("c3", "c3.2", "awaiting_approval", nil)
	s.commit(s.entry("c3", "c3.1", "ModelReplied", store.EndAgent{ID: "c3.1", EndedAt: s.at()}))
	for owner, want := range map[string][]string{user: {"c1", "c1.1", "c3.2"}, "user-bert": {"b1", "b1.1"}, "nobody": nil} {
		pages(s, "the agents at work of "+owner, want, func(a store.Agent) string { return a.ID }, func(w store.Window) ([]store.Agent, *store.Cursor, error) {
			return l.ListAgents(s.ctx(), store.AgentList{User: owner, Window: w})
		})
	}
}

func testListTasks(s *suite, l Served) {
	c, _ := s.startChat("c1")
	other, _ := s.startChat("c2")
	s.commit(s.entry("c2", "c2", "ModelReplied", store.NewTask{Task: s.newTask(other, 1)}))
	for n := 1; n <= 4; n++ {
		t := s.newTask(c, n)
		t.Status, t.SubAgentID = []string{"running", "success"}[n%2], fmt.Sprint("c1.", n)
		a := s.newAgent(c, "c1", t.SubAgentID)
		a.Role = []string{"coder", "tester"}[n/3]
		s.commit(s.entry("c1", "c1", "ModelReplied", store.NewTask{Task: t}), s.entry("c1", a.ID, "Created", store.NewAgent{Agent: a}))
	}
	one, two := 1, 2
	for what, test := range map[string]struct {
		q    store.TaskList
		want []string
	}{
		"all":       {store.TaskList{}, []string{"c1.1", "c1.2", "c1.3", "c1.4"}},
		"by status": {store.TaskList{Status: "success"}, []string{"c1.1", "c1.3"}},
		"by role":   {store.TaskList{Role: "tester"}, []string{"c1.3", "c1.4"}},
		"by depth":  {store.TaskList{Depth: &one}, []string{"c1.1", "c1.2", "c1.3", "c1.4"}},
		"deeper":    {store.TaskList{Depth: &two}, nil},
		"by both":   {store.TaskList{Status: "running", Role: "tester"}, []string{"c1.4"}},
	} {
		test.q.Chat = "c1"
		pages(s, what, test.want, func(t store.Task) string { return t.ID }, func(w store.Window) ([]store.Task, *store.Cursor, error) {
			test.q.Window = w
			return l.ListTasks(s.ctx(), test.q)
		})
	}
}

func testListMessages(s *suite, l Served) {
	s.startChat("c1")
	s.startChat("c2")
	var want []string
	for pos := range 4 {
		m := s.text("c1", pos, message.KindReply, fmt.Sprint("said ", pos))
		s.commit(s.entry("c1", "c1", "ModelReplied", store.NewMessage{Message: m}))
		want = append(want, store.MessageID("c1", pos))
	}
	for n := range 3 { // queued ones come last, by arrival
		m := s.text("c1", -1, message.KindUser, fmt.Sprint("waits ", n))
		m.ID = fmt.Sprint("u-", n)
		s.commit(s.entry("c1", "c1", "UserMessage", store.NewMessage{Message: m}))
		want = append(want, m.ID)
	}
	s.commit(s.entry("c2", "c2", "UserMessage", store.NewMessage{Message: s.text("c2", 0, message.KindUser, "other")}))
	pages(s, "the conversation", want, func(m store.Message) string { return m.ID }, func(w store.Window) ([]store.Message, *store.Cursor, error) {
		return l.ListMessages(s.ctx(), store.OfAgent{Agent: "c1", Window: w})
	})
}

func testListCalls(s *suite, l Served) {
	s.startChat("c1")
	var tools, failed, models []string
	for turn := 1; turn <= 3; turn++ {
		for call := range 2 {
			t := store.ToolCall{
				ID: store.ToolCallID("c1", turn, call), Agent: "c1", Turn: turn, Call: call, Pos: 10*turn + call, Name: "Read",
				Phase: "done", Status: []string{"success", "failed"}[call],
			}
			m := store.ModelCall{ID: store.ModelCallID("c1", turn, call+1), Agent: "c1", Turn: turn, Try: call + 1, Status: []string{"failed", "replied"}[call]}
			s.commit(s.entry("c1", "c1", "ModelReplied", store.NewToolCall{ToolCall: t}, store.NewModelCall{ModelCall: m}))
			tools, models = append(tools, t.ID), append(models, m.ID)
			if call == 1 {
				failed = append(failed, t.ID)
			}
		}
	}
	for status, want := range map[string][]string{"": tools, "failed": failed} {
		pages(s, "tool calls "+status, want, func(t store.ToolCall) string { return t.ID }, func(w store.Window) ([]store.ToolCall, *store.Cursor, error) {
			return l.ListToolCalls(s.ctx(), store.OfAgent{Agent: "c1", Status: status, Window: w})
		})
	}
	pages(s, "model calls", models, func(m store.ModelCall) string { return m.ID }, func(w store.Window) ([]store.ModelCall, *store.Cursor, error) {
		return l.ListModelCalls(s.ctx(), store.OfAgent{Agent: "c1", Window: w})
	})
	replied, _, err := l.ListModelCalls(s.ctx(), store.OfAgent{Agent: "c1", Status: "replied", Window: store.Window{Limit: 10}})
	s.ok(err)
	if len(replied) != 3 {
		s.Errorf("%d calls were replied to", len(replied))
	}
}

func testListItems(s *suite, l Served) {
	for _, chat := range []string{"c1", "c2", "b1"} {
		owner := user
		if chat == "b1" {
			owner = "user-bert"
		}
		s.startChatOf(owner, chat)
		for n, status := range []string{"open", "hidden", "closed"} {
			s.commit(s.entry(chat, chat, "ApprovalNeeded", store.NewItem{Item: store.Item{
				ID: fmt.Sprintf("%s-i%d", chat, n), ChatID: chat, UserID: owner, Agent: chat, Kind: []string{"approval", "question"}[n/2], Status: status,
			}}))
		}
	}
	for what, test := range map[string]struct {
		q    store.ItemList
		want []string
	}{
		"of the user":     {store.ItemList{User: user}, []string{"c1-i0", "c2-i0"}},
		"of a chat":       {store.ItemList{User: user, Chat: "c2"}, []string{"c2-i0"}},
		"closed ones too": {store.ItemList{User: user, Closed: true}, []string{"c1-i0", "c1-i2", "c2-i0", "c2-i2"}},
		"by kind":         {store.ItemList{User: user, Closed: true, Kind: "question"}, []string{"c1-i2", "c2-i2"}},
		"of another":      {store.ItemList{User: user, Chat: "b1", Closed: true}, nil},
	} {
		pages(s, what, test.want, func(i store.Item) string { return i.ID }, func(w store.Window) ([]store.Item, *store.Cursor, error) {
			test.q.Window = w
			return l.ListItems(s.ctx(), test.q)
		})
	}
	for chat, want := range map[string]int{"": 2, "c1": 1, "b1": 0} {
		n, err := l.CountItems(s.ctx(), user, chat)
		s.ok(err)
		s.equal(n, want, "how many items wait in "+chat)
	}
}

func testListEvents(s *suite, l Served) {
	s.startChat("c1")
	var want []string
	for n := range 4 {
		e := s.entry("c1", "c1", fmt.Sprint("Event", n))
		if n == 2 {
			e.Verdict = store.Stale
		}
		s.commit(e)
		want = append(want, fmt.Sprint(e.Type, " ", e.Verdict))
	}
	want = append([]string{"Created "}, want...)
	pages(s, "the log", want, func(e store.Event) string { return fmt.Sprint(e.Type, " ", e.Verdict) }, func(w store.Window) ([]store.Event, *store.Cursor, error) {
		return l.ListEvents(s.ctx(), store.OfAgent{Agent: "c1", Window: w})
	})
}

// testPagesOfBytes: a page ends when it has enough in bodies, and there is
// always room for one.
func testPagesOfBytes(s *suite, l Served) {
	s.startChat("c1")
	body := string(make([]byte, 1000))
	for pos := range 6 {
		s.commit(s.entry("c1", "c1", "ModelReplied", store.NewMessage{Message: s.text("c1", pos, message.KindReply, fmt.Sprint(pos, body))}))
	}
	for most, atMost := range map[int]int{1: 1, 100_000: 6} {
		w := store.Window{Limit: 50, Bytes: most}
		total := 0
		for {
			rows, next, err := l.ListMessages(s.ctx(), store.OfAgent{Agent: "c1", Window: w})
			s.ok(err)
			if total += len(rows); len(rows) == 0 || len(rows) > atMost {
				s.Fatalf("a page of %d bytes has %d messages", most, len(rows))
			}
			if w.After = next; next == nil {
				break
			}
		}
		s.equal(total, 6, "the messages of all pages")
	}
}

func testSpending(s *suite, l Served) {
	for n, id := range []string{"c1", "c2"} {
		s.startChat(id)
		for try := 1; try <= 2; try++ {
			m := store.ModelCall{
				ID: store.ModelCallID(id, 1, try), Agent: id, Turn: 1, Try: try, Model: fmt.Sprint("m", try), Status: []string{"failed", "replied"}[try-1],
				Usage: message.Usage{Input: 10, Output: 3}, Cost: int64(try * (n + 1)), Priced: try == 2, EndedAt: int64(try) * 86_400_000,
			}
			s.commit(s.entry(id, id, "ModelReplied", store.NewModelCall{ModelCall: m}))
		}
	}
	sums := func(q store.SpendingQuery, want ...string) {
		s.Helper()
		q.User, q.Limit = user, 10
		rows, err := l.Spending(s.ctx(), q)
		s.ok(err)
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprintf("%s: %d calls, %d failed, %d in, %d out, %d cost, %d unpriced", r.Key, r.Calls, r.Failed, r.Input, r.Output, r.Cost, r.Unpriced))
		}
		s.equal(got, want, "what was spent by "+q.By)
	}
	sums(store.SpendingQuery{By: "chat"}, "c2: 2 calls, 1 failed, 20 in, 6 out, 6 cost, 1 unpriced", "c1: 2 calls, 1 failed, 20 in, 6 out, 3 cost, 1 unpriced")
	sums(store.SpendingQuery{By: "model", Chat: "c1"}, "m2: 1 calls, 0 failed, 10 in, 3 out, 2 cost, 0 unpriced", "m1: 1 calls, 1 failed, 10 in, 3 out, 1 cost, 1 unpriced")
	sums(store.SpendingQuery{By: "day"}, "1970-01-03: 2 calls, 0 failed, 20 in, 6 out, 6 cost, 0 unpriced", "1970-01-02: 2 calls, 2 failed, 20 in, 6 out, 3 cost, 2 unpriced")
	sums(store.SpendingQuery{By: "day", From: 86_400_001}, "1970-01-03: 2 calls, 0 failed, 20 in, 6 out, 6 cost, 0 unpriced")
	sums(store.SpendingQuery{By: "day", To: 2 * 86_400_000}, "1970-01-02: 2 calls, 2 failed, 20 in, 6 out, 3 cost, 2 unpriced")
	if _, err := l.Spending(s.ctx(), store.SpendingQuery{User: user, By: "mood"}); err == nil {
		s.Error("it sums up by mood")
	}
}

func testDeletedAfter(s *suite, l Served) {
	s.startChat("c1")
	s.startChatOf("user-bert", "b1")
	gone := s.entry("c1", "", "ChatDeleted", store.DeleteChat{ID: "c1"})
	s.commit(gone)
	s.startChat("c2")
	for _, test := range []struct {
		user  string
		since int64
		want  bool
	}{{user, gone.Seq - 1, true}, {user, gone.Seq, false}, {"user-bert", 0, false}} {
		got, err := l.DeletedAfter(s.ctx(), test.user, test.since)
		s.ok(err)
		s.equal(got, test.want, fmt.Sprintf("whether something of %s was deleted after %d", test.user, test.since))
		replaced, err := l.Replaced(s.ctx(), test.since)
		s.ok(err)
		s.equal(replaced, false, fmt.Sprintf("whether a restore has made %d void", test.since))
	}
}

// testLiving: who works, who waits for a person with no deadline, and those above
// them are counted; who has ended or rests is not, whatever waits in the inbox.
func testLiving(s *suite, l Served) {
	living := func(when string, want map[string]int) {
		s.Helper()
		got, err := l.Living(s.ctx())
		s.ok(err)
		s.equal(got, want, "the agents "+when)
	}
	c, _ := s.startChat("c1")
	s.startChat("c2")
	s.setHead("c1", "c1", "idle", func(h *store.Head) { h.Busy, h.WakeAt = false, 0 })
	s.setHead("c2", "c2", "idle", func(h *store.Head) { h.Busy, h.WakeAt = false, 0 })
	living("at rest", map[string]int{})
	item := func(id, agent string) store.Doc {
		return store.NewItem{Item: store.Item{ID: id, ChatID: "c1", UserID: user, Agent: agent, Kind: "question", Status: "open"}}
	}
	for _, id := range []string{"c1.1", "c1.2"} {
		s.commit(s.entry("c1", id, "Created", store.NewAgent{Agent: s.newAgent(c, "c1", id)}))
		s.setHead("c1", id, "acting", func(h *store.Head) { h.Busy, h.WakeAt = false, 0 })
	}
	s.setHead("c1", "c1", "acting", func(h *store.Head) { h.Busy, h.WakeAt = false, 0 })
	s.commit(s.entry("c1", "c1.1", "Asked", item("i1", "c1.1")), s.entry("c1", "c1.2", "Asked", item("i2", "c1.2"), item("i3", "c1.2")))
	living("while two wait", map[string]int{"acting": 3})
	s.setHead("c1", "c1.1", "completed", func(h *store.Head) { h.Busy, h.WakeAt = false, 0 })
	s.commit(s.entry("c1", "c1.1", "Ended", store.EndAgent{ID: "c1.1", EndedAt: 9}))
	living("while one waits", map[string]int{"acting": 2})
	s.commit(s.entry("c1", "c1.2", "Answered", store.SetItem{ID: "i2", Status: "closed"}, store.SetItem{ID: "i3", Status: "closed"}))
	s.setHead("c1", "c1.2", "thinking", func(h *store.Head) { h.Busy = true })
	living("while one works", map[string]int{"acting": 1, "thinking": 1})
}
