package mesh

import (
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/wire"
)

const (
	// MaxUncompared is the largest number of due fingerprints of ours that may wait
	// to be compared; with as many the match stalls, so that the state they were
	// taken from can be kept.
	MaxUncompared = 64
	// leastKept is how many of ours are kept at least, whatever the history. A peer
	// that has heard nothing may be MaxUncompared behind one that has heard all and
	// gone on for as many.
	leastKept = 2 * MaxUncompared
	// sumsPerPacket is how many fingerprints a packet carries at most, and in small
	// datagrams fewer.
	sumsPerPacket = 8
	// sumsAgain is the shortest time after which fingerprints are sent again.
	sumsAgain = 50 * time.Millisecond
)

// fingerprints are this peer's, of every due tick: index i is tick
// (i+1)·interval, the start state's having been compared at the handshake.
type fingerprints struct {
	every driftback.Tick // 0: off
	ring  []uint64       // the newest, by index
	first uint64         // index of the first that this peer takes
	next  uint64         // index of the first that is not known
	// agreed is the first index that some peer has not agreed to.
	agreed uint64
	// perPacket is how many a packet carries at most.
	perPacket uint64
	// most is how many may wait to be compared.
	most uint64
}

// linkPrints are a peer's.
type linkPrints struct {
	ring     []uint64
	came     []bool // whether ring holds the fingerprint of an index from next on
	first    uint64 // index of the first that is to come
	next     uint64 // index of the first that has not come
	compared uint64 // index of the first that has not been compared
	acked    uint64 // index of ours that it has not acknowledged
	owesAck  bool
	sentTo   uint64 // ours below this have been sent at least once
	// sentAt is when the peer last acknowledged some of what is under way, or when it
	// began to be. From again to againEnd they are sent once more; repeated says that the
	// last packet carried such.
	sentAt          time.Duration
	again, againEnd uint64
	repeated        bool
}

func (f *fingerprints) init(c *Config, links []link) {
	if c.FingerprintEvery == None {
		return
	}
	f.every, f.most = driftback.Tick(c.FingerprintEvery), MaxUncompared
	n := max(c.History/c.FingerprintEvery, leastKept)
	f.ring = make([]uint64, n)
	if len(links) > 0 {
		room := c.Transport.MaxDatagram() - c.leastDatagram()
		f.perPacket = uint64(min(1+room/wire.SumSize, sumsPerPacket))
	}
	for i := range links {
		links[i].prints.ring = make([]uint64, n)
		links[i].prints.came = make([]bool, n)
	}
}

func (f *fingerprints) tick(index uint64) driftback.Tick {
	return (driftback.Tick(index) + 1) * f.every
}

// after returns the index of the first due tick after t.
func (f *fingerprints) after(t driftback.Tick) uint64 { return uint64(t / f.every) }

// begin makes the first of this peer's be that of an index.
func (f *fingerprints) begin(index uint64) { f.first, f.next, f.agreed = index, index, index }

// restart makes a peer's first be that of an index.
func (t *linkPrints) restart(index uint64) {
	clear(t.came)
	*t = linkPrints{ring: t.ring, came: t.came, first: index, next: index, compared: index, acked: index, sentTo: index}
}

// bound says how many may wait until the next Poll. It is the same all that time,
// because a state that is not taken when it is due must not be run past.
func (f *fingerprints) bound(sites *buggify.Sites) {
	f.most = MaxUncompared
	if f.every != 0 && sites.Fires(buggify.FewUncompared) {
		f.most = 1
	}
}

// full reports whether as many wait to be compared, or to be acknowledged, as may.
func (f *fingerprints) full(links []link) bool {
	if f.every == 0 || len(links) == 0 {
		return false
	}
	if f.next-f.agreed >= f.most {
		return true
	}
	for i := range links {
		if acked := links[i].prints.acked; f.next > acked && f.next-acked >= uint64(len(f.ring)) && !links[i].view.cut {
			return true // one more would overwrite one that may have to be sent again
		}
	}
	return false
}

// waiting reports whether a fingerprint of a peer's that is due up to tick last has not
// been compared, be it that it has not come or that ours has not been taken.
func (f *fingerprints) waiting(l *link, last driftback.Tick) bool {
	return f.every != 0 && driftback.Tick(l.prints.compared) < last/f.every
}

// Due returns the next tick whose confirmed state must be fingerprinted, and
// ok == false when fingerprints are off or too many wait to be compared or to be
// acknowledged.
func (m *Mesh) Due() (t driftback.Tick, ok bool) {
	if m.prints.every == 0 || m.prints.full(m.links) {
		return 0, false
	}
	return m.prints.tick(m.prints.next), true
}

// Agreed returns the newest due tick to which every peer has agreed; 0 at first.
func (m *Mesh) Agreed() driftback.Tick {
	return driftback.Tick(m.prints.agreed) * m.prints.every
}

// Fingerprint takes the fingerprint of the confirmed state as the tick that Due
// returned began.
func (m *Mesh) Fingerprint(t driftback.Tick, sum uint64) error {
	if due, ok := m.Due(); !ok || t != due {
		return fmt.Errorf("mesh: the fingerprint of tick %d is not due", t)
	}
	f := &m.prints
	f.ring[f.next%uint64(len(f.ring))] = sum
	f.next++
	for i := range m.links {
		if !m.links[i].view.cut {
			m.compareSums(&m.links[i])
		}
	}
	m.updateAgreed()
	return nil
}

