package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/simtest"
)

// changing is a scenario in which the input delays of two participants on each of two peers
// change.
func changing(every int) simtest.Scenario {
	s := two()
	s.Ticks, s.DelayEvery = 600, every
	s.Peers[0].Plays, s.Peers[1].Plays = []int{0, 2}, []int{1, 3}
	s.Peers[0].InputDelay, s.Peers[1].InputDelay = 1, 2
	return s
}

func TestInputDelaysChangeInSomeScenariosAndEveryRuleHolds(t *testing.T) {
	playSome(t, func(s *simtest.Scenario) bool { return s.DelayEvery > 0 })
}

func TestInputDelaysThatChangeOftenBreakNoRule(t *testing.T) {
	for _, window := range []int{0, 1, 60, simtest.None} {
		s := changing(4)
		s.Window = window
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		require.Nil(t, r.Violation, "window %d: %v", window, r.Violation)
		require.Equal(t, window == simtest.None, r.Rollbacks == 0)
	}
}

// The truth of these scenarios, held against what is promised in words.
func TestOfWhatIsPressedWhileADelayChangesEachTickHasItsOwnOrTheLastBefore(t *testing.T) {
	s := changing(4)
	for q := range 4 {
		filled, discarded := 0, 0
		from, taken := s.Published(q, s.Ticks)
		last := driftback.Tick(-1)
		for at, f := range from {
			if at := driftback.Tick(at); f == at {
				last = f
			} else {
				require.Equal(t, last, f, "tick %d", at)
				filled++
			}
		}
		next := driftback.Tick(0)
		for t0, at := range taken {
			if at == session.None {
				discarded++
				continue
			}
			require.GreaterOrEqual(t, at, driftback.Tick(t0))
			require.GreaterOrEqual(t, at, next, "never twice")
			require.Equal(t, at, from[at])
			next = at + 1
		}
		require.Greater(t, filled, 100)
		require.Greater(t, discarded, 100)
	}
}

func TestAnInputDelayThatChangesWronglyBreaksARule(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(self driftback.Peer, c *config)
		rule  simtest.Rule
	}{
		"nothing": {plant: func(driftback.Peer, *config) {}},
		"a gap that is filled with nothing": {
			plant: func(self driftback.Peer, c *config) {
				if self == 1 {
					c.Fill = func(input) (in input) { return in }
				}
			}, rule: simtest.RuleInput,
		},
		"an input that is used although its tick has one": {
			plant: func(self driftback.Peer, c *config) {
				if self == 1 {
					c.Merge = func(_, discarded input) input { return discarded }
				}
			}, rule: simtest.RuleMonotonic,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := changing(40)
			r, err := simtest.Play(simtest.Witness().Plant(c.plant), s)
			require.NoError(t, err)
			if c.rule == "" {
				require.Nil(t, r.Violation)
				return
			}
			require.NotNil(t, r.Violation)
			require.Equal(t, c.rule, r.Violation.Rule, "%v", r.Violation)
		})
	}
}

func TestInputDelaysThatChangeAreRefusedWhereOtherRulesWouldNotKnowOfThem(t *testing.T) {
	s := changing(10)
	require.NoError(t, s.Validate())
	s.PauseEvery = 5
	require.ErrorContains(t, s.Validate(), "delayEvery is set, and pauseEvery")
	s.PauseEvery, s.DelayEvery = 0, -1
	require.ErrorContains(t, s.Validate(), "delayEvery is -1")
}
