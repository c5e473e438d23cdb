package simtest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/simtest"
)

func TestEveryRarePathIsForcedAndNoRuleIsBroken(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 40
	}
	var fired, matches [buggify.Count]uint64
	generated := 0
	for seed := range seeds {
		s := simtest.Generate(seed)
		if s.Buggify {
			generated++
		}
		s.Buggify = true
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		if r.Violation != nil {
			t.Fatalf("seed %d: %v\n%s", seed, r.Violation, s.JSON())
		}
		for _, c := range r.Buggified {
			fired[c.Site] += c.Fired
			matches[c.Site]++
		}
	}
	for site := range buggify.Site(buggify.Count) {
		t.Logf("%v: %d times in %d of %d matches", site, fired[site], matches[site], seeds)
		require.True(t, fired[site] > 0 || testing.Short(), "%v never fired", site)
	}
	require.InDelta(t, float64(seeds)/3, generated, float64(seeds)/8, "a third of what is generated")
}

func TestWhereNothingIsForcedTheEngineIsAsItWas(t *testing.T) {
	play := func(change func(s *simtest.Scenario)) simtest.Report {
		s := two()
		change(&s)
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		require.Nil(t, r.Violation)
		require.EqualValues(t, s.Ticks, r.Confirmed)
		return r
	}
	plain := play(func(*simtest.Scenario) {})
	require.Empty(t, plain.Buggified)
	require.NotContains(t, plain.String(), "forced")

	forced := func(s *simtest.Scenario) { s.Buggify = true }
	r := play(forced)
	require.NotEmpty(t, r.Buggified)
	require.NotEqual(t, plain.Trace, r.Trace)
	require.Contains(t, r.String(), ", rare paths forced ")
	require.Equal(t, r, play(forced), "it is drawn from the scenario alone")

	// A session without sites plays as if the package were not there.
	g := simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.Buggify = nil })
	s := two()
	forced(&s)
	same, err := simtest.Play(g, s)
	require.NoError(t, err)
	require.Equal(t, plain.Trace, same.Trace)
}

// Of one site alone, at every peer: the match has the same end.
func TestEachRarePathAloneIsSurvived(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2 // in which some do not fire
	}
	for site := range buggify.Site(buggify.Count) {
		t.Run(site.String(), func(t *testing.T) {
			fired := uint64(0)
			for seed := range seeds {
				s := simtest.Generate(seed)
				s.Buggify, s.PeerTimeout, s.RejoinGrace, s.HaltAtLimit = true, 20*simtest.Second, simtest.Second, false
				var all []*buggify.Sites
				g := simtest.Witness().Plant(func(p driftback.Peer, c *config) {
					c.Buggify = buggify.Only(seed<<8|uint64(p), site)
					all = append(all, c.Buggify)
				})
				r, err := simtest.Play(g, s)
				require.NoError(t, err)
				if r.Violation != nil {
					t.Fatalf("seed %d: %v", seed, r.Violation)
				}
				for _, s := range all {
					fired += s.Fired(site)
				}
			}
			require.True(t, fired > 0 || testing.Short())
		})
	}
}

func TestShrinkingForcesNothingThatIsNotNeeded(t *testing.T) {
	s := two()
	s.Buggify = true
	small, r, err := simtest.Shrink(broken(), s, 60)
	require.NoError(t, err)
	require.NotNil(t, r.Violation)
	require.False(t, small.Buggify)

	// A step that errs where rare paths are forced alone keeps them.
	g := simtest.Witness().Plant(func(self driftback.Peer, c *config) {
		if self == 0 && c.Buggify != nil {
			sound := c.Step
			c.Step = func(w *state, in []input, pass *driftback.Pass) {
				sound(w, in, pass)
				w.Count[0]++
			}
		}
	})
	small, r, err = simtest.Shrink(g, s, 60)
	require.NoError(t, err)
	require.NotNil(t, r.Violation)
	require.True(t, small.Buggify)
}

func TestRunSaysHowManyRarePathsWereForced(t *testing.T) {
	r := record(t, func(t testing.TB) { simtest.Run(t, simtest.Witness(), simtest.Options{Seeds: 6}) })
	require.False(t, r.failed, r.log.String())
	require.Contains(t, r.log.String(), "rare paths forced ")
	require.False(t, strings.Contains(r.log.String(), "forced 0 times"), r.log.String())
}
