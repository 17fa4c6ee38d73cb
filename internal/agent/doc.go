// Package agent is the heart of Cadre: the machine that decides everything an
// agent does.
//
// [Step] takes the state of an agent and one event and gives the next state
// and the effects that follow. It is pure: no clock, no context, no lock, no
// goroutine, no randomness, no map iteration. Time and ids arrive in events.
// So the same log always gives the same state, whoever replays it, and an
// engine has nothing to decide: it commits what Step returned, then performs
// it (see [Effect]).
//
// The package knows no store, no model and no tool. A State holds ids and
// counters, never what was said: bodies travel in events and effects, in
// fields that are not part of the log, and are stored once, as documents.
package agent
