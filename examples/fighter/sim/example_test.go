package sim_test

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
)

// One fighter walks up to the other and strikes.
func ExampleStep() {
	state := sim.New(1)
	var pass driftback.Pass
	for t := range driftback.Tick(200) {
		in := []sim.Input{{Buttons: sim.Right}, {}}
		if t == 130 || t == 136 {
			in[0].Buttons = sim.Light
		}
		pass.Begin(t, nil)
		sim.Step(&state, in, &pass)
		for _, e := range pass.Raised() {
			fmt.Println(t, sim.KindName(e.Kind), e.Args)
		}
	}
	v := state.View()
	fmt.Println(v.Phase, v.Seconds, v.Fighters[1].Health)
	// Output:
	// 79 round start [0 1 0]
	// 134 hit [1 42 1]
	// 146 hit [1 34 2]
	// fight 58 924
}
