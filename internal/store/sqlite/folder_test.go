// This file tests the data folder: its owner, its readers, full disks, damage.

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cadre-dev/cadre/internal/store"
)

func mustClose(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// chatBatch starts a chat with its orchestrator.
func chatBatch(id string) *store.Batch {
	return &store.Batch{Entries: []*store.Entry{{
		Chat: id, Agent: id, Type: "Created", At: 1, Body: []byte("{}"),
		Docs: []store.Doc{
			store.NewChat{Chat: store.Chat{ID: id, UserID: "anna", Title: "title of " + id}},
			store.NewAgent{Agent: store.Agent{ID: id, ChatID: id, Path: "main"}},
		},
	}}}
}

func noteBatch(agent string) *store.Batch {
	return &store.Batch{Entries: []*store.Entry{{Chat: agent, Agent: agent, Type: "Noted", Body: make([]byte, 3000)}}}
}

func commit(t *testing.T, s *Store, b *store.Batch) {
	t.Helper()
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

func TestOneOwner(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	_, err := Open(dir, Options{})
	if !errors.Is(err, store.ErrInUse) {
		t.Fatalf("the second owner got %v, want ErrInUse", err)
	}
	for _, want := range []string{"process " + strconv.Itoa(os.Getpid()), "stop it", "--data"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q does not say %q", err, want)
		}
	}
	commit(t, s, chatBatch("c1"))
	mustClose(t, s)

	s = open(t, dir)
	defer mustClose(t, s)
	if _, err := s.Chat(t.Context(), "c1"); err != nil {
		t.Error(err)
	}
}

func TestReadOnlyBesideTheOwner(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenReadOnly(dir); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("opening an empty folder read-only gave %v, want ErrNotFound", err)
	}
	owner := open(t, dir)
	commit(t, owner, chatBatch("c1"))
	reader, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, reader)
	read := func(id string) {
		t.Helper()
		c, err := reader.Chat(t.Context(), id)
		if err != nil || c.Title != "title of "+id {
			t.Errorf("reading %s gave %+v, %v", id, c, err)
		}
	}
	read("c1")
	commit(t, owner, chatBatch("c2"))
	read("c2")
	if err := reader.Commit(t.Context(), chatBatch("c3")); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a read-only store answered a commit with %v", err)
	}
	mustClose(t, owner)
	read("c1")

	owner = open(t, dir) // the reader holds no lock
	commit(t, owner, chatBatch("c3"))
	read("c3")
	mustClose(t, owner)
}

// copyFolder copies what is on the disk while the store is open: what would be
// left if the process died now.
func copyFolder(t *testing.T, from string, names ...string) string {
	t.Helper()
	to := t.TempDir()
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func TestCommittedSurvivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer mustClose(t, s)
	for i := range 20 {
		commit(t, s, chatBatch(fmt.Sprintf("c%d", i)))
		if i%6 != 5 {
			continue
		}
		left := copyFolder(t, dir, "cadre.db", "cadre.db-wal")
		for _, again := range []func() (*Store, error){
			func() (*Store, error) { return OpenReadOnly(left) },
			func() (*Store, error) { return Open(left, Options{}) },
		} {
			after, err := again()
			if err != nil {
				t.Fatal(err)
			}
			for k := range i + 1 {
				if _, err := after.Chat(t.Context(), fmt.Sprintf("c%d", k)); err != nil {
					t.Errorf("of %d chats: %v", i+1, err)
				}
			}
			mustClose(t, after)
		}
	}
}

