package quic

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
)

// remote is another peer and the links with it. Transport.mu guards all but peer,
// addr and ready.
type remote struct {
	peer  driftback.Peer
	addr  string
	ready func(context.Context) // waits until addr can be reached; nil if it always can

	pin  identity.Pin
	code identity.Code // to present, or to ask for while pin is zero; zero once used

	// current is the link that works; next is one that the game has not been told
	// of, and told the one that it has been told is up and not yet that it is down.
	// A link that ended stays in next or told until the game knows, so that messages
	// and Downs keep their order across a reconnection.
	current, next, told *link
	// newest is the link that Stats describes.
	newest *link
	// ups counts the links there have been.
	ups     uint32
	lastErr error

	// calling: our call has been answered by the right peer and not yet greeted.
	calling    bool
	cancelCall func() // ends the call that is being made; nil when there is none
}

// Send sends b to a peer as a datagram, unless there is no link or b is longer
// than [MaxDatagram]. It copies b and never blocks: at most 64 datagrams wait for
// each peer, and the oldest is dropped for a newer one.
func (t *Transport) Send(to driftback.Peer, b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.upTo(to)
	if l == nil || len(b) > MaxDatagram {
		return
	}
	l.outbox.push(b, time.Now())
	signal(l.datagrams)
}

// SendReliable queues b for a peer, as [transport.Transport] says. At most 64
// messages and 256 KiB wait for each peer.
func (t *Transport) SendReliable(to driftback.Peer, b []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return fmt.Errorf("quic: %w", transport.ErrClosed)
	}
	if len(b) > transport.MaxReliable {
		return fmt.Errorf("quic: %w: %d bytes for peer %d, and %d is the most", transport.ErrTooLong, len(b), to, transport.MaxReliable)
	}
	l := t.upTo(to)
	if l == nil {
		return fmt.Errorf("quic: %w: peer %d", transport.ErrNoLink, to)
	}
	if !l.queued.fits(headerSize + len(b)) {
		return fmt.Errorf("quic: %w: peer %d", transport.ErrFull, to)
	}
	framed := make([]byte, headerSize, headerSize+len(b))
	binary.BigEndian.PutUint32(framed, uint32(len(b)))
	l.queued.push(append(framed, b...))
	signal(l.messages)
	return nil
}

// upTo returns the link that the game knows to be up and that still is, or nil.
// What the game means for one link is never sent through the next.
func (t *Transport) upTo(to driftback.Peer) *link {
	if t.closed || int(to) >= len(t.numbers) || t.numbers[to] == nil {
		return nil
	}
	l := t.numbers[to].told
	if l == nil || l.err != nil {
		return nil
	}
	return l
}

// Receive returns the next message, taking the peers in turn. It does not
// allocate. After Close there is none.
func (t *Transport) Receive() (m transport.Message, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return transport.Message{}, false
	}
	for range t.remotes {
		r := t.remotes[t.turn]
		t.turn = (t.turn + 1) % len(t.remotes)
		if r.told == nil {
			if r.next == nil {
				continue
			}
			r.told, r.next = r.next, nil
			return transport.Message{Kind: transport.Up, From: r.peer}, true
		}
		if m, ok = r.told.next(); ok {
			if m.Kind == transport.Down {
				r.told = nil
			}
			return m, true
		}
	}
	return transport.Message{}, false
}

// MaxDatagram returns the constant of that name.
func (t *Transport) MaxDatagram() int { return MaxDatagram }

// LocalAddr returns the address of the socket.
func (t *Transport) LocalAddr() net.Addr { return t.socket.LocalAddr() }

// Close ends every link and closes the socket. It waits until the other sides
// have taken the reliable messages queued for them, at most half a second.
func (t *Transport) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		<-t.done
		return nil
	}
	t.closed = true
	var links []*link
	for _, r := range t.remotes {
		if l := r.current; l != nil {
			l.closing = true
			signal(l.messages)
			signal(l.room)
			links = append(links, l)
		}
	}
	t.mu.Unlock()
	t.cancel() // no more calls, no more greetings

	// The other side answers the end of the stream by closing the connection, which
	// proves that everything before it has arrived.
	patience, cancel := context.WithTimeout(context.Background(), linger)
	defer cancel()
