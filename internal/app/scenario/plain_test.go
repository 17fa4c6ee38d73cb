// Without the race detector a story is killed at each of its boundaries.

//go:build !race

package scenario_test

import "math"

const sampled = math.MaxInt
