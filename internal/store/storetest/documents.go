// This file tests that every kind of document comes back as it was written.

package storetest

import (
	"fmt"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

func testUsers(s *suite) {
	u := store.User{ID: "u1", Name: "Berta", CreatedAt: 11}
	other := store.User{ID: "u2", Name: "Carl", CreatedAt: 12}
	s.commit(s.entry("", "", "UserPut", store.PutUser{User: u}, store.PutUser{User: other}))
	got, err := s.User(s.ctx(), "u1")
	s.ok(err)
	s.equal(*got, u, "the user")

	u.Name, u.CreatedAt = "Berta B.", 13
	s.commit(s.entry("", "", "UserPut", store.PutUser{User: u}))
	got, err = s.User(s.ctx(), "u1")
	s.ok(err)
	s.equal(*got, u, "the user, replaced")
	got, err = s.User(s.ctx(), "u2")
	s.ok(err)
	s.equal(*got, other, "the other user")
}

func testPrompts(s *suite) {
	s.commit(s.entry("", "", "PromptPut", store.PutPrompt{ID: "h1", Text: "You are the first."}))
	s.commit(
		s.entry("", "", "PromptPut", store.PutPrompt{ID: "h1", Text: "not this one"}),
		s.entry("", "", "PromptPut", store.PutPrompt{ID: "h2", Text: "You are the second."}),
	)
	for id, want := range map[string]string{"h1": "You are the first.", "h2": "You are the second."} {
		got, err := s.Prompt(s.ctx(), id)
		s.ok(err)
		s.equal(got, want, "prompt "+id)
	}
}

func testChats(s *suite) {
	want, _ := s.startChat("c1")
	other, _ := s.startChat("c2")
	got, err := s.Chat(s.ctx(), "c1")
	s.ok(err)
	s.equal(*got, want, "the chat")

	title, status, archived := "A new title", "quiet", true
	s.commit(s.entry("c1", "", "ChatChanged", store.SetChat{ID: "c1", Title: &title}))
	want.Title = title
	got, err = s.Chat(s.ctx(), "c1")
	s.ok(err)
	s.equal(*got, want, "the chat with a new title")

	s.commit(s.entry("c1", "", "ChatChanged", store.SetChat{ID: "c1", Status: &status, Archived: &archived}))
	want.Status, want.Archived = status, archived
	got, err = s.Chat(s.ctx(), "c1")
	s.ok(err)
	s.equal(*got, want, "the archived chat")

	s.commit(s.entry("c1", "c1", "UserMessage", store.SetModel{Chat: "c1", Model: "house/other"}))
	want.Model = "house/other"
	got, err = s.Chat(s.ctx(), "c1")
	s.ok(err)
	s.equal(*got, want, "the chat with another model")
	orchestrator, err := s.Agent(s.ctx(), "c1")
	s.ok(err)
	s.equal(orchestrator.Model, "house/other", "the orchestrator's model")
	last, err := s.LastSeq(s.ctx())
	s.ok(err)
	changes, _, err := s.Changes(s.ctx(), last-1, 1, store.Filter{Chat: "c1"})
	s.ok(err)
	var told []string
	for _, d := range changes[0].Docs {
		told = append(told, d.Collection)
	}
	s.equal(told, []string{"orch-chats", "orchestrator"}, "what the change tells")

	title, archived = "", false
	s.commit(s.entry("c1", "", "ChatChanged", store.SetChat{ID: "c1", Title: &title, Archived: &archived}))
	want.Title, want.Archived = "", false
	got, err = s.Chat(s.ctx(), "c1")
	s.ok(err)
	s.equal(*got, want, "the chat without a title")

	got, err = s.Chat(s.ctx(), "c2")
	s.ok(err)
	s.equal(*got, other, "the other chat")
}

func testChatList(s *suite) {
	ids := func(list []store.Chat) (ids []string) {
		for _, c := range list {
			ids = append(ids, c.ID)
		}
		return ids
	}
	lists := func(q store.ChatQuery, what string, want ...string) {
		s.Helper()
		got, err := s.Chats(s.ctx(), q)
		s.ok(err)
		s.equal(ids(got), want, what)
	}
	var chats []store.Chat
	for i := range 5 {
		c, _ := s.startChat(fmt.Sprintf("c%d", i))
		chats = append(chats, c)
	}
	s.startChatOf("user-bert", "b0")
	s.startAgent(chats[4], "c4", "c4.1")

	lists(store.ChatQuery{User: user}, "the chats, newest first, without sub-agents", "c4", "c3", "c2", "c1", "c0")
	lists(store.ChatQuery{}, "the chats of all users", "b0", "c4", "c3", "c2", "c1", "c0")

	// A user message and work of the orchestrator are activity, work of a
	// sub-agent or a new title is none.
	m := s.text("c1", -1, message.KindUser, "up with c1")
	m.ID = "m-up"
	s.commit(s.entry("c1", "c1", "UserMessage", store.NewMessage{Message: m}))
	head := store.Head{Status: "thinking", UpdatedAt: s.at()}
	s.commit(s.entry("c0", "c0", "ModelReplied", store.SetHead{ID: "c0", Head: head}))
	title := "no activity"
	s.commit(s.entry("c2", "", "ChatChanged", store.SetChat{ID: "c2", Title: &title}))
	s.commit(s.entry("c4", "c4.1", "ModelReplied", store.SetHead{ID: "c4.1", Head: store.Head{UpdatedAt: s.at()}}))
	lists(store.ChatQuery{User: user}, "the chats after activity", "c0", "c1", "c4", "c3", "c2")

	yes := true
	s.commit(s.entry("c3", "", "ChatChanged", store.SetChat{ID: "c3", Archived: &yes}))
	lists(store.ChatQuery{User: user}, "the chats without the archived one", "c0", "c1", "c4", "c2")
	lists(store.ChatQuery{User: user, Archived: true}, "the chats with the archived one", "c0", "c1", "c4", "c3", "c2")
	lists(store.ChatQuery{User: user, Page: store.Page{Limit: 2}}, "the first page", "c0", "c1")
	lists(store.ChatQuery{User: user, Page: store.Page{Limit: 2, After: "c1"}}, "the second page", "c4", "c2")
	lists(store.ChatQuery{User: user, Page: store.Page{Limit: 2, After: "c2"}}, "the page after the last")
	lists(store.ChatQuery{User: "nobody"}, "the chats of nobody")
}

func testAgents(s *suite) {
	c, root := s.startChat("c1")
	child := s.newAgent(c, "c1", "c1.1")
	child.Busy, child.WakeAt, child.EndedAt = true, 77, 0
	s.commit(s.entry("c1", "c1.1", "Created", store.NewAgent{Agent: child}))
	for _, want := range []store.Agent{root, child} {
		got, err := s.Agent(s.ctx(), want.ID)
		s.ok(err)
		s.equal(*got, want, "agent "+want.ID)
	}

	s.commit(s.entry("c1", "c1.1", "ModelReplied", store.EndAgent{ID: "c1.1", Summary: "sum up", Error: "went wrong", EndedAt: 9_999}))
	child.Summary, child.Error, child.EndedAt = "sum up", "went wrong", 9_999
	got, err := s.Agent(s.ctx(), "c1.1")
	s.ok(err)
	s.equal(*got, child, "the ended agent")

	// An ended agent can still be written to: a late result, say.
	s.commit(s.entry("c1", "c1.1", "ToolFinished", store.SetHead{ID: "c1.1", Head: store.Head{Status: "late"}}))
	got, err = s.Agent(s.ctx(), "c1.1")
	s.ok(err)
	s.equal(got.Head, store.Head{Status: "late"}, "the head of the ended agent")
	s.equal(got.Summary, "sum up", "the summary of the ended agent")
}

func testHeads(s *suite) {
	c, root := s.startChat("c1")
	child := s.startAgent(c, "c1", "c1.1")
	for i := range 3 {
		fill(&child.Head, fmt.Sprintf("head %d", i))
		child.Turns, child.Busy, child.Unpriced, child.WakeAt = i, i != 1, i == 1, int64(i%2)
		s.commit(s.entry("c1", "c1.1", "ModelReplied", store.SetHead{ID: "c1.1", Head: child.Head}))
		got, err := s.Agent(s.ctx(), "c1.1")
		s.ok(err)
		s.equal(*got, child, fmt.Sprintf("the agent with head %d", i))
	}
	got, err := s.Agent(s.ctx(), "c1")
	s.ok(err)
	s.equal(*got, root, "the orchestrator, untouched")
}

func testTrees(s *suite) {
	c, _ := s.startChat("k3x9a")
	other, _ := s.startChat("k3x9b")
	s.startAgent(other, "k3x9b", "k3x9b.1")
	// Created out of order, and with more than nine children.
	for _, id := range []string{"k3x9a.2", "k3x9a.10", "k3x9a.1", "k3x9a.2.1", "k3x9a.9", "k3x9a.2.10", "k3x9a.2.2", "k3x9a.1.1"} {
		parent := id[:len(id)-len("."+lastNumber(id))]
		a := s.newAgent(c, parent, id)
		a.Cause = "m-first"
		if depth(id) == 2 {
			a.Cause = "m-second"
		}
		s.commit(s.entry(c.ID, id, "Created", store.NewAgent{Agent: a}))
	}
	ids := func(list []store.Agent, err error) (ids []string) {
		s.Helper()
		s.ok(err)
		for _, a := range list {
			ids = append(ids, a.ID)
		}
		return ids
	}
	s.equal(ids(s.Tree(s.ctx(), "k3x9a")), []string{
		"k3x9a", "k3x9a.1", "k3x9a.1.1", "k3x9a.2", "k3x9a.2.1", "k3x9a.2.2", "k3x9a.2.10", "k3x9a.9", "k3x9a.10",
	}, "the tree")
	s.equal(ids(s.Children(s.ctx(), "k3x9a")), []string{"k3x9a.1", "k3x9a.2", "k3x9a.9", "k3x9a.10"}, "the children of the orchestrator")
	s.equal(ids(s.Children(s.ctx(), "k3x9a.2")), []string{"k3x9a.2.1", "k3x9a.2.2", "k3x9a.2.10"}, "the children of a sub-agent")
	s.equal(ids(s.Children(s.ctx(), "k3x9a.10")), []string(nil), "the children of a leaf")
	s.equal(ids(s.Caused(s.ctx(), "m-second")), []string{"k3x9a.1.1", "k3x9a.2.1", "k3x9a.2.2", "k3x9a.2.10"}, "what the second message led to")
	s.equal(ids(s.Caused(s.ctx(), "m-none")), []string(nil), "what no message led to")
	s.equal(ids(s.Caused(s.ctx(), "")), []string(nil), "what the empty message led to")
}

func lastNumber(id string) string {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i] == '.' {
			return id[i+1:]
		}
	}
	return ""
}

