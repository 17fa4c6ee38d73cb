// Package access says who may come in and how far: users, tokens, sessions and
// the one-time codes that become sessions. It knows nothing of HTTP and nothing
// of chats; whoever serves asks it who the bearer of a secret is.
//
// Secrets are random, shown once and kept as SHA-256 hashes: they have too much
// entropy for a slow hash to add anything.
package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
)

// Scope is how far a key reaches. Each one includes those before it.
type Scope string

// The scopes.
const (
	Read  Scope = "read"  // look at what the user owns
	Write Scope = "write" // send messages, answer, stop, manage chats
	Admin Scope = "admin" // users, tokens, the audit log, folders of the machine
)

// ParseScope reads the name of a scope.
func ParseScope(s string) (Scope, error) {
	switch Scope(s) {
	case Read, Write, Admin:
		return Scope(s), nil
	}
	return "", fmt.Errorf("%q is no scope: say read, write or admin", s)
}

// Allows tells whether s reaches as far as what is needed.
func (s Scope) Allows(need Scope) bool { return s.rank() >= need.rank() && s.rank() > 0 }

func (s Scope) rank() int {
	switch s {
	case Read:
		return 1
	case Write:
		return 2
	case Admin:
		return 3
	}
	return 0
}

// Identity is who has come in.
type Identity struct {
	User  store.User
	Key   store.Key
	Scope Scope
}

// The ways in which somebody is not let in.
var (
	ErrUnknown = errors.New("the key is not known, or was revoked")
	ErrExpired = errors.New("the key has expired")
	ErrCode    = errors.New("the code was used already or is too old")
	ErrName    = errors.New("a user name has 1 to 40 letters, digits, dots, dashes or underscores, and begins with a letter or digit")
)

// LocalUser owns what is done on this machine without a login.
const LocalUser = "local"

const (
	tokenPrefix   = "cadre_" // so that a token that leaks is recognised
	sessionTime   = 30 * 24 * time.Hour
	codeTime      = 10 * time.Minute
	noteUse       = time.Minute // how often the use of a key is written down
	maxCodes      = 64
	forgetSession = 7 * 24 * time.Hour
)

// Gate lets people in. It is safe for concurrent use.
type Gate struct {
	store store.Access
	now   func() time.Time

	mu    sync.Mutex
	codes map[string]code // by hash
	used  map[string]int64
	bound map[string]map[*binding]struct{} // by key: what ends when it is revoked
}

type code struct {
	user    string
	scope   Scope
	expires time.Time
}

// binding has an address of its own.
type binding struct{ cancel context.CancelFunc }

// New makes a gate; now may be nil.
func New(st store.Access, now func() time.Time) *Gate {
	if now == nil {
		now = time.Now
	}
	return &Gate{store: st, now: now, codes: map[string]code{}, used: map[string]int64{}, bound: map[string]map[*binding]struct{}{}}
}

func (g *Gate) millis() int64 { return g.now().UnixMilli() }

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func newSecret() string { return tokenPrefix + strings.ToLower(rand.Text()+rand.Text()) }

// EnsureUser makes sure that a user is there.
func (g *Gate) EnsureUser(ctx context.Context, id, name string) error {
	err := g.store.AddUser(ctx, store.User{ID: id, Name: name, CreatedAt: g.millis()})
	if errors.Is(err, store.ErrDuplicate) {
		return nil
	}
	return err
}

