// This file keeps users, keys and the audit log, and reads settings and read
// marks.

package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/cadre-dev/cadre/internal/store"
)

const (
	usersSQL      = `SELECT id, name, created_at FROM users WHERE removed_at = 0 ORDER BY n`
	addUserSQL    = `INSERT INTO users (id, name, created_at) VALUES (?, ?, ?)`
	removeUserSQL = `UPDATE users SET removed_at = ?1 WHERE id = ?2 AND removed_at = 0 RETURNING n`
	revokeAllSQL  = `UPDATE keys SET revoked_at = ?1 WHERE user = ?2 AND revoked_at = 0`

	keyColumns = `k.id, k.user, k.kind, k.name, k.scope, k.hash, k.created_at, k.expires_at, k.used_at, k.revoked_at`
	addKeySQL  = `INSERT INTO keys (id, user, kind, name, scope, hash, created_at, expires_at, used_at, revoked_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	keyByHashSQL = `SELECT ` + keyColumns + ` FROM keys k LEFT JOIN users u ON u.id = k.user
WHERE k.hash = ? AND ifnull(u.removed_at, 0) = 0`
	keysSQL       = `SELECT ` + keyColumns + ` FROM keys k WHERE (?1 = '' OR k.kind = ?1) ORDER BY k.n`
	keysOfUserSQL = `SELECT ` + keyColumns + ` FROM keys k WHERE k.user = ?2 AND (?1 = '' OR k.kind = ?1) ORDER BY k.n`
	useKeySQL     = `UPDATE keys SET used_at = max(used_at, ?1) WHERE id = ?2 RETURNING n`
	revokeKeySQL  = `UPDATE keys SET revoked_at = iif(revoked_at = 0, ?1, revoked_at) WHERE id = ?2 RETURNING n`
	forgetKeysSQL = `DELETE FROM keys WHERE kind = 'session' AND (expires_at > 0 AND expires_at < ?1 OR revoked_at > 0 AND revoked_at < ?1)`

	settingsSQL    = `SELECT body FROM settings WHERE user = ?`
	readMarkSQL    = `SELECT c.id, r.seq FROM chats c JOIN read_marks r ON r.n = c.n WHERE c.id = ?`
	readMarkRowSQL = `SELECT c.id, r.seq FROM read_marks r JOIN chats c ON c.n = r.n WHERE r.n = ?`

	addAuditSQL = `INSERT INTO audit (at, user, key, action, target, address, detail) VALUES (?, ?, ?, ?, ?, ?, ?)`
	auditsSQL   = `SELECT n, at, user, key, action, target, address, detail FROM audit
WHERE n < ?1 AND (?2 = '' OR user = ?2) AND (?3 = '' OR action = ?3) ORDER BY n DESC LIMIT ?4`
)

var _ store.Access = (*Store)(nil)

// change runs one statement that is no change of a document. With found it has
// to return a row, or there is nothing with that id.
func (s *Store) change(ctx context.Context, doing, sql string, found bool, with func(*params)) error {
	return s.aside(ctx, doing, func(w *writer) error { return w.change(sql, found, with) })
}

func (w *writer) change(sql string, found bool, with func(*params)) error {
	stmt, err := w.conn.Prepare(sql)
	if err != nil {
		return err
	}
	p := bind(stmt)
	with(&p)
	row, err := stmt.Step()
	if err = errors.Join(err, stmt.Reset()); err != nil {
		return err
	}
	if found && !row {
		return store.ErrNotFound
	}
	return nil
}

func scanUser(c *columns) (store.User, error) {
	return store.User{ID: c.text(), Name: c.text(), CreatedAt: c.int64()}, nil
}

// Users implements store.Access.
func (s *Store) Users(ctx context.Context) ([]store.User, error) {
	return readList(ctx, s, "reading the users", usersSQL, nil, scanUser)
}

// AddUser implements store.Access.
func (s *Store) AddUser(ctx context.Context, u store.User) error {
	return s.change(ctx, "adding user "+u.ID, addUserSQL, false, func(p *params) {
		p.texts(u.ID, u.Name)
		p.int(u.CreatedAt)
	})
}

// RemoveUser implements store.Access.
func (s *Store) RemoveUser(ctx context.Context, id string, at int64) error {
	with := func(p *params) {
		p.int(at)
		p.text(id)
	}
	return s.aside(ctx, "removing user "+id, func(w *writer) error {
		if err := w.change(removeUserSQL, true, with); err != nil {
			return err
		}
		return w.change(revokeAllSQL, false, with)
	})
}

func scanKey(c *columns) (store.Key, error) {
	return store.Key{
		ID: c.text(), UserID: c.text(), Kind: store.KeyKind(c.text()), Name: c.text(), Scope: c.text(), Hash: c.text(),
		CreatedAt: c.int64(), ExpiresAt: c.int64(), UsedAt: c.int64(), RevokedAt: c.int64(),
	}, nil
}

// AddKey implements store.Access.
func (s *Store) AddKey(ctx context.Context, k store.Key) error {
	return s.change(ctx, "adding key "+k.ID, addKeySQL, false, func(p *params) {
		p.texts(k.ID, k.UserID, string(k.Kind), k.Name, k.Scope, k.Hash)
		p.ints(k.CreatedAt, k.ExpiresAt, k.UsedAt, k.RevokedAt)
	})
}

// KeyByHash implements store.Access.
func (s *Store) KeyByHash(ctx context.Context, hash string) (*store.Key, error) {
	return readOne(ctx, s, "key", "with that hash", keyByHashSQL, func(p *params) { p.text(hash) }, scanKey)
}

// Keys implements store.Access.
func (s *Store) Keys(ctx context.Context, q store.KeyQuery) ([]store.Key, error) {
	sql := keysSQL
	if q.User != "" {
		sql = keysOfUserSQL
	}
	return readList(ctx, s, "reading the keys", sql, func(p *params) {
		p.text(string(q.Kind))
		if q.User != "" {
			p.text(q.User)
		}
	}, scanKey)
}

// UseKey implements store.Access.
func (s *Store) UseKey(ctx context.Context, id string, at int64) error {
	return s.change(ctx, "noting the use of key "+id, useKeySQL, true, func(p *params) {
		p.int(at)
		p.text(id)
	})
}

// RevokeKey implements store.Access.
func (s *Store) RevokeKey(ctx context.Context, id string, at int64) error {
	return s.change(ctx, "revoking key "+id, revokeKeySQL, true, func(p *params) {
		p.int(at)
		p.text(id)
	})
}

// ForgetKeys implements store.Access.
func (s *Store) ForgetKeys(ctx context.Context, before int64) error {
	return s.change(ctx, "forgetting old sessions", forgetKeysSQL, false, func(p *params) { p.int(before) })
}

func scanSettings(c *columns) (json.RawMessage, error) { return c.blob(), nil }

// Settings implements store.Access.
func (s *Store) Settings(ctx context.Context, user string) (json.RawMessage, error) {
	body, err := readOne(ctx, s, "settings of", user, settingsSQL, func(p *params) { p.text(user) }, scanSettings)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return *body, nil
}

func scanReadMark(c *columns) (store.ReadMark, error) {
	return store.ReadMark{ChatID: c.text(), Seq: c.int64()}, nil
}

// ReadMark implements store.Access.
func (s *Store) ReadMark(ctx context.Context, chat string) (int64, error) {
	mark, err := readOne(ctx, s, "read mark of", chat, readMarkSQL, func(p *params) { p.text(chat) }, scanReadMark)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return mark.Seq, nil
}

// Audit implements store.Access.
func (s *Store) Audit(ctx context.Context, a store.Audit) error {
	return s.change(ctx, "writing the audit log", addAuditSQL, false, func(p *params) {
		p.int(a.At)
		p.texts(a.UserID, a.Key, a.Action, a.Target, a.Address, a.Detail)
	})
}

// Audits implements store.Access.
func (s *Store) Audits(ctx context.Context, q store.AuditQuery) ([]store.Audit, error) {
	before := q.Before
	if before <= 0 {
		before = math.MaxInt64
	}
	return readList(ctx, s, "reading the audit log", auditsSQL, func(p *params) {
		p.int(before)
		p.texts(q.User, q.Action)
		p.int(limitOf(store.Page{Limit: q.Limit}))
	}, func(c *columns) (store.Audit, error) {
		return store.Audit{
			Number: c.int64(), At: c.int64(), UserID: c.text(), Key: c.text(),
			Action: c.text(), Target: c.text(), Address: c.text(), Detail: c.text(),
		}, nil
	})
}
