// Package loopback is a transport without a network: peers in one process, over
// links that can be made as bad as one likes on purpose.
//
// A match against a real network cannot be run twice. Here every delay, loss and
// reordering follows from a seed and from the calls that were made, so a failure
// replays exactly; and time passes only when [Network.Advance] says so, so a
// minute of a bad link takes milliseconds to test.
//
// It owns the clock that its endpoints share, the messages on their way and what
// [impair.Impairment] each direction of each link has. It refuses to own a real
// clock, a goroutine and a time-out: a peer that crashes is missed only by
// whoever waits for it.
//
// A [Network] and all its endpoints belong to one goroutine.
package loopback

import (
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport/impair"
)

const (
	// MaxDatagram is the size in bytes of the largest datagram.
	MaxDatagram = 1200
	// MaxDatagrams bounds the datagrams of one direction between Send and Receive,
	// copies included; further ones are dropped.
	MaxDatagrams = 1024
	// MaxReliableMessages and MaxReliableBytes bound the reliable messages of one
	// direction between SendReliable and Receive; beyond them SendReliable returns
	// transport.ErrFull.
	MaxReliableMessages = 256
	MaxReliableBytes    = 1 << 20
)

// Impairment is what one direction of a link does to its messages.
type Impairment = impair.Impairment

// Stats is what one direction of a link has done so far: what the impairment
// did, and what came of the rest.
type Stats struct {
	impair.Counts
	// Bytes is the size of all datagrams and reliable messages sent over the link.
	Bytes uint64
	// Received counts the datagrams, copies included, that Receive returned.
	Received uint64
	// Dropped counts the datagrams, copies included, that were sent without a link
	// or too long, found MaxDatagrams on their way, or whose link was not up or not
	// any more.
	Dropped uint64
	// Downs counts how often TakeDown took the link down at the receiving end, while it
	// was up there.
	Downs uint64
}

// Network is a set of endpoints that can reach each other, and the clock they
// share.
type Network struct {
	seed   uint64
	now    time.Duration
	seq    uint64 // of the next message on its way
	ends   [driftback.MaxPeers]*Endpoint
	lines  [driftback.MaxPeers][driftback.MaxPeers]*line
	flying flight
	spare  [2][]*message // of datagrams, of everything else
}

// line is one direction between two peers, whichever endpoints they have open.
type line struct {
	from, to driftback.Peer
	link     *impair.Link
	held     queue // reliable messages that wait for a block to end
	down     bool  // TakeDown took it down

	datagrams, reliable, reliableBytes int // between being sent and received
	stats                              Stats
}

// New returns a network whose links impair nothing yet. Equal seeds and calls
// give equal schedules.
func New(seed uint64) *Network { return &Network{seed: seed} }

// Now returns the time that has passed on the network's clock.
func (n *Network) Now() time.Duration { return n.now }

// Open returns a new endpoint for a peer, and links it with every endpoint that
// is open and to which the link was not taken down: each side sees Up once a message has crossed in both directions. If
// the peer has an endpoint open, that is closed first; the others see Down, then
// Up. It panics on a peer that is not below driftback.MaxPeers.
func (n *Network) Open(self driftback.Peer) *Endpoint {
	if self >= driftback.MaxPeers {
		panic(fmt.Sprintf("loopback: peer %d: want one below %d", self, driftback.MaxPeers))
	}
	if old := n.ends[self]; old != nil {
		_ = old.Close() // it never fails
	}
	e := &Endpoint{net: n, self: self}
	for p, other := range n.ends {
		if other != nil && !n.line(self, driftback.Peer(p)).down {
			n.control(e, driftback.Peer(p), nil, hello)
		}
	}
	n.ends[self] = e
	return e
}

// Impair changes what the direction between two peers does from now on, whether
// or not they are open. What is on its way keeps its fate; reliable messages
// that waited for a block to end go out.
func (n *Network) Impair(from, to driftback.Peer, im Impairment) error {
	if err := twoPeers(from, to); err != nil {
		return err
	}
	l := n.line(from, to)
	if err := l.link.Set(im); err != nil {
		return fmt.Errorf("loopback: from peer %d to peer %d: %w", from, to, err)
	}
	for l.held.n > 0 {
		m := l.held.at(0)
		if !n.carry(m) {
			break
		}
		l.held.pop()
	}
	return nil
}

