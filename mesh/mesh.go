// Package mesh is the protocol between the peers of a match, over bytes: the
// handshake, publishing inputs with everything a peer has not acknowledged,
// acknowledging, confirming, comparing fingerprints, time-outs, and the ways a
// match ends.
//
// It owns what is held, acknowledged, contradicted and confirmed. It refuses to
// own the game: inputs are byte strings of one length and states are 64-bit
// fingerprints, so it has no type parameters and needs neither the step nor the
// state.
//
// A mesh reads no clock and starts no goroutine. The owner calls [Mesh.Poll] with
// the time, then publishes, then calls [Mesh.Flush]; all from one goroutine.
package mesh

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// None switches a setting off.
const None = -1

const (
	// MaxWindow is the largest prediction window, in ticks.
	MaxWindow = 256
	// MaxDelay is the largest input delay, in ticks.
	MaxDelay = 60
	// MaxRedundancy is the largest number of inputs carried at least.
	MaxRedundancy = 256
	// MaxHistory is the largest number of ticks for which fingerprints are kept.
	MaxHistory = 1 << 20

	// maxDrain is the largest number of messages handled in one Poll, so that a
	// flood cannot hold the game's goroutine.
	maxDrain = 1024
	// maxEvents is the largest number of events kept between two Polls.
	maxEvents = 64
	// heartbeat is how often a peer that has nothing new to say repeats what is
	// unacknowledged; idleBeat is how often it speaks when everything is.
	heartbeat = 10 * time.Millisecond
	idleBeat  = 100 * time.Millisecond
	// maxDispute is how long a peer that found a disagreement waits for the other
	// to have found it too.
	maxDispute = 5 * time.Second
)

// Config says what a mesh is for. New checks all of it.
type Config struct {
	// Transport carries the messages. It may be nil when this peer plays every
	// participant.
	Transport transport.Transport
	// Self is this peer. Players[p] is the peer that plays participant p.
	Self    driftback.Peer
	Players []driftback.Peer
	// Stride is the size of an input in bytes.
	Stride int
	// Delay is this peer's input delay in ticks, 0 to MaxDelay.
	Delay int
	// Window is the prediction window in ticks, 0 to MaxWindow. The mesh does not
	// predict; the window bounds how far ahead a peer's inputs can honestly be.
	Window int
	// Redundancy is how many of the newest inputs a packet carries at least, even
	// when all of them have been acknowledged: 0 to MaxRedundancy.
	Redundancy int
	// FingerprintEvery is the interval in ticks at which confirmed states are
	// compared, or None. History is for how many ticks fingerprints are kept.
	FingerprintEvery, History int
	// Match and Settings must be alike on every peer. A setting with an empty value
	// is unknown and not compared.
	Match    uint64
	Settings []wire.Setting
	// Nonce is this peer's contribution to the match's seed, and tells this process
	// from one that is started in its place. It should be random.
	Nonce uint64
	// PeerTimeout is for how long a peer may be silent before it counts as
	// interrupted, RejoinGrace for how long after that it may come back, and
	// JoinTimeout how long the handshake may take; None waits for ever.
	PeerTimeout, RejoinGrace, JoinTimeout time.Duration
	// Valid reports whether the bytes, of length Stride, are an input that the game
	// knows. Nil knows all.
	Valid func(in []byte) bool
}

// Phase says how far a match has come.
type Phase uint8

const (
	// Joining: some peer's hello has not come.
	Joining Phase = iota
	// Agreeing: every hello has come, so that the seed and the delays are known,
	// but not every peer has said that it starts from the same state.
	Agreeing
	// Playing: inputs flow.
	Playing
	// Ended: Err says why.
	Ended
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
	}
	return "unknown event"
}

// Event is something that happened to a peer.
type Event struct {
	Kind EventKind
	Peer driftback.Peer
	// Err is set for PeerDown.
	Err error
}

