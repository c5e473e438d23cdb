package fixed_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/fixed"
)

// nums draws numbers of every size, and the extremes often.
func nums() *rapid.Generator[fixed.Num] {
	return rapid.Custom(func(t *rapid.T) fixed.Num {
		switch rapid.IntRange(0, 3).Draw(t, "sort") {
		case 0:
			return rapid.SampledFrom([]fixed.Num{
				fixed.Min, fixed.Min + 1, -fixed.One, -fixed.Half, -1, 0, 1, 2, fixed.Half, fixed.One, fixed.Max - 1, fixed.Max,
			}).Draw(t, "edge")
		case 1:
			return fixed.Num(rapid.Int64Range(-1<<20, 1<<20).Draw(t, "small"))
		default:
			return fixed.Num(rapid.Int64().Draw(t, "any") >> rapid.IntRange(0, 62).Draw(t, "shift"))
		}
	})
}

// nearest rounds an exact number of Tinies to a Num, halves away from zero, and
// saturates: what every operation is documented to do.
func nearest(exact *big.Rat) fixed.Num {
	twice := new(big.Int).Mul(exact.Num(), big.NewInt(2))
	sign := int64(twice.Sign())
	twice.Abs(twice).Add(twice, exact.Denom())
	rounded := twice.Quo(twice, new(big.Int).Mul(exact.Denom(), big.NewInt(2)))
	rounded.Mul(rounded, big.NewInt(sign))
	return saturated(rounded)
}

func saturated(n *big.Int) fixed.Num {
	switch {
	case n.IsInt64():
		return fixed.Num(n.Int64())
	case n.Sign() < 0:
		return fixed.Min
	}
	return fixed.Max
}

func exact(a fixed.Num) *big.Rat { return new(big.Rat).SetInt64(int64(a)) }

func TestArithmeticIsTheExactResultRoundedAndSaturated(t *testing.T) {
	one := exact(fixed.One)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := nums().Draw(t, "a"), nums().Draw(t, "b"), nums().Draw(t, "t")
		require.Equal(t, nearest(new(big.Rat).Add(exact(a), exact(b))), a.Add(b), "%d + %d", a, b)
		require.Equal(t, nearest(new(big.Rat).Sub(exact(a), exact(b))), a.Sub(b), "%d - %d", a, b)
		product := new(big.Rat).Mul(exact(a), exact(b))
		require.Equal(t, nearest(product.Quo(product, one)), a.Mul(b), "%d * %d", a, b)
		if b != 0 {
			quotient := new(big.Rat).Quo(exact(a), exact(b))
			require.Equal(t, nearest(quotient.Mul(quotient, one)), a.Div(b), "%d / %d", a, b)
			require.Equal(t, a.Div(b), fixed.FromRatio(int64(a), int64(b)))
		}
		require.Equal(t, nearest(new(big.Rat).Neg(exact(a))), a.Neg())
		require.Equal(t, nearest(new(big.Rat).Abs(exact(a))), a.Abs())
		require.Equal(t, exact(a).Sign(), a.Sign())
		require.Equal(t, a.Add(b.Sub(a).Mul(c)), a.Lerp(b, c))
	})
}

func TestTheRootIsTheLargestWhoseSquareFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := nums().Draw(t, "a")
		if a < 0 {
			require.Zero(t, a.Sqrt())
			return
		}
		scaled := new(big.Int).Lsh(big.NewInt(int64(a)), fixed.FractionBits)
		require.Equal(t, new(big.Int).Sqrt(scaled).Int64(), int64(a.Sqrt()), "root of %d", a)
	})
}

