package simtest_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/simtest"
)

// five is a match of five that plays on.
func five(faults ...simtest.Fault) simtest.Scenario {
	s := simtest.Scenario{
		Version: simtest.Version, Seed: 1, Ticks: 600, Frame: 16_667, Hold: 5,
		PeerTimeout: simtest.MinPeerTimeout, PlayOn: true, Faults: faults,
	}
	for i := range 5 {
		s.Peers = append(s.Peers, simtest.Peer{Plays: []int{i}, Phase: simtest.Micros(i) * simtest.Millisecond})
		for j := range 5 {
			if i != j {
				s.Links = append(s.Links, simtest.Link{From: i, To: j, Latency: 30 * simtest.Millisecond, Jitter: 10 * simtest.Millisecond})
			}
		}
	}
	return s
}

// crashed is one in which a peer does so.
var crashed = five(simtest.Fault{Kind: simtest.Crash, At: 3 * simtest.Second, From: []int{2}})

// finished returns the peers that have confirmed the last tick.
func finished(s *simtest.Scenario, r *simtest.Report) (list []int) {
	for i, p := range r.Peers {
		if int(p.Confirmed) == s.Ticks {
			list = append(list, i)
		}
	}
	return list
}

func TestSurvivorsPlayOnIfTheyAreAMajority(t *testing.T) {
	const at, long = 3 * simtest.Second, 6 * simtest.Second
	for name, c := range map[string]struct {
		faults   []simtest.Fault
		finished []int
		views    int
	}{
		"one crashes":               {[]simtest.Fault{{Kind: simtest.Crash, At: at, From: []int{2}}}, []int{0, 1, 3, 4}, 1},
		"two crash at once":         {[]simtest.Fault{{Kind: simtest.Crash, At: at, From: []int{0, 4}}}, []int{1, 2, 3}, 1},
		"two crash one by one":      {[]simtest.Fault{{Kind: simtest.Crash, At: at, From: []int{0}}, {Kind: simtest.Crash, At: at + simtest.Second, From: []int{1}}}, []int{2, 3, 4}, 2},
		"one leaves":                {[]simtest.Fault{{Kind: simtest.Leave, At: at, From: []int{0}}}, []int{1, 2, 3, 4}, 1},
		"three leave one by one":    {[]simtest.Fault{{Kind: simtest.Leave, At: at, From: []int{0}}, {Kind: simtest.Leave, At: at + simtest.Second, From: []int{1}}, {Kind: simtest.Leave, At: at + 2*simtest.Second, From: []int{2}}}, []int{3, 4}, 3},
		"three crash at once":       {[]simtest.Fault{{Kind: simtest.Crash, At: at, From: []int{0, 1, 2}}}, nil, 0},
		"two are beyond a break":    {[]simtest.Fault{{Kind: simtest.Partition, At: at, For: long, From: []int{1, 3}}}, []int{0, 2, 4}, 1},
		"three are beyond a break":  {[]simtest.Fault{{Kind: simtest.Partition, At: at, For: long, From: []int{0, 1, 3}}}, []int{0, 1, 3}, 1},
		"one sleeps":                {[]simtest.Fault{{Kind: simtest.Freeze, At: at, For: long, From: []int{1}}}, []int{0, 2, 3, 4}, 1},
		"a link is dead":            {[]simtest.Fault{{Kind: simtest.Down, At: at, For: long, From: []int{1}, To: []int{3}}}, []int{0, 1, 2, 4}, 1},
		"a break that ends in time": {[]simtest.Fault{{Kind: simtest.Partition, At: at, For: 2 * simtest.Second, From: []int{1, 3}}}, []int{0, 1, 2, 3, 4}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := five(c.faults...)
			r, err := simtest.CheckScenario(simtest.Witness(), s)
			require.NoError(t, err)
			require.Nil(t, r.Violation, "%v", r.Violation)
			require.Equal(t, c.finished, finished(&s, &r))
			if c.views > 0 {
				require.Positive(t, r.Views)
				require.LessOrEqual(t, r.Views, c.views)
			}
			for _, f := range r.Faults {
				require.Equal(t, f.Planned, f.Happened)
			}

			// Control: otherwise the match ends for all.
			if len(c.finished) < 5 {
				s.PlayOn = false
				r, err = simtest.CheckScenario(simtest.Witness(), s)
				require.NoError(t, err)
				require.Nil(t, r.Violation, "%v", r.Violation)
				require.Empty(t, finished(&s, &r))
				require.Zero(t, r.Views)
			}
		})
	}
}

// Four have no majority of two and two, and with couches participants count and not peers.
func TestHalvesDoNotPlayOn(t *testing.T) {
	four := five(simtest.Fault{Kind: simtest.Partition, At: 3 * simtest.Second, For: 8 * simtest.Second, From: []int{0, 3}})
	four.Peers = four.Peers[:4]
	four.Links = slices.DeleteFunc(four.Links, func(l simtest.Link) bool { return l.From == 4 || l.To == 4 })
	r, err := simtest.CheckScenario(simtest.Witness(), four)
	require.NoError(t, err)
	require.Nil(t, r.Violation, "%v", r.Violation)
	require.Empty(t, finished(&four, &r))

	four.Peers[3].Plays = []int{3, 4, 5}
	r, err = simtest.CheckScenario(simtest.Witness(), four)
	require.NoError(t, err)
	require.Nil(t, r.Violation, "%v", r.Violation)
	require.Equal(t, []int{0, 3}, finished(&four, &r), "they play four of six")
}

func TestGeneratedMatchesPlayOn(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some matches to lose somebody")
	}
	views, some := 0, 0
	for seed := range uint64(60) {
		s := simtest.Shape{Players: 5, Ticks: 300}.Generate(seed)
		if !s.PlayOn {
			continue
		}
		some++
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		require.Nil(t, r.Violation, "seed %d: %v", seed, r.Violation)
		views += r.Views
	}
	require.Greater(t, some, 15)
	require.Greater(t, views, 8)
}

func TestWhatPlaysOnIsRefusedWhereItCannotBeJudged(t *testing.T) {
	s := five(simtest.Fault{Kind: simtest.Flood, At: 1, For: simtest.Second, Share: 1, From: []int{1}})
	require.EqualError(t, s.Validate(), "simtest: playOn is set and somebody is hostile or disagrees: what comes of both together is not judged")
	s = five()
	s.PeerTimeout = 0
	require.EqualError(t, s.Validate(), "simtest: playOn is set and peerTimeout is 0: nobody would ever be missed")
}
