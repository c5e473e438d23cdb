package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/simtest"
)

func TestAShapeHasItsPlayersAndItsTicks(t *testing.T) {
	for players := 2; players <= 16; players++ {
		shape := simtest.Shape{Players: players, Ticks: 600, Returns: true}
		require.NoError(t, shape.Validate())
		alone, couch := 0, 0
		kinds := map[simtest.Kind]int{}
		for seed := range uint64(600) {
			s := shape.Generate(seed)
			require.NoError(t, s.Validate(), "seed %d", seed)
			require.Equal(t, s, shape.Generate(seed))
			require.Equal(t, players, participants(s))
			require.GreaterOrEqual(t, s.Ticks, 600)
			require.Greater(t, len(s.Peers), 1)
			if len(s.Peers) == players {
				alone++
			} else {
				couch++
			}
			for _, f := range s.Faults {
				kinds[f.Kind]++
			}
		}
		require.Greater(t, alone, 300)
		if players > 2 {
			require.Greater(t, couch, 50, "some play on one couch")
		}
		if players == 2 {
			require.NotContains(t, kinds, simtest.Return, "nobody would be left to come back to")
			kinds[simtest.Return] = 0
		}
		require.Len(t, kinds, len(simtest.Kinds), "%v", kinds)
	}
	require.Equal(t, simtest.Generate(7), simtest.Shape{}.Generate(7))
	require.Equal(t, simtest.Generate(7), simtest.Witness().Shaped(7, simtest.Shape{}))
}

func TestManyPlayersBreakNoRule(t *testing.T) {
	for players, seeds := range map[int]int{2: 12, 3: 12, 4: 12, 8: 6, 16: 2} {
		if testing.Short() {
			seeds = 1
		}
		simtest.Run(t, simtest.Witness(), simtest.Options{Seeds: seeds, First: 1000, Shape: simtest.Shape{Players: players, Ticks: 600}})
	}

	// Control: a fault in the engine shows among many as it does between two.
	r, err := simtest.CheckScenario(broken(), broken().Shaped(3, simtest.Shape{Players: 8}))
	require.NoError(t, err)
	require.NotNil(t, r.Violation)
	require.Equal(t, simtest.RuleState, r.Violation.Rule)
}

func TestAShapeOutOfItsBoundsIsRefusedInASentence(t *testing.T) {
	for want, shape := range map[string]simtest.Shape{
		"simtest: the number of players is 17: from 2 to 16 are allowed, or 0 for what a seed gives": {Players: 17},
		"simtest: the number of players is 1: from 2 to 16 are allowed, or 0 for what a seed gives":  {Players: 1},
		"simtest: the least number of ticks is -1: from 0 to 10000 are allowed":                      {Ticks: -1},
		"simtest: the least number of ticks is 10001: from 0 to 10000 are allowed":                   {Ticks: 10_001},
	} {
		require.EqualError(t, shape.Validate(), want)
		r := record(t, func(t testing.TB) { simtest.Run(t, simtest.Witness(), simtest.Options{Shape: shape}) })
		require.True(t, r.failed)
		require.Contains(t, r.log.String(), want)
	}
	// A fault's time has its bounds too, and a long match of slow frames keeps within them.
	for seed := range uint64(300) {
		require.NoError(t, simtest.Shape{Ticks: simtest.MaxShapeTicks}.Generate(seed).Validate())
	}
	_, err := simtest.Play(duel(), duel().Shaped(1, simtest.Shape{Players: 3}))
	require.ErrorContains(t, err, "the scenario has 3 participants, and Game.Players is 2")
}
