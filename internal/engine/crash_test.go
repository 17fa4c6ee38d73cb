package engine_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/enginetest"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// openEmbedded is the engine of this package on SQLite.
func openEmbedded(t *testing.T, s enginetest.Setup) (engine.Runtime, store.Store, func()) {
	t.Helper()
	st, err := sqlite.Open(s.Dir, sqlite.Options{Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(engine.Config{Store: st, Performer: s.Performer, Crash: s.Crash, NewID: s.NewID})
	return e, st, func() {
		e.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCrash lives through seeded lifecycles with crashes. A failing seed is
// replayed with CADRE_SEED=N go test -run TestCrash/N ./internal/engine.
func TestCrash(t *testing.T) {
	t.Parallel()
	seeds := crashSeeds
	if s := os.Getenv("CADRE_SOAK"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("CADRE_SOAK: %v", err)
		}
		seeds = n
	}
	from := 1
	if s := os.Getenv("CADRE_SEED"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("CADRE_SEED: %v", err)
		}
		from, seeds = n, 1
	}
	for i := range seeds {
		seed := uint64(from + i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			enginetest.Crash(t, openEmbedded, seed)
		})
	}
}

// TestCrashEverywhere crashes one life at each of its boundaries; a soak does
// so with a longer one too.
func TestCrashEverywhere(t *testing.T) {
	seeds := []uint64{3}
	if os.Getenv("CADRE_SOAK") != "" {
		seeds = append(seeds, 11)
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			enginetest.CrashEverywhere(t, openEmbedded, seed)
		})
	}
}
