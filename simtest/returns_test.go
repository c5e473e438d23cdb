package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/simtest"
)

func TestPeersComeBackWhereAShapeAsksForIt(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 40
	}
	happened := map[simtest.Kind]int{}
	for seed := range seeds {
		s := simtest.Witness().Shaped(seed, simtest.Shape{Returns: true})
		r, err := simtest.CheckScenario(simtest.Witness(), s)
		require.NoError(t, err)
		require.Nil(t, r.Violation, "seed %d: %v", seed, r.Violation)
		for _, f := range r.Faults {
			happened[f.Kind] += f.Happened
		}
	}
	for _, k := range simtest.Kinds {
		require.True(t, !k.Comes() || happened[k] > 0 || testing.Short(), "no %s among %v", k, happened)
	}
	require.Greater(t, happened[simtest.Restart], int(seeds/20))
}
