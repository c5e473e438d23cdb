package simtest

// adapts has input delays adapt, and peers keep pace, where the shape asks for it. It draws from a
// sequence of its own.
func (g *generator) adapts() {
	if !g.of.Adapt {
		return
	}
	d, s := &draw{random(g.s.Seed, streamAdapt, 0)}, &g.s
	delays, pace := d.IntN(4) > 0, d.IntN(4) > 0
	if a := g.adapt(d); delays {
		s.Adapt = a
		if s.Validate() != nil {
			s.Adapt = Adapt{}
		}
	}
	if fill, merge := d.Chance(1, 2), d.Chance(1, 2); s.delaysChange() {
		s.Fill, s.Merge = fill, merge
	}
	if !pace && s.delaysChange() {
		return
	}
	all := pick(d, PacesByRate, PacesByRate, PacesBySkips, PacesBySkips, "")
	for i := range s.Peers {
		if s.Peers[i].Paces = all; all == "" { // each as it likes
			s.Peers[i].Paces = pick(d, "", PacesByRate, PacesBySkips)
		}
	}
	if d.Chance(1, 3) { // for so long that it shows, and with clocks that it can make up for
		s.Ticks = max(s.Ticks, int(d.time(30_000, 45_000)/s.Frame))
		for i := range s.Peers {
			s.Peers[i].Skew = max(-evenSkew/3, min(s.Peers[i].Skew, evenSkew/3))
		}
	}
}

// adapt returns bounds for input delays.
func (g *generator) adapt(d *draw) (a Adapt) {
	a.Min = pick(d, 0, 0, 0, 1, 2, 5)
	if g.s.Window == None {
		a.Min = max(a.Min, 1)
	}
	a.Max = max(a.Min, pick(d, 1, 3, 6, 6, 10, 20, 60))
	a.Depth = pick(d, 0, 0, 0, 1, 2, 6, None)
	return a
}
