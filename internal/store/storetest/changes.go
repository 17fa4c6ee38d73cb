// This file tests the numbered changes that the feed reads.

package storetest

import (
	"fmt"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

func (s *suite) changes(since int64, limit int, f store.Filter) ([]store.Change, int64) {
	s.Helper()
	list, upTo, err := s.Changes(s.ctx(), since, limit, f)
	s.ok(err)
	return list, upTo
}

func testChangesPaging(s *suite) {
	_, root := s.startChat("c1")
	s.startChat("c2")
	want := []int64{1, 2}
	for i := range 20 {
		chat := "c1"
		if i%3 == 0 {
			chat = "c2"
		}
		e := s.entry(chat, chat, fmt.Sprintf("Event%d", i))
		s.commit(e)
		want = append(want, e.Seq)
	}
	for _, size := range []int{1, 3, 7, 100, 0} {
		var got []int64
		since := int64(0)
		for {
			page, upTo := s.changes(since, size, store.Filter{})
			for _, c := range page {
				got = append(got, c.Seq)
			}
			if size > 0 && len(page) > size || upTo < since || len(got) > len(want) {
				s.Fatalf("pages of %d: %d changes, up to %d after %d", size, len(page), upTo, since)
			}
			if len(page) > 0 && size > 0 && len(page) == size && upTo != page[len(page)-1].Seq {
				s.Fatalf("pages of %d: a full page ends at %d but claims %d", size, page[len(page)-1].Seq, upTo)
			}
			if since = upTo; since == want[len(want)-1] {
				break
			}
		}
		s.equal(got, want, fmt.Sprintf("the numbers in pages of %d", size))
	}
	page, upTo := s.changes(10, 2, store.Filter{})
	s.equal([]int64{page[0].Seq, page[1].Seq, upTo}, []int64{11, 12, 12}, "the page after 10")

	// With a filter, what was passed over is not looked at again.
	page, upTo = s.changes(0, 100, store.Filter{Chat: "c2"})
	s.equal(len(page), 8, "the changes of a chat")
	s.equal(upTo, int64(22), "the number up to which was looked")
	page, upTo = s.changes(22, 100, store.Filter{})
	s.equal(len(page), 0, "the changes after the newest")
	s.equal(upTo, int64(22), "the number up to which was looked at the end")

	page, _ = s.changes(2, 1, store.Filter{})
	s.equal(page[0].Type, "Event0", "the type of a change")
	s.equal(page[0].Chat, "c2", "the chat of a change")
	page, _ = s.changes(3, 1, store.Filter{})
	s.equal([]any{page[0].Agent, page[0].Path, page[0].User}, []any{"c1", root.Path, user}, "the agent, path and owner of a change")
}

func testChangesDocuments(s *suite) {
	c, root := s.startChat("c1")
	child := s.newAgent(c, "c1", "c1.1")
	task := s.newTask(c, 1)
	task.SubAgentID = "c1.1"
	note := s.text("c1", 0, message.KindNote, "of the orchestrator")
	order := s.text("c1.1", 0, message.KindTask, "of the sub-agent")
	call := store.ToolCall{Agent: "c1.1", Turn: 1, Pos: 1, Name: "grep", Args: []byte(`{"a":1}`), Phase: "queued"}
	model := store.ModelCall{Agent: "c1.1", Turn: 1, Try: 2, Model: "m", Status: "replied"}
	item := store.Item{ID: "i1", ChatID: "c1", UserID: user, Agent: "c1.1", Status: "open", Action: "rm"}
	own := store.ToolCall{Agent: "c1", Turn: 1, Name: "delegate", Args: []byte(`{}`)}
	ownModel := store.ModelCall{Agent: "c1", Turn: 1, Try: 1, Model: "m"}
	s.commit(
		s.entry("c1", "c1", "ModelReplied", store.NewMessage{Message: note}, store.NewTask{Task: task}, store.NewToolCall{ToolCall: own},
			store.NewModelCall{ModelCall: ownModel}, store.SetHead{ID: "c1", Head: root.Head}, store.PutPrompt{ID: "p", Text: "not told"}),
		s.entry("c1", "c1.1", "Created", store.NewAgent{Agent: child}, store.NewMessage{Message: order}, store.NewToolCall{ToolCall: call},
			store.NewModelCall{ModelCall: model}, store.NewItem{Item: item}, store.SetHead{ID: "c1.1", Head: child.Head}),
	)
	note.ID, order.ID = "c1-m0", "c1.1-m0"
	call.ID, model.ID, own.ID, ownModel.ID = "c1.1-c1.0", "c1.1-t1.2", "c1-c1.0", "c1-t1.1"

	list, _ := s.changes(0, 0, store.Filter{})
	if len(list) != 3 {
		s.Fatalf("got %d changes, want 3", len(list))
	}
	c.UpdatedAt = list[0].Docs[0].Data.(store.Chat).UpdatedAt // the orchestrator has moved it
	s.equal(list[0].Docs, []store.Document{
		{Collection: "orch-chats", ID: "c1", Data: c}, {Collection: "orchestrator", ID: "c1", Data: root},
	}, "the documents of the first change")
	s.equal(list[1].Docs, []store.Document{
		{Collection: "messages", ID: "c1-m0", Data: note},
		{Collection: "tasks", ID: "c1.1", Data: task},
		{Collection: "tool-calls", ID: "c1-c1.0", Data: own},
		{Collection: "model-calls", ID: "c1-t1.1", Data: ownModel},
		{Collection: "orchestrator", ID: "c1", Data: root},
	}, "the documents of the orchestrator's change")
	s.equal(list[2].Docs, []store.Document{
		{Collection: "sub-agents", ID: "c1.1", Data: child},
		{Collection: "sub-agents/c1.1/messages", ID: "c1.1-m0", Data: order},
		{Collection: "sub-agents/c1.1/tool-calls", ID: "c1.1-c1.0", Data: call},
		{Collection: "sub-agents/c1.1/model-calls", ID: "c1.1-t1.2", Data: model},
		{Collection: "inbox", ID: "i1", Data: item},
	}, "the documents of the sub-agent's change")

	// An old change shows the documents as they are now.
	s.commit(s.entry("c1", "c1.1", "ToolFinished",
		store.SetToolCall{Agent: "c1.1", Turn: 1, Phase: "done", Status: "success", EndedAt: 9},
		store.NewMessage{Message: s.result("c1.1", 1, call.ID, false, "found it")},
		store.SetTask{ID: "c1.1", Status: "success", At: 10},
		store.SetItem{ID: "i1", Status: "closed", How: "allowed", At: 11},
		store.EndAgent{ID: "c1.1", Summary: "well done", EndedAt: 12}))
	call.Phase, call.Status, call.EndedAt, call.Result = "done", "success", 9, "found it"
	item.Status, item.How, item.ClosedAt = "closed", "allowed", 11
	child.Summary, child.Error, child.EndedAt = "well done", "", 12
	list, _ = s.changes(2, 0, store.Filter{})
	s.equal(list[0].Docs[0].Data, any(child), "the agent in its old change")
	s.equal(list[0].Docs[2].Data, any(call), "the call in its old change")
	s.equal(list[0].Docs[4].Data, any(item), "the item in its old change")
	var collections []string
	for _, d := range list[1].Docs {
		collections = append(collections, d.Collection+" "+d.ID)
	}
	s.equal(collections, []string{
		"sub-agents/c1.1/tool-calls c1.1-c1.0", "sub-agents/c1.1/messages c1.1-m1", "tasks c1.1", "inbox i1", "sub-agents c1.1",
	}, "what the last change touched")
}

func testChangesFilters(s *suite) {
	c, _ := s.startChat("c1")                    // 1
	s.startChatOf("user-bert", "c2")             // 2
	a := s.newAgent(c, "c1", "c1.1")             // 3
	b := s.newAgent(c, "c1.1", "c1.1.1")         // 4
	title := "t"                                 // 5
	said := func(agent, text string) store.Doc { // 6: of the orchestrator, 7: of c1.1, 8: of c2
		return store.NewMessage{Message: s.text(agent, 0, message.KindNote, text)}
	}
	s.commit(s.entry("c1", "c1.1", "Created", store.NewAgent{Agent: a}))
	s.commit(s.entry("c1", "c1.1.1", "Created", store.NewAgent{Agent: b}))
	s.commit(s.entry("c1", "", "ChatChanged", store.SetChat{ID: "c1", Title: &title}))
	s.commit(s.entry("c1", "c1", "Noted", said("c1", "m6"), store.SetHead{ID: "c1"}))
	s.commit(s.entry("c1", "c1.1", "Noted", said("c1.1", "m7"), store.NewTask{Task: store.Task{ID: "c1.1.1", Agent: "c1.1", Number: 1}}))
	s.commit(s.entry("c2", "c2", "Noted", said("c2", "m8")))
	s.commit(s.entry("", "", "UserPut", store.PutUser{User: store.User{ID: user}})) // 9

	for _, test := range []struct {
		what   string
		filter store.Filter
		want   []int64
	}{
		{"no filter", store.Filter{}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"a chat", store.Filter{Chat: "c1"}, []int64{1, 3, 4, 5, 6, 7}},
		{"another chat", store.Filter{Chat: "c2"}, []int64{2, 8}},
		{"an unknown chat", store.Filter{Chat: "c9"}, nil},
		{"a user", store.Filter{User: "user-bert"}, []int64{2, 8}},
		{"a user and another's chat", store.Filter{User: "user-bert", Chat: "c1"}, nil},
		{"an agent", store.Filter{Agent: "c1.1"}, []int64{3, 7}},
		{"the orchestrator", store.Filter{Chat: "c1", Agent: "c1"}, []int64{1, 6}},
		{"an unknown agent", store.Filter{Agent: "c1.9"}, nil},
		{"messages", store.Filter{Collections: []string{"messages"}}, []int64{6, 8}},
		{"messages of sub-agents", store.Filter{Collections: []string{"sub-agents/*/messages"}}, []int64{7}},
		{"tasks and sub-agents", store.Filter{Collections: []string{"tasks", "sub-agents"}}, []int64{3, 4, 7}},
		{"chats of a chat", store.Filter{Chat: "c1", Collections: []string{"orch-chats"}}, []int64{1, 5}},
		{"an unknown collection", store.Filter{Collections: []string{"nothing"}}, nil},
	} {
		for _, size := range []int{0, 2} {
			var got []int64
			since := int64(0)
			for {
				page, upTo := s.changes(since, size, test.filter)
				for _, c := range page {
					got = append(got, c.Seq)
				}
				if since = upTo; since >= 9 {
					break
				}
			}
			s.equal(got, test.want, fmt.Sprintf("the changes for %s in pages of %d", test.what, size))
		}
	}
	// Only the documents that were asked for come along.
	list, _ := s.changes(6, 0, store.Filter{Collections: []string{"tasks"}})
	if len(list) != 1 || len(list[0].Docs) != 1 || list[0].Docs[0].Collection != "tasks" {
		s.Errorf("asked for tasks, got %+v", list)
	}
	if _, _, err := s.Changes(s.ctx(), 0, 0, store.Filter{Collections: []string{"[bad"}}); err == nil {
		s.Error("a bad pattern was taken")
	}
}

func testChangesOfDeleted(s *suite) {
	s.fullChat("c1")                       // 1 to 3
	s.fullChat("c2")                       // 4 to 6
	s.commit(s.entry("c2", "c2", "Noted")) // 7
	gone := s.entry("c1", "", "ChatDeleted", store.DeleteChat{ID: "c1"})
	s.commit(gone)                         // 8
	s.commit(s.entry("c2", "c2", "Noted")) // 9

	list, upTo := s.changes(0, 0, store.Filter{})
	var seqs []int64
	for _, c := range list {
		seqs = append(seqs, c.Seq)
	}
	s.equal(seqs, []int64{4, 5, 6, 7, 8, 9}, "the changes after a deletion")
	s.equal(upTo, int64(9), "the number up to which was looked")
	want := store.Change{
		Seq: 8, At: gone.At, Type: "ChatDeleted", Chat: "c1", User: user,
		Docs: []store.Document{{Collection: "orch-chats", ID: "c1", Deleted: true}},
	}
	s.equal(list[4], want, "the change that tells of the deletion")
	for what, f := range map[string]store.Filter{
		"chat": {Chat: "c1"}, "user and collection": {User: user, Collections: []string{"orch-chats"}},
	} {
		list, _ := s.changes(6, 0, f)
		if len(list) != 1 || list[0].Seq != 8 {
			s.Errorf("who watches by %s is not told of the deletion: %+v", what, list)
		}
	}
	list, _ = s.changes(0, 0, store.Filter{Chat: "c2"})
	s.equal(len(list), 5, "the changes of the other chat")
}
