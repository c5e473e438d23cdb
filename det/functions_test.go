package det_test

import (
	"flag"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/det"
	"github.com/driftback/driftback/internal/bigmath"
	"github.com/driftback/driftback/rng"
)

var arguments = flag.Int("arguments", 1200, "how many results of each function are compared with their references")

// A function is one of det's under test. Those of one argument ignore y.
type function struct {
	name string
	of   func(x, y float64) float64
	// platform is package math's, for special values and speed.
	platform  func(x, y float64) float64
	reference func(x, y *big.Float) *big.Float
	bound     float64 // as documented, in ulps
	// bare is the bound where the result is subnormal.
	bare float64
	// draw gives arguments in the part of the domain that is of interest. It must give
	// the same on every architecture, so it multiplies and does not add.
	draw func(r *rng.PCG) (x, y float64)
	// hard are arguments that are known to be.
	hard []float64
}

func (f *function) takesTwo() bool { return f.name == "Pow" || f.name == "Atan2" || f.name == "Hypot" }

func one(f func(float64) float64) func(x, y float64) float64 {
	return func(x, _ float64) float64 { return f(x) }
}

func bigOne(f func(*big.Float) *big.Float) func(x, y *big.Float) *big.Float {
	return func(x, _ *big.Float) *big.Float { return f(x) }
}

// signed is uniform from −size to size.
func signed(r *rng.PCG, size float64) float64 {
	return float64(int64(r.Uint64())>>10) * 0x1p-53 * size
}

// anyFinite has random bits.
func anyFinite(r *rng.PCG) float64 {
	for {
		if x := math.Float64frombits(r.Uint64()); math.Abs(x) <= math.MaxFloat64 {
			return x
		}
	}
}

// near is a power of two from 2^-range to 2^range, times something from 1 to 2, of
// either sign.
func near(r *rng.PCG, span int) float64 {
	exponent := uint64(1023 - span + r.IntN(2*span))
	return math.Float64frombits(r.Uint64()&^(0x7ff<<52) | exponent<<52)
}

// about is within 2^-k of x, relatively, for a k from 1 to 52.
func about(r *rng.PCG, x float64) float64 {
	return math.Float64frombits(math.Float64bits(x) + r.Uint64()>>(12+r.IntN(52)))
}

func angles(r *rng.PCG) (x, y float64) {
	switch r.IntN(6) {
	case 0:
		return anyFinite(r), 0
	case 1:
		return near(r, 40), 0
	case 2: // next to a multiple of a right angle
		return float64(int64(r.Uint64())>>r.IntN(63)) * (math.Pi / 2), 0
	case 3:
		return signed(r, 1000), 0
	}
	return signed(r, 4), 0
}

func logs(r *rng.PCG) (x, y float64) {
	switch r.IntN(4) {
	case 0:
		return math.Abs(anyFinite(r)), 0
	case 1:
		return about(r, 1), 0
	case 2:
		return 1 / about(r, 1), 0
	}
	return math.Abs(near(r, 3)), 0
}

func directions(r *rng.PCG) (x, y float64) {
	switch r.IntN(4) {
	case 0:
		return anyFinite(r), anyFinite(r)
	case 1:
		return near(r, 40), near(r, 40)
	case 2:
		x = anyFinite(r)
		return x, x * near(r, 8)
	}
	return signed(r, 100), signed(r, 100)
}

// hardAngles: the float64s that lie closest to multiples of π/2 for their size, a
// few on either side of where the reduction changes, and the extremes.
var hardAngles = []float64{
	0x1.6ac5b262ca1ffp+849, // 2^-60.8 from a multiple, as close as it gets
	0x1.6ac5b262ca1fep+849, 0x1.6ac5b262ca2p+849,
	math.Pi / 4, math.Pi / 2, math.Pi, 3 * math.Pi / 2, 0x1.921fb54442d19p-1, 0x1.921fb54442d17p-1,
	0x1p20, 0x1.fffffffffffffp19, 0x1.0000000000001p20, math.MaxFloat64, 0x1p1023, 0x1p-1074, 0x1p-1022, 0x1p-30, 355, 1e22, 5e-324,
}

