package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/simtest"
)

// farApart is a match between two whose links call for input delays of 6 ticks, less what may be rolled back.
func farApart(seconds int) simtest.Scenario {
	s := two()
	s.Ticks = seconds * 60
	for i := range s.Links {
		s.Links[i] = simtest.Link{From: i, To: 1 - i, Latency: 100 * simtest.Millisecond, Jitter: 2 * simtest.Millisecond}
	}
	return s
}

// adapting is one in which delays adapt.
func adapting() simtest.Scenario {
	s := farApart(15)
	s.Adapt = simtest.Adapt{Min: 0, Max: 8}
	s.Peers[0].InputDelay, s.Peers[1].InputDelay = 0, 0
	return s
}

// keepingPace is one in which both keep pace, and the clock of one is fast.
func keepingPace(how simtest.Paces) simtest.Scenario {
	s := farApart(40)
	s.Window = 30
	s.Peers[0].Skew, s.Peers[1].Skew = 10_000, 0
	s.Peers[0].Paces, s.Peers[1].Paces = how, how
	return s
}

func TestDelaysAdaptAndPeersKeepPaceWhereAShapeAsksForIt(t *testing.T) {
	seeds := uint64(120)
	if testing.Short() {
		seeds = 40
	}
	var adapts, paces, filled, merged, even int
	var sum simtest.Report
	for seed := range seeds {
		plain := simtest.Witness().Shaped(seed, simtest.Shape{})
		s := simtest.Witness().Shaped(seed, simtest.Shape{Adapt: true})
		r, err := simtest.CheckScenario(simtest.Witness(), s)
		require.NoError(t, err)
		require.Nil(t, r.Violation, "seed %d: %v", seed, r.Violation)
		require.Equal(t, plain.Faults, s.Faults, "nothing else of a seed changes")
		require.Equal(t, plain.Links, s.Links)
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		count(&adapts, s.Adapt.Max > 0)
		count(&paces, s.Peers[0].Paces != "" || s.Peers[1].Paces != "")
		count(&filled, s.Fill)
		count(&merged, s.Merge)
		count(&even, r.Even)
		sum.Adaptations += r.Adaptations
		sum.LeftOut += r.LeftOut
		sum.RanExtra += r.RanExtra
	}
	for _, n := range []int{adapts, paces, filled, merged} {
		require.Greater(t, n, int(seeds/4))
	}
	require.Greater(t, sum.Adaptations, seeds)
	require.Greater(t, sum.LeftOut, seeds)
	require.Greater(t, sum.RanExtra, seeds)
	require.True(t, even > 0 || testing.Short())
}

func TestADelayThatAdaptsRisesAndEveryRuleHoldsWhateverBecomesOfWhatIsReadMeanwhile(t *testing.T) {
	for _, s := range []simtest.Scenario{{}, {Fill: true}, {Merge: true}, {Fill: true, Merge: true}} {
		a := adapting()
		a.Fill, a.Merge = s.Fill, s.Merge
		// Both ways: it rises, and falls when a delay has ended.
		a.Ticks = 40 * 60
		a.Links[0].Latency, a.Links[1].Latency = 20*simtest.Millisecond, 20*simtest.Millisecond
		a.Faults = []simtest.Fault{{Kind: simtest.Delay, At: 5 * simtest.Second, For: 6 * simtest.Second, By: 120 * simtest.Millisecond}}
		r, err := simtest.CheckScenario(simtest.Witness(), a)
		require.NoError(t, err)
		require.Nil(t, r.Violation, "fill %v, merge %v: %v", s.Fill, s.Merge, r.Violation)
		require.Greater(t, r.Adaptations, uint64(8), "up and down")
	}
}

func TestWhatFillAndMergeMakeIsInTheTruthOfDelaysThatChangeByHandToo(t *testing.T) {
	traces := map[uint64]bool{}
	for _, c := range []simtest.Scenario{{}, {Fill: true}, {Merge: true}, {Fill: true, Merge: true}} {
		s := changing(4)
		s.Fill, s.Merge = c.Fill, c.Merge
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		require.Nil(t, r.Violation, "fill %v, merge %v: %v", c.Fill, c.Merge, r.Violation)
		traces[r.Trace] = true
	}
	require.Len(t, traces, 4, "four different histories")

	// A game that has neither of its own is filled with nothing, and keeps what was read first.
	g := simtest.Witness()
	g.Fill, g.Merge = nil, nil
	s := changing(4)
	s.Fill, s.Merge = true, true
	r, err := simtest.Play(g, s)
	require.NoError(t, err)
	require.Nil(t, r.Violation, "%v", r.Violation)
}

func TestPeersThatKeepPaceComeToPredictEquallyManyTicks(t *testing.T) {
	for _, how := range []simtest.Paces{simtest.PacesByRate, simtest.PacesBySkips} {
		r, err := simtest.CheckScenario(simtest.Witness(), keepingPace(how))
		require.NoError(t, err)
		require.Nil(t, r.Violation, "%v", r.Violation)
		require.True(t, r.Even, "it was judged")
		require.Equal(t, how == simtest.PacesBySkips, r.LeftOut > 0)
	}
	// Control: who follows nothing is not judged, and would be uneven.
	r, err := simtest.Play(simtest.Witness(), keepingPace(""))
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.False(t, r.Even)
	require.Zero(t, r.LeftOut+r.RanExtra)
}

