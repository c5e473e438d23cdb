package simtest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/simtest"
)

// two is a plain scenario to change.
func two() simtest.Scenario {
	return simtest.Scenario{
		Version: simtest.Version, Seed: 1, Ticks: 200, Frame: 16_667, Hold: 5,
		Peers: []simtest.Peer{{Plays: []int{0}}, {Plays: []int{1}, Phase: 3 * simtest.Millisecond}},
		Links: []simtest.Link{
			{From: 0, To: 1, Latency: 60 * simtest.Millisecond},
			{From: 1, To: 0, Latency: 60 * simtest.Millisecond},
		},
	}
}

func TestAScenarioIsReadAsItWasWritten(t *testing.T) {
	kinds := map[simtest.Kind]bool{}
	for seed := range uint64(600) {
		s := simtest.Generate(seed)
		require.NoError(t, s.Validate(), "seed %d", seed)
		again, err := simtest.Parse(s.JSON())
		require.NoError(t, err)
		require.Equal(t, s, again)
		require.Equal(t, s, simtest.Generate(seed))
		for _, f := range s.Faults {
			kinds[f.Kind] = true
		}
	}
	require.Len(t, kinds, simtest.GeneratedKinds(), "every kind of fault is generated")
	require.NotEqual(t, simtest.Generate(1).JSON(), simtest.Generate(2).JSON())
}

// Each of a seed's sequences is its own: the links of a seed do not depend on how many
// faults it has.
func TestWhatASeedGivesIsPinnedByItsParts(t *testing.T) {
	s := simtest.Generate(7)
	s.Faults = nil
	a, err := simtest.Play(simtest.Witness(), s)
	require.NoError(t, err)
	s.Faults = []simtest.Fault{{Kind: simtest.Duplicate, At: 500 * simtest.Second, For: simtest.Second, Share: 1}}
	b, err := simtest.Play(simtest.Witness(), s)
	require.NoError(t, err)
	require.Equal(t, a.Datagrams, b.Datagrams)
	require.Equal(t, a.Lost, b.Lost)
	require.Equal(t, a.Rollbacks, b.Rollbacks)
	require.Positive(t, a.Rollbacks)
}

