// This file tests copies: whole or not there, whatever happens meanwhile.

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cadre-dev/cadre/internal/store"
)

// wants makes sure that a copy is sound and has these chats.
func wants(t *testing.T, chats ...string) func(*Store) error {
	return func(s *Store) error {
		t.Helper()
		problems, err := s.Check(t.Context())
		if err != nil || len(problems) > 0 {
			return fmt.Errorf("%v %w", problems, err)
		}
		for _, id := range chats {
			if _, err := s.Chat(t.Context(), id); err != nil {
				return err
			}
		}
		return nil
	}
}

// opened is a store that is closed at the end, if it was not before.
func opened(t *testing.T, dir string) *Store {
	t.Helper()
	s := open(t, dir)
	t.Cleanup(func() { mustClose(t, s) })
	return s
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		all = append(all, e.Name())
	}
	return all
}

func TestBackupOfABusyStore(t *testing.T) {
	t.Parallel()
	s, to := opened(t, t.TempDir()), t.TempDir()
	commit(t, s, chatBatch("c1"))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				commit(t, s, chatBatch(fmt.Sprintf("d%d", i)))
			}
		}
	})
	for i := range 5 {
		file := filepath.Join(to, fmt.Sprintf("copy%d.db", i))
		if err := s.Backup(t.Context(), file, false, wants(t, "c1")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
	}
	close(stop)
	wg.Wait()
	if got := names(t, to); len(got) != 5 {
		t.Errorf("beside the copies there is more: %v", got)
	}
}

func TestBackupRefused(t *testing.T) {
	t.Parallel()
	s, to := opened(t, t.TempDir()), t.TempDir()
	commit(t, s, chatBatch("c1"))
	file := filepath.Join(to, "copy.db")
	if err := os.WriteFile(file, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), file, false, wants(t)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	damaged := errors.New("damaged")
	if err := s.Backup(t.Context(), file, true, func(*Store) error { return damaged }); !errors.Is(err, damaged) {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "precious" {
		t.Errorf("the file is %q now (%v)", b, err)
	}
	if err := s.Backup(t.Context(), file, true, wants(t, "c1")); err != nil {
		t.Error(err)
	}
	if got := names(t, to); len(got) != 1 {
		t.Errorf("beside the copy there is more: %v", got)
	}
}

// newCopy is a copy of a folder with one chat.
func newCopy(t *testing.T, chat string) string {
	t.Helper()
	s, file := opened(t, t.TempDir()), filepath.Join(t.TempDir(), "copy.db")
	commit(t, s, chatBatch(chat))
	if err := s.Backup(t.Context(), file, false, wants(t, chat)); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRestore(t *testing.T) {
	t.Parallel()
	file, dir := newCopy(t, "old"), t.TempDir()
	s := opened(t, dir)
	commit(t, s, chatBatch("new"))
	if _, err := Restore(t.Context(), dir, file, wants(t)); !errors.Is(err, store.ErrInUse) {
		t.Fatalf("while the folder is in use: %v", err)
	}
	mustClose(t, s)
	aside, err := Restore(t.Context(), dir, file, wants(t, "old"))
	if err != nil {
		t.Fatal(err)
	}
	s = opened(t, dir)
	if err := wants(t, "old")(s); err != nil {
		t.Error(err)
	}
	if _, err := s.Chat(t.Context(), "new"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the chat of before is still there: %v", err)
	}
	commit(t, s, chatBatch("next"))
	if err := looked(aside, wants(t, "new")); err != nil {
		t.Error("what was there before:", err)
	}
}

// TestRestoreNumbers: no number is given twice, and those that a restore has made
// void are known.
func TestRestoreNumbers(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		foreign bool
		void    []int64
		good    []int64
	}{
		"an earlier state": {void: []int64{2, 3}, good: []int64{0, 1, 4, 5}},
		"another folder":   {foreign: true, void: []int64{1, 2, 3}, good: []int64{4, 5}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir, file := t.TempDir(), filepath.Join(t.TempDir(), "copy.db")
			s := opened(t, dir)
			commit(t, s, chatBatch("first")) // 1
			if err := s.Backup(t.Context(), file, false, wants(t, "first")); err != nil {
				t.Fatal(err)
			}
			if test.foreign {
				file = newCopy(t, "other")
			}
			commit(t, s, chatBatch("second")) // 2
			commit(t, s, chatBatch("third"))  // 3
			mustClose(t, s)
			if _, err := Restore(t.Context(), dir, file, wants(t)); err != nil { // 4
				t.Fatal(err)
			}
			s = opened(t, dir)
			commit(t, s, chatBatch("fourth")) // 5
			changes, upTo, err := s.Changes(t.Context(), 0, 0, store.Filter{})
			if err != nil || upTo != 5 || len(changes) != 3 || changes[1].Type != restored || changes[1].Seq != 4 || changes[1].Docs != nil || changes[2].Seq != 5 {
				t.Errorf("the changes up to %d: %+v, %v", upTo, changes, err)
			}
			for _, since := range append(test.void, test.good...) {
				got, err := s.Replaced(t.Context(), since)
				if err != nil || got != slices.Contains(test.void, since) {
					t.Errorf("number %d is void: %v, %v", since, got, err)
				}
			}
			if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
				t.Errorf("the check says %q, %v", found, err)
			}
		})
	}
}

