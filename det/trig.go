package det

import "math"

// Sin returns the sine of x radians, with an error below 0.9 ulp for every finite x.
// Of ±Inf and NaN it is NaN.
func Sin(x float64) float64 {
	if x == 0 {
		return x
	}
	if !finite(x) {
		return nan()
	}
	quarter, r, lo := reduce(x)
	var y float64
	if quarter&1 == 0 {
		y, _ = sine(r, lo)
	} else {
		y, _ = cosine(r, lo)
	}
	if quarter&2 != 0 {
		return -y
	}
	return y
}

// Cos returns the cosine of x radians, with an error below 0.9 ulp for every finite x.
// Of ±Inf and NaN it is NaN.
func Cos(x float64) float64 {
	if !finite(x) {
		return nan()
	}
	quarter, r, lo := reduce(x)
	var y float64
	if quarter&1 == 0 {
		y, _ = cosine(r, lo)
	} else {
		y, _ = sine(r, lo)
	}
	if (quarter+1)&2 != 0 {
		return -y
	}
	return y
}

// SinCos returns Sin(x) and Cos(x).
func SinCos(x float64) (sin, cos float64) {
	if x == 0 {
		return x, 1
	}
	if !finite(x) {
		return nan(), nan()
	}
	quarter, r, lo := reduce(x)
	sin, _ = sine(r, lo)
	cos, _ = cosine(r, lo)
	if quarter&1 != 0 {
		sin, cos = cos, sin
	}
	if quarter&2 != 0 {
		sin = -sin
	}
	if (quarter+1)&2 != 0 {
		cos = -cos
	}
	return sin, cos
}

// Tan returns the tangent of x radians, with an error below 1.1 ulp for every finite
// x. Of ±Inf and NaN it is NaN.
func Tan(x float64) float64 {
	if x == 0 {
		return x
	}
	if !finite(x) {
		return nan()
	}
	quarter, r, lo := reduce(x)
	up, upLow := sine(r, lo)
	along, alongLow := cosine(r, lo)
	if quarter&1 != 0 {
		up, upLow, along, alongLow = along, alongLow, -up, -upLow
	}
	// The quotient, and what it lacks, which goes by what the operands lack too.
	inverse := 1 / along
	y := float64(up * inverse)
	rest := math.FMA(-y, along, up) + (upLow - float64(y*alongLow))
	return y + float64(rest*inverse)
}

func finite(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }

// sine is sin(r+lo) for r within π/4, and what that lacks.
func sine(r, lo float64) (hi, low float64) {
	z := float64(r * r)
	p := float64(z*sine5) + sine4
	p = float64(z*p) + sine3
	p = float64(z*p) + sine2
	p = float64(z*p) + sine1
	p = float64(z*p) + sine0
	// lo counts times the cosine, of which 1 − z/2 is enough.
	more := float64(r*float64(z*p)) + (lo - float64(float64(z*0.5)*lo))
	hi = r + more
	return hi, (r - hi) + more
}

// cosine is cos(r+lo) for r within π/4, and what that lacks.
func cosine(r, lo float64) (hi, low float64) {
	z := float64(r * r)
	zLow := math.FMA(r, r, -z)
	p := float64(z*cosine5) + cosine4
	p = float64(z*p) + cosine3
	p = float64(z*p) + cosine2
	p = float64(z*p) + cosine1
	p = float64(z*p) + cosine0
	half := float64(z * 0.5)
	most := 1 - half
	more := ((1 - most) - half) + (float64(float64(z*z)*p) - (float64(zLow*0.5) + float64(r*lo)))
	hi = most + more
	return hi, (most - hi) + more
}