func TestAdviceThatIsWrongBreaksARule(t *testing.T) {
	wrong := func(change func(a *pacing.Advice)) func(a *pacing.Advice) { return change }
	for name, c := range map[string]struct {
		how   simtest.Paces
		plant func(a *pacing.Advice)
		says  string
	}{
		"the rate with the wrong sign": {simtest.PacesByRate, wrong(func(a *pacing.Advice) { a.Rate = min(max(2-a.Rate, pacing.MinCorrection), pacing.MaxRate) }), "it predicted"},
		"a rate that is never another": {simtest.PacesByRate, wrong(func(a *pacing.Advice) { a.Rate = 1 }), "it predicted"},
		"a rate without a bound":       {simtest.PacesByRate, wrong(func(a *pacing.Advice) { a.Rate += (a.Rate - 1) * 8 }), "times its rate"},
		"no tick is ever left out":     {simtest.PacesBySkips, wrong(func(a *pacing.Advice) { a.Skip = pacing.Keep }), "it predicted"},
		"every tick is to be left out": {simtest.PacesBySkips, wrong(func(a *pacing.Advice) { a.Skip = pacing.LeaveOut }), "it is to leave out"},
		"skips that are the wrong ones": {simtest.PacesBySkips, wrong(func(a *pacing.Advice) {
			a.Skip = [...]pacing.Skip{pacing.Keep, pacing.RunExtra, pacing.LeaveOut}[a.Skip]
		}), "it predicted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := keepingPace(c.how)
			r, err := simtest.Play(simtest.Witness().PlantAdvice(func(_ driftback.Peer, a *pacing.Advice) { c.plant(a) }), s)
			require.NoError(t, err)
			require.NotNil(t, r.Violation)
			require.Equal(t, simtest.RulePace, r.Violation.Rule, "%v", r.Violation)
			require.ErrorContains(t, r.Violation, c.says)
		})
	}
}

func TestADelayThatAdaptsWronglyBreaksARule(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(c *config)
		says  string
	}{
		"a longer one than is allowed":   {func(c *config) { c.AdaptDelay = session.AdaptDelay{Min: 0, Max: 9, Depth: session.None} }, "and 0 to 8 are allowed"},
		"one that nothing changes":       {func(c *config) { c.AdaptDelay = session.AdaptDelay{} }, "its links call for"},
		"one that allows deep rollbacks": {func(c *config) { c.AdaptDelay.Depth = 8; c.PredictionWindow = 20 }, "its links call for"},
	} {
		t.Run(name, func(t *testing.T) {
			s := adapting()
			s.Window = 20
			if name == "a longer one than is allowed" {
				s.Links[0].Latency, s.Links[1].Latency = 200*simtest.Millisecond, 200*simtest.Millisecond
			}
			r, err := simtest.Play(simtest.Witness().Plant(func(self driftback.Peer, config *config) { c.plant(config) }), s)
			require.NoError(t, err)
			require.NotNil(t, r.Violation)
			require.Equal(t, simtest.RuleDelay, r.Violation.Rule, "%v", r.Violation)
			require.ErrorContains(t, r.Violation, c.says)
		})
	}
}

func TestWhatMeansNothingOrIsNotJudgedBesideAdaptingIsRefused(t *testing.T) {
	for want, change := range map[string]func(s *simtest.Scenario){
		"max of adaptDelay is 61: from 0 to 60":                                    func(s *simtest.Scenario) { s.Adapt.Max = 61 },
		"min of adaptDelay is 9: from 0 to 8":                                      func(s *simtest.Scenario) { s.Adapt.Min = 9 },
		"depth of adaptDelay is -2":                                                func(s *simtest.Scenario) { s.Adapt.Depth = -2 },
		"depth of adaptDelay is 2 and max is 0":                                    func(s *simtest.Scenario) { s.Adapt = simtest.Adapt{Depth: 2} },
		"min of adaptDelay is 0 and window is -1":                                  func(s *simtest.Scenario) { s.Window = simtest.None },
		"adaptDelay is set, and delayEvery, pauseEvery, rejoin":                    func(s *simtest.Scenario) { s.DelayEvery = 5 },
		"adaptDelay is set, and delayEvery, pauseEvery, rejoin, or":                func(s *simtest.Scenario) { s.PauseEvery = 5 },
		"adaptDelay is set, and delayEvery, pauseEvery, rejoin, or a fault":        func(s *simtest.Scenario) { s.Rejoin, s.PlayOn, s.PeerTimeout = true, true, 4*simtest.Second },
		"adaptDelay is set, and delayEvery, pauseEvery, rejoin, or a fault that":   fault(simtest.Fault{Kind: simtest.Flood, For: simtest.Second, Share: 0.1, From: []int{0}}),
		"fill or merge is set, and neither delayEvery nor adaptDelay":              func(s *simtest.Scenario) { s.Adapt, s.Fill = simtest.Adapt{}, true },
		`paces of peer 1 is "fast": want "rate" or "skips", or nothing`:            func(s *simtest.Scenario) { s.Peers[1].Paces = "fast" },
		"publishEvery of peer 0 is 30: at most as many ticks as its shortest inpu": func(s *simtest.Scenario) { s.Peers[0].PublishEvery, s.Peers[0].InputDelay = 30, 30 },
	} {
		s := adapting()
		require.NoError(t, s.Validate())
		change(&s)
		require.ErrorContains(t, s.Validate(), "simtest: "+want)
	}
}
