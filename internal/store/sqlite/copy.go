// This file makes copies of a database while it is in use, and puts a copy in
// the place of a database. Both are whole or not there, whenever the process
// dies.

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cadre-dev/cadre/internal/store"
)

// ErrForeign tells that a file is no database of Cadre.
var ErrForeign = errors.New("it is no database of cadre")

// Backup writes what is committed now into a file that only its owner can
// read. Those who write meanwhile are not held up. The file appears when sound
// has found nothing wrong with the copy; one that is there already is replaced
// only if that is wanted, else the error is fs.ErrExist.
func (s *Store) Backup(ctx context.Context, file string, replace bool, sound func(*Store) error) (err error) {
	dir := filepath.Dir(file)
	if _, err := os.Lstat(file); err == nil && !replace {
		return fmt.Errorf("writing %s: %w", file, fs.ErrExist)
	}
	f, err := os.CreateTemp(dir, filepath.Base(file)+".partial-*")
	if err != nil {
		return fmt.Errorf("writing the copy: %w", err)
	}
	fresh := f.Name()
	defer func() {
		if err != nil {
			err = errors.Join(err, removeDatabase(fresh))
		}
	}()
	if err := f.Close(); err != nil {
		return fmt.Errorf("writing the copy: %w", err)
	}
	err = s.readers.use(ctx, func(r *reader) error { return copyInto(ctx, r.conn, fresh) })
	if err != nil {
		return failure("copying the database", err)
	}
	if err := looked(fresh, sound); err != nil {
		return err
	}
	if replace {
		err = os.Rename(fresh, file)
	} else {
		err = settle(fresh, file)
	}
	if err != nil {
		return fmt.Errorf("putting the copy in its place: %w", err)
	}
	return syncDir(dir)
}

// settle gives a file its name, if that is free.
func settle(fresh, file string) error {
	err := os.Link(fresh, file)
	if err == nil {
		return os.Remove(fresh)
	}
	if _, there := os.Lstat(file); there == nil {
		return fs.ErrExist
	}
	return os.Rename(fresh, file) // a file system without links
}

// copyInto writes what a connection sees now into a new or empty file, durably.
func copyInto(ctx context.Context, conn *sqlite.Conn, file string) error {
	defer conn.SetInterrupt(conn.SetInterrupt(ctx.Done()))
	if err := sqlitex.ExecuteTransient(conn, "VACUUM INTO ?", &sqlitex.ExecOptions{Args: []any{file}}); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0) // SQLite leaves making it durable to others
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Sync(), f.Close())
}

// looked lets sound look at a copy.
func looked(file string, sound func(*Store) error) error {
	st, err := OpenFile(file)
	if err != nil {
		return err
	}
	return errors.Join(sound(st), st.Close())
}

// OpenFile opens one database file for reading, such as Backup writes.
func OpenFile(file string) (*Store, error) {
	s := &Store{readers: newReaders(file, Options{}.withDefaults())}
	err := s.readers.use(context.Background(), func(r *reader) error {
		if err := ours(r.conn); err != nil {
			return err
		}
		return checkVersion(r.conn)
	})
	if err != nil {
		return nil, errors.Join(failure("opening "+file, err), s.Close())
	}
	return s, nil
}

// ours makes sure that a database is one of Cadre.
func ours(conn *sqlite.Conn) error {
	id, err := queryInt(conn, "PRAGMA application_id")
	if foreign(err) || err == nil && id != appID {
		return ErrForeign
	}
	return err
}

// foreign tells that a file is no database at all.
func foreign(err error) bool { return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultNotADB }

// Restore puts a copy of file in the place of the database of dir, brought up
// to date, once sound has found nothing wrong with it. What was there before
// is kept beside it, under the name that is returned; empty: there was nothing.
// It fails with store.ErrInUse while a process owns the folder.
func Restore(ctx context.Context, dir, file string, sound func(*Store) error) (aside string, err error) {
	if err := makeFolder(dir); err != nil {
		return "", fmt.Errorf("creating the data folder: %w", err)
	}
	held, err := lock(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unlock(held)) }()
	name := filepath.Join(dir, dbName)
	if same(file, name) {
		return "", fmt.Errorf("%s is the database itself", file)
	}
	fresh := name + ".restoring"
	if err := removeDatabase(fresh); err != nil { // left by a process that was killed
		return "", fmt.Errorf("clearing away an earlier attempt: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeDatabase(fresh))
		}
	}()
	if err := takeIn(ctx, file, fresh); err != nil {
		return "", failure("reading "+file, err)
	}
	if err := looked(fresh, sound); err != nil {
		return "", err
	}
	if err := renumber(fresh, name); err != nil {
		return "", failure("numbering what comes after the copy", err)
	}
	if aside, err = setAside(name); err != nil {
		return "", fmt.Errorf("keeping the present database: %w", err)
	}
	if err := os.Rename(fresh, name); err != nil {
		return "", fmt.Errorf("putting the copy in its place: %w", err)
	}
	return aside, syncDir(dir)
}

// takeIn copies file to fresh and brings that up to date.
func takeIn(ctx context.Context, file, fresh string) error {
	if info, err := os.Stat(file); err != nil {
		return err
	} else if !info.Mode().IsRegular() || info.Size() == 0 {
		return ErrForeign
	}
	from, err := openReader(file, Options{}.withDefaults())
	if foreign(err) {
		return ErrForeign
	}
	if err != nil {
		return err
	}
	err = ours(from)
	if err == nil {
		err = makeFile(fresh)
	}
	if err == nil {
		err = copyInto(ctx, from, fresh)
	}
	if err := errors.Join(err, from.Close()); err != nil {
		return err
	}
	to, err := sqlite.OpenConn(fresh, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	return errors.Join(pragmas(to, "synchronous = FULL"), migrate(to), to.Close())
}

// setAside gives the database a second name and takes away what belongs to it
// alone, so that another file can take its place in one step. The WAL is folded
// in first: left behind, it would be taken for that of the new one.
func setAside(name string) (aside string, err error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	aside = name + ".before-" + time.Now().UTC().Format("20060102T150405.000")
	folded := fold(name)
	if err := os.Link(name, aside); err != nil {
		return "", err
	}
	for _, tail := range []string{"-wal", "-shm"} {
		if folded != nil { // it is damaged: all of it is kept
			if err := os.Link(name+tail, aside+tail); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		if err := os.Remove(name + tail); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}

// fold writes the WAL into the database.
func fold(name string) error {
	conn, err := openWriter(name, Options{}.withDefaults())
	if err != nil {
		return err
	}
	busy, err := queryInt(conn, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err == nil && busy != 0 {
		err = store.ErrUnavailable
	}
	return errors.Join(err, conn.Close())
}

func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// removeDatabase removes a database that nobody has open, if it is there.
func removeDatabase(name string) error {
	var errs []error
	for _, tail := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(name + tail); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