func TestEdgesOfTheRange(t *testing.T) {
	for name, c := range map[string]struct{ want, got fixed.Num }{
		"one third rounds down":                 {21845, fixed.FromRatio(1, 3)},
		"two thirds round up":                   {43691, fixed.FromRatio(2, 3)},
		"half a unit rounds away from zero":     {1, fixed.Tiny.Mul(fixed.Half)},
		"half a unit below zero does too":       {-1, fixed.Tiny.Mul(-fixed.Half)},
		"less than half a unit is nothing":      {0, fixed.Tiny.Mul(fixed.Half - 1)},
		"half a unit of a quotient too":         {1, fixed.Tiny.Div(2 * fixed.One)},
		"half a unit of a quotient below zero":  {-1, fixed.Tiny.Div(-2 * fixed.One)},
		"less than half a unit of a quotient":   {0, fixed.Tiny.Div(2*fixed.One + 1)},
		"a product just too large":              {fixed.Max, fixed.FromInt(1 << 24).Mul(fixed.FromInt(1 << 23))},
		"a product that is exactly the least":   {fixed.Min, fixed.FromInt(-1 << 24).Mul(fixed.FromInt(1 << 23))},
		"the least times the least":             {fixed.Max, fixed.Min.Mul(fixed.Min)},
		"the least by minus the smallest":       {fixed.Max, fixed.Min.Div(-fixed.Tiny)},
		"the least by minus one":                {fixed.Max, fixed.Min.Div(-fixed.One)},
		"the least by one":                      {fixed.Min, fixed.Min.Div(fixed.One)},
		"a number by zero":                      {fixed.Max, fixed.One.Div(0)},
		"a negative number by zero":             {fixed.Min, (-fixed.One).Div(0)},
		"zero by zero":                          {0, fixed.Num(0).Div(0)},
		"zero by the least":                     {0, fixed.Num(0).Div(fixed.Min)},
		"a sum over the top":                    {fixed.Max, fixed.Max.Add(fixed.Tiny)},
		"a difference under the bottom":         {fixed.Min, fixed.Min.Sub(fixed.Tiny)},
		"zero less the least":                   {fixed.Max, fixed.Num(0).Sub(fixed.Min)},
		"the largest integer":                   {fixed.Max >> 16 << 16, fixed.FromInt(1<<31 - 1).Mul(fixed.FromInt(1 << 16)).Add(fixed.FromInt(1<<16 - 1))},
		"the root of the largest":               {777472127993, fixed.Max.Sqrt()},
		"the root of two":                       {92681, fixed.FromInt(2).Sqrt()},
		"the root of the smallest":              {256, fixed.Tiny.Sqrt()},
		"half way":                              {fixed.FromInt(15), fixed.FromInt(10).Lerp(fixed.FromInt(20), fixed.Half)},
		"all the way":                           {fixed.FromInt(20), fixed.FromInt(10).Lerp(fixed.FromInt(20), fixed.One)},
		"beyond the end":                        {fixed.FromInt(30), fixed.FromInt(10).Lerp(fixed.FromInt(20), 2*fixed.One)},
		"between two that lie too far apart":    {fixed.Max.Add(fixed.Min), fixed.Min.Lerp(fixed.Max, fixed.One)},
		"clamped from below":                    {3, fixed.Num(2).Clamp(3, 5)},
		"clamped from above":                    {5, fixed.Num(6).Clamp(3, 5)},
		"clamped not at all":                    {4, fixed.Num(4).Clamp(3, 5)},
		"clamped between limits that are wrong": {5, fixed.Num(4).Clamp(5, 3)},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.got) })
	}
}

func TestIntegersAreTakenSaturated(t *testing.T) {
	require.Equal(t, 3*fixed.One, fixed.FromInt(3))
	require.Equal(t, -3*fixed.One, fixed.FromInt(-3))
	if math.MaxInt > math.MaxInt32 {
		require.Equal(t, fixed.Max, fixed.FromInt(math.MaxInt))
		require.Equal(t, fixed.Min, fixed.FromInt(math.MinInt))
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int().Draw(t, "n")
		want := new(big.Int).Lsh(big.NewInt(int64(n)), fixed.FractionBits)
		if want.IsInt64() || math.MaxInt == math.MaxInt32 {
			require.Equal(t, saturated(want), fixed.FromInt(n))
		}
		i := rapid.Int32().Draw(t, "i")
		require.Equal(t, int(i), fixed.FromInt(int(i)).Floor())
		require.Equal(t, int(i), fixed.FromInt(int(i)).Round())
	})
}

