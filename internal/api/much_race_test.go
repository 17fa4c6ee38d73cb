// How much is much with the race detector, with which SQLite is twenty times as
// slow: answers that took longer than the server gives them would be cut off.

//go:build race

package api_test

const (
	manyChats, manyMessages    = 1_000, 5_000
	manyReaders, manyFollowers = 60, 100
)
