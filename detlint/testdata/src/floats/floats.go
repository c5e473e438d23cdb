package floats

import (
	"math"

	"github.com/driftback/driftback"
)

type State struct{ X, Y, V float64 }

type in struct{}

type vec struct{ x, y float64 }

func (v vec) times(k float64) vec  { return vec{v.x * k, v.y * k} } // want `fuse: this product` `fuse: this product`
func (v vec) plus(w vec) vec       { return vec{v.x + w.x, v.y + w.y} }
func (v vec) scaled(k float64) vec { return vec{float64(v.x * k), float64(v.y * k)} }

func Step(s *State, _ []in, _ *driftback.Pass) {
	s.X = s.X*s.V + s.Y // want `fuse: this product may be fused with an addition.*: round the product with a conversion`
	s.X += s.V * s.Y    // want `fuse: this product`
	t := s.X * s.Y      // want `fuse: this product`
	s.Y = t - s.V
	s.V *= s.X // want `fuse: this product`
	s.V += 1
	d := half(s.X) + s.Y
	e := vec{s.X, s.Y}.times(2.5).plus(vec{1, 2})
	s.X = d + e.x
	c := complex(s.X, s.Y)
	c = c * c // want `fuse: a complex product`
	_ = c

	s.X = float64(s.X*s.V) + s.Y
	s.X = 2*s.X + 0.5*s.Y - s.V
	s.X = s.X * (s.V + s.Y)
	f := vec{s.X, s.Y}.scaled(2.5).plus(vec{1, 2})
	s.Y = f.x

	s.X = math.Exp(s.Y) // want `math: math.Exp gives other last bits on other architectures: use driftback's package det, or fixed`
	s.X = math.Sqrt(s.Y) + math.Floor(s.V)

	s.Y = even(3, s.X) + 1
	s.Y = deepest(3, s.X)
	convert(s)
}

// even and odd call each other.
func even(n int, x float64) float64 {
	if n == 0 {
		return x * 0.1 // want `fuse: this product`
	}
	return odd(n-1, x)
}

func odd(n int, x float64) float64 { return even(n-1, x) }

// deepest multiplies in a place from which nothing is added to.
func deepest(n int, x float64) float64 { return x * 0.1 }

func half(x float64) float64 { return x * 0.3 } // want `fuse: this product`

func convert(s *State) {
	a := int32(s.X)        // want `floatint: a float that does not fit into int32 becomes another number`
	b := uint8(s.X * 1000) // want `floatint`
	c := int32(min(max(s.X, -100), 100))
	i := int16(7)
	d := int64(float64(i) * 1.5)
	e := uint8(255 * math.Abs(math.Sin(float64(i)))) // want `math: math.Sin`
	x := s.Y
	if x < 0 || x > 10 {
		x = 0
	}
	f := int8(x)
	g := int32(min(s.X, 100)) // want `floatint`
	_, _, _, _, _, _, _ = a, b, c, d, e, f, g
}