var functions = []function{
	{
		name: "Sin", of: one(det.Sin), platform: one(math.Sin), bound: 0.9, bare: 0.9, draw: angles, hard: hardAngles,
		reference: bigOne(func(x *big.Float) *big.Float { s, _ := bigmath.SinCos(x); return s }),
	},
	{
		name: "Cos", of: one(det.Cos), platform: one(math.Cos), bound: 0.9, bare: 0.9, draw: angles, hard: hardAngles,
		reference: bigOne(func(x *big.Float) *big.Float { _, c := bigmath.SinCos(x); return c }),
	},
	{
		name: "Tan", of: one(det.Tan), platform: one(math.Tan), bound: 1.1, bare: 1.1, draw: angles, hard: hardAngles,
		reference: bigOne(bigmath.Tan),
	},
	{
		name: "Asin", of: one(det.Asin), platform: one(math.Asin), bound: 0.51, bare: 0.51, draw: sines, hard: hardSines,
		reference: bigOne(bigmath.Asin),
	},
	{
		name: "Acos", of: one(det.Acos), platform: one(math.Acos), bound: 0.51, bare: 0.51, draw: sines, hard: hardSines,
		reference: bigOne(bigmath.Acos),
	},
	{
		name: "Atan", of: one(det.Atan), platform: one(math.Atan), bound: 0.51, bare: 0.51, reference: bigOne(bigmath.Atan),
		draw: func(r *rng.PCG) (x, y float64) {
			if r.IntN(4) == 0 {
				return anyFinite(r), 0
			}
			return near(r, 10), 0
		},
		hard: []float64{1, 0x1.0000000000001p0, 0x1.fffffffffffffp-1, 0x1p60, 0x1.0000000000001p60, math.MaxFloat64, 5e-324, 0x1p-1022, 0x1p-7, 0x1.8p-6},
	},
	{
		name: "Atan2", of: det.Atan2, platform: math.Atan2, bound: 0.51, bare: 1, reference: bigmath.Atan2, draw: directions,
		hard: []float64{1, 3, 5e-324, 0x1p-1022, 0x1p-1000, math.MaxFloat64, 0x1p1000, 0x1p60, 0x1p-60, 0x1p500, 0x1p-400},
	},
	{
		name: "Exp", of: one(det.Exp), platform: one(math.Exp), bound: 0.52, bare: 0.77, reference: bigOne(bigmath.Exp),
		draw: func(r *rng.PCG) (x, y float64) {
			switch r.IntN(4) {
			case 0:
				return near(r, 9), 0
			case 1:
				return signed(r, 1), 0
			case 2:
				return signed(r, 40), 0
			}
			return signed(r, 745), 0
		},
		hard: []float64{709.782712893384, 709.7827128933841, -708.4, -745.13, -745.1332191019412, 5e-324, -5e-324, 0x1p-54, -0x1p-54, 0.00541521, 0.0054152123481},
	},
	{
		name: "Log", of: one(det.Log), platform: one(math.Log), bound: 0.51, bare: 0.51, reference: bigOne(bigmath.Log), draw: logs,
		hard: []float64{0x1.0000000000001p0, 0x1.fffffffffffffp-1, 0x1.fffffffffffffp-2, 5e-324, 0x1p-1022, math.MaxFloat64, math.Sqrt2, 0x1.02p0, 0x1.01ffffffffffp0, math.E, 10, 1.421875},
	},
	{
		name: "Pow", of: det.Pow, platform: math.Pow, bound: 0.52, bare: 0.77, reference: bigmath.Pow,
		draw: func(r *rng.PCG) (x, y float64) {
			x, _ = logs(r)
			switch log := math.Abs(float64(math.Ilogb(x))); r.IntN(4) {
			case 0: // an exponent near 0
				return about(r, 1), near(r, 60)
			case 1:
				return math.Abs(near(r, 5)), signed(r, 10)
			default:
				return x, signed(r, 1100) / max(log, 1)
			}
		},
		hard: []float64{2, 3, 0.5, 10, 0x1.0000000000001p0, 0x1.fffffffffffffp-1, 1.0 / 3, 100, 1e15, 5e-324, math.MaxFloat64, 0x1p52},
	},
	{
		name: "Hypot", of: det.Hypot, platform: math.Hypot, bound: 0.51, bare: 0.76, reference: bigmath.Hypot, draw: directions,
		hard: []float64{3, 4, 5e-324, 1e-323, 0x1p-1022, math.MaxFloat64, 0x1.6a09e667f3bccp1023, 0x1p500, 0x1.0000000000001p500, 0x1p-400, 0x1p-1040},
	},
	{
		name: "Cbrt", of: one(det.Cbrt), platform: one(math.Cbrt), bound: 0.51, bare: 0.51, reference: bigOne(bigmath.Cbrt),
		draw: func(r *rng.PCG) (x, y float64) {
			if r.IntN(2) == 0 {
				return anyFinite(r), 0
			}
			return near(r, 3), 0
		},
		hard: []float64{1, 8, 27, 1000, 0x1.fffffffffffffp0, 0x1.fffffffffffffp2, 5e-324, 1e-310, 0x1p-1022, math.MaxFloat64, -3},
	},
}

