package fixed

import (
	"math"
	"math/bits"
	"strconv"
)

// Q32 is a fixed-point number in the format Q32.32: 32 bits before the point, the
// sign included, and 32 after. It reaches to ±2^31 in steps of 2^-32. Methods round
// and saturate as those of [Num] do; + and − wrap around, and so does [Q32.MulWrap].
type Q32 int64

const (
	// OneQ32 is the number 1.
	OneQ32 Q32 = 1 << 32
	// MaxQ32 is the largest Q32, just below 2^31.
	MaxQ32 Q32 = math.MaxInt64
	// MinQ32 is the smallest, −2^31.
	MinQ32 Q32 = math.MinInt64
)

// Q32FromInt returns n as a Q32, saturated.
func Q32FromInt(n int) Q32 {
	return Q32(max(min(int64(n), math.MaxInt32+1), math.MinInt32)).shifted(32)
}

// shifted is a·2^n, saturated.
func (a Q32) shifted(n int) Q32 {
	if wide := a << n; wide>>n == a {
		return wide
	}
	return Q32(limit(a < 0))
}

// Q32FromRatio returns num/den rounded and saturated. With den 0 it is what [Q32.Div]
// gives for a division by zero.
func Q32FromRatio(num, den int64) Q32 { return Q32(num).Div(Q32(den)) }

// Q32 returns a in the format Q32.32, saturated.
func (a Num) Q32() Q32 { return Q32(a).shifted(16) }

// Num returns a rounded to a Num.
func (a Q32) Num() Num { return signed((magnitude(Num(a))+1<<15)>>16, a < 0) }

// Add returns a+b, saturated.
func (a Q32) Add(b Q32) Q32 { return Q32(Num(a).Add(Num(b))) }

// Sub returns a−b, saturated.
func (a Q32) Sub(b Q32) Q32 { return Q32(Num(a).Sub(Num(b))) }

// Neg returns −a; the negative of [MinQ32] is [MaxQ32].
func (a Q32) Neg() Q32 { return Q32(Num(a).Neg()) }

// Abs returns a without its sign; that of [MinQ32] is [MaxQ32].
func (a Q32) Abs() Q32 { return Q32(Num(a).Abs()) }

// Mul returns a·b, rounded and saturated.
func (a Q32) Mul(b Q32) Q32 {
	hi, lo := bits.Mul64(magnitude(Num(a)), magnitude(Num(b)))
	return a.saturated(rescale(hi, lo, 32), a^b < 0)
}

// MulWrap returns a·b rounded, of which it keeps the 64 lowest bits.
func (a Q32) MulWrap(b Q32) Q32 {
	hi, lo := bits.Mul64(magnitude(Num(a)), magnitude(Num(b)))
	lo, carry := bits.Add64(lo, 1<<31, 0)
	m := Q32((hi+carry)<<32 | lo>>32)
	if a^b < 0 {
		return -m
	}
	return m
}

// Div returns a/b, rounded and saturated. Division by zero gives [MaxQ32] for a
// positive a, [MinQ32] for a negative one and 0 for 0.
func (a Q32) Div(b Q32) Q32 {
	if b == 0 {
		if a == 0 {
			return 0
		}
		return Q32(limit(a < 0))
	}
	n, d := magnitude(Num(a)), magnitude(Num(b))
	if n>>32 >= d {
		return Q32(limit(a^b < 0))
	}
	quotient, remainder := bits.Div64(n>>32, n<<32, d)
	if remainder >= d-remainder {
		if quotient++; quotient == 0 {
			return Q32(limit(a^b < 0))
		}
	}
	return a.saturated(quotient, a^b < 0)
}

// Sqrt returns the largest Q32 whose square is at most a, and 0 for a negative a.
func (a Q32) Sqrt() Q32 {
	if a <= 0 {
		return 0
	}
	return Q32(root(uint64(a)>>32, uint64(a)<<32))
}