waiting:
	for _, l := range links {
		select {
		case <-l.done:
		case <-patience.Done():
			break waiting
		}
	}
	for _, l := range links {
		l.end(errClosing)
		<-l.done
	}
	// Whoever has called and is not linked yet is told too, by the goroutine that greets it.
	told := make(chan struct{})
	go func() {
		t.running.Wait()
		close(told)
	}()
	select {
	case <-told:
	case <-patience.Done():
	}
	err := errors.Join(t.listener.Close(), t.endpoint.Close(), t.socket.Close())
	<-told
	close(t.done)
	if err != nil {
		return fmt.Errorf("quic: %w", err)
	}
	return nil
}

// Stats describes the link with one peer. The numbers are the newest link's, and
// stay after it is down.
type Stats struct {
	// Up says whether messages sent now have a link.
	Up bool
	// Addr is the address of the peer; "" before the first link.
	Addr string
	// Ups counts the links there have been.
	Ups int
	// RTT is the smoothed time of a round trip, and Deviation how much it varies.
	RTT, Deviation time.Duration
	// CongestionWindow is how many bytes may be on their way.
	CongestionWindow int
	// PacketsSent and PacketsLost count QUIC's packets. A packet counted as lost may
	// still arrive, and is then taken back.
	PacketsSent, PacketsLost uint64
	BytesSent, BytesReceived uint64
	// SendDropped counts datagrams that gave way to newer ones before they were sent,
	// and ReceiveDropped those that did because Receive was not asked in time.
	SendDropped, ReceiveDropped uint64
	// LastError says why the newest link ended, or why the newest call failed; it is
	// how to learn that a peer is not who it should be. Of a peer that has to call, and has
	// not been linked since, it says why the newest caller was refused, whoever that was. It
	// wraps what [LinkError] can.
	LastError error
}

// Stats returns what is known of the link with a peer; false for a peer that the
// configuration does not name.
func (t *Transport) Stats(peer driftback.Peer) (Stats, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int(peer) >= len(t.numbers) || t.numbers[peer] == nil {
		return Stats{}, false
	}
	r := t.numbers[peer]
	s := Stats{Up: t.upTo(peer) != nil, Ups: int(r.ups), LastError: t.trouble(r)}
	l := r.newest
	if l == nil {
		return s, true
	}
	c := l.conn.ConnectionStats() // reads atomics; takes no lock
	s.Addr = t.describe(l.conn.RemoteAddr())
	s.RTT, s.Deviation = c.SmoothedRTT, c.MeanDeviation
	s.CongestionWindow = int(min(c.CongestionWindow, 1<<30))
	s.PacketsSent, s.PacketsLost = c.PacketsSent, c.PacketsLost
	s.BytesSent, s.BytesReceived = c.BytesSent, c.BytesReceived
	s.SendDropped, s.ReceiveDropped = l.outbox.dropped, l.lost
	return s, true
}

// Why implements [transport.Explainer]: it returns why there is no link, as
// [Stats.LastError] has it, and final when an invitation has been refused, so that the peer
// is not called again.
func (t *Transport) Why(to driftback.Peer) (final bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int(to) >= len(t.numbers) || t.numbers[to] == nil || t.upTo(to) != nil {
		return false, nil
	}
	r := t.numbers[to]
	return r.final(), t.trouble(r)
}

// Pin returns the pin of a peer's key: the one configured, or the one that
// presented the code; false while there is none.
func (t *Transport) Pin(peer driftback.Peer) (identity.Pin, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int(peer) >= len(t.numbers) || t.numbers[peer] == nil {
		return identity.Pin{}, false
	}
	pin := t.numbers[peer].pin
	return pin, !pin.IsZero()
}

// Counts counts what strangers did.
type Counts struct {
	// Refused counts handshakes with keys that are not pinned, or not those of the
	// certificates shown, in another version of the protocol, or made once before.
	Refused uint64
	// BadCodes counts codes that were wrong or used before.
	BadCodes uint64
	// Busy counts connections turned away because too many were waiting, or too many
	// codes were being tried.
	Busy uint64
	// Malformed counts greetings that made no sense or never came.
	Malformed uint64
	// Strays counts packets that belong to no connection and begin none.
	Strays uint64
}

type counts struct{ refused, badCodes, busy, malformed, strays atomic.Uint64 }

// Counts returns the counts so far.
func (t *Transport) Counts() Counts {
	return Counts{
		Refused:   t.counts.refused.Load(),
		BadCodes:  t.counts.badCodes.Load(),
		Busy:      t.counts.busy.Load(),
		Malformed: t.counts.malformed.Load(),
		Strays:    t.counts.strays.Load(),
	}
}
