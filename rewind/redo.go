package rewind

import (
	"fmt"

	"github.com/driftback/driftback"
)

// Redo makes the next Settle run the ticks from t on again, although their inputs may
// be what they were: something else that the step is told has changed, as who is behind
// an input does. A tick that has not run needs none. It returns [ErrOutOfReach] for a
// tick older than Oldest.
func (l *Loop[S, I]) Redo(t driftback.Tick) error {
	switch {
	case l.running:
		return ErrRunning
	case t >= l.next:
		return nil
	case t < l.oldest:
		return fmt.Errorf("%w: tick %d is to run again, and the oldest snapshot is of tick %d", ErrOutOfReach, t, l.oldest)
	}
	l.earliest = min(l.earliest, t)
	return nil
}
