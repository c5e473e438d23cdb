package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/internal/golden"
)

// Ten minutes of two bots, and every input late by up to a fifth of a second. A change here
// is a change of the rules or of the bots, and breaks every recorded match.
func TestTheEndOfALongMatchIsTheSameOnEveryArchitecture(t *testing.T) {
	bots := [sim.Sides]sim.Bot{sim.NewBot(11), sim.NewBot(12)}
	played, err := golden.Match[sim.State, sim.Input]{
		Step: sim.Step, Start: sim.New(11), Ticks: 36_000, Players: sim.Sides,
		Press: func(s *sim.State, side int, _ driftback.Tick) sim.Input {
			return bots[side].Input(s, side)
		},
	}.Play()
	require.NoError(t, err)
	require.GreaterOrEqual(t, played.End.Match, uint32(6), "the control: matches were won")
	t.Logf("match %d, %+v", played.End.Match, played.Counts)
	require.Greater(t, played.Counts.Rollbacks, uint64(1000), "the control: states were taken back")
	require.Greater(t, played.Counts.Deepest, 8)
	require.Equal(t, played.End, played.Rewound, "inputs that are late change nothing")

	h, err := fingerprint.New[sim.State]()
	require.NoError(t, err)
	require.Equal(t, [2]uint64{0x21e3be08b8f83568, 0xe5531339734ad1c6}, [2]uint64{sum(t, &played.Rewound), uint64(h.Sum(&played.Rewound))})
}
