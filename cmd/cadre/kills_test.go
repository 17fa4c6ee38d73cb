// How many processes are killed without the race detector.

//go:build !race

package main

// kills is how many processes TestKilledAgainAndAgain kills, or CADRE_KILLS.
const kills = 50
