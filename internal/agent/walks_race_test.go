// How many random walks a property takes with the race detector, which makes
// each of them ten times as long: the machine has no goroutines to race.

//go:build race

package agent_test

const walks = "200"
