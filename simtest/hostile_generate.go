package simtest

// hostile lets one peer be hostile for a while.
func (g *generator) hostile(d *draw) {
	g.faults = d // during draws from it
	peer := d.IntN(len(g.s.Peers))
	// What ends the match leaves nothing to be done after it.
	kinds, n := []Kind{Change, Equivocate, Misreport}, 1
	if d.Chance(3, 5) {
		kinds, n = []Kind{Corrupt, Truncate, Stray, Forge, Flood}, d.between(1, 3)
	}
	for range n {
		f := Fault{Kind: pick(d, kinds...), At: g.during(0, 60), From: []int{peer}}
		if victim := d.IntN(len(g.s.Peers)); victim != peer && d.Chance(1, 2) {
			f.To = []int{victim}
		}
		switch f.Kind {
		case Change:
			f.For = d.time(300, 1000)
		case Equivocate, Misreport:
		case Flood:
			f.For, f.Share = d.time(100, 1000), d.share(5, 100)
		default:
			f.For, f.Share = d.time(300, 2000), d.share(10, 100)
		}
		g.s.Faults = append(g.s.Faults, f)
	}
}
