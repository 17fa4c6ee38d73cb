// How many seeded lives are crashed without the race detector.

//go:build !race

package engine_test

const crashSeeds = 300
