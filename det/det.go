// Package det has the elementary functions of float64 with the same bits on every
// machine, for simulations that must agree to the last one.
//
// Package math promises no such thing: Exp, Log, Sin, Pow and others are assembly
// on some architectures and Go on others, and Go may fuse x*y + z into one
// instruction that rounds once, where the architecture (or GOAMD64=v3) has it. Here
// every product that could be added to something is rounded by a conversion, which
// the language promises to respect; where a product must be exact it is math.FMA,
// whose result is exact by definition, in hardware or not; and of package math only
// functions are called whose results IEEE 754 fixes. A test reads the source for
// both rules, and hashes of the results of each function, committed, are compared on
// amd64 with and without v3, arm64, 386 and wasm: docs/determinism.md says how.
//
// That covers what happens in here. The caller's own arithmetic is under the same
// rules: write float64(x*y) + z.
//
// Every function states its error in ulps, units in the last place of the exact
// result: what is stated is above all that comparisons with references of 300 bits
// found, over millions of arguments; it is not proven. 0.5 would be perfect
// rounding. Special values are those that package math documents. There is one NaN,
// 0x7ff8000000000000, whatever the NaN that was given. Subnormal numbers are
// arguments and results like any other.
//
// The package owns functions of float64 and refuses to own fixed point (package
// fixed) and conversions. Nothing allocates or panics, and any goroutine may call
// anything.
package det

//go:generate go run ./internal/coefficients tables.go

import "math"

const (
	// shift is added to a float64 below 2^51, and taken away, to round it to an
	// integer; in between, the low bits are that integer.
	shift = 0x1.8p52

	tiny = 0x1p-60
)

// nan is the one that fingerprints are made of as well.
func nan() float64 { return math.Float64frombits(0x7ff8000000000000) }

// power is 2^k, for k from −1022 to 1023.
func power(k int) float64 { return math.Float64frombits(uint64(k+1023) << 52) }

// scale is y·2^k, rounded once, for y from 1/2 to 2 and k within ±1200.
func scale(y float64, k int) float64 {
	switch {
	case k > 1000:
		return float64(float64(y*0x1p1000) * power(k-1000))
	case k < -1000:
		return float64(float64(y*power(k+300)) * 0x1p-300)
	}
	return float64(y * power(k))
}
