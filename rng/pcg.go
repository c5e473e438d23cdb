// Package rng is a random generator that lives inside a game's state.
//
// A [PCG] is two integers: copying a state copies its generator, so a rewind
// takes back the draws as well, and a fingerprint covers the generator's
// position. It gives the same numbers on every architecture and in every release
// of this module. There are no floats: a chance is a ratio, a choice an integer.
//
// It owns the sequence and refuses to own a seed: there is no global generator,
// and nothing here reads a clock or the system's randomness. It is not fit for
// secrets.
//
// A PCG belongs to whoever owns the value it is in; no method is safe for use by
// several goroutines at once.
package rng

import "math/bits"

// PCG is a generator of the PCG family: a 128-bit linear congruential sequence
// whose outputs are scrambled by "double xorshift multiply". It gives the numbers
// that math/rand/v2's PCG of the same two seeds gives, and satisfies that
// package's Source.
//
// The zero value is ready to use and is New(0, 0). Its period is 2^128.
type PCG struct{ Hi, Lo uint64 }

// New returns a generator. Equal arguments give equal sequences; different
// streams of one seed give sequences that start far apart.
func New(seed, stream uint64) PCG { return PCG{Hi: seed, Lo: stream} }

// Seed puts p where New(seed, stream) starts.
func (p *PCG) Seed(seed, stream uint64) { p.Hi, p.Lo = seed, stream }

// The constants are those of the 128-bit PCG generators' definition.
const (
	multiplierHi = 2549297995355413924
	multiplierLo = 4865540595714422341
	incrementHi  = 6364136223846793005
	incrementLo  = 1442695040888963407
	scramble     = 0xda942042e4dd58b5
)

// Uint64 returns the next 64 bits.
func (p *PCG) Uint64() uint64 {
	hi, lo := bits.Mul64(p.Lo, multiplierLo)
	hi += p.Hi*multiplierLo + p.Lo*multiplierHi
	lo, carry := bits.Add64(lo, incrementLo, 0)
	hi, _ = bits.Add64(hi, incrementHi, carry)
	p.Hi, p.Lo = hi, lo

	hi ^= hi >> 32
	hi *= scramble
	hi ^= hi >> 48
	return hi * (lo | 1)
}

// Uint64n returns an unbiased number in [0, n), or 0 if n is 0. It takes one
// draw from the sequence, and very rarely more.
func (p *PCG) Uint64n(n uint64) uint64 {
	// The high half of draw·n is the answer; low halves below 2^64 mod n belong to
	// answers that would come up once too often, and are drawn again.
	hi, lo := bits.Mul64(p.Uint64(), n)
	if lo < n {
		for surplus := -n % n; lo < surplus; {
			hi, lo = bits.Mul64(p.Uint64(), n)
		}
	}
	return hi
}

// Uint32n returns an unbiased number in [0, n), or 0 if n is 0.
func (p *PCG) Uint32n(n uint32) uint32 { return uint32(p.Uint64n(uint64(n))) }

// IntN returns an unbiased number in [0, n), or 0 if n is 0 or less. It does not
// panic, because a step must not, and takes a draw from the sequence whatever n
// is.
func (p *PCG) IntN(n int) int { return int(p.Uint64n(uint64(max(n, 0)))) }

// Chance reports true num times in den. It is false if den is 0, and true if num
// is at least den and den is not 0.
func (p *PCG) Chance(num, den uint32) bool { return p.Uint32n(den) < num && den != 0 }