// TestRestoreWithALiveWAL: what a killed process left in the WAL belongs to the
// database that is kept, and never gets into the new one.
func TestRestoreWithALiveWAL(t *testing.T) {
	t.Parallel()
	file, from, dir := newCopy(t, "old"), t.TempDir(), t.TempDir()
	s := opened(t, from)
	for i := range 20 {
		commit(t, s, chatBatch(fmt.Sprintf("new%d", i)))
	}
	for _, name := range []string{"cadre.db", "cadre.db-wal"} { // as a kill leaves them
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil || len(b) == 0 {
			t.Fatalf("%s: %d bytes, %v", name, len(b), err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	aside, err := Restore(t.Context(), dir, file, wants(t, "old"))
	if err != nil {
		t.Fatal(err)
	}
	if err := wants(t, "old")(opened(t, dir)); err != nil {
		t.Error(err)
	}
	if err := looked(aside, wants(t, "new0", "new19")); err != nil {
		t.Error("what was there before:", err)
	}
}

// TestRestoreKilled: between any two of its steps the folder has one sound
// database, and the next restore clears away what was left.
func TestRestoreKilled(t *testing.T) {
	t.Parallel()
	file, dir := newCopy(t, "old"), t.TempDir()
	s := opened(t, dir)
	commit(t, s, chatBatch("new"))
	mustClose(t, s)
	fresh := filepath.Join(dir, dbName+".restoring")
	if err := os.WriteFile(fresh, []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	stillThere := func() {
		t.Helper()
		s := opened(t, dir)
		if err := wants(t, "new")(s); err != nil {
			t.Error(err)
		}
		mustClose(t, s)
	}
	stillThere()
	if _, err := setAside(filepath.Join(dir, dbName)); err != nil {
		t.Fatal(err)
	}
	stillThere()
	if _, err := Restore(t.Context(), dir, file, wants(t, "old")); err != nil {
		t.Fatal(err)
	}
	for _, name := range names(t, dir) {
		if strings.Contains(name, "restoring") {
			t.Errorf("%s was left behind", name)
		}
	}
}

func TestRestoreRefused(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(newCopy(t, "old"))
	if err != nil {
		t.Fatal(err)
	}
	sql := func(t *testing.T, file, text string) {
		t.Helper()
		conn, err := sqlite.OpenConn(file, sqlite.OpenReadWrite|sqlite.OpenCreate)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(sqlitex.ExecuteScript(conn, text, nil), conn.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		make func(t *testing.T, file string)
		want error
		text string
	}{
		{"nothing", func(*testing.T, string) {}, fs.ErrNotExist, ""},
		{"an empty file", func(t *testing.T, file string) { write(t, file, nil) }, ErrForeign, ""},
		{"rubbish", func(t *testing.T, file string) { write(t, file, []byte(strings.Repeat("rubbish", 1000))) }, ErrForeign, ""},
		{"a foreign database", func(t *testing.T, file string) { sql(t, file, "CREATE TABLE t (x)") }, ErrForeign, ""},
		{"half a copy", func(t *testing.T, file string) { write(t, file, whole[:len(whole)/2]) }, store.ErrCorrupt, ""},
		{"a newer layout", func(t *testing.T, file string) {
			write(t, file, whole)
			sql(t, file, "PRAGMA user_version = 999")
		}, nil, "newer version of cadre"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file, dir := filepath.Join(t.TempDir(), "copy.db"), t.TempDir()
			tt.make(t, file)
			s := opened(t, dir)
			commit(t, s, chatBatch("new"))
			mustClose(t, s)
			_, err := Restore(t.Context(), dir, file, wants(t))
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v", err)
			}
			if err := wants(t, "new")(opened(t, dir)); err != nil {
				t.Error(err)
			}
		})
	}
}

func write(t *testing.T, file string, b []byte) {
	t.Helper()
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