// newTask makes task number n of an orchestrator.
func (s *suite) newTask(c store.Chat, n int) store.Task {
	id := fmt.Sprintf("%s.%d", c.ID, n)
	var t store.Task
	fill(&t, id)
	t.ID, t.ChatID, t.UserID, t.Agent, t.Number, t.SubAgentID = id, c.ID, c.UserID, c.ID, n, ""
	return t
}

func testTasks(s *suite) {
	c, _ := s.startChat("c1")
	other, _ := s.startChat("c2")
	var want []store.Task
	for n := 1; n <= 12; n++ {
		t := s.newTask(c, n)
		want = append(want, t)
		s.commit(s.entry("c1", "c1", "ModelReplied", store.NewTask{Task: t}))
	}
	s.commit(s.entry("c2", "c2", "ModelReplied", store.NewTask{Task: s.newTask(other, 1)}))

	s.commit(s.entry("c1", "c1", "ToolStarted", store.SetTask{ID: "c1.3", Status: "running", At: 301}))
	want[2].Status, want[2].UpdatedAt = "running", 301
	end := store.EndTask{ID: "c1.3", Result: "first result", Error: "e1", ErrorKind: "k1", Reason: "r1", Metadata: []byte(`{"tool_call_count":1}`), At: 302}
	s.commit(s.entry("c1", "c1", "ChildEnded", end))
	end.Result, end.Error, end.ErrorKind, end.Reason, end.At = "second result", "e2", "k2", "r2", 303
	end.Metadata = []byte(`{"tool_call_count":2}`)
	s.commit(s.entry("c1", "c1", "ChildEnded", end))
	want[2].Result, want[2].Error, want[2].ErrorKind, want[2].Reason, want[2].UpdatedAt = "second result", "e2", "k2", "r2", 303
	want[2].Metadata = end.Metadata

	got, err := s.Task(s.ctx(), "c1.3")
	s.ok(err)
	s.equal(*got, want[2], "the task that ended")
	all, err := s.Tasks(s.ctx(), "c1")
	s.ok(err)
	s.equal(all, want, "the tasks of the chat")
	some, err := s.Results(s.ctx(), "c1", 3, 8)
	s.ok(err)
	s.equal(some, want[2:10], "results 3 to 10")
	some, err = s.Results(s.ctx(), "c1", 12, 5)
	s.ok(err)
	s.equal(some, want[11:], "results from 12 on")
}

