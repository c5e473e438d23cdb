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

// A vector of Q16.16 takes eight bytes of a state, and its length never overflows on
// the way.
func ExampleVec2() {
	v := fixed.Vec2[fixed.Q16]{X: fixed.Q16FromInt(300), Y: fixed.Q16FromInt(400)}
	fmt.Println(v.Length().Num(), v.Unit().X.Num().Round(), v.Dot(v) == fixed.MaxQ16)
	// Output: 500 1 true
}

func ExampleQ32_Sin() {
	fmt.Printf("%.9f\n", fixed.Q32FromRatio(1, 8).Sin().Float64())
	// Output: 0.707106781
}
