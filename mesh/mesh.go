package mesh

import (
	"math"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// maxDrain is the largest number of messages handled in one Poll, so that a flood
// cannot hold the game's goroutine.
const maxDrain = 1024

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

// String returns the phase as one lower-case word.
func (p Phase) String() string {
	switch p {
	case Joining:
		return "joining"
	case Agreeing:
		return "agreeing"
	case Playing:
		return "playing"
	case Ended:
		return "ended"
	}
	return "unknown phase"
}

// Mesh is one peer's side of the protocol. Create it with [New].
type Mesh struct {
	cfg       Config
	own       []driftback.Participant // the participants this peer plays
	histories []history               // by participant; with a relay what its set has
	published []history               // with a relay: what this peer has published, in the order of own
	late      []uint64                // by participant: on how many ticks of the relay's set its last input is repeated
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

	agreed       bool // tag, seed and delays are known
	digest, seed uint64
	tag          uint16
	start        startState
	prints       fingerprints
	finish       finishState
	parting      wire.Leave     // what the others were told as it ended
	last         driftback.Tick // where this peer is going to finish; 0: not known
	dispute      dispute
	views        views
	from         driftback.Tick // where a peer that has come back begins to play; 0: it was there from the start
	used         driftback.Tick // the first tick that the owner does not run: a relay's set may go on far beyond it
	turns        turns
	pace         ownPace

	avoid         string // the tag of the match before, in hexadecimal; "": there was none
	followed      bool   // by a rematch, which has the links now
	events        []Event
	eventsTold    int // how many of them a Flush has seen
	eventsDropped int
	messages      []Message // of this Poll
	letters       []byte    // their data
	refused       [Refusals]uint64

	incoming, outgoing wire.Packet
	room               int    // the size in bytes of this round's packets
	runs               []byte // outgoing's inputs, flat
	entries            []byte // and its entries
	out                []byte // outgoing's bytes
}

// New returns a mesh in phase [Joining].
func New(c Config) (*Mesh, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	m := &Mesh{cfg: c, span: driftback.Tick(2*(c.Window+MaxDelay) + 1), turns: c.newTurns()}
	m.cfg.Players = slices.Clone(c.Players)
	m.cfg.Delays = slices.Clone(c.Delays)
	m.cfg.Settings = withRoster(c.Settings, c.Players)
	if c.relayed() {
		m.cfg.Settings = sorted(append(m.cfg.Settings, c.terms().setting()))
		m.cfg.PlayOn = false // the relay decides about that
	}
	// While the owner has not yet read what one Poll brought, the confirmed tick may
	// move by almost a span and inputs come from almost a span beyond that. A power of
	// two that holds as many holds MaxRedundancy too.
	depth := 1
	for depth < 2*int(m.span) {
		depth *= 2
	}
	for i := range m.byNum {
		m.byNum[i] = -1
	}
	for p, peer := range c.Players {
		m.histories = append(m.histories, newHistory(c.Stride, depth))
		if peer == c.Self {
			m.own = append(m.own, driftback.Participant(p))
			if c.relayed() {
				m.published = append(m.published, newHistory(c.Stride, depth))
			}
		}
	}
	m.late = make([]uint64, len(c.Players))
	peers := slices.Clone(c.Players)
	if c.relayed() {
		peers = []driftback.Peer{c.Relay}
	}
	slices.Sort(peers)
	for _, peer := range slices.Compact(peers) {
		if peer == c.Self {
			continue
		}
		ticks := func() []driftback.Tick { return make([]driftback.Tick, len(m.own)) }
		l := link{peer: peer, acked: ticks(), told: ticks(), sent: ticks(), hurriedAt: -m.turns.length}
		if c.Buggify.Fires(buggify.LateNumbers) {
			l.meter.next = math.MaxUint16 - 99
		}
		for p, q := range c.Players {
			if q == peer || c.relayed() {
				l.plays = append(l.plays, driftback.Participant(p))
			}
		}
		m.byNum[peer] = int8(len(m.links))
		m.links = append(m.links, l)
	}
	m.delays = make([]int, len(c.Players))
	m.events = make([]Event, 0, maxEvents+maxImportant*len(m.links))
	m.prints.init(&m.cfg, m.links)
	m.initViews()
	m.runs = make([]byte, 0, min(len(m.own)*depth*c.Stride, wire.MaxDecoded))
	m.entries = make([]byte, 0, len(m.own)*min(depth, wire.MaxRunTicks))
	if len(m.links) == 0 {
		m.agree()
	}
	return m, nil
}

// Phase returns how far the match has come.
func (m *Mesh) Phase() Phase { return m.phase }

// Err returns why the match has ended, and nil before that.
func (m *Mesh) Err() error { return m.err }

// Refused returns how many things were dropped for each reason.
func (m *Mesh) Refused() [Refusals]uint64 { return m.refused }

// Poll handles what has arrived and judges who has been silent for too long. now
// is the time since any fixed moment; a time that goes back counts as no time
// passed. After the end it still takes messages and what belongs to a rematch.
func (m *Mesh) Poll(now time.Duration) {
	m.forgetEvents()
	m.forgetMessages()
	passed := m.tell(now)
	if m.followed || m.cfg.Transport == nil {
		return
	}
	for i := range m.links {
		m.links[i].silence += passed
		m.links[i].evidence.sent = 0
	}
	drain := maxDrain
	if m.cfg.Buggify.Fires(buggify.OneMessage) {
		drain = 1
	}
	m.prints.bound(m.cfg.Buggify)
	for outside := 0; drain > 0 && outside < maxOutside; {
		msg, ok := m.cfg.Transport.Receive()
		if !ok {
			break
		}
		if m.linkTo(msg.From) == nil {
			outside++
		} else {
			drain--
		}
		m.receive(msg)
	}
	if m.phase == Ended {
		return
	}
	m.fill()
	m.judge(passed)
}

func (m *Mesh) receive(msg transport.Message) {
	l := m.linkTo(msg.From)
	if l == nil {
		m.receiveOutside(msg)
		return
	}
	if m.phase != Ended && (l.view.fresh || l.view.awaits) && m.receiveReturning(l, msg) {
		return
	}
	if l.view.cut && m.phase != Ended {
		m.receiveCut(l, msg)
		return
	}
	switch msg.Kind {
	case transport.Up:
		l.view.silent, l.view.gone, l.view.deaf = 0, 0, true // it says so again
		l.up, l.greeted, l.downWhy = true, false, nil
		l.early, l.next = nil, nil // they may have been another process's; they are sent again
		l.mail, l.owed = mail{}, l.owed&^owesLeave
		l.owed |= owesHello
		if m.start.ready {
			l.owed |= owesStart
		}
		if m.finish.ready {
			l.owed |= owesFinish
		}
		if m.dispute.open {
			l.owed |= owesDisagree
			l.disagreed = l.disagreed && !m.cfg.Evidence // it says so again, and evidence after that
			l.owed &^= owesSettled
			l.evidence.again()
		}
		if m.phase != Ended {
			m.hear(l)
		}
		m.note(Event{Kind: PeerUp, Peer: l.peer})
	case transport.Down:
		l.up, l.downWhy, l.next = false, msg.Err, nil
		m.note(Event{Kind: PeerDown, Peer: l.peer, Err: msg.Err})
	case transport.Datagram:
		if m.phase != Ended {
			m.receivePacket(l, msg.Data)
		}
	case transport.Reliable:
		m.receiveControl(l, msg.Data)
	}
}

func (m *Mesh) refuse(r Refusal) { m.refused[r]++ }
