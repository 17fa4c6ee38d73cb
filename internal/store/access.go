// Who may come in, and what was done: users, keys, settings, the audit log.

package store

import (
	"context"
	"encoding/json"
)

// Access is what a database keeps beside the documents of agents. Nothing that
// it writes is a numbered change: it belongs to the server, not to the log.
// (Settings and read marks are written by Commit, as windows follow them.) Each
// call that writes is durable when it returns.
type Access interface {
	User(ctx context.Context, id string) (*User, error)
	Users(ctx context.Context) ([]User, error) // those that were not removed, oldest first
	AddUser(ctx context.Context, u User) error // ErrDuplicate if the id was ever given
	// RemoveUser shuts a user out: all keys are revoked at the given time. What
	// the user owns is kept.
	RemoveUser(ctx context.Context, id string, at int64) error

	AddKey(ctx context.Context, k Key) error
	KeyByHash(ctx context.Context, hash string) (*Key, error) // ErrNotFound also if its user was removed
	Keys(ctx context.Context, q KeyQuery) ([]Key, error)      // oldest first
	UseKey(ctx context.Context, id string, at int64) error
	RevokeKey(ctx context.Context, id string, at int64) error // ErrNotFound if there is none; twice is once
	// ForgetKeys drops sessions that ended before the given time.
	ForgetKeys(ctx context.Context, before int64) error

	Settings(ctx context.Context, user string) (json.RawMessage, error) // nil: none yet
	ReadMark(ctx context.Context, chat string) (int64, error)           // up to which change its owner has read it

	Audit(ctx context.Context, a Audit) error
	Audits(ctx context.Context, q AuditQuery) ([]Audit, error) // newest first
}

// KeyKind tells tokens from sessions.
type KeyKind string

// The kinds of key.
const (
	KeyToken   KeyKind = "token"   // carried by a program
	KeySession KeyKind = "session" // carried by a browser, as a cookie
)

// Key lets its bearer in as a user. Only a hash of the secret is kept.
type Key struct {
	ID        string  `json:"id"`
	UserID    string  `json:"userId"`
	Kind      KeyKind `json:"kind"`
	Name      string  `json:"name"`
	Scope     string  `json:"scope"` // read, write, admin
	Hash      string  `json:"-"`
	CreatedAt int64   `json:"createdAt"`
	ExpiresAt int64   `json:"expiresAt,omitempty"` // 0: never
	UsedAt    int64   `json:"usedAt,omitempty"`
	RevokedAt int64   `json:"revokedAt,omitempty"`
}

// KeyQuery selects keys; empty fields select all.
type KeyQuery struct {
	User string
	Kind KeyKind
}

// Audit is one line of the audit log: who did what to what, from where.
type Audit struct {
	Number  int64  `json:"number"` // given by the store
	At      int64  `json:"at"`
	UserID  string `json:"userId,omitempty"`
	Key     string `json:"keyId,omitempty"`
	Action  string `json:"action"`
	Target  string `json:"target,omitempty"`
	Address string `json:"address,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// AuditQuery selects lines of the audit log older than number Before (0: from
// the newest on).
type AuditQuery struct {
	User   string
	Action string
	Before int64
	Limit  int
}