func testMessages(s *suite) {
	c, _ := s.startChat("c1")
	s.startAgent(c, "c1", "c1.1")
	var placed store.Message
	fill(&placed, "placed")
	placed.ID, placed.Agent, placed.Pos = store.MessageID("c1", 0), "c1", 0
	queued := s.text("c1", -1, message.KindUser, "queued «first»")
	queued.ID, queued.Turn, queued.Call = "u-1", 4, "some-call"
	later := s.text("c1", -1, message.KindUser, "queued second")
	later.ID = "u-2"
	// A message without an id of its own gets the one its place gives it.
	reply := s.text("c1", 1, message.KindReply, "the reply")
	foreign := s.text("c1.1", 0, message.KindTask, "of another agent")

	s.commit(s.entry("c1", "c1", "UserMessage", store.NewMessage{Message: placed}, store.NewMessage{Message: queued}))
	s.commit(s.entry("c1", "c1", "UserMessage", store.NewMessage{Message: later}))
	s.commit(s.entry("c1", "c1", "ModelReplied", store.NewMessage{Message: reply}),
		s.entry("c1", "c1.1", "Created", store.NewMessage{Message: foreign}))
	reply.ID = "c1-m1"

	history := func(from int, what string, want ...store.Message) {
		s.Helper()
		got, err := s.History(s.ctx(), "c1", from)
		s.ok(err)
		s.equal(got, want, what)
	}
	history(0, "the history with two queued", placed, reply)
	got, err := s.UserMessage(s.ctx(), "u-1")
	s.ok(err)
	s.equal(*got, queued, "the queued message")

	// Placed in another order than they came, and not at the end.
	late := s.text("c1", 4, message.KindReply, "late reply")
	s.commit(s.entry("c1", "c1", "ModelReplied", store.NewMessage{Message: late}))
	late.ID = "c1-m4"
	s.commit(s.entry("c1", "c1", "TurnBegun", store.PlaceMessage{Agent: "c1", ID: "u-2", Pos: 2}))
	later.Pos = 2
	history(0, "the history with one placed", placed, reply, later, late)
	s.commit(s.entry("c1", "c1", "TurnBegun", store.PlaceMessage{Agent: "c1", ID: "u-1", Pos: 3}))
	queued.Pos = 3
	history(0, "the history with both placed", placed, reply, later, queued, late)
	history(3, "the history from 3 on", queued, late)
	history(5, "the history behind its end")

	decoded, err := queued.Decode()
	s.ok(err)
	s.equal(decoded.Text(), "queued «first»", "what the message says")

	again := &store.Batch{Entries: []*store.Entry{s.entry("c1", "c1", "TurnBegun", store.PlaceMessage{Agent: "c1", ID: "u-1", Pos: 9})}}
	if err := s.Commit(s.ctx(), again); err == nil {
		s.Error("a placed message was placed again")
	}
	history(3, "the history after that", queued, late)
	twice := s.text("c1", 3, message.KindReply, "in a place that is taken")
	s.fails(s.Commit(s.ctx(), &store.Batch{Entries: []*store.Entry{s.entry("c1", "c1", "ModelReplied", store.NewMessage{Message: twice})}}),
		store.ErrDuplicate, "a second message in one place")
}

