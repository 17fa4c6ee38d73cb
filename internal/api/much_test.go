// How much is much.

//go:build !race

package api_test

const (
	manyChats, manyMessages    = 10_000, 50_000
	manyReaders, manyFollowers = 2_000, 1_000
)
