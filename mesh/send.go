package mesh

import (
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/wire"
)

const (
	// heartbeat is how often a peer that has nothing new to say repeats what is
	// unacknowledged, or acknowledges what is new; idleBeat is how often it speaks
	// when there is neither.
	heartbeat = 10 * time.Millisecond
	idleBeat  = 100 * time.Millisecond
)

// maxRound bounds the packets of a round that go to a peer in one Flush, so that a
// long silence is not made up for by a flood. A transport that cannot hold so many
// datagrams drops the oldest for the newest: the very inputs without which the peer
// can make nothing of the others.
const maxRound = 32

// sentAgain is how many ticks a simulation goes back to inputs that need not be sent.
const sentAgain = 16

// maxHead is the largest size in bytes of all of a packet but its runs, when it
// acknowledges every participant and carries no fingerprints.
const maxHead = wire.HeaderSize + wire.MaxEchoSize + wire.MaxAcks*wire.MaxAckSize + wire.MaxSumAckSize

// Publish takes this peer's own input of participant p for tick t, which must be
// Published(p): nothing is published twice and no tick is left out. It copies in.
func (m *Mesh) Publish(p driftback.Participant, t driftback.Tick, in []byte) error {
	if int(p) >= len(m.cfg.Players) || m.cfg.Players[p] != m.cfg.Self {
		return fmt.Errorf("mesh: participant %d is not this peer's to publish for", p)
	}
	h := m.publishing(p)
	switch {
	case m.phase != Playing:
		return fmt.Errorf("mesh: an input of participant %d for tick %d, but the match is not being played", p, t)
	case t != h.held:
		return fmt.Errorf("mesh: an input of participant %d for tick %d, but its next is for tick %d", p, t, h.held)
	case len(in) != h.stride:
		return fmt.Errorf("mesh: an input of %d bytes, and this match's have %d", len(in), h.stride)
	case t >= wire.MaxTick:
		return fmt.Errorf("mesh: an input of participant %d for tick %d, and the last tick that can be sent is %d", p, t, wire.MaxTick-1)
	case t >= m.Confirmed()+m.span:
		return fmt.Errorf("mesh: an input of participant %d for tick %d, too far beyond the confirmed tick %d", p, t, m.Confirmed())
	}
	h.append(in)
	m.fill()
	return nil
}

// Flush sends what is due: to each peer a packet if something was published since
// the last, as much as [Config.PublishEvery] says, or if it is time to repeat what is
// unacknowledged.
func (m *Mesh) Flush() {
	m.eventsTold = len(m.events)
	if m.followed || m.cfg.Transport == nil {
		return
	}
	m.thank()
	if m.phase == Ended {
		return
	}
	m.sendOwed()
	if m.phase != Playing || m.cfg.Buggify.Fires(buggify.SkippedFlush) {
		return
	}
	for i := range m.links {
		if l := &m.links[i]; l.up && !l.view.cut && !l.view.apart() {
			m.flushTo(l)
			m.share(l)
		}
	}
	m.turns.hurried = false
}

func (m *Mesh) flushTo(l *link) {
	fresh, waits := false, l.owesAck || l.prints.owesAck || l.prints.acked < m.prints.next
	for i := range m.own {
		held := m.publishedOf(i).held
		fresh = fresh || held > l.sent[i]
		waits = waits || held > l.acked[i]
	}
	_, lacks := m.lacksShared()
	every := heartbeat
	if !waits && !m.lacks(l) && !lacks {
		every = idleBeat
	}
	every = m.interval(l, every)
	news := fresh && m.due(l)
	if l.everSent && !news && m.clock-l.lastSent < every && !m.cfg.Buggify.Fires(buggify.EarlyBeat) {
		return
	}
	m.send(l, fresh)
}

// lacks reports whether this peer waits for a peer's inputs.
func (m *Mesh) lacks(l *link) bool { return m.heldFrom(l) == m.Confirmed() }

