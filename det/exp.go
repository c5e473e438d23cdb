package det

import "math"

// Exp returns e^x, with an error below 0.52 ulp, and 0.77 where the result is
// subnormal. Beyond 709.78 it is +Inf, below −745.13 it is 0, of NaN it is NaN.
func Exp(x float64) float64 {
	switch {
	case x != x:
		return nan()
	case x > 710:
		return math.Inf(1)
	case x < -746:
		return 0
	}
	return exponential(x, 0)
}

// exponential is e^(x+lo) for x from −746 to 710.
func exponential(x, lo float64) float64 {
	t := float64(x*expPerStep) + shift
	n := t - shift
	// n has at most 17 bits and expStepHi 36, so that this is exact.
	near := x - float64(n*expStepHi)
	rest := lo - float64(n*expStepLo)
	r := near + rest
	p := float64(r*exp4) + exp3
	p = float64(r*p) + exp2
	p = float64(r*p) + exp1
	p = float64(r*p) + exp0
	p = float64(float64(r*r)*p) + ((near - r) + rest)
	step := int(int32(math.Float64bits(t)))
	root := &expTable[step&63]
	return scale(root.hi+(root.lo+float64(root.hi*(r+p))), step>>6)
}
