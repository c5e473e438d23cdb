package session

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
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
	// same.
	Ended
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
	Paused          = mesh.Paused
	Resumed         = mesh.Resumed
	SpeedChanged    = mesh.SpeedChanged
	WatcherCame     = mesh.WatcherCame
	WatcherGone     = mesh.WatcherGone
	FeedBegan       = mesh.FeedBegan
)

// Result is what one call of Tick or Poll did. Its slices are borrowed until the
// next call.
type Result struct {
	Phase Phase
	// Tick is the next tick to run, Confirmed the first that lacks an input.
	Tick, Confirmed driftback.Tick
	// InputFor is the tick for which the inputs were published; set when Advanced.
	InputFor driftback.Tick
	// Rerun are the ticks that were run again.
	Rerun rewind.Span
	// WaitingFor are the participants whose inputs are missing when Stalled.
	WaitingFor []driftback.Participant
	// Effects are to be played, or taken back, now.
	Effects []Report
	Events  []Event
}
