package det

import "math"

// Log returns the natural logarithm of x, with an error below 0.51 ulp. Of ±0 it is
// −Inf, of +Inf +Inf, of negative numbers and NaN it is NaN.
func Log(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(-1)
	case !(x > 0):
		return nan()
	case x > math.MaxFloat64:
		return x
	}
	k, i, r, rLow := split(x)
	entry := &logTable[i]
	// Exact: neither part has a bit below 2^-42. And it is larger than r, or 0.
	known := float64(k*ln2Hi) + entry.hi
	most := known + r
	low := ((known - most) + r) + ((float64(k*ln2Lo) + entry.lo) + rLow)
	z := float64(r * r)
	return most + (low + (float64(float64(z*r)*logSeries(r)) - float64(z*0.5)))
}

// logarithm is the logarithm of a positive finite x, and what that lacks: together
// they are good to 2^-67, relatively.
func logarithm(x float64) (hi, lo float64) {
	k, i, r, rLow := split(x)
	entry := &logTable[i]
	known := float64(k*ln2Hi) + entry.hi
	most := known + r
	low := (known - most) + r
	z := float64(r * r)
	zLow := math.FMA(r, r, -z) + float64(float64(r*rLow)*2)
	half := float64(z * 0.5)
	most, low = most-half, low+((most-(most-half))-half)
	low += (float64(float64(z*r)*logSeries(r)) - float64(zLow*0.5)) + ((float64(k*ln2Lo) + entry.lo) + rLow)
	hi = most + low
	return hi, (most - hi) + low
}

// logSeries is (log(1+r) − r + r²/2)/r³.
func logSeries(r float64) float64 {
	p := float64(r*log6) + log5
	p = float64(r*p) + log4
	p = float64(r*p) + log3
	p = float64(r*p) + log2
	p = float64(r*p) + log1
	return float64(r*p) + log0
}

// split takes a positive finite x apart into 2^k (1+r+rLow)/c, exactly, with the c
// of the i-th entry of logTable.
func split(x float64) (k float64, i int, r, rLow float64) {
	b := math.Float64bits(x)
	exponent := -1023
	if b < 1<<52 { // subnormal
		b = math.Float64bits(float64(x * 0x1p54))
		exponent -= 54
	}
	exponent += int(b >> 52)
	i = int(b >> 45 & 127)
	b = b&(1<<52-1) | 1023<<52
	if i >= logTurn {
		exponent++
		b -= 1 << 52
	}
	// c has ten bits: both products are exact, and the sum is all but one bit or two.
	c := logTable[i].c
	high := math.Float64frombits(b &^ (1<<21 - 1))
	over := float64(high*c) - 1
	under := float64((math.Float64frombits(b) - high) * c)
	r = over + under
	return float64(exponent), i, r, (over - r) + under
}
