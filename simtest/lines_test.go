package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/simtest"
)

// slow is a match in which peer 1 sends over a line that carries so many bytes per second.
func slow(rate int) simtest.Scenario {
	s := two()
	s.Ticks, s.Hold = 600, 1
	s.Peers[1] = simtest.Peer{Plays: []int{1, 2}, Redundancy: 100}
	s.Links = []simtest.Link{{From: 1, To: 0, Latency: 7 * simtest.Millisecond, BytesPerSecond: rate}}
	return s
}

// Large packets fill a line; what is repeated while the match waits must be small enough
// for it to drain.
func TestALineThatRedundancyFillsMakesAMatchSlowAndDoesNotEndIt(t *testing.T) {
	stalls := map[int]uint64{}
	for _, rate := range []int{simtest.MinLinkRate, 30_000, 70_422, 0} {
		r, err := simtest.CheckScenario(simtest.Witness(), slow(rate))
		require.NoError(t, err)
		require.Nil(t, r.Violation)
		require.EqualValues(t, 600, r.Confirmed, "at %d bytes per second", rate)
		require.Empty(t, r.Vacuous)
		stalls[rate] = r.Stalls
	}
	require.Greater(t, stalls[70_422], uint64(500), "the line is full")
	require.Less(t, stalls[0], uint64(10), "the control")
}

// Unacknowledged inputs that need more than one packet may keep a line full for ever.
func TestAMatchOverALineThatIsTooThinIsGivenUpAndSaysSo(t *testing.T) {
	if testing.Short() {
		t.Skip("it is a long match: not with -short")
	}
	s := slow(simtest.MinLinkRate)
	s.Frame, s.Window = 2*simtest.Millisecond, 200
	s.Peers[1].Redundancy = 0
	s.Peers[1].InputDelay, s.Peers[0].InputDelay = 60, 60
	r, err := simtest.CheckScenario(simtest.Witness(), s)
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Less(t, int(r.Confirmed), 600)
	require.Len(t, r.Vacuous, 1)
	require.Contains(t, r.Vacuous[0], "in which a line that carries less than what is sent was full")
}

// A peer of many is not interrupted all the time by those rare paths that are forced.
func TestRarePathsLeaveAMatchOfManyTimeToPlay(t *testing.T) {
	if testing.Short() {
		t.Skip("it is a long match: not with -short")
	}
	s := simtest.Scenario{
		Version: simtest.Version, Seed: 3, Ticks: 60, Frame: simtest.MinFrame, Hold: 5, Buggify: true,
		PeerTimeout: 60 * simtest.Second, RejoinGrace: simtest.Second,
	}
	for p := range 16 {
		s.Peers = append(s.Peers, simtest.Peer{Plays: []int{p}})
		for q := range 16 {
			if p != q {
				s.Links = append(s.Links, simtest.Link{From: p, To: q, Latency: 100 * simtest.Millisecond, Loss: 0.3})
			}
		}
	}
	for seed := range uint64(4) {
		s.Seed = seed
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		require.Nil(t, r.Violation)
		require.EqualValues(t, 60, r.Confirmed)
	}
}
