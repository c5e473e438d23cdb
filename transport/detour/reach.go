package detour

import (
	"encoding/binary"
	"math/bits"

	"github.com/driftback/driftback"
)

// takeReach takes whom a neighbour says that it reaches. One that lies costs messages:
// what it does not send on is missed, and another is tried.
func (d *Transport) takeReach(from driftback.Peer, b []byte) {
	p := &d.peers[from]
	now := mask(binary.LittleEndian.Uint64(b[1:])) &^ (bit(from) | bit(d.cfg.Self))
	lost, gained := p.reach&^now, now&^p.reach
	p.reach = now
	for list := lost; list != 0; list &= list - 1 {
		d.loseThrough(from, driftback.Peer(bits.TrailingZeros64(uint64(list))))
	}
	for list := gained; list != 0; list &= list - 1 {
		q := &d.peers[bits.TrailingZeros64(uint64(list))]
		q.failed &^= bit(from)
		q.pause = 0
	}
	d.reckon()
}

// reckon works out anew to whom there is a way round.
func (d *Transport) reckon() {
	d.mine = 0
	for list := d.direct; list != 0; list &= list - 1 {
		d.mine |= d.peers[bits.TrailingZeros64(uint64(list))].reach
	}
	d.mine &^= d.direct
}

// owesAll has every neighbour told whom this peer reaches now.
func (d *Transport) owesAll() {
	for list := d.direct; list != 0; list &= list - 1 {
		d.peers[bits.TrailingZeros64(uint64(list))].owesReach = true
	}
	d.busy |= d.direct
	for list := d.direct; list != 0; list &= list - 1 {
		d.flushReach(driftback.Peer(bits.TrailingZeros64(uint64(list))))
	}
	d.reckon()
}

// flushReach tells a neighbour whom this peer reaches, if it has not been told. Whoever was
// lost since and is back is left out at first, since the ends of a link have to hear of that.
func (d *Transport) flushReach(to driftback.Peer) {
	p := &d.peers[to]
	if !p.owesReach {
		return
	}
	now := d.direct &^ bit(to)
	if p.lapsed&now != 0 && !d.sayReach(to, now&^p.lapsed) {
		return
	}
	p.owesReach = !d.sayReach(to, now)
}

func (d *Transport) sayReach(to driftback.Peer, now mask) bool {
	d.out = appendReach(d.out[:0], now)
	if d.below.SendReliable(to, d.out) != nil {
		return false
	}
	d.peers[to].lapsed = 0
	return true
}

// between returns the neighbours that reach a peer.
func (d *Transport) between(to driftback.Peer) (list mask) {
	for all := d.direct; all != 0; all &= all - 1 {
		if via := bits.TrailingZeros64(uint64(all)); d.peers[via].reach.has(to) {
			list |= 1 << via
		}
	}
	return list
}
