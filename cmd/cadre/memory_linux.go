package main

import (
	"debug/elf"

	"golang.org/x/sys/unix"
)

// giveBack lets the system take the memory of a slice of zeros until it is
// used.
func giveBack(zeros []byte) {
	_ = unix.Madvise(zeros, unix.MADV_DONTNEED) // it is advice
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