func testMessagePages(s *suite) {
	s.startChat("c1")
	var want []string
	for i := range 4 {
		m := s.text("c1", i, message.KindReply, fmt.Sprintf("placed %d", i))
		s.commit(s.entry("c1", "c1", "ModelReplied", store.NewMessage{Message: m}))
		want = append(want, store.MessageID("c1", i))
	}
	for i := range 3 {
		m := s.text("c1", -1, message.KindUser, fmt.Sprintf("queued %d", i))
		m.ID = fmt.Sprintf("u-%d", i)
		s.commit(s.entry("c1", "c1", "UserMessage", store.NewMessage{Message: m}))
		want = append(want, m.ID)
	}
	s.commit(s.entry("c1", "c1", "TurnBegun", store.PlaceMessage{Agent: "c1", ID: "u-1", Pos: 4}))
	want = []string{want[0], want[1], want[2], want[3], "u-1", "u-0", "u-2"}

	ids := func(page store.Page) (ids []string) {
		s.Helper()
		list, err := s.Messages(s.ctx(), "c1", page)
		s.ok(err)
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		return ids
	}
	s.equal(ids(store.Page{}), want, "all messages, queued ones last")
	for _, size := range []int{1, 2, 3, 5, 7} {
		var got []string
		after := ""
		for {
			page := ids(store.Page{After: after, Limit: size})
			if len(page) == 0 {
				break
			}
			if len(page) > size || len(got) > len(want) {
				s.Fatalf("pages of %d: got %q after %q", size, page, got)
			}
			got, after = append(got, page...), page[len(page)-1]
		}
		s.equal(got, want, fmt.Sprintf("the messages in pages of %d", size))
	}
	_, err := s.Messages(s.ctx(), "c1", store.Page{After: "u-unknown"})
	s.fails(err, store.ErrNotFound, "a page after an unknown message")
}

