package driftback_test

import (
	"fmt"

	"github.com/driftback/driftback"
)

// A step is an ordinary function. It can be run by hand, as a test of a game's
// rules would: the engine adds nothing to it but the right inputs.
func Example() {
	type input struct{ Jump bool }
	type world struct{ Height, Speed int32 }
	const landed = 1

	var step driftback.Step[world, input] = func(w *world, in []input, pass *driftback.Pass) {
		if in[0].Jump && w.Height == 0 {
			w.Speed = 3
		}
		w.Height = max(0, w.Height+w.Speed)
		if w.Speed--; w.Height == 0 && w.Speed < -1 {
			w.Speed = 0
			pass.Raise(driftback.Effect{Kind: landed})
		}
	}

	var w world
	var pass driftback.Pass
	for t := range driftback.Tick(8) {
		pass.Begin(t, []driftback.Status{driftback.Playing})
		step(&w, []input{{Jump: t == 0}}, &pass)
		fmt.Print(w.Height, " ")
		if len(pass.Raised()) > 0 {
			fmt.Print("landed on tick ", pass.Tick())
			break
		}
	}
	// Output: 3 5 6 6 5 3 0 landed on tick 6
}
