// How many processes are killed with the race detector, which slows each of them
// down.

//go:build race

package main

// kills is how many processes TestKilledAgainAndAgain kills, or CADRE_KILLS.
const kills = 20
