package detour

import (
	"bytes"
	"crypto/ecdh"
	"math/bits"

	"github.com/driftback/driftback"
)

// maxWraps bounds how much longer each pause is than the one before: four times the patience.
const maxWraps = 2

// call is a link that this peer, the one with the lower number, is making.
type call struct {
	pair    pair
	private *ecdh.PrivateKey
	said    bool // it has been sent
	reply   []byte
	way     *way   // from the answer on
	confirm []byte // until it has been sent
	waited  int    // rounds since the last step
}

// advance goes on with the link that this peer is making to another, as far as
// it can now.
func (d *Transport) advance(to driftback.Peer) {
	p := &d.peers[to]
	if p.pause > 0 {
		p.pause--
		return
	}
	c := p.call
	if c == nil {
		if c = d.begin(to); c == nil {
			return
		}
		p.call = c
	}
	c.waited++
	switch {
	case !c.said:
		d.out = append(head(d.out[:0], kindCall, d.cfg.Self, to), version)
		d.out = append(d.out, c.pair.call[:]...)
		c.said = d.below.SendReliable(c.pair.via, d.out) == nil
	case c.reply != nil && d.ops > 0:
		ok := d.takeReply(to, c)
		c.reply = nil
		if !ok {
			d.stats.Forged++
			d.fail(to, c.pair.via)
			return
		}
		c.waited = 0
	}
	if c.confirm != nil && d.below.SendReliable(c.pair.via, c.confirm) == nil {
		c.confirm = nil
	}
	if c.waited > d.patienceWith(to, c) {
		d.fail(to, c.pair.via)
	}
}

// patienceWith returns for how many rounds the next step of a call may be waited for: for
// long where there is nobody else to turn to, since a message may only be late.
func (d *Transport) patienceWith(to driftback.Peer, c *call) int {
	p := &d.peers[to]
	if d.between(to)&^p.failed&^bit(c.pair.via) == 0 {
		return d.cfg.Patience << maxWraps
	}
	return d.cfg.Patience << min(p.wraps, maxWraps)
}

// begin chooses who is to stand in between and draws a key; nil if nobody can.
func (d *Transport) begin(to driftback.Peer) *call {
	p := &d.peers[to]
	all := d.between(to)
	if all == 0 || d.ops <= 0 {
		return nil
	}
	if _, ok := d.pin(to); !ok {
		return nil
	}
	left := all &^ p.failed
	if left == 0 {
		p.failed, left = 0, all
	}
	private, err := drawKey(d.cfg.Random)
	if err != nil {
		p.why = err
		return nil
	}
	d.ops--
	c := &call{private: private, pair: pair{
		caller: d.cfg.Self, answerer: to, via: driftback.Peer(bits.TrailingZeros64(uint64(left))),
	}}
	copy(c.pair.call[:], private.PublicKey().Bytes())
	return c
}

// fail gives up making a link through a neighbour. When all have failed there is a pause,
// each time a longer one, so that they are not asked without end.
func (d *Transport) fail(to, via driftback.Peer) {
	p := &d.peers[to]
	p.call = nil
	p.failed |= bit(via)
	if d.between(to)&^p.failed == 0 {
		p.pause = d.cfg.Patience << min(p.wraps, maxWraps)
		p.wraps++
	}
}

// keepReply keeps the answer to a call until there is time to look at it.
func (d *Transport) keepReply(from, via driftback.Peer, b []byte) {
	c := d.peers[from].call
	if c == nil || c.pair.via != via || c.way != nil || !bytes.Equal(b[headSize:headSize+secretSize], c.pair.call[:]) {
		d.stats.Refused++
		return
	}
	c.reply = append(c.reply[:0], b...)
}

// takeReply checks an answer and makes the confirmation and the link's keys. False means
// that it is not the peer's.
func (d *Transport) takeReply(to driftback.Peer, c *call) bool {
	pin, ok := d.pin(to)
	b := c.reply[headSize+secretSize:]
	copy(c.pair.answer[:], b)
	if !ok || !d.signed(&c.pair, roleAnswer, pin, b[secretSize:]) {
		return false
	}
	out, in, id, err := newSeals(&c.pair, c.private, c.pair.answer[:], d.cfg.Label, d.cfg.Identity.Pin(), pin)
	if err != nil {
		return false
	}
	c.way = &way{via: c.pair.via, id: id, out: out, in: in}
	c.confirm = append(head(nil, kindConfirm, d.cfg.Self, to), c.pair.answer[:]...)
	c.confirm = d.appendProof(c.confirm, &c.pair, roleConfirm)
	return true
}

// appendProof appends this peer's key and its signature of a script.
func (d *Transport) appendProof(dst []byte, p *pair, role byte) []byte {
	key := d.cfg.Identity.Key()
	return append(append(dst, key[:]...), d.sign(p, role)...)
}