// Mesh is one peer's side of the protocol. Create it with [New].
type Mesh struct {
	cfg       Config
	own       []driftback.Participant // the participants this peer plays
	histories []history               // by participant
	delays    []int                   // by participant, known once Agreeing
	// span is how far beyond the confirmed tick an honest peer can have published.
	span  driftback.Tick
	links []link
	byNum [driftback.MaxPeers]int8 // index into links, or −1

	phase Phase
	err   error
	// clock is the time that has passed while this mesh was polled; given is the
	// caller's last word.
	clock, given time.Duration
	polled       bool
	joinedFor    time.Duration

	digest, seed uint64
	tag          uint16
	start        startState
	prints       fingerprints
	finish       finishState
	last         driftback.Tick // where this peer is going to finish; 0: not known
	dispute      dispute

	events        []Event
	eventsDropped int
	refused       [Refusals]uint64

	incoming, outgoing wire.Packet
	runs               []byte // outgoing's inputs, flat
	out                []byte // outgoing's bytes
}

// link is what is known about one other peer.
type link struct {
	peer     driftback.Peer
	plays    []driftback.Participant
	up       bool
	downWhy  error
	owed     owed
	greeted  bool // its hello has come since the link came up
	hello    *wire.Hello
	early    *wire.Start // its start, while this peer is not ready to compare
	started  bool        // it starts from the same state
	finished bool        // it has confirmed the last tick
	finish   wire.Finish
	// disagreed: it has said what it found to differ.
	disagreed bool

	silence     time.Duration
	interrupted bool

	// By our participant, in the order of Mesh.own: the first tick that the peer has
	// not acknowledged, and the first that it has not been sent at all.
	acked, told []driftback.Tick
	lastSent    time.Duration
	everSent    bool
	meter       meter
	stats       LinkStats
	prints      linkPrints
}

// owed is what has still to be sent on the reliable channel.
type owed uint8

const (
	owesHello owed = 1 << iota
	owesStart
	owesFinish
	owesDisagree
)

// New returns a mesh in phase [Joining].
func New(c Config) (*Mesh, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	m := &Mesh{cfg: c, span: driftback.Tick(2*(c.Window+MaxDelay) + 1)}
	m.cfg.Players = slices.Clone(c.Players)
	m.cfg.Settings = withRoster(c.Settings, c.Players)
	// While the owner has not yet read what one Poll brought, the confirmed tick may
	// move by almost a span and inputs come from almost a span beyond that.
	depth := 1
	for depth < 2*int(m.span)+c.Redundancy {
		depth *= 2
	}
	for i := range m.byNum {
		m.byNum[i] = -1
	}
	for p, peer := range c.Players {
		m.histories = append(m.histories, newHistory(c.Stride, depth))
		if peer == c.Self {
			m.own = append(m.own, driftback.Participant(p))
		}
	}
	peers := slices.Clone(c.Players)
	slices.Sort(peers)
	for _, peer := range slices.Compact(peers) {
		if peer == c.Self {
			continue
		}
		l := link{peer: peer, acked: make([]driftback.Tick, len(m.own)), told: make([]driftback.Tick, len(m.own))}
		for p, q := range c.Players {
			if q == peer {
				l.plays = append(l.plays, driftback.Participant(p))
			}
		}
		m.byNum[peer] = int8(len(m.links))
		m.links = append(m.links, l)
	}
	m.delays = make([]int, len(c.Players))
	m.events = make([]Event, 0, maxEvents)
	m.prints.init(&m.cfg, m.links)
	m.runs = make([]byte, 0, min(len(m.own)*depth*c.Stride, wire.MaxDecoded))
	if len(m.links) == 0 {
		m.agree()
	}
	return m, nil
}

