package fixed_test

import (
	"fmt"

	"github.com/driftback/driftback/fixed"
)

// A jump is the same curve on every machine.
func Example() {
	height, speed := fixed.Num(0), fixed.FromInt(4)
	gravity := fixed.FromRatio(3, 2)
	for range 4 {
		height, speed = height+speed, speed-gravity
		fmt.Println(height)
	}
	// Output:
	// 4
	// 6.5
	// 7.5
	// 7
}

func ExampleSin() {
	fmt.Println(fixed.Sin(fixed.FromRatio(1, 12)), fixed.Cos(fixed.Half))
	// Output: 0.499969482421875 -1
}
