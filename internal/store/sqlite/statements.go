// This file is the SQL of the writer. Parameters are bound in the order in
// which they stand here; apply.go lists the same things in the same order.

package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"
)

const (
	lastSeqSQL = `SELECT ifnull(max(id), 0) FROM events`

	insertEventSQL = `INSERT INTO events (id, agent, chat, at, version, type, verdict, touched, body, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	putUserSQL = `INSERT INTO users (id, name, created_at) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, created_at = excluded.created_at`

	putPromptSQL = `INSERT INTO prompts (id, text) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`

	insertChatSQL = `INSERT INTO chats (id, user, title, role, model, dir, status, archived, created_at, updated_at, born)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	setChatSQL = `UPDATE chats SET title = ifnull(?, title), status = ifnull(?, status), archived = ifnull(?, archived)
WHERE n = ?`
	chatModelSQL = `UPDATE chats SET model = ? WHERE n = ?`
	touchChatSQL = `UPDATE chats SET updated_at = ?1 WHERE n = ?2 AND updated_at < ?1`
	findChatSQL  = `SELECT n FROM chats WHERE id = ?`
	chatOwnerSQL = `SELECT user FROM chats WHERE n = ?`

	insertAgentSQL = `INSERT INTO agents (id, chat, parent, depth, status, sub_agent, recorded, bailout, why, until,
  turns, active_ms, tokens, cost, unpriced, extra_tokens, extra_cost, child_tokens, child_cost, children, live, busy, wake_at, updated_at, waits)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertDetailsSQL = `INSERT INTO agent_details (n, task, role, name, path, model, prompt, dir, cause, context_mode,
  context_tokens, max_turns, max_duration, max_tokens, max_cost, continues, created_at, ended_at, summary, error, metadata, spec)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// The column waits has an index, so it is only written when it changes.
	setHeadSQL = `UPDATE agents SET status = ?, sub_agent = ?, recorded = ?, bailout = ?, why = ?, until = ?,
  turns = ?, active_ms = ?, tokens = ?, cost = ?, unpriced = ?, extra_tokens = ?, extra_cost = ?, child_tokens = ?, child_cost = ?, children = ?, live = ?,
  busy = ?, wake_at = ?, updated_at = ?, snapshot = ifnull(?, snapshot)
WHERE n = ?`
	setWaitsSQL    = `UPDATE agents SET waits = ? WHERE n = ?`
	setSnapshotSQL = `UPDATE agents SET snapshot = ? WHERE n = ?`
	agentModelSQL  = `UPDATE agent_details SET model = ? WHERE n = ?`
	endAgentSQL    = `UPDATE agent_details SET summary = ?, error = ?, ended_at = ? WHERE n = ?`
	findAgentSQL   = `SELECT n, chat, parent IS NULL, waits FROM agents WHERE id = ?`

	insertTaskSQL = `INSERT INTO tasks (id, agent, number, type, name, sub_agent, turn, call, status, error_kind, reason, cause,
  created_at, updated_at, instruction, metadata, error, result)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	setTaskSQL  = `UPDATE tasks SET status = ?, updated_at = ? WHERE n = ?`
	endTaskSQL  = `UPDATE tasks SET result = ?, error = ?, error_kind = ?, reason = ?, metadata = ?, updated_at = ? WHERE n = ?`
	findTaskSQL = `SELECT n FROM tasks WHERE id = ?`

	insertMessageSQL = `INSERT INTO messages (agent, pos, turn, created_at, id, role, kind, call, parts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	placeMessageSQL = `UPDATE messages SET pos = ? WHERE id = ? AND agent = ? AND pos IS NULL RETURNING n`
	adoptSQL        = `INSERT INTO messages (agent, pos, turn, created_at, id, role, kind, call, parts)
SELECT ?1, pos, turn, created_at, NULL, role, kind, call, parts FROM messages WHERE agent = ?2 AND pos < ?3 ORDER BY pos`

	insertCallSQL = `INSERT INTO tool_calls (agent, turn, call, pos, created_at, started_at, ended_at, phase, status, class, name, call_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertInputSQL = `INSERT INTO tool_inputs (n, args) VALUES (?, ?)`
	putRecordSQL   = `INSERT INTO tool_records (n, record) VALUES (?, ?) ON CONFLICT (n) DO UPDATE SET record = excluded.record`
	setCallSQL     = `UPDATE tool_calls SET phase = ?1, status = ?2,
  started_at = iif(?3 = 0, started_at, ?3), ended_at = iif(?4 = 0, ended_at, ?4) WHERE n = ?5`
	findCallSQL = `SELECT n FROM tool_calls WHERE agent = ? AND turn = ? AND call = ?`

	insertModelCallSQL = `INSERT INTO model_calls (agent, turn, try, from_pos, reply_pos, input, output, cache_read, cache_write,
  reasoning, cost, priced, started_at, first_at, ended_at, waited, model, request_type, status, stop, error_kind, error, request_id, response, answered)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	insertItemSQL = `INSERT INTO inbox (id, chat, agent, user, path, role, turn, call, kind, action, reason, permit, detail, deadline, otherwise,
  status, how, by_whom, scope, answer, created_at, closed_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	setItemSQL = `UPDATE inbox SET status = ?1, deadline = iif(?2 = 0, deadline, ?2), how = ?3, by_whom = ?4, scope = ?5, answer = ?6,
  closed_at = iif(?1 = 'closed', ?7, closed_at) WHERE id = ?8 RETURNING n`

	putReadMarkSQL = `INSERT INTO read_marks (n, seq) VALUES (?, ?) ON CONFLICT (n) DO UPDATE SET seq = max(seq, excluded.seq)`
	putSettingsSQL = `INSERT INTO settings (user, body) VALUES (?, ?) ON CONFLICT (user) DO UPDATE SET body = excluded.body`

	insertArtifactSQL = `INSERT INTO artifacts (id, chat, agent, name, media_type, size, created_at, data)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
)

// deleteChat is the one group of statements that takes events away: with the
// whole tree of a chat. The events come first, so that they can be counted;
// the chat comes last, as the others find their rows by it.
var deleteChat = []string{
	`DELETE FROM events WHERE agent IN (SELECT n FROM agents WHERE chat = ?1)`,
	`DELETE FROM events WHERE agent IS NULL AND chat = ?1`,
	`DELETE FROM messages WHERE agent IN (SELECT n FROM agents WHERE chat = ?1)`,
	`DELETE FROM tasks WHERE agent IN (SELECT n FROM agents WHERE chat = ?1)`,
	`DELETE FROM tool_records WHERE n IN (SELECT n FROM tool_calls WHERE agent IN (SELECT n FROM agents WHERE chat = ?1))`,
	`DELETE FROM tool_inputs WHERE n IN (SELECT n FROM tool_calls WHERE agent IN (SELECT n FROM agents WHERE chat = ?1))`,
	`DELETE FROM tool_calls WHERE agent IN (SELECT n FROM agents WHERE chat = ?1)`,
	`DELETE FROM model_calls WHERE agent IN (SELECT n FROM agents WHERE chat = ?1)`,
	`DELETE FROM inbox WHERE chat = ?1`,
	`DELETE FROM artifacts WHERE chat = ?1`,
	`DELETE FROM read_marks WHERE n = ?1`,
	`DELETE FROM agent_details WHERE n IN (SELECT n FROM agents WHERE chat = ?1)`,
	`DELETE FROM agents WHERE chat = ?1`,
	`DELETE FROM chats WHERE n = ?1`,
}

// deleteChatEvents is how many statements of deleteChat take events away.
const deleteChatEvents = 2

// statements are the writer's, prepared once.
type statements struct {
	begin, commit, rollback, savepoint, rollbackTo, release *sqlite.Stmt

	insertEvent                                *sqlite.Stmt
	putUser, putPrompt                         *sqlite.Stmt
	insertChat, setChat, touchChat, findChat   *sqlite.Stmt
	chatOwner, chatModel, agentModel           *sqlite.Stmt
	insertAgent, insertDetails                 *sqlite.Stmt
	setHead, setWaits, setSnapshot             *sqlite.Stmt
	endAgent, findAgent                        *sqlite.Stmt
	insertTask, setTask, endTask, findTask     *sqlite.Stmt
	insertMessage, placeMessage, adopt         *sqlite.Stmt
	insertCall, insertInput, setCall, findCall *sqlite.Stmt
	putRecord                                  *sqlite.Stmt
	insertModelCall                            *sqlite.Stmt
	insertItem, setItem                        *sqlite.Stmt
	insertArtifact                             *sqlite.Stmt
}

func (st *statements) prepare(conn *sqlite.Conn) error {
	for _, p := range []struct {
		to  **sqlite.Stmt
		sql string
	}{
		{&st.begin, "BEGIN IMMEDIATE"},
		{&st.commit, "COMMIT"},
		{&st.rollback, "ROLLBACK"},
		{&st.savepoint, "SAVEPOINT batch"},
		{&st.rollbackTo, "ROLLBACK TO batch"},
		{&st.release, "RELEASE batch"},
		{&st.insertEvent, insertEventSQL},
		{&st.putUser, putUserSQL},
		{&st.putPrompt, putPromptSQL},
		{&st.insertChat, insertChatSQL},
		{&st.setChat, setChatSQL},
		{&st.touchChat, touchChatSQL},
		{&st.findChat, findChatSQL},
		{&st.chatOwner, chatOwnerSQL},
		{&st.chatModel, chatModelSQL},
		{&st.agentModel, agentModelSQL},
		{&st.insertAgent, insertAgentSQL},
		{&st.insertDetails, insertDetailsSQL},
		{&st.setHead, setHeadSQL},
		{&st.setWaits, setWaitsSQL},
		{&st.setSnapshot, setSnapshotSQL},
		{&st.endAgent, endAgentSQL},
		{&st.findAgent, findAgentSQL},
		{&st.insertTask, insertTaskSQL},
		{&st.setTask, setTaskSQL},
		{&st.endTask, endTaskSQL},
		{&st.findTask, findTaskSQL},
		{&st.insertMessage, insertMessageSQL},
		{&st.placeMessage, placeMessageSQL},
		{&st.adopt, adoptSQL},
		{&st.putRecord, putRecordSQL},
		{&st.insertCall, insertCallSQL},
		{&st.insertInput, insertInputSQL},
		{&st.setCall, setCallSQL},
		{&st.findCall, findCallSQL},
		{&st.insertModelCall, insertModelCallSQL},
		{&st.insertItem, insertItemSQL},
		{&st.setItem, setItemSQL},
		{&st.insertArtifact, insertArtifactSQL},
	} {
		s, err := conn.Prepare(p.sql)
		if err != nil {
			return fmt.Errorf("preparing a statement: %w", err)
		}
		*p.to = s
	}
	return nil
}
