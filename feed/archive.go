package feed

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// MaxHistory is the largest number of ticks that an archive keeps.
const MaxHistory = 1 << 20

// Archive has the newest confirmed inputs of all participants, with their entries, and
// the fingerprints on which the players have agreed.
type Archive struct {
	stride  int
	mask    driftback.Tick
	inputs  [][]byte // by participant, rings
	entries [][]byte
	first   driftback.Tick // where it began
	end     driftback.Tick // the first tick that is not there
	every   driftback.Tick // the interval of fingerprints, 0: off
	sums    sums

	statuses []wire.Status // changes, in the order in which they were put
	changed  int           // how many have been put
}

// NewArchive returns an archive for the newest history ticks at least, whose first tick
// is 0. every is the interval of fingerprints in ticks, 0 for none.
func NewArchive(participants, stride, history, every int) (*Archive, error) {
	if participants < 1 || participants > driftback.MaxParticipants || stride < 1 || stride > wire.MaxStride ||
		history < 1 || history > MaxHistory || every < 0 {
		return nil, fmt.Errorf("feed: an archive of %d participants, inputs of %d bytes, %d ticks and fingerprints each %d ticks: 1 to %d, 1 to %d, 1 to %d and at least 0 are allowed",
			participants, stride, history, every, driftback.MaxParticipants, wire.MaxStride, MaxHistory)
	}
	depth := 1
	for depth < history {
		depth *= 2
	}
	a := &Archive{stride: stride, mask: driftback.Tick(depth - 1), every: driftback.Tick(every)}
	for range participants {
		a.inputs = append(a.inputs, make([]byte, depth*stride))
		a.entries = append(a.entries, make([]byte, depth))
	}
	if every > 0 {
		a.sums = newSums(depth/every + 2)
	}
	return a, nil
}

// Begin empties the archive, which begins at tick t then.
func (a *Archive) Begin(t driftback.Tick) {
	a.first, a.end = t, t
	a.sums.clear()
}

// Put takes participant p's input and entry for tick End, and Next ends that tick.
func (a *Archive) Put(p driftback.Participant, in []byte, e wire.Entry) {
	i := int(a.end & a.mask)
	copy(a.inputs[p][i*a.stride:(i+1)*a.stride], in)
	a.entries[p][i] = byte(e)
}

// Next says that all participants' inputs for tick End have been put.
func (a *Archive) Next() { a.end++ }

// Oldest returns the oldest tick that is there, and End the first that is not yet.
func (a *Archive) Oldest() driftback.Tick { return max(a.first, a.end-a.mask-1) }

// End returns the first tick that is not there yet.
func (a *Archive) End() driftback.Tick { return a.end }

// Input returns participant p's input for tick t, which must be there. It is borrowed
// until the next Put.
func (a *Archive) Input(p driftback.Participant, t driftback.Tick) []byte {
	i := int(t & a.mask)
	return a.inputs[p][i*a.stride : (i+1)*a.stride : (i+1)*a.stride]
}

// Entry returns participant p's entry for tick t, which must be there.
func (a *Archive) Entry(p driftback.Participant, t driftback.Tick) wire.Entry {
	return wire.Entry(a.entries[p][t&a.mask])
}

// PutSum takes the fingerprint of a due tick, on which the players have agreed.
func (a *Archive) PutSum(t driftback.Tick, sum uint64) {
	if a.every > 0 && t > 0 && t%a.every == 0 {
		a.sums.put(uint64(t/a.every)-1, sum)
	}
}

// Sum returns the fingerprint of a due tick that was put, while it is kept.
func (a *Archive) Sum(t driftback.Tick) (sum uint64, ok bool) {
	if a.every == 0 || t <= 0 || t%a.every != 0 {
		return 0, false
	}
	return a.sums.get(uint64(t/a.every) - 1)
}

// SumsEnd returns the newest due tick whose fingerprint was put; 0 if none was.
func (a *Archive) SumsEnd() driftback.Tick { return driftback.Tick(a.sums.end) * a.every }

// flatten appends participant p's inputs of [from, to) to b.
func (a *Archive) flatten(b []byte, p int, from, to driftback.Tick) []byte {
	for t := from; t < to; {
		n := min(to-t, a.mask+1-t&a.mask) // at most two pieces
		i := int(t & a.mask)
		b = append(b, a.inputs[p][i*a.stride:(i+int(n))*a.stride]...)
		t += n
	}
	return b
}

// flattenEntries appends participant p's entries of [from, to) to b, and reports whether
// there is any.
func (a *Archive) flattenEntries(b []byte, p int, from, to driftback.Tick) (all []byte, some bool) {
	for t := from; t < to; t++ {
		e := a.entries[p][t&a.mask]
		some = some || e != 0
		b = append(b, e)
	}
	return b, some
}

// Sums are the newest fingerprints of due ticks.
type Sums struct {
	every driftback.Tick
	sums  sums
}

// NewSums returns room for the fingerprints of history ticks at least, one each every ticks.
func NewSums(history, every int) *Sums {
	return &Sums{every: driftback.Tick(every), sums: newSums(history/every + 2)}
}

// Put takes the fingerprint of due tick t, in place of one that is old.
func (s *Sums) Put(t driftback.Tick, sum uint64) { s.sums.put(uint64(t/s.every)-1, sum) }

// Get returns the fingerprint of tick t, if it is kept.
func (s *Sums) Get(t driftback.Tick) (sum uint64, ok bool) {
	if t <= 0 || t%s.every != 0 {
		return 0, false
	}
	return s.sums.get(uint64(t/s.every) - 1)
}

// sums are fingerprints by index of due tick, as package wire counts them. There may be
// gaps.
type sums struct {
	ring []stampedSum
	end  uint64 // the index beyond the newest
}

type stampedSum struct{ next, sum uint64 } // next is the index + 1, 0: none

func newSums(n int) sums { return sums{ring: make([]stampedSum, n)} }

func (s *sums) clear() {
	clear(s.ring)
	s.end = 0
}

func (s *sums) put(i, sum uint64) {
	if len(s.ring) > 0 {
		s.ring[i%uint64(len(s.ring))] = stampedSum{i + 1, sum}
		s.end = max(s.end, i+1)
	}
}

func (s *sums) get(i uint64) (sum uint64, ok bool) {
	if len(s.ring) == 0 {
		return 0, false
	}
	e := s.ring[i%uint64(len(s.ring))]
	return e.sum, e.next == i+1
}
