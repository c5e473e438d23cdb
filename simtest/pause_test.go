package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/simtest"
)

func TestPeersPauseInSomeScenariosAndEveryRuleHolds(t *testing.T) {
	playSome(t, func(s *simtest.Scenario) bool { return s.PauseEvery > 0 })
}

func TestATickThatIsPausedIsNotStepped(t *testing.T) {
	var stepped map[driftback.Tick]int
	g := stepping(func(_ *state, _ []input, pass *driftback.Pass) { stepped[pass.Tick()]++ })
	g.Predict = func(last input, _ int) input { return last }
	play := func(every int) (left, reruns int) {
		stepped = map[driftback.Tick]int{}
		s := two()
		s.Ticks, s.PauseEvery = 300, every
		r, err := simtest.Play(g, s)
		require.NoError(t, err)
		require.Nil(t, r.Violation)
		for tick := range driftback.Tick(s.Ticks) {
			if stepped[tick] == 0 {
				left++
			}
		}
		return left, int(r.Rollbacks)
	}
	left, _ := play(0)
	require.Zero(t, left, "the control: without pauses every tick is")
	left, reruns := play(4)
	require.Greater(t, left, 30)
	require.Less(t, left, 270)
	require.Positive(t, reruns, "some came late")
}

func TestPausesAreRefusedWhereOtherRulesWouldNotKnowOfThem(t *testing.T) {
	s := two()
	s.PauseEvery, s.EffectTolerance = 10, 1
	require.ErrorContains(t, s.Validate(), "pauseEvery is set, and effectTolerance")
	s.EffectTolerance = 0
	require.NoError(t, s.Validate())
	s.PauseEvery = -1
	require.ErrorContains(t, s.Validate(), "pauseEvery is -1")
}
