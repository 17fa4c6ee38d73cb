package access_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// clock is a time that the test moves.
type clock struct{ now time.Time }

func newGate(t *testing.T) (*access.Gate, *sqlite.Store, *clock, string) {
	t.Helper()
	dir := t.TempDir()
	st, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &clock{time.Unix(1_800_000_000, 0)}
	g := access.New(st, func() time.Time { return c.now })
	if err := g.EnsureUser(t.Context(), access.LocalUser, "Anna"); err != nil {
		t.Fatal(err)
	}
	return g, st, c, dir
}

func TestScopes(t *testing.T) {
	t.Parallel()
	order := []access.Scope{access.Read, access.Write, access.Admin}
	for i, have := range order {
		for k, need := range order {
			if have.Allows(need) != (i >= k) {
				t.Errorf("%s allows %s: %v", have, need, have.Allows(need))
			}
		}
	}
	if access.Scope("").Allows("") || access.Scope("root").Allows(access.Read) {
		t.Error("an unknown scope allows something")
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	g, st, c, _ := newGate(t)
	ctx := t.Context()
	k, secret, err := g.NewToken(ctx, access.LocalUser, "x", access.Write, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	id, err := g.Identify(ctx, store.KeyToken, secret)
	if err != nil || id.Scope != access.Write || id.User.Name != "Anna" {
		t.Fatalf("got %+v, %v", id, err)
	}
	keys, err := st.Keys(ctx, store.KeyQuery{})
	if err != nil || len(keys) != 1 || keys[0].UsedAt == 0 || strings.Contains(keys[0].Hash, secret) {
		t.Errorf("the key is kept as %+v, %v", keys, err)
	}
	if _, err := g.Identify(ctx, store.KeySession, secret); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("a token is taken for a session: %v", err)
	}
	bound, release := g.Bind(ctx, id)
	defer release()
	if err := g.Revoke(ctx, k.ID); err != nil {
		t.Fatal(err)
	}
	if bound.Err() == nil {
		t.Error("what was opened with the key goes on")
	}
	if late, done := g.Bind(ctx, id); late.Err() == nil {
		t.Error("a revoked key opens something")
	} else {
		done()
	}
	if _, err := g.Identify(ctx, store.KeyToken, secret); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("a revoked key: %v", err)
	}
	_, secret, err = g.NewToken(ctx, access.LocalUser, "x", access.Read, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(time.Hour)
	if _, err := g.Identify(ctx, store.KeyToken, secret); !errors.Is(err, access.ErrExpired) {
		t.Errorf("an expired key: %v", err)
	}
	if _, _, err := g.NewToken(ctx, "nobody", "", access.Read, 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a token for nobody: %v", err)
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	g, _, _, _ := newGate(t)
	ctx := t.Context()
	for _, name := range []string{"", "me", "ME", "a b", "-a", "a/b", "ä", strings.Repeat("x", 41)} {
		if _, err := g.AddUser(ctx, name); !errors.Is(err, access.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := g.AddUser(ctx, "Berta"); err != nil {
		t.Fatal(err)
	}
	_, secret, err := g.NewToken(ctx, "berta", "", access.Read, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.RemoveUser(ctx, "berta"); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Identify(ctx, store.KeyToken, secret); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("a removed user comes in: %v", err)
	}
	if _, err := g.AddUser(ctx, "berta"); !errors.Is(err, store.ErrDuplicate) {
		t.Errorf("an id is given twice: %v", err)
	}
	if err := g.RemoveUser(ctx, "berta"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	g, _, c, _ := newGate(t)
	ctx := t.Context()
	code, _ := g.NewCode(access.LocalUser, access.Write)
	k, secret, err := g.Exchange(ctx, code, "browser")
	if err != nil || k.Kind != store.KeySession || k.Scope != "write" || k.ExpiresAt == 0 {
		t.Fatalf("got %+v, %v", k, err)
	}
	if _, err := g.Identify(ctx, store.KeySession, secret); err != nil {
		t.Error(err)
	}
	if _, _, err := g.Exchange(ctx, code, ""); !errors.Is(err, access.ErrCode) {
		t.Errorf("a code works twice: %v", err)
	}
	code, expires := g.NewCode(access.LocalUser, access.Write)
	c.now = expires
	if _, _, err := g.Exchange(ctx, code, ""); !errors.Is(err, access.ErrCode) {
		t.Errorf("an old code works: %v", err)
	}
	_, token, err := g.NewToken(ctx, access.LocalUser, "", access.Read, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	k, _, err = g.Login(ctx, token, "")
	if err != nil || k.ExpiresAt > c.now.Add(time.Minute).UnixMilli() || k.Scope != "read" {
		t.Errorf("a session outlives its token: %+v, %v", k, err)
	}
}

func TestLocalFiles(t *testing.T) {
	t.Parallel()
	g, st, _, dir := newGate(t)
	ctx := t.Context()
	first, err := g.LocalToken(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "token"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if again, err := g.LocalToken(ctx, dir); err != nil || again != first {
		t.Errorf("a second start makes another token: %v", err)
	}
	keys, err := st.Keys(ctx, store.KeyQuery{})
	if err != nil || len(keys) != 1 {
		t.Fatalf("there are %d keys, %v", len(keys), err)
	}
	if err := g.Revoke(ctx, keys[0].ID); err != nil {
		t.Fatal(err)
	}
	if again, err := g.LocalToken(ctx, dir); err != nil || again == first {
		t.Errorf("a revoked token stays: %v", err)
	}
	if _, err := access.FindServer(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a server that does not run is found: %v", err)
	}
	remove, err := access.WriteServer(dir, access.Server{Address: "http://127.0.0.1:1", PID: 7})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := access.FindServer(dir); err != nil || s.PID != 7 {
		t.Errorf("found %+v, %v", s, err)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := access.FindServer(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a file: %v", err)
	}
}
