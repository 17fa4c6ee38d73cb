// This file reads messages and tasks.

package sqlite

import (
	"context"
	"fmt"

	"github.com/cadre-dev/cadre/internal/store"
)

const (
	messageColumns = `m.id, m.pos IS NULL, m.pos, a.id, m.role, m.kind, m.turn, m.call, m.parts, m.created_at`
	messageTables  = ` FROM messages m JOIN agents a ON a.n = m.agent `
	ofAgent        = `(SELECT n FROM agents WHERE id = ?1)`

	historySQL     = `SELECT ` + messageColumns + messageTables + `WHERE m.agent = ` + ofAgent + ` AND m.pos >= ?2 ORDER BY m.pos LIMIT ?3`
	queuedSQL      = `SELECT ` + messageColumns + messageTables + `WHERE m.agent = ` + ofAgent + ` AND m.pos IS NULL AND m.n > ?2 ORDER BY m.n LIMIT ?3`
	userMessageSQL = `SELECT ` + messageColumns + messageTables + `WHERE m.id = ?`
	messageRowSQL  = `SELECT ` + messageColumns + messageTables + `WHERE m.n = ?`
	findMessageSQL = `SELECT n, pos IS NULL, pos FROM messages WHERE id = ?2 AND agent = ` + ofAgent

	taskColumns = `t.id, c.id, c.user, a.id, t.number, t.type, t.name, t.instruction, t.sub_agent, t.turn, t.call,
  t.status, t.result, t.error, t.error_kind, t.reason, t.cause, t.metadata, t.created_at, t.updated_at`
	taskTables = ` FROM tasks t JOIN agents a ON a.n = t.agent JOIN chats c ON c.n = a.chat `

	taskSQL    = `SELECT ` + taskColumns + taskTables + `WHERE t.id = ?`
	taskRowSQL = `SELECT ` + taskColumns + taskTables + `WHERE t.n = ?`
	resultsSQL = `SELECT ` + taskColumns + taskTables + `WHERE t.agent = ` + ofAgent + ` AND t.number BETWEEN ?2 AND ?3 ORDER BY t.number`
	tasksSQL   = `SELECT ` + taskColumns + taskTables + `WHERE a.chat = (SELECT n FROM chats WHERE id = ?) ORDER BY t.n`
)

// everything is a limit that limits nothing.
const everything = -1

func scanMessage(c *columns) (store.Message, error) {
	m := store.Message{ID: c.text(), Pos: -1}
	queued := c.bool()
	if pos := c.int(); !queued {
		m.Pos = pos
	}
	m.Agent = c.text()
	if m.ID == "" {
		m.ID = store.MessageID(m.Agent, m.Pos)
	}
	m.Role, m.Kind, m.Turn, m.Call = c.text(), c.text(), c.int(), c.text()
	m.Parts, m.CreatedAt = c.blob(), c.int64()
	return m, nil
}

// History implements store.Store.
func (s *Store) History(ctx context.Context, agent string, from int) ([]store.Message, error) {
	return readList(ctx, s, "reading the history of "+agent, historySQL, func(p *params) {
		p.text(agent)
		p.ints(int64(from), everything)
	}, scanMessage)
}

// Messages implements store.Store: the placed ones by position, then the
// queued ones by arrival.
func (s *Store) Messages(ctx context.Context, agent string, page store.Page) ([]store.Message, error) {
	var all []store.Message
	err := s.readers.snapshot(ctx, func(r *reader) error {
		from, err := r.after(agent, page.After)
		if err != nil {
			return err
		}
		limit := limitOf(page)
		if !from.queued {
			all, err = list(r, historySQL, func(p *params) {
				p.text(agent)
				p.ints(from.pos, limit)
			}, scanMessage)
			if err != nil {
				return err
			}
		}
		if limit >= 0 {
			limit -= int64(len(all))
		}
		queued, err := list(r, queuedSQL, func(p *params) {
			p.text(agent)
			p.ints(from.n, limit)
		}, scanMessage)
		all = append(all, queued...)
		return err
	})
	if err != nil {
		return nil, failure("reading the messages of "+agent, err)
	}
	return all, nil
}

// start is where a page of messages begins: at a position, or among the
// queued ones behind row n.
type start struct {
	pos    int64
	queued bool
	n      int64
}

func (r *reader) after(agent, id string) (start, error) {
	if id == "" {
		return start{}, nil
	}
	if pos, ok := parseMessageID(id, agent); ok {
		return start{pos: int64(pos) + 1}, nil
	}
	found, err := one(r, findMessageSQL, func(p *params) { p.texts(agent, id) }, func(c *columns) (start, error) {
		f := start{n: c.int64(), queued: c.bool()}
		if !f.queued {
			f = start{pos: c.int64() + 1}
		}
		return f, nil
	})
	if err != nil {
		return start{}, fmt.Errorf("message %s: %w", id, err)
	}
	return *found, nil
}

// UserMessage implements store.Store.
func (s *Store) UserMessage(ctx context.Context, id string) (*store.Message, error) {
	return readOne(ctx, s, "message", id, userMessageSQL, func(p *params) { p.text(id) }, scanMessage)
}

func scanTask(c *columns) (store.Task, error) {
	return store.Task{
		ID: c.text(), ChatID: c.text(), UserID: c.text(), Agent: c.text(), Number: c.int(),
		Type: c.text(), Name: c.text(), Instruction: c.text(), SubAgentID: c.text(), Turn: c.int(), Call: c.int(),
		Status: c.text(), Result: c.text(), Error: c.text(), ErrorKind: c.text(), Reason: c.text(), Cause: c.text(),
		Metadata: c.blob(), CreatedAt: c.int64(), UpdatedAt: c.int64(),
	}, nil
}

// Task implements store.Store.
func (s *Store) Task(ctx context.Context, id string) (*store.Task, error) {
	return readOne(ctx, s, "task", id, taskSQL, func(p *params) { p.text(id) }, scanTask)
}

// Results implements store.Store.
func (s *Store) Results(ctx context.Context, parent string, first, size int) ([]store.Task, error) {
	return readList(ctx, s, "reading the results of "+parent, resultsSQL, func(p *params) {
		p.text(parent)
		p.ints(int64(first), int64(first)+int64(size)-1)
	}, scanTask)
}

// Tasks implements store.Store: parents before children, each one's in order.
func (s *Store) Tasks(ctx context.Context, chat string) ([]store.Task, error) {
	return readList(ctx, s, "reading the tasks of "+chat, tasksSQL, func(p *params) { p.text(chat) }, scanTask)
}
