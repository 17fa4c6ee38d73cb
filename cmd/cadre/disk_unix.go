//go:build unix

// How much room there is on a disk, where the system tells.

package main

import "golang.org/x/sys/unix"

// freeSpace is how many bytes can still be written below dir.
func freeSpace(dir string) (uint64, bool) {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return 0, false
	}
	return uint64(fs.Bavail) * uint64(fs.Bsize), true //nolint:unconvert // their types differ between systems
}
