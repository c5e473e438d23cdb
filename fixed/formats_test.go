package fixed_test

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/fixed"
	"github.com/driftback/driftback/internal/bigmath"
	"github.com/driftback/driftback/rng"
)

// format is what the tests need of Q32 and Q16.
type format[T any] interface {
	fixed.Scalar[T]
	MulWrap(T) T
	Neg() T
	Abs() T
	Sqrt() T
	Sin() T
	Cos() T
	Atan2(x T) T
	Num() fixed.Num
	Float64() float64
	String() string
}

// holdArithmetic compares with exact integers, in units of the last place.
func holdArithmetic[T format[T]](t *testing.T, bits, fraction uint) {
	low := new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), bits-1))
	high := new(big.Int).Sub(new(big.Int).Neg(low), big.NewInt(1))
	one := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), fraction))
	round := func(exact *big.Rat) *big.Int {
		twice := new(big.Int).Mul(exact.Num(), big.NewInt(2))
		sign := int64(twice.Sign())
		twice.Abs(twice).Add(twice, exact.Denom())
		twice.Quo(twice, new(big.Int).Mul(exact.Denom(), big.NewInt(2)))
		return twice.Mul(twice, big.NewInt(sign))
	}
	saturate := func(n *big.Int) T {
		if n.Cmp(low) < 0 {
			n = low
		} else if n.Cmp(high) > 0 {
			n = high
		}
		return T(n.Int64())
	}
	nearest := func(exact *big.Rat) T { return saturate(round(exact)) }
	rat := func(a T) *big.Rat { return new(big.Rat).SetInt64(int64(a)) }
	times := func(a, b T) *big.Rat { return new(big.Rat).Mul(rat(a), rat(b)) }
	scaled := func(r *big.Rat) T { return nearest(r.Quo(r, one)) }
	sum := func(a *big.Rat, more ...*big.Rat) *big.Rat {
		for _, b := range more {
			a.Add(a, b)
		}
		return a
	}
	minus := func(a *big.Rat) *big.Rat { return a.Neg(a) }
	draw := rapid.Custom(func(t *rapid.T) T {
		n := rapid.Int64().Draw(t, "any") >> (64 - bits) >> rapid.UintRange(0, bits-1).Draw(t, "shift")
		if rapid.IntRange(0, 5).Draw(t, "edge") == 0 {
			n = rapid.SampledFrom([]int64{low.Int64(), low.Int64() + 1, -1, 0, 1, 1 << fraction, high.Int64()}).Draw(t, "which")
		}
		return T(n)
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := draw.Draw(t, "a"), draw.Draw(t, "b"), draw.Draw(t, "c")
		x, y, z := draw.Draw(t, "x"), draw.Draw(t, "y"), draw.Draw(t, "z")
		require.Equal(t, nearest(new(big.Rat).Add(rat(a), rat(b))), a.Add(b))
		require.Equal(t, nearest(new(big.Rat).Sub(rat(a), rat(b))), a.Sub(b))
		require.Equal(t, nearest(new(big.Rat).Neg(rat(a))), a.Neg())
		require.Equal(t, nearest(new(big.Rat).Abs(rat(a))), a.Abs())
		require.Equal(t, scaled(times(a, b)), a.Mul(b), "%d * %d", a, b)
		product := times(a, b)
		wrapped := round(product.Quo(product, one))
		wrapped.And(wrapped, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1)))
		require.Equal(t, T(wrapped.Uint64()), a.MulWrap(b), "%d * %d", a, b)
		if b != 0 {
			quotient := new(big.Rat).Quo(rat(a), rat(b))
			require.Equal(t, nearest(quotient.Mul(quotient, one)), a.Div(b), "%d / %d", a, b)
		}
		require.Equal(t, a.Add(b.Sub(a).Mul(c)), a.Lerp(b, c))
		if a >= 0 {
			require.Equal(t, new(big.Int).Sqrt(new(big.Int).Lsh(big.NewInt(int64(a)), fraction)).Int64(), int64(a.Sqrt()), "root of %d", a)
		} else {
			require.Zero(t, a.Sqrt())
		}

		read, ok := new(big.Rat).SetString(a.String())
		require.True(t, ok, a.String())
		require.Zero(t, read.Cmp(new(big.Rat).Quo(rat(a), one)), "%d as %s", int64(a), a)

		v, w := fixed.Vec3[T]{X: a, Y: b, Z: c}, fixed.Vec3[T]{X: x, Y: y, Z: z}
		flat, other := fixed.Vec2[T]{X: a, Y: b}, fixed.Vec2[T]{X: x, Y: y}
		require.Equal(t, scaled(sum(times(a, x), times(b, y))), flat.Dot(other))
		require.Equal(t, scaled(sum(times(a, x), times(b, y), times(c, z))), v.Dot(w))
		require.Equal(t, scaled(sum(times(a, y), minus(times(b, x)))), flat.Cross(other))
		require.Equal(t, fixed.Vec3[T]{
			X: scaled(sum(times(b, z), minus(times(c, y)))),
			Y: scaled(sum(times(c, x), minus(times(a, z)))),
			Z: scaled(sum(times(a, y), minus(times(b, x)))),
		}, v.Cross(w))
		require.Equal(t, saturate(new(big.Int).Sqrt(sum(times(a, a), times(b, b)).Num())), flat.Length())
		require.Equal(t, saturate(new(big.Int).Sqrt(sum(times(a, a), times(b, b), times(c, c)).Num())), v.Length())
		require.Equal(t, fixed.Vec3[T]{X: a.Add(x), Y: b.Add(y), Z: c.Add(z)}, v.Add(w))
		require.Equal(t, fixed.Vec3[T]{X: a.Sub(x), Y: b.Sub(y), Z: c.Sub(z)}, v.Sub(w))
		require.Equal(t, fixed.Vec3[T]{X: a.Mul(x), Y: b.Mul(x), Z: c.Mul(x)}, v.Scale(x))
		require.Equal(t, fixed.Vec3[T]{X: a.Lerp(x, z), Y: b.Lerp(y, z), Z: c.Lerp(z, z)}, v.Lerp(w, z))
		require.Equal(t, fixed.Vec2[T]{X: a.Add(x), Y: b.Add(y)}, flat.Add(other))
		require.Equal(t, fixed.Vec2[T]{X: a.Sub(x), Y: b.Sub(y)}, flat.Sub(other))
		require.Equal(t, fixed.Vec2[T]{X: a.Mul(x), Y: b.Mul(x)}, flat.Scale(x))
		require.Equal(t, fixed.Vec2[T]{X: a.Lerp(x, z), Y: b.Lerp(y, z)}, flat.Lerp(other, z))
		require.Equal(t, fixed.Vec2[T]{X: a.Div(flat.Length()), Y: b.Div(flat.Length())}, flat.Unit())
		require.Equal(t, fixed.Vec3[T]{X: a.Div(v.Length()), Y: b.Div(v.Length()), Z: c.Div(v.Length())}, v.Unit())
	})
}