func TestIntegersAreGivenRounded(t *testing.T) {
	for name, c := range map[string]struct {
		a            fixed.Num
		floor, round int
	}{
		"zero":                      {0, 0, 0},
		"just below a half":         {fixed.Half - 1, 0, 0},
		"a half":                    {fixed.Half, 0, 1},
		"minus a half":              {-fixed.Half, -1, -1},
		"just above minus a half":   {-fixed.Half + 1, -1, 0},
		"just below zero":           {-1, -1, 0},
		"two and three quarters":    {2*fixed.One + 3*fixed.Quarter, 2, 3},
		"minus two and one quarter": {-2*fixed.One - fixed.Quarter, -3, -2},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.floor, c.a.Floor())
			require.Equal(t, c.round, c.a.Round())
		})
	}
	t.Run("the extremes are in order, whatever int holds", func(t *testing.T) {
		require.Equal(t, int(min(1<<47, int64(math.MaxInt))), fixed.Max.Round())
		require.Equal(t, int(min(1<<47-1, int64(math.MaxInt))), fixed.Max.Floor())
		require.Equal(t, int(max(-1<<47, int64(math.MinInt))), fixed.Min.Round())
		require.Equal(t, int(max(-1<<47, int64(math.MinInt))), fixed.Min.Floor())
	})
}

func TestTextIsTheExactDecimal(t *testing.T) {
	for name, c := range map[string]struct {
		want string
		a    fixed.Num
	}{
		"zero":         {"0", 0},
		"an integer":   {"42", fixed.FromInt(42)},
		"a half":       {"-1.5", -fixed.One - fixed.Half},
		"the smallest": {"0.0000152587890625", fixed.Tiny},
		"the largest":  {"140737488355327.9999847412109375", fixed.Max},
		"the least":    {"-140737488355328", fixed.Min},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.a.String()) })
	}
	rapid.Check(t, func(t *rapid.T) {
		a := nums().Draw(t, "a")
		read, ok := new(big.Rat).SetString(a.String())
		require.True(t, ok, a.String())
		require.Zero(t, read.Cmp(new(big.Rat).Quo(exact(a), exact(fixed.One))), "%d as %s", int64(a), a)
	})
}

func TestFloatsAreExactWithinTheirPrecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := fixed.Num(rapid.Int64Range(-1<<53, 1<<53).Draw(t, "a"))
		got := new(big.Rat).SetFloat64(a.Float64())
		require.Zero(t, got.Cmp(new(big.Rat).Quo(exact(a), exact(fixed.One))))
	})
}

// A game that faces left must play as one that faces right.
func TestNegatingTheOperandsNegatesTheResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := nums().Draw(t, "a"), nums().Draw(t, "b")
		if a == fixed.Min || b == fixed.Min || b == 0 {
			return
		}
		mirrored := func(name string, there, back fixed.Num) {
			if there != fixed.Min && back != fixed.Min { // Min has no mirror image
				require.Equal(t, there, -back, name)
			}
		}
		mirrored("Mul", a.Mul(b), (-a).Mul(b))
		mirrored("Div", a.Div(b), (-a).Div(b))
		mirrored("Add", a.Add(b), (-a).Add(-b))
		mirrored("Sin", fixed.Sin(a), fixed.Sin(-a))
		if a != 0 { // straight left has one name, a half turn
			mirrored("Atan2", fixed.Atan2(a, b), fixed.Atan2(-a, b))
		}
	})
}

func TestArithmeticDoesNotAllocate(t *testing.T) {
	x := fixed.FromRatio(355, 113)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		x = x.Mul(x).Div(fixed.FromInt(3)).Sqrt().Add(fixed.Sin(x)).Lerp(fixed.Cos(x), fixed.Half).Sub(fixed.Atan2(x, fixed.One)).Abs() + fixed.One
	}))
	require.Positive(t, x)
}
