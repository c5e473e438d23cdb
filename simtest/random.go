package simtest

import "github.com/driftback/driftback/rng"

// The sequences that a seed gives, one for each purpose, so that a further draw for one
// moves nothing of another.
const (
	streamShape = iota + 1
	streamLink
	streamFaults
	streamWorkload
	streamGame
	streamSites
	streamBuggify
	streamSync
	streamHostile
	streamEdges
	streamPauses
	streamDelays
	streamSkew
	streamLosses
	streamWatchers
	streamMessages
	streamReturns
	streamAdapt
	streamSpacing
)

// random returns the generator for one purpose, and for one thing of its kind.
func random(seed, stream, of uint64) rng.PCG {
	root := rng.New(seed, stream<<32|of)
	return rng.New(root.Uint64(), root.Uint64())
}

// draw is a generator with what a scenario wants of one.
type draw struct{ rng.PCG }

// between returns a number from low to high.
func (d *draw) between(low, high int) int { return low + d.IntN(high-low+1) }

// time returns a time from low to high, in milliseconds.
func (d *draw) time(low, high int) Micros {
	return Micros(low)*Millisecond + Micros(d.Uint64n(uint64(Micros(high-low)*Millisecond+1)))
}

// share returns a share from low to high percent.
func (d *draw) share(low, high int) float64 { return float64(d.between(low, high)) / 100 }

func pick[T any](d *draw, of ...T) T { return of[d.IntN(len(of))] }

// happens draws whether something of a share of all happens.
func (d *draw) happens(share float64) bool { return float64(d.Uint64()>>11)/(1<<53) < share }

// bytes appends n random bytes.
func (d *draw) bytes(b []byte, n int) []byte {
	for range n {
		b = append(b, byte(d.Uint64()))
	}
	return b
}
