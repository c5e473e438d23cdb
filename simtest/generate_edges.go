package simtest

// edges adds to some scenarios what happens where few faults do: while the peers shake
// hands, and as the match ends. It draws from a sequence of its own.
func (g *generator) edges() {
	g.faults = &draw{random(g.s.Seed, streamEdges, 0)}
	d := g.faults
	if g.s.HaltAtLimit || g.s.has(Crash, Leave, Halt, Diverge) {
		return // what ends the match leaves nothing to be done after it
	}
	switch d.IntN(30) {
	case 0, 1, 2:
		g.edge(g.early())
	case 3, 4, 5:
		g.edge(g.during(75, 130))
	case 6:
		if g.s.PeerTimeout != 0 {
			return
		}
		// A laptop that is closed: it must not blame the others for what it has slept through.
		g.s.PeerTimeout = d.time(3000, 4000)
		f := Fault{Kind: Freeze, At: g.during(0, 60), From: g.some(1, 1)}
		f.For = g.s.PeerTimeout + d.time(0, 4000)
		g.s.Faults = append(g.s.Faults, f)
	}
}

// early returns a time before the match is played.
func (g *generator) early() Micros {
	begin := g.during(0, 0)
	return Micros(g.faults.Uint64n(uint64(begin + 1)))
}

// edge adds links that go down, or let nothing through, for a while.
func (g *generator) edge(at Micros) {
	d := g.faults
	f := Fault{Kind: pick(d, Down, Down, Block), At: at, For: d.time(20, 800)}
	f.From, f.To = g.directions()
	if f.Kind == Down {
		g.missed(8, 20)
	}
	g.s.Faults = append(g.s.Faults, f)
}
