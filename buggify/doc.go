// Package buggify forces rare paths inside the engine, in simulations.
//
// A path that a match takes once in a million hides its faults from every test that
// waits for it. So the engine asks, in places where something rare but allowed may
// happen, whether it is to happen now: a time-out comes early, a queue has room for one,
// an acknowledgement is left out. A correct engine survives all of it, in any
// combination, with the same confirmed history. (The idea and the word are FoundationDB's.)
//
// A [Sites] belongs to one session and is no global: each [Site] is active in a quarter
// of them, so that matches differ in which paths they take, and fires a quarter of the
// times it is asked. A real match has none, and to it a place costs one comparison
// with nil.
//
// The package owns the names of the places and the draws. It refuses to own what happens
// there: each place's code is in the engine, beside the path it forces.
//
// A Sites belongs to one goroutine at a time.
package buggify
