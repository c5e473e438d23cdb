package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/racer/sim"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/internal/golden"
)

// Two who drive well, one who blunders about, and one who is replaced now and then; every
// input is late by up to a fifth of a second. A change here is a change of the rules or of
// the bot, and breaks every recorded match.
func TestTheEndOfALongRaceIsTheSameOnEveryArchitecture(t *testing.T) {
	played, err := golden.Match[sim.State, sim.Input]{
		Step: sim.Step, Start: sim.New(11), Ticks: 12_000, Players: 4,
		Press: func(s *sim.State, p int, at driftback.Tick) sim.Input {
			if p == 3 {
				return scripted(11, p, at)
			}
			return sim.Drive(s, p)
		},
		Statuses: func(at driftback.Tick, dst []driftback.Status) {
			dst[2] = driftback.Playing
			if at/1000%3 == 2 {
				dst[2] = driftback.Replaced
			}
		},
	}.Play()
	require.NoError(t, err)
	require.GreaterOrEqual(t, played.End.Race, uint32(3), "the control: races were finished")
	t.Logf("race %d, %+v", played.End.Race, played.Counts)
	require.Greater(t, played.Counts.Rollbacks, uint64(1000), "the control: states were taken back")
	require.Greater(t, played.Counts.Deepest, 8)
	require.Equal(t, played.End, played.Rewound, "inputs that are late change nothing")

	h, err := fingerprint.New[sim.State]()
	require.NoError(t, err)
	require.Equal(t, [2]uint64{0x385aebf0e9a3ffbb, 0xfff2135618ef203}, [2]uint64{sum(t, &played.Rewound), uint64(h.Sum(&played.Rewound))})
}
