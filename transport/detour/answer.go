package detour

import (
	"bytes"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
)

// answer is a link that a peer with a lower number is making to this one, through one
// neighbour.
type answer struct {
	called bool // a call waits to be answered
	call   [secretSize]byte
	pair   pair   // of the call that has been answered
	order  uint64 // of this answer among all that this peer has given
	way    *way   // its keys, until the confirmation has come
	proof  []byte
}

// door returns what came from a peer through a neighbour.
func (d *Transport) door(from, via driftback.Peer) *answer {
	n := d.doorsOf(via)
	if n.answers[from] == nil {
		n.answers[from] = &answer{}
	}
	return n.answers[from]
}

func (d *Transport) doorsOf(via driftback.Peer) *doors {
	if d.peers[via].doors == nil {
		d.peers[via].doors = &doors{}
	}
	return d.peers[via].doors
}

// keepCall keeps a call until there is time for it and no direct link: the caller may
// notice first that the direct link is gone. A newer one takes its place.
func (d *Transport) keepCall(from, via driftback.Peer, b []byte) {
	if _, ok := d.pin(from); !ok || from > d.cfg.Self {
		d.stats.Refused++
		return
	}
	a := d.door(from, via)
	copy(a.call[:], b[headSize+1:])
	a.called = true
	d.busy |= bit(via)
}

// keepConfirm keeps the confirmation of a link until there is time to look at it.
func (d *Transport) keepConfirm(from, via driftback.Peer, b []byte) {
	n := d.peers[via].doors
	if n == nil || n.answers[from] == nil || n.answers[from].way == nil ||
		!bytes.Equal(b[headSize:headSize+secretSize], n.answers[from].pair.answer[:]) {
		d.stats.Refused++
		return
	}
	a := n.answers[from]
	a.proof = append(a.proof[:0], b[headSize+secretSize:]...)
	d.busy |= bit(via)
}

// respond goes on with a link that a peer is making to this one, and says whether
// something is left to do.
func (d *Transport) respond(from, via driftback.Peer, a *answer) (left bool) {
	if a.proof != nil {
		if d.ops > 0 {
			d.takeConfirm(from, a)
		}
	} else if a.called && d.ops > 0 && !d.direct.has(from) {
		d.answer(from, via, a)
	}
	return a.called || a.proof != nil
}

// answer draws a key for the link that a call asks for, signs both and sends its own.
func (d *Transport) answer(from, via driftback.Peer, a *answer) {
	pin, ok := d.pin(from)
	private, err := drawKey(d.cfg.Random)
	if !ok || err != nil {
		a.called = false
		return
	}
	a.pair = pair{caller: from, answerer: d.cfg.Self, via: via, call: a.call}
	copy(a.pair.answer[:], private.PublicKey().Bytes())
	in, out, id, err := newSeals(&a.pair, private, a.call[:], d.cfg.Label, pin, d.cfg.Identity.Pin())
	if err != nil {
		d.ops--
		d.stats.Forged++
		a.called, a.way = false, nil
		return
	}
	d.out = append(head(d.out[:0], kindAnswer, d.cfg.Self, from), a.call[:]...)
	d.out = d.appendProof(append(d.out, a.pair.answer[:]...), &a.pair, roleAnswer)
	if d.below.SendReliable(via, d.out) != nil {
		return // no room: again in the next round
	}
	a.called, a.proof = false, nil
	a.way = &way{via: via, id: id, out: out, in: in}
	d.answered++
	a.order = d.answered
}

// takeConfirm checks that the peer itself made the call, just now, and has heard the answer:
// then the link is up at this end, and the other is told.
func (d *Transport) takeConfirm(from driftback.Peer, a *answer) {
	proof, w := a.proof, a.way
	a.proof = nil
	pin, ok := d.pin(from)
	if !ok || !d.signed(&a.pair, roleConfirm, pin, proof) {
		d.stats.Forged++
		a.way = nil
		return
	}
	if d.direct.has(from) || a.order < d.peers[from].order {
		// It has been long on its way: the caller has given that one up, and called through another.
		a.way = nil
		return
	}
	if d.seal(from, w, innerReady, nil) != nil {
		a.proof = proof // no room: again in the next round
		return
	}
	a.way = nil
	d.peers[from].order = a.order
	d.rise(from, w)
}

// pin returns the pin of a peer that there may be a detour to.
func (d *Transport) pin(p driftback.Peer) (identity.Pin, bool) {
	pin, ok := d.cfg.Pin(p)
	return pin, ok && !pin.IsZero()
}
