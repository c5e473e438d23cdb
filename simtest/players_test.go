package simtest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
)

// duel is a game for two, whose step does not look whether there are more.
func duel() simtest.Game[[2]int32, Pedals] {
	return simtest.Game[[2]int32, Pedals]{
		Name: "duel", Players: 2,
		Step: func(x *[2]int32, in []Pedals, _ *driftback.Pass) {
			for p := range in {
				if in[p].Gas {
					x[p]++
				}
			}
		},
		Input: func(r *rng.PCG, _ driftback.Participant, _ driftback.Tick) Pedals {
			return Pedals{Gas: r.Chance(1, 2)}
		},
	}
}

func TestAGameForTwoIsPlayedByTwo(t *testing.T) {
	simtest.Run(t, duel(), simtest.Options{Seeds: 20})

	for players := 1; players <= 5; players++ {
		g := duel()
		g.Players = players
		kinds, fewer := map[simtest.Kind]int{}, 0
		for seed := range uint64(600) {
			s := g.Scenario(seed)
			require.NoError(t, s.Validate(), "seed %d", seed)
			n, all := participants(s), participants(simtest.Generate(seed))
			require.Equal(t, min(players, all), n)
			if n == all {
				require.Equal(t, simtest.Generate(seed), s)
			} else {
				fewer++
			}
			if players > 1 {
				require.Greater(t, len(s.Peers), 1)
			}
			for _, f := range s.Faults {
				kinds[f.Kind]++
			}
		}
		require.Positive(t, fewer)
		if players > 1 {
			require.Len(t, kinds, simtest.GeneratedKinds(), "%v", kinds)
		}
	}

	// Control: without a word, a third comes.
	g := duel()
	g.Players = 0
	panics := 0
	for seed := range uint64(20) {
		r, err := simtest.Check(g, seed)
		require.NoError(t, err)
		if r.Violation != nil {
			require.Equal(t, simtest.RuleInternal, r.Violation.Rule, "%v", r.Violation)
			panics++
		}
	}
	require.Positive(t, panics)
	s := two()
	s.Peers[1].Plays = []int{1, 2}
	sync, err := simtest.SyncTest(g, s)
	require.NoError(t, err)
	require.Equal(t, simtest.MistakePanics, sync.Finding.Mistake)
	_, err = simtest.Play(duel(), s)
	require.EqualError(t, err, "simtest: the scenario has 3 participants, and Game.Players is 2: "+
		"the game is for no more; Game.Scenario(seed) makes one that fits, and a larger Players allows this one")
	s.Peers, s.Links = s.Peers[:1], nil
	_, err = simtest.Play(duel(), s)
	require.EqualError(t, err, "simtest: the scenario has 1 participant, and Game.Players is 2: the game is for 2 at least; Game.Scenario(seed) makes one that fits")
}

func participants(s simtest.Scenario) (n int) {
	for _, p := range s.Peers {
		n += len(p.Plays)
	}
	return n
}

func TestASeedIsTheSameForAGameThatIsForAll(t *testing.T) {
	for seed := range uint64(50) {
		require.Equal(t, fmt.Sprint(simtest.Generate(seed)), fmt.Sprint(simtest.Witness().Scenario(seed)))
	}
}
