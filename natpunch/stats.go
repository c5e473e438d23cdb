package natpunch

import (
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport/quic"
)

// Path is the way that a peer's packets go.
type Path struct {
	// Remote is where they are sent: an address of the peer's, its router's, or of a
	// relay of its own. It is not valid while there is no path.
	Remote netip.AddrPort
	// Relayed: they go through a TURN server of this side's or of the other's.
	Relayed bool
	// Changes counts how often the path changed, and Rounds how often one was looked for.
	Changes, Rounds int
}

// Stats describes the link with one peer and the path below it.
type Stats struct {
	quic.Stats
	Path Path
}

// Stats returns what is known of the link with a peer; false for a peer that the
// configuration does not name.
func (t *Transport) Stats(peer driftback.Peer) (Stats, bool) {
	links, ok := t.links.Stats(peer)
	if !ok {
		return Stats{}, false
	}
	s := Stats{Stats: links}
	r := t.routes[peer]
	if p := r.path.Load(); p != nil {
		s.Path.Remote, s.Path.Relayed = p.remote, p.relayed || p.farRelayed
	}
	s.Path.Changes, s.Path.Rounds = int(r.ups.Load()), int(r.begun.Load())
	return s, true
}

// String describes the path in a few words.
func (p *path) String() string {
	switch {
	case p == nil:
		return "no path"
	case p.relayed && p.farRelayed:
		return p.remote.String() + " through two relays"
	case p.relayed:
		return p.remote.String() + " through a relay"
	case p.farRelayed:
		return p.remote.String() + ", a relay"
	default:
		return p.remote.String()
	}
}

// Counts counts what was dropped.
type Counts struct {
	quic.Counts
	// Strangers counts packets from addresses that no peer has been heard from, checks
	// apart; QUIC that overtakes the check before it is among them, and so is what came to
	// a socket towards a relay from elsewhere.
	Strangers uint64
	// Checks counts STUN messages that were malformed, unasked for, of no round, or too
	// many, and what came from a relay and made no sense.
	Checks uint64
	// Signals counts messages of the Signal that made no sense.
	Signals uint64
	// Overflow counts packets that came faster than they were taken.
	Overflow uint64
	// Contested counts attempts of one peer to take another's address.
	Contested uint64
	// Unrenewed counts questions for servers ([Config].Renew) to which there was no good answer.
	Unrenewed uint64
}

type counts struct{ strangers, checks, signals, overflow, contested, unrenewed atomic.Uint64 }

// Counts returns the counts so far.
func (t *Transport) Counts() Counts {
	return Counts{
		Counts:    t.links.Counts(),
		Strangers: t.counts.strangers.Load(),
		Checks:    t.counts.checks.Load(),
		Signals:   t.counts.signals.Load(),
		Overflow:  t.counts.overflow.Load(),
		Contested: t.counts.contested.Load(),
		Unrenewed: t.counts.unrenewed.Load(),
	}
}

// describe names a peer's constant address by the path that it stands for.
func (t *Transport) describe(a net.Addr) string {
	if r := t.socket.routeTo(a); r != nil {
		return r.path.Load().String()
	}
	return a.String()
}
