// This file tests what is taken over and what is added later: histories that
// are continued, the records of tool calls, the details of inbox items.

package storetest

import (
	"fmt"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

func testAdopt(s *suite) {
	c, _ := s.startChat("c1")
	s.startAgent(c, "c1", "c1.1")
	var old []store.Message
	for i := range 5 {
		m := s.text("c1.1", i, message.KindReply, fmt.Sprintf("old %d", i))
		m.Turn = i + 1
		old = append(old, m)
	}
	old[3] = s.result("c1.1", 3, "c1.1-c3.0", true, "no such file")
	old[4] = s.text("c1.1", -1, message.KindUser, "by a person")
	old[4].ID = "u-1"
	for _, m := range old {
		s.commit(s.entry("c1", "c1.1", "ModelReplied", store.NewMessage{Message: m}))
	}
	s.commit(s.entry("c1", "c1.1", "TurnBegun", store.PlaceMessage{Agent: "c1.1", ID: "u-1", Pos: 4}))
	old[4].Pos = 4

	// copied is what the first n messages are in the history of another agent.
	copied := func(agent string, n int) (want []store.Message) {
		for _, m := range old[:n] {
			m.Agent, m.ID = agent, store.MessageID(agent, m.Pos)
			want = append(want, m)
		}
		return want
	}
	history := func(agent, what string, want []store.Message) {
		s.Helper()
		got, err := s.History(s.ctx(), agent, 0)
		s.ok(err)
		s.equal(got, want, what)
	}

	// In the commit that makes the agent, and before its own first message.
	own := s.text("c1.2", 4, message.KindTask, "go on")
	own.ID = store.MessageID("c1.2", 4)
	s.commit(s.entry("c1", "c1.2", "Created", store.NewAgent{Agent: s.newAgent(c, "c1", "c1.2")},
		store.AdoptMessages{Agent: "c1.2", From: "c1.1", Count: 4}, store.NewMessage{Message: own}))
	history("c1.2", "the history that goes on", append(copied("c1.2", 4), own))

	// What was taken over can be taken over again, and ids stay where they were.
	s.commit(s.entry("c1", "c1.3", "Created", store.NewAgent{Agent: s.newAgent(c, "c1", "c1.3")},
		store.AdoptMessages{Agent: "c1.3", From: "c1.2", Count: 2}))
	history("c1.3", "the beginning of a history that goes on", copied("c1.3", 2))
	s.commit(s.entry("c1", "c1.4", "Created", store.NewAgent{Agent: s.newAgent(c, "c1", "c1.4")},
		store.AdoptMessages{Agent: "c1.4", From: "c1.1", Count: 5}))
	history("c1.4", "a history with a user's message", copied("c1.4", 5))
	person, err := s.UserMessage(s.ctx(), "u-1")
	s.ok(err)
	s.equal(*person, old[4], "the user's message")
	history("c1.1", "the history that was taken over", append(copied("c1.1", 4), old[4]))

	before, err := s.LastSeq(s.ctx())
	s.ok(err)
	for what, d := range map[string]store.AdoptMessages{
		"more than there is":          {Agent: "c1.5", From: "c1.1", Count: 6},
		"the history of nobody":       {Agent: "c1.5", From: "c1.9", Count: 1},
		"a history for nobody at all": {Agent: "c1.9", From: "c1.1", Count: 1},
	} {
		b := &store.Batch{Entries: []*store.Entry{s.entry("c1", "c1.5", "Created", store.NewAgent{Agent: s.newAgent(c, "c1", "c1.5")}, d)}}
		s.fails(s.Commit(s.ctx(), b), store.ErrNotFound, "taking over "+what)
		_, err := s.Agent(s.ctx(), "c1.5")
		s.fails(err, store.ErrNotFound, "the agent after taking over "+what)
	}
	b := &store.Batch{Entries: []*store.Entry{s.entry("c1", "c1.2", "Again", store.AdoptMessages{Agent: "c1.2", From: "c1.1", Count: 1})}}
	s.fails(s.Commit(s.ctx(), b), store.ErrDuplicate, "taking over into places that are taken")
	after, err := s.LastSeq(s.ctx())
	s.ok(err)
	s.equal(after, before, "the newest number after nothing but failures")
	history("c1.2", "the history after that", append(copied("c1.2", 4), own))

	s.reopen()
	history("c1.2", "the history that goes on, reopened", append(copied("c1.2", 4), own))
	s.commit(s.entry("c1", "", "ChatDeleted", store.DeleteChat{ID: "c1"}))
	history("c1.2", "the history of a deleted chat", nil)
}

func testRecords(s *suite) {
	s.startChat("c1")
	var with, without store.ToolCall
	fill(&with, "with")
	with.ID, with.Agent, with.Turn, with.Call, with.Pos, with.Record = store.ToolCallID("c1", 1, 0), "c1", 1, 0, 2, nil
	with.Result, with.Error, with.StartedAt, with.EndedAt = "", "", 0, 0
	without = with
	without.ID, without.Call, without.Pos = store.ToolCallID("c1", 1, 1), 1, 3
	s.commit(s.entry("c1", "c1", "ModelReplied", store.NewToolCall{ToolCall: with}, store.NewToolCall{ToolCall: without}))

	set := func(what string, record []byte, want []byte) {
		s.Helper()
		s.commit(s.entry("c1", "c1", "ToolFinished", store.SetToolCall{Agent: "c1", Turn: 1, Call: 0, Phase: "done", Status: "success", Record: record}))
		with.Phase, with.Status, with.Record = "done", "success", want
		got, err := s.ToolCall(s.ctx(), "c1", 1, 0)
		s.ok(err)
		s.equal(*got, with, what)
		all, err := s.ToolCalls(s.ctx(), "c1")
		s.ok(err)
		s.equal(all, []store.ToolCall{with, without}, what+", in the list")
	}
	set("a call without record", nil, nil)
	set("a call with its record", []byte(`{"wrote":["a.go"]}`), []byte(`{"wrote":["a.go"]}`))
	set("a call whose record stays", nil, []byte(`{"wrote":["a.go"]}`))
	set("a call with another record", []byte(`{"ran":1}`), []byte(`{"ran":1}`))
	s.reopen()
	set("a call whose record stays, reopened", nil, []byte(`{"ran":1}`))
	s.commit(s.entry("c1", "", "ChatDeleted", store.DeleteChat{ID: "c1"}))
	_, err := s.ToolCall(s.ctx(), "c1", 1, 0)
	s.fails(err, store.ErrNotFound, "the call of a deleted chat")
}

func testDetails(s *suite) {
	c, _ := s.startChat("c1")
	for id, detail := range map[string][]byte{"i1": []byte(`{"diff":"+ü"}`), "i2": nil} {
		want := store.Item{ID: id, ChatID: c.ID, UserID: c.UserID, Agent: "c1", Call: -1, Kind: "worktree", Status: "open", Detail: detail}
		s.commit(s.entry("c1", "c1", "WorkInspected", store.NewItem{Item: want}))
		got, err := s.Item(s.ctx(), id)
		s.ok(err)
		s.equal(*got, want, "item "+id)
		s.commit(s.entry("c1", "c1", "WorkDecided", store.SetItem{ID: id, Status: "closed", How: "merged", At: 9}))
		want.Status, want.How, want.ClosedAt = "closed", "merged", 9
		got, err = s.Item(s.ctx(), id)
		s.ok(err)
		s.equal(*got, want, "the closed item "+id)
	}
}
