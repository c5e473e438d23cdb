package simtest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/transport"
)

type watchConfig = session.WatchConfig[state, input]

// watched is a scenario of 600 ticks that three watch: from the beginning, from a state that is
// handed over in the middle, and through the second.
func watched() simtest.Scenario {
	const ms = simtest.Millisecond
	s := two()
	s.Ticks, s.History, s.PeerTimeout = 600, simtest.MinHistory, simtest.MinPeerTimeout
	s.Watchers = []simtest.Watcher{
		{Latency: 30 * ms, Jitter: 5 * ms, Loss: 0.1, Feeders: []int{1}},
		{At: 6 * simtest.Second, Latency: 40 * ms, Delay: 20},
		{At: 7 * simtest.Second, Latency: 20 * ms, Feeders: []int{simtest.FirstWatcher + 1}},
	}
	return s
}

func TestThoseWhoWatchSeeTheMatchToItsEnd(t *testing.T) {
	r, err := simtest.CheckScenario(simtest.Witness(), watched())
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Len(t, r.Watchers, 3)
	for i, w := range r.Watchers {
		require.True(t, w.Finished, "watcher %d", i)
		require.Equal(t, driftback.Tick(600), w.Next)
		require.Equal(t, i > 0, w.Began > 0, "the later two are given a state")
	}
}

func TestSomeScenariosAreWatchedAndEveryRuleHolds(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 100
	}
	matches, finished, given, through, named := 0, 0, 0, 0, 0
	for seed := range seeds {
		s := simtest.Generate(seed)
		if len(s.Watchers) == 0 {
			continue
		}
		matches++
		s.Seed |= 1 // which has it played without them too
		r, err := simtest.CheckScenario(simtest.Witness(), s)
		require.NoError(t, err)
		require.Nil(t, r.Violation, "seed %d: %v", seed, r.Violation)
		for i, w := range r.Watchers {
			switch {
			case w.Finished:
				finished++
				if f := s.Watchers[i].Feeders; len(f) == 1 && f[0] >= simtest.FirstWatcher {
					through++
				}
			case errors.Is(w.Err, session.ErrNoFeeder):
				named++
			}
			if w.Began > 0 {
				given++
			}
		}
	}
	t.Logf("%d of %d matches were watched: to the end by %d, of them %d through another; %d were given a state, and %d ended by name", matches, seeds, finished, through, given, named)
	require.Greater(t, matches, int(seeds)/12)
	require.Greater(t, finished, matches/2)
	require.Positive(t, through)
	require.Positive(t, named)
	require.True(t, given > 0 || testing.Short())
}

// deafAfter is a transport that hears nothing on the reliable channel after a while.
type deafAfter struct {
	transport.Transport
	left int
}

func (d *deafAfter) Receive() (transport.Message, bool) {
	for {
		m, ok := d.Transport.Receive()
		if d.left--; !ok || d.left > 0 || m.Kind != transport.Reliable {
			return m, ok
		}
	}
}

