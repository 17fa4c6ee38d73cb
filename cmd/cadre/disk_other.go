//go:build !unix

// How much room there is on a disk, where the system tells.

package main

// freeSpace is not known on this system.
func freeSpace(string) (uint64, bool) { return 0, false }
