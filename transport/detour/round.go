package detour

import (
	"math/bits"

	"github.com/driftback/driftback"
)

// round does what waits for time or room, once everything that has arrived has been
// received.
func (d *Transport) round() {
	d.ops = maxOps
	for list := d.told; list != 0; list &= list - 1 {
		d.peers[bits.TrailingZeros64(uint64(list))].noWay = false
	}
	d.told = 0
	// Each round begins with another peer, so that no neighbour can use up all signatures.
	d.first = (d.first + 1) % driftback.MaxPeers
	each(d.busy, d.first, d.tend)
	each(d.live, d.first, d.watch)
	// Those with a higher number are called; those with a lower one call.
	each(d.mine&^d.live&^(bit(d.cfg.Self)<<1-1), d.first, d.advance)
}

// each calls do for every peer of a set, beginning with first.
func each(set mask, first int, do func(driftback.Peer)) {
	for list := bits.RotateLeft64(uint64(set), -first); list != 0; list &= list - 1 {
		do(driftback.Peer((bits.TrailingZeros64(list) + first) % driftback.MaxPeers))
	}
}

// tend does what waits for a neighbour.
func (d *Transport) tend(to driftback.Peer) {
	left := !d.flushTail(to)
	d.flushReach(to)
	p := &d.peers[to]
	left = left || p.owesReach
	if n := p.doors; n != nil {
		for q := range driftback.Peer(driftback.MaxPeers) {
			if n.pending[q] != nil && d.flushPending(n, q) {
				left = true
			}
			if a := n.answers[q]; a != nil && d.respond(q, to, a) {
				left = true
			}
		}
	}
	if !left {
		d.busy &^= bit(to)
	}
}

// watch does what waits for a link by a detour, and gives it up when it has been silent for
// long and there is another way.
func (d *Transport) watch(to driftback.Peer) {
	p := &d.peers[to]
	w := p.way
	d.flushSealed(to, w)
	d.flushTaken(to, w)
	if w.sentSince {
		w.sentSince = false
		w.silent++
	}
	if w.silent > d.cfg.Patience/2 && !w.asked && d.flushSealed(to, w) {
		// One that has nothing to say is not lost: it is asked for a word first.
		w.asked = d.seal(to, w, innerAsk, nil) == nil
	}
	if w.silent > d.cfg.Patience && d.between(to)&^p.failed&^bit(w.via) != 0 {
		d.sayGoodbye(to, w, byeSilent)
		d.lose(to, ErrSilent, true)
	}
}
