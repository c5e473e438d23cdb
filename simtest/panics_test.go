package simtest_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/simtest"
)

// tooLate panics in a tick that comes later than Sync looks, if two play, and in the first
// tick, elsewhere, if one does.
func tooLate(players int) game {
	g := stepping(func(s *state, in []input, _ *driftback.Pass) {
		if in[1].Buttons == 0 {
			s.Count[1]++
		}
		if s.Ticks == 300 {
			panic("it is too late")
		}
	})
	g.Players = players
	return g
}

func TestAPanicInAMatchIsReportedAndExplained(t *testing.T) {
	dir := t.TempDir()
	o := simtest.Options{Seeds: 30, Dir: dir, Budget: 60}
	r := record(t, func(t testing.TB) { simtest.Run(t, tooLate(2), o) })
	require.True(t, r.failed)
	for range 2 {
		said := r.log.String()
		require.Contains(t, said, "simtest: broken: "+string(simtest.RuleInternal))
		require.Regexp(t, `it panicked at .*tooLate.*, panics_test.go:\d+: it is too late`, said)
		require.Regexp(t, `\n  without a network: simtest: the step panics\n  tick 299: with 2 participants it panicked at .*, panics_test.go:\d+: it is too late`, said)
		require.Contains(t, said, "commit ")

		// The file that was kept says so again.
		kept, err := filepath.Glob(filepath.Join(dir, "simtest-*.json"))
		require.NoError(t, err)
		require.Len(t, kept, 1)
		set(t, simtest.ScenarioFlag, kept[0])
		r = record(t, func(t testing.TB) { simtest.Run(t, tooLate(2), simtest.Options{}) })
		require.True(t, r.failed)
	}
}

func TestShrinkingKeepsThePlaceOfAPanicAndTheNumberOfPlayers(t *testing.T) {
	// In a game for any number only the place says that it is another panic.
	for _, players := range []int{0, 2} {
		g := tooLate(players)
		s := two()
		s.Ticks = 400
		small, r, err := simtest.Shrink(g, s, 200)
		require.NoError(t, err)
		require.Equal(t, simtest.RuleInternal, r.Violation.Rule)
		require.Contains(t, r.Violation.Detail, "it is too late")
		require.Equal(t, 2, participants(small))
		require.Equal(t, 300, small.Ticks, "and it does get smaller")
	}

	// So too where nothing but the rule would forbid one player.
	g := duel()
	step := g.Step
	g.Step = func(x *[2]int32, in []Pedals, pass *driftback.Pass) {
		if step(x, in, pass); pass.Tick() == 20 {
			panic("late")
		}
	}
	small, _, err := simtest.Shrink(g, two(), 200)
	require.NoError(t, err)
	require.Equal(t, 2, participants(small))
	g.Players = 0
	small, _, err = simtest.Shrink(g, two(), 200)
	require.NoError(t, err)
	require.Equal(t, 1, participants(small), "the control")
}

func TestAPanicInTheSimulationBesideTheMatchIsAViolation(t *testing.T) {
	g := tooLate(2)
	g = g.Plant(func(_ driftback.Peer, c *config) {
		step := c.Step
		c.Step = func(s *state, in []input, pass *driftback.Pass) {
			defer func() { _ = recover() }() // the peers get over it
			step(s, in, pass)
		}
	})
	r, err := simtest.Play(g, func() simtest.Scenario { s := two(); s.Ticks = 400; return s }())
	require.NoError(t, err)
	require.NotNil(t, r.Violation)
	require.Equal(t, driftback.Tick(299), r.Violation.Tick, "%v", r.Violation)
	require.Contains(t, r.Violation.Detail, "one simulation that is given every input on time panicked at ")
}

func TestExplainNeverPanics(t *testing.T) {
	g := simtest.Witness()
	g.Start = func(uint64, *state) { panic("no start") }
	f := simtest.Explain(g, two())
	require.NotNil(t, f)
	require.Regexp(t, `another of the game's functions panicked at .*, panics_test.go:\d+: no start`, f.Error())
	require.Nil(t, simtest.Explain(simtest.Witness(), two()))
	require.Nil(t, simtest.Explain(simtest.Witness(), simtest.Scenario{}), "what cannot be played explains nothing")
}
