package mesh

import (
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
)

// maxEvents is how many events of one Poll there may be, unless more than that are
// important. Those are few: each can happen only so often to one peer in one Poll.
const maxEvents = 64

// maxImportant is how many important ones one peer can give rise to in one Poll.
const maxImportant = 6

// EventKind says what an [Event] is.
type EventKind uint8

const (
	// PeerUp: the link to the peer works.
	PeerUp EventKind = iota + 1
	// PeerDown: the link to the peer is gone, and with it the game's messages that had
	// not arrived; it may come back.
	PeerDown
	// PeerInterrupted: nothing has been heard from the peer for PeerTimeout. With a
	// RejoinGrace this is the warning before it is lost.
	PeerInterrupted
	// PeerResumed: an interrupted peer is back.
	PeerResumed
	// PeerFinished: the peer has confirmed the last tick.
	PeerFinished
	// PeerJoined: the peer's hello has come, and its settings are ours.
	PeerJoined
	// PeerLeft: the peer has left the match before its end, or has lost it: then Err is
	// nil.
	PeerLeft
	// PeerRematch: the peer has gone on to another match over this link, and waits
	// there.
	PeerRematch
	// Paused, Resumed and SpeedChanged: a participant's entry has changed what peers agree
	// on, and is confirmed. The floor above finds these: see [Mesh.Note].
	Paused
	Resumed
	SpeedChanged
	// DelayChanged: from now on another input delay is used for a participant of this
	// peer's. The floor above finds it: see [Mesh.Note].
	DelayChanged
	// PeerCut: the others have agreed to go on without the peer, which does not play Tick
	// any more. Its participants may differ by a few ticks: see [Mesh.Cut].
	PeerCut
	// WatcherCame: a peer that plays nobody watches. WatcherGone: it has gone, or has been
	// dropped, and Err says why. The floor above finds these too.
	WatcherCame
	WatcherGone
	// FeedBegan: to who watches, the peer feeds it the match from Tick on.
	FeedBegan
	// PeerReturned: the members have agreed to let the peer in again, which plays from Tick
	// on.
	PeerReturned
	// InputLate: an input of Participant's, which Peer plays, came too late for the relay's
	// set, or not at all. On Tick, the newest of those that came with one packet, its last one in
	// the set was repeated for everybody.
	InputLate
)

// eventKinds has each kind's name, in a few lower-case words, and whether it is routine:
// it may happen any number of times in one Poll, and gives way to one that is not when there is no
// room.
var eventKinds = [...]struct {
	name    string
	routine bool
}{
	PeerUp:          {"link up", true},
	PeerDown:        {"link down", true},
	PeerInterrupted: {"interrupted", false},
	PeerResumed:     {"resumed", false},
	PeerFinished:    {"finished", false},
	PeerJoined:      {"joined", true},
	PeerLeft:        {"left", false},
	PeerRematch:     {"asks for a rematch", false},
	Paused:          {"match paused", true},
	Resumed:         {"match resumed", true},
	SpeedChanged:    {"speed changed", true},
	DelayChanged:    {"input delay changed", true},
	PeerCut:         {"cut", false},
	WatcherCame:     {"watcher came", true},
	WatcherGone:     {"watcher gone", true},
	FeedBegan:       {"feed began", true},
	PeerReturned:    {"returned", false},
	InputLate:       {"input late", true},
}

// String returns the kind as a few lower-case words.
func (k EventKind) String() string {
	if k == 0 || int(k) >= len(eventKinds) {
		return "unknown event"
	}
	return eventKinds[k].name
}

// Event is something that happened to a peer.
type Event struct {
	Kind EventKind
	Peer driftback.Peer
	// Tick is the first for which an input of the peer's was missing, for PeerFinished the
	// first that does not run, for PeerCut the first that the peer does not play, for
	// PeerReturned the first that it plays again, and 0
	// before a match is played.
	// For Paused, Resumed and SpeedChanged it is that of the entry, and for DelayChanged
	// the first that runs with the new delay.
	Tick driftback.Tick
	// Err is set for PeerDown, PeerLeft and WatcherGone.
	Err error
	// Participant of Peer gave the entry, and Speed is what the speed is since, in
	// eighths of the normal one: set for Paused, Resumed and SpeedChanged.
	// For DelayChanged it has an input delay of Delay ticks.
	Participant driftback.Participant
	Speed       int
	Delay       int
}

// Events returns what has happened since the Flush before the last Poll, in order. The
// slice is borrowed until the next Poll.
func (m *Mesh) Events() []Event { return m.events }

// EventsDropped returns how many events did not fit into one Poll. Only routine ones are
// ever dropped: a link that came up or went down, a peer that joined, watchers, and entries and
// delays, whose outcome can be asked for.
func (m *Mesh) EventsDropped() int { return m.eventsDropped }

// Note adds an event that the floor above has found, as it is.
func (m *Mesh) Note(e Event) { m.add(e) }

// note adds an event of a peer's, at the tick that the peer has come to.
func (m *Mesh) note(e Event) {
	if l := m.linkTo(e.Peer); l != nil && e.Tick == 0 && (m.phase == Playing || m.phase == Ended && m.agreed) {
		e.Tick = m.heldFrom(l)
	}
	m.add(e)
}

// add adds an event. Where there is no room the oldest routine one gives way, because
// the newest say how things stand.
func (m *Mesh) add(e Event) {
	routine := func(e Event) bool { return eventKinds[e.Kind].routine }
	// Nothing of the match may depend on who watches, so that they draw nothing.
	watches := e.Kind == WatcherCame || e.Kind == WatcherGone
	if routine(e) && !watches && m.cfg.Buggify.Fires(buggify.FewEvents) {
		m.eventsDropped++
		return
	}
	if len(m.events) >= maxEvents {
		if i := slices.IndexFunc(m.events, routine); i >= 0 {
			m.events = slices.Delete(m.events, i, i+1)
			m.eventsDropped++
			if i < m.eventsTold {
				m.eventsTold--
			}
		} else if routine(e) {
			m.eventsDropped++
			return
		}
	}
	m.events = append(m.events, e)
}

// forgetEvents makes room for those of another Poll. What has happened since the last
// Flush nobody has been told of.
func (m *Mesh) forgetEvents() {
	m.events = slices.Delete(m.events, 0, m.eventsTold)
	m.eventsTold = 0
}
