package relay

import (
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/wire"
)

const (
	// maxVotes is how many due fingerprints beyond those that have been decided about a peer
	// may have sent; a session stalls before it has so many.
	maxVotes = 2 * mesh.MaxUncompared
	// keptSums is how many that have been decided about are kept, for peers that are late.
	keptSums = 1024
	// sumsPerPacket is how many a packet carries at most, and sumsAgain after how long they
	// go again.
	sumsPerPacket = 8
	sumsAgain     = 100 * time.Millisecond
)

// sums are the fingerprints that players with more than half of the participants have sent,
// by index: that of tick (index+1)·every.
type sums struct {
	every   driftback.Tick // 0: off
	decided [keptSums]uint64
	next    uint64 // the first that is not decided about
}

// linkSums are a peer's.
type linkSums struct {
	ring    [maxVotes]uint64
	next    uint64 // the first that has not come
	owesAck bool
	acked   uint64 // of those decided: the first that it has not acknowledged
	sentTo  uint64
	sentAt  time.Duration
	differs wire.Disagree // what it is told when it is cut
}

func (s *sums) init(terms *mesh.RelayTerms, links []*link) {
	s.every = driftback.Tick(max(terms.FingerprintEvery, 0))
	for _, l := range links {
		l.sums = linkSums{}
	}
}

func (s *sums) tick(index uint64) driftback.Tick { return (driftback.Tick(index) + 1) * s.every }

func (r *Relay) receiveSums(l *link, p *wire.Packet) {
	s, t := &r.sums, &l.sums
	if s.every == 0 {
		return
	}
	if p.SumAck.Set {
		if p.SumAck.Next > s.next {
			r.refuse(mesh.BadAck)
		} else if p.SumAck.Next > t.acked {
			t.acked, t.sentAt = p.SumAck.Next, r.clock
		}
	}
	for i, sum := range p.Sums.List {
		t.owesAck = true
		if p.Sums.First+uint64(i) == t.next { // others come again
			r.vote(l, sum)
		}
		if l.gone || r.phase == mesh.Ended {
			return
		}
	}
}

// receiveDisagree takes the fingerprint with which a peer differs from what it was told.
func (r *Relay) receiveDisagree(l *link, d wire.Disagree) {
	s, t := &r.sums, &l.sums
	if s.every == 0 || r.phase != mesh.Playing || d.Tick <= 0 || d.Tick%s.every != 0 {
		return
	}
	i := uint64(d.Tick/s.every) - 1
	if i < s.next && s.next-i <= keptSums && s.decided[i%keptSums] != d.Sum {
		r.expel(l, i, d.Sum)
	} else if i == t.next {
		r.vote(l, d.Sum)
	}
}

// vote takes a peer's next fingerprint.
func (r *Relay) vote(l *link, sum uint64) {
	s, t := &r.sums, &l.sums
	switch {
	case t.next >= s.next+maxVotes:
		r.refuse(mesh.FarFingerprint)
		return
	case t.next >= s.next:
		t.ring[t.next%maxVotes] = sum
		t.next++
		r.decideSums()
	case s.next-t.next <= keptSums && s.decided[t.next%keptSums] != sum:
		r.expel(l, t.next, sum)
	default:
		t.next++
	}
}

// decideSums decides about every fingerprint on which those who play more than half of what
// is left agree, and cuts those that do not.
func (r *Relay) decideSums() {
	s := &r.sums
	for r.phase == mesh.Playing && s.every != 0 {
		i, all := s.next, 0
		voted := 0
		for _, l := range r.links {
			if !l.gone {
				all += len(l.plays)
				if l.sums.next > i {
					voted += len(l.plays)
				}
			}
		}
		sum, ok := r.majority(all, func(l *link) (uint64, bool) { return l.sums.ring[i%maxVotes], l.sums.next > i })
		if !ok {
			if voted == all && all > 0 {
				r.disperse(s.tick(i), func(l *link) uint64 { return l.sums.ring[i%maxVotes] })
			}
			return
		}
		s.decided[i%keptSums] = sum
		s.next++
		for _, l := range r.links {
			if !l.gone && l.sums.next > i && l.sums.ring[i%maxVotes] != sum {
				r.expel(l, i, l.sums.ring[i%maxVotes])
			}
		}
	}
}

