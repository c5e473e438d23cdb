package transfer

import (
	"errors"
	"fmt"
)

// Why a transfer can fail. Each error of this package wraps one of them.
var (
	// ErrTooLarge means that the blob is larger than the receiver takes.
	ErrTooLarge = errors.New("transfer: too large")
	// ErrUnwanted means that the receiver did not want the blob.
	ErrUnwanted = errors.New("transfer: not wanted")
	// ErrChecksum means that all of the blob arrived, and was not what was sent.
	ErrChecksum = errors.New("transfer: the checksum differs")
	// ErrWithdrawn means that one side gave up: its [Source] failed, or its owner called
	// Stop.
	ErrWithdrawn = errors.New("transfer: withdrawn")
	// ErrRules means that a message came which could not come then, or says what
	// cannot be.
	ErrRules = errors.New("transfer: against the rules")
)

// The reasons of a wire.TransferStop.
const (
	stopVerified uint8 = iota
	stopTooLarge
	stopUnwanted
	stopChecksum
	stopWithdrawn
	stopRules
)

// reasons are what is told to the other side, and what is understood from it.
var reasons = []struct {
	reason uint8
	err    error
}{{stopTooLarge, ErrTooLarge}, {stopUnwanted, ErrUnwanted}, {stopChecksum, ErrChecksum}, {stopRules, ErrRules}, {stopWithdrawn, ErrWithdrawn}}

func reasonOf(err error) uint8 {
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return stopWithdrawn
}

// told is the error that a stop of the other side stands for.
func told(by string, reason uint8) error {
	for _, r := range reasons {
		if r.reason == reason {
			return fmt.Errorf("%w: so says the %s", r.err, by)
		}
	}
	return fmt.Errorf("%w: the %s says so for reason %d, which is unknown", ErrWithdrawn, by, reason)
}

func against(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRules, fmt.Sprintf(format, args...))
}

// Phase is how far a transfer is.
type Phase uint8

const (
	// Waiting: the other side has not answered the offer, or has made none, since the
	// channel came up.
	Waiting Phase = iota
	// Moving: chunks are on their way.
	Moving
	// Sealed: the sender has sent everything and awaits the verdict.
	Sealed
	// Done: the blob has arrived and its checksum is right.
	Done
	// Failed: nothing will come of it; Err says why.
	Failed
)

// String returns the phase as one lower-case word.
func (p Phase) String() string {
	switch p {
	case Waiting:
		return "waiting"
	case Moving:
		return "moving"
	case Sealed:
		return "sealed"
	case Done:
		return "done"
	case Failed:
		return "failed"
	}
	return "unknown phase"
}

// Over reports whether nothing more will happen but that the other side is told.
func (p Phase) Over() bool { return p >= Done }
