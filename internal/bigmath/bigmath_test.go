package bigmath_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/internal/bigmath"
	"github.com/driftback/driftback/rng"
)

func Example() {
	fmt.Println(bigmath.Pi().Text('f', 50))
	fmt.Println(bigmath.Exp(bigmath.New(1)).Text('f', 50))
	// Output:
	// 3.14159265358979323846264338327950288419716939937511
	// 2.71828182845904523536028747135266249775724709369996
}

// Functions that undo each other were computed in different ways, so that what they
// agree in is right.
func TestIdentitiesHoldToThreeHundredBits(t *testing.T) {
	r := rng.New(4, 4)
	same := func(want, got *big.Float, what string, x float64) {
		apart := new(big.Float).Sub(want, got)
		if apart.Sign() != 0 {
			require.Less(t, apart.MantExp(nil), want.MantExp(nil)-300, "%s of %v", what, x)
		}
	}
	mul := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(bigmath.Precision).Mul(a, b) }
	for range 200 {
		x := math.Ldexp(1+float64(r.IntN(1<<30))*0x1p-30, r.IntN(16)-9)
		b := bigmath.New(x)
		sin, cos := bigmath.SinCos(b)
		same(bigmath.New(1), mul(sin, sin).Add(mul(sin, sin), mul(cos, cos)), "sine and cosine", x)
		same(b, bigmath.Log(bigmath.Exp(b)), "log of exp", x)
		same(b, bigmath.Tan(bigmath.Atan(b)), "tangent of atan", x)
		root := bigmath.Cbrt(b)
		same(b, mul(root, mul(root, root)), "cube of the root", x)
		same(root, bigmath.Pow(b, bigmath.Ratio(1, 3)), "power of a third", x)
		same(mul(b, bigmath.New(5)), bigmath.Hypot(mul(b, bigmath.New(3)), mul(b, bigmath.New(4))), "hypotenuse", x)
		half := bigmath.New(x / 256)
		sin, _ = bigmath.SinCos(bigmath.Asin(half))
		same(half, sin, "sine of asin", x)
		right := bigmath.Pi()
		right.SetMantExp(right, -1)
		same(right, new(big.Float).Add(bigmath.Asin(half), bigmath.Acos(half)), "asin and acos", x)
		one := bigmath.Atan2(b, bigmath.New(-1))
		same(bigmath.Pi(), one.Add(one, bigmath.Atan(b)), "atan2 to the back", x)
	}
}
