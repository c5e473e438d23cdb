// Package bigmath has the elementary functions to more than two hundred bits.
//
// It is what coefficients are computed from and what the tests of packages det
// and fixed compare with. It owns references and refuses to own speed: nothing
// but tests and generators imports it. All functions return new values and leave
// their arguments alone; any goroutine may call them. Arguments are finite.
package bigmath

import (
	"math"
	"math/big"
	"sync"
)

// Precision is that of every result, in bits. A few of the last may be wrong.
const Precision = 320

// wide is the precision that reduces the largest float64 and leaves Precision.
const wide = 1024 + 2*Precision

// New returns an exact copy of x.
func New(x float64) *big.Float { return num().SetFloat64(x) }

// Ratio returns a/b.
func Ratio(a, b int64) *big.Float {
	return num().Quo(num().SetInt64(a), num().SetInt64(b))
}

func num() *big.Float { return new(big.Float).SetPrec(Precision) }

// Pi returns π, to more than [Precision].
func Pi() *big.Float { return new(big.Float).Copy(pi()) }

// Ln2 returns the natural logarithm of 2.
func Ln2() *big.Float { return num().Set(ln2()) }

// pi is 16 atan(1/5) − 4 atan(1/239), after Machin.
var pi = sync.OnceValue(func() *big.Float {
	scale := new(big.Int).Lsh(big.NewInt(1), wide+64)
	sum := inverseArc(scale, 5)
	sum.Mul(sum, big.NewInt(4)).Sub(sum, inverseArc(scale, 239)).Mul(sum, big.NewInt(4))
	f := new(big.Float).SetPrec(wide).SetInt(sum)
	return f.SetMantExp(f, -(wide + 64))
})

// inverseArc is atan(1/n) times scale.
func inverseArc(scale *big.Int, n int64) *big.Int {
	power := new(big.Int).Quo(scale, big.NewInt(n))
	sum, square := new(big.Int), big.NewInt(n*n)
	for k := int64(1); power.Sign() != 0; k += 4 {
		sum.Add(sum, new(big.Int).Quo(power, big.NewInt(k)))
		power.Quo(power, square)
		sum.Sub(sum, new(big.Int).Quo(power, big.NewInt(k+2)))
		power.Quo(power, square)
	}
	return sum
}

// ln2 is the sum of 1/(k·2^k).
var ln2 = sync.OnceValue(func() *big.Float {
	scale := new(big.Int).Lsh(big.NewInt(1), wide)
	sum := new(big.Int)
	for k := int64(1); scale.Sign() != 0; k++ {
		scale.Rsh(scale, 1)
		sum.Add(sum, new(big.Int).Quo(scale, big.NewInt(k)))
	}
	f := new(big.Float).SetPrec(wide).SetInt(sum)
	return f.SetMantExp(f, -wide)
})

// nearest is the integer nearest to x.
func nearest(x *big.Float) *big.Int {
	half := new(big.Float).SetFloat64(0.5)
	if x.Sign() < 0 {
		half.Neg(half)
	}
	n, _ := new(big.Float).SetPrec(wide).Add(x, half).Int(nil)
	return n
}

// SinCos returns the sine and the cosine of x radians.
func SinCos(x *big.Float) (sin, cos *big.Float) {
	right := new(big.Float).SetPrec(wide).SetMantExp(pi(), -1)
	n := nearest(new(big.Float).SetPrec(wide).Quo(x, right))
	rest := new(big.Float).SetPrec(wide).SetInt(n)
	rest.Sub(x, rest.Mul(rest, right))
	r := num().Set(rest)
	square := num().Mul(r, r)
	sin, cos = alternating(r, square, 1), alternating(New(1), square, 0)
	switch new(big.Int).And(n, big.NewInt(3)).Int64() {
	case 1:
		sin, cos = cos, sin.Neg(sin)
	case 2:
		sin, cos = sin.Neg(sin), cos.Neg(cos)
	case 3:
		sin, cos = cos.Neg(cos), sin
	}
	return sin, cos
}

// alternating is first·(1 − z/((k+1)(k+2)) + z²/((k+1)…(k+4)) − …).
func alternating(first, z *big.Float, k int64) *big.Float {
	sum, term := num().Set(first), num().Set(first)
	for ; term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-Precision-8; k += 2 {
		term.Mul(term, z).Quo(term, num().SetInt64(-(k+1)*(k+2)))
		sum.Add(sum, term)
	}
	return sum
}

// Tan returns the tangent of x radians.
func Tan(x *big.Float) *big.Float {
	sin, cos := SinCos(x)
	return sin.Quo(sin, cos)
}

