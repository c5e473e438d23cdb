package relay

import (
	"fmt"
	"math"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/wire"
)

const (
	// beat is how often what a peer has not acknowledged goes again, or its inputs are
	// acknowledged; idleBeat is how often it is spoken to when there is neither.
	beat     = 20 * time.Millisecond
	idleBeat = 100 * time.Millisecond
	// echoEvery is how often a packet carries an echo, from which a player measures the
	// round trip and how late it is.
	echoEvery = 100 * time.Millisecond
	maxEcho   = 10 * time.Second
	// maxRound bounds the packets that go to a peer in one Poll.
	maxRound = 8
)

// meter numbers the packets of a link, for the other side to measure.
type meter struct {
	next, newest uint16
	started      bool
	heardAt      time.Duration
	owes         bool
	quiet        time.Duration // no echo is sent before
}

func (m *meter) heard(seq uint16, now time.Duration) {
	if m.started && int16(seq-m.newest) <= 0 {
		return
	}
	m.started, m.newest, m.heardAt, m.owes = true, seq, now, true
}

// lateness is by how many ticks a peer's inputs come after their ticks start, on average.
type lateness struct {
	known bool
	ticks float64
}

// latenessMemory is how many inputs that is averaged over.
const latenessMemory = 16

func (l *lateness) add(ticks float64) {
	if !l.known {
		l.known, l.ticks = true, ticks
		return
	}
	l.ticks += (ticks - l.ticks) / latenessMemory
}

