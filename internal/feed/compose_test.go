// This file holds that what the feed makes of committed entries is what the
// store would have told.

package feed_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/enginetest"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// compared is a store that composes each of its commits and compares that with
// what it reads. The engine commits one batch at a time.
type compared struct {
	store.Store
	t        *testing.T
	composer *feed.Composer
	made     *atomic.Int64
	read     *atomic.Int64
}

func (c *compared) Commit(ctx context.Context, b *store.Batch) error {
	if err := c.Store.Commit(ctx, b); err != nil {
		return err
	}
	if len(b.Entries) == 0 {
		return nil
	}
	first := b.Entries[0].Seq
	told, upTo, err := c.Changes(ctx, first-1, 0, store.Filter{})
	if err != nil || upTo != b.Entries[len(b.Entries)-1].Seq {
		c.t.Errorf("reading the changes from %d on: up to %d, %v", first, upTo, err)
		return nil
	}
	for i, e := range b.Entries {
		made, ok := c.composer.Compose(e)
		if !ok {
			c.read.Add(int64(len(told) - i))
			c.composer.Learn(told[i:])
			return nil
		}
		c.made.Add(1)
		c.compare(made, told[i], told[i+1:])
	}
	return nil
}

// compare holds a change beside that which was read. A document that a later
// change of the same batch touched, too, was read as that one left it.
func (c *compared) compare(made, told store.Change, later []store.Change) {
	names := func(change store.Change) (out []string) {
		for _, d := range change.Docs {
			out = append(out, d.Collection+"/"+d.ID)
		}
		return out
	}
	touched := map[string]bool{}
	for _, l := range later {
		for _, name := range names(l) {
			touched[name] = true
		}
	}
	if fmt.Sprint(names(made)) != fmt.Sprint(names(told)) {
		c.t.Errorf("change %d (%s) touches\n%v, the store says\n%v", told.Seq, told.Type, names(made), names(told))
		return
	}
	for i, name := range names(told) {
		got, want := text(made.Docs[i].Data), text(told.Docs[i].Data)
		if !touched[name] && got != want {
			c.t.Errorf("change %d (%s): %s is\n%s, the store says\n%s", told.Seq, told.Type, name, got, want)
		}
	}
	made.Docs, told.Docs = nil, nil
	if got, want := text(made)+made.User, text(told)+told.User; got != want {
		c.t.Errorf("change %d is\n%s, the store says\n%s", told.Seq, got, want)
	}
}

// text shows a document; no bytes and none at all are the same.
func text(v any) string { return fmt.Sprintf("%T %+v", v, v) }

// TestComposed lives whole lives of agents, crashes and all.
func TestComposed(t *testing.T) {
	var made, read atomic.Int64
	open := func(t *testing.T, s enginetest.Setup) (engine.Runtime, store.Store, func()) {
		t.Helper()
		disk, err := sqlite.Open(s.Dir, sqlite.Options{Readers: 1})
		if err != nil {
			t.Fatal(err)
		}
		st := &compared{Store: disk, t: t, composer: feed.NewComposer(), made: &made, read: &read}
		e := engine.New(engine.Config{Store: st, Performer: s.Performer, Crash: s.Crash, NewID: s.NewID})
		return e, st, func() {
			e.Close()
			if err := disk.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Run("lives", func(t *testing.T) {
		for seed := range uint64(5) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				enginetest.Crash(t, open, 1000+seed)
			})
		}
	})
	t.Logf("%d changes were made, %d had to be read", made.Load(), read.Load())
	if made.Load() < read.Load() {
		t.Errorf("only %d changes were made, %d had to be read", made.Load(), read.Load())
	}
}