// holdAngles compares with references, in units of the last place.
func holdAngles[T format[T]](t *testing.T, fraction int) {
	const allowed = 0.51
	units := func(x *big.Float) float64 {
		f, _ := new(big.Float).SetMantExp(x, fraction).Float64()
		return f
	}
	tau := bigmath.Pi()
	tau.SetMantExp(tau, 1)
	apart := func(exact *big.Float, got T) float64 {
		return units(exact.Sub(exact, new(big.Float).SetMantExp(bigmath.New(float64(got)), -fraction)))
	}
	try := func(a, x T) {
		angle := new(big.Float).SetMantExp(bigmath.New(float64(a)), -fraction)
		sin, cos := bigmath.SinCos(angle.Mul(angle, tau))
		require.InDelta(t, 0, apart(sin, a.Sin()), allowed, "sine of %d", a)
		require.InDelta(t, 0, apart(cos, a.Cos()), allowed, "cosine of %d", a)
		if a != 0 || x != 0 {
			arc := bigmath.Atan2(bigmath.New(float64(a)), bigmath.New(float64(x)))
			require.InDelta(t, 0, apart(arc.Quo(arc, tau), a.Atan2(x)), allowed, "atan2(%d, %d)", a, x)
		}
	}
	r := rng.New(8, 8)
	for range 1500 {
		// Of at most 53 bits, so that a float64 is exact.
		try(T(int64(r.Uint64())>>11>>r.IntN(53)), T(int64(r.Uint64())>>11>>r.IntN(53)))
	}
	for quarter := T(1) << (fraction - 2); quarter < 4<<(fraction-2); quarter += 1 << (fraction - 3) {
		try(quarter, 1)
		try(quarter-1, quarter)
		try(quarter+1, -quarter)
	}
}

