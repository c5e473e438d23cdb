package pacing_test

import (
	"fmt"
	"time"

	"github.com/driftback/driftback/pacing"
)

// A game that draws 144 times a second, and whose match asks it to run 2 % faster
// because it is behind.
func ExampleClock() {
	clock, err := pacing.NewClock(time.Second/60, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	const frame = time.Second / 144
	ticks, rate := 0, 1.02 // the Rate of the Pace that the session's Tick returned
	for range 144 {
		for range clock.Ticks(frame, rate) {
			ticks++ // here the session's Tick is called
		}
		_ = clock.Alpha() // and here the world is drawn
	}
	fmt.Println(ticks, "ticks in a second")
	// Output: 61 ticks in a second
}
