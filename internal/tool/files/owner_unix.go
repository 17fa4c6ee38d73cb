// The owner of a replaced file, where files have one.

//go:build unix

package files

import (
	"os"
	"syscall"
)

// keepOwner gives the file fresh the owner of the file old, as far as this
// process may: root can, and should not take over the files that it edits.
func keepOwner(dir *os.Root, old, fresh string) {
	info, err := dir.Lstat(old)
	if err != nil {
		return
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = dir.Lchown(fresh, int(owner.Uid), int(owner.Gid))
	}
}
