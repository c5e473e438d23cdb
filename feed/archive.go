package feed

import (
	"bytes"
	"fmt"
	"math"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

// MaxHistory is the largest number of ticks that an archive keeps.
const MaxHistory = 1 << 20

// none is a tick that no match comes to.
const none driftback.Tick = math.MaxInt64

// Archive has the newest confirmed inputs of all participants, with their entries, and
// the fingerprints on which the players have agreed.
type Archive struct {
	stride  int
	mask    driftback.Tick
	inputs  [][]byte // by participant, rings
	entries [][]byte
	first   driftback.Tick // where it began
	end     driftback.Tick // the first tick that is not there
	low     driftback.Tick // from here on it has been taken back; none if the feeder knows
	sums    Sums

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
	a := &Archive{stride: stride, mask: driftback.Tick(depth - 1), sums: *NewSums(depth, every), low: none}
	for range participants {
		a.inputs = append(a.inputs, make([]byte, depth*stride))
		a.entries = append(a.entries, make([]byte, depth))
	}
	return a, nil
}

// Begin empties the archive, which begins at tick t then.
func (a *Archive) Begin(t driftback.Tick) {
	a.first, a.end, a.low = t, t, min(a.low, t)
	a.sums.clear()
}

// retract takes back what is there from tick t on.
func (a *Archive) retract(t driftback.Tick) {
	if t < a.end {
		a.end, a.low = t, min(a.low, t)
		a.sums.retract(t)
	}
}

// same reports whether a tick that is there has this input and entry of participant p.
func (a *Archive) same(p driftback.Participant, t driftback.Tick, in []byte, e wire.Entry) bool {
	return a.Entry(p, t) == e && bytes.Equal(a.Input(p, t), in)
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
func (a *Archive) PutSum(t driftback.Tick, sum uint64) { a.sums.Put(t, sum) }

// Sum returns the fingerprint of a due tick that was put, while it is kept.
func (a *Archive) Sum(t driftback.Tick) (sum uint64, ok bool) { return a.sums.Get(t) }

// SumsEnd returns the newest due tick whose fingerprint was put; 0 if none was.
func (a *Archive) SumsEnd() driftback.Tick { return driftback.Tick(a.sums.end) * a.sums.every }

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
