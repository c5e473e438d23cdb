package sim_test

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/racer/sim"
)

// Two karts: one is driven by the game's bot, and the other only ever goes straight ahead.
func ExampleStep() {
	state := sim.New(1)
	statuses := []driftback.Status{driftback.Replaced, driftback.Playing}
	var pass driftback.Pass
	for t := range driftback.Tick(900) {
		pass.Begin(t, statuses)
		sim.Step(&state, []sim.Input{{}, {Buttons: sim.Throttle}}, &pass)
		for _, e := range pass.Raised() {
			if e.Kind == sim.KindGo || e.Kind == sim.KindWall {
				fmt.Println(t, sim.KindName(e.Kind), e.Args)
			}
		}
	}
	v := state.View()
	fmt.Println(v.Phase, v.Karts[0].Rank, v.Karts[1].Rank, v.Karts[2].On)
	// Output:
	// 180 go [1 0 0]
	// 366 wall [1 200 0]
	// racing 1 2 false
}
