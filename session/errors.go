package session

import (
	"errors"
	"fmt"

	"github.com/driftback/driftback/feed"
	"github.com/driftback/driftback/mesh"
)

// Why a match ended, for errors.Is. What the protocol finds is described in
// package mesh.
var (
	ErrFinished    = mesh.ErrFinished
	ErrLeft        = mesh.ErrLeft
	ErrPeerLeft    = mesh.ErrPeerLeft
	ErrPeerLost    = mesh.ErrPeerLost
	ErrNeverJoined = mesh.ErrNeverJoined
	ErrHalted      = mesh.ErrHalted
	ErrRefused     = mesh.ErrRefused
	ErrInternal    = mesh.ErrInternal
	ErrCutOff      = mesh.ErrCutOff
	// ErrUnderWay means that the match goes on, and that this process, which has nothing of
	// it, may come to it: with [Join].
	ErrUnderWay = mesh.ErrUnderWay
	// ErrNoFeeder means, to who watches, that nobody feeds it any more. The error that wraps
	// it says why, of each feeder.
	ErrNoFeeder = feed.ErrNoFeeder
	// ErrDropped means that a watcher was dropped: the Err of a [WatcherGone] wraps it.
	ErrDropped = feed.ErrDropped
	// ErrState means that the saving policy, or the state's own AppendBinary, has
	// failed. The error that wraps it says which and why.
	ErrState = errors.New("session: the state cannot be kept or hashed")
	// ErrPredictionLimit means that the prediction window was used up and the
	// session was told to halt then.
	ErrPredictionLimit = errors.New("session: the prediction window is used up")
)

// Why Send did not send, for errors.Is; try again at a later tick.
var (
	ErrFull   = mesh.ErrFull
	ErrNoLink = mesh.ErrNoLink
)

// MismatchError means that two peers were started with different settings, or are
// going to end at different ticks. It is an [ErrRefused].
type MismatchError = mesh.MismatchError

// ConflictError means that a peer sent two different inputs for one tick.
type ConflictError = mesh.ConflictError

// ToldError means that the match has ended here because a peer said that it had ended
// there. It names the peer, and wraps [ErrPeerLeft], [ErrHalted], [ErrNeverJoined] or
// [ErrRefused].
type ToldError = mesh.ToldError

// LostError means that a peer is lost, and names it. It is an [ErrPeerLost].
type LostError = mesh.LostError

// CutOffError means that the others go on without this peer. It is an [ErrCutOff].
type CutOffError = mesh.CutOffError

// explain turns the mesh's word for why a match ended into the session's.
func (m *Lockstep[S, I]) explain(err error) error {
	var desync *mesh.DesyncError
	if errors.As(err, &desync) {
		return m.desynced(desync)
	}
	if errors.Is(err, ErrUnderWay) {
		return fmt.Errorf("session: the match goes on without this process, which can come to it with session.Join and a Nonce that is drawn anew: %w", err)
	}
	var conflict *mesh.ConflictError
	if errors.As(err, &conflict) {
		var had, got I
		if m.inputs.Parse(conflict.Had, &had) == nil && m.inputs.Parse(conflict.Got, &got) == nil {
			if conflict.HadEntry != conflict.GotEntry {
				return fmt.Errorf("session: participant %d did both %+v with entry %v and %+v with entry %v on tick %d: %w",
					conflict.Participant, had, conflict.HadEntry, got, conflict.GotEntry, conflict.Tick, err)
			}
			return fmt.Errorf("session: participant %d did both %+v and %+v on tick %d: %w",
				conflict.Participant, had, got, conflict.Tick, err)
		}
	}
	return err
}