// Exp returns e^x for an x that is not beyond a few millions.
func Exp(x *big.Float) *big.Float {
	const halvings = 16
	n := nearest(num().Quo(x, ln2()))
	r := new(big.Float).SetPrec(wide).SetInt(n)
	r.Sub(x, r.Mul(r, ln2()))
	r = num().SetMantExp(num().Set(r), -halvings)
	// e^r − 1, so that the squarings lose nothing: (1+s)² − 1 is s(s+2).
	sum, term := num(), New(1)
	for k := int64(1); ; k++ {
		term.Mul(term, r).Quo(term, num().SetInt64(k))
		sum.Add(sum, term)
		if term.Sign() == 0 || term.MantExp(nil) < sum.MantExp(nil)-Precision-8 {
			break
		}
	}
	for range halvings {
		sum.Mul(sum, num().Add(sum, New(2)))
	}
	sum.Add(sum, New(1))
	return sum.SetMantExp(sum, int(n.Int64()))
}

// Log returns the natural logarithm of a positive x.
func Log(x *big.Float) *big.Float {
	mantissa := num()
	exponent := x.MantExp(mantissa)
	if one, _ := mantissa.Float64(); one < math.Sqrt2/2 {
		mantissa.SetMantExp(mantissa, 1)
		exponent--
	}
	start, _ := num().Sub(mantissa, New(1)).Float64()
	y := New(math.Log1p(start))
	for range 2 { // each trebles the digits, of which a float64 has 50
		e := Exp(y)
		step := num().Sub(mantissa, e)
		y.Add(y, step.Mul(step, New(2)).Quo(step, e.Add(e, mantissa)))
	}
	return y.Add(y, num().Mul(num().SetInt64(int64(exponent)), ln2()))
}

// Atan returns the angle, in radians, whose tangent is x.
func Atan(x *big.Float) *big.Float {
	start, _ := x.Float64()
	if start == 0 || x.Sign() == 0 { // too small for a float64: it is its own tangent
		return num().Set(x)
	}
	y := New(math.Atan(start))
	for range 2 {
		sin, cos := SinCos(y)
		up := num().Mul(x, cos)
		up.Sub(up, sin)
		y.Add(y, up.Quo(up, sin.Mul(sin, x).Add(sin, cos)))
	}
	return y
}

// Atan2 returns the angle, in radians, of the direction (x, y), not both 0.
func Atan2(y, x *big.Float) *big.Float {
	if x.Sign() == 0 {
		right := num().SetMantExp(pi(), -1)
		if y.Sign() < 0 {
			right.Neg(right)
		}
		return right
	}
	angle := Atan(num().Quo(y, x))
	switch {
	case x.Sign() > 0:
		return angle
	case y.Sign() < 0:
		return angle.Sub(angle, pi())
	}
	return angle.Add(angle, pi())
}

// Asin returns the angle, in radians, whose sine is x, from −1 to 1.
func Asin(x *big.Float) *big.Float { return Atan2(x, beside(x)) }

// Acos returns the angle, in radians, whose cosine is x, from −1 to 1.
func Acos(x *big.Float) *big.Float { return Atan2(beside(x), x) }

// beside is √(1−x²).
func beside(x *big.Float) *big.Float {
	w := new(big.Float).SetPrec(wide).Mul(x, x)
	return num().Sqrt(num().Set(w.Sub(New(1), w)))
}

// Pow returns x^y for a positive x, if that is not beyond e to a few millions.
func Pow(x, y *big.Float) *big.Float { return Exp(num().Mul(y, Log(x))) }

// Cbrt returns the cube root of x.
func Cbrt(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return num()
	}
	mantissa := num()
	exponent := x.MantExp(mantissa)
	for exponent%3 != 0 {
		mantissa.SetMantExp(mantissa, 1)
		exponent--
	}
	start, _ := mantissa.Float64()
	t := New(math.Cbrt(start))
	for range 3 {
		square := num().Mul(t, t)
		rest := num().Mul(square, t)
		rest.Sub(mantissa, rest)
		t.Add(t, rest.Quo(rest, square.Mul(square, New(3))))
	}
	return t.SetMantExp(t, exponent/3)
}

// Hypot returns √(x²+y²).
func Hypot(x, y *big.Float) *big.Float {
	a, b := new(big.Float).SetPrec(wide).Mul(x, x), new(big.Float).SetPrec(wide).Mul(y, y)
	return num().Sqrt(num().Set(a.Add(a, b)))
}