// late returns by how many ticks more than the others' a peer's inputs are late. Those that
// come after the deadline do not count among the others: nobody waits for them.
func (r *Relay) late(l *link) float64 {
	if r.set == nil || !l.lateness.known {
		return 0
	}
	deadline := math.Inf(1)
	if r.cfg.Deadline != None {
		deadline = float64(r.cfg.Deadline) / float64(r.set.length)
	}
	sum, n := 0.0, 0.0
	for _, o := range r.links {
		if !o.gone && o.lateness.known && o.lateness.ticks <= deadline {
			sum += o.lateness.ticks
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return l.lateness.ticks - sum/n
}

func (r *Relay) receivePacket(l *link, b []byte) {
	l.stats.PacketsReceived++
	l.stats.BytesReceived += uint64(len(b))
	tag, ok := wire.TagOf(b)
	if !ok {
		r.refuse(mesh.Malformed)
		return
	}
	if tag != r.welcome.Tag {
		r.refuse(mesh.OtherMatch)
		return
	}
	p := &r.incoming
	if p.Parse(b, r.terms.Stride) != nil {
		r.refuse(mesh.Malformed)
		return
	}
	l.silence = 0
	l.meter.heard(p.Seq, r.clock)
	for _, a := range p.Acks {
		if a.Participant != 0 || a.Next > r.set.next {
			// What a participant's delay makes neutral a peer holds before it is closed.
			if a.Participant != 0 || a.Next > r.set.next+mesh.MaxDelay {
				r.refuse(mesh.BadAck)
				continue
			}
		}
		l.acked = max(l.acked, min(a.Next, r.set.next))
	}
	for i := range p.Runs {
		if r.receiveRun(l, &p.Runs[i]); l.gone || r.phase == mesh.Ended {
			return
		}
	}
	r.receiveSums(l, p)
}

func (r *Relay) receiveRun(l *link, run *wire.Run) {
	p := int(run.Participant)
	if p >= len(r.cfg.Players) || r.cfg.Players[p] != l.peer {
		r.refuse(mesh.NotOwner)
		return
	}
	l.owesAck = true
	for i := range run.Count {
		t, e := run.First+driftback.Tick(i), run.Entry(i)
		in := run.Inputs[i*r.terms.Stride : (i+1)*r.terms.Stride]
		if e.Mark() {
			r.refuse(mesh.BadInput)
			return
		}
		newest := run.Participant == l.plays[0] && t >= l.seenTo
		took := r.set.put(p, t, in, e, r.clock)
		if newest && took != tooFar {
			l.seenTo = t + 1
		}
		switch took {
		case again:
		case taken:
			if at, ok := r.set.start(t); newest && ok {
				l.lateness.add(float64(max(r.clock-at, 0)) / float64(r.set.length))
			}
		case tooOld:
			if newest && t < r.set.next && r.set.hasStarted {
				at := r.set.started - time.Duration(r.set.next-1-t)*r.set.length
				l.lateness.add(min(float64(r.clock-at)/float64(r.set.length), mesh.MaxWindow))
			}
		case tooFar:
			r.refuse(mesh.FarAhead)
			return
		case differs:
			err := &mesh.ConflictError{
				Peer: l.peer, Participant: run.Participant, Tick: t, Had: append([]byte(nil), r.set.input(p, t)...),
				Got: append([]byte(nil), in...), HadEntry: r.set.entry(p, t), GotEntry: e,
			}
			r.end(err, mesh.LeaveHalted, fmt.Sprintf("peer %d sent two inputs of participant %d for tick %d", l.peer, p, t))
			return
		}
	}
}

// flush sends what is due.
func (r *Relay) flush() {
	r.payAll()
	if r.phase != mesh.Playing {
		return
	}
	for _, l := range r.links {
		if !l.up || l.gone || l.owed&(owesHello|owesWelcome|owesStart) != 0 {
			continue
		}
		news := l.sentTo < r.set.next
		every := idleBeat
		if l.acked < r.set.next || l.owesAck || l.sums.owesAck || l.sums.acked < r.sums.next {
			every = beat
		}
		if news || !l.everSent || r.clock-l.sentAt >= every {
			r.send(l)
		}
	}
}

// send sends what a peer has not acknowledged, oldest first, in as many packets as that takes.
func (r *Relay) send(l *link) {
	l.sentAt, l.everSent, l.owesAck = r.clock, true, false
	p := &r.outgoing
	r.putSums(l, p)
	p.Acks = p.Acks[:0]
	for _, q := range l.plays {
		p.Acks = append(p.Acks, wire.Ack{Participant: q, Next: max(r.set.held[q], r.set.next)})
	}
	from := max(l.acked, r.set.oldest())
	for range maxRound {
		to, ok := r.build(l, from)
		if !ok {
			return
		}
		r.cfg.Transport.Send(l.peer, r.out)
		l.stats.PacketsSent++
		l.stats.BytesSent += uint64(len(r.out))
		from, l.sentTo = to, max(l.sentTo, to)
		p.Sums.List, p.SumAck.Set = p.Sums.List[:0], false
		if from == r.set.next {
			return
		}
	}
}

// leastDatagram returns the size in bytes of a packet that has room for one tick.
func (r *Relay) leastDatagram() int {
	n := len(r.cfg.Players)
	least := wire.HeaderSize + wire.MaxEchoSize + n*(wire.MaxAckSize+wire.MaxRunHead+1+r.terms.Stride+wire.MaxEntrySize)
	if r.terms.FingerprintEvery != None {
		least += wire.MaxSumAckSize + wire.MaxSumsHead + wire.SumSize*sumsPerPacket
	}
	return least
}

// build writes a packet with the set from tick from on, as many ticks as it holds, and returns the
// first that is left.
func (r *Relay) build(l *link, from driftback.Tick) (to driftback.Tick, ok bool) {
	p, m := &r.outgoing, &l.meter
	p.Tag, p.Seq = r.welcome.Tag, m.next
	m.next++
	p.Echo = wire.Echo{Set: m.owes && r.clock >= m.quiet}
	if p.Echo.Set {
		m.owes, m.quiet = false, r.clock+echoEvery
		p.Echo.Seq, p.Echo.HeldMicros = m.newest, uint32(min(r.clock-m.heardAt, maxEcho)/time.Microsecond)
		p.Echo.Lead = int16(min(max(math.Round(r.late(l)*wire.PaceUnit), math.MinInt16), math.MaxInt16))
	}
	n := len(r.cfg.Players)
	count := min(r.set.next-from, wire.MaxRunTicks, driftback.Tick(wire.MaxDecoded/(n*r.terms.Stride)))
	for {
		r.gather(from, from+count)
		b, err := p.Append(r.out[:0], r.terms.Stride)
		if err != nil {
			r.broken(err)
			return from, false
		}
		r.out = b
		if len(b) <= r.cfg.Transport.MaxDatagram() || count <= 1 {
			return from + count, true
		}
		count /= 2
	}
}

// gather makes the packet's runs the set of [from, to).
func (r *Relay) gather(from, to driftback.Tick) {
	p := &r.outgoing
	p.Runs, r.flat, r.entries = p.Runs[:0], r.flat[:0], r.entries[:0]
	if from == to {
		return
	}
	for q := range r.cfg.Players {
		start, marks := len(r.flat), len(r.entries)
		for t := from; t < to; t++ {
			r.flat = append(r.flat, r.set.input(q, t)...)
			r.entries = append(r.entries, byte(r.set.entry(q, t)))
		}
		p.Runs = append(p.Runs, wire.Run{
			Participant: driftback.Participant(q), First: from, Count: int(to - from), Inputs: r.flat[start:], Entries: r.entries[marks:],
		})
	}
}