func (c *Config) validate() error {
	switch {
	case len(c.Players) == 0 || len(c.Players) > driftback.MaxParticipants:
		return fmt.Errorf("mesh: Players has %d participants: from 1 to %d are allowed", len(c.Players), driftback.MaxParticipants)
	case !slices.Contains(c.Players, c.Self):
		return fmt.Errorf("mesh: Self is peer %d, which plays no participant in Players", c.Self)
	case c.Stride < 1 || c.Stride > wire.MaxStride:
		return fmt.Errorf("mesh: Stride is %d bytes: from 1 to %d are allowed", c.Stride, wire.MaxStride)
	case c.Delay < 0 || c.Delay > MaxDelay:
		return fmt.Errorf("mesh: Delay is %d ticks: from 0 to %d are allowed", c.Delay, MaxDelay)
	case c.Window < 0 || c.Window > MaxWindow:
		return fmt.Errorf("mesh: Window is %d ticks: from 0 to %d are allowed", c.Window, MaxWindow)
	case c.Redundancy < 0 || c.Redundancy > MaxRedundancy:
		return fmt.Errorf("mesh: Redundancy is %d inputs: from 0 to %d are allowed", c.Redundancy, MaxRedundancy)
	case c.FingerprintEvery != None && c.FingerprintEvery < 1:
		return fmt.Errorf("mesh: FingerprintEvery is %d ticks: at least 1, or None", c.FingerprintEvery)
	case c.FingerprintEvery != None && (c.History > MaxHistory || c.FingerprintEvery > c.History/2):
		return fmt.Errorf("mesh: FingerprintEvery is %d ticks and History %d: the interval must be at most half of the history, and that at most %d",
			c.FingerprintEvery, c.History, MaxHistory)
	case c.PeerTimeout <= 0 && c.PeerTimeout != None:
		return fmt.Errorf("mesh: PeerTimeout is %v: it must be positive, or None", c.PeerTimeout)
	case c.RejoinGrace < 0:
		return fmt.Errorf("mesh: RejoinGrace is %v: it must not be negative", c.RejoinGrace)
	case c.JoinTimeout <= 0 && c.JoinTimeout != None:
		return fmt.Errorf("mesh: JoinTimeout is %v: it must be positive, or None", c.JoinTimeout)
	}
	others := false
	for p, peer := range c.Players {
		if peer >= driftback.MaxPeers {
			return fmt.Errorf("mesh: Players[%d] is peer %d: peers are numbered below %d", p, peer, driftback.MaxPeers)
		}
		others = others || peer != c.Self
	}
	if others && c.Transport == nil {
		return errors.New("mesh: Transport is nil, but another peer plays: without a transport every participant must be Self's")
	}
	if !others {
		return nil
	}
	// A packet must have room for one input beside everything else, or nothing could
	// ever be published.
	least := maxHead + wire.MaxRunHead + c.Stride + 2
	if room := c.Transport.MaxDatagram(); room < least {
		return fmt.Errorf("mesh: Transport carries datagrams of %d bytes and an input has %d: it must carry at least %d",
			room, c.Stride, least)
	}
	if _, err := wire.AppendControl(nil, wire.Hello{Settings: withRoster(c.Settings, c.Players)}); err != nil {
		return fmt.Errorf("mesh: Settings cannot be sent: %w", err)
	}
	return nil
}

// Phase returns how far the match has come.
func (m *Mesh) Phase() Phase { return m.phase }

// Err returns why the match has ended, and nil before that.
func (m *Mesh) Err() error { return m.err }

// Events returns what has happened since the last Poll began. The slice is
// borrowed until the next Poll.
func (m *Mesh) Events() []Event { return m.events }

// EventsDropped returns how many events did not fit between two Polls.
func (m *Mesh) EventsDropped() int { return m.eventsDropped }

// Refused returns how many things were dropped for each reason.
func (m *Mesh) Refused() [Refusals]uint64 { return m.refused }

// Peers returns the other peers' numbers in order; the slice is the caller's.
func (m *Mesh) Peers() []driftback.Peer {
	peers := make([]driftback.Peer, len(m.links))
	for i := range m.links {
		peers[i] = m.links[i].peer
	}
	return peers
}

// Link returns the statistics of the link to a peer; ok is false for a peer that
// the match does not have.
func (m *Mesh) Link(peer driftback.Peer) (s LinkStats, ok bool) {
	l := m.linkTo(peer)
	if l == nil {
		return LinkStats{}, false
	}
	s = l.stats
	s.RoundTrip, s.Jitter = l.meter.roundTrip, l.meter.jitter
	s.Loss, s.Lost, s.Repeated = l.meter.loss, l.meter.lost, l.meter.repeated
	s.Silence = l.silence
	for i, p := range m.own {
		s.Unacknowledged = max(s.Unacknowledged, int(m.histories[p].held-l.acked[i]))
	}
	return s, true
}

func (m *Mesh) linkTo(peer driftback.Peer) *link {
	if int(peer) >= len(m.byNum) || m.byNum[peer] < 0 {
		return nil
	}
	return &m.links[m.byNum[peer]]
}

