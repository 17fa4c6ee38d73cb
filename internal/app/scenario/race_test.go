// At how many of its boundaries a story is killed with the race detector, which
// makes each life several times as long.

//go:build race

package scenario_test

const sampled = 2
