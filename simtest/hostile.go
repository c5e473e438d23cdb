package simtest

import (
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// What a hostile peer does. The peers of From run the session that ships, and something
// beside it that changes or adds to what they send to the peers of To, where an empty
// list means all the others.
const (
	// Corrupt: Share of their datagrams arrive with some bits flipped.
	Corrupt Kind = "corrupt"
	// Truncate: Share of their datagrams are cut short, or have bytes after their end.
	Truncate Kind = "truncate"
	// Stray: in Share of their frames they send something of another match too.
	Stray Kind = "stray"
	// Forge: in Share of their frames they send inputs that are not theirs to send, or
	// acknowledge what nobody sent to them.
	Forge Kind = "forge"
	// Change: they send another input for a tick whose input the others hold.
	Change Kind = "change"
	// Equivocate: from At on they tell To another input than the rest, for one tick.
	Equivocate Kind = "equivocate"
	// Misreport: from At on they tell To another fingerprint than theirs, for one due tick.
	Misreport Kind = "misreport"
	// Flood: in each frame they send Share of floodDatagrams datagrams of junk.
	Flood Kind = "flood"
)

const (
	// floodDatagrams is how many datagrams of junk a frame has at the most. A few peers
	// together stay below what a session takes in a turn.
	floodDatagrams = 200
	// maxUnread bounds the junk on the reliable channel, where it would keep out what
	// the liar's own session has to say.
	maxUnread = 16
	// recently is how many ticks before the newest one that a victim holds a Change
	// reaches back. Inputs are kept for far longer.
	recently = 20
)

// hostile reports whether a fault of this kind is something that peers do on purpose.
func (k Kind) hostile() bool { return kindTraits[k].nature == hostile }

// lie is what must come of something that a hostile peer has sent.
type lie struct {
	fault int
	// why is the reason for which it is dropped.
	why mesh.Refusal
	// heard: it shows all the same that its sender is alive.
	heard bool
	// conflict is set where it is no reason to drop but one to end the match.
	conflict *session.ConflictError
}

// label finds a lie when it arrives: no two messages with the same one mean different things.
type label struct {
	from, to driftback.Peer
	kind     transport.Kind
	hash     uint64
}

// act is one fault, as one of its peers commits it.
type act struct {
	Fault
	fault int
	draw  *draw
}

// liar is the hostile side of a peer. It stands between the session and the endpoint.
type liar[S any, I comparable] struct {
	p    *peer[S, I]
	acts []act
	// By victim: the newest packet of the session's, whether its hello has gone out since
	// the link is up, and the junk on the reliable channel that has not been received.
	newest  [MaxPeers][]byte
	greeted [MaxPeers]bool
	unread  [MaxPeers]int
	forks   []fork[I]
	reports []misreport
	// By victim: packets of another match between the same peers, once recorded.
	earlier  [MaxPeers][][]byte
	recorded bool

	packet, junk wire.Packet
	out          []byte
}

// newLiar returns the hostile side of a peer, or nil if it has none.
func newLiar[S any, I comparable](p *peer[S, I]) *liar[S, I] {
	l := &liar[S, I]{p: p}
	for i, f := range p.m.s.Faults {
		if f.Kind.hostile() && slices.Contains(f.From, int(p.self)) {
			r := random(p.m.s.Seed, streamHostile, uint64(f.At))
			r.Seed(r.Uint64(), uint64(p.self)<<8|uint64(slices.Index(Kinds[:], f.Kind)))
			l.acts = append(l.acts, act{f, i, &draw{r}})
		}
	}
	if l.acts == nil {
		return nil
	}
	return l
}

// on reports whether an act is being committed against a victim.
func (l *liar[S, I]) on(a *act, to driftback.Peer) bool {
	return l.p.m.on[a.fault][l.p.self][to] > 0
}

// expect notes what must come of a message if it arrives.
func (l *liar[S, I]) expect(kind transport.Kind, to driftback.Peer, b []byte, what lie) {
	l.p.m.lies[label{l.p.self, to, kind, xxh3.Hash(b)}] = what
}

// put sends a datagram that the session has not.
func (l *liar[S, I]) put(to driftback.Peer, b []byte, what lie) {
	if len(b) <= loopback.MaxDatagram {
		l.expect(transport.Datagram, to, b, what)
		l.p.tap.pass(to, b)
	}
}

// say sends a message on the reliable channel that the session has not. It is one that
// a peer which plays drops, so it is sent to no other.
func (l *liar[S, I]) say(to driftback.Peer, b []byte, what lie) {
	if !l.p.m.peers[to].playing || !l.greeted[to] || l.unread[to] >= maxUnread {
		return
	}
	if l.p.tap.passReliable(to, b) == nil {
		l.expect(transport.Reliable, to, b, what)
		l.unread[to]++
	}
}

// alter returns what is sent in place of a packet of the session's.
func (l *liar[S, I]) alter(to driftback.Peer, b []byte) []byte {
	b = l.retell(to, b)
	l.newest[to] = append(l.newest[to][:0], b...)
	for i := range l.acts {
		a := &l.acts[i]
		if a.Kind != Corrupt && a.Kind != Truncate || !l.on(a, to) || !a.draw.happens(a.Share) {
			continue
		}
		// What is a packet of the match by chance would mean something.
		for range 8 {
			if a.Kind == Corrupt {
				l.out = a.draw.flip(append(l.out[:0], b...))
			} else {
				l.out = a.draw.cut(append(l.out[:0], b...))
			}
			if why, drop := l.judge(to, l.out); drop && len(l.out) <= loopback.MaxDatagram {
				l.expect(transport.Datagram, to, l.out, lie{fault: a.fault, why: why})
				return l.out
			}
		}
	}
	return b
}

// flip flips a few bits of b.
func (d *draw) flip(b []byte) []byte {
	for range d.between(1, 8) {
		i := d.IntN(8 * len(b))
		b[i/8] ^= 1 << (i % 8)
	}
	return b
}

// cut cuts b short, or appends something.
func (d *draw) cut(b []byte) []byte {
	if d.Chance(2, 3) {
		return b[:d.IntN(len(b))]
	}
	return d.bytes(b, d.between(1, 16))
}

// judge returns why a datagram must be dropped by a victim that plays; drop is false if
// it is a packet of the match.
func (l *liar[S, I]) judge(to driftback.Peer, b []byte) (why mesh.Refusal, drop bool) {
	tag, ok := wire.TagOf(b)
	switch ours, _ := wire.TagOf(l.newest[to]); {
	case !ok:
		return mesh.Malformed, true
	case tag != ours:
		return mesh.OtherMatch, true
	}
	return mesh.Malformed, l.junk.Parse(b, l.p.m.inputs.Size()) != nil
}

// head returns a packet without anything, as the session's newest one began.
func (l *liar[S, I]) head(to driftback.Peer) wire.Packet {
	b := l.newest[to]
	return wire.Packet{Tag: binary.LittleEndian.Uint16(b[1:]), Seq: binary.LittleEndian.Uint16(b[3:])}
}

// send sends a packet that says something that must be dropped, or that is evidence.
func (l *liar[S, I]) send(to driftback.Peer, p *wire.Packet, what lie) {
	b, err := p.Append(l.out[:0], l.p.m.inputs.Size())
	if err != nil {
		return // it would be a fault of this file
	}
	l.out, what.heard = b, true
	l.put(to, b, what)
}

// turn does what the peer does beside its session in one frame.
func (l *liar[S, I]) turn() {
	if !l.p.playing || l.p.err != nil {
		return
	}
	for i := range l.acts {
		a := &l.acts[i]
		for victim := range l.p.m.peers {
			to := driftback.Peer(victim)
			if to == l.p.self || !l.on(a, to) || len(l.newest[to]) == 0 {
				continue
			}
			switch a.Kind {
			case Stray:
				if a.draw.happens(a.Share) {
					l.stray(a, to)
				}
			case Forge:
				if a.draw.happens(a.Share) {
					l.forge(a, to)
				}
			case Change:
				l.change(a, to)
			case Flood:
				for range 1 + int(a.Share*(floodDatagrams-1)) {
					l.flood(a, to)
				}
			default: // they change what the session sends
			}
		}
	}
}