func TestDiskFull(t *testing.T) {
	s := open(t, t.TempDir())
	defer mustClose(t, s)
	commit(t, s, chatBatch("c1"))
	// The writer rests between commits, so its connection may be borrowed.
	pages, err := queryInt(s.writer.conn, "PRAGMA page_count")
	if err != nil {
		t.Fatal(err)
	}
	limit := func(n int64) {
		t.Helper()
		if err := pragmas(s.writer.conn, fmt.Sprintf("max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + 3)
	var b *store.Batch
	for range 10 {
		b = noteBatch("c1")
		b.Entries = append(b.Entries, chatBatch("c-full").Entries...)
		b.Entries[0].Body = make([]byte, 30_000)
		if err = s.Commit(t.Context(), b); err != nil {
			break
		}
	}
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "disk is full") {
		t.Fatalf("a full disk gave %v, want ErrUnavailable and a hint", err)
	}
	if b.Entries[0].Seq != 0 {
		t.Errorf("an entry that was not written has number %d", b.Entries[0].Seq)
	}
	last, err := s.LastSeq(t.Context())
	if err != nil || last != 1 {
		t.Errorf("after a full disk the newest number is %d (%v), want 1", last, err)
	}
	if _, err := s.Agent(t.Context(), "c-full"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a part of the batch was written: %v", err)
	}

	// In a group, too, and also if another batch of it has a fault of its own.
	full := noteBatch("c1")
	full.Entries[0].Body = make([]byte, 300_000)
	small := noteBatch("c1")
	small.Entries[0].Body = nil
	for i, err := range group(s, small, chatBatch("c1"), full) {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("batch %d of a group on a full disk got %v, want ErrUnavailable", i, err)
		}
	}
	if last, err := s.LastSeq(t.Context()); err != nil || last != 1 {
		t.Errorf("after a group on a full disk the newest number is %d (%v), want 1", last, err)
	}

	limit(pages + 1000)
	commit(t, s, b)
	if got := b.Entries[0].Seq; got != 2 {
		t.Errorf("the batch committed again has number %d, want 2", got)
	}
	if _, err := s.Agent(t.Context(), "c-full"); err != nil {
		t.Errorf("the batch committed again is not there: %v", err)
	}
}

func TestLockedByAnotherProgram(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{BusyTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	commit(t, s, chatBatch("c1"))
	other := rawConn(t, dir)
	run(t, other, "BEGIN IMMEDIATE")
	err = s.Commit(t.Context(), noteBatch("c1"))
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "another program") {
		t.Errorf("a locked database gave %v, want ErrUnavailable and a hint", err)
	}
	if _, err := s.Chat(t.Context(), "c1"); err != nil {
		t.Errorf("a reader waited for a writer: %v", err)
	}
	run(t, other, "ROLLBACK")
	b := noteBatch("c1")
	commit(t, s, b)
	if b.Entries[0].Seq != 2 {
		t.Errorf("the number after a locked database is %d, want 2", b.Entries[0].Seq)
	}
}

// rawConn is a connection of somebody else's.
func rawConn(t *testing.T, dir string) *sqlite.Conn {
	t.Helper()
	conn, err := sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func run(t *testing.T, conn *sqlite.Conn, sql string) {
	t.Helper()
	for one := range strings.SplitSeq(sql, ";") {
		if err := sqlitex.ExecuteTransient(conn, one, nil); err != nil {
			t.Fatalf("%s: %v", one, err)
		}
	}
}

func TestNotADatabase(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, dbName), []byte(strings.Repeat("this is a text file, ", 400)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("opening a text file gave %v, want ErrCorrupt", err)
	}
	if _, err := OpenReadOnly(dir); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("opening a text file read-only gave %v, want ErrCorrupt", err)
	}
	if _, err := Open(dir, Options{}); errors.Is(err, store.ErrInUse) {
		t.Error("a failed opening keeps the folder locked")
	}
}

func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	commit(t, s, chatBatch("c1"))
	for range 100 {
		commit(t, s, noteBatch("c1"))
	}
	mustClose(t, s)
	name := filepath.Join(dir, dbName)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	middle := len(b) / 2 / page * page // events lie there
	for i := range 4 * page {
		b[middle+i] = 0xA5
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	defer mustClose(t, s)
	if _, err := s.Log(t.Context(), "c1"); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("reading a damaged log gave %v, want ErrCorrupt", err)
	}
	found, err := s.Check(t.Context())
	if err != nil || len(found) == 0 || !strings.Contains(strings.Join(found, "\n"), "damaged") {
		t.Errorf("the check of a damaged file found %q, %v", found, err)
	}
}

func TestLayoutVersions(t *testing.T) {
	dir := t.TempDir()
	mustClose(t, open(t, dir))
	conn := rawConn(t, dir)
	run(t, conn, "PRAGMA user_version = 0")
	if _, err := OpenReadOnly(dir); err == nil || !strings.Contains(err.Error(), "up to date") {
		t.Errorf("reading an older layout gave %v", err)
	}
	run(t, conn, "PRAGMA user_version = 999")
	for what, err := range map[string]error{
		"owner":  func() error { _, err := Open(dir, Options{}); return err }(),
		"reader": func() error { _, err := OpenReadOnly(dir); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "newer version of cadre") {
			t.Errorf("the %s of a newer layout got %v", what, err)
		}
	}
	run(t, conn, "PRAGMA user_version = 1; PRAGMA application_id = 12345")
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("the database of another program was opened")
	}
}

func TestSettings(t *testing.T) {
	s := open(t, t.TempDir())
	defer mustClose(t, s)
	if n, err := queryInt(s.writer.conn, "PRAGMA synchronous"); err != nil || n != 2 {
		t.Errorf("synchronous is %d (%v), want 2, FULL: less loses acknowledged commits", n, err)
	}
	wal, err := queryInt(s.writer.conn, "SELECT journal_mode = 'wal' FROM pragma_journal_mode")
	if err != nil || wal != 1 {
		t.Errorf("the journal is no WAL (%v)", err)
	}
}

func TestWritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(dir, Options{BusyTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	if err := s.Writable(t.Context()); err != nil {
		t.Errorf("got %v", err)
	}
	other, err := sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(other, "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Writable(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("while another program writes: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Writable(t.Context()); err != nil {
		t.Errorf("and afterwards: %v", err)
	}
}

// TestWarm: connections are open and know what they will be asked for, and are
// free for whoever reads next.
func TestWarm(t *testing.T) {
	s := opened(t, t.TempDir())
	if err := s.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := len(s.readers.free), s.readers.opts.Readers/2; got != want {
		t.Errorf("%d connections are open, want %d", got, want)
	}
	if _, err := s.Chat(t.Context(), "none"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Warm(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