// majority returns what those have in common who play more than half of all participants.
func (r *Relay) majority(all int, of func(l *link) (sum uint64, ok bool)) (sum uint64, ok bool) {
	for _, l := range r.links {
		sum, ok = of(l)
		if l.gone || !ok {
			continue
		}
		weight := 0
		for _, o := range r.links {
			if theirs, ok := of(o); !o.gone && ok && theirs == sum {
				weight += len(o.plays)
			}
		}
		if 2*weight > all {
			return sum, true
		}
	}
	return 0, false
}

// expel cuts a peer whose state is not that of the majority. Without PlayOn that ends the match.
func (r *Relay) expel(l *link, i uint64, theirs uint64) {
	r.differ(l, &mesh.DesyncError{Tick: r.sums.tick(i), Peer: l.peer, Ours: r.sums.decided[i%keptSums], Theirs: theirs})
}

// differ cuts a peer whose state is Theirs, or ends the match.
func (r *Relay) differ(l *link, err *mesh.DesyncError) {
	for _, o := range r.links {
		sum := err.Theirs
		if o == l {
			sum = err.Ours
		} else if r.terms.PlayOn {
			continue
		}
		o.sums.differs = wire.Disagree{Tick: err.Tick, Sum: sum}
		o.owed |= owesDisagree
	}
	r.lose(l, err, mesh.LeaveHalted, fmt.Sprintf("the states differ as tick %d begins", err.Tick))
}

// disperse ends the match because no majority agrees about the state as tick t begins: each is
// told a fingerprint that is not its own.
func (r *Relay) disperse(t driftback.Tick, of func(l *link) uint64) {
	var err *mesh.DesyncError
	for _, l := range r.links {
		for _, o := range r.links {
			if l.gone || o.gone || of(l) == of(o) {
				continue
			}
			if err == nil {
				err = &mesh.DesyncError{Tick: t, Peer: o.peer, Ours: of(l), Theirs: of(o)}
			}
			l.sums.differs = wire.Disagree{Tick: t, Sum: of(o)}
			l.owed |= owesDisagree
		}
	}
	r.end(err, mesh.LeaveHalted, fmt.Sprintf("the states differ as tick %d begins, and no majority agrees", t))
}

// judgeLastSums compares the states with which all that are left have finished.
func (r *Relay) judgeLastSums() {
	all, t := 0, driftback.Tick(0)
	differ := false
	var first *link
	for _, l := range r.links {
		if l.gone || !l.finish.HasSum {
			continue
		}
		if all += len(l.plays); first == nil {
			first, t = l, l.finish.At
		}
		differ = differ || l.finish.Sum != first.finish.Sum
	}
	if !differ {
		return
	}
	of := func(l *link) (uint64, bool) { return l.finish.Sum, !l.gone && l.finish.HasSum }
	sum, ok := r.majority(all, of)
	if !ok {
		r.disperse(t, func(l *link) uint64 { return l.finish.Sum })
		return
	}
	for _, l := range r.links {
		if theirs, ok := of(l); ok && theirs != sum {
			r.differ(l, &mesh.DesyncError{Tick: t, Peer: l.peer, Ours: sum, Theirs: theirs})
		}
	}
}

// putSums adds to a packet what it is to say about fingerprints.
func (r *Relay) putSums(l *link, p *wire.Packet) {
	s, t := &r.sums, &l.sums
	p.Sums.List, p.SumAck = p.Sums.List[:0], wire.SumAck{Set: t.owesAck, Next: t.next}
	t.owesAck = false
	if s.every == 0 {
		return
	}
	if s.next > keptSums {
		t.acked = max(t.acked, s.next-keptSums)
	}
	t.sentTo = max(t.sentTo, t.acked)
	if t.acked == t.sentTo {
		t.sentAt = r.clock // nothing is under way
	} else if r.clock-t.sentAt >= sumsAgain {
		t.sentTo, t.sentAt = t.acked, r.clock
	}
	p.Sums.First = t.sentTo
	for ; t.sentTo < s.next && len(p.Sums.List) < sumsPerPacket; t.sentTo++ {
		p.Sums.List = append(p.Sums.List, s.decided[t.sentTo%keptSums])
	}
}
