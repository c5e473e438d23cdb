package rng_test

import (
	"fmt"

	"github.com/driftback/driftback/rng"
)

// A generator in the state is saved and taken back with the state.
func ExamplePCG() {
	type State struct {
		Rand rng.PCG
		Dice int
	}
	roll := func(s *State) { s.Dice = 1 + s.Rand.IntN(6) }

	world := State{Rand: rng.New(2024, 1)}
	roll(&world)
	saved := world // a snapshot
	roll(&world)
	first := world.Dice
	world = saved // a rewind
	roll(&world)
	fmt.Println(first == world.Dice)
	// Output: true
}
