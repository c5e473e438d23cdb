// Package inputlog remembers what every participant did on every tick that can
// still be run again, and what was guessed where nothing had arrived yet.
//
// A log keeps a window of ticks, [oldest, oldest+depth), from any first tick on. Inside it an input is
// either confirmed (it arrived, and is final), guessed (a step has used a
// prediction in its place) or unknown. [Log.Confirm] takes what arrives, in any
// order; [Log.Inputs] hands a step one input for each participant and guesses
// what is missing; [Log.Forget] moves the window.
//
// Three rules make re-simulation repeat itself:
//
//   - A guess is stored when a step asks for it and is made anew only when a
//     step asks again. Looking with [Log.Peek] changes nothing.
//   - A guess for tick t comes from the newest input confirmed before t, in
//     whatever order the inputs arrived.
//   - What is confirmed never changes, and the first tick that lacks somebody's
//     input, [Log.Confirmed], never falls.
//
// The package owns that memory and refuses to own what an input means, who may
// send it and what to do about a wrong guess: package rewind does the last.
//
// A log belongs to one goroutine at a time. Its memory is allocated by [New];
// nothing else allocates but the making of an error.
package inputlog
