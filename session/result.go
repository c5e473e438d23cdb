package session

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/rewind"
)

// Phase says what a call of Tick or Poll found.
type Phase uint8

const (
	// Joining: the handshake is not over. No input was used.
	Joining Phase = iota
	// Advanced: one tick ran, and the inputs were used. Of a paused tick the step is left
	// out.
	Advanced
	// Stalled: no tick ran and no input was used. Try again at the next frame.
	Stalled
	// Ended: the match is over. The error says why, and every later call returns the
	// same, with events and messages.
	Ended
	// CatchingUp: this peer comes to a match that goes on, and no input was used: it runs
	// the ticks that take none of its own, several in a call.
	CatchingUp
)

// String returns the phase as one lower-case word.
func (p Phase) String() string {
	switch p {
	case Joining:
		return "joining"
	case Advanced:
		return "advanced"
	case Stalled:
		return "stalled"
	case Ended:
		return "ended"
	case CatchingUp:
		return "catching up"
	}
	return "unknown phase"
}

// Event is something that happened to a peer.
type Event = mesh.Event

// What an [Event] can be.
const (
	PeerUp          = mesh.PeerUp
	PeerDown        = mesh.PeerDown
	PeerInterrupted = mesh.PeerInterrupted
	PeerResumed     = mesh.PeerResumed
	PeerFinished    = mesh.PeerFinished
	PeerJoined      = mesh.PeerJoined
	PeerLeft        = mesh.PeerLeft
	PeerRematch     = mesh.PeerRematch
	Paused          = mesh.Paused
	Resumed         = mesh.Resumed
	SpeedChanged    = mesh.SpeedChanged
	DelayChanged    = mesh.DelayChanged
	PeerCut         = mesh.PeerCut
	PeerReturned    = mesh.PeerReturned
	WatcherCame     = mesh.WatcherCame
	WatcherGone     = mesh.WatcherGone
	FeedBegan       = mesh.FeedBegan
	InputLate       = mesh.InputLate
)

// Message is what a peer's game has sent with [Lockstep.Send].
type Message = mesh.Message

// Result is what one call of Tick or Poll did. Its slices are borrowed until the
// next call.
type Result struct {
	Phase Phase
	// Tick is the next tick to run, Confirmed the first that lacks an input.
	Tick, Confirmed driftback.Tick
	// InputFor has, for each participant that this peer plays, in order, the tick for
	// which its input was published: that of the tick that ran and its input delay. While
	// a delay that has become shorter takes effect that tick has its input already: then
	// it is the tick into whose input Config.Merge puts it, or None if it was discarded.
	// Set when Advanced.
	InputFor []driftback.Tick
	// Rerun are the ticks that were run again.
	Rerun rewind.Span
	// WaitingFor are the participants whose inputs are missing when Stalled.
	WaitingFor []driftback.Participant
	// Effects are to be played, or taken back, now.
	Effects []Report
	// Events are what has happened to peers, in order. Stats counts those for which there
	// was no room: links that come and go give way to all else.
	Events []Event
	// Messages are what the peers' games have sent, in order for each peer: at most
	// mesh.MaxUntaken of each in one call. They come in every phase, also after the end,
	// and change nothing about the match.
	Messages []Message
	// Pace is how fast the game should go on so that all peers predict equally many
	// ticks: follow its rate or its skips. A game may ignore it, and has the rollbacks. For a tick
	// that is left out call Poll in place of Tick, for an extra one call Tick twice, with an input for each.
	Pace pacing.Advice
}
