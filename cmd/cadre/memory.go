// How much a server's memory grows before garbage is collected.

package main

// headroom makes an allocation that is never used and so costs no memory, but
// counts as part of the heap as long as it is held. The heap doubles before it
// is collected: a server with a few agents at work would otherwise collect its
// few megabytes again and again. That took a fifth of its time.
func headroom() []byte {
	room := make([]byte, 16<<20)
	giveBack(room) // the runtime may have had to clear it
	return room
}
