package mesh

import (
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

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
	left     bool // it has finished and gone
	// disagreed: it has said what it found to differ, which is disagree.
	disagreed bool
	disagree  wire.Disagree
	evidence  evidence

	past  matchOf    // the newest it was in before this one, as far as is known
	next  *nextMatch // what it has said about the one after this
	asked bool       // it has been noted that it waits there
	leave wire.Leave // what there was no room for as a match ended, for a rematch to say first
	mail  mail

	silence     time.Duration
	interrupted bool
	// balked says that the newest input that came is one that the game does not know,
	// and balkedFor for how long none that it knows has come.
	balked    bool
	balkedFor time.Duration

	// By our participant, in the order of Mesh.own: the first tick that the peer has
	// not acknowledged, the first that this round of sending has not come to, and the
	// first that has not been sent at all.
	acked, told, sent []driftback.Tick
	midway            bool // the round has not come to the newest inputs
	lastSent          time.Duration
	everSent          bool
	hurriedAt         time.Duration // when new inputs last went before their turn
	owesAck           bool          // it has sent inputs that are new and not yet acknowledged
	meter             meter
	pace              heardPace
	stats             LinkStats
	prints            linkPrints
	view              linkView
}

// owed is what has still to be sent on the reliable channel.
type owed uint8

const (
	owesHello owed = 1 << iota
	owesStart
	owesFinish
	owesDisagree
	owesSettled
	owesLeave
)

// LinkStats is what is known about the link to one peer.
type LinkStats struct {
	// RoundTrip is the smoothed time from sending a packet to handling the echo of
	// it, less the time the other side held it; 0 until the first echo. Both ends
	// handle packets once a tick, so it includes up to a tick at either end. Jitter
	// is its smoothed mean deviation.
	RoundTrip, Jitter time.Duration
	// Loss is the recent share of the peer's packets that never came, 0 to 1. Lost
	// and Repeated count packets that never came and that came again.
	Loss           float64
	Lost, Repeated uint64
	// Packets and bytes of datagrams; the transport's own overhead is not in them.
	PacketsSent, PacketsReceived uint64
	BytesSent, BytesReceived     uint64
	// Silence is for how long nothing has been heard while this side was polling.
	Silence time.Duration
	// Unacknowledged is the longest run of our inputs, in ticks, that the peer has
	// not acknowledged.
	Unacknowledged int
}

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
	for i := range m.own {
		s.Unacknowledged = max(s.Unacknowledged, int(m.publishedOf(i).held-l.acked[i]))
	}
	return s, true
}

func (m *Mesh) linkTo(peer driftback.Peer) *link {
	if int(peer) >= len(m.byNum) || m.byNum[peer] < 0 {
		return nil
	}
	return &m.links[m.byNum[peer]]
}
