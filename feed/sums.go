package feed

import "github.com/driftback/driftback"

// Sums are the newest fingerprints of due ticks, of which there may be gaps. They count
// due ticks as package wire does.
type Sums struct {
	every driftback.Tick // 0: there are none
	ring  []stampedSum
	end   uint64 // the index beyond the newest
}

type stampedSum struct{ next, sum uint64 } // next is the index + 1, 0: none

// NewSums returns room for the fingerprints of history ticks at least, one each every
// ticks; with an every of 0 there are none.
func NewSums(history, every int) *Sums {
	if every == 0 {
		return &Sums{}
	}
	return &Sums{every: driftback.Tick(every), ring: make([]stampedSum, history/every+2)}
}

// Put takes the fingerprint of tick t, in place of one that is old, if t is due.
func (s *Sums) Put(t driftback.Tick, sum uint64) {
	if s.due(t) {
		i := s.index(t)
		s.ring[i%uint64(len(s.ring))] = stampedSum{i + 1, sum}
		s.end = max(s.end, i+1)
	}
}

// Get returns the fingerprint of tick t, if it is kept.
func (s *Sums) Get(t driftback.Tick) (sum uint64, ok bool) {
	if !s.due(t) {
		return 0, false
	}
	return s.at(s.index(t))
}

func (s *Sums) due(t driftback.Tick) bool { return s.every > 0 && t > 0 && t%s.every == 0 }

func (s *Sums) index(t driftback.Tick) uint64 { return uint64(t/s.every) - 1 }

// at returns the fingerprint of an index; there must be any at all.
func (s *Sums) at(i uint64) (sum uint64, ok bool) {
	e := s.ring[i%uint64(len(s.ring))]
	return e.sum, e.next == i+1
}

// retract takes back those of the ticks beyond t.
func (s *Sums) retract(t driftback.Tick) {
	if s.every == 0 {
		return
	}
	for end := uint64(t / s.every); s.end > end; s.end-- {
		s.ring[(s.end-1)%uint64(len(s.ring))] = stampedSum{}
	}
}

func (s *Sums) clear() {
	clear(s.ring)
	s.end = 0
}
