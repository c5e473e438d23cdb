package det_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/det"
	goldens "github.com/driftback/driftback/internal/golden"
	"github.com/driftback/driftback/rng"
)

var specials = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, -2, 3, -3, 2.5, -2.5, 0x1p53, -0x1p53, 0x1p53 - 1, 1 - 0x1p53, 0x1p52 + 0.5,
	math.MaxFloat64, -math.MaxFloat64, 5e-324, -5e-324, 0x1p-1022, -0x1p-1022, 0x1.0000000000001p0, 0x1.fffffffffffffp-1,
	math.Inf(1), math.Inf(-1), math.NaN(), math.Float64frombits(0xfff8000000000000), math.Float64frombits(0x7ff4000000000000), math.Float64frombits(0xffffffffffffffff),
}

// Where package math gives 0, an infinity or NaN, so must det, and where an argument
// is 0, infinite or NaN the result is the same to the bit. All else is compared with
// references: some of math's results are poor, on some architectures.
func TestSpecialValuesAreThoseOfPackageMath(t *testing.T) {
	special := func(x float64) bool { return x == 0 || math.IsInf(x, 0) || math.IsNaN(x) }
	compared := 0
	for _, f := range functions {
		for _, x := range specials {
			for _, y := range specials {
				want, got := f.platform(x, y), f.of(x, y)
				what := fmt.Sprintf("%s(%v, %v)", f.name, x, y)
				switch {
				case math.IsNaN(want):
					require.Equal(t, uint64(0x7ff8000000000000), math.Float64bits(got), "the one NaN: %s is %v", what, got)
				case special(want) || special(x) || special(y) && f.takesTwo():
					require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s is %v and not %v", what, got, want)
				default:
					compared--
				}
				compared++
			}
		}
	}
	require.Greater(t, compared, len(functions)*len(specials))
}

// math.Atan2 loses the sign where the quotient vanishes.
func TestTheSmallestStepOffTheAxisKeepsItsSide(t *testing.T) {
	require.Equal(t, math.Pi, det.Atan2(5e-324, -2))
	require.Equal(t, -math.Pi, det.Atan2(-5e-324, -2))
}

func TestSinCosIsSinAndCos(t *testing.T) {
	r := rng.New(1, 1)
	try := func(x float64) {
		sin, cos := det.SinCos(x)
		require.Equal(t, math.Float64bits(det.Sin(x)), math.Float64bits(sin), "sine of %x", x)
		require.Equal(t, math.Float64bits(det.Cos(x)), math.Float64bits(cos), "cosine of %x", x)
	}
	for _, x := range specials {
		try(x)
	}
	for range 10_000 {
		x, _ := angles(&r)
		try(x)
	}
}

func TestPowersAndRootsThatAreExactAreExact(t *testing.T) {
	for n := range 1000 {
		x := float64(n)
		require.Equal(t, x, det.Cbrt(x*x*x))
		require.Equal(t, 5*x, det.Hypot(3*x, 4*x))
		require.Equal(t, x*x*x, det.Pow(x, 3))
		require.Equal(t, -x*x*x, det.Pow(-x, 3))
		require.Equal(t, x, det.Pow(x*x, 0.5))
		require.Equal(t, x/7, det.Pow(x/7, 1))
		require.Equal(t, math.Ldexp(1, n), det.Pow(2, x))
		require.Equal(t, math.Ldexp(1, -n), det.Pow(2, -x))
	}
}

// Odd functions are odd and even ones even, to the bit: who faces left plays as who
// faces right.
func TestFunctionsAreAsSymmetricAsTheyShouldBe(t *testing.T) {
	r := rng.New(2, 2)
	for range 10_000 {
		x, _ := angles(&r)
		y := signed(&r, 10)
		require.Equal(t, -det.Sin(x), det.Sin(-x), "sine of %x", x)
		require.Equal(t, det.Cos(x), det.Cos(-x), "cosine of %x", x)
		require.Equal(t, -det.Tan(x), det.Tan(-x), "tangent of %x", x)
		require.Equal(t, -det.Atan(x), det.Atan(-x), "%x", x)
		require.Equal(t, -det.Cbrt(x), det.Cbrt(-x), "%x", x)
		require.Equal(t, det.Hypot(x, y), det.Hypot(-y, x), "%x, %x", x, y)
		require.Equal(t, -det.Atan2(y, x), det.Atan2(-y, x), "%x, %x", x, y)
		require.Equal(t, -det.Asin(y/10), det.Asin(-y/10), "%x", y/10)
	}
}

func TestNothingAllocates(t *testing.T) {
	r, sum := rng.New(3, 3), 0.0
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, f := range functions {
			sum = math.Max(sum, f.of(f.draw(&r)))
		}
	}))
	require.Positive(t, sum)
}

// hash covers the results of 16·65,536 arguments, or of the first 65,536.
func hash(of func(x, y float64) float64, draw func(r *rng.PCG) (x, y float64), n int) uint64 {
	r, sum := rng.New(2026, 6), uint64(0xcbf29ce484222325)
	for range n {
		x, y := draw(&r)
		sum = (sum ^ math.Float64bits(of(x, y))) * 0x9e3779b97f4a7c15
		sum ^= sum >> 29
	}
	return sum
}

