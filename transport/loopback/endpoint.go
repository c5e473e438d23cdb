package loopback

import (
	"errors"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
)

var (
	// ErrPeerClosed is the Err of a Down: the peer closed its endpoint.
	ErrPeerClosed = errors.New("loopback: the peer closed its endpoint")
	// ErrPeerRestarted is the Err of a Down: the peer is back after a crash.
	ErrPeerRestarted = errors.New("loopback: the peer came back after a crash")
	// ErrTakenDown is the Err of a Down: [Network.TakeDown] took the link down.
	ErrTakenDown = errors.New("loopback: the link was taken down")
)

// Endpoint is one peer's transport.
type Endpoint struct {
	net    *Network
	self   driftback.Peer
	links  [driftback.MaxPeers]link
	inbox  queue
	lent   *message // what the last Receive returned
	closed bool
}

// link is what an endpoint knows about its link to one peer.
type link struct {
	far *Endpoint // the endpoint at the other end, once it has been heard of
	up  bool
}

var _ transport.Transport = (*Endpoint)(nil)

// Self returns the peer whose endpoint this is.
func (e *Endpoint) Self() driftback.Peer { return e.self }

// MaxDatagram returns [MaxDatagram].
func (e *Endpoint) MaxDatagram() int { return MaxDatagram }

// Send sends a datagram, which the link's impairment may lose, delay, overtake
// or repeat.
func (e *Endpoint) Send(to driftback.Peer, b []byte) {
	if e.closed || to >= driftback.MaxPeers {
		return
	}
	l, n := e.net.line(e.self, to), e.net
	far := e.links[to]
	if !far.up || len(b) > MaxDatagram {
		l.stats.Dropped++
		return
	}
	l.stats.Bytes += uint64(len(b))
	fate := l.link.Offer(n.now, len(b))
	for _, at := range fate.At[:fate.Copies] {
		n.datagram(l, e, far.far, b, at)
	}
}

// SendReliable queues a message that is delayed like any other but neither lost
// nor overtaken. While the direction is blocked it waits.
func (e *Endpoint) SendReliable(to driftback.Peer, b []byte) error {
	switch {
	case e.closed:
		return transport.ErrClosed
	case len(b) > transport.MaxReliable:
		return transport.ErrTooLong
	case to >= driftback.MaxPeers || !e.links[to].up:
		return transport.ErrNoLink
	}
	l := e.net.line(e.self, to)
	if l.reliable == MaxReliableMessages || l.reliableBytes+len(b) > MaxReliableBytes {
		return transport.ErrFull
	}
	l.reliable++
	l.reliableBytes += len(b)
	l.stats.Bytes += uint64(len(b))
	e.net.queue(e.net.message(l, e, e.links[to].far, reliable, b))
	return nil
}

// Receive returns the next thing that had arrived when [Network.Advance] last
// returned.
func (e *Endpoint) Receive() (transport.Message, bool) {
	if e.lent != nil {
		e.net.recycle(e.lent)
		e.lent = nil
	}
	if e.inbox.n == 0 {
		return transport.Message{}, false
	}
	m := e.inbox.pop()
	e.lent = m
	switch m.kind {
	case datagram:
		m.line.stats.Received++
		return transport.Message{Kind: transport.Datagram, From: m.line.from, Data: m.data}, true
	case reliable:
		return transport.Message{Kind: transport.Reliable, From: m.line.from, Data: m.data}, true
	case up:
		return transport.Message{Kind: transport.Up, From: m.line.from}, true
	default:
		return transport.Message{Kind: transport.Down, From: m.line.from, Err: m.err}, true
	}
}

// Close tells every linked peer goodbye, after what was queued for it. What had
// arrived here and was not received is gone. It never fails.
func (e *Endpoint) Close() error {
	if e.closed {
		return nil
	}
	e.leave()
	for p, l := range e.links {
		if l.far != nil {
			e.net.control(e, driftback.Peer(p), l.far, goodbye)
		}
	}
	return nil
}

// Crash ends the endpoint as if its process had died: nobody is told, and what
// it had queued reliably is gone. The others see Down and Up once the peer opens
// again.
func (e *Endpoint) Crash() {
	if e.closed {
		return
	}
	e.leave()
	e.net.sweep(func(m *message) bool { return m.from == e && m.kind != datagram })
}

// leave takes the endpoint out of the network, and with it the messages that
// nobody will take any more.
func (e *Endpoint) leave() {
	e.closed = true
	e.net.ends[e.self] = nil
	e.inbox.filter(e.net, func(*message) bool { return true })
	if e.lent != nil {
		e.lent.release()
		e.lent = nil // the caller may still be reading it, so it is not used again
	}
	e.net.sweep(func(m *message) bool {
		return m.to == e || m.from == e && (m.kind == hello || m.kind == welcome)
	})
}

// arrive does what a message asks for at its destination.
func (n *Network) arrive(m *message) {
	to := m.to
	if m.kind == hello {
		to = n.ends[m.line.to]
	}
	if to == nil || to.closed {
		n.drop(m)
		return
	}
	from, l := m.from, &to.links[m.line.from]
	switch m.kind {
	case datagram, reliable:
		if l.far == from && l.up {
			to.inbox.push(m)
			return // it is still needed
		}
	case hello:
		to.meet(from)
		n.control(to, from.self, from, welcome)
	case welcome:
		to.meet(from)
		to.rise(from)
		n.control(to, from.self, from, ready)
	case ready:
		to.rise(from)
	case goodbye:
		to.fall(from, ErrPeerClosed)
	default: // up and down are never on their way
	}
	n.drop(m)
}

// meet makes far the other end of the link to its peer.
func (e *Endpoint) meet(far *Endpoint) {
	l := &e.links[far.self]
	if l.far == far {
		return
	}
	e.fall(l.far, ErrPeerRestarted)
	l.far = far
}

func (e *Endpoint) rise(far *Endpoint) {
	l := &e.links[far.self]
	if l.far != far || l.up {
		return
	}
	l.up = true
	// A peer that came and went without anybody having received its Up never was,
	// so that an endpoint that is not drained holds a bounded number of them.
	unseen := false
	e.inbox.filter(e.net, func(m *message) bool {
		ours := m.line.from == far.self
		unseen = unseen || ours && m.kind == up
		return ours && unseen
	})
	e.tell(far, up, nil)
}

// fall takes down the link to far, if it has one.
func (e *Endpoint) fall(far *Endpoint, why error) {
	if far == nil {
		return
	}
	l := &e.links[far.self]
	if l.up {
		e.tell(far, down, why)
	}
	*l = link{}
}

func (e *Endpoint) tell(far *Endpoint, k kind, err error) {
	m := e.net.message(e.net.line(far.self, e.self), far, e, k, nil)
	m.err = err
	e.inbox.push(m)
}
