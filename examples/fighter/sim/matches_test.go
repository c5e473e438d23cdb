package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
)

// brawl is the game with two who walk up to each other, strike, block, throw and jump.
// Whoever pressed evenly at random would seldom meet the other.
func brawl() simtest.Game[sim.State, sim.Input] {
	return simtest.Game[sim.State, sim.Input]{
		Name: "fighter", Players: sim.Sides, Step: sim.Step, Start: sim.Start, Valid: sim.Input.Valid,
		Input: func(r *rng.PCG, p driftback.Participant, _ driftback.Tick) (in sim.Input) {
			toward, away := sim.Right, sim.Left
			if p%sim.Sides == 1 {
				toward, away = away, toward
			}
			switch n := r.IntN(12); {
			case n < 6:
				in.Buttons = toward
			case n < 8:
				in.Buttons = away
			case n < 10:
				in.Buttons = away | sim.Down
			case n < 11:
				in.Buttons = toward | sim.Up
			}
			if r.Chance(1, 2) {
				in.Buttons |= sim.Light << r.IntN(4) // or Heavy, Throw or Special
			}
			return in
		},
	}
}

// That blows really land in what the matches below play.
func TestABrawlComesToBlows(t *testing.T) {
	g, counts := brawl(), tally{}
	for seed := range uint64(50) {
		s, r := sim.New(seed), rng.New(seed, 1)
		var pass driftback.Pass
		var in [sim.Sides]sim.Input
		for at := range driftback.Tick(400) {
			for side := range in {
				if at%5 == 0 {
					in[side] = g.Input(&r, driftback.Participant(side), at)
				}
			}
			pass.Begin(at, nil)
			sim.Step(&s, in[:], &pass)
			counts.add(pass.Raised())
		}
	}
	for kind, least := range map[uint32]int{sim.KindHit: 20, sim.KindBlock: 5, sim.KindWhiff: 10, sim.KindThrow: 1, sim.KindShot: 3, sim.KindJump: 3} {
		require.NotNil(t, counts[kind], "no %s", sim.KindName(kind))
		require.GreaterOrEqual(t, counts[kind][0]+counts[kind][1], least, sim.KindName(kind))
		t.Logf("%s: %v", sim.KindName(kind), *counts[kind])
	}
}

func TestMatchesOverBadNetworksBreakNoRule(t *testing.T) {
	simtest.Run(t, brawl(), simtest.Options{Dir: "testdata"})
}
