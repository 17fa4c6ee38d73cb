// How many of the boundaries a story is killed at with the race detector, which
// makes each life several times as long.

//go:build race

package scenario_test

const fewer = 8
