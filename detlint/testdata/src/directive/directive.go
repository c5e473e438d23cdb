package directive

import "time"

type World struct{ X int64 }

//detlint:step
func (w *World) Advance() {
	w.X = time.Now().Unix() // want `clock: time.Now`
	w.X = time.Now().Unix() //detlint:ignore clock the tests of this package look at it
	//detlint:ignore clock,random it is shown and not kept
	w.X = time.Now().Unix()
	w.X = time.Now().Unix() /* want `clock: time.Now` `directive: nothing is ignored without a reason: //detlint:ignore clock and why` */ //detlint:ignore clock
	w.X++                   //detlint:ignore clock there is none // want `directive: this comment ignores nothing: mend or remove the comment`
	w.X++                   //detlint:ignore bogus a reason // want `directive: there is no code "bogus" to ignore`
	w.X++                   //detlint:skip // want `directive: there is no comment //detlint:skip`
	w.shown()
}

// shown is all ignored.
//
//detlint:ignore clock what it does is drawn only
func (w *World) shown() {
	w.X = time.Now().Unix()
}

//detlint:step // want `directive: this comment marks no function`
var other = 1

//detlint:ignore clock the time of a menu, in which no ticks are run
func menu() int64 { return time.Now().Unix() }

var _ = menu
