package main

import (
	"encoding/binary"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
)

// inputs are the sizes of input that are measured.
type inputs interface{ [4]byte | [32]byte }

// workload is how often, and how much, what a player presses changes.
type workload string

const (
	held    workload = "held"
	buttons workload = "buttons"
	random  workload = "random"
)

// differ is how many bytes of an input of a size a change changes.
func (w workload) differ(size int) int {
	if w == buttons {
		return 1
	}
	return size
}

// A value is held for leastHold to mostHold ticks. Each stretch of block ticks begins
// with a new value, so that what is pressed for a tick can be told without going
// back to the first.
const (
	leastHold = 3
	mostHold  = 12
	block     = 120
)

// world is a game that notices every input of every tick.
type world struct{ Ticks, Digest uint64 }

func game[I inputs](w workload) simtest.Game[world, I] {
	return simtest.Game[world, I]{
		Name: "linkcost",
		Step: func(s *world, in []I, _ *driftback.Pass) {
			s.Ticks++
			for p := range in {
				for i := range len(in[p]) {
					s.Digest = (s.Digest ^ s.Digest>>29 ^ uint64(in[p][i])) * 0x9e3779b97f4a7c15
				}
			}
		},
		Input: func(r *rng.PCG, _ driftback.Participant, t driftback.Tick) I { return press[I](w, r, int(t%block)) },
	}
}

// hold is the scenario's Hold that goes with a workload.
func (w workload) hold() int {
	if w == random {
		return 1
	}
	return block
}

// press returns what is pressed at a tick of a block, for which r draws.
func press[I inputs](w workload, r *rng.PCG, at int) (in I) {
	switch w {
	case random:
		fill(&in, r.Uint64, len(in))
	case held:
		fill(&in, holding(r, at).Uint64, len(in))
	case buttons:
		fill(&in, holding(r, at).Uint64, 1)
	}
	return in
}

// holding returns the source from which the value is drawn that is held at a tick of a
// block.
func holding(r *rng.PCG, at int) *rng.PCG {
	for left := block; ; {
		n := left
		if left > mostHold {
			// What is left over is never less than may be held.
			n = leastHold + r.IntN(min(mostHold, left-leastHold)-leastHold+1)
		}
		value := r.Uint64()
		if at < n {
			drawn := rng.New(value, 0)
			return &drawn
		}
		at -= n
		left -= n
	}
}

// fill draws the first n bytes of an input.
func fill[I inputs](in *I, draw func() uint64, n int) {
	var word [8]byte
	for i := range n {
		if i%8 == 0 {
			binary.LittleEndian.PutUint64(word[:], draw())
		}
		(*in)[i] = word[i%8]
	}
}

// changes returns how often a workload's value changes, per tick, on average.
func changes[I inputs](w workload) float64 {
	const blocks = 2_000
	n := 0
	var last I
	for b := range uint64(blocks) {
		for at := range block {
			r := rng.New(b, uint64(at/w.hold()))
			if in := press[I](w, &r, at); in != last {
				last = in
				n++
			}
		}
	}
	return float64(n) / (blocks * block)
}
