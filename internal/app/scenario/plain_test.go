// How many of the boundaries a story is killed at without the race detector:
// as many as the story says.

//go:build !race

package scenario_test

const fewer = 1
