package rewind_test

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/rewind"
)

// Two runners: ours is here, and what the other presses arrives two ticks late.
func Example() {
	type track struct{ At [2]int }
	type input struct{ Run bool }
	run := func(s *track, in []input, _ *driftback.Pass) {
		for p, i := range in {
			if i.Run {
				s.At[p]++
			}
		}
	}
	log, err := inputlog.New(inputlog.Config[input]{Participants: 2, Depth: 32})
	if err != nil {
		panic(err)
	}
	loop, err := rewind.New(rewind.Config[track, input]{Step: run, Inputs: log, Depth: 9})
	if err != nil {
		panic(err)
	}
	for tick := range driftback.Tick(4) {
		if err := loop.Supply(0, tick, input{Run: true}); err != nil {
			panic(err)
		}
		if late := tick - 2; late >= 0 {
			if err := loop.Supply(1, late, input{Run: late < 1}); err != nil {
				panic(err)
			}
		}
		again, err := loop.Advance()
		if err != nil {
			panic(err)
		}
		log.Forget(loop.Oldest())
		fmt.Printf("tick %d: %d run again, now at %v, confirmed to %d\n", tick, again.Len(), loop.State().At, log.Confirmed())
	}
	// Output:
	// tick 0: 0 run again, now at [1 0], confirmed to 0
	// tick 1: 0 run again, now at [2 0], confirmed to 0
	// tick 2: 2 run again, now at [3 3], confirmed to 1
	// tick 3: 2 run again, now at [4 1], confirmed to 2
}