// result is the message of a tool's result.
func (s *suite) result(agent string, pos int, call string, isError bool, texts ...string) store.Message {
	s.Helper()
	var parts []message.Part
	for _, t := range texts {
		parts = append(parts, message.TextPart{Text: t})
	}
	body := message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{
		message.ToolResult{CallID: "p-" + call, Name: "grep", IsError: isError, Parts: parts},
	}}
	m, err := store.EncodeMessage(agent, pos, body)
	s.ok(err)
	m.Call, m.CreatedAt = call, s.at()
	return m
}

func testToolCalls(s *suite) {
	c, _ := s.startChat("c1")
	s.startAgent(c, "c1", "c1.1")
	newCall := func(agent string, turn, call, pos int) store.ToolCall {
		var t store.ToolCall
		fill(&t, store.ToolCallID(agent, turn, call))
		t.ID, t.Agent, t.Turn, t.Call, t.Pos = store.ToolCallID(agent, turn, call), agent, turn, call, pos
		t.Result, t.Error, t.StartedAt, t.EndedAt = "", "", 0, 0
		return t
	}
	first, second, third := newCall("c1.1", 2, 0, 3), newCall("c1.1", 2, 1, 4), newCall("c1.1", 10, 0, 6)
	foreign := newCall("c1", 2, 0, 3)
	s.commit(s.entry("c1", "c1.1", "ModelReplied", store.NewToolCall{ToolCall: first}, store.NewToolCall{ToolCall: second}))
	s.commit(s.entry("c1", "c1", "ModelReplied", store.NewToolCall{ToolCall: foreign}),
		s.entry("c1", "c1.1", "ModelReplied", store.NewToolCall{ToolCall: third}))

	read := func(want store.ToolCall, what string) {
		s.Helper()
		got, err := s.ToolCall(s.ctx(), want.Agent, want.Turn, want.Call)
		s.ok(err)
		s.equal(*got, want, what)
	}
	read(first, "the new call")
	set := func(call int, phase, status string, started, ended int64, docs ...store.Doc) {
		s.Helper()
		docs = append(docs, store.SetToolCall{
			Agent: "c1.1", Turn: 2, Call: call, Phase: phase, Status: status, StartedAt: started, EndedAt: ended,
		})
		s.commit(s.entry("c1", "c1.1", "ToolFinished", docs...))
	}
	set(0, "started", "pending", 501, 0)
	first.Phase, first.Status, first.StartedAt = "started", "pending", 501
	read(first, "the call that has started")
	set(0, "done", "success", 0, 502, store.NewMessage{Message: s.result("c1.1", 3, first.ID, false, "line one", "line two")})
	first.Phase, first.Status, first.EndedAt, first.Result = "done", "success", 502, "line one\n\nline two"
	read(first, "the call that has succeeded")
	set(1, "done", "failed", 503, 504, store.NewMessage{Message: s.result("c1.1", 4, second.ID, true, "no such file")})
	second.Phase, second.Status, second.StartedAt, second.EndedAt, second.Error = "done", "failed", 503, 504, "no such file"
	read(second, "the call that has failed")
	read(foreign, "the call of the other agent")

	all, err := s.ToolCalls(s.ctx(), "c1.1")
	s.ok(err)
	s.equal(all, []store.ToolCall{first, second, third}, "the calls in order")

	// A call that ended can be set again.
	set(0, "done", "failed", 0, 0)
	first.Status = "failed"
	read(first, "the call that was set again")
	b := &store.Batch{Entries: []*store.Entry{s.entry("c1", "c1.1", "ModelReplied", store.NewToolCall{ToolCall: first})}}
	s.fails(s.Commit(s.ctx(), b), store.ErrDuplicate, "the same tool call again")
}

