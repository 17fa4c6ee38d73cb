// This file runs the suite that every store passes.

package sqlite

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerEnv); dir != "" {
		own(dir)
	}
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, dir string) store.Store {
		t.Helper()
		return open(t, dir)
	})
}

func open(tb testing.TB, dir string) *Store {
	tb.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestServedConformance(t *testing.T) {
	storetest.RunServed(t, func(t *testing.T, dir string) storetest.Served {
		t.Helper()
		return open(t, dir)
	})
}
