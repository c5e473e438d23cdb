package mesh

import "time"

const (
	// sentTimes is how many packets back an echo can still be matched.
	sentTimes = 256
	// lossWindow is how many packets may pass before a missing one is called lost:
	// later arrivals have only been overtaken.
	lossWindow = 64
	// lossMemory is how many packets the loss rate averages over, about two seconds
	// at 60 packets a second.
	lossMemory = 128
	// farHole is a number of packets missing in a row after which the window holds
	// none that came and the loss rate is as good as one.
	farHole = 1024
	// echoEvery is how often a packet carries an echo, from which the other side
	// measures the round trip.
	echoEvery = 100 * time.Millisecond
	// maxEcho bounds the time for which an echo may have been held back.
	maxEcho = 10 * time.Second
)

// meter turns sequence numbers and echoes into round trip and loss. It reads no
// clock: whoever calls it says what time it is.
type meter struct {
	next uint16                   // sequence number of the next packet to send
	sent [sentTimes]time.Duration // when each of the last packets was sent
	// outstanding counts the packets sent, up to sentTimes, so that an echo of a
	// packet never sent is told apart.
	outstanding int

	started bool
	newest  uint64 // highest sequence number seen, unwrapped
	seen    uint64 // bit i: newest−i has come
	age     uint64 // packets since the first, so that what came before it is not lost
	heardAt time.Duration
	quiet   time.Duration // no echo is sent before
	owes    bool          // something came since the last echo

	roundTrip, jitter time.Duration
	measured          bool
	loss              float64
	lost, repeated    uint64
}

// stamp returns the sequence number for a packet sent now.
func (m *meter) stamp(now time.Duration) uint16 {
	seq := m.next
	m.sent[seq%sentTimes] = now
	m.outstanding = min(m.outstanding+1, sentTimes)
	m.next++
	return seq
}

// echo returns what a packet sent now should echo, if it should.
func (m *meter) echo(now time.Duration) (seq uint16, held time.Duration, ok bool) {
	if !m.owes || now < m.quiet {
		return 0, 0, false
	}
	m.owes, m.quiet = false, now+echoEvery
	return uint16(m.newest), min(now-m.heardAt, maxEcho), true
}

// unwrap returns a packet's number in a count that does not wrap. heard has taken it.
func (m *meter) unwrap(seq uint16) uint64 { return m.newest - uint64(uint16(m.newest)-seq) }

// heard takes the sequence number of a packet that came.
func (m *meter) heard(seq uint16, now time.Duration) {
	if !m.started {
		// Started one lap up, so that a packet that was overtaken has a number too.
		m.started, m.newest, m.seen, m.heardAt, m.owes = true, 1<<16|uint64(seq), 1, now, true
		return
	}
	ahead := int64(int16(seq - uint16(m.newest)))
	if ahead <= 0 {
		switch back := uint64(-ahead); {
		case back >= lossWindow: // already called lost, or repeated: it does not matter which
			m.repeated++
		case m.seen>>back&1 == 1:
			m.repeated++
		default:
			m.seen |= 1 << back
		}
		return
	}
	// Beyond farHole nothing that came is in the window and the rate has settled, so
	// that a peer which jumps ahead costs no more than one which does not.
	if skip := ahead - farHole; skip > 0 {
		m.lost += uint64(skip)
	}
	for range min(ahead, farHole) {
		m.age++
		if m.age >= lossWindow {
			m.judge(m.seen>>(lossWindow-1)&1 == 1)
		}
		m.seen <<= 1
	}
	m.seen |= 1
	m.newest += uint64(ahead)
	m.heardAt, m.owes = now, true
}

// judge books a packet that has left the window as arrived or lost.
func (m *meter) judge(arrived bool) {
	x := 0.0
	if !arrived {
		m.lost++
		x = 1
	}
	m.loss += (x - m.loss) / lossMemory
}

// measure takes an echo of packet seq that the other side held for a while.
func (m *meter) measure(seq uint16, held, now time.Duration) {
	if int(m.next-seq) > m.outstanding || m.next == seq {
		return // too old, or never sent
	}
	sample := now - m.sent[seq%sentTimes] - held
	if sample < 0 {
		// The other side's word about its own clock; a liar gains a short round trip
		// in a statistic and nothing else.
		sample = 0
	}
	if !m.measured {
		m.measured, m.roundTrip, m.jitter = true, sample, sample/2
		return
	}
	m.jitter += ((sample - m.roundTrip).Abs() - m.jitter) / 4
	m.roundTrip += (sample - m.roundTrip) / 8
}
