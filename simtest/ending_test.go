package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/simtest"
)

// A peer that is silent for five seconds is lost after its time-out of three, unless
// there is grace for so long; and whether its link is blocked or down, all who
// play end by name or go on.
func TestAnAbsentPeerIsLostOrComesBackAsThereIsGrace(t *testing.T) {
	for _, kind := range []simtest.Kind{simtest.Partition, simtest.Down, simtest.Freeze, simtest.Block} {
		for _, c := range []struct {
			name    string
			timeout simtest.Micros
			grace   simtest.Micros
			ends    bool
		}{
			{"it is lost", 3 * simtest.Second, 0, true},
			{"it is lost while there is too little grace", 3 * simtest.Second, simtest.Second, true},
			{"it comes back within the grace", 3 * simtest.Second, 4 * simtest.Second, false},
			{"it comes back within the time-out", 7 * simtest.Second, 0, false},
		} {
			t.Run(string(kind)+": "+c.name, func(t *testing.T) {
				s := two()
				s.Peers = append(s.Peers, simtest.Peer{Plays: []int{2}})
				s.PeerTimeout, s.RejoinGrace = c.timeout, c.grace
				s.Faults = []simtest.Fault{{Kind: kind, At: simtest.Second, For: 5 * simtest.Second, From: []int{1}}}
				r, err := simtest.Play(simtest.Witness(), s)
				require.NoError(t, err)
				require.Nil(t, r.Violation)
				require.Empty(t, r.Vacuous)
				require.Equal(t, c.ends, r.Confirmed < driftback.Tick(s.Ticks), "%v", r.Confirmed)
				require.Greater(t, r.Stalls, uint64(100))
			})
		}
	}
}

func TestAMatchHaltsWhereAWindowIsUsedUpAndOnlyThere(t *testing.T) {
	s := *limited()
	r, err := simtest.Play(simtest.Witness(), s)
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Less(t, r.Confirmed, driftback.Tick(100))
	require.Greater(t, r.Confirmed, driftback.Tick(30))

	s.Window = 200 // control: nobody uses that up
	r, err = simtest.Play(simtest.Witness(), s)
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Equal(t, driftback.Tick(s.Ticks), r.Confirmed)
}

// Whichever of three peers ends a match, and whenever, the others end for that.
func TestWhateverEndsAMatchEndsItForEverybody(t *testing.T) {
	for _, kind := range []simtest.Kind{simtest.Leave, simtest.Halt} {
		for at := simtest.Micros(0); at < 4*simtest.Second; at += 170 * simtest.Millisecond {
			s := two()
			s.Peers = append(s.Peers, simtest.Peer{Plays: []int{2}, Phase: 200 * simtest.Millisecond})
			// What the third hears, it hears from the other one first.
			s.Links = append(s.Links, simtest.Link{From: 0, To: 2, Latency: 300 * simtest.Millisecond})
			s.Faults = []simtest.Fault{{Kind: kind, At: at, From: []int{0}}}
			r, err := simtest.Play(simtest.Witness(), s)
			require.NoError(t, err)
			require.Nil(t, r.Violation, "%s at %v", kind, at.Duration())
		}
	}
}

// Every tick of a match can be the one at which a world becomes another, whatever is
// compared. The last tick is compared whatever is.
func TestAWorldThatBecomesAnotherIsNoticedFromEveryTick(t *testing.T) {
	for _, every := range []int{1, 7, 8, 150, 1000} {
		for tick := 0; tick < 200; tick += 9 {
			s := two()
			s.Peers = append(s.Peers, simtest.Peer{Plays: []int{2}})
			s.FingerprintEvery = every
			s.Faults = []simtest.Fault{{Kind: simtest.Diverge, Tick: tick, From: []int{tick % 3}}}
			r, err := simtest.Play(simtest.Witness(), s)
			require.NoError(t, err)
			require.Nil(t, r.Violation, "every %d, from tick %d on", every, tick)
			require.Equal(t, 1, r.Faults[0].Happened)
			require.GreaterOrEqual(t, r.Explained, 2)
		}
	}
}

// A step that may run twice is no other world.
func TestADivergenceOfAGameThatDoesNothingIsVacuous(t *testing.T) {
	g := simtest.Witness()
	g.Step = func(*simtest.WitnessState, []simtest.WitnessInput, *driftback.Pass) {}
	s := *ending(simtest.Fault{Kind: simtest.Diverge, Tick: 50, From: []int{0}})
	r, err := simtest.Play(g, s)
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Equal(t, driftback.Tick(s.Ticks), r.Confirmed)
	require.Contains(t, r.Vacuous, "no diverge happened, of 1 planned")
}

func TestAnEffectThatMovesWithinTheToleranceIsNotToldAgain(t *testing.T) {
	var undone [2]uint64
	for i, tolerance := range []int{0, 10} {
		r, err := simtest.Play(simtest.Witness(), *tolerant(tolerance))
		require.NoError(t, err)
		require.Nil(t, r.Violation)
		require.Equal(t, tolerance > 0, r.Moved > 0)
		undone[i] = r.Undone + r.Moved
	}
	require.Equal(t, undone[0], undone[1], "each of them would have been told as undone")
}

// A line that is thin for good only makes everything late.
func TestAMatchGoesOnOverAThinLine(t *testing.T) {
	s := two()
	s.Links[0].BytesPerSecond = simtest.MinLinkRate
	s.Links[1].BytesPerSecond = simtest.MinLinkRate
	r, err := simtest.Play(simtest.Witness(), s)
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Equal(t, driftback.Tick(s.Ticks), r.Confirmed)
	wide, err := simtest.Play(simtest.Witness(), two())
	require.NoError(t, err)
	require.Greater(t, r.Simulated, wide.Simulated)
}
