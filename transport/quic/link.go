package quic

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"github.com/driftback/driftback/transport"
)

// headerSize is the size of the big-endian length before each reliable message.
const headerSize = 4

// link is one connection with one peer, from the moment that both sides have
// greeted each other. Four goroutines serve it: two read, two write.
type link struct {
	t      *Transport
	r      *remote
	conn   *quicgo.Conn
	stream *quicgo.Stream
	// dialled: this side made the call.
	dialled bool
	// instance and ups are what the other side said of itself when it greeted.
	instance uint64
	ups      uint32

	datagrams chan struct{} // holds a token when the outbox may have something new
	messages  chan struct{} // the same for queued, and for closing
	room      chan struct{} // the same for space in arrived
	done      chan struct{} // closed once the connection has

	// The rest is guarded by Transport.mu.

	outbox   outbox
	queued   parcels      // reliable messages on their way out, with their headers
	received ring[[]byte] // datagrams for Receive
	arrived  parcels      // reliable messages for Receive
	closing  bool         // what is queued is the last
	err      error        // why the link ended; a *LinkError
	lost     uint64       // received datagrams that Receive did not ask for in time
}

func newLink(t *Transport, r *remote, conn *quicgo.Conn, stream *quicgo.Stream, g greeting, dialled bool) *link {
	return &link{
		t: t, r: r, conn: conn, stream: stream, dialled: dialled,
		instance:  g.instance,
		ups:       g.ups,
		datagrams: make(chan struct{}, 1),
		messages:  make(chan struct{}, 1),
		room:      make(chan struct{}, 1),
		done:      make(chan struct{}),
		queued:    parcels{ring: newRing[[]byte](queueMessages)},
		received:  newRing[[]byte](inboxDatagrams),
		arrived:   parcels{ring: newRing[[]byte](queueMessages)},
	}
}

// addr is what to call the address of the peer.
func (l *link) addr() string { return l.t.describe(l.conn.RemoteAddr()) }

// signal leaves a token for whoever waits on c.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run serves the link until it ends.
func (l *link) run() {
	l.t.log.Info("link up", "peer", l.r.peer, "addr", l.addr())
	l.t.running.Go(l.receiveDatagrams)
	l.t.running.Go(l.sendDatagrams)
	l.t.running.Go(l.sendMessages)
	l.receiveMessages()
}

// end ends the link for the first reason it is given, tells the other side, and
// returns once that is on its way.
func (l *link) end(err error) {
	l.t.mu.Lock()
	if l.err != nil {
		l.t.mu.Unlock()
		return
	}
	l.err = &LinkError{Peer: l.r.peer, Addr: l.addr(), Err: err}
	l.r.lastErr = l.err
	if l.r.current == l {
		l.r.current = nil
	}
	l.t.mu.Unlock()
	l.t.log.Info("link down", "peer", l.r.peer, "addr", l.addr(), "reason", err)
	_ = l.conn.CloseWithError(codeFor(err), "")
	close(l.done)
}

// sendDatagrams empties the outbox, as fast as the congestion window allows.
func (l *link) sendDatagrams() {
	gate := newGate()
	hold := time.NewTimer(0)
	defer hold.Stop()
	var buffer [MaxDatagram]byte
	for {
		now := time.Now()
		l.t.mu.Lock()
		size, ok := l.outbox.next(now)
		l.t.mu.Unlock()
		if !ok {
			select {
			case <-l.datagrams:
				continue
			case <-l.done:
				return
			}
		}
		s := l.conn.ConnectionStats()
		if d := gate.wait(size, s.CongestionWindow, s.SmoothedRTT+2*s.MeanDeviation+ackDelay, now); d > 0 {
			hold.Reset(d)
			select {
			case <-hold.C:
				continue // what waits now may be newer
			case <-l.done:
				return
			}
		}
		l.t.mu.Lock()
		b := l.outbox.pop(buffer[:]) // only this goroutine takes from the box, so it is not empty
		l.t.mu.Unlock()
		// May block while quic-go's own queue is full; the end of the link unblocks it.
		if err := l.conn.SendDatagram(b); err != nil {
			l.end(reason(err, l.t.idle))
			return
		}
		gate.sent(len(b), now)
	}
}

// receiveDatagrams hands datagrams to Receive as quic-go allocated them. It is
// also the first to hear that the connection is gone.
func (l *link) receiveDatagrams() {
	for {
		b, err := l.conn.ReceiveDatagram(context.Background())
		if err != nil {
			l.end(reason(err, l.t.idle))
			return
		}
		l.t.mu.Lock()
		switch {
		case l.closing:
		case len(b) > MaxDatagram:
			l.lost++
		default:
			if l.received.full() {
				l.received.pop()
				l.lost++
			}
			l.received.push(b)
		}
		l.t.mu.Unlock()
	}
}

// sendMessages writes what is queued to the stream, and ends the stream when the
// last has been written.
func (l *link) sendMessages() {
	for {
		l.t.mu.Lock()
		var b []byte
		if l.queued.ring.n > 0 {
			b = l.queued.ring.places[l.queued.ring.head] // popped when written, so that it still counts
		}
		last := b == nil && l.closing
		l.t.mu.Unlock()
		if last {
			_ = l.stream.Close()
			return
		}
		if b == nil {
			select {
			case <-l.messages:
				continue
			case <-l.done:
				return
			}
		}
		if _, err := l.stream.Write(b); err != nil {
			l.end(reason(err, l.t.idle))
			return
		}
		l.t.mu.Lock()
		l.queued.pop()
		l.t.mu.Unlock()
	}
}

// receiveMessages reads reliable messages for as long as there is room for them;
// without room it stops reading, and QUIC's flow control stops the other side.
func (l *link) receiveMessages() {
	from := bufio.NewReaderSize(l.stream, 4<<10)
	for {
		b, err := readMessage(from)
		if err != nil {
			l.end(reason(err, l.t.idle))
			return
		}
		if !l.deliver(b) {
			return
		}
	}
}

// readMessage reads one message. The end of the stream between two messages is
// io.EOF.
func readMessage(from io.Reader) ([]byte, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(header[:])
	if size > transport.MaxReliable {
		return nil, fmt.Errorf("%w: a reliable message of %d bytes, and %d is the most", ErrProtocol, size, transport.MaxReliable)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(from, b); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return b, nil
}

// deliver waits for room and leaves b for Receive. It returns false when the link
// has ended.
func (l *link) deliver(b []byte) bool {
	for {
		l.t.mu.Lock()
		switch {
		case l.err != nil:
			l.t.mu.Unlock()
			return false
		case l.closing: // nobody will ask for it, but what follows it matters
			l.t.mu.Unlock()
			return true
		case l.arrived.fits(len(b)):
			l.arrived.push(b)
			l.t.mu.Unlock()
			return true
		}
		l.t.mu.Unlock()
		select {
		case <-l.room:
		case <-l.done:
			return false
		}
	}
}

// next returns the next thing that the link has to tell, Up apart. The caller
// holds Transport.mu.
func (l *link) next() (m transport.Message, ok bool) {
	m.From = l.r.peer
	switch {
	case l.arrived.ring.n > 0:
		m.Kind, m.Data = transport.Reliable, l.arrived.pop()
		signal(l.room)
	case l.received.n > 0:
		m.Kind, m.Data = transport.Datagram, l.received.pop()
	case l.err != nil:
		m.Kind, m.Err = transport.Down, l.err
	default:
		return transport.Message{}, false
	}
	return m, true
}