// Root returns this peer's fingerprint of a due tick, while it is kept.
func (m *Mesh) Root(t driftback.Tick) (sum uint64, ok bool) {
	f := &m.prints
	if f.every == 0 || t <= 0 || t%f.every != 0 {
		return 0, false
	}
	i := uint64(t/f.every) - 1
	if i < f.first || i >= f.next || f.next-i > uint64(len(f.ring)) {
		return 0, false
	}
	return f.ring[i%uint64(len(f.ring))], true
}

func (m *Mesh) receiveSums(l *link, p *wire.Packet) {
	f, t := &m.prints, &l.prints
	if f.every == 0 {
		return
	}
	if p.SumAck.Set {
		switch next := p.SumAck.Next; {
		case next > f.next:
			m.refuse(BadAck)
		case next > t.acked:
			t.acked, t.sentAt = next, m.clock // it gets through: the rest has its time from now
		}
	}
	if len(p.Sums.List) == 0 {
		return
	}
	t.owesAck = true
	for i, sum := range p.Sums.List {
		index := p.Sums.First + uint64(i)
		switch {
		case index < t.next: // again
		case index >= t.compared+uint64(len(t.ring)):
			m.refuse(FarFingerprint)
		default:
			t.keep(index, sum)
		}
	}
	m.compareSums(l)
	m.updateAgreed()
}

// keep takes a fingerprint that may have overtaken others.
func (t *linkPrints) keep(index, sum uint64) {
	n := uint64(len(t.ring))
	t.ring[index%n], t.came[index%n] = sum, true
	for t.came[t.next%n] {
		t.came[t.next%n] = false
		t.next++
	}
}

// forget drops what has come from an index on and was not compared. A peer that has been let in
// may begin beyond that.
func (t *linkPrints) forget(from uint64) {
	from = max(from, t.compared)
	for i, n := from, uint64(len(t.ring)); i < t.compared+n; i++ {
		t.came[i%n] = false
	}
	t.next = min(t.next, from)
}

// forgetSums drops the fingerprints of states after tick t, as that is where the view that begins
// differs from the one in which they were taken. Who sent them had confirmed more than the
// members of the new view have, and is not in it: its match ends as it hears of that.
func (m *Mesh) forgetSums(t driftback.Tick) {
	if m.prints.every == 0 {
		return
	}
	for i := range m.links {
		m.links[i].prints.forget(m.prints.after(t))
	}
}

// compareSums compares what both sides have, in order.
func (m *Mesh) compareSums(l *link) {
	f, t := &m.prints, &l.prints
	n := uint64(len(f.ring))
	for t.compared < min(f.next, t.next) && !m.dispute.open {
		ours, theirs := f.ring[t.compared%n], t.ring[t.compared%n]
		if ours != theirs {
			m.disagree(l, f.tick(t.compared), ours, theirs)
			return
		}
		t.compared++
	}
}

func (m *Mesh) updateAgreed() {
	m.prints.agreed = m.prints.next
	for i := range m.links {
		if !m.links[i].view.cut {
			m.prints.agreed = min(m.prints.agreed, m.links[i].prints.compared)
		}
	}
}

// putSums adds what a packet to a peer should say about fingerprints.
func (m *Mesh) putSums(l *link, p *wire.Packet) {
	f, t := &m.prints, &l.prints
	p.Sums.List, p.SumAck.Set = p.Sums.List[:0], false
	if f.every == 0 {
		return
	}
	first, end := m.nextSums(l)
	if t.owesAck || first < end && t.next > t.first {
		// Fingerprints never go alone: the peer that has compared the newest of them also knows
		// which of its own had come before, and leastKept is enough for those since.
		p.SumAck, t.owesAck = wire.SumAck{Set: !m.cfg.Buggify.Fires(buggify.NoSumAck), Next: t.next}, false
	}
	if first == end {
		return
	}
	if m.room == m.cfg.leastDatagram() || end > first+1 && m.cfg.Buggify.Fires(buggify.OneSum) {
		end = first + 1
	}
	p.Sums.First = first
	for i := first; i < end; i++ {
		p.Sums.List = append(p.Sums.List, f.ring[i%uint64(len(f.ring))])
	}
	if first < t.sentTo {
		t.again, t.repeated = end, true
	} else {
		t.sentTo, t.repeated = end, false
	}
}

// nextSums returns which fingerprints a packet to a peer carries: new ones, or some of
// those that have been under way for too long, all of which go again. While there are both
// they take turns, so that neither waits for the other.
func (m *Mesh) nextSums(l *link) (first, end uint64) {
	f, t := &m.prints, &l.prints
	t.sentTo = max(t.sentTo, t.acked)
	if t.sentTo == t.acked {
		t.sentAt = m.clock // nothing is under way
	}
	// The peer may wait for its turn too before it says that they have come.
	late := m.clock-t.sentAt >= max(sumsAgain, l.meter.roundTrip+2*l.meter.jitter)+m.turns.length
	if t.acked < t.sentTo && t.again >= t.againEnd && (late || m.cfg.Buggify.Fires(buggify.EarlySums)) {
		t.again, t.againEnd, t.sentAt = t.acked, t.sentTo, m.clock
	}
	t.again = max(t.again, t.acked)
	if t.again < t.againEnd && (t.sentTo == f.next || !t.repeated) {
		return t.again, min(t.againEnd, t.again+f.perPacket)
	}
	return t.sentTo, max(t.sentTo, min(f.next, t.sentTo+f.perPacket))
}
