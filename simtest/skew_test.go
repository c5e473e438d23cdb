package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/simtest"
)

func TestAClockThatRunsOtherwiseForAWhileTurnsMoreOrFewerFrames(t *testing.T) {
	turns := func(skew, own int) (frames uint64, stalls uint64) {
		s := two()
		s.Ticks, s.Peers[1].Skew = 600, own
		if skew != 0 {
			s.Faults = []simtest.Fault{{Kind: simtest.Skew, At: 2 * simtest.Second, For: 5 * simtest.Second, From: []int{1}, Skew: skew}}
		}
		r, err := simtest.CheckScenario(simtest.Witness(), s)
		require.NoError(t, err)
		require.Nil(t, r.Violation, "%v", r.Violation)
		require.Empty(t, r.Vacuous)
		for _, f := range r.Faults {
			require.Equal(t, 1, f.Happened)
		}
		return r.Peers[1].Frames, r.Peers[0].Stalls
	}
	even, waits := turns(0, 0)
	fast, _ := turns(simtest.MaxSkew, 0)
	slow, waited := turns(-simtest.MaxSkew, 0)
	// 5 s are 300 frames, and a fifth of them 60; the fast one meets its window, which costs
	// no frames but stalls, and the slow one lets the other wait.
	require.Greater(t, fast, even+40)
	require.Less(t, slow, even+10)
	require.Greater(t, waited, waits+30)
	// Together with a peer's own skew it is bounded as that alone.
	bounded, _ := turns(simtest.MaxSkew, simtest.MaxSkew)
	own, _ := turns(0, simtest.MaxSkew)
	require.Equal(t, own, bounded)
}
