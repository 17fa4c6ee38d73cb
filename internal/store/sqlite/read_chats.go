// This file reads users, chats, the inbox, artifacts and prompts.

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cadre-dev/cadre/internal/store"
)

const (
	userSQL = `SELECT id, name, created_at FROM users WHERE id = ?`

	chatColumns  = `c.id, c.user, c.title, c.role, c.model, c.dir, c.status, c.archived, c.created_at, c.updated_at`
	chatSQL      = `SELECT ` + chatColumns + ` FROM chats c WHERE c.id = ?`
	chatRowSQL   = `SELECT ` + chatColumns + ` FROM chats c WHERE c.n = ?`
	chatPlaceSQL = `SELECT updated_at, n FROM chats WHERE id = ?`
	chatsSQL     = `SELECT ` + chatColumns + ` FROM chats c WHERE (c.archived = 0 OR ?1) AND (c.updated_at, c.n) < (?2, ?3)
ORDER BY c.updated_at DESC, c.n DESC LIMIT ?4`
	chatsOfUserSQL = `SELECT ` + chatColumns + ` FROM chats c WHERE c.user = ?5 AND (c.archived = 0 OR ?1) AND (c.updated_at, c.n) < (?2, ?3)
ORDER BY c.updated_at DESC, c.n DESC LIMIT ?4`

	itemColumns = `i.id, c.id, i.user, a.id, i.path, i.role, i.turn, i.call, i.kind, i.action, i.reason, i.permit, i.detail, i.deadline,
  i.otherwise, i.status, i.how, i.by_whom, i.scope, i.answer, i.created_at, i.closed_at`
	itemTables = ` FROM inbox i JOIN chats c ON c.n = i.chat JOIN agents a ON a.n = i.agent `
	itemSQL    = `SELECT ` + itemColumns + itemTables + `WHERE i.id = ?`
	itemRowSQL = `SELECT ` + itemColumns + itemTables + `WHERE i.n = ?`
	// The parts of a query of the inbox.
	inboxSQL        = `SELECT ` + itemColumns + itemTables + `WHERE 1 = 1`
	inboxWaitingSQL = ` AND i.status <> 'closed'`
	inboxUserSQL    = ` AND i.user = ?`
	inboxChatSQL    = ` AND i.chat = (SELECT n FROM chats WHERE id = ?)`
	inboxAgentSQL   = ` AND i.agent = (SELECT n FROM agents WHERE id = ?)`
	inboxGrantedSQL = ` AND i.status = 'closed' AND i.how = 'allowed' AND i.kind = 'approval' AND i.scope NOT IN ('', 'once')`
	inboxOrderSQL   = ` ORDER BY i.n`

	artifactSQL = `SELECT f.id, c.id, a.id, f.name, f.media_type, f.size, f.data, f.created_at
FROM artifacts f JOIN chats c ON c.n = f.chat LEFT JOIN agents a ON a.n = f.agent WHERE f.id = ?`
	promptSQL = `SELECT text FROM prompts WHERE id = ?`
)

// User implements store.Store.
func (s *Store) User(ctx context.Context, id string) (*store.User, error) {
	return readOne(ctx, s, "user", id, userSQL, func(p *params) { p.text(id) }, func(c *columns) (store.User, error) {
		return store.User{ID: c.text(), Name: c.text(), CreatedAt: c.int64()}, nil
	})
}

func scanChat(c *columns) (store.Chat, error) {
	return store.Chat{
		ID: c.text(), UserID: c.text(), Title: c.text(), Role: c.text(), Model: c.text(), Dir: c.text(),
		Status: c.text(), Archived: c.bool(), CreatedAt: c.int64(), UpdatedAt: c.int64(),
	}, nil
}

// Chat implements store.Store.
func (s *Store) Chat(ctx context.Context, id string) (*store.Chat, error) {
	return readOne(ctx, s, "chat", id, chatSQL, func(p *params) { p.text(id) }, scanChat)
}

