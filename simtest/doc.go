// Package simtest plays whole matches of a game in one goroutine and without a
// clock: every peer is the session that ships, over links that are as bad as a
// scenario says, and all of it follows from one seed. A game's own step goes under it in a
// test of three lines:
//
//	func TestMatches(t *testing.T) {
//		simtest.Run(t, simtest.Game[State, Input]{Name: "race", Players: 2, Step: step, Input: press}, simtest.Options{})
//	}
//
// What it looks for, how to read what it finds, and every field of a scenario are in
// [docs/simtest.md].
//
// [Sync] and [SyncTest] need no peers: they save, load and run a game's step again, and name
// the [Mistake] that keeps it from being rewound. [Run] begins with them.
//
// A [Scenario] is everything that one match is: peers, links, and faults at virtual
// times. [Generate] makes one from a seed, calm or nasty. [Play] plays it: one queue of events
// in the order of (time, number), and after each the rules of [Rules] are
// checked against one plain simulation that is given every input on time. A rule that
// breaks gives a [Violation] with the event, the time, the peer, the tick and the first
// field that differs. [Shrink] looks for a smaller scenario that breaks the same rule,
// and [Run] does all of this for many seeds and prints the command that replays
// what it found.
//
// Where Scenario.Buggify is set, the sessions also force rare paths in themselves: early
// time-outs, queues with room for one, acknowledgements left out; see package buggify. A
// correct engine comes to the same history, and [Report] says how often each was taken.
//
// Some peers may be hostile: beside the session that ships, something changes what they
// send or adds to it. Each such message is known when it arrives, so that each must be
// counted as dropped, for its own reason and by the peer that met it, or end the match
// with the evidence.
//
// A match that was too kind proves nothing, so a [Report] also counts which faults
// really happened, and says in words what makes it vacuous.
//
// The package owns virtual time, faults and the judgement. It refuses to own any
// shortcut: what it runs is the production code, through the calls that a game has. It
// does not look for what needs real threads, sockets or machines, and it proves nothing
// about seeds that were not played.
//
// Nothing here starts a goroutine, and nothing is shared between two plays but what the
// game's own functions share.
//
// [docs/simtest.md]: https://github.com/driftback/driftback/blob/main/docs/simtest.md
package simtest