const few, many = 1 << 16, 1 << 20

// The results are part of every game's golden fingerprints: they never change, and
// are the same on every architecture.
func TestEveryFunctionGivesTheSameOnEveryArchitecture(t *testing.T) {
	pinned := slices.Clone(functions)
	// SinCos is held to the hashes of the two that it is.
	pinned = append(pinned,
		function{name: "Sin", draw: angles, of: func(x, _ float64) float64 { s, _ := det.SinCos(x); return s }},
		function{name: "Cos", draw: angles, of: func(x, _ float64) float64 { _, c := det.SinCos(x); return c }},
	)
	for _, f := range pinned {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, golden[f.name].few, hash(f.of, f.draw, few), "on %s: %#x", runtime.GOARCH, hash(f.of, f.draw, few))
			if !testing.Short() {
				require.Equal(t, golden[f.name].many, hash(f.of, f.draw, many), "on %s: %#x", runtime.GOARCH, hash(f.of, f.draw, many))
			}
		})
	}
}

func TestNothingThatIsExportedIsWithoutAGolden(t *testing.T) {
	exported, err := goldens.Exported(".")
	require.NoError(t, err)
	names := []string{"SinCos"}
	for _, f := range functions {
		names = append(names, f.name)
	}
	without, stale := goldens.Missing(exported, names)
	require.Empty(t, without, "exported, and in no table here")
	require.Empty(t, stale)
	require.Len(t, golden, len(functions))
	require.Len(t, exported, len(names))
}

// What would go unnoticed, if the checkers were any weaker.
func TestTheCheckersNoticePlantedFaults(t *testing.T) {
	find := func(name string) function {
		for _, f := range functions {
			if f.name == name {
				return f
			}
		}
		t.Fatalf("no function %s", name)
		return function{}
	}
	small := func(r *rng.PCG) (x, y float64) { return signed(r, math.Pi/4), 0 }
	// sine is det's for small angles, with a coefficient and a way to multiply and add.
	sine := func(c0 float64, add func(x, y, z float64) float64) func(x, y float64) float64 {
		return func(x, _ float64) float64 {
			z := x * x
			p := add(z, det.Sine5, det.Sine4)
			p = add(z, p, det.Sine3)
			p = add(z, p, det.Sine2)
			p = add(z, p, det.Sine1)
			p = add(z, p, c0)
			return add(x, z*p, x)
		}
	}
	rounded := func(x, y, z float64) float64 { return float64(x*y) + z }
	fused := math.FMA
	sin := find("Sin")
	sin.draw, sin.hard = small, nil

	t.Run("none: the copy of the sine is a good one", func(t *testing.T) {
		require.Equal(t, hash(one(det.Sin), small, few), hash(sine(det.Sine0, rounded), small, few))
		sin.of = sine(det.Sine0, rounded)
		share, _, _, _ := sin.worst(500)
		require.Less(t, share, 1.0)
	})
	t.Run("a coefficient whose last digits are others", func(t *testing.T) {
		sin.of = sine(det.Sine0*(1+0x1p-47), rounded)
		share, _, _, _ := sin.worst(500)
		require.Greater(t, share, 1.0)
	})
	t.Run("a coefficient whose last digit is another", func(t *testing.T) {
		require.NotEqual(t, hash(one(det.Sin), small, few), hash(sine(det.Sine0*(1+0x1p-52), rounded), small, few))
	})
	t.Run("fused products", func(t *testing.T) {
		require.NotEqual(t, hash(one(det.Sin), small, few), hash(sine(det.Sine0, fused), small, few))
	})
	t.Run("an entry of a table whose last digit is another", func(t *testing.T) {
		exp := find("Exp")
		before := hash(exp.of, exp.draw, few)
		whole := det.SpoilExpTable()
		share, _, _, _ := exp.worst(2000)
		after := hash(exp.of, exp.draw, few)
		whole()
		require.Greater(t, share, 1.0)
		require.NotEqual(t, before, after)
		require.Equal(t, before, hash(exp.of, exp.draw, few))
	})
}

func BenchmarkFunctions(b *testing.B) {
	for _, f := range functions {
		r := rng.New(1, 1)
		var x, y [1024]float64
		for i := range x {
			for {
				if x[i], y[i] = f.draw(&r); math.Abs(x[i]) < 0x1p20 && math.Abs(x[i]) > 0x1p-60 {
					break
				}
			}
		}
		b.Run(f.name, func(b *testing.B) {
			// Both in turns, so that what else the machine does befalls both.
			var ours, theirs int64
			for b.Loop() {
				ours += nanoseconds(f.of, &x, &y)
				theirs += nanoseconds(f.platform, &x, &y)
			}
			calls := float64(b.N) * float64(len(x))
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(ours)/calls, "ns/call")
			b.ReportMetric(float64(theirs)/calls, "ns/math's")
			b.ReportMetric(float64(ours)/float64(theirs), "ratio")
		})
	}
}
