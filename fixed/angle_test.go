package fixed_test

import (
	"hash/fnv"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/fixed"
)

// The exact sine that lies nearest to half way between two Nums is 0.000005 units
// away from it (that of 3,679/65,536 turns), and a float's error is a millionth of
// that, so rounding the float gives the correct answer.
func TestEverySineIsCorrectlyRounded(t *testing.T) {
	for angle := range fixed.One {
		radians := 2 * math.Pi * angle.Float64()
		require.Equal(t, math.Round(math.Sin(radians)*65536), float64(fixed.Sin(angle)), "sine of %v turns", angle)
		require.Equal(t, math.Round(math.Cos(radians)*65536), float64(fixed.Cos(angle)), "cosine of %v turns", angle)
	}
}

// The table is part of every game's golden fingerprints: it never changes.
func TestTheTrigonometryIsTheSameOnEveryArchitecture(t *testing.T) {
	sum := fnv.New64a()
	for angle := range fixed.One {
		s, c := fixed.Sin(angle), fixed.Cos(angle)
		for _, n := range []fixed.Num{s, c, fixed.Atan2(s, c), fixed.Atan2(3*s+7, 5*c)} {
			for shift := 0; shift < 64; shift += 8 {
				_, _ = sum.Write([]byte{byte(n >> shift)})
			}
		}
	}
	require.Equal(t, uint64(0x8d7c9fd7e9c9e69e), sum.Sum64(), "%#x", sum.Sum64())
}

func TestAnglesOfNote(t *testing.T) {
	for name, c := range map[string]struct{ turns, sin, cos fixed.Num }{
		"none":                  {0, 0, fixed.One},
		"the smallest":          {fixed.Tiny, 6, fixed.One},
		"a twelfth":             {5461, 32766, 56757},
		"an eighth":             {fixed.Eighth, 46341, 46341},
		"a quarter":             {fixed.Quarter, fixed.One, 0},
		"a half":                {fixed.Half, 0, -fixed.One},
		"three quarters":        {3 * fixed.Quarter, -fixed.One, 0},
		"minus a quarter":       {-fixed.Quarter, -fixed.One, 0},
		"a thousand and a half": {fixed.FromInt(1000) + fixed.Half, 0, -fixed.One},
		"the largest":           {fixed.Max, -6, fixed.One},
		"the least":             {fixed.Min, 0, fixed.One},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.sin, fixed.Sin(c.turns), "sine")
			require.Equal(t, c.cos, fixed.Cos(c.turns), "cosine")
		})
	}
}

func TestAtan2NamesDirections(t *testing.T) {
	for name, c := range map[string]struct{ y, x, want fixed.Num }{
		"nowhere":             {0, 0, 0},
		"right":               {0, fixed.One, 0},
		"up and right":        {fixed.One, fixed.One, fixed.Eighth},
		"up":                  {fixed.One, 0, fixed.Quarter},
		"up and left":         {fixed.One, -fixed.One, 3 * fixed.Eighth},
		"left":                {0, -fixed.One, fixed.Half},
		"down and left":       {-fixed.One, -fixed.One, -3 * fixed.Eighth},
		"down":                {-fixed.One, 0, -fixed.Quarter},
		"as far as it goes":   {fixed.Max, fixed.Max, fixed.Eighth},
		"as near as it goes":  {fixed.Tiny, fixed.Tiny, fixed.Eighth},
		"the least both ways": {fixed.Min, fixed.Min, -3 * fixed.Eighth},
		"a hair above right":  {fixed.Tiny, fixed.Max, 0},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, fixed.Atan2(c.y, c.x)) })
	}
}

func TestAtan2IsTheAngleToWithinHalfAUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := fixed.Num(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "x") >> rapid.IntRange(0, 30).Draw(t, "shift"))
		y := fixed.Num(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "y") >> rapid.IntRange(0, 30).Draw(t, "shift"))
		if x == 0 && y == 0 {
			return
		}
		want := math.Atan2(float64(y), float64(x)) / (2 * math.Pi) * 65536
		require.InDelta(t, want, float64(fixed.Atan2(y, x)), 0.51)
	})
}

func BenchmarkMul(b *testing.B) {
	x := fixed.FromRatio(10007, 10009)
	for b.Loop() {
		x = x.Mul(x) + 1
	}
}

func BenchmarkDiv(b *testing.B) {
	x := fixed.FromRatio(10007, 10009)
	for b.Loop() {
		x = fixed.One.Div(x) + 1
	}
}

func BenchmarkSqrt(b *testing.B) {
	x := fixed.FromInt(123456)
	for b.Loop() {
		x += x.Sqrt() & 1
	}
}

func BenchmarkSin(b *testing.B) {
	x := fixed.Num(0)
	for b.Loop() {
		x += 7 + fixed.Sin(x)&1
	}
}

func BenchmarkAtan2(b *testing.B) {
	x := fixed.Num(1)
	for b.Loop() {
		x += 7 + fixed.Atan2(x, fixed.One)&1
	}
}
