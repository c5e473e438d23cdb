package simtest

import (
	"fmt"

	"github.com/driftback/driftback"
)

// MaxShapeTicks bounds Shape.Ticks, so that every fault can be given its time.
const MaxShapeTicks = 10_000

// Shape is what the scenarios of many seeds are to have in common. The zero value leaves
// everything to the seed.
type Shape struct {
	// Players is how many participants there are, from 2 to driftback.MaxParticipants; 0:
	// what the seed gives. In two of three matches each has a peer of its own; in the
	// others some share one.
	Players int
	// Ticks is how many ticks a match has at least, up to MaxShapeTicks.
	Ticks int
	// Returns has peers come back as other processes in every match in which they can;
	// otherwise none does.
	Returns bool
	// Adapt has input delays adapt and peers keep pace, one or the other or both, in every match
	// in which they can; otherwise none does.
	Adapt bool
}

// Validate returns an error that names what is out of its bounds.
func (shape Shape) Validate() error {
	if shape.Players != 0 {
		if err := checkAll(bound{"the number of players", int64(shape.Players), 2, driftback.MaxParticipants, false}); err != nil {
			return fmt.Errorf("%w, or 0 for what a seed gives", err)
		}
	}
	return checkAll(bound{"the least number of ticks", int64(shape.Ticks), 0, MaxShapeTicks, false})
}

// peers adds the peers.
func (g *generator) peers() {
	n := g.of.Players
	if n == 0 {
		for range pick(g.shape, 2, 2, 2, 2, 3, 3, 4) {
			g.peer(0)
		}
		return
	}
	couch := g.shape.Chance(1, 3)
	for g.plays < n {
		plays := 1
		if couch {
			// One is left for another peer: a match has two at least.
			plays = min(pick(g.shape, 1, 1, 1, 2, 2, 3, 4), n-max(g.plays, 1))
		}
		g.peer(plays)
	}
}

// Shaped returns the scenario of a seed as [Game.Scenario] does, but of a shape, which must be
// valid. Where that has more players than the game is for, it is refused when it is played.
func (g Game[S, I]) Shaped(seed uint64, shape Shape) Scenario {
	s := shape.Generate(seed)
	if s.Rejoin && !handsOver[S]() {
		s.stay()
	}
	if g.Players > 0 && shape.Players == 0 {
		s.limit(g.Players)
	}
	return s
}
