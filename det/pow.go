package det

import "math"

// Pow returns x^y, with an error below 0.52 ulp, and 0.77 where the result is
// subnormal. The special values, of which the first that fits holds, are those of
// math.Pow:
//
//	Pow(x, ±0) = 1 and Pow(1, y) = 1, of NaN too
//	Pow(x, NaN) = NaN and Pow(NaN, y) = NaN
//	Pow(±0, y) = ±Inf for odd integers y below 0, +Inf for all else below 0
//	Pow(±0, y) = ±0 for odd integers y above 0, +0 for all else above 0
//	Pow(−1, ±Inf) = 1
//	Pow(x, +Inf) = +Inf and Pow(x, −Inf) = +0 for |x| > 1
//	Pow(x, +Inf) = +0 and Pow(x, −Inf) = +Inf for |x| < 1
//	Pow(+Inf, y) = +Inf for y > 0, and +0 for y < 0
//	Pow(−Inf, y) = Pow(−0, −y)
//	Pow(x, y) = NaN for finite x < 0 and finite y that is no integer
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case x != x || y != y:
		return nan()
	case x == 0 || !finite(x) || !finite(y):
		return powSpecial(x, y)
	}
	negative := false
	if x < 0 {
		whole, odd := integer(y)
		if !whole {
			return nan()
		}
		negative, x = odd, -x
	}
	hi, lo := logarithm(x)
	exponent := float64(y * hi)
	var size float64
	switch {
	case exponent > 710:
		size = math.Inf(1)
	case exponent < -746:
		size = 0
	default:
		size = exponential(exponent, math.FMA(y, hi, -exponent)+float64(y*lo))
	}
	if negative {
		return -size
	}
	return size
}

// powSpecial is Pow where x is 0 or either is infinite, neither is NaN, x is not 1
// and y is not 0.
func powSpecial(x, y float64) float64 {
	large := y > 0 // whether the result is infinite and not 0
	if !finite(y) {
		switch size := math.Abs(x); {
		case size == 1:
			return 1
		case size < 1:
			large = !large
		}
	} else if x == 0 {
		large = !large
	}
	result := 0.0
	if large {
		result = math.Inf(1)
	}
	if _, odd := integer(y); odd && math.Signbit(x) {
		return -result
	}
	return result
}

// integer says whether y is an integer, and an odd one. Infinities are even.
func integer(y float64) (whole, odd bool) {
	y = math.Abs(y)
	if y >= 0x1p53 {
		return true, false
	}
	n := int64(y)
	return float64(n) == y, float64(n) == y && n&1 == 1
}
