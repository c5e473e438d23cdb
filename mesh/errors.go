package mesh

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

var (
	// ErrFinished means that the match's last tick has been reached and confirmed
	// by every peer that can still be reached.
	ErrFinished = errors.New("mesh: the match is finished")
	// ErrLeft means that this peer has left the match.
	ErrLeft = errors.New("mesh: this peer has left the match")
	// ErrPeerLeft means that a peer has left in an orderly way. It is wrapped by a
	// [*ToldError].
	ErrPeerLeft = errors.New("mesh: a peer has left the match")
	// ErrPeerLost means that a peer has been silent for too long, or has come back
	// without the match: see [LostError].
	ErrPeerLost = errors.New("mesh: a peer is lost")
	// ErrNeverJoined means that a peer did not come to the match, or did not finish
	// the handshake, in time.
	ErrNeverJoined = errors.New("mesh: a peer has not joined")
	// ErrHalted means that the match was halted on purpose, here or by a peer. The
	// error that wraps it gives the reason; it is a [*ToldError] if a peer did.
	ErrHalted = errors.New("mesh: the match has been halted")
	// ErrRefused means that a peer refused the match at the handshake, that what it sent
	// on the reliable channel could not be understood, or that it sent nothing but
	// inputs that the game does not know, or entries that it may not give.
	ErrRefused = errors.New("mesh: the match has been refused")
	// ErrCutOff means that the others go on without this peer: see [CutOffError].
	ErrCutOff = errors.New("mesh: this peer has been cut off")
	// ErrUnderWay means that the match goes on, and that a process which does not have it may
	// come to it all the same: see [Resume]. It is wrapped by a [*ToldError], or together with
	// ErrCutOff where the others had gone on without this process before it could play.
	ErrUnderWay = errors.New("mesh: the match is under way")
	// ErrBehind means that who comes back must run further first: see [Resume].
	ErrBehind = errors.New("mesh: this peer has not run far enough to come back")
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
// for the same tick, or two different entries: its program is broken or it cheats. Had
// and Got are the input's bytes, which the error owns.
type ConflictError struct {
	Peer               driftback.Peer
	Participant        driftback.Participant
	Tick               driftback.Tick
	Had, Got           []byte
	HadEntry, GotEntry wire.Entry
}

func (e *ConflictError) Error() string {
	if e.HadEntry != e.GotEntry {
		return fmt.Sprintf("mesh: peer %d sent two inputs of participant %d for tick %d: first %x with entry %v, then %x with entry %v",
			e.Peer, e.Participant, e.Tick, e.Had, e.HadEntry, e.Got, e.GotEntry)
	}
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

// ToldError means that the match has ended here because a peer said that it had ended
// there, and wraps [ErrPeerLeft], [ErrHalted], [ErrNeverJoined], [ErrRefused] or
// [ErrUnderWay], which says how. A relay's may wrap [ErrPeerLost] or [ErrCutOff] too.
type ToldError struct {
	Peer driftback.Peer // who said so
	// Tick is the first that the peer lacked an input of as it ended; 0 if nothing had
	// been played.
	Tick driftback.Tick
	// Words are the peer's, for a person: at most wire.MaxText bytes of UTF-8 without
	// control characters, and otherwise whatever it chose to say.
	Words string
	// Err is what the error wraps.
	Err error
}

// Told returns what the match ends with for who is told by a peer that it has ended there.
func Told(peer driftback.Peer, leave wire.Leave) *ToldError {
	how := ErrPeerLeft
	switch leave.Reason {
	case LeaveHalted:
		how = ErrHalted
	case LeaveMissing:
		how = ErrNeverJoined
	case LeaveRefused, LeaveUnfed:
		how = ErrRefused
	case LeaveUnderWay:
		how = ErrUnderWay
	case LeaveCut:
		how = ErrCutOff
	}
	return &ToldError{Peer: peer, Tick: leave.Tick, Words: leave.Text, Err: how}
}

func (e *ToldError) Error() string {
	switch {
	case errors.Is(e.Err, ErrHalted):
		return fmt.Sprintf("%v by peer %d at tick %d: %s", e.Err, e.Peer, e.Tick, e.Words)
	case errors.Is(e.Err, ErrNeverJoined):
		return fmt.Sprintf("%v, says peer %d: %s", e.Err, e.Peer, e.Words)
	case errors.Is(e.Err, ErrRefused):
		return fmt.Sprintf("%v by peer %d: %s", e.Err, e.Peer, e.Words)
	default:
		return fmt.Sprintf("%v: peer %d at tick %d: %s", e.Err, e.Peer, e.Tick, e.Words)
	}
}

// Unwrap returns Err.
func (e *ToldError) Unwrap() error { return e.Err }

// LostError means that a peer is lost. It is an [ErrPeerLost].
type LostError struct {
	Peer driftback.Peer
	// Tick is the first for which an input of the peer's is missing.
	Tick driftback.Tick
	// Silence is for how long nothing came from it, or 0 if it came back without the match.
	Silence time.Duration
	// Down is why its link went down; nil if it did not, or if the transport does not say.
	Down error
	// Alone: the others that were left would have gone on without it, and were too few.
	Alone bool
	// Undecided is for how long nothing has come of what those that are there had begun to
	// decide about who plays on: whoever is lost may have agreed to something that those that are left
	// cannot. 0: it is because of Peer itself.
	Undecided time.Duration
}

func (e *LostError) Error() string {
	if e.Undecided > 0 {
		return fmt.Sprintf("%v: for %v nothing has come of what was begun to decide about who plays on, and the inputs of peer %d end at tick %d",
			ErrPeerLost, e.Undecided.Round(time.Millisecond), e.Peer, e.Tick)
	}
	if e.Silence == 0 {
		return fmt.Sprintf("%v: peer %d has come back without the match it was playing at tick %d", ErrPeerLost, e.Peer, e.Tick)
	}
	text := fmt.Sprintf("%v: nothing from peer %d for %v, its inputs end at tick %d",
		ErrPeerLost, e.Peer, e.Silence.Round(time.Millisecond), e.Tick)
	if e.Alone {
		text += ", and those that are left are no majority"
	}
	if e.Down != nil {
		text += fmt.Sprintf(", and its link went down: %v", e.Down)
	}
	return text
}

// Is makes errors.Is(err, ErrPeerLost) hold.
func (e *LostError) Is(target error) bool { return target == ErrPeerLost }

// Unwrap returns Down.
func (e *LostError) Unwrap() error { return e.Down }

// CutOffError means that the others have agreed to go on without this peer, or at a tick
// that it had left behind. It is an [ErrCutOff].
type CutOffError struct {
	// View is the number of what they agreed on, and By who said so.
	View int
	By   driftback.Peer
	// Self: this peer is cut, from Tick on, the first tick that its Participant does not
	// play. Otherwise another's Participant is, and this peer had Confirmed more.
	Self        bool
	Participant driftback.Participant
	Tick        driftback.Tick
	Confirmed   driftback.Tick
}

func (e *CutOffError) Error() string {
	if e.Self {
		return fmt.Sprintf("%v: in view %d, of which peer %d tells, participant %d does not play from tick %d on",
			ErrCutOff, e.View, e.By, e.Participant, e.Tick)
	}
	return fmt.Sprintf("%v: in view %d, of which peer %d tells, participant %d does not play from tick %d on, and this peer has confirmed every tick below %d with it",
		ErrCutOff, e.View, e.By, e.Participant, e.Tick, e.Confirmed)
}

// Is makes errors.Is(err, ErrCutOff) hold.
func (e *CutOffError) Is(target error) bool { return target == ErrCutOff }