func TestQ32IsTheExactResultRoundedAndSaturated(t *testing.T) {
	holdArithmetic[fixed.Q32](t, 64, 32)
}

func TestQ16IsTheExactResultRoundedAndSaturated(t *testing.T) {
	holdArithmetic[fixed.Q16](t, 32, 16)
}

func TestAnglesOfQ32AreWithinHalfAUnit(t *testing.T) { holdAngles[fixed.Q32](t, 32) }
func TestAnglesOfQ16AreWithinHalfAUnit(t *testing.T) { holdAngles[fixed.Q16](t, 16) }

func TestFormatsTurnIntoEachOther(t *testing.T) {
	for name, c := range map[string]struct{ want, got int64 }{
		"a Num is a Q32":                        {3 << 31, int64((fixed.One + fixed.Half).Q32())},
		"a Num too large for a Q32":             {int64(fixed.MaxQ32), int64(fixed.Max.Q32())},
		"a Num too small for a Q32":             {int64(fixed.MinQ32), int64(fixed.Min.Q32())},
		"the least Q32 is a Num":                {-1 << 47, int64(fixed.MinQ32.Num())},
		"half a unit rounds away from zero":     {1, int64(fixed.Q32(1 << 15).Num())},
		"and so does one below zero":            {-1, int64(fixed.Q32(-1 << 15).Num())},
		"less than half is nothing":             {0, int64(fixed.Q32(1<<15 - 1).Num())},
		"a Num is a Q16":                        {-3 << 15, int64((-fixed.One - fixed.Half).Q16())},
		"a Num too large for a Q16":             {int64(fixed.MaxQ16), int64(fixed.FromInt(32768).Q16())},
		"a Num too small for a Q16":             {int64(fixed.MinQ16), int64(fixed.FromInt(-32769).Q16())},
		"a Q16 is a Num":                        {-1, int64(fixed.Q16(-1).Num())},
		"an integer is a Q32":                   {-5 << 32, int64(fixed.Q32FromInt(-5))},
		"an integer too large for a Q32":        {int64(fixed.MaxQ32), int64(fixed.Q32FromInt(1<<31 - 1).Add(fixed.OneQ32))},
		"the smallest integer that is a Q32":    {int64(fixed.MinQ32), int64(fixed.Q32FromInt(-1 << 31))},
		"an integer is a Q16":                   {7 << 16, int64(fixed.Q16FromInt(7))},
		"an integer too large for a Q16":        {int64(fixed.MaxQ16), int64(fixed.Q16FromInt(1 << 20))},
		"a third as Q32":                        {1431655765, int64(fixed.Q32FromRatio(1, 3))},
		"two thirds as Q16":                     {43691, int64(fixed.Q16FromRatio(2, 3))},
		"by zero as Q32":                        {int64(fixed.MinQ32), int64((-fixed.OneQ32).Div(0))},
		"zero by zero as Q16":                   {0, int64(fixed.Q16(0).Div(0))},
		"nowhere has the angle 0":               {0, int64(fixed.Q32(0).Atan2(0))},
		"straight left is half a turn":          {1 << 31, int64(fixed.Q32(0).Atan2(fixed.MinQ32))},
		"as far as it goes is an eighth":        {1 << 29, int64(fixed.MaxQ32.Atan2(fixed.MaxQ32))},
		"as far down and left as it goes, too":  {-3 << 29, int64(fixed.MinQ32.Atan2(fixed.MinQ32))},
		"a length that squares would overflow":  {500 << 16, int64(fixed.Vec2[fixed.Q16]{X: fixed.Q16FromInt(300), Y: fixed.Q16FromInt(-400)}.Length())},
		"a length beyond the largest saturates": {int64(fixed.MaxQ16), int64(fixed.Vec2[fixed.Q16]{X: fixed.MaxQ16, Y: fixed.MaxQ16}.Length())},
		"half a unit of a product rounds up":    {1, int64(fixed.Q32(1).Mul(fixed.OneQ32 / 2))},
		"half a unit below zero rounds down":    {-1, int64(fixed.Q32(-1).Mul(fixed.OneQ32 / 2))},
		"less than half a unit is nothing":      {0, int64(fixed.Q32(1).Mul(fixed.OneQ32/2 - 1))},
		"half a unit of a quotient rounds up":   {1, int64(fixed.Q32(1).Div(2 * fixed.OneQ32))},
		"half a unit of one below zero, down":   {-1, int64(fixed.Q32(-1).Div(2 * fixed.OneQ32))},
		"less than half a unit of a quotient":   {0, int64(fixed.Q32(1).Div(2*fixed.OneQ32 + 1))},
		"half a unit of a sum of products":      {1, int64(fixed.Vec2[fixed.Q16]{X: 1, Y: 1}.Dot(fixed.Vec2[fixed.Q16]{X: 1 << 14, Y: 1 << 14}))},
		"half a unit that wraps":                {-1, int64(fixed.Q32(1).MulWrap(-fixed.OneQ32 / 2))},
		"nothing has no direction":              {0, int64(fixed.Vec3[fixed.Num]{}.Unit().Z)},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.got) })
	}
	require.Equal(t, -1.5, (-fixed.Q32FromRatio(3, 2)).Float64())
	require.Equal(t, -1.5, (-fixed.Q16FromRatio(3, 2)).Float64())
}

