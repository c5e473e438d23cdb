// Package rewind runs a game's step forward on guesses and, when an input arrives
// that was guessed wrongly, takes back an earlier state and runs the ticks since
// then again.
//
// A [Loop] keeps a bounded number of snapshots: the one of tick t holds the world
// as t began. Not every tick need have one, see Config.Spacing: those without are run again, on what
// they were run on, from the one before. [Loop.Supply] takes inputs whenever they arrive. [Loop.Settle] runs
// again, once, from the earliest tick whose input turned out different from what
// the step had used, however many arrived. [Loop.Advance] settles and runs the
// next tick. An input equal to the guess costs nothing.
//
// The package owns the snapshots, the state that is being run, and the record of
// what was run again. It refuses to own how inputs travel, how far ahead of the
// others a peer may run, and when old inputs are forgotten: the owner of the loop
// decides these and calls [inputlog.Log.Forget], usually with [Loop.Oldest].
//
// # The step
//
// A step must not call the loop that runs it: every method that would run or move
// the loop then returns [ErrRunning] and does nothing. A step that panics leaves a
// world that is half one tick and half the next; the panic passes through the loop
// to its caller, and if that recovers it, the loop is over: the same methods
// return ErrRunning for ever. The same holds for who is lent a world by [Loop.Lend] or [Loop.Apart].
//
// # Goroutines
//
// A loop, its log and its state belong to one goroutine at a time. A loop
// allocates in [New] and, once every snapshot has been used, in its errors alone,
// unless the game's step or its saving policy does.
package rewind
