package det

import "math"

// Atan returns the angle, in radians within ±π/2, whose tangent is x, with an error
// below 0.51 ulp. Of ±Inf it is ±π/2, of NaN it is NaN.
func Atan(x float64) float64 {
	size := math.Abs(x)
	switch {
	case x != x:
		return nan()
	case x == 0:
		return x
	case size > 0x1p60:
		return math.Copysign(halfPiHi, x)
	case size > 1:
		s, lo := arc(1, 0, size, 0)
		return math.Copysign(turned(halfPiHi, halfPiLo, -s, -lo), x)
	}
	s, lo := arc(size, 0, 1, 0)
	return math.Copysign(s+lo, x)
}

// Atan2 returns the angle, in radians within ±π, of the direction (x, y), with an
// error below 0.51 ulp, and 1 where the result is subnormal. The special values are
// those of math.Atan2: where y is ±0 the result is ±0 for x = +0 and above, and ±π for x =
// −0 and below; where y is ±Inf and x infinite it is ±π/4 or ±3π/4; where only x is, ±0
// or ±π; of NaN it is NaN.
func Atan2(y, x float64) float64 {
	if x != x || y != y {
		return nan()
	}
	a, b := math.Abs(y), math.Abs(x)
	if a == 0 || b == 0 || a > math.MaxFloat64 || b > math.MaxFloat64 {
		return math.Copysign(axis(a, b, math.Signbit(x)), y)
	}
	steep := a > b
	if steep {
		a, b = b, a
	}
	var s, lo float64
	if a < float64(b*tiny) {
		s = a / b
	} else {
		if b > 0x1p500 {
			a, b = float64(a*0x1p-600), float64(b*0x1p-600)
		} else if b < 0x1p-400 {
			a, b = float64(a*0x1p600), float64(b*0x1p600)
		}
		s, lo = arc(a, 0, b, 0)
	}
	return math.Copysign(octant(s, lo, steep, x < 0), y)
}

// axis is Atan2 for sizes of y and x of which one is 0 or infinite.
func axis(y, x float64, back bool) float64 {
	infinite := y > math.MaxFloat64
	switch {
	case infinite && x > math.MaxFloat64 && back:
		return 3 * math.Pi / 4
	case infinite && x > math.MaxFloat64:
		return math.Pi / 4
	case infinite || x == 0 && y != 0:
		return halfPiHi
	case back:
		return piHi
	}
	return 0
}

// octant turns the angle to the nearest axis into that to the right. The axis is
// the upright one if steep, and otherwise it points back or to the right.
func octant(s, lo float64, steep, back bool) float64 {
	switch {
	case steep && back:
		return turned(halfPiHi, halfPiLo, s, lo)
	case steep:
		return turned(halfPiHi, halfPiLo, -s, -lo)
	case back:
		return turned(piHi, piLo, -s, -lo)
	}
	return s + lo
}

// turned is the sum of two pairs, the first of which is the larger.
func turned(a, aLow, b, bLow float64) float64 {
	sum := a + b
	return sum + (((a - sum) + b) + (aLow + bLow))
}

// Asin returns the angle, in radians within ±π/2, whose sine is x, with an error
// below 0.51 ulp. Beyond ±1, and of NaN, it is NaN.
func Asin(x float64) float64 {
	size := math.Abs(x)
	switch {
	case !(size <= 1):
		return nan()
	case x == 0:
		return x
	case size == 1:
		return math.Copysign(halfPiHi, x)
	}
	other, otherLow := beside(size)
	if size <= other {
		s, lo := arc(size, 0, other, otherLow)
		return math.Copysign(s+lo, x)
	}
	s, lo := arc(other, otherLow, size, 0)
	return math.Copysign(turned(halfPiHi, halfPiLo, -s, -lo), x)
}

// Acos returns the angle, in radians from 0 to π, whose cosine is x, with an error
// below 0.51 ulp. Beyond ±1, and of NaN, it is NaN.
func Acos(x float64) float64 {
	size := math.Abs(x)
	switch {
	case !(size <= 1):
		return nan()
	case x == 1:
		return 0
	case x == -1:
		return piHi
	}
	other, otherLow := beside(size)
	if other < size {
		s, lo := arc(other, otherLow, size, 0)
		return octant(s, lo, false, x < 0)
	}
	s, lo := arc(size, 0, other, otherLow)
	return octant(s, lo, true, x < 0)
}

// beside is √(1−x²) for x from 0 to just below 1, and what that lacks.
func beside(x float64) (root, low float64) {
	square := float64(x * x)
	rest := 1 - square
	restLow := ((1 - rest) - square) - math.FMA(x, x, -square)
	// Next to x = 1 there is more in restLow than rounding.
	both := rest + restLow
	rest, restLow = both, (rest-both)+restLow
	root = math.Sqrt(rest)
	return root, (math.FMA(-root, root, rest) + restLow) / float64(root*2)
}

// arc is atan((a+aLow)/(b+bLow)), and what that lacks, for a from 0 to b and b from
// 2^-450 to 2^500. Unless b is 1, a is at least b·2^-60 or so.
func arc(a, aLow, b, bLow float64) (hi, lo float64) {
	// The angle is that of the nearest 64th, c, and of d = (a−cb)/(b+ca).
	i := int(float64(float64(a/b)*64) + 0.5)
	c := float64(float64(i) * 0x1p-6)
	up := math.FMA(-c, b, a) // exact: it has no more bits than a or b
	upLow := aLow - float64(c*bLow)
	part := float64(c * a)
	along := b + part
	alongLow := ((b - along) + part) + (math.FMA(c, a, -part) + (bLow + float64(c*aLow)))
	inverse := 1 / along
	d := float64(up * inverse)
	dLow := float64((math.FMA(-d, along, up) + (upLow - float64(d*alongLow))) * inverse)

	z := float64(d * d)
	p := float64(z*atan3) + atan2
	p = float64(z*p) + atan1
	p = float64(z*p) + atan0
	entry := &atanTable[i]
	hi = entry.hi + d
	return hi, ((entry.hi - hi) + d) + (entry.lo + (dLow + float64(float64(d*z)*p)))
}
