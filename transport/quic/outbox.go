package quic

import "time"

const (
	// stale is how long a datagram may wait once a newer one waits behind it. It is
	// a little more than a tick at 60 per second, so that the datagrams of one tick
	// stay together and those of an earlier one give way.
	stale = 20 * time.Millisecond
	// packetOverhead is what QUIC adds to a datagram, in bytes: header, tag, and an
	// acknowledgement that rides along.
	packetOverhead = 40
	// ackDelay is how long a peer may keep an acknowledgement back.
	ackDelay = 25 * time.Millisecond
	// flightRecords bounds what gate remembers. Beyond it the oldest packets count
	// as acknowledged, which lets too much through rather than too little.
	flightRecords = 256
)

// outbox holds the datagrams that wait for one peer. The newest are worth most,
// since each tick's repeats what has not been acknowledged: a full box drops its
// oldest, and one that has waited for long gives way to a newer one.
type outbox struct {
	places  [outboxDatagrams]waiting
	head, n int
	dropped uint64
}

type waiting struct {
	since time.Time
	size  int
	data  [MaxDatagram]byte
}

// push copies b into the box.
func (o *outbox) push(b []byte, now time.Time) {
	if o.n == len(o.places) {
		o.drop()
	}
	w := &o.places[(o.head+o.n)%len(o.places)]
	w.since, w.size = now, copy(w.data[:], b)
	o.n++
}

// next drops what is stale and returns the size of the datagram to send next.
func (o *outbox) next(now time.Time) (size int, ok bool) {
	for o.n > 1 && now.Sub(o.places[o.head].since) > stale {
		o.drop()
	}
	if o.n == 0 {
		return 0, false
	}
	return o.places[o.head].size, true
}

// pop copies the next datagram to dst.
func (o *outbox) pop(dst []byte) []byte {
	w := &o.places[o.head]
	n := copy(dst, w.data[:w.size])
	o.head = (o.head + 1) % len(o.places)
	o.n--
	return dst[:n]
}

func (o *outbox) drop() {
	o.head = (o.head + 1) % len(o.places)
	o.n--
	o.dropped++
}

// gate estimates how many bytes are on their way. quic-go has a queue of its own
// behind the congestion window, which is first in, first out and cannot be looked
// into: what is handed to it while the window is full arrives late instead of
// never, so it is kept empty and the outbox decides what is still worth sending.
type gate struct {
	flight ring[packet]
	bytes  int
}

type packet struct {
	at   time.Time
	size int
}

func newGate() gate { return gate{flight: newRing[packet](flightRecords)} }

// sent records a datagram handed to quic-go.
func (g *gate) sent(size int, now time.Time) {
	if g.flight.full() {
		g.bytes -= g.flight.pop().size
	}
	g.flight.push(packet{at: now, size: size + packetOverhead})
	g.bytes += size + packetOverhead
}

// wait returns how long to keep a datagram of size bytes back, given the
// congestion window in bytes and the time within which an acknowledgement comes.
// With nothing on its way, anything may go.
func (g *gate) wait(size int, window uint64, acknowledged time.Duration, now time.Time) time.Duration {
	for g.flight.n > 0 && now.Sub(g.flight.places[g.flight.head].at) >= acknowledged {
		g.bytes -= g.flight.pop().size
	}
	excess := g.bytes + size + packetOverhead - int(min(window, 1<<30))
	if g.flight.n == 0 || excess <= 0 {
		return 0
	}
	var last packet
	for i := 0; i < g.flight.n && excess > 0; i++ {
		last = g.flight.places[(g.flight.head+i)%len(g.flight.places)]
		excess -= last.size
	}
	return acknowledged - now.Sub(last.at)
}
