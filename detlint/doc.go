// Package detlint finds what in a game's step would not be the same on every machine, or not the
// same when a tick is run again.
//
// A step is a function, a method or a literal of the shape of driftback.Step, or one that is marked with the
// comment //detlint:step. What session.Config and its neighbours are given as Start, Valid and
// Predict is held to the same rules, and so are the methods by which a state is copied and hashed. From
// there [Analyzer] follows calls, through packages too, and reports what it finds with a short code, a
// sentence that says what to do instead, and the way from the step.
//
// It owns the list of what is not deterministic ([Codes]) and what can be proved to be harmless. It
// refuses to own proof: what it does not find may still differ, and simtest plays for that. It looks into no
// package of the standard library: a table says what there is unfit.
package detlint
