// This file plants damage and wants Check to name it.

package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/store"
)

// TestCheckNamesDamage plants one damage after the other and wants it named.
func TestCheckNamesDamage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ damage, want string }{
		{"UPDATE agents SET chat = 99 WHERE id = 'c1.1'", "agent c1.1 belongs to a chat that does not exist"},
		{"DELETE FROM agent_details WHERE n = 3", "agent c1.1 has lost the part of its row"},
		{"INSERT INTO agent_details SELECT 99, task, role, name, path, model, prompt, dir, cause, context_mode, context_tokens, max_turns, max_duration, max_tokens, max_cost, continues, created_at, ended_at, summary, error, metadata, spec FROM agent_details WHERE n = 1", "row 99) belongs to no agent"},
		{"UPDATE agents SET parent = 99 WHERE id = 'c1.1'", "agent c1.1 has a parent that does not exist"},
		{"UPDATE agents SET chat = 2 WHERE id = 'c1.1'", "agent c1.1 is in another chat than its parent c1"},
		{"DELETE FROM events WHERE agent = 3", "agent c1.1 has no events"},
		{"UPDATE events SET state = NULL", "the newest snapshot of agent c1.1 (event 3) is missing"},
		{"UPDATE agents SET snapshot = NULL", "agent c1.1 does not lead to its newest snapshot, event 3"},
		{"UPDATE agents SET busy = 1 WHERE id = 'c1'", "agent c1 is marked wrongly for recovery"},
		{"UPDATE events SET agent = 99 WHERE id = 4", "event 4 belongs to an agent that does not exist"},
		{"UPDATE events SET chat = 99 WHERE id = 4", "event 4 belongs to a chat that does not exist"},
		{"UPDATE events SET chat = 2 WHERE id = 4", "event 4 is in another chat than its agent c1.1"},
		{"UPDATE messages SET agent = 99 WHERE n = 1", "message row 1 belongs to an agent that does not exist"},
		{"UPDATE messages SET id = NULL, pos = NULL WHERE n = 1", "message row 1 of agent c1.1 is queued but has no id"},
		{"UPDATE messages SET parts = x'7b7b' WHERE n = 1", "message row 1 of agent c1.1 has no readable parts"},
		{"UPDATE messages SET pos = 5 WHERE n = 2", "the history of agent c1.1, which has ended, has 2 messages in 6 places"},
		{"UPDATE tasks SET agent = 99", "task c1.1 belongs to an agent that does not exist"},
		{"UPDATE tasks SET sub_agent = 'c1.7'", "task c1.1 names sub-agent c1.7, which does not exist"},
		{"UPDATE tool_calls SET agent = 99", "tool call row 1 belongs to an agent that does not exist"},
		{"DELETE FROM tool_inputs", "tool call row 1 has lost its input"},
		{"DELETE FROM tool_calls", "the input in row 1 belongs to no tool call"},
		{"UPDATE model_calls SET agent = 99", "model call row 1 belongs to an agent that does not exist"},
		{"UPDATE inbox SET agent = 99", "inbox item i1 belongs to an agent that does not exist"},
		{"UPDATE inbox SET chat = 99", "inbox item i1 belongs to a chat that does not exist"},
		{"UPDATE artifacts SET chat = 99", "artifact a1 belongs to a chat that does not exist"},
		{"UPDATE artifacts SET agent = 99", "artifact a1 belongs to an agent that does not exist"},
		{"DELETE FROM events WHERE id = 4", "1 are missing"},
		{"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 3 WHERE name = 'prompts'; PRAGMA writable_schema = OFF", "the database file is damaged"},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir)
			plantable(t, s)
			if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
				t.Fatalf("before the damage, the check found %q, %v", found, err)
			}
			run(t, rawConn(t, dir), test.damage)
			mustClose(t, s)
			s = open(t, dir)
			defer mustClose(t, s)
			found, err := s.Check(t.Context())
			if err != nil || !strings.Contains(strings.Join(found, "\n"), test.want) {
				t.Errorf("after %s the check found\n%q (%v), want\n%q", test.damage, found, err, test.want)
			}
		})
	}
}

// plantable commits something of every kind, and deletes a chat.
func plantable(t *testing.T, s *Store) {
	t.Helper()
	commit(t, s, chatBatch("c1"))
	commit(t, s, chatBatch("c2"))
	message := func(pos int) store.Doc {
		return store.NewMessage{Message: store.Message{Agent: "c1.1", Pos: pos, ID: fmt.Sprintf("u%d", pos), Parts: []byte("[]")}}
	}
	commit(t, s, &store.Batch{Entries: []*store.Entry{
		{
			Chat: "c1", Agent: "c1.1", Type: "Created", Snapshot: []byte("state"),
			Docs: []store.Doc{
				store.NewAgent{Agent: store.Agent{ID: "c1.1", ChatID: "c1", Parent: "c1"}},
				message(0), message(1),
				store.NewTask{Task: store.Task{ID: "c1.1", Agent: "c1", Number: 1, SubAgentID: "c1.1"}},
				store.NewToolCall{ToolCall: store.ToolCall{Agent: "c1.1"}},
				store.NewModelCall{ModelCall: store.ModelCall{Agent: "c1.1"}},
				store.NewItem{Item: store.Item{ID: "i1", Agent: "c1.1"}},
				store.NewArtifact{Artifact: store.Artifact{ID: "a1", ChatID: "c1", Agent: "c1.1"}},
			},
		},
		{Chat: "c1", Agent: "c1.1", Type: "Ended", Docs: []store.Doc{store.EndAgent{ID: "c1.1", EndedAt: 5}}},
		{Chat: "c1", Agent: "c1.1", Type: "Late"},
	}})
	commit(t, s, chatBatch("c3"))
	commit(t, s, &store.Batch{Entries: []*store.Entry{{Chat: "c3", Type: "ChatDeleted", Docs: []store.Doc{store.DeleteChat{ID: "c3"}}}}})
}
