// This file sorts SQLite's errors into those of package store.

package sqlite

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cadre-dev/cadre/internal/store"
)

// errClosed is returned by everything that is asked of a closed store.
var errClosed = errors.New("the store is closed")

// errReadOnly is returned by Commit of a store opened with OpenReadOnly.
var errReadOnly = errors.New("the store was opened read-only: open the data folder as its owner to write")

// failure wraps a SQLite error with what was being done, the error of package
// store that callers tell it by, and what a person can do about it.
func failure(doing string, err error) error {
	if err == nil {
		return nil
	}
	hint, kind := classify(err)
	if kind == nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if hint == "" {
		return fmt.Errorf("%s: %w (%w)", doing, kind, err)
	}
	return fmt.Errorf("%s: %w (%w): %s", doing, kind, err, hint)
}

func classify(err error) (hint string, kind error) {
	code := sqlite.ErrCode(err)
	switch code {
	case sqlite.ResultConstraintUnique, sqlite.ResultConstraintPrimaryKey, sqlite.ResultConstraintRowID:
		return "", store.ErrDuplicate
	}
	switch code.ToPrimary() {
	case sqlite.ResultFull:
		return "the disk is full: free some space, then try again", store.ErrUnavailable
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultProtocol:
		return "another program holds the database: close it, then try again", store.ErrUnavailable
	case sqlite.ResultReadOnly, sqlite.ResultPerm, sqlite.ResultCantOpen, sqlite.ResultAuth:
		return "check that the data folder exists and may be written", store.ErrUnavailable
	case sqlite.ResultIOErr:
		return "reading or writing the disk failed: check the disk, then try again", store.ErrUnavailable
	case sqlite.ResultNoMem:
		return "there is not enough memory", store.ErrUnavailable
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return "restore the data folder from a copy, or salvage it with sqlite3's .recover", store.ErrCorrupt
	default:
		return "", nil
	}
}

// ownFault tells whether err is the fault of the batch that caused it, so that
// the others of its group can still be committed.
func ownFault(err error) bool {
	return !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrCorrupt)
}
