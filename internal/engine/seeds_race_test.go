// How many seeded lives are crashed with the race detector, which makes each of
// them several times as long.

//go:build race

package engine_test

const crashSeeds = 40
