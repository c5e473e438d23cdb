package mesh

import (
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// maxHead is the largest size in bytes of all of a packet but its runs, when it
// acknowledges every participant and carries no fingerprints.
const maxHead = wire.HeaderSize + wire.MaxEchoSize + wire.MaxAcks*wire.MaxAckSize + wire.MaxSumAckSize

// Confirmed returns the first tick that lacks some participant's input. It never
// falls.
func (m *Mesh) Confirmed() driftback.Tick {
	t := m.histories[0].held
	for p := range m.histories[1:] {
		t = min(t, m.histories[1+p].held)
	}
	return t
}

// Held returns the first tick for which participant p's input is not held.
func (m *Mesh) Held(p driftback.Participant) driftback.Tick { return m.histories[p].held }

// Input returns the bytes of participant p's input for tick t, which must be
// below Held(p) and not older than the depth that Kept gives. They are borrowed
// until the next Poll or Publish.
func (m *Mesh) Input(p driftback.Participant, t driftback.Tick) []byte {
	return m.histories[p].at(t)
}

// Kept returns for how many ticks below Held an input is kept.
func (m *Mesh) Kept() int { return int(m.histories[0].mask + 1) }

// Publish takes this peer's own input of participant p for tick t, which must be
// Held(p): nothing is published twice and no tick is left out. It copies in.
func (m *Mesh) Publish(p driftback.Participant, t driftback.Tick, in []byte) error {
	if int(p) >= len(m.cfg.Players) || m.cfg.Players[p] != m.cfg.Self {
		return fmt.Errorf("mesh: participant %d is not this peer's to publish for", p)
	}
	h := &m.histories[p]
	switch {
	case m.phase != Playing:
		return fmt.Errorf("mesh: an input of participant %d for tick %d, but the match is not being played", p, t)
	case t != h.held:
		return fmt.Errorf("mesh: an input of participant %d for tick %d, but its next is for tick %d", p, t, h.held)
	case len(in) != h.stride:
		return fmt.Errorf("mesh: an input of %d bytes, and this match's have %d", len(in), h.stride)
	case t >= m.Confirmed()+m.span:
		return fmt.Errorf("mesh: an input of participant %d for tick %d, too far beyond the confirmed tick %d", p, t, m.Confirmed())
	}
	h.append(in)
	return nil
}

func (m *Mesh) receivePacket(l *link, b []byte) {
	l.stats.PacketsReceived++
	l.stats.BytesReceived += uint64(len(b))
	tag, ok := wire.TagOf(b)
	switch {
	case !ok:
		m.refuse(Malformed)
		return
	case m.phase == Joining || !m.start.ready:
		m.refuse(Early)
		return
	case tag != m.tag:
		m.refuse(OtherMatch)
		return
	}
	p := &m.incoming
	if err := p.Parse(b, m.cfg.Stride); err != nil {
		m.refuse(Malformed)
		return
	}
	m.hear(l)
	l.meter.heard(p.Seq, m.clock)
	if p.Echo.Set {
		l.meter.measure(p.Echo.Seq, time.Duration(p.Echo.HeldMicros)*time.Microsecond, m.clock)
	}
	if m.phase == Agreeing && l.hello != nil && len(p.Runs) > 0 {
		// It plays, so it has agreed; its own word is on its way.
		l.started = true
		m.play()
	}
	for i := range p.Acks {
		m.receiveAck(l, &p.Acks[i])
	}
	for i := range p.Runs {
		if m.receiveRun(l, &p.Runs[i]); m.phase == Ended {
			return
		}
	}
	m.receiveSums(l, p)
}

func (m *Mesh) receiveAck(l *link, a *wire.Ack) {
	for i, p := range m.own {
		if p != a.Participant {
			continue
		}
		switch {
		case a.Next > m.histories[p].held:
			m.refuse(BadAck)
		case a.Next > l.acked[i]:
			l.acked[i] = a.Next
		}
		return
	}
	m.refuse(BadAck)
}

func (m *Mesh) receiveRun(l *link, r *wire.Run) {
	if int(r.Participant) >= len(m.cfg.Players) || m.cfg.Players[r.Participant] != l.peer {
		m.refuse(NotOwner)
		return
	}
	h := &m.histories[r.Participant]
	if r.First > h.held {
		m.refuse(Gap)
		return
	}
	for i := range r.Count {
		t := r.First + driftback.Tick(i)
		in := r.Inputs[i*m.cfg.Stride : (i+1)*m.cfg.Stride]
		switch {
		case t < h.held:
			if h.contradicts(t, in) {
				m.halt(l, r.Participant, t, h.at(t), in)
				return
			}
		case t >= m.Confirmed()+m.span:
			m.refuse(FarAhead)
			return
		case m.cfg.Valid != nil && !m.cfg.Valid(in):
			m.refuse(BadInput)
			return
		default:
			h.append(in)
		}
	}
}

// halt ends the match because of evidence against a peer.
func (m *Mesh) halt(l *link, p driftback.Participant, t driftback.Tick, had, got []byte) {
	err := &ConflictError{
		Peer: l.peer, Participant: p, Tick: t,
		Had: append([]byte(nil), had...), Got: append([]byte(nil), got...),
	}
	m.Halt(err)
}

// Flush sends what is due: to each peer a packet if something was published since
// the last, or if it is time to repeat what is unacknowledged.
func (m *Mesh) Flush() {
	if m.phase == Ended || m.cfg.Transport == nil {
		return
	}
	m.sendOwed()
	if m.phase != Playing {
		return
	}
	for i := range m.links {
		if l := &m.links[i]; l.up {
			m.flushTo(l)
		}
	}
}

func (m *Mesh) flushTo(l *link) {
	news, waits := false, l.prints.owesAck || l.prints.acked < m.prints.next
	for i, p := range m.own {
		held := m.histories[p].held
		news = news || held > l.told[i]
		waits = waits || held > l.acked[i]
	}
	every := heartbeat
	if !waits && m.phase == Playing && !m.lacks(l) {
		every = idleBeat
	}
	if l.everSent && !news && m.clock-l.lastSent < every {
		return
	}
	m.send(l)
}

// lacks reports whether this peer waits for a peer's inputs.
func (m *Mesh) lacks(l *link) bool {
	confirmed := m.Confirmed()
	for _, p := range l.plays {
		if m.histories[p].held == confirmed {
			return true
		}
	}
	return false
}

// send sends everything that a peer has not acknowledged, oldest first, in as
// many packets as that takes.
func (m *Mesh) send(l *link) {
	l.lastSent, l.everSent = m.clock, true
	p := &m.outgoing
	p.Acks = p.Acks[:0]
	for _, q := range l.plays {
		p.Acks = append(p.Acks, wire.Ack{Participant: q, Next: m.histories[q].held})
	}
	m.putSums(l, p)
	for i, q := range m.own {
		l.told[i] = m.first(l, i, q)
	}
	for more := true; more; {
		more = m.sendOne(l)
		p.Sums.List, p.SumAck.Set = p.Sums.List[:0], false
	}
}

// first returns the first tick of our participant q that a packet must carry.
func (m *Mesh) first(l *link, i int, q driftback.Participant) driftback.Tick {
	h := &m.histories[q]
	return max(min(l.acked[i], h.held-driftback.Tick(m.cfg.Redundancy)), h.oldest())
}

// sendOne sends a packet with what fits of the inputs from told on, and reports
// whether some are left.
func (m *Mesh) sendOne(l *link) (more bool) {
	p := &m.outgoing
	p.Tag, p.Seq, p.Runs = m.tag, l.meter.stamp(m.clock), p.Runs[:0]
	seq, held, ok := l.meter.echo(m.clock)
	p.Echo = wire.Echo{Set: ok, Seq: seq, HeldMicros: uint32(held / time.Microsecond)}
	budget := m.cfg.Transport.MaxDatagram() - maxHead
	if n := len(p.Sums.List); n > 0 {
		if fits := (budget - wire.MaxSumsHead - wire.MaxRunHead - m.cfg.Stride - 1) / wire.SumSize; n > fits {
			p.Sums.List = p.Sums.List[:max(fits, 0)]
		}
		budget -= wire.MaxSumsHead + len(p.Sums.List)*wire.SumSize
	}
	m.runs = m.runs[:0]
	for i, q := range m.own {
		h := &m.histories[q]
		left := h.held - l.told[i]
		if left == 0 {
			continue
		}
		n := min(left, wire.MaxRunTicks, driftback.Tick((wire.MaxDecoded-len(m.runs))/h.stride))
		start := len(m.runs)
		m.runs = h.flatten(m.runs, l.told[i], l.told[i]+n)
		fits := wire.FitRun(m.runs[start:], h.stride, budget)
		if fits == 0 {
			return m.transmit(l, true)
		}
		m.runs = m.runs[:start+fits*h.stride]
		inputs := m.runs[start:]
		p.Runs = append(p.Runs, wire.Run{Participant: q, First: l.told[i], Count: fits, Inputs: inputs})
		l.told[i] += driftback.Tick(fits)
		if l.told[i] < h.held {
			return m.transmit(l, true)
		}
		// Alternating groups of the shortest inputs take a third more than the inputs.
		budget -= wire.MaxRunHead + len(inputs) + len(inputs)/2 + 2
	}
	return m.transmit(l, false)
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
