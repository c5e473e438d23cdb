package det_test

import (
	"fmt"
	"math"

	"github.com/driftback/driftback/det"
)

// A shot flies along an angle. The product that is added is rounded by a conversion,
// as everywhere in a step that uses floats.
func Example() {
	x, y := 1.0, 2.0
	sin, cos := det.SinCos(math.Pi / 6)
	x += float64(10 * cos)
	y += float64(10 * sin)
	fmt.Printf("%.3f %.3f\n", x, y)
	fmt.Println(math.Float64bits(det.Exp(1)) == 0x4005bf0a8b145769)
	// Output:
	// 9.660 7.000
	// true
}
