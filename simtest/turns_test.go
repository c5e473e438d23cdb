package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/simtest"
)

// inTurns has the peers of a scenario publish in turns, each in turns of its own, that are as long
// as its input delay and the window allow.
func inTurns(s *simtest.Scenario) (turns bool) {
	window := s.Window
	switch window {
	case 0:
		window = session.DefaultWindow
	case simtest.None:
		window = 0
	}
	for i := range s.Peers {
		p := &s.Peers[i]
		most := window + p.InputDelay
		if s.DelayEvery > 0 {
			most = window
		}
		p.PublishEvery = min(most, 1+int(s.Seed+uint64(5*i))%9)
		turns = turns || p.PublishEvery > 1
	}
	return turns
}

func TestPeersThatPublishInTurnsBreakNoRule(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 60
	}
	played := 0
	var rollbacks, stalls uint64
	for seed := range seeds {
		s := simtest.Generate(seed)
		if !inTurns(&s) {
			continue
		}
		played++
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err, "seed %d", seed)
		if r.Violation != nil {
			t.Errorf("seed %d: %v\n", seed, r.Violation)
		}
		rollbacks, stalls = rollbacks+r.Rollbacks, stalls+r.Stalls
	}
	require.Greater(t, played, int(seeds)/2)
	require.Greater(t, rollbacks, 50*seeds)
	t.Logf("%d matches, %d rollbacks, %d stalls", played, rollbacks, stalls)
}
