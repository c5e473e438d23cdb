package rewind

import (
	"fmt"

	"github.com/driftback/driftback"
)

// Redo has the next Settle run the ticks from t to Next again although no input of
// theirs need have changed: for an owner whose step depends on more than inputs, when
// that has changed. A tick from Next on is run with the change anyway.
//
// It returns [ErrOutOfReach] when no snapshot is left to go back to, and then the world
// stays as it is.
func (l *Loop[S, I]) Redo(t driftback.Tick) error {
	switch {
	case l.running:
		return ErrRunning
	case t >= l.next || t < l.truth || t >= l.earliest:
		return nil
	case t < l.Oldest():
		return fmt.Errorf("%w: tick %d is to be run again, and the oldest snapshot is of tick %d", ErrOutOfReach, t, l.Oldest())
	}
	l.earliest = t
	return nil
}
