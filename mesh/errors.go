package mesh

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
)

var (
	// ErrFinished means that the match's last tick has been reached and confirmed
	// by every peer that can still be reached.
	ErrFinished = errors.New("mesh: the match is finished")
	// ErrLeft means that this peer has left the match.
	ErrLeft = errors.New("mesh: this peer has left the match")
	// ErrPeerLeft means that a peer has left in an orderly way. The error that wraps
	// it names the peer, its tick and its words.
	ErrPeerLeft = errors.New("mesh: a peer has left the match")
	// ErrPeerLost means that a peer has been silent for too long, or has come back
	// without the match.
	ErrPeerLost = errors.New("mesh: a peer is lost")
	// ErrNeverJoined means that a peer did not come to the match, or did not finish
	// the handshake, in time.
	ErrNeverJoined = errors.New("mesh: a peer has not joined")
	// ErrHalted means that the match was halted on purpose, here or by a peer. The
	// error that wraps it gives the reason.
	ErrHalted = errors.New("mesh: the match has been halted")
	// ErrRefused means that a peer refused the match at the handshake, that what it sent
	// on the reliable channel could not be understood, or that it sent nothing but
	// inputs that the game does not know.
	ErrRefused = errors.New("mesh: the match has been refused")
	// ErrInternal means that an invariant of the mesh's own is broken.
	ErrInternal = errors.New("mesh: internal error")
)

// MismatchError means that two peers were started with different settings, or are
// going to end at different ticks.
type MismatchError struct {
	Peer         driftback.Peer
	Setting      string
	Ours, Theirs string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("mesh: %s is %s at peer %d and %s here, and must be the same at every peer",
		e.Setting, quoted(e.Theirs), e.Peer, quoted(e.Ours))
}

// Is makes errors.Is(err, ErrRefused) hold.
func (e *MismatchError) Is(target error) bool { return target == ErrRefused }

func quoted(value string) string {
	if value == "" {
		return "(not given)"
	}
	return fmt.Sprintf("%q", value)
}

// ConflictError means that a peer sent two different inputs of one participant
// for the same tick: its program is broken or it cheats. Had and Got are the
// input's bytes, which the error owns.
type ConflictError struct {
	Peer        driftback.Peer
	Participant driftback.Participant
	Tick        driftback.Tick
	Had, Got    []byte
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("mesh: peer %d sent two inputs of participant %d for tick %d: first %x, then %x",
		e.Peer, e.Participant, e.Tick, e.Had, e.Got)
}

// DesyncError means that two peers' confirmed states differ.
type DesyncError struct {
	// Tick is the first compared tick at whose beginning the states differ.
	Tick         driftback.Tick
	Peer         driftback.Peer
	Ours, Theirs uint64
}

func (e *DesyncError) Error() string {
	return fmt.Sprintf("mesh: the state as tick %d began has fingerprint %016x here and %016x at peer %d",
		e.Tick, e.Ours, e.Theirs, e.Peer)
}

func lostError(peer driftback.Peer, held driftback.Tick, silence time.Duration, why error) error {
	if why != nil {
		return fmt.Errorf("%w: nothing from peer %d for %v, its inputs end at tick %d, and its link went down: %w",
			ErrPeerLost, peer, silence.Round(time.Millisecond), held, why)
	}
	return fmt.Errorf("%w: nothing from peer %d for %v, its inputs end at tick %d",
		ErrPeerLost, peer, silence.Round(time.Millisecond), held)
}