// Stats returns what the direction between two peers has done so far.
func (n *Network) Stats(from, to driftback.Peer) Stats {
	if from >= driftback.MaxPeers || to >= driftback.MaxPeers || n.lines[from][to] == nil {
		return Stats{}
	}
	l := n.lines[from][to]
	s := l.stats
	s.Counts = l.link.Counts()
	return s
}

// Advance moves the clock and lets everything whose time has come arrive: by
// arrival time, and at equal times in the order in which it was sent. A d of 0
// or less lets arrive what is due now.
func (n *Network) Advance(d time.Duration) {
	until := n.now + max(d, 0)
	for len(n.flying) > 0 && n.flying[0].at <= until {
		m := n.flying.pop()
		n.now = max(n.now, m.at) // what an arrival causes starts when it arrives
		n.arrive(m)
	}
	n.now = until
}

func (n *Network) line(from, to driftback.Peer) *line {
	l := n.lines[from][to]
	if l == nil {
		l = &line{from: from, to: to, link: impair.NewLink(n.seed, uint64(from)<<8|uint64(to))}
		n.lines[from][to] = l
	}
	return l
}

// datagram puts one copy of a datagram on its way.
func (n *Network) datagram(l *line, from, to *Endpoint, b []byte, at time.Duration) {
	if l.datagrams == MaxDatagrams {
		l.stats.Dropped++
		return
	}
	l.datagrams++
	n.fly(n.message(l, from, to, datagram, b), at)
}

// queue puts a message on its way that is not lost and keeps its order.
func (n *Network) queue(m *message) {
	if !n.carry(m) { // if others are held, it is blocked
		m.line.held.push(m)
	}
}

// carry reports false if the direction is blocked.
func (n *Network) carry(m *message) bool {
	at, ok := m.line.link.Carry(n.now, len(m.data))
	if ok {
		n.fly(m, at)
	}
	return ok
}

func (n *Network) fly(m *message, at time.Duration) {
	m.at, m.seq = at, n.seq
	n.seq++
	n.flying.push(m)
}

// control sends one of the messages that bring a link up or down.
func (n *Network) control(from *Endpoint, peer driftback.Peer, to *Endpoint, k kind) {
	n.queue(n.message(n.line(from.self, peer), from, to, k, nil))
}

// message takes a message from the spare ones and copies b into it.
func (n *Network) message(l *line, from, to *Endpoint, k kind, b []byte) *message {
	spare := &n.spare[k.class()]
	var m *message
	if last := len(*spare) - 1; last >= 0 {
		m = (*spare)[last]
		*spare = (*spare)[:last]
	} else {
		m = &message{}
		if k == datagram {
			m.data = make([]byte, 0, MaxDatagram)
		}
	}
	m.kind, m.line, m.from, m.to = k, l, from, to
	m.data = append(m.data[:0], b...)
	return m
}

// release lowers the counts that bound what is between being sent and received.
func (m *message) release() {
	switch m.kind {
	case datagram:
		m.line.datagrams--
	case reliable:
		m.line.reliable--
		m.line.reliableBytes -= len(m.data)
	default:
	}
}

// recycle takes back a message that nobody can see any more.
func (n *Network) recycle(m *message) {
	m.release()
	m.from, m.to, m.err = nil, nil, nil
	spare := &n.spare[m.kind.class()]
	*spare = append(*spare, m)
}

// drop takes back a message that nobody has seen.
func (n *Network) drop(m *message) {
	if m.kind == datagram {
		m.line.stats.Dropped++
	}
	n.recycle(m)
}

// sweep drops every message on its way that gone chooses.
func (n *Network) sweep(gone func(m *message) bool) {
	keep := n.flying[:0]
	for _, m := range n.flying {
		if gone(m) {
			n.drop(m)
		} else {
			keep = append(keep, m)
		}
	}
	clear(n.flying[len(keep):])
	n.flying = keep
	n.flying.restore()
	for from := range n.lines {
		for _, l := range n.lines[from] {
			if l != nil {
				l.held.filter(n, gone)
			}
		}
	}
}