// Chats implements store.Store.
func (s *Store) Chats(ctx context.Context, q store.ChatQuery) ([]store.Chat, error) {
	type place struct{ updated, n int64 }
	var all []store.Chat
	err := s.readers.snapshot(ctx, func(r *reader) (err error) {
		after := &place{math.MaxInt64, math.MaxInt64}
		if q.Page.After != "" {
			after, err = one(r, chatPlaceSQL, func(p *params) { p.text(q.Page.After) }, func(c *columns) (place, error) {
				return place{c.int64(), c.int64()}, nil
			})
			if err != nil {
				return fmt.Errorf("chat %s: %w", q.Page.After, err)
			}
		}
		sql := chatsSQL
		if q.User != "" {
			sql = chatsOfUserSQL
		}
		all, err = list(r, sql, func(p *params) {
			p.bool(q.Archived)
			p.ints(after.updated, after.n, limitOf(q.Page))
			if q.User != "" {
				p.text(q.User)
			}
		}, scanChat)
		return err
	})
	if err != nil {
		return nil, failure("reading the chats", err)
	}
	return all, nil
}

func limitOf(p store.Page) int64 {
	if p.Limit <= 0 {
		return everything
	}
	return int64(p.Limit)
}

func scanItem(c *columns) (store.Item, error) {
	return store.Item{
		ID: c.text(), ChatID: c.text(), UserID: c.text(), Agent: c.text(), Path: c.text(), Role: c.text(), Turn: c.int(), Call: c.int(),
		Kind: c.text(), Action: c.text(), Reason: c.text(), Grant: c.text(), Detail: c.blob(), Deadline: c.int64(), Default: c.text(),
		Status: c.text(), How: c.text(), By: c.text(), Scope: c.text(), Answer: c.text(), CreatedAt: c.int64(), ClosedAt: c.int64(),
	}, nil
}

// Item implements store.Store.
func (s *Store) Item(ctx context.Context, id string) (*store.Item, error) {
	return readOne(ctx, s, "inbox item", id, itemSQL, func(p *params) { p.text(id) }, scanItem)
}

// Inbox implements store.Store. Hidden items are among those that wait.
func (s *Store) Inbox(ctx context.Context, q store.InboxQuery) ([]store.Item, error) {
	sql := inboxSQL
	switch {
	case q.Granted:
		sql += inboxGrantedSQL
	case !q.Closed:
		sql += inboxWaitingSQL
	}
	var args []string
	for _, part := range []struct{ value, sql string }{
		{q.User, inboxUserSQL}, {q.Chat, inboxChatSQL}, {q.Agent, inboxAgentSQL},
	} {
		if part.value != "" {
			sql += part.sql
			args = append(args, part.value)
		}
	}
	return readList(ctx, s, "reading the inbox", sql+inboxOrderSQL, func(p *params) { p.texts(args...) }, scanItem)
}

// Artifact implements store.Store.
func (s *Store) Artifact(ctx context.Context, id string) (*store.Artifact, error) {
	return readOne(ctx, s, "artifact", id, artifactSQL, func(p *params) { p.text(id) }, func(c *columns) (store.Artifact, error) {
		return store.Artifact{
			ID: c.text(), ChatID: c.text(), Agent: c.text(), Name: c.text(), MediaType: c.text(),
			Size: c.int64(), Data: c.blob(), CreatedAt: c.int64(),
		}, nil
	})
}

// Prompt implements store.Store.
func (s *Store) Prompt(ctx context.Context, id string) (string, error) {
	text, err := readOne(ctx, s, "prompt", id, promptSQL, func(p *params) { p.text(id) }, func(c *columns) (string, error) {
		return c.text(), nil
	})
	if err != nil {
		return "", err
	}
	return *text, nil
}

// LastSeq implements store.Store.
func (s *Store) LastSeq(ctx context.Context) (int64, error) {
	var last int64
	err := s.readers.use(ctx, func(r *reader) error {
		return r.query(lastSeqSQL, nil, func(c *columns) error {
			last = c.int64()
			return nil
		})
	})
	if err != nil && !errors.Is(err, errClosed) {
		err = failure("reading the newest change number", err)
	}
	return last, err
}
