// The memory of a server: how much it grows before garbage is collected, and
// what its start has used.

package main

import "runtime/debug"

// headroom makes an allocation that is never used and so costs no memory, but
// counts as part of the heap as long as it is held. The heap doubles before it
// is collected: a server with a few agents at work would otherwise collect its
// few megabytes again and again. That took a fifth of its time.
func headroom() []byte {
	room := make([]byte, 16<<20)
	giveBack(room) // the runtime may have had to clear it
	return room
}

// settle gives back what only the start of a server needed: garbage, and the
// pages of the program itself, which come back as they are used.
func settle() {
	debug.FreeOSMemory()
	unmapProgram()
}
