package fixed

import "math"

// Q16 is a fixed-point number in the format Q16.16: half the size of a [Num] with
// the same steps, 2^-16, and a reach of ±32,768. Methods round and saturate as those of
// Num do; + and − wrap around, and so does [Q16.MulWrap].
type Q16 int32

const (
	// OneQ16 is the number 1.
	OneQ16 Q16 = 1 << 16
	// MaxQ16 is the largest Q16, just below 32,768.
	MaxQ16 Q16 = math.MaxInt32
	// MinQ16 is the smallest, −32,768.
	MinQ16 Q16 = math.MinInt32
)

// Q16FromInt returns n as a Q16, saturated.
func Q16FromInt(n int) Q16 { return FromInt(n).Q16() }

// Q16FromRatio returns num/den rounded and saturated, as [FromRatio] does.
func Q16FromRatio(num, den int64) Q16 { return FromRatio(num, den).Q16() }

// Q16 returns a in the format Q16.16, saturated.
func (a Num) Q16() Q16 { return Q16(max(min(a, math.MaxInt32), math.MinInt32)) }

// Num returns a as a Num, exactly.
func (a Q16) Num() Num { return Num(a) }

// Add returns a+b, saturated.
func (a Q16) Add(b Q16) Q16 { return (Num(a) + Num(b)).Q16() }

// Sub returns a−b, saturated.
func (a Q16) Sub(b Q16) Q16 { return (Num(a) - Num(b)).Q16() }

// Neg returns −a; the negative of [MinQ16] is [MaxQ16].
func (a Q16) Neg() Q16 { return (-Num(a)).Q16() }

// Abs returns a without its sign; that of [MinQ16] is [MaxQ16].
func (a Q16) Abs() Q16 { return Num(a).Abs().Q16() }

// Mul returns a·b, rounded and saturated.
func (a Q16) Mul(b Q16) Q16 { return Num(a).Mul(Num(b)).Q16() }

// MulWrap returns a·b rounded, of which it keeps the 32 lowest bits.
func (a Q16) MulWrap(b Q16) Q16 { return Q16(Num(a).Mul(Num(b))) }

// Div returns a/b, rounded and saturated. Division by zero gives [MaxQ16] for a
// positive a, [MinQ16] for a negative one and 0 for 0.
func (a Q16) Div(b Q16) Q16 { return Num(a).Div(Num(b)).Q16() }

// Sqrt returns the largest Q16 whose square is at most a, and 0 for a negative a.
func (a Q16) Sqrt() Q16 { return Q16(Num(a).Sqrt()) }

// Lerp returns the number t of the way from a to b, as [Num.Lerp] does.
func (a Q16) Lerp(b, t Q16) Q16 { return a.Add(b.Sub(a).Mul(t)) }

// Float64 returns a as a float, exactly, for drawing.
func (a Q16) Float64() float64 { return float64(a) / (1 << 16) }

// Sin returns the sine of a turns, correctly rounded.
func (a Q16) Sin() Q16 { return Q16(Sin(Num(a))) }

// Cos returns the cosine of a turns, correctly rounded.
func (a Q16) Cos() Q16 { return Q16(Cos(Num(a))) }

// Atan2 returns the angle in turns of the direction (x, y), where a is y, as [Atan2]
// does.
func (a Q16) Atan2(x Q16) Q16 { return Q16(Atan2(Num(a), Num(x))) }

func (a Q16) fraction() uint { return 16 }

func (a Q16) saturated(m uint64, negative bool) Q16 { return signed(m, negative).Q16() }

// String returns a in decimal, exactly, as [Num.String] does.
func (a Q16) String() string { return Num(a).String() }
