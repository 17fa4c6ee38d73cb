// How many random walks a property takes in a normal run.

//go:build !race

package agent_test

const walks = "1500"
