package buggify_test

import (
	"fmt"

	"github.com/driftback/driftback/buggify"
)

// A queue that overflows once in a blue moon, and far more often in a simulation.
func Example() {
	const room = 1000
	push := func(queue []int, v int, sites *buggify.Sites) ([]int, bool) {
		if len(queue) >= room || sites.Fires(buggify.FullChannel) {
			return queue, false
		}
		return append(queue, v), true
	}
	fill := func(sites *buggify.Sites) (full int) {
		var queue []int
		for v := range 100 {
			var ok bool
			if queue, ok = push(queue, v, sites); !ok {
				full++
			}
		}
		return full
	}
	fmt.Println("in a real match:", fill(nil))
	sites := buggify.Only(1, buggify.FullChannel)
	full := fill(sites)
	fmt.Println("in a simulation:", full > 10, uint64(full) == sites.Fired(buggify.FullChannel))
	// Output:
	// in a real match: 0
	// in a simulation: true true
}