func testModelCalls(s *suite) {
	c, _ := s.startChat("c1")
	s.startAgent(c, "c1", "c1.1")
	newCall := func(agent string, turn, try int) store.ModelCall {
		var m store.ModelCall
		fill(&m, store.ModelCallID(agent, turn, try))
		m.ID, m.Agent, m.Turn, m.Try = store.ModelCallID(agent, turn, try), agent, turn, try
		return m
	}
	want := []store.ModelCall{newCall("c1.1", 1, 1), newCall("c1.1", 1, 2), newCall("c1.1", 2, 1)}
	want[1].Reply, want[1].Priced = -1, false
	s.commit(s.entry("c1", "c1.1", "ModelFailed", store.NewModelCall{ModelCall: want[0]}))
	s.commit(s.entry("c1", "c1", "ModelFailed", store.NewModelCall{ModelCall: newCall("c1", 1, 1)}))
	s.commit(s.entry("c1", "c1.1", "ModelReplied", store.NewModelCall{ModelCall: want[1]}, store.NewModelCall{ModelCall: want[2]}))
	got, err := s.ModelCalls(s.ctx(), "c1.1")
	s.ok(err)
	s.equal(got, want, "the model calls")
}

func testInbox(s *suite) {
	c, _ := s.startChat("c1")
	s.startAgent(c, "c1", "c1.1")
	c2, _ := s.startChatOf("user-bert", "c2")
	newItem := func(c store.Chat, agent, id, status string) store.Item {
		var i store.Item
		fill(&i, id)
		i.ID, i.ChatID, i.UserID, i.Agent, i.Status = id, c.ID, c.UserID, agent, status
		i.How, i.By, i.Scope, i.Answer, i.ClosedAt = "", "", "", "", 0
		return i
	}
	items := []store.Item{
		newItem(c, "c1", "i1", "open"), newItem(c, "c1.1", "i2", "hidden"), newItem(c2, "c2", "i3", "open"), newItem(c, "c1.1", "i4", "open"),
	}
	for _, i := range items {
		s.commit(s.entry(i.ChatID, i.Agent, "ApprovalNeeded", store.NewItem{Item: i}))
	}
	lists := func(q store.InboxQuery, what string, want ...int) {
		s.Helper()
		got, err := s.Inbox(s.ctx(), q)
		s.ok(err)
		var wanted []store.Item
		for _, i := range want {
			wanted = append(wanted, items[i])
		}
		s.equal(got, wanted, what)
	}
	lists(store.InboxQuery{}, "the whole inbox", 0, 1, 2, 3)
	lists(store.InboxQuery{User: user}, "the user's inbox", 0, 1, 3)
	lists(store.InboxQuery{Chat: "c2"}, "the chat's inbox", 2)
	lists(store.InboxQuery{Agent: "c1.1"}, "the agent's inbox", 1, 3)
	lists(store.InboxQuery{Agent: "c1.1", User: "user-bert"}, "the inbox of an agent that is another user's")

	s.commit(s.entry("c1", "c1.1", "Consulted", store.SetItem{ID: "i2", Status: "open", Deadline: 4711, At: 5}))
	items[1].Status, items[1].Deadline = "open", 4711
	got, err := s.Item(s.ctx(), "i2")
	s.ok(err)
	s.equal(*got, items[1], "the item that is shown")
	s.commit(s.entry("c1", "c1", "ApprovalAnswered", store.SetItem{
		ID: "i1", Status: "closed", How: "denied", By: "anna", Scope: "once", Answer: "better not", At: 777,
	}))
	items[0].Status, items[0].How, items[0].By, items[0].Scope = "closed", "denied", "anna", "once"
	items[0].Answer, items[0].ClosedAt = "better not", 777
	lists(store.InboxQuery{User: user}, "the inbox without the closed item", 1, 3)
	lists(store.InboxQuery{User: user, Closed: true}, "the inbox with the closed item", 0, 1, 3)
}

