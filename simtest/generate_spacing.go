package simtest

import "github.com/driftback/driftback/session"

// spaces has some peers put the state of only some ticks away. It draws from a sequence of its own.
func (g *generator) spaces() {
	d := &draw{random(g.s.Seed, streamSpacing, 0)}
	if !d.Chance(1, 4) {
		return
	}
	for i := range g.s.Peers {
		g.s.Peers[i].Spacing = pick(d, 0, 2, 3, 5, 10, session.MaxSpacing)
	}
}
