package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/simtest"
)

// guarded has all who play a game and all who watch it look for writes to their worlds.
func guarded[S any, I comparable](g simtest.Game[S, I]) simtest.Game[S, I] {
	return g.Plant(func(_ driftback.Peer, c *session.Config[S, I]) { c.Guard = true }).
		PlantWatch(func(_ driftback.Peer, c *session.WatchConfig[S, I]) { c.Guard = true })
}

// behind is the witness's state behind a pointer.
type behind struct{ World *state }

var stateLayout, _ = layout.Of[state]()

func (b *behind) AppendBinary(to []byte) ([]byte, error) { return stateLayout.Append(to, b.World), nil }

func (b *behind) UnmarshalBinary(from []byte) error {
	b.World = new(state)
	return stateLayout.Parse(from, b.World)
}

func behindGame() simtest.Game[behind, input] {
	w := simtest.Witness()
	return simtest.Game[behind, input]{
		Name: "behind", Initial: func() behind { return behind{World: new(state)} },
		Start: func(seed uint64, s *behind) { w.Start(seed, s.World) },
		Step:  func(s *behind, in []input, pass *driftback.Pass) { w.Step(s.World, in, pass) },
		Input: w.Input, Predict: w.Predict, Fill: w.Fill, Merge: w.Merge,
	}
}

// That it finds what is written is shown in package session, where something can write between two calls.
func TestAGuardHoldsNothingThatASessionDoesForAWrite(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4
	}
	all := []simtest.Scenario{watched()}
	all[0].PauseEvery = 30
	for seed := range seeds {
		all = append(all, simtest.Generate(seed), simtest.Witness().Shaped(seed, simtest.Shape{Returns: true}))
	}
	rollbacks, returned, watched, paused := 0, 0, 0, 0
	for name, play := range map[string]func(s simtest.Scenario) (simtest.Report, error){
		"the witness":          func(s simtest.Scenario) (simtest.Report, error) { return simtest.Play(guarded(simtest.Witness()), s) },
		"one behind a pointer": func(s simtest.Scenario) (simtest.Report, error) { return simtest.Play(guarded(behindGame()), s) },
	} {
		for _, s := range all {
			r, err := play(s)
			require.NoError(t, err)
			require.Nil(t, r.Violation, "%s, seed %d: %v", name, s.Seed, r.Violation)
			rollbacks += int(r.Rollbacks)
			for _, f := range r.Faults {
				if f.Kind.Comes() {
					returned += f.Happened
				}
			}
			watched += len(r.Watchers)
			if s.PauseEvery > 0 {
				paused++
			}
		}
	}
	t.Logf("%d rollbacks, %d peers came back, %d watched, %d matches with pauses", rollbacks, returned, watched, paused)
	require.Greater(t, rollbacks, 100*int(seeds))
	require.Positive(t, watched)
	require.Positive(t, paused)
	require.True(t, returned > 0 || testing.Short())
}
