// This file makes one process the owner of a data folder.

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/store"
)

const lockName = "cadre.lock"

// lock makes this process the owner of dir until the file is closed. The file
// stays behind: removing it would let two processes lock two files of one name.
func lock(dir string) (*os.File, error) {
	name := filepath.Join(dir, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the data folder: %w", err)
	}
	ok, err := lockFile(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", name, err), f.Close())
	}
	if !ok {
		owner := readOwner(f)
		return nil, errors.Join(inUse(dir, owner), f.Close())
	}
	if err := writeOwner(f); err != nil {
		return nil, errors.Join(fmt.Errorf("writing %s: %w", name, err), f.Close())
	}
	return f, nil
}

// inUse says who has the folder and what to do. A lock file without a pid is
// one whose owner has just taken it.
func inUse(dir string, pid int) error {
	who := "another process"
	if pid > 0 {
		who = "process " + strconv.Itoa(pid)
	}
	return fmt.Errorf("opening %s: %w: %s has it open; use that one (cadre's commands talk to a running server), stop it, or name another folder with --data",
		dir, store.ErrInUse, who)
}

func readOwner(f *os.File) int {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0) // an unreadable file names nobody
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil {
		return 0
	}
	return pid
}

func writeOwner(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// unlock gives the folder back.
func unlock(f *os.File) error {
	return errors.Join(f.Truncate(0), f.Close())
}
