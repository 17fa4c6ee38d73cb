// This file tests that deleting a chat takes everything of it, and nothing
// else.

package storetest

import (
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// fullChat commits a chat with at least one document of every kind.
func (s *suite) fullChat(id string) store.Chat {
	s.Helper()
	c, _ := s.startChat(id)
	child := s.newAgent(c, id, id+".1")
	child.Cause, child.Busy = "u-"+id, true
	queued := s.text(id, -1, message.KindUser, "to "+id)
	queued.ID = "u-" + id
	task := s.newTask(c, 1)
	task.SubAgentID = child.ID
	created := s.entry(id, child.ID, "Created",
		store.NewAgent{Agent: child},
		store.NewMessage{Message: s.text(child.ID, 0, message.KindTask, "do it for "+id)},
		store.NewToolCall{ToolCall: store.ToolCall{Agent: child.ID, Turn: 1, Name: "read", Args: []byte(`{}`)}},
		store.NewModelCall{ModelCall: store.ModelCall{Agent: child.ID, Turn: 1, Try: 1}},
		store.NewItem{Item: store.Item{ID: "i-" + id, ChatID: id, UserID: user, Agent: child.ID, Status: "open"}},
		store.NewArtifact{Artifact: store.Artifact{ID: "a-" + id, ChatID: id, Agent: child.ID, Data: []byte("artifact of " + id)}},
		store.PutPrompt{ID: "p-shared", Text: "shared by all"},
	)
	created.Snapshot = []byte(`{"of":"` + id + `"}`)
	s.commit(
		s.entry(id, id, "UserMessage", store.NewMessage{Message: queued}, store.NewTask{Task: task}),
		created,
	)
	return c
}

// present tells which documents of a chat can still be read.
func (s *suite) present(id string) (found []string) {
	s.Helper()
	note := func(what string, here bool) {
		if here {
			found = append(found, what)
		}
	}
	child := id + ".1"
	for what, err := range map[string]error{
		"chat": second(s.Chat(s.ctx(), id)), "orchestrator": second(s.Agent(s.ctx(), id)), "child": second(s.Agent(s.ctx(), child)),
		"load": second(s.Load(s.ctx(), child)), "log": second(s.Log(s.ctx(), id)), "message": second(s.UserMessage(s.ctx(), "u-"+id)),
		"task": second(s.Task(s.ctx(), child)), "tool call": second(s.ToolCall(s.ctx(), child, 1, 0)),
		"item": second(s.Item(s.ctx(), "i-"+id)), "artifact": second(s.Artifact(s.ctx(), "a-"+id)),
	} {
		note(what, err == nil)
	}
	note("tree", some(s, second2(s.Tree(s.ctx(), id))))
	note("children", some(s, second2(s.Children(s.ctx(), id))))
	note("caused", some(s, second2(s.Caused(s.ctx(), "u-"+id))))
	note("tasks", some(s, second2(s.Tasks(s.ctx(), id))))
	note("results", some(s, second2(s.Results(s.ctx(), id, 1, 1))))
	note("history", some(s, second2(s.History(s.ctx(), child, 0))))
	note("messages", some(s, second2(s.Messages(s.ctx(), id, store.Page{}))))
	note("tool calls", some(s, second2(s.ToolCalls(s.ctx(), child))))
	note("model calls", some(s, second2(s.ModelCalls(s.ctx(), child))))
	note("inbox", some(s, second2(s.Inbox(s.ctx(), store.InboxQuery{Chat: id}))))
	note("unfinished", some(s, second2(s.Unfinished(s.ctx(), id))))
	return found
}

const kinds = 21 // that present looks for

type result[T any] struct {
	list []T
	err  error
}

func second2[T any](list []T, err error) result[T] { return result[T]{list, err} }

func some[T any](s *suite, r result[T]) bool {
	s.Helper()
	s.ok(r.err)
	return len(r.list) > 0
}

func testDelete(s *suite) {
	s.fullChat("c1")
	s.fullChat("c10") // whose id begins with the other's
	renamed := "renamed"
	s.commit(s.entry("c1", "", "ChatChanged", store.SetChat{ID: "c1", Title: &renamed}))
	for _, id := range []string{"c1", "c10"} {
		if got := s.present(id); len(got) != kinds {
			s.Fatalf("before the deletion, %d kinds of document of %s are there, want %d: %q", len(got), id, kinds, got)
		}
	}
	before, err := s.LastSeq(s.ctx())
	s.ok(err)
	gone := s.entry("c1", "", "ChatDeleted", store.DeleteChat{ID: "c1"})
	s.commit(gone)
	s.equal(gone.Seq, before+1, "the number of the deletion")
	s.equal(s.present("c1"), []string(nil), "what is left of the deleted chat")
	if got := s.present("c10"); len(got) != kinds {
		s.Errorf("the deletion took documents of another chat: of %d kinds are left %q", kinds, got)
	}
	list, err := s.Chats(s.ctx(), store.ChatQuery{})
	s.ok(err)
	if len(list) != 1 || list[0].ID != "c10" {
		s.Errorf("the list of chats after the deletion: %v", list)
	}
	text, err := s.Prompt(s.ctx(), "p-shared")
	s.ok(err)
	s.equal(text, "shared by all", "the prompt that other chats use")

	// Nothing may write to what is gone, and its ids are free again.
	for what, d := range map[string]store.Doc{
		"agent": store.SetHead{ID: "c1.1"}, "task": store.SetTask{ID: "c1.1"}, "chat": store.DeleteChat{ID: "c1"},
		"tool call": store.SetToolCall{Agent: "c1.1", Turn: 1},
	} {
		err := s.Commit(s.ctx(), &store.Batch{Entries: []*store.Entry{s.entry("", "", "Test", d)}})
		s.fails(err, store.ErrNotFound, "changing the "+what+" of a deleted chat")
	}
	err = s.Commit(s.ctx(), &store.Batch{Entries: []*store.Entry{s.entry("c1", "c1.1", "Late")}})
	s.fails(err, store.ErrNotFound, "an event of a deleted agent")
	s.fullChat("c1")
	if got := s.present("c1"); len(got) != kinds {
		s.Errorf("a new chat with the old id: of %d kinds there are %q", kinds, got)
	}
}

func testDeleteThenReopen(s *suite) {
	s.fullChat("c0")
	s.fullChat("c1")
	gone := s.entry("c1", "", "ChatDeleted", store.DeleteChat{ID: "c1"})
	s.commit(gone)
	s.reopen()
	next := s.entry("c0", "c0", "Noted")
	s.commit(next)
	s.equal(next.Seq, gone.Seq+1, "the number after a deletion and reopening")
	s.sound()

	// A batch may end a chat and go on with others.
	s.commit(
		s.entry("c0", "c0", "Noted"),
		s.entry("c0", "", "ChatDeleted", store.DeleteChat{ID: "c0"}),
		s.entry("", "", "PromptPut", store.PutPrompt{ID: "p2", Text: "after"}),
	)
	s.equal(s.present("c0"), []string(nil), "what is left of the chat deleted in mid-batch")
	s.reopen()
	c, _ := s.startChat("c2")
	log, err := s.Log(s.ctx(), c.ID)
	s.ok(err)
	s.equal(log[0].Seq, next.Seq+4, "the number of the first event after all chats were deleted")
}
