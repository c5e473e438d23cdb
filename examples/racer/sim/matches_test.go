package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/racer/sim"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
)

// rally is the game with drivers who mostly accelerate. The race begins at once: matches
// are short, and nothing happens in a countdown.
func rally() simtest.Game[sim.State, sim.Input] {
	return simtest.Game[sim.State, sim.Input]{
		Name: "racer", Players: sim.MaxKarts, Step: sim.Step, Valid: sim.Input.Valid,
		Start: func(seed uint64, s *sim.State) {
			sim.Start(seed, s)
			s.Clock = sim.CountdownTicks - 1
		},
		Input: func(r *rng.PCG, _ driftback.Participant, _ driftback.Tick) (in sim.Input) {
			in.Buttons = sim.Throttle
			if r.Chance(1, 10) {
				in.Buttons = sim.Brake
			}
			in.Buttons |= [...]uint16{0, 0, 0, sim.Left, sim.Right, sim.Left | sim.Slide, sim.Right | sim.Slide}[r.IntN(7)]
			if r.Chance(1, 3) {
				in.Buttons |= sim.Use
			}
			return in
		},
	}
}

// That karts really meet, bump and pick things up in what the matches below play.
func TestARallyComesToSomething(t *testing.T) {
	g, counts := rally(), map[uint32]int{}
	for seed := range uint64(50) {
		var s sim.State
		g.Start(seed, &s)
		r := rng.New(seed, 1)
		var pass driftback.Pass
		var in [4]sim.Input
		for at := range driftback.Tick(400) {
			for p := range in {
				if at%20 == 0 {
					in[p] = g.Input(&r, driftback.Participant(p), at)
				}
			}
			pass.Begin(at, make([]driftback.Status, len(in)))
			sim.Step(&s, in[:], &pass)
			for _, e := range pass.Raised() {
				counts[e.Kind]++
			}
		}
	}
	for kind, least := range map[uint32]int{sim.KindGo: 50, sim.KindBump: 50, sim.KindWall: 50, sim.KindPickUp: 2} {
		require.GreaterOrEqual(t, counts[kind], least, sim.KindName(kind))
		t.Logf("%s: %d", sim.KindName(kind), counts[kind])
	}
}

func TestMatchesOverBadNetworksBreakNoRule(t *testing.T) {
	simtest.Run(t, rally(), simtest.Options{Dir: "testdata", Seeds: 40})
}

func TestARaceCanBeRewound(t *testing.T) {
	for seed := range uint64(4) {
		report, err := simtest.SyncTest(rally(), simtest.Scenario{
			Version: simtest.Version, Seed: seed, Ticks: 500, Frame: 16_667, Hold: 15,
			Peers: []simtest.Peer{{Plays: []int{0}}, {Plays: []int{1}}, {Plays: []int{2, 3}}},
		})
		require.NoError(t, err)
		require.Nil(t, report.Finding)
		require.Positive(t, report.Rewinds)
		require.Greater(t, report.Changed, 400)
	}
}