func TestAScenarioOutOfItsBoundsIsRefusedInASentence(t *testing.T) {
	for want, change := range map[string]func(s *simtest.Scenario){
		"version is 1: from 2 to 2":                                             func(s *simtest.Scenario) { s.Version = 1 },
		"ticks is 0: from 1 to 100000":                                          func(s *simtest.Scenario) { s.Ticks = 0 },
		"frame is 999: from 1000 to 100000":                                     func(s *simtest.Scenario) { s.Frame = 999 },
		"hold is 1001":                                                          func(s *simtest.Scenario) { s.Hold = 1001 },
		"window is 257: from 0 to 256 are allowed, or -1 for none":              func(s *simtest.Scenario) { s.Window = 257 },
		"fingerprintEvery is 2049":                                              func(s *simtest.Scenario) { s.FingerprintEvery = 2049 },
		"peerTimeout is 1: from 3000000 to 60000000 are allowed, or 0 for ever": func(s *simtest.Scenario) { s.PeerTimeout = 1 },
		"rejoinGrace is -1":                                                     func(s *simtest.Scenario) { s.RejoinGrace = -1 },
		"rejoinGrace is 1000 and peerTimeout is 0":                              func(s *simtest.Scenario) { s.RejoinGrace = simtest.Millisecond },
		"effectTolerance is 61: from 0 to 60":                                   func(s *simtest.Scenario) { s.EffectTolerance = 61 },
		"haltAtLimit is set and window is -1": func(s *simtest.Scenario) {
			s.HaltAtLimit, s.Window, s.Peers[0].InputDelay, s.Peers[1].InputDelay = true, simtest.None, 1, 1
		},
		"bytesPerSecond from peer 0 to 1 is 15999: from 16000 to": func(s *simtest.Scenario) { s.Links[0].BytesPerSecond = 15999 },
		"rate of fault 0 (loss) is 4000: from 0 to 0":             fault(simtest.Fault{Kind: simtest.Loss, For: simtest.Second, Share: 1, Rate: 4000}),
		"tick of fault 0 (loss) is 1: from 0 to 0":                fault(simtest.Fault{Kind: simtest.Loss, For: simtest.Second, Share: 1, Tick: 1}),
		"the number of peers is 0":                                func(s *simtest.Scenario) { s.Peers = nil },
		"the number of peers is 17":                               func(s *simtest.Scenario) { s.Peers = make([]simtest.Peer, 17) },
		"the peers play 17 participants": func(s *simtest.Scenario) {
			s.Peers[0].Plays = make([]int, 16)
		},
		"the number of participants of peer 1 is 0":                func(s *simtest.Scenario) { s.Peers[1].Plays = nil },
		"peer 1 plays [0]: in ascending order":                     func(s *simtest.Scenario) { s.Peers[1].Plays[0] = 0 },
		"peer 1 plays [2]":                                         func(s *simtest.Scenario) { s.Peers[1].Plays[0] = 2 },
		"peer 0 plays [2 0]":                                       func(s *simtest.Scenario) { s.Peers[0].Plays = []int{2, 0} },
		"inputDelay of peer 0 is 61":                               func(s *simtest.Scenario) { s.Peers[0].InputDelay = 61 },
		"inputDelay of peer 0 is 0 and window is -1":               func(s *simtest.Scenario) { s.Window = simtest.None },
		"redundancy of peer 1 is -2":                               func(s *simtest.Scenario) { s.Peers[1].Redundancy = -2 },
		"phase of peer 1 is -1":                                    func(s *simtest.Scenario) { s.Peers[1].Phase = -1 },
		"skew of peer 0 is 1000000":                                func(s *simtest.Scenario) { s.Peers[0].Skew = 1_000_000 },
		"ahead of peer 0 is -86400000001":                          func(s *simtest.Scenario) { s.Peers[0].Ahead = -86_400_000_001 },
		"a link from 0 to 2: it joins two of the peers 0 to 1":     func(s *simtest.Scenario) { s.Links[0].To = 2 },
		"a link from 0 to 0":                                       func(s *simtest.Scenario) { s.Links[0].To = 0 },
		"the link from peer 0 to 1 is given twice":                 func(s *simtest.Scenario) { s.Links[1] = s.Links[0] },
		"latency from peer 0 to 1 is 1000001":                      func(s *simtest.Scenario) { s.Links[0].Latency = 1_000_001 },
		"loss from peer 0 to 1 is 0.6: from 0 to 0.5":              func(s *simtest.Scenario) { s.Links[0].Loss = 0.6 },
		"reorder from peer 0 to 1 is -1":                           func(s *simtest.Scenario) { s.Links[0].Reorder = -1 },
		`fault 0 is of kind "blood": want one of [loss`:            fault(simtest.Fault{Kind: "blood"}),
		"at of fault 0 (loss) is -1":                               fault(simtest.Fault{Kind: simtest.Loss, At: -1, For: simtest.Second, Share: 1}),
		"for of fault 0 (loss) is 0: from 1000 to":                 fault(simtest.Fault{Kind: simtest.Loss, Share: 1}),
		"for of fault 0 (crash) is 1000000: from 0 to 0":           fault(simtest.Fault{Kind: simtest.Crash, From: []int{0}, For: simtest.Second}),
		"share of fault 0 (loss) is 1.5":                           fault(simtest.Fault{Kind: simtest.Loss, For: simtest.Second, Share: 1.5}),
		"share of fault 0 (block) is 1, which means nothing to it": fault(simtest.Fault{Kind: simtest.Block, For: simtest.Second, Share: 1}),
		"by of fault 0 (delay) is 0":                               fault(simtest.Fault{Kind: simtest.Delay, For: simtest.Second}),
		"every of fault 0 (bursts) is 1":                           fault(simtest.Fault{Kind: simtest.Bursts, For: simtest.Second, Share: 1, Every: 1}),
		"every of fault 0 (bursts) is 10000 and for is 60000000: that may be 1000 times as long": fault(simtest.Fault{
			Kind: simtest.Bursts, For: 60 * simtest.Second, Share: 1, Every: simtest.MinFaultEvery,
		}),
		"the number of peers in from of fault 0 (freeze) is 0":           fault(simtest.Fault{Kind: simtest.Freeze, For: simtest.Second}),
		"the number of peers in to of fault 0 (freeze) is 1":             fault(simtest.Fault{Kind: simtest.Freeze, For: simtest.Second, From: []int{0}, To: []int{1}}),
		"fault 0 (freeze) names the peers [2]: each of 0 to 1":           fault(simtest.Fault{Kind: simtest.Freeze, For: simtest.Second, From: []int{2}}),
		"fault 0 (freeze) names the peers [1 1]":                         fault(simtest.Fault{Kind: simtest.Freeze, For: simtest.Second, From: []int{1, 1}}),
		"fault 0 (partition) is between no two peers":                    fault(simtest.Fault{Kind: simtest.Partition, For: simtest.Second, From: []int{0, 1}}),
		"fault 0 (block) is between no two peers":                        fault(simtest.Fault{Kind: simtest.Block, For: simtest.Second, From: []int{1}, To: []int{1}}),
		"a peer crashes and peerTimeout is 0: nobody would ever miss it": fault(simtest.Fault{Kind: simtest.Crash, From: []int{0}}),
		"rate of fault 0 (throttle) is 0: from 2000 to":                  fault(simtest.Fault{Kind: simtest.Throttle, For: simtest.Second}),
		"for of fault 0 (leave) is 1000000: from 0 to 0":                 fault(simtest.Fault{Kind: simtest.Leave, From: []int{0}, For: simtest.Second}),
		"the number of peers in from of fault 0 (halt) is 0":             fault(simtest.Fault{Kind: simtest.Halt}),
		"fault 0 (down) is between no two peers":                         fault(simtest.Fault{Kind: simtest.Down, For: simtest.Second, From: []int{1}, To: []int{1}}),
		"fault 0 (down) and peerTimeout is 0":                            fault(simtest.Fault{Kind: simtest.Down, For: simtest.Second}),
		"at of fault 0 (diverge) is 1: from 0 to 0":                      fault(simtest.Fault{Kind: simtest.Diverge, From: []int{0}, At: 1}),
		"tick of fault 0 (diverge) is -1: from 0 to 100000":              fault(simtest.Fault{Kind: simtest.Diverge, From: []int{0}, Tick: -1}),
		"fault 0 (diverge) names the peers [0 1]: it is one peer's":      fault(simtest.Fault{Kind: simtest.Diverge, From: []int{0, 1}}),
		"fault 0 (diverge) and fingerprintEvery is -1: nobody would notice": func(s *simtest.Scenario) {
			s.FingerprintEvery = simtest.None
			fault(simtest.Fault{Kind: simtest.Diverge, From: []int{0}})(s)
		},
		"fault 0 (diverge) is the only peer's": func(s *simtest.Scenario) {
			s.Peers, s.Links = s.Peers[:1], nil
			fault(simtest.Fault{Kind: simtest.Diverge, From: []int{0}})(s)
		},
		"fault 1 (diverge) is the second: one world may be another": func(s *simtest.Scenario) {
			fault(simtest.Fault{Kind: simtest.Diverge, From: []int{0}})(s)
			fault(simtest.Fault{Kind: simtest.Diverge, From: []int{1}})(s)
		},
		"every peer crashes: one must be left to tell": func(s *simtest.Scenario) {
			s.PeerTimeout = simtest.MinPeerTimeout
			fault(simtest.Fault{Kind: simtest.Crash, From: []int{0, 1}})(s)
		},
		"peer 0 halts the match, and comes back to it": func(s *simtest.Scenario) {
			s.PlayOn, s.Rejoin, s.PeerTimeout = true, true, 3*simtest.Second
			s.Faults = []simtest.Fault{{Kind: simtest.Halt, From: []int{0}, At: simtest.Second}, {Kind: simtest.Restart, From: []int{0}, At: simtest.Second, For: simtest.Second}}
		},
		"the number of faults is 65: from 0 to 64 are allowed": func(s *simtest.Scenario) { s.Faults = make([]simtest.Fault, 65) },
	} {
		t.Run(want, func(t *testing.T) {
			s := two()
			require.NoError(t, s.Validate())
			change(&s)
			require.ErrorContains(t, s.Validate(), "simtest: "+want)
			_, err := simtest.Play(simtest.Witness(), s)
			require.ErrorContains(t, err, "simtest: "+want, "and nothing is played")
		})
	}
}