// pin hashes what everything makes of a fixed set of arguments.
func pin[T format[T]](n int) uint64 {
	r, sum := rng.New(2026, 16), uint64(0xcbf29ce484222325)
	for range n {
		a, b := T(int64(r.Uint64())>>r.IntN(64)), T(int64(r.Uint64())>>r.IntN(64))
		u, v := fixed.Vec3[T]{X: a, Y: b, Z: a.Add(b)}, fixed.Vec3[T]{X: b, Y: a, Z: a.Sub(b)}
		cross := u.Cross(v)
		for _, x := range [...]T{
			a.Mul(b), a.MulWrap(b), a.Div(b), a.Sqrt(), a.Sin(), a.Cos(), a.Atan2(b), a.Lerp(b, a), u.Dot(v), cross.X, cross.Y, u.Length(), u.Unit().Y,
		} {
			sum = (sum ^ uint64(int64(x))) * 0x9e3779b97f4a7c15
			sum ^= sum >> 29
		}
	}
	return sum
}

// The results are part of every game's golden fingerprints: they never change.
func TestTheFormatsAreTheSameOnEveryArchitecture(t *testing.T) {
	q32, q16 := pin[fixed.Q32](1<<16), pin[fixed.Q16](1<<16)
	require.Equal(t, uint64(0xce602811fef8cf9b), q32, "%#x", q32)
	require.Equal(t, uint64(0x6b655e705413a1af), q16, "%#x", q16)
}

func TestFormatsDoNotAllocate(t *testing.T) {
	v := fixed.Vec2[fixed.Q32]{X: fixed.OneQ32, Y: 3}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		v = v.Add(v.Unit()).Lerp(v.Scale(v.Dot(v)), v.Cross(v)).Sub(fixed.Vec2[fixed.Q32]{X: v.X.Sin(), Y: v.Y.Atan2(v.X)})
	}))
	require.NotZero(t, v)
}

func BenchmarkQ32Mul(b *testing.B) {
	x := fixed.Q32FromRatio(10007, 10009)
	for b.Loop() {
		x = x.Mul(x) + 1
	}
}

func BenchmarkQ32Sin(b *testing.B) {
	x := fixed.Q32(0)
	for b.Loop() {
		x += 70007 + x.Sin()&1
	}
}

func BenchmarkQ32Atan2(b *testing.B) {
	x := fixed.Q32(1)
	for b.Loop() {
		x += 70007 + x.Atan2(fixed.OneQ32)&1
	}
}

func BenchmarkVec3Dot(b *testing.B) {
	v := fixed.Vec3[fixed.Q32]{X: fixed.OneQ32, Y: 2, Z: 3}
	for b.Loop() {
		v.Y += v.Dot(v) & 1
	}
}
