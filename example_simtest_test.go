package driftback_test

import (
	"testing"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
)

func TestMatches(t *testing.T) {
	simtest.Run(t, simtest.Game[State, Input]{Name: "race", Players: 2, Step: step, Input: press}, simtest.Options{})
}

func press(r *rng.PCG, _ driftback.Participant, _ driftback.Tick) Input {
	return Input{Buttons: uint16(r.IntN(4))}
}