func fault(f simtest.Fault) func(s *simtest.Scenario) {
	return func(s *simtest.Scenario) { s.Faults = append(s.Faults, f) }
}

func TestAFileThatIsNoScenarioIsRefusedInASentence(t *testing.T) {
	good := string(two().JSON())
	for name, c := range map[string]struct{ file, want string }{
		"nothing":                 {"", "simtest: the scenario is not JSON"},
		"half of one":             {good[:len(good)/2], "simtest: the scenario is not JSON"},
		"no version":              {"{}", "simtest: the scenario has version 0, and this program plays version 2"},
		"another version":         {strings.Replace(good, `"version": 2`, `"version": 9, "new": true`, 1), "simtest: the scenario has version 9"},
		"a field nobody knows":    {strings.Replace(good, `"hold"`, `"holds"`, 1), `unknown field "holds"`},
		"one deep inside":         {strings.Replace(good, `"latency"`, `"lag"`, 1), `unknown field "lag"`},
		"two of them":             {good + good, "simtest: the scenario is not JSON"},
		"something out of bounds": {strings.Replace(good, `"ticks": 200`, `"ticks": 200000`, 1), "simtest: ticks is 200000"},
		"more than a file may be": {good + strings.Repeat(" ", simtest.MaxScenarioSize), "bytes: at most 1048576 are read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := simtest.Parse([]byte(c.file))
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := simtest.Parse([]byte(good))
	require.NoError(t, err)
}

// Whatever a valid scenario says, the engine breaks no rule in it and every match ends.
func FuzzScenario(f *testing.F) {
	for seed := range uint64(40) {
		s := simtest.Shape{Adapt: seed%4 == 0}.Generate(seed)
		s.Ticks = 60
		f.Add(s.JSON())
	}
	f.Add(two().JSON())
	f.Add([]byte(`{"version":2,"ticks":9}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := simtest.Parse(b)
		if err != nil {
			return
		}
		again, err := simtest.Parse(s.JSON())
		require.NoError(t, err)
		require.Equal(t, string(s.JSON()), string(again.JSON()))
		if seconds, changes := s.Cost(); seconds > 600 || changes > 1000 || s.Ticks > 120 || len(s.Peers) > 4 {
			return
		}
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		if r.Violation != nil {
			t.Fatalf("%v\n%s", r.Violation, s.JSON())
		}
		twice, err := simtest.Play(simtest.Witness(), again)
		require.NoError(t, err)
		require.Equal(t, r, twice)
	})
}
