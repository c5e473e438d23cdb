package mesh

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
)

const (
	// maxEvents is how many events of one Poll leave no room for further links that
	// come up or go down, which may happen any number of times.
	maxEvents = 64
	// maxOtherEvents is how often everything else can happen to one peer in one
	// Poll: it resumes, finishes and is interrupted again. There is always room.
	maxOtherEvents = 3
)

// EventKind says what an [Event] is.
type EventKind uint8

const (
	// PeerUp: the link to the peer works.
	PeerUp EventKind = iota + 1
	// PeerDown: the link to the peer is gone; it may come back.
	PeerDown
	// PeerInterrupted: nothing has been heard from the peer for PeerTimeout.
	PeerInterrupted
	// PeerResumed: an interrupted peer is back.
	PeerResumed
	// PeerFinished: the peer has confirmed the last tick.
	PeerFinished
	// Paused, Resumed and SpeedChanged: a participant's entry has changed what peers agree
	// on, and is confirmed. The floor above finds these: see [Mesh.Note].
	Paused
	Resumed
	SpeedChanged
	// WatcherCame: a peer that plays nobody watches. WatcherGone: it has gone, or has been
	// dropped, and Err says why. The floor above finds these too.
	WatcherCame
	WatcherGone
	// FeedBegan: to who watches, the peer feeds it the match from Tick on.
	FeedBegan
)

// String returns the kind as a few lower-case words.
func (k EventKind) String() string {
	switch k {
	case PeerUp:
		return "link up"
	case PeerDown:
		return "link down"
	case PeerInterrupted:
		return "interrupted"
	case PeerResumed:
		return "resumed"
	case PeerFinished:
		return "finished"
	case Paused:
		return "match paused"
	case Resumed:
		return "match resumed"
	case SpeedChanged:
		return "speed changed"
	case WatcherCame:
		return "watcher came"
	case WatcherGone:
		return "watcher gone"
	case FeedBegan:
		return "feed began"
	}
	return "unknown event"
}

// Event is something that happened to a peer.
type Event struct {
	Kind EventKind
	Peer driftback.Peer
	// Err is set for PeerDown and WatcherGone.
	Err error
	// Participant of Peer gave the entry for Tick, and Speed is what the speed is since, in
	// eighths of the normal one: set for Paused, Resumed and SpeedChanged.
	Participant driftback.Participant
	Tick        driftback.Tick
	Speed       int
}

// Events returns what has happened since the last Poll began. The slice is
// borrowed until the next Poll.
func (m *Mesh) Events() []Event { return m.events }

// EventsDropped returns how many events did not fit into one Poll. Only [PeerUp],
// [PeerDown] and those about watchers are ever dropped.
func (m *Mesh) EventsDropped() int { return m.eventsDropped }

// Note adds an event that the floor above has found.
func (m *Mesh) Note(e Event) { m.note(e) }

func (m *Mesh) note(e Event) {
	if routine(e.Kind) && (len(m.events) >= maxEvents || m.cfg.Buggify.Fires(buggify.FewEvents)) {
		m.eventsDropped++
		return
	}
	m.events = append(m.events, e)
}

// routine reports whether something may happen any number of times in one Poll.
func routine(k EventKind) bool {
	switch k {
	case PeerUp, PeerDown, WatcherCame, WatcherGone, FeedBegan:
		return true
	}
	return false
}