// Poll handles what has arrived and judges who has been silent for too long. now
// is the time since any fixed moment; a time that goes back counts as no time
// passed.
func (m *Mesh) Poll(now time.Duration) {
	m.events = m.events[:0]
	passed := m.tell(now)
	if m.phase == Ended || m.cfg.Transport == nil {
		return
	}
	for i := range m.links {
		m.links[i].silence += passed
	}
	for range maxDrain {
		msg, ok := m.cfg.Transport.Receive()
		if !ok || m.phase == Ended {
			break
		}
		m.receive(msg)
	}
	if m.phase == Ended {
		return
	}
	m.judge(passed)
}

// tell moves the mesh's clock and returns the time that peers may be blamed for:
// a game that did not poll for a while could not have heard anybody.
func (m *Mesh) tell(now time.Duration) time.Duration {
	const day = 24 * time.Hour
	passed := now - m.given
	if !m.polled || now <= m.given || passed < 0 {
		passed = 0
	}
	m.polled, m.given = true, now
	m.clock += min(passed, day)
	if m.cfg.PeerTimeout != None {
		passed = min(passed, m.cfg.PeerTimeout/4)
	}
	return min(passed, day)
}

func (m *Mesh) receive(msg transport.Message) {
	l := m.linkTo(msg.From)
	if l == nil {
		m.refuse(Stranger)
		return
	}
	switch msg.Kind {
	case transport.Up:
		l.up, l.greeted, l.downWhy = true, false, nil
		l.owed |= owesHello
		if m.start.ready {
			l.owed |= owesStart
		}
		if m.finish.ready {
			l.owed |= owesFinish
		}
		if m.dispute.open {
			l.owed |= owesDisagree
		}
		m.hear(l)
		m.note(Event{Kind: PeerUp, Peer: l.peer})
	case transport.Down:
		l.up, l.downWhy = false, msg.Err
		m.note(Event{Kind: PeerDown, Peer: l.peer, Err: msg.Err})
	case transport.Datagram:
		m.receivePacket(l, msg.Data)
	case transport.Reliable:
		m.receiveControl(l, msg.Data)
	}
}

// hear notes that a peer is alive.
func (m *Mesh) hear(l *link) {
	l.silence = 0
	if l.interrupted {
		l.interrupted = false
		m.note(Event{Kind: PeerResumed, Peer: l.peer})
	}
}

// judge ends the match, or interrupts a peer, when time is up.
func (m *Mesh) judge(passed time.Duration) {
	if m.phase == Joining || m.phase == Agreeing {
		m.joinedFor += passed
		if m.cfg.JoinTimeout != None && m.joinedFor >= m.cfg.JoinTimeout {
			why := m.missing()
			m.end(fmt.Errorf("%w %s", ErrNeverJoined, why), wire.Leave{Reason: leaveMissing, Text: why})
		}
		return
	}
	for i := range m.links {
		l := &m.links[i]
		if m.cfg.PeerTimeout == None || l.silence < m.cfg.PeerTimeout || m.done(l) {
			continue
		}
		if !l.interrupted {
			l.interrupted = true
			m.note(Event{Kind: PeerInterrupted, Peer: l.peer})
		}
		if l.silence >= m.cfg.PeerTimeout+m.cfg.RejoinGrace && !m.finish.ready {
			held := m.histories[l.plays[0]].held
			m.end(lostError(l.peer, held, l.silence, l.downWhy), wire.Leave{Reason: leaveLost, Text: fmt.Sprintf("it lost peer %d", l.peer)})
			return
		}
	}
	m.judgeDispute()
	m.judgeFinish()
}

// done reports whether nothing more is needed from a peer: it has finished where
// this peer is going to, and its inputs up to there have come.
func (m *Mesh) done(l *link) bool {
	for _, p := range l.plays {
		if m.histories[p].held < m.last {
			return false
		}
	}
	return l.finished && l.finish.At == m.last
}

func (m *Mesh) note(e Event) {
	if len(m.events) == maxEvents {
		m.eventsDropped++
		return
	}
	m.events = append(m.events, e)
}

func (m *Mesh) refuse(r Refusal) { m.refused[r]++ }

// Blocked reports whether the owner must not run another tick now, although its
// prediction window would allow it: a peer is interrupted, a disagreement is
// being settled, or too many fingerprints wait to be compared.
func (m *Mesh) Blocked() bool {
	if m.dispute.open || m.prints.full(m.links) {
		return true
	}
	for i := range m.links {
		if m.links[i].interrupted {
			return true
		}
	}
	return false
}
