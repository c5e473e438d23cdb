// Package driftback holds the words that every package of the engine shares:
// ticks, participants, peers, effects, the step function and its pass.
//
// driftback is a peer-to-peer rollback netcode engine. A game hands it a state
// and a pure step function; each peer runs at once on guesses about what the
// others pressed, and when a late input proves a guess wrong the engine rewinds
// and runs the ticks since then again. Most games want [package session], which
// puts everything together:
//
//	match, err := session.New(session.Config[State, Input]{ … })
//	r, err := match.Tick(now, readInput()) // every frame; never blocks
//	draw(match.State())
//
// This package owns the vocabulary and refuses to own anything that acts on it:
// it has no loop, no log, no bytes and no clock, and it imports nothing.
//
// Nothing here is safe for use by several goroutines at once. A [Pass] belongs
// to the engine and is lent to the step for one run of one tick.
//
// [package session]: https://pkg.go.dev/github.com/driftback/driftback/session
package driftback
