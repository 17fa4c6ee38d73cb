// This file runs what a server needs of a store beyond store.Store: access and
// lists.

package storetest

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/store"
)

// Served is a store that a server can work on.
type Served interface {
	store.Store
	store.Access
	store.Lists
}

// RunServed holds a store to the contracts of store.Access and store.Lists.
func RunServed(t *testing.T, open func(t *testing.T, dir string) Served) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*suite, Served)
	}{
		{"AccessUsers", testAccessUsers},
		{"AccessKeys", testAccessKeys},
		{"AccessSettings", testAccessSettings},
		{"AccessReadMarks", testAccessReadMarks},
		{"AccessAudit", testAccessAudit},
		{"AccessIsDurable", testAccessIsDurable},

		{"ListChats", testListChats},
		{"ListAgents", testListAgents},
		{"ListRunning", testListRunning},
		{"ListTasks", testListTasks},
		{"ListMessages", testListMessages},
		{"ListCalls", testListCalls},
		{"ListItems", testListItems},
		{"ListEvents", testListEvents},
		{"PagesOfBytes", testPagesOfBytes},
		{"Spending", testSpending},
		{"DeletedAfter", testDeletedAfter},
		{"Living", testLiving},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &suite{T: t, dir: t.TempDir()}
			var served Served
			s.open = func(t *testing.T, dir string) store.Store {
				t.Helper()
				served = open(t, dir)
				return served
			}
			s.Store = s.open(t, s.dir)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("closing the store: %v", err)
				}
			})
			test.run(s, served)
			if !t.Failed() {
				s.sound()
			}
		})
	}
}

// pages reads a list page by page, in both directions, with every size of page
// up to all of it, and wants the same rows each time; ids names a row.
func pages[T any](s *suite, what string, want []string, id func(T) string, read func(store.Window) ([]T, *store.Cursor, error)) {
	s.Helper()
	for limit := 1; limit <= len(want)+1; limit++ {
		for _, desc := range []bool{false, true} {
			var got []string
			w := store.Window{Limit: limit, Desc: desc}
			for range len(want) + 2 {
				rows, next, err := read(w)
				s.ok(err)
				if len(rows) > limit {
					s.Errorf("%s: a page of %d has %d", what, limit, len(rows))
				}
				for _, r := range rows {
					got = append(got, id(r))
				}
				if w.After = next; next == nil {
					break
				}
			}
			s.equal(got, turned(want, desc), what)
		}
	}
}
