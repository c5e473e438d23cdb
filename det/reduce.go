package det

import (
	"math"
	"math/bits"
)

// reduce returns the multiple of π/2 that is nearest to a finite x, of which the
// lowest two bits count, and x less that multiple, as r and what r lacks. r is within
// π/4 and a hair, and r+lo is within 2^-64 of it, relatively.
func reduce(x float64) (quarter int, r, lo float64) {
	size := math.Abs(x)
	switch {
	case size <= math.Pi/4:
		return 0, x, 0
	case size >= 0x1p20:
		return reduceLarge(x)
	}
	t := float64(x*twoOverPi) + shift
	n := t - shift
	// n has 20 bits and the parts of π/2 have 33, so that the products are exact; and so
	// is the first difference, for its operands nearly cancel. The closest that x comes
	// to a multiple leaves more than 60 bits of the last part.
	a := x - float64(n*halfPi1)
	b, bLow := difference(a, float64(n*halfPi2))
	c, cLow := difference(b, float64(n*halfPi3))
	low := (bLow + cLow) - float64(n*halfPi4)
	r = c + low
	return int(int32(math.Float64bits(t))), r, (c - r) + low
}

// difference returns a−b rounded, and what that lacks.
func difference(a, b float64) (d, low float64) {
	d = a - b
	back := d - a
	return d, (a - (d - back)) - (b + back)
}

// reduceLarge multiplies by 2/π in integers: as many bits of it as matter modulo 4
// and for 2^-120, from where the exponent of x says.
func reduceLarge(x float64) (quarter int, r, lo float64) {
	b := math.Float64bits(x)
	mantissa := b&(1<<52-1) | 1<<52
	// x is mantissa·2^e. Bits of 2/π above 2^(1−e) make multiples of 4.
	e := int(b>>52&0x7ff) - 1075
	at, left := uint(62+e)/64, uint(62+e)%64
	word := func(i uint) uint64 {
		return twoOverPiWords[at+i]<<left | twoOverPiWords[at+i+1]>>1>>(63-left)
	}
	above, f0 := bits.Mul64(mantissa, word(2))
	top, f1 := bits.Mul64(mantissa, word(1))
	f1, carry := bits.Add64(f1, above, 0)
	f2 := mantissa*word(0) + top + carry

	// Two bits before the point: the quarter. Above a half the next one is nearer.
	quarter = int(f2 >> 62)
	f2, f1, f0 = f2<<2|f1>>62, f1<<2|f0>>62, f0<<2
	negative := f2>>63 != 0
	if negative {
		quarter++
		var borrow uint64
		f0, borrow = bits.Sub64(0, f0, 0)
		f1, borrow = bits.Sub64(0, f1, borrow)
		f2, _ = bits.Sub64(0, f2, borrow)
	}
	zeros := 0
	if f2 == 0 { // no float64 comes so close, but a shift must not be by 64
		f2, f1, f0, zeros = f1, f0, 0, 64
	}
	z := bits.LeadingZeros64(f2)
	f2, f1 = f2<<z|f1>>1>>(63-z), f1<<z|f0>>1>>(63-z)
	zeros += z

	// Times π/2, the upper 128 bits.
	hi, mid := bits.Mul64(f2, halfPiWords[0])
	p, _ := bits.Mul64(f2, halfPiWords[1])
	q, _ := bits.Mul64(f1, halfPiWords[0])
	mid, c1 := bits.Add64(mid, p, 0)
	mid, c2 := bits.Add64(mid, q, 0)
	hi += c1 + c2
	large := float64(float64(int64(hi>>11)) * power(-52-zeros))
	small := float64(float64(int64(hi<<53>>1|mid>>12)) * power(-115-zeros))
	r = large + small
	lo = (large - r) + small
	if negative != (x < 0) {
		r, lo = -r, -lo
	}
	if x < 0 {
		quarter = -quarter
	}
	return quarter, r, lo
}