func sines(r *rng.PCG) (x, y float64) {
	switch r.IntN(4) {
	case 0:
		return 1 / about(r, 1), 0
	case 1:
		return math.Float64frombits(r.Uint64() >> 2 % (1023 << 52)), 0
	}
	return signed(r, 1), 0
}

var hardSines = []float64{0.5, -0.5, 0x1.fffffffffffffp-1, -0x1.fffffffffffffp-1, 0x1.6a09e667f3bcdp-1, 0x1.6a09e667f3bccp-1, 5e-324, 0x1p-60, 0x1p-27}

// ulps is how far got is from the exact result, and whether that is subnormal. An
// infinity is right, and 0 away, where the nearest float64 is one.
func ulps(got float64, exact *big.Float) (away float64, bare bool) {
	nearest, _ := exact.Float64()
	if math.IsInf(got, 0) && got == nearest {
		return 0, false
	}
	exponent := exact.MantExp(nil) - 53
	if exact.Sign() == 0 || exponent < -1074 {
		exponent, bare = -1074, true
	}
	if math.IsInf(got, 0) || math.IsNaN(got) {
		return math.Inf(1), bare
	}
	rest := new(big.Float).SetPrec(bigmath.Precision).Sub(exact, bigmath.New(got))
	away, _ = rest.SetMantExp(rest, -exponent).Float64()
	return math.Abs(away), bare
}

// worst compares n results, besides the hard ones, with their references. It gives
// the largest error as a part of what is allowed, and where that is.
func (f *function) worst(n int) (share, away, x, y float64) {
	try := func(ax, ay float64) {
		got := f.of(ax, ay)
		error, bare := ulps(got, f.reference(bigmath.New(ax), bigmath.New(ay)))
		allowed := f.bound
		if bare {
			allowed = f.bare
		}
		if error/allowed > share {
			share, away, x, y = error/allowed, error, ax, ay
		}
	}
	for _, a := range f.hard {
		for _, b := range f.hard {
			if math.Abs(math.Log(math.Abs(a))*b) < 1000 || f.name != "Pow" {
				try(a, b)
			}
			if !f.takesTwo() {
				break
			}
		}
		if f.platform(-0.25, 1) == -f.platform(0.25, 1) && f.name != "Pow" { // odd
			try(-a, 1)
		}
	}
	r := rng.New(uint64(n), 1)
	for range n {
		ax, ay := f.draw(&r)
		if ax == 0 || f.name == "Pow" && math.Abs(math.Log(math.Abs(ax))*ay) > 1000 {
			continue
		}
		try(ax, ay)
	}
	return share, away, x, y
}

func TestEveryErrorIsBelowItsBound(t *testing.T) {
	n := *arguments
	if testing.Short() {
		n /= 6
	}
	for _, f := range functions {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			share, away, x, y := f.worst(n)
			t.Logf("%.4f ulp at (%x, %x)", away, x, y)
			require.Less(t, share, 1.0, "%s(%x, %x) is off by %.3f ulp", f.name, x, y, away)
			require.Greater(t, away, 0.3, "so few or so easy arguments prove nothing")
		})
	}
}
