package detour

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
)

// peer is what is known about one other peer.
type peer struct {
	// link counts the links that have come and gone; shown says that whoever is above has received
	// the Up of the newest, so that nothing meant for one goes through the next.
	link  uint64
	shown bool
	why   error // why the last one went down
	way   *way  // the link by a detour; there is none beside a direct one

	// As a neighbour.
	reach     mask // whom it says it reaches
	owesReach bool // it has not been told whom this peer reaches
	lapsed    mask // and not that these were lost meanwhile, which may be new processes now
	halves    halves
	tail      tail
	doors     *doors

	// While there is no direct link.
	call   *call
	failed mask   // neighbours that have failed to stand in between
	wraps  int    // how often all have
	pause  int    // rounds until the next call
	order  uint64 // of the answer that a link came of, the newest
	noWay  bool   // it has been told in this round that its envelopes belong to no link
}

// doors is what came through a neighbour, by the peer at the other end of it. It is kept by
// neighbour, so that none can spoil what comes through another.
type doors struct {
	answers [driftback.MaxPeers]*answer
	pending [driftback.MaxPeers]*pending // from the neighbour, by destination
}

// directUp notes that the link below is up: it is preferred to any detour.
func (d *Transport) directUp(from driftback.Peer) {
	p := &d.peers[from]
	if d.direct.has(from) {
		return // the transport below says so twice; it is not for this package to repeat it
	}
	if p.way != nil {
		d.sayGoodbye(from, p.way, byeDirect)
		d.lose(from, ErrDirect, false)
	}
	d.forget(p)
	d.direct |= bit(from)
	d.owesAll()
	for q := range d.peers {
		d.peers[q].failed &^= bit(from)
	}
	d.pushUp(from)
}

// directDown notes that the link below is down, and with it every detour through that peer.
func (d *Transport) directDown(from driftback.Peer, why error) {
	if !d.direct.has(from) {
		return
	}
	p := &d.peers[from]
	d.direct &^= bit(from)
	d.busy &^= bit(from)
	p.unlink(why)
	d.events.push(event{m: transport.Message{Kind: transport.Down, From: from, Err: why}})
	for q := range driftback.Peer(driftback.MaxPeers) {
		d.loseThrough(from, q)
	}
	p.reach, p.owesReach, p.lapsed, p.doors, p.halves.open, p.tail.n = 0, false, 0, nil, false, 0
	for list := d.direct; list != 0; list &= list - 1 {
		d.peers[bits.TrailingZeros64(uint64(list))].lapsed |= bit(from)
	}
	d.owesAll()
	d.reckon()
}

// forget drops what belongs to a peer while there is no direct link to it.
func (d *Transport) forget(p *peer) {
	p.call, p.failed, p.wraps, p.pause = nil, 0, 0, 0
}

// lose takes the link by a detour down at this end. failed says that the one in between
// is not to be the next to be tried.
func (d *Transport) lose(from driftback.Peer, why error, failed bool) {
	p := &d.peers[from]
	if failed {
		p.failed |= bit(p.way.via)
	}
	p.way = nil
	p.unlink(why)
	d.live &^= bit(from)
	d.events.push(event{m: transport.Message{Kind: transport.Down, From: from, Err: why}})
}

// unlink notes that there is no link any more, also for an Up that has not been received.
func (p *peer) unlink(why error) {
	p.link++
	p.shown, p.why = false, why
}

// loseThrough drops what there is with a peer through a neighbour that reaches it no more.
func (d *Transport) loseThrough(via, q driftback.Peer) {
	p := &d.peers[q]
	if p.way != nil && p.way.via == via {
		d.lose(q, fmt.Errorf("%w: peer %d", ErrNoWay, via), false)
	}
	if p.call != nil && p.call.pair.via == via {
		p.call = nil
	}
	if n := d.peers[via].doors; n != nil {
		n.answers[q] = nil
	}
}

// rise makes w the link to a peer. An older one is the same peer's before it began anew.
func (d *Transport) rise(to driftback.Peer, w *way) {
	p := &d.peers[to]
	if p.way != nil {
		d.lose(to, ErrRestarted, false)
	}
	p.way, p.why = w, nil
	p.call, p.wraps, p.pause = nil, 0, 0
	d.live |= bit(to)
	d.pushUp(to)
}

// sendDirect queues a message with a neighbour, in two halves if the byte before it
// would make it too long.
func (d *Transport) sendDirect(to driftback.Peer, b []byte) error {
	if !d.flushTail(to) {
		return fmt.Errorf("detour: %w: peer %d", transport.ErrFull, to)
	}
	kind, first := kindData, b
	if len(b) > maxDirect {
		kind, first = kindHalf, b[:maxDirect]
	}
	d.out = append(append(d.out[:0], kind), first...)
	if err := d.below.SendReliable(to, d.out); err != nil {
		return fmt.Errorf("detour: %w", err)
	}
	if kind == kindHalf {
		d.peers[to].tail.keep(b[maxDirect:])
		d.flushTail(to)
	}
	return nil
}

// flushTail sends the second half of a message, and says whether none is left.
func (d *Transport) flushTail(to driftback.Peer) bool {
	p := &d.peers[to]
	if p.tail.n == 0 {
		return true
	}
	d.out = append(append(d.out[:0], kindData), p.tail.b[:p.tail.n]...)
	if err := d.below.SendReliable(to, d.out); errors.Is(err, transport.ErrFull) {
		d.busy |= bit(to)
		return false
	}
	p.tail.n = 0
	return true
}

// events are the Ups and Downs that have not been received, oldest first. They are
// received before anything else, so there are only those that one message or one round makes.
type events struct {
	list    []event
	head, n int
}

type event struct {
	m    transport.Message
	link uint64 // of an Up: which link
}

func (d *Transport) pushUp(from driftback.Peer) {
	p := &d.peers[from]
	p.link++
	d.events.push(event{m: transport.Message{Kind: transport.Up, From: from}, link: p.link})
}

// nextEvent returns the next Up or Down.
func (d *Transport) nextEvent() (transport.Message, bool) {
	if d.events.n == 0 {
		return transport.Message{}, false
	}
	e := d.events.pop()
	if p := &d.peers[e.m.From]; e.m.Kind == transport.Up && e.link == p.link {
		p.shown = true
	}
	return e.m, true
}

func (e *events) push(one event) {
	e.list = append(e.list, one)
	e.n++
}

func (e *events) pop() event {
	one := e.list[e.head]
	e.head++
	if e.n--; e.n == 0 {
		e.list, e.head = e.list[:0], 0
	}
	return one
}
