package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/simtest"
)

func TestACutTakesInputsAwayAndNothingElse(t *testing.T) {
	type press struct {
		tick driftback.Tick
		by   int
	}
	pressed := func(s simtest.Scenario) map[press]bool {
		all := map[press]bool{}
		g := stepping(func(_ *state, in []input, pass *driftback.Pass) {
			for p := range in {
				all[press{pass.Tick(), p}] = in[p] != input{}
			}
		})
		g.Predict = func(last input, _ int) input { return last }
		r, err := simtest.Play(g, s)
		require.NoError(t, err)
		require.Nil(t, r.Violation)
		return all
	}
	s := two()
	s.Cuts = []simtest.Cut{{Participant: 1, From: 20, To: 40}, {Participant: 0, From: 100, To: 101}}
	again, err := simtest.Parse(s.JSON())
	require.NoError(t, err)
	require.Equal(t, s, again)
	for at, has := range pressed(s) {
		cut := at.by == 1 && at.tick >= 20 && at.tick < 40 || at.by == 0 && at.tick == 100
		require.Equal(t, !cut, has, "%+v", at)
	}
	// Control: without cuts everybody presses something on every tick.
	s.Cuts = nil
	for at, has := range pressed(s) {
		require.True(t, has, "%+v", at)
	}
}

func TestACutOutOfItsBoundsIsRefusedInASentence(t *testing.T) {
	for want, cut := range map[string]simtest.Cut{
		"participant of cut 0 is 2: from 0 to 1":           {Participant: 2, To: 1},
		"from of cut 0 is -1":                              {From: -1, To: 1},
		"to of cut 0 is 5: from 6 to 100000 are allowed":   {From: 5, To: 5},
		"to of cut 0 is 100001: from 1 to 100000":          {To: 100_001},
		"from of cut 0 is 100000: from 0 to 99999 are all": {From: 100_000, To: 100_001},
	} {
		s := two()
		s.Cuts = []simtest.Cut{cut}
		require.ErrorContains(t, s.Validate(), want)
	}
	s := two()
	s.Cuts = make([]simtest.Cut, simtest.MaxCuts+1)
	require.ErrorContains(t, s.Validate(), "the number of cuts is 257: from 0 to 256")
}

// A fault that needs a few things of a large scenario keeps these, and loses all else.
func TestShrinkLeavesOnlyWhatAViolationNeeds(t *testing.T) {
	// It goes wrong once participant 2 has pressed something with bit 3 on tick 12 or later.
	g := simtest.Witness().Plant(func(self driftback.Peer, c *config) {
		if step := c.Step; self == 0 {
			c.Step = func(s *state, in []input, pass *driftback.Pass) {
				step(s, in, pass)
				if last := in[len(in)-1]; pass.Tick() >= 12 && last.Buttons&8 != 0 {
					s.Count[0]++
				}
			}
		}
	})
	s := two()
	s.Ticks, s.Window, s.FingerprintEvery, s.PeerTimeout = 400, 20, 3, 5*simtest.Second
	s.Peers = append(s.Peers, simtest.Peer{Plays: []int{2, 3}, Phase: simtest.Second, InputDelay: 2})
	s.Faults = []simtest.Fault{
		{Kind: simtest.Block, At: simtest.Second, For: simtest.Second},
		{Kind: simtest.Freeze, At: 3 * simtest.Second, For: simtest.Second, From: []int{1}},
	}
	small, r, err := simtest.Shrink(g, s, simtest.DefaultBudget)
	require.NoError(t, err)
	require.Equal(t, simtest.RuleState, r.Violation.Rule)
	require.LessOrEqual(t, small.Ticks, 30)
	require.Len(t, small.Peers, 2)
	require.Empty(t, small.Links)
	require.Empty(t, small.Faults)
	require.Zero(t, small.Window+small.FingerprintEvery+int(small.PeerTimeout))
	cut := 0
	for _, c := range small.Cuts {
		require.LessOrEqual(t, c.To, small.Ticks)
		cut += c.To - c.From
	}
	require.GreaterOrEqual(t, cut, 2*small.Ticks-1, "one input is needed: %+v", small.Cuts)

	again, s2, err := simtest.Shrink(g, s, simtest.DefaultBudget)
	require.NoError(t, err)
	require.Equal(t, small, again, "it is the same each time")
	require.Equal(t, r, s2)

	none, _, err := simtest.Shrink(g, s, 0)
	require.NoError(t, err)
	require.Equal(t, s, none, "without a budget nothing is tried")
}
