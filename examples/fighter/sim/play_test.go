package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
)

// play runs a game of two bots and shows each tick to see, before its effects are
// forgotten.
func play(seed uint64, ticks int, see func(t driftback.Tick, s *sim.State, in []sim.Input, pass *driftback.Pass)) sim.State {
	s := sim.New(seed)
	bots := [sim.Sides]sim.Bot{sim.NewBot(seed), sim.NewBot(seed + 1)}
	var pass driftback.Pass
	var in [sim.Sides]sim.Input
	for t := range driftback.Tick(ticks) {
		for side := range bots {
			in[side] = bots[side].Input(&s, side)
		}
		pass.Begin(t, nil)
		sim.Step(&s, in[:], &pass)
		if see != nil {
			see(t, &s, in[:], &pass)
		}
	}
	return s
}

func TestTheBotsReallyFight(t *testing.T) {
	const ticks = 10_000
	for seed := range uint64(5) {
		counts := map[string]int{}
		var wins, hit, blocked, thrown, shots, jumps [sim.Sides]int
		combo, draws := 0, 0
		play(seed, ticks, func(_ driftback.Tick, s *sim.State, _ []sim.Input, pass *driftback.Pass) {
			require.Zero(t, pass.Dropped())
			for _, e := range pass.Raised() {
				counts[sim.KindName(e.Kind)]++
				switch e.Kind {
				case sim.KindHit:
					hit[e.Args[0]]++
					combo = max(combo, int(e.Args[2]))
				case sim.KindBlock:
					blocked[e.Args[0]]++
				case sim.KindThrow:
					thrown[e.Args[0]]++
				case sim.KindShot:
					shots[e.Args[0]]++
				case sim.KindJump:
					jumps[e.Args[0]]++
				}
			}
			for _, e := range pass.RaisedConfirmed() {
				counts[sim.KindName(e.Kind)]++
				if e.Kind == sim.KindRoundEnd {
					if e.Args[0] == sim.NoWinner {
						draws++
					} else {
						wins[e.Args[0]]++
					}
				}
			}
		})
		t.Logf("seed %d: %v; wins %v, draws %d, longest combo %d, hit %v blocked %v thrown %v shots %v jumps %v", seed, counts, wins, draws, combo, hit, blocked, thrown, shots, jumps)
	}
}