func TestWhatGoesWrongAroundThoseWhoWatchBreaksARule(t *testing.T) {
	for name, c := range map[string]struct {
		plant    func(self driftback.Peer, c *config)
		watch    func(c *watchConfig)
		scenario func(s *simtest.Scenario)
		rule     simtest.Rule
	}{
		"nothing": {},
		"a step that differs for who watches": {
			watch: func(c *watchConfig) {
				step := c.Step
				c.Step = func(s *state, in []input, pass *driftback.Pass) {
					if step(s, in, pass); pass.Tick() == 500 {
						s.Count[0]++
					}
				}
			}, rule: simtest.RuleWatch,
		},
		"an effect that who watches alone has": {
			watch: func(c *watchConfig) {
				step := c.Step
				c.Step = func(s *state, in []input, pass *driftback.Pass) {
					if step(s, in, pass); pass.Tick() == 500 {
						pass.Raise(driftback.Effect{Kind: 77})
					}
				}
			}, rule: simtest.RuleWatch,
		},
		"who watches is ahead of its delay": {
			watch: func(c *watchConfig) { c.Delay = 0 }, rule: simtest.RuleWatch,
		},
		"who watches hears nothing any more": {
			watch: func(c *watchConfig) { c.Transport = &deafAfter{c.Transport, 60} }, rule: simtest.RuleWatchEnd,
		},
		"a player lets nobody watch": {
			plant: func(_ driftback.Peer, c *config) { c.MaxWatchers = 0 }, rule: simtest.RuleHonest,
		},
		"a player who sends more because somebody watches": {
			plant: func(_ driftback.Peer, c *config) {
				if c.MaxWatchers > 0 {
					c.Redundancy = 5
				}
			},
			scenario: func(s *simtest.Scenario) { *s = plentiful(*s) },
			rule:     simtest.RuleAloof,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := watched()
			if c.scenario != nil {
				c.scenario(&s)
			}
			g := simtest.Witness()
			if c.plant != nil {
				g = g.Plant(c.plant)
			}
			r, err := simtest.CheckScenario(g.PlantWatch(func(self driftback.Peer, w *watchConfig) {
				if self == simtest.FirstWatcher+1 && c.watch != nil {
					c.watch(w)
				}
			}), s)
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

// What befalls those who watch and those who feed them: each goes on or ends by name.
func TestWhatBefallsThoseWhoWatchEndsByNameOrPasses(t *testing.T) {
	fault := func(kind simtest.Kind) simtest.Fault {
		return simtest.Fault{Kind: kind, At: 8 * simtest.Second}
	}
	lasting := func(kind simtest.Kind, seconds simtest.Micros) simtest.Fault {
		f := fault(kind)
		f.For = seconds * simtest.Second
		return f
	}
	for name, c := range map[string]struct {
		of       int // whose fault it is
		fault    simtest.Fault
		finished [3]bool
	}{
		"a block that passes":             {1, lasting(simtest.Block, 1), [3]bool{true, true, true}},
		"a link that is down for a while": {1, lasting(simtest.Down, 1), [3]bool{true, true, true}},
		"a freeze that passes":            {1, lasting(simtest.Freeze, 1), [3]bool{true, true, true}},
		"the crash of one who feeds":      {1, fault(simtest.Crash), [3]bool{true, false, false}},
		"one who feeds leaves":            {1, fault(simtest.Leave), [3]bool{true, false, false}},
		"a link that stays down":          {0, lasting(simtest.Down, 60), [3]bool{false, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := watched()
			s.Watchers[c.of].Faults = []simtest.Fault{c.fault}
			r, err := simtest.CheckScenario(simtest.Witness(), s)
			require.NoError(t, err)
			require.Nil(t, r.Violation, "%v", r.Violation)
			require.Equal(t, driftback.Tick(600), r.Confirmed)
			for i, w := range r.Watchers {
				require.Equal(t, c.finished[i], w.Finished, "watcher %d: %v", i, w.Err)
			}
			require.Less(t, r.Simulated, 12*time.Second, "nobody who plays waits for them")
		})
	}
}

func TestAWatcherOutOfItsBoundsIsRefusedInASentence(t *testing.T) {
	for want, change := range map[string]func(s *simtest.Scenario){
		"the number of watchers is 4: from 0 to 3": func(s *simtest.Scenario) { s.Watchers = make([]simtest.Watcher, 4) },
		"history is 127: from 128 to 1048576":      func(s *simtest.Scenario) { s.History = 127 },
		"delay of watcher 0 is -1":                 func(s *simtest.Scenario) { s.Watchers[0].Delay = -1 },
		"loss of watcher 1 is 0.6":                 func(s *simtest.Scenario) { s.Watchers[1].Loss = 0.6 },
		"watcher 0 is fed by the peers [16]":       func(s *simtest.Scenario) { s.Watchers[0].Feeders = []int{simtest.FirstWatcher} },
		"watcher 0 is fed by the peers [2]":        func(s *simtest.Scenario) { s.Watchers[0].Feeders = []int{2} },
		"fault 0 of watcher 2 is of kind \"halt\"": func(s *simtest.Scenario) { s.Watchers[2].Faults = []simtest.Fault{{Kind: simtest.Halt}} },
		"share of fault 0 (loss) is 0": func(s *simtest.Scenario) {
			s.Watchers[2].Faults = []simtest.Fault{{Kind: simtest.Loss, For: simtest.Second}}
		},
		"fault 0 of watcher 2 (down) names the peers [18]": func(s *simtest.Scenario) {
			s.Watchers[2].Faults = []simtest.Fault{{Kind: simtest.Down, For: simtest.Second, To: []int{18}}}
		},
		"somebody watches and somebody is hostile": fault(simtest.Fault{Kind: simtest.Equivocate, From: []int{0}}),
	} {
		t.Run(want, func(t *testing.T) {
			s := watched()
			require.NoError(t, s.Validate())
			change(&s)
			require.ErrorContains(t, s.Validate(), "simtest: "+want)
		})
	}
}
