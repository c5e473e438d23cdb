// Package pacing is the arithmetic that keeps the peers of a match equally far ahead
// of each other, and turns time into ticks.
//
// Clocks are never compared. What counts is the lead: by how many ticks a peer's next
// tick is beyond the first that lacks somebody else's input, which is how much it
// predicts and, when a guess was wrong, how much it must run again. A peer whose clock
// runs fast, or that began early, has a large lead and all the rollbacks, while the others
// have none. Each peer tells the others its mean lead; a [Regulator] makes a correction of
// the tick rate of it, or for a game that cannot change its rate the advice to leave out a
// tick or to run one more, so that all leads become equal, whatever the links are like and
// whether or not they are alike in both directions. A [Clock] turns the time that has
// passed into a number of ticks, for a game that has no loop with fixed steps of its own.
//
// It owns that arithmetic. It refuses to own a clock, a network and the game: it does
// not know what a tick is, and can neither run one nor run one again. Floating point is
// good enough here because nothing of it enters a simulation.
//
// Nothing here allocates after New, and each value belongs to one goroutine.
package pacing
