// Package sqlite keeps a store in one SQLite file in a data folder, which one
// process owns at a time.
//
// One goroutine writes, with one connection: what callers commit at the same
// time shares a transaction and its fsync. Everything else reads, with a few
// read-only connections that see what is committed and wait for nobody.
//
// The package knows documents and numbers; it decodes message parts only to
// show the result of a tool call, and events never.
package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitemigration"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cadre-dev/cadre/internal/store"
)

const (
	dbName = "cadre.db"
	appID  = 0x63616472 // "cadr", so that no other program's file is taken for ours

	// The WAL is folded into the database after this many pages. Fewer would
	// write hot pages again and again.
	checkpointPages = 4000
	walLimit        = 32 << 20 // bytes of WAL file kept after that

	writerCacheKB = 4096
	readerCacheKB = 1024
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options tune a store. The zero value is fit for use.
type Options struct {
	Readers     int           // read-only connections, opened as they are needed; 0: 4
	BusyTimeout time.Duration // how long to wait for another program that holds the database; 0: 5 s
}

func (o Options) withDefaults() Options {
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	return o
}

// Store is a data folder that is open. It implements store.Store.
type Store struct {
	readers *readers
	writer  *writer  // nil: read-only
	lock    *os.File // nil: read-only

	closeOnce sync.Once
	closeErr  error
}

var _ store.Store = (*Store)(nil)

// Open makes this process the owner of dir, creates the folder and the
// database if they are absent, and brings an older database up to date. It
// fails with store.ErrInUse if another process owns the folder.
func Open(dir string, opts Options) (_ *Store, err error) {
	opts = opts.withDefaults()
	if err := makeFolder(dir); err != nil {
		return nil, fmt.Errorf("creating the data folder: %w", err)
	}
	held, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, unlock(held))
		}
	}()

	name := filepath.Join(dir, dbName)
	if err := makeFile(name); err != nil {
		return nil, fmt.Errorf("creating the database: %w", err)
	}
	conn, err := openWriter(name, opts)
	if err != nil {
		return nil, failure("opening "+name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, conn.Close())
		}
	}()
	if err := migrate(conn); err != nil {
		return nil, failure("opening "+name, err)
	}
	if err := syncDir(dir); err != nil {
		return nil, fmt.Errorf("making %s durable: %w", dir, err)
	}
	w, err := startWriter(conn)
	if err != nil {
		return nil, failure("opening "+name, err)
	}
	return &Store{readers: newReaders(name, opts), writer: w, lock: held}, nil
}

// OpenReadOnly opens dir without owning it: while no process does, or beside
// the one that does. Its Commit fails.
func OpenReadOnly(dir string) (*Store, error) {
	name := filepath.Join(dir, dbName)
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening %s: there is no database in it: %w", dir, store.ErrNotFound)
	}
	s := &Store{readers: newReaders(name, Options{}.withDefaults())}
	err := s.readers.use(context.Background(), func(r *reader) error { return checkVersion(r.conn) })
	if err != nil {
		return nil, errors.Join(failure("opening "+name, err), s.Close())
	}
	return s, nil
}

// Close waits for the commits under way, then gives the folder back. Reads
// that are under way end first; later calls fail.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		errs := []error{s.readers.close()}
		if s.writer != nil {
			errs = append(errs, s.writer.close())
		}
		if s.lock != nil {
			errs = append(errs, unlock(s.lock))
		}
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}

// makeFolder creates a folder that only its owner can look into, durably.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// A parent that may be passed through but not read cannot be synced.
	if err := syncDir(filepath.Dir(dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// makeFile creates the file, if it is absent, so that only its owner can read
// it: SQLite gives the files beside it the same rights.
func makeFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func openWriter(name string, opts Options) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(name, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(opts.BusyTimeout)
	err = pragmas(conn,
		"journal_mode = WAL",
		"synchronous = FULL",
		fmt.Sprintf("cache_size = -%d", writerCacheKB),
		fmt.Sprintf("wal_autocheckpoint = %d", checkpointPages),
		fmt.Sprintf("journal_size_limit = %d", walLimit),
		"temp_store = MEMORY",
	)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func openReader(name string, opts Options) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(name, sqlite.OpenReadOnly)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(opts.BusyTimeout)
	if err := pragmas(conn, fmt.Sprintf("cache_size = -%d", readerCacheKB), "temp_store = MEMORY"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func pragmas(conn *sqlite.Conn, list ...string) error {
	for _, p := range list {
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA "+p, nil); err != nil {
			return fmt.Errorf("setting %s: %w", p, err)
		}
	}
	return nil
}

// scripts returns the migrations in order. A file is never changed once it is
// released; the number of files is the version of the layout.
func scripts() ([]string, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql") // in order of names
	if err != nil {
		return nil, err
	}
	list := make([]string, len(files))
	for i, name := range files {
		b, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list[i] = string(b)
	}
	return list, nil
}

func migrate(conn *sqlite.Conn) error {
	list, err := scripts()
	if err != nil {
		return err
	}
	version, err := queryInt(conn, "PRAGMA user_version")
	if err != nil {
		return err
	}
	if int(version) > len(list) {
		return newerLayout(version)
	}
	return sqlitemigration.Migrate(context.Background(), conn, sqlitemigration.Schema{AppID: appID, Migrations: list})
}

// checkVersion is what a reader does in place of migrate.
func checkVersion(conn *sqlite.Conn) error {
	list, err := scripts()
	if err != nil {
		return err
	}
	version, err := queryInt(conn, "PRAGMA user_version")
	if err != nil {
		return err
	}
	if int(version) > len(list) {
		return newerLayout(version)
	}
	if int(version) < len(list) {
		return fmt.Errorf("its layout has version %d, this program reads version %d: start cadre once on the folder to bring it up to date", version, len(list))
	}
	return nil
}

func newerLayout(version int64) error {
	return fmt.Errorf("it was written by a newer version of cadre (layout %d): use that one", version)
}

// queryInt returns the first column of a statement's only row.
func queryInt(conn *sqlite.Conn, query string) (n int64, err error) {
	err = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	}})
	return n, err
}