func testArtifacts(s *suite) {
	c, _ := s.startChat("c1")
	var a store.Artifact
	fill(&a, "artifact")
	a.ID, a.ChatID, a.Agent = "a1", c.ID, "c1"
	a.Data = make([]byte, 200_000) // more than any page of a database
	for i := range a.Data {
		a.Data[i] = byte(i * 7 / 3)
	}
	empty := a
	empty.ID, empty.Agent, empty.Data, empty.Size = "a2", "", nil, 0
	s.commit(s.entry("c1", "c1", "ToolFinished", store.NewArtifact{Artifact: a}, store.NewArtifact{Artifact: empty}))
	for _, want := range []store.Artifact{a, empty} {
		got, err := s.Artifact(s.ctx(), want.ID)
		s.ok(err)
		s.equal(*got, want, "artifact "+want.ID)
	}
}

func testNotFound(s *suite) {
	s.startChat("c1")
	for what, err := range map[string]error{
		"user":      second(s.User(s.ctx(), "u9")),
		"chat":      second(s.Chat(s.ctx(), "c9")),
		"agent":     second(s.Agent(s.ctx(), "c9")),
		"load":      second(s.Load(s.ctx(), "c9")),
		"log":       second(s.Log(s.ctx(), "c9")),
		"task":      second(s.Task(s.ctx(), "c1.9")),
		"message":   second(s.UserMessage(s.ctx(), "m9")),
		"tool call": second(s.ToolCall(s.ctx(), "c1", 9, 9)),
		"item":      second(s.Item(s.ctx(), "i9")),
		"artifact":  second(s.Artifact(s.ctx(), "a9")),
		"prompt":    second(s.Prompt(s.ctx(), "p9")),
	} {
		s.fails(err, store.ErrNotFound, "reading an absent "+what)
	}
	title := "t"
	for what, d := range map[string]store.Doc{
		"chat":      store.SetChat{ID: "c9", Title: &title},
		"delete":    store.DeleteChat{ID: "c9"},
		"model":     store.SetModel{Chat: "c9", Model: "m"},
		"head":      store.SetHead{ID: "c9"},
		"end":       store.EndAgent{ID: "c9"},
		"task":      store.SetTask{ID: "c1.9"},
		"end task":  store.EndTask{ID: "c1.9"},
		"place":     store.PlaceMessage{Agent: "c1", ID: "m9"},
		"tool call": store.SetToolCall{Agent: "c1", Turn: 9, Call: 9},
		"item":      store.SetItem{ID: "i9"},
		"message":   store.NewMessage{Message: store.Message{Agent: "c9", Pos: 0}},
		"child":     store.NewAgent{Agent: store.Agent{ID: "c1.1", ChatID: "c1", Parent: "c9"}},
	} {
		err := s.Commit(s.ctx(), &store.Batch{Entries: []*store.Entry{s.entry("c1", "c1", "Test", d)}})
		s.fails(err, store.ErrNotFound, "changing an absent "+what)
	}
	last, err := s.LastSeq(s.ctx())
	s.ok(err)
	s.equal(last, int64(1), "the newest number after nothing but failures")
}

func second[T any](_ T, err error) error { return err }