var userName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,39}$`)

// AddUser adds a user. The name in small letters is the id, which is never
// given twice; "me" is taken, as it stands for whoever asks.
func (g *Gate) AddUser(ctx context.Context, name string) (store.User, error) {
	u := store.User{ID: strings.ToLower(name), Name: name, CreatedAt: g.millis()}
	if !userName.MatchString(u.ID) || u.ID == "me" {
		return store.User{}, ErrName
	}
	return u, g.store.AddUser(ctx, u)
}

// RemoveUser shuts a user out, open connections included.
func (g *Gate) RemoveUser(ctx context.Context, id string) error {
	keys, err := g.store.Keys(ctx, store.KeyQuery{User: id})
	if err != nil {
		return err
	}
	if err := g.store.RemoveUser(ctx, id, g.millis()); err != nil {
		return err
	}
	for _, k := range keys {
		g.unbind(k.ID)
	}
	return nil
}

// NewToken makes a token and returns its secret, which is shown once. A
// lifetime of 0 is for ever.
func (g *Gate) NewToken(ctx context.Context, user, name string, scope Scope, lifetime time.Duration) (store.Key, string, error) {
	return g.newKey(ctx, store.KeyToken, user, name, scope, lifetime)
}

func (g *Gate) newKey(ctx context.Context, kind store.KeyKind, user, name string, scope Scope, lifetime time.Duration) (store.Key, string, error) {
	users, err := g.store.Users(ctx)
	if err != nil {
		return store.Key{}, "", err
	}
	known := false
	for _, u := range users {
		known = known || u.ID == user
	}
	if !known {
		return store.Key{}, "", fmt.Errorf("user %s: %w", user, store.ErrNotFound)
	}
	secret := newSecret()
	k := store.Key{
		ID: "key-" + strings.ToLower(rand.Text()[:12]), UserID: user, Kind: kind, Name: name, Scope: string(scope),
		Hash: hashOf(secret), CreatedAt: g.millis(),
	}
	if lifetime > 0 {
		k.ExpiresAt = g.now().Add(lifetime).UnixMilli()
	}
	if err := g.store.AddKey(ctx, k); err != nil {
		return store.Key{}, "", err
	}
	return k, secret, nil
}

// Revoke ends a key and everything that was opened with it.
func (g *Gate) Revoke(ctx context.Context, id string) error {
	if err := g.store.RevokeKey(ctx, id, g.millis()); err != nil {
		return err
	}
	g.unbind(id)
	return nil
}

// Identify tells who bears a secret of the given kind.
func (g *Gate) Identify(ctx context.Context, kind store.KeyKind, secret string) (Identity, error) {
	k, err := g.store.KeyByHash(ctx, hashOf(secret))
	if errors.Is(err, store.ErrNotFound) {
		return Identity{}, ErrUnknown
	}
	if err != nil {
		return Identity{}, err
	}
	now := g.millis()
	switch {
	case k.RevokedAt > 0, k.Kind != kind:
		return Identity{}, ErrUnknown
	case k.ExpiresAt > 0 && k.ExpiresAt <= now:
		return Identity{}, ErrExpired
	}
	u, err := g.store.User(ctx, k.UserID)
	if err != nil {
		return Identity{}, err
	}
	return Identity{User: *u, Key: *k, Scope: Scope(k.Scope)}, g.note(ctx, k, now)
}

// note writes down that a key was used, now and then.
func (g *Gate) note(ctx context.Context, k *store.Key, now int64) error {
	g.mu.Lock()
	last := max(g.used[k.ID], k.UsedAt)
	due := now-last >= noteUse.Milliseconds()
	if due {
		if len(g.used) > 4096 {
			clear(g.used)
		}
		g.used[k.ID] = now
	}
	g.mu.Unlock()
	if !due {
		return nil
	}
	if err := g.store.UseKey(ctx, k.ID, now); err != nil && !errors.Is(err, store.ErrUnavailable) {
		return err
	}
	return nil // a full disk locks nobody out
}

// NewCode makes a code that can be exchanged for a session once, soon.
func (g *Gate) NewCode(user string, scope Scope) (secret string, expires time.Time) {
	secret, expires = strings.ToLower(rand.Text()), g.now().Add(codeTime)
	g.mu.Lock()
	defer g.mu.Unlock()
	for h, c := range g.codes {
		if !c.expires.After(g.now()) || len(g.codes) >= maxCodes {
			delete(g.codes, h)
		}
	}
	g.codes[hashOf(secret)] = code{user, scope, expires}
	return secret, expires
}

// Exchange makes a session of a code and returns the secret of it.
func (g *Gate) Exchange(ctx context.Context, secret, name string) (store.Key, string, error) {
	g.mu.Lock()
	h := hashOf(secret)
	c, ok := g.codes[h]
	delete(g.codes, h)
	g.mu.Unlock()
	if !ok || !c.expires.After(g.now()) {
		return store.Key{}, "", ErrCode
	}
	return g.session(ctx, c.user, name, c.scope, sessionTime)
}

// Login makes a session of a token. It ends no later than the token does.
func (g *Gate) Login(ctx context.Context, token, name string) (store.Key, string, error) {
	id, err := g.Identify(ctx, store.KeyToken, token)
	if err != nil {
		return store.Key{}, "", err
	}
	lifetime := sessionTime
	if id.Key.ExpiresAt > 0 {
		lifetime = min(lifetime, time.UnixMilli(id.Key.ExpiresAt).Sub(g.now()))
	}
	return g.session(ctx, id.User.ID, name, id.Scope, lifetime)
}

func (g *Gate) session(ctx context.Context, user, name string, scope Scope, lifetime time.Duration) (store.Key, string, error) {
	if err := g.store.ForgetKeys(ctx, g.now().Add(-forgetSession).UnixMilli()); err != nil {
		return store.Key{}, "", err
	}
	return g.newKey(ctx, store.KeySession, user, name, scope, lifetime)
}

// Bind returns a context that ends when the key is revoked or expires, for
// what stays open: a stream. The function has to be called in the end. Who was
// revoked between Identify and Bind is found out by a second look.
func (g *Gate) Bind(ctx context.Context, id Identity) (context.Context, context.CancelFunc) {
	var cancel context.CancelFunc
	if id.Key.ExpiresAt > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.UnixMilli(id.Key.ExpiresAt).Sub(g.now()))
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	b := &binding{cancel}
	g.mu.Lock()
	if g.bound[id.Key.ID] == nil {
		g.bound[id.Key.ID] = map[*binding]struct{}{}
	}
	g.bound[id.Key.ID][b] = struct{}{}
	g.mu.Unlock()
	if k, err := g.store.KeyByHash(ctx, id.Key.Hash); errors.Is(err, store.ErrNotFound) || err == nil && k.RevokedAt > 0 {
		cancel()
	}
	return ctx, func() {
		cancel()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.bound[id.Key.ID], b)
		if len(g.bound[id.Key.ID]) == 0 {
			delete(g.bound, id.Key.ID)
		}
	}
}

func (g *Gate) unbind(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for b := range g.bound[key] {
		b.cancel()
	}
}