// Lerp returns the number t of the way from a to b, as [Num.Lerp] does.
func (a Q32) Lerp(b, t Q32) Q32 { return a.Add(b.Sub(a).Mul(t)) }

// Float64 returns a as a float, exactly if a is within ±2^21, for drawing.
func (a Q32) Float64() float64 { return float64(a) / (1 << 32) }

// Sin returns the sine of a turns, within 0.51 units of the last place.
func (a Q32) Sin() Q32 {
	angle := uint64(a) & (1<<32 - 1)
	quarter, within := angle>>30, angle&(1<<30-1)
	if quarter&1 == 1 {
		within = 1<<30 - within
	}
	var wide uint64
	if within <= 1<<29 {
		wide = sineFine(radians(within))
	} else {
		wide = cosineFine(radians(1<<30 - within))
	}
	value := Q32((wide + 1<<27) >> 28)
	if quarter >= 2 {
		return -value
	}
	return value
}

// Cos returns the cosine of a turns, within 0.51 units of the last place.
func (a Q32) Cos() Q32 { return (a&(OneQ32-1) + OneQ32/4).Sin() }

// radians turns 2^-32 turns, up to an eighth, to radians times 2^60.
func radians(angle uint64) uint64 {
	const tau61 = 14488038916154245685 // 2π·2^61
	hi, _ := bits.Mul64(angle<<31, tau61)
	return hi
}

// sineFine is sineSeries with what is left out below 2^-60.
func sineFine(x uint64) uint64 {
	square, sum := mulUnit(x, x), uint64(unit)
	for k := uint64(18); k > 0; k -= 2 {
		sum = unit - mulUnit(square, sum)/(k*(k+1))
	}
	return mulUnit(x, sum)
}

// cosineFine is cosineSeries with what is left out below 2^-60.
func cosineFine(x uint64) uint64 {
	square, sum := mulUnit(x, x), uint64(unit)
	for k := uint64(17); k < 18; k -= 2 { // until it wraps around
		sum = unit - mulUnit(square, sum)/(k*(k+1))
	}
	return sum
}

// Atan2 returns the angle in turns of the direction (x, y), where a is y: from −1/2 to
// 1/2, and 0 for (0, 0). It is within 0.51 units of the last place.
func (a Q32) Atan2(x Q32) Q32 {
	if x == 0 && a == 0 {
		return 0
	}
	run, rise, sum := cordic(Num(a), Num(x))
	// What the vector still has is so small an angle that it is its own tangent; 2^60/2π
	// are the turns of a radian.
	const turn = 183493156455125077
	if rise >= 0 {
		rest, _ := bits.Div64(uint64(rise)>>4, uint64(rise)<<60, uint64(run))
		hi, lo := bits.Mul64(rest, turn)
		sum += int64(hi<<4 | lo>>60)
	} else {
		rest, _ := bits.Div64(uint64(-rise)>>4, uint64(-rise)<<60, uint64(run))
		hi, lo := bits.Mul64(rest, turn)
		sum -= int64(hi<<4 | lo>>60)
	}
	angle := Q32((sum + 1<<27) >> 28)
	if x < 0 {
		angle = OneQ32/2 - angle
	}
	if a < 0 {
		angle = -angle
	}
	return angle
}

func (a Q32) fraction() uint { return 32 }

func (a Q32) saturated(m uint64, negative bool) Q32 { return Q32(signed(m, negative)) }

// String returns a in decimal, exactly: "-1.5", "0.00000000023283064365386962890625".
func (a Q32) String() string {
	m := magnitude(Num(a))
	text := make([]byte, 0, 48)
	if a < 0 {
		text = append(text, '-')
	}
	text = strconv.AppendUint(text, m>>32, 10)
	// Every digit takes a factor of two from the denominator: they end after 32.
	for fraction, first := m&(1<<32-1), true; fraction != 0; first = false {
		if first {
			text = append(text, '.')
		}
		fraction *= 10
		text = append(text, byte('0'+fraction>>32))
		fraction &= 1<<32 - 1
	}
	return string(text)
}
