// Package fixed is fixed-point arithmetic for simulations that must agree to the
// last bit on every machine.
//
// A [Num] is an int64 that counts 65,536ths: 48 bits before the point, 16 after.
// No operation uses a float, so nothing depends on the architecture, the compiler
// or the mathematics library. Results that do not fit are the nearest [Num],
// [Max] or [Min]: they saturate. The plain operators + and − on Num are exact and
// fast and wrap around at ±2^47; use [Num.Add] and [Num.Sub] where a sum may be
// that large. Comparison operators are right as they are; * and / on two Nums are
// not, use [Num.Mul] and [Num.Div].
//
// Rounding is to the nearest, halves away from zero, unless a function says
// otherwise; so negating the operands negates the result, and a game that faces
// left plays as one that faces right.
//
// [Q32] and [Q16] are the formats Q32.32 and Q16.16 by their usual names, for finer
// steps and for half the size; they round and saturate alike. [Vec2] and [Vec3] are
// vectors of any of the three.
//
// The package owns numbers and vectors and refuses to own geometry or physics.
// Everything is a value: any goroutine may call anything.
package fixed

import (
	"math"
	"math/bits"
)

// Num is a fixed-point number, in units of 1/65,536. Its zero value is 0. As a
// field of a state or an input it is plain data of eight bytes.
type Num int64

// FractionBits is the number of bits after the point.
const FractionBits = 16

const (
	// One is the number 1.
	One Num = 1 << FractionBits
	// Half is the number 1/2.
	Half = One / 2
	// Tiny is the smallest positive number, 1/65,536.
	Tiny Num = 1
	// Max is the largest number, just below 2^47, and what saturates upwards.
	Max Num = math.MaxInt64
	// Min is the smallest number, −2^47, and what saturates downwards.
	Min Num = math.MinInt64
)

// FromInt returns n as a Num, saturated.
func FromInt(n int) Num {
	wide := int64(n)
	switch {
	case wide > int64(Max>>FractionBits):
		return Max
	case wide < int64(Min>>FractionBits):
		return Min
	}
	return Num(wide << FractionBits)
}

// FromRatio returns num/den rounded and saturated. With den 0 it is what [Num.Div]
// gives for a division by zero.
func FromRatio(num, den int64) Num { return Num(num).Div(Num(den)) }

// Add returns a+b, saturated.
func (a Num) Add(b Num) Num {
	sum := a + b
	if (a^sum)&(b^sum) < 0 {
		return limit(a < 0)
	}
	return sum
}

// Sub returns a−b, saturated.
func (a Num) Sub(b Num) Num {
	difference := a - b
	if (a^b)&(a^difference) < 0 {
		return limit(a < 0)
	}
	return difference
}

// Neg returns −a; the negative of [Min] is [Max].
func (a Num) Neg() Num {
	if a == Min {
		return Max
	}
	return -a
}

// Abs returns a without its sign; that of [Min] is [Max].
func (a Num) Abs() Num {
	if a < 0 {
		return a.Neg()
	}
	return a
}

// Sign returns −1, 0 or 1.
func (a Num) Sign() int {
	switch {
	case a < 0:
		return -1
	case a > 0:
		return 1
	}
	return 0
}

// Mul returns a·b, rounded and saturated.
func (a Num) Mul(b Num) Num {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	lo, carry := bits.Add64(lo, 1<<(FractionBits-1), 0)
	hi += carry
	negative := a^b < 0
	if hi>>FractionBits != 0 {
		return limit(negative)
	}
	return signed(hi<<(64-FractionBits)|lo>>FractionBits, negative)
}

// Div returns a/b, rounded and saturated. Division by zero does not panic, because
// a step must not: it gives [Max] for a positive a, [Min] for a negative one and 0
// for 0.
func (a Num) Div(b Num) Num {
	if b == 0 {
		if a == 0 {
			return 0
		}
		return limit(a < 0)
	}
	negative := a^b < 0
	n, d := magnitude(a), magnitude(b)
	hi, lo := n>>(64-FractionBits), n<<FractionBits
	if hi >= d {
		return limit(negative)
	}
	quotient, remainder := bits.Div64(hi, lo, d)
	if remainder >= d-remainder { // twice the remainder would overflow
		quotient++
		if quotient == 0 {
			return limit(negative)
		}
	}
	return signed(quotient, negative)
}

// Sqrt returns the largest Num whose square is at most a, and 0 for a negative a.
func (a Num) Sqrt() Num {
	if a <= 0 {
		return 0
	}
	// The root of a·2^16 (units of 2^-16 under the root) has at most 40 bits; each
	// turn decides one of them, the highest first.
	hi, lo := uint64(a)>>(64-FractionBits), uint64(a)<<FractionBits
	root := uint64(0)
	for bit := uint64(1) << ((bits.Len64(uint64(a)) + FractionBits - 1) / 2); bit != 0; bit >>= 1 {
		try := root | bit
		h, l := bits.Mul64(try, try)
		if h < hi || h == hi && l <= lo {
			root = try
		}
	}
	return Num(root)
}

// Clamp returns a if it is from low to high, and otherwise the nearer of the two.
// If low is above high it returns low.
func (a Num) Clamp(low, high Num) Num { return max(min(a, high), low) }

// Lerp returns the number t of the way from a to b: a at t = 0, b at t = [One].
// t is not clamped. Each operation saturates, the distance b−a first: where that
// does not fit a Num, t = One stops short of b.
func (a Num) Lerp(b, t Num) Num { return a.Add(b.Sub(a).Mul(t)) }

// Floor returns the largest integer that is at most a. It fits an int unless int
// has 32 bits, and then saturates.
func (a Num) Floor() int { return narrow(int64(a >> FractionBits)) }

// Round returns the nearest integer. It fits an int unless int has 32 bits, and
// then saturates.
func (a Num) Round() int {
	n := int64((magnitude(a) + 1<<(FractionBits-1)) >> FractionBits)
	if a < 0 {
		n = -n
	}
	return narrow(n)
}

// Float64 returns a as a float, exactly if a is within ±2^37, for drawing. A float
// must not find its way back into a simulation, which is why there is no FromFloat.
func (a Num) Float64() float64 { return float64(a) / (1 << FractionBits) }

// String returns a in decimal, exactly: "-1.5", "0.0000152587890625".
func (a Num) String() string {
	var text [40]byte
	at := len(text)
	digits := 0
	// One unit is 5^16/10^16: the fraction always ends after sixteen digits.
	fraction := (magnitude(a) & (1<<FractionBits - 1)) * 152587890625
	for range FractionBits {
		if d := fraction % 10; d != 0 || digits > 0 {
			at--
			text[at] = byte('0' + d)
			digits++
		}
		fraction /= 10
	}
	if digits > 0 {
		at--
		text[at] = '.'
	}
	whole := magnitude(a) >> FractionBits
	for {
		at--
		text[at] = byte('0' + whole%10)
		whole /= 10
		if whole == 0 {
			break
		}
	}
	if a < 0 {
		at--
		text[at] = '-'
	}
	return string(text[at:])
}

// magnitude returns |a|, that of Min included.
func magnitude(a Num) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// signed puts a magnitude and a sign together, saturated.
func signed(m uint64, negative bool) Num {
	if negative {
		if m >= 1<<63 {
			return Min
		}
		return -Num(m)
	}
	return Num(min(m, math.MaxInt64))
}

func limit(negative bool) Num {
	if negative {
		return Min
	}
	return Max
}

func narrow(n int64) int { return int(max(min(n, math.MaxInt), math.MinInt)) }
