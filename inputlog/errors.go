package inputlog

import (
	"errors"
	"fmt"

	"github.com/driftback/driftback"
)

var (
	// ErrOutsideWindow means that the log does not hold this tick: it is beyond
	// the end of the window, or has been forgotten.
	ErrOutsideWindow = errors.New("inputlog: outside the window")
	// ErrNoParticipant means that the log has no such participant.
	ErrNoParticipant = errors.New("inputlog: no such participant")
	// ErrConflict is what every [ConflictError] is, whatever its input's type.
	ErrConflict = errors.New("inputlog: two different inputs for one tick")
)

// ConflictError says that a participant gave an input for a tick for which a
// different one was already confirmed. The first one stays. errors.Is matches it
// with [ErrConflict].
type ConflictError[I comparable] struct {
	Participant driftback.Participant
	Tick        driftback.Tick
	// Had is the input that is confirmed, Got the one that was refused.
	Had, Got I
}

func (e *ConflictError[I]) Error() string {
	return fmt.Sprintf("%v: participant %d gave %+v for tick %d, where %+v is confirmed; the first one stays",
		ErrConflict, e.Participant, e.Got, e.Tick, e.Had)
}

func (e *ConflictError[I]) Unwrap() error { return ErrConflict }

func (l *Log[I]) outside(t driftback.Tick) error {
	return fmt.Errorf("%w: tick %d is not in [%d, %d)", ErrOutsideWindow, t, l.oldest, l.end)
}

func (l *Log[I]) noParticipant(p driftback.Participant) error {
	return fmt.Errorf("%w: participant %d of %d, counted from 0", ErrNoParticipant, p, l.n)
}
