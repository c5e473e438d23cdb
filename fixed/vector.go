package fixed

import (
	"math"
	"math/bits"
)

// Scalar is what vectors are made of: [Num], [Q32] or [Q16].
type Scalar[T any] interface {
	Num | Q32 | Q16
	Add(T) T
	Sub(T) T
	Mul(T) T
	Div(T) T
	Lerp(b, t T) T

	fraction() uint
	saturated(m uint64, negative bool) T
}

// Vec2 is a vector in the plane. All it does saturates, part by part.
type Vec2[T Scalar[T]] struct{ X, Y T }

// Add returns a+b.
func (a Vec2[T]) Add(b Vec2[T]) Vec2[T] { return Vec2[T]{a.X.Add(b.X), a.Y.Add(b.Y)} }

// Sub returns a−b.
func (a Vec2[T]) Sub(b Vec2[T]) Vec2[T] { return Vec2[T]{a.X.Sub(b.X), a.Y.Sub(b.Y)} }

// Scale returns s·a.
func (a Vec2[T]) Scale(s T) Vec2[T] { return Vec2[T]{a.X.Mul(s), a.Y.Mul(s)} }

// Lerp returns the number t of the way from a to b.
func (a Vec2[T]) Lerp(b Vec2[T], t T) Vec2[T] {
	return Vec2[T]{a.X.Lerp(b.X, t), a.Y.Lerp(b.Y, t)}
}

// Dot returns a·b: the exact sum of the products, rounded once and saturated.
func (a Vec2[T]) Dot(b Vec2[T]) T { return products(a.X, b.X, a.Y, b.Y, 0, 0, 1) }

// Cross returns a.X·b.Y − a.Y·b.X, rounded once and saturated.
func (a Vec2[T]) Cross(b Vec2[T]) T { return products(a.X, b.Y, a.Y, b.X, 0, 0, -1) }

// Length returns the largest number that is at most the length, saturated. No square
// overflows on the way.
func (a Vec2[T]) Length() T { return length(a.X, a.Y, 0) }

// Unit returns a divided by its length, and 0 for 0.
func (a Vec2[T]) Unit() Vec2[T] {
	l := a.Length()
	return Vec2[T]{a.X.Div(l), a.Y.Div(l)}
}

// Vec3 is a vector in space. All it does saturates, part by part.
type Vec3[T Scalar[T]] struct{ X, Y, Z T }

// Add returns a+b.
func (a Vec3[T]) Add(b Vec3[T]) Vec3[T] {
	return Vec3[T]{a.X.Add(b.X), a.Y.Add(b.Y), a.Z.Add(b.Z)}
}

// Sub returns a−b.
func (a Vec3[T]) Sub(b Vec3[T]) Vec3[T] {
	return Vec3[T]{a.X.Sub(b.X), a.Y.Sub(b.Y), a.Z.Sub(b.Z)}
}

// Scale returns s·a.
func (a Vec3[T]) Scale(s T) Vec3[T] { return Vec3[T]{a.X.Mul(s), a.Y.Mul(s), a.Z.Mul(s)} }

// Lerp returns the number t of the way from a to b.
func (a Vec3[T]) Lerp(b Vec3[T], t T) Vec3[T] {
	return Vec3[T]{a.X.Lerp(b.X, t), a.Y.Lerp(b.Y, t), a.Z.Lerp(b.Z, t)}
}

// Dot returns a·b: the exact sum of the products, rounded once and saturated.
func (a Vec3[T]) Dot(b Vec3[T]) T { return products(a.X, b.X, a.Y, b.Y, a.Z, b.Z, 1) }

// Cross returns the vector product, each part rounded once and saturated.
func (a Vec3[T]) Cross(b Vec3[T]) Vec3[T] {
	return Vec3[T]{
		products(a.Y, b.Z, a.Z, b.Y, 0, 0, -1),
		products(a.Z, b.X, a.X, b.Z, 0, 0, -1),
		products(a.X, b.Y, a.Y, b.X, 0, 0, -1),
	}
}

// Length returns the largest number that is at most the length, saturated. No square
// overflows on the way.
func (a Vec3[T]) Length() T { return length(a.X, a.Y, a.Z) }

// Unit returns a divided by its length, and 0 for 0.
func (a Vec3[T]) Unit() Vec3[T] {
	l := a.Length()
	return Vec3[T]{a.X.Div(l), a.Y.Div(l), a.Z.Div(l)}
}

// products is ab + sign·cd + ef, rounded once and saturated. What is positive and
// what is negative are summed apart: each is below 2^128.
func products[T Scalar[T]](a, b, c, d, e, f T, sign int) T {
	var hi, lo [2]uint64
	add := func(x, y T, negative bool) {
		h, l := bits.Mul64(magnitude(Num(x)), magnitude(Num(y)))
		side := 0
		if (x^y < 0) != negative {
			side = 1
		}
		var carry uint64
		lo[side], carry = bits.Add64(lo[side], l, 0)
		hi[side], _ = bits.Add64(hi[side], h, carry)
	}
	add(a, b, false)
	add(c, d, sign < 0)
	add(e, f, false)
	negative := hi[0] < hi[1] || hi[0] == hi[1] && lo[0] < lo[1]
	if negative {
		hi[0], hi[1], lo[0], lo[1] = hi[1], hi[0], lo[1], lo[0]
	}
	l, borrow := bits.Sub64(lo[0], lo[1], 0)
	h, _ := bits.Sub64(hi[0], hi[1], borrow)
	return a.saturated(rescale(h, l, a.fraction()), negative)
}

// length is √(x²+y²+z²), which needs no scaling: the root of squares has the units
// that they have.
func length[T Scalar[T]](x, y, z T) T {
	var hi, lo uint64
	for _, part := range [...]T{x, y, z} {
		h, l := bits.Mul64(magnitude(Num(part)), magnitude(Num(part)))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, carry)
	}
	return x.saturated(root(hi, lo), false)
}

// rescale is (hi:lo)/2^shift rounded, or the largest uint64 if that does not fit. hi is
// below 2^64−1.
func rescale(hi, lo uint64, shift uint) uint64 {
	lo, carry := bits.Add64(lo, 1<<(shift-1), 0)
	hi += carry
	if hi>>shift != 0 {
		return math.MaxUint64
	}
	return hi<<(64-shift) | lo>>shift
}

// root is the largest number whose square is at most hi:lo.
func root(hi, lo uint64) uint64 {
	width := 64 + bits.Len64(hi)
	if hi == 0 {
		width = bits.Len64(lo)
	}
	r := uint64(0)
	for bit := uint64(1) << (max(width-1, 0) / 2); bit != 0; bit >>= 1 {
		try := r | bit
		if h, l := bits.Mul64(try, try); h < hi || h == hi && l <= lo {
			r = try
		}
	}
	return r
}

func (a Num) fraction() uint { return FractionBits }

func (a Num) saturated(m uint64, negative bool) Num { return signed(m, negative) }
