package simtest_test

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
)

// Two players push a crate from either side. The game's own step is played in ten
// matches, between two, three or four peers. In a test it is simtest.Run(t, game,
// simtest.Options{}) and nothing more.
func Example() {
	type Push struct{ Hard bool }
	type Crate struct{ At int32 }
	game := simtest.Game[Crate, Push]{
		Name: "crate",
		Step: func(c *Crate, in []Push, _ *driftback.Pass) {
			for p, push := range in {
				if push.Hard {
					c.At += 1 - 2*int32(p%2)
				}
			}
		},
		Input: func(r *rng.PCG, _ driftback.Participant, _ driftback.Tick) Push {
			return Push{Hard: r.Chance(1, 2)}
		},
	}
	broken, rollbacks := 0, uint64(0)
	for seed := range uint64(10) {
		report, err := simtest.Check(game, seed)
		if err != nil {
			fmt.Println(err)
			return
		}
		if report.Violation != nil {
			broken++
		}
		rollbacks += report.Rollbacks
	}
	fmt.Println("rules broken:", broken)
	fmt.Println("guessed wrongly on the way:", rollbacks > 300)

	// A step that keeps something outside its state is found at once.
	strong := int32(0)
	sound := game.Step
	game.Step = func(c *Crate, in []Push, pass *driftback.Pass) {
		strong++
		c.At += strong
		sound(c, in, pass)
	}
	report, err := simtest.Check(game, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Violation.Rule)
	fmt.Println("the field:", report.Violation.Difference.Path)
	// Output:
	// rules broken: 0
	// guessed wrongly on the way: true
	// a step that is run again with the same inputs gives the same state
	// the field: At
}
