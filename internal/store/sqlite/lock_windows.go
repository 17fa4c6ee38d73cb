// This file locks the data folder on Windows.

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes an exclusive lock that ends with the process, however that
// ends. It reports false if somebody else has it. The locked byte lies far
// behind the text, as Windows would keep others from reading what is locked.
func lockFile(f *os.File) (bool, error) {
	at := windows.Overlapped{OffsetHigh: 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// syncDir does nothing: Windows keeps names durable by itself.
func syncDir(string) error { return nil }