// send sends what a peer has not acknowledged, oldest first, in as many packets as
// that takes. What it has acknowledged goes along only with something new: to repeat it
// helps nobody, and on a line that is full it would leave no room for what is missing. If they are many the round goes on at the next call, and
// meanwhile what is new goes too, for a peer that lacks nothing else.
func (m *Mesh) send(l *link, news bool) {
	l.lastSent, l.everSent, l.owesAck = m.clock, true, false
	m.room = m.cfg.Transport.MaxDatagram()
	if m.cfg.Buggify.Fires(buggify.SmallDatagram) {
		m.room = m.cfg.leastDatagram()
	}
	p := &m.outgoing
	p.Acks = p.Acks[:0]
	if !m.cfg.Buggify.Fires(buggify.NoAcks) {
		m.putAcks(l, p)
	}
	m.putSums(l, p)
	for i := range m.own {
		if first := m.first(l, i, news); !l.midway || l.told[i] < first {
			l.told[i] = first
		}
	}
	round := maxRound
	if m.cfg.Buggify.Fires(buggify.OnePacket) {
		round = 1
	}
	l.midway = m.burst(l, l.told, round)
	for i := range m.own {
		l.sent[i] = max(l.sent[i], l.told[i])
	}
	if !l.midway {
		return
	}
	together := slices.Equal(l.sent, l.told)
	more := m.burst(l, l.sent, len(m.own)) // a packet holds an input at least
	if together {
		copy(l.told, l.sent)
		l.midway = more
	}
}

// burst sends the inputs from the given ticks on in at most so many packets, moves
// the ticks past what it has sent, and reports whether some are left.
func (m *Mesh) burst(l *link, from []driftback.Tick, most int) (more bool) {
	p := &m.outgoing
	more = true
	for n := 0; more && n < most; n++ {
		more = m.sendOne(l, from)
		p.Sums.List, p.SumAck.Set = p.Sums.List[:0], false
	}
	return more
}

// first returns the first tick of our participant number i that a packet must carry.
func (m *Mesh) first(l *link, i int, news bool) driftback.Tick {
	h := m.publishedOf(i)
	t := l.acked[i]
	if news {
		t = min(l.acked[i], h.held-driftback.Tick(m.cfg.Redundancy))
	}
	if t > h.oldest() && m.cfg.Buggify.Fires(buggify.InputsAgain) {
		t -= sentAgain
	}
	return max(t, h.oldest())
}

// sendOne sends a packet with what fits of the inputs from the given ticks on, which
// it moves, and reports whether some are left.
func (m *Mesh) sendOne(l *link, from []driftback.Tick) (more bool) {
	p := &m.outgoing
	p.Tag, p.Seq, p.Runs = m.tag, l.meter.stamp(m.clock), p.Runs[:0]
	seq, held, ok := l.meter.echo(m.clock)
	ok = ok && !m.cfg.Buggify.Fires(buggify.NoEcho)
	p.Echo = wire.Echo{Set: ok, Seq: seq, HeldMicros: uint32(held / time.Microsecond), Lead: m.pace.lead, Load: m.pace.load}
	budget := m.room - maxHead
	if n := len(p.Sums.List); n > 0 {
		budget -= wire.MaxSumsHead + n*wire.SumSize
	}
	m.runs, m.entries = m.runs[:0], m.entries[:0]
	for i, q := range m.own {
		h := m.publishedOf(i)
		held := h.held
		if from[i] == held {
			continue
		}
		if from[i], budget = m.putRun(q, h, from[i], held, budget); from[i] < held {
			return m.transmit(l, true)
		}
	}
	return m.transmit(l, false)
}

// putRun adds to the packet that is being built what fits into budget bytes of
// participant q's inputs for [from, to), which h holds, with their entries. It returns
// the first tick that is left over, and how many bytes are.
func (m *Mesh) putRun(q driftback.Participant, h *history, from, to driftback.Tick, budget int) (rest driftback.Tick, left int) {
	start := len(m.runs)
	to = from + min(to-from, wire.MaxRunTicks, driftback.Tick((wire.MaxDecoded-start)/h.stride))
	m.runs = h.flatten(m.runs, from, to)
	var entries []byte
	m.entries, entries = h.flattenEntries(m.entries, from, to)
	fits, size := fitEntries(m.runs[start:], entries, h.stride, budget, wire.FitRun(m.runs[start:], h.stride, budget))
	m.runs = m.runs[:start+fits*h.stride]
	if fits == 0 {
		return from, budget
	}
	m.outgoing.Runs = append(m.outgoing.Runs, wire.Run{
		Participant: q, First: from, Count: fits, Inputs: m.runs[start:], Entries: entries[:min(fits, len(entries))],
	})
	return from + driftback.Tick(fits), budget - wire.MaxRunSize(fits, h.stride) - size
}

// transmit sends the packet that was built, and reports whether another one is
// worth building: more is left and this one carried some.
func (m *Mesh) transmit(l *link, more bool) bool {
	b, err := m.outgoing.Append(m.out[:0], m.cfg.Stride)
	if err != nil {
		m.broken(err)
		return false
	}
	m.out = b
	m.cfg.Transport.Send(l.peer, b)
	l.stats.PacketsSent++
	l.stats.BytesSent += uint64(len(b))
	return more && len(m.outgoing.Runs) > 0
}
