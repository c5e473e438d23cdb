package det

import "math"

// Cbrt returns the cube root of x, with an error below 0.51 ulp. Of ±0, ±Inf and NaN
// it is the same.
func Cbrt(x float64) float64 {
	switch {
	case x != x:
		return nan()
	case x == 0 || !finite(x):
		return x
	}
	b := math.Float64bits(math.Abs(x))
	exponent := -1023
	if b < 1<<52 { // subnormal
		b = math.Float64bits(float64(math.Abs(x) * 0x1p54))
		exponent -= 54
	}
	exponent += int(b >> 52)
	third := (exponent+3*400)/3 - 400
	over := exponent - 3*third
	f := math.Float64frombits(b&(1<<52-1) | 1023<<52)
	m := float64(f * power(over)) // from 1 to 8; the root is that of m, times 2^third

	// An inverse root r by a polynomial, good to 14 bits, to 42 and to 52: with h = 1 − mr³
	// it is r(1−h)^(-1/3).
	r := float64(f*cbrt4) + cbrt3
	r = float64(f*r) + cbrt2
	r = float64(f*r) + cbrt1
	r = float64(f*r) + cbrt0
	r = float64(r * cbrtTable[over])
	h := 1 - float64(float64(m*r)*float64(r*r))
	r += float64(float64(r*h) * (1.0/3 + float64(h*(2.0/9))))
	h = 1 - float64(float64(m*r)*float64(r*r))
	r += float64(float64(r*h) * (1.0 / 3))

	// Now m·r² is the root but for its last bits, which its exact cube tells.
	square := float64(r * r)
	t := float64(m * square)
	p := float64(t * t)
	cube := float64(p * t)
	rest := ((m - cube) - math.FMA(p, t, -cube)) - float64(math.FMA(t, t, -p)*t)
	t += float64(float64(rest*square) * (1.0 / 3))
	return math.Copysign(float64(t*power(third)), x)
}

// Hypot returns √(x²+y²), with an error below 0.51 ulp, and 0.76 where the result is
// subnormal; no square overflows or is lost. If either is infinite it is +Inf, else of NaN it is
// NaN.
func Hypot(x, y float64) float64 {
	a, b := math.Abs(x), math.Abs(y)
	switch {
	case a > math.MaxFloat64 || b > math.MaxFloat64:
		return math.Inf(1)
	case a != a || b != b:
		return nan()
	}
	if a < b {
		a, b = b, a
	}
	if b <= float64(a*tiny) {
		return a
	}
	back := 1.0
	switch {
	case a > 0x1p500:
		a, b, back = float64(a*0x1p-600), float64(b*0x1p-600), 0x1p600
	case b < 0x1p-400:
		a, b, back = float64(a*0x1p600), float64(b*0x1p600), 0x1p-600
	}
	aa, bb := float64(a*a), float64(b*b)
	h := aa + bb
	low := ((aa - h) + bb) + (math.FMA(a, a, -aa) + math.FMA(b, b, -bb))
	root := math.Sqrt(h)
	root += (math.FMA(-root, root, h) + low) / float64(root*2)
	return float64(root * back)
}
