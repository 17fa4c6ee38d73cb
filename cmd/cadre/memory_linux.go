// What a server at rest gives back to the system.

package main

import (
	"context"
	"debug/elf"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// giveBack lets the system take the memory of a slice of zeros until it is
// used.
func giveBack(zeros []byte) {
	_ = unix.Madvise(zeros, unix.MADV_DONTNEED) // it is advice
}

// settle waits until a server has been at rest for a second, and then gives
// back what only its start needed: garbage, and the pages of the program
// itself, which come back as they are used. A server that is at work at once
// would pay for getting them back.
func settle(ctx context.Context) {
	const rest, most = time.Second, 10 * time.Millisecond // of CPU time in that
	tick := time.NewTicker(rest)
	defer tick.Stop()
	before := used()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := used()
		rested := now-before < most
		if before = now; rested {
			break
		}
	}
	debug.FreeOSMemory()
	unmapProgram()
}

// used is the CPU time of this process.
func used() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// unmapProgram takes the program's code and constants out of the memory that
// counts as this process's; the system has them at hand in its cache of the
// file. Large pages bring in most of a program at its start, of which a server
// at rest uses little.
//
// Only segments that nothing ever writes may go: what the dynamic linker has
// changed would be lost. Those are the ones that are not loaded as writable,
// in a program that is loaded at the addresses its file tells.
func unmapProgram() {
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		return // it was only to save memory
	}
	defer func() { _ = f.Close() }() // it was only read
	if f.Type != elf.ET_EXEC {
		return
	}
	page := uint64(unix.Getpagesize())
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_W != 0 {
			continue
		}
		from, to := (p.Vaddr+page-1)/page*page, (p.Vaddr+p.Filesz)/page*page
		if from < to {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(from), uintptr(to-from), unix.MADV_DONTNEED) // it is advice
		}
	}
}
